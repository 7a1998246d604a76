"""Explaining away: causes compete to explain the outcome, companions of it do not."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from samples import sample_of
from stablepred.data import SyntheticWorld
from stablepred.evidence import explaining_away as module
from stablepred.evidence.explaining_away import CAUSE_Z, ExplainingAway, compete
from stablepred.outcomes.binary import BINARY
from stablepred.outcomes.gaussian import GAUSSIAN
from stablepred.sample import make_sample


def rng(seed=0):
    return np.random.default_rng(seed)


def sample_with(x, y, copies=None):
    copies = np.ones(len(y)) if copies is None else copies
    sample = sample_of(x, y, copies / copies.sum())
    return replace(sample, copies=torch.as_tensor(copies, dtype=torch.float64))


def ask(x, y, copies=None, outcome=BINARY):
    sample = sample_with(x, y, copies)
    return ExplainingAway(outcome)(sample, torch.ones_like(sample.mass))


def causes(n, seed):
    """Two causes of y, one copy of y with errors, one feature that is nothing to y."""
    generator = rng(seed)
    x = (generator.random((n, 4)) < 0.5).astype(float)
    y = (x[:, 0] + x[:, 1] + generator.normal(0, 0.5, n) > 1).astype(float)
    x[:, 2] = np.where(generator.random(n) < 0.75, y, 1 - y)
    return x, y


def selected(n, seed, number=False):
    """Three causes, and two variables that agree with y because other rows were left out."""
    generator = rng(seed)
    x = generator.normal(size=(6 * n, 5))
    score = x[:, 0] + x[:, 1] - x[:, 2] + generator.normal(0, 0.7, 6 * n)
    y = score if number else (score > 0).astype(float)
    side = np.sign(score)
    agree = (side[:, None] * x[:, 3:] > 0).mean(1)
    keep = generator.random(6 * n) < np.array([0.2, 0.45, 1.0])[(2 * agree).astype(int)]
    return x[keep][:n], y[keep][:n]


# --- the scores ---


@pytest.mark.parametrize("seed", range(3))
def test_causes_explain_each_other_away_and_a_copy_of_the_outcome_does_not(seed):
    score = ask(*causes(3000, seed)).score
    assert (score[:2] > 5).all()
    assert (np.abs(score[2:]) < 3.5).all()


@pytest.mark.parametrize("number", [False, True])
def test_a_cause_is_opposed_by_the_others_and_a_selected_variable_is_not(number):
    leaning = []
    for seed in range(3):
        x, y = selected(1500, seed, number)
        assert np.abs(np.corrcoef(x[:, 3], y)[0, 1]) > 0.15  # tied to y all the same
        scores = ask(x, y, outcome=GAUSSIAN if number else BINARY)
        assert (scores.score[:3] > CAUSE_Z).all()
        assert (scores.score[3:] < CAUSE_Z).all()
        assert (scores.leaning[:3] < 0.1).all()
        assert scores.stable.tolist() == [True, True, True, False, False]
        assert scores.trust > 0.9
        leaning.extend(scores.leaning[3:])
    assert np.median(leaning) > 0.9


def test_natural_dependence_gives_low_trust():
    """Columns that follow one hidden cause depend on each other whatever y is."""
    generator = rng(1)
    hidden = generator.normal(size=1500)
    x = 0.8 * hidden[:, None] + 0.6 * generator.normal(size=(1500, 6))
    y = (x[:, 0] + x[:, 1] + generator.normal(size=1500) > 0).astype(float)
    assert ask(x, y).trust < 0.5


def test_where_nothing_acts_nothing_is_trusted():
    generator = rng(2)
    scores = ask(generator.normal(size=(400, 4)), (generator.random(400) < 0.5).astype(float))
    assert not scores.stable.any()
    if not (scores.score > CAUSE_Z).any():
        assert scores.trust == 0


def test_the_direction_of_an_effect_does_not_matter():
    x, y = causes(3000, 0)
    flipped = x.copy()
    flipped[:, 0] = 1 - flipped[:, 0]
    expected = ask(x, y).score
    np.testing.assert_allclose(ask(flipped, y).score, expected, rtol=2e-2, atol=0.05)
    np.testing.assert_allclose(ask(x, 1 - y).score, expected, rtol=2e-2, atol=0.05)


def test_neither_the_scale_nor_the_place_of_a_variable_matters():
    x, y = selected(600, 3)
    other = x * [1e-6, 1e6, 3.0, 1.0, 7.0] + [5.0, -2e6, 0.0, 1.0, 100.0]
    one, two = ask(x, y), ask(other, y)
    np.testing.assert_allclose(two.score, one.score, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(two.leaning, one.leaning, atol=1e-5)


def test_the_order_of_features_does_not_matter_to_the_scores():
    x, y = causes(1000, 1)
    order = [2, 0, 3, 1]
    np.testing.assert_allclose(ask(x[:, order], y).score, ask(x, y).score[order], atol=1e-3)


def test_distinct_rows_give_the_scores_of_all_rows():
    x, y = causes(600, 4)
    distinct = make_sample(x, y, np.ones(600), list("abcd"))
    assert len(distinct.y) <= 32
    found = ExplainingAway()(distinct, torch.ones_like(distinct.mass))
    single = ask(x[:, distinct.origin.columns], y)
    np.testing.assert_allclose(found.score, single.score, atol=1e-3)


def test_one_feature_alone_has_no_witness():
    x, y = causes(100, 0)
    assert ask(x[:, :1], y) is None


@pytest.mark.parametrize("bias_on", ["signal", "outcome"])
def test_most_stable_features_of_the_synthetic_world_are_found(bias_on):
    world = SyntheticWorld("s_indep_v", bias_on=bias_on)
    train = world.sample(2000, bias_rate=0.75, random_state=50)
    truth = np.isin(np.array(train.X.columns), world.stable_features)
    scores = ask(np.array(train.X, dtype=float), np.array(train.y, float))
    assert (scores.score > CAUSE_Z)[truth].mean() >= 0.75
    assert (scores.score > CAUSE_Z)[~truth].mean() <= 0.15


def test_a_cause_that_acts_only_together_with_another_one_is_found():
    """The second feature matters only where the first is one."""
    generator = rng(3)
    x = (generator.random((4000, 5)) < 0.5).astype(float)
    score = 2.5 * x[:, 0] * x[:, 1] + 2 * x[:, 2] - 2.2
    y = (generator.random(4000) < 1 / (1 + np.exp(-score))).astype(float)
    found = ask(x, y).score
    assert (found[:3] > CAUSE_Z).all()
    assert (np.abs(found[3:]) < CAUSE_Z).all()


def slow_z(x, y, j):
    """One variable against the others: a regression without it, a covariance in each class."""
    others = np.delete(x, j, axis=1)
    evidence = LogisticRegression(C=1.0, tol=1e-8).fit(others, y).decision_function(others)
    products = np.empty(len(y))
    for value in (0, 1):
        rows = y == value
        a, b = x[rows, j] - x[rows, j].mean(), evidence[rows] - evidence[rows].mean()
        products[rows] = a * b
    slope = LogisticRegression(C=1.0, tol=1e-8).fit(x, y).coef_[0, j]
    return -np.sign(slope) * products.sum() / np.sqrt((products**2).sum())


def test_witnesses_are_judged_by_nearly_a_regression_without_them():
    """For effects of ordinary size; a very strong one is judged more cautiously."""
    generator = rng(4)
    x = (generator.random((3000, 4)) < 0.5).astype(float)
    y = (x[:, 0] + x[:, 1] + generator.normal(0, 2, 3000) > 1).astype(float)
    x = (x - x.mean(0)) / x.std(0)
    sample = sample_of(x, y)
    court = module._Court(sample, BINARY, np.arange(4))
    fast = court.oppose()
    slow = [slow_z(x, y, j) for j in range(4)]
    np.testing.assert_allclose(fast, slow, rtol=0.1, atol=0.2)


def test_a_cause_has_about_the_z_that_is_expected_of_its_strength():
    generator = rng(5)
    x = generator.normal(size=(4000, 4))
    y = (generator.random(4000) < 1 / (1 + np.exp(-x @ [1.0, 0.7, 0.5, 0.0]))).astype(float)
    z, expected = compete(sample_of(x, y), BINARY)
    assert (np.abs(z - expected) < 3 + 0.3 * expected).all()
    assert (expected[:3] > CAUSE_Z).all()
    assert abs(expected[3]) < 1


def test_a_row_that_stands_for_two_counts_as_two():
    x, y = causes(600, 5)
    doubled = ask(x, y, copies=np.full(600, 2.0)).score
    np.testing.assert_allclose(doubled, np.sqrt(2) * ask(x, y).score, rtol=0.05, atol=0.3)


def test_the_interval_is_that_of_a_z_score():
    scores = ask(*causes(1000, 2))
    np.testing.assert_allclose(scores.high - scores.low, 2 * 1.96 * scores.error)
    assert ((scores.leaning >= 0) & (scores.leaning <= 1)).all()
    assert 0 <= scores.trust <= 1


def test_on_a_large_table_the_witnesses_that_stay_on_part_of_the_rows_judge_all_rows(monkeypatch):
    x, y = selected(6000, 0)
    whole = ask(x, y)
    monkeypatch.setattr(module, "MOST_WORK", 0)
    monkeypatch.setattr(module, "LEAST_HEARD", 3000)
    found = ask(x, y)
    assert (found.stable == whole.stable).all()
    np.testing.assert_allclose(found.score, whole.score, atol=0.5)


def test_a_class_of_one_row_does_not_vanish_from_the_part(monkeypatch):
    x, y = rng(0).integers(0, 2, (400, 4)), np.zeros(400)
    y[7] = 1
    monkeypatch.setattr(module, "MOST_WORK", 0)
    monkeypatch.setattr(module, "LEAST_HEARD", 100)
    assert np.isfinite(ask(x, y).score).all()
