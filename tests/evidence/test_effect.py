"""The weighted effect and its interval (paper, section 3.2.2)."""

import numpy as np
import pytest
import torch

from samples import sample_of
from stablepred import GBRClassifier
from stablepred.evidence.effect import WeightedEffect, weighted_effects
from stablepred.sample import make_sample


def make_table(n, seed, effect=0.3, p=3):
    """Independent features; the first moves the outcome by ``effect``, the others do not."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, p)) < 0.5).astype(float)
    y = (rng.random(n) < 0.35 + effect * x[:, 0]).astype(float)
    return x, y


def judge(x, y, w=None, seed=0, n_bootstrap=200):
    w = torch.ones(len(y), dtype=torch.float64) if w is None else torch.as_tensor(w)
    return WeightedEffect(seed, n_bootstrap)(sample_of(x, y), w)


def test_effects_are_differences_of_weighted_means():
    x, y = make_table(50, 0)
    draws = np.random.default_rng(0).exponential(size=(3, 50))
    found = weighted_effects(x, y, draws)
    for row, v in zip(found, draws, strict=True):
        for j in range(3):
            on = x[:, j] == 1
            expected = np.average(y[on], weights=v[on]) - np.average(y[~on], weights=v[~on])
            assert row[j] == pytest.approx(expected)


def test_effects_of_numbers_are_weighted_regression_slopes_also_on_a_number():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = 2 * x[:, 0] + rng.normal(size=60)
    v = rng.exponential(size=(3, 60))
    for found, weights in zip(weighted_effects(x, y, v), v, strict=True):
        for j in range(2):
            assert found[j] == pytest.approx(np.polyfit(x[:, j], y, 1, w=np.sqrt(weights))[0])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_effect_of_a_number_is_that_of_one_standard_deviation(scale):
    rng = np.random.default_rng(1)
    x = np.column_stack([scale * (5 + rng.normal(size=3000)), rng.integers(0, 2, 3000)])
    y = (rng.random(3000) < 0.5 + 0.1 * (x[:, 0] / scale - 5).clip(-3, 3)).astype(int)
    row = GBRClassifier(l1=0.01, refit=False, random_state=0).fit(x, y).feature_effects_.iloc[0]
    assert row["effect"] == pytest.approx(0.1, abs=0.02)
    assert row["low"] < row["effect"] < row["high"]
    assert row["stable"]


def test_a_side_without_weight_has_effect_zero():
    x, y = make_table(50, 0)
    x[:, 1] = 1
    v = np.where(x[:, 2] == 1, 1.0, 0.0)
    found = weighted_effects(x, y, v[None, :])[0]
    assert found[1] == 0
    assert found[2] == 0
    assert np.isfinite(found).all()


def test_the_scores_are_the_weighted_effects_with_an_interval_around_them():
    x, y = make_table(200, 1)
    w = np.random.default_rng(2).exponential(size=200)
    scores = judge(x, y, w)
    np.testing.assert_allclose(scores.score, weighted_effects(x, y, w[None, :])[0])
    assert (scores.low < scores.score).all()
    assert (scores.score < scores.high).all()
    assert (scores.error > 0).all()


def test_a_feature_is_stable_exactly_if_its_interval_excludes_zero():
    x, y = make_table(2000, 8)
    scores = judge(x, y)
    assert scores.stable[0]
    np.testing.assert_array_equal(scores.stable, (scores.low > 0) | (scores.high < 0))
    flipped = judge(1 - x, y)
    assert flipped.stable[0]
    assert flipped.high[0] < 0


@pytest.mark.parametrize("seed", range(3))
def test_under_weights_that_balance_it_a_mere_companion_has_no_effect(seed):
    """The second feature follows the first one, which alone acts."""
    rng = np.random.default_rng(seed)
    x = (rng.random((4000, 2)) < 0.5).astype(float)
    x[:, 1] = np.where(rng.random(4000) < 0.6, x[:, 0], x[:, 1])
    y = (rng.random(4000) < 0.3 + 0.4 * x[:, 0]).astype(float)
    agree = x[:, 0] == x[:, 1]
    exact = np.where(agree, 0.5 / agree.mean(), 0.5 / (1 - agree.mean()))
    assert judge(x, y).stable.tolist() == [True, True]
    weighted = judge(x, y, exact)
    assert weighted.stable[0]
    assert abs(weighted.score[1]) < 3 * weighted.error[1]


@pytest.mark.slow
def test_the_interval_covers_the_true_effect():
    """A 95 % interval over 60 data sets and three features: nearly always inside."""
    inside = []
    for seed in range(60):
        scores = judge(*make_table(300, seed), seed=seed)
        truth = np.array([0.3, 0.0, 0.0])
        inside.append((scores.low <= truth) & (truth <= scores.high))
    assert 0.88 <= np.mean(inside) <= 0.995


def test_the_interval_has_the_width_of_the_normal_approximation():
    x, y = make_table(2000, 3)
    scores = judge(x, y, n_bootstrap=1000)
    on = x[:, 0] == 1
    error = np.sqrt(y[on].var() / on.sum() + y[~on].var() / (~on).sum())
    assert scores.high[0] - scores.low[0] == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert scores.error[0] == pytest.approx(error, rel=0.1)


def test_distinct_rows_give_the_interval_of_all_rows():
    x, y = make_table(600, 4)
    distinct = make_sample(x, y, np.ones(600), ["a", "b", "c"])
    assert len(distinct.y) <= 16
    single = judge(x[:, distinct.origin.columns], y, n_bootstrap=2000)
    grouped = WeightedEffect(0, 2000)(distinct, torch.ones_like(distinct.mass))
    np.testing.assert_allclose(grouped.score, single.score)
    width = single.high - single.low
    np.testing.assert_allclose(grouped.high - grouped.low, width, rtol=0.12)


def test_more_rows_give_a_narrower_interval():
    widths = []
    for n in (200, 3200):
        scores = judge(*make_table(n, 5))
        widths.append((scores.high - scores.low)[0])
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.35)


def test_the_same_seed_gives_the_same_interval_and_another_one_another():
    x, y = make_table(100, 6)
    one, other, third = (judge(x, y, seed=seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(one.low, other.low)
    np.testing.assert_array_equal(one.high, other.high)
    assert (one.low != third.low).all()


def test_products_are_no_features_to_be_judged():
    x, y = make_table(100, 9)
    sample = sample_of(x, y).with_products()
    assert len(WeightedEffect(0)(sample, torch.ones_like(sample.mass)).score) == 3
