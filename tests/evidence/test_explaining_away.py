"""Explaining away: causes compete to explain the outcome, companions of it do not."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from samples import sample_of
from stablepred.data import SyntheticWorld
from stablepred.evidence import explaining_away as module
from stablepred.evidence.explaining_away import (
    CAUSE_Z,
    ExplainingAway,
    depend_through_outcome,
    share_through_outcome,
)
from stablepred.sample import make_sample


def rng(seed=0):
    return np.random.default_rng(seed)


def explaining_away(x, y, copies=None, w=None):
    """Z-scores of rows, each standing for so many and weighted so much."""
    copies = np.ones(len(y)) if copies is None else copies
    sample = sample_of(x, y, copies / copies.sum())
    sample = replace(sample, copies=torch.as_tensor(copies, dtype=torch.float64))
    w = torch.ones(len(y), dtype=torch.float64) if w is None else torch.as_tensor(w)
    return module.explaining_away(sample, w)


def share(x, y):
    return share_through_outcome(sample_of(x, y))


def independent(n, seed, effect=0.3, p=3):
    """Independent features; the first moves the outcome by ``effect``, the others do not."""
    generator = rng(seed)
    x = (generator.random((n, p)) < 0.5).astype(float)
    y = (generator.random(n) < 0.35 + effect * x[:, 0]).astype(float)
    return x, y


def causes(n, seed):
    """Two causes of y, one copy of y with errors, one feature that is nothing to y."""
    generator = rng(seed)
    x = (generator.random((n, 4)) < 0.5).astype(float)
    y = (x[:, 0] + x[:, 1] + generator.normal(0, 0.5, n) > 1).astype(float)
    x[:, 2] = np.where(generator.random(n) < 0.75, y, 1 - y)
    return x, y


# --- the scores ---


@pytest.mark.parametrize("seed", range(3))
def test_causes_explain_each_other_away_and_a_copy_of_the_outcome_does_not(seed):
    score = explaining_away(*causes(3000, seed))
    assert (score[:2] > 5).all()
    assert (np.abs(score[2:]) < 3.5).all()


def test_the_direction_of_an_effect_does_not_matter():
    x, y = causes(3000, 0)
    flipped = x.copy()
    flipped[:, 0] = 1 - flipped[:, 0]
    expected = explaining_away(x, y)
    np.testing.assert_allclose(explaining_away(flipped, y), expected, rtol=1e-2)
    np.testing.assert_allclose(explaining_away(x, 1 - y), expected, rtol=1e-2)


def test_the_order_of_features_and_rows_does_not_matter():
    x, y = causes(1000, 1)
    score = explaining_away(x, y)
    order, rows = [2, 0, 3, 1], rng().permutation(1000)
    np.testing.assert_allclose(explaining_away(x[rows][:, order], y[rows]), score[order], atol=1e-4)


def test_distinct_rows_give_the_scores_of_all_rows():
    x, y = causes(600, 4)
    distinct = make_sample(x, y, np.ones(600), list("abcd"))
    assert len(distinct.y) <= 32
    found = module.explaining_away(distinct, torch.ones_like(distinct.mass))
    np.testing.assert_allclose(found, explaining_away(x[:, distinct.origin.columns], y), atol=1e-5)


def test_one_feature_alone_has_no_witness():
    assert explaining_away(*independent(100, 0, p=1)).tolist() == [0.0]


def test_where_no_feature_competes_none_is_called_a_cause():
    x, y = independent(2000, 8)
    assert not (explaining_away(x, y) > CAUSE_Z).any()


@pytest.mark.parametrize("bias_on", ["signal", "outcome"])
@pytest.mark.parametrize("seed", [1000, 1001])
def test_most_stable_features_of_the_synthetic_world_are_found(bias_on, seed):
    world = SyntheticWorld("s_indep_v", bias_on=bias_on)
    train = world.sample(2000, bias_rate=0.75, random_state=seed)
    truth = np.isin(np.array(train.X.columns), world.stable_features)
    found = explaining_away(np.array(train.X, dtype=float), np.array(train.y, float)) > CAUSE_Z
    assert found[truth].mean() >= 0.75
    assert found[~truth].mean() <= 0.15


def test_a_cause_that_acts_only_together_with_another_one_is_found():
    """The second feature matters only where the first is one."""
    generator = rng(3)
    x = (generator.random((4000, 5)) < 0.5).astype(float)
    score = 2.5 * x[:, 0] * x[:, 1] + 2 * x[:, 2] - 2.2
    y = (generator.random(4000) < 1 / (1 + np.exp(-score))).astype(float)
    found = explaining_away(x, y)
    assert (found[:3] > CAUSE_Z).all()
    assert (np.abs(found[3:]) < CAUSE_Z).all()


def test_leaving_out_a_witness_by_one_newton_step_is_nearly_a_regression_without_it():
    """For effects of ordinary size; a very strong one is judged more cautiously."""
    generator = rng(4)
    x = (generator.random((3000, 4)) < 0.5).astype(float)
    y = (x[:, 0] + x[:, 1] + generator.normal(0, 2, 3000) > 1).astype(float)
    sample = sample_of(x, y)
    court = module._Court(sample, torch.ones_like(sample.mass), module.BINARY)
    fast = court.judge_witnesses(np.arange(4), court.fit(sample.features))
    slow = np.empty(4)
    whole = LogisticRegression(C=1.0, tol=1e-8).fit(x, y)
    for j in range(4):
        others = np.delete(x, j, axis=1)
        evidence = LogisticRegression(C=1.0, tol=1e-8).fit(others, y).decision_function(others)
        products = np.empty(3000)
        for value in (0, 1):
            rows = y == value
            a, b = x[rows, j] - x[rows, j].mean(), evidence[rows] - evidence[rows].mean()
            products[rows] = a * b
        z = products.sum() / np.sqrt((products**2).sum())
        slow[j] = -np.sign(whole.coef_[0, j]) * z
    np.testing.assert_allclose(fast, slow, rtol=0.1, atol=0.2)


def test_a_row_that_stands_for_two_counts_as_two_but_one_of_twice_the_weight_is_no_surer():
    x, y = causes(600, 5)
    one = explaining_away(x, y, w=np.full(600, 3.0))
    np.testing.assert_allclose(one, explaining_away(x, y), rtol=1e-6)
    doubled = explaining_away(x, y, copies=np.full(600, 2.0))
    np.testing.assert_allclose(doubled, np.sqrt(2) * one, rtol=0.05, atol=0.3)


# --- as evidence ---


def test_the_evidence_calls_a_feature_stable_beyond_its_threshold():
    sample = sample_of(*causes(1000, 2))
    scores = ExplainingAway()(sample, torch.ones_like(sample.mass))
    np.testing.assert_array_equal(scores.stable, scores.score > CAUSE_Z)
    np.testing.assert_allclose(scores.high - scores.low, 2 * 1.96 * scores.error)
    assert scores.stable.tolist() == [True, True, False, False]


@pytest.mark.parametrize("through", [True, False])
def test_balancing_weights_count_only_where_dependence_is_not_through_the_outcome(through):
    if through:
        x, y = causes(1000, 3)
    else:
        x, y = independent(1000, 3)
        x[:, 1] = np.where(rng(3).random(1000) < 0.8, x[:, 2], x[:, 1])
    sample = sample_of(x, y)
    assert depend_through_outcome(sample) is through
    w = torch.as_tensor(rng(4).exponential(size=1000))
    found = ExplainingAway()(sample, w).score
    used = torch.ones_like(w) if through else w
    np.testing.assert_array_equal(found, module.explaining_away(sample, used))


# --- how features come to depend on each other ---


def mean_squared_correlation(matrix):
    return np.mean(np.square(matrix[np.triu_indices(len(matrix), 1)]))


def test_the_share_through_the_outcome_is_what_correlations_say():
    x, y = causes(2000, 6)
    x[:, 3] = np.where(rng(7).random(2000) < 0.8, x[:, 2], x[:, 3])
    given_y = mean_squared_correlation(
        sum((y == v).mean() * np.corrcoef(x[y == v].T) for v in (0, 1))
    )
    total = mean_squared_correlation(np.corrcoef(x.T))
    expected = 1 - (given_y - 1 / 2000) / (total - 1 / 2000)
    assert share(x, y) == pytest.approx(expected)


def test_copies_of_the_outcome_depend_on_each_other_through_it():
    generator = rng(8)
    y = (generator.random(3000) < 0.5).astype(float)
    x = np.where(generator.random((3000, 5)) < 0.8, y[:, None], 1 - y[:, None])
    assert share(x, y) > 0.95


def test_features_that_depend_on_each_other_by_themselves_do_not_do_so_through_the_outcome():
    generator = rng(9)
    hidden = generator.random(3000) < 0.5
    x = np.where(generator.random((3000, 5)) < 0.8, hidden[:, None], ~hidden[:, None]).astype(float)
    y = (generator.random(3000) < 0.3).astype(float)
    assert abs(share(x, y)) < 0.05


def test_independent_features_have_nothing_that_the_outcome_could_not_explain():
    x, y = independent(500, 10, p=6)
    assert share(x, y) == 1.0
    assert share(x[:, :1], y) == 1.0


@pytest.mark.parametrize("setting", ["s_indep_v", "s_to_v", "v_to_s"])
def test_the_share_tells_the_two_shifts_of_the_paper_apart(setting):
    shares = {}
    selections = {"y_given_v": ({}, 0.65), "v_given_s": ({"mediator": "integer"}, 0.85)}
    for shift, (options, rate) in selections.items():
        world = SyntheticWorld(setting, shift=shift, **options)
        train = world.sample(1000, bias_rate=rate, random_state=11)
        shares[shift] = share(np.array(train.X, dtype=float), np.array(train.y, dtype=float))
    assert shares["v_given_s"] < 0.05
    assert shares["y_given_v"] > 0.2
