import numpy as np
import pytest

from stablepred.data import SyntheticWorld
from stablepred.evaluation.stable_features import (
    explaining_away,
    feature_effects,
    weighted_effects,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def simple(n, seed, effect=0.3, p=3):
    """Independent features; the first moves the outcome by ``effect``, the others do not."""
    generator = rng(seed)
    x = (generator.random((n, p)) < 0.5).astype(float)
    y = (generator.random(n) < 0.35 + effect * x[:, 0]).astype(float)
    return x, y


# --- the first evidence ---


def test_effects_are_differences_of_weighted_means():
    generator = rng()
    x, y = simple(50, 0)
    draws = generator.exponential(size=(3, 50))
    found = weighted_effects(x, y, draws)
    for row, v in zip(found, draws, strict=True):
        for j in range(3):
            on = x[:, j] == 1
            expected = np.average(y[on], weights=v[on]) - np.average(y[~on], weights=v[~on])
            assert row[j] == pytest.approx(expected)


def test_a_side_without_weight_has_effect_zero():
    x, y = simple(50, 0)
    x[:, 1] = 1
    v = np.where(x[:, 2] == 1, 1.0, 0.0)
    found = weighted_effects(x, y, v[None, :])[0]
    assert found[1] == 0
    assert found[2] == 0
    assert np.isfinite(found).all()


def test_the_table_has_the_weighted_effects_and_an_interval_around_them():
    x, y = simple(200, 1)
    w = rng(2).exponential(size=200)
    found = feature_effects(x, y, np.ones(200), w, rng())
    np.testing.assert_allclose(found["effect"], weighted_effects(x, y, w[None, :])[0])
    assert (found["low"] < found["effect"]).all()
    assert (found["effect"] < found["high"]).all()
    assert set(found) == {"effect", "low", "high", "explaining_away", "stable"}


def test_the_interval_covers_the_true_effect():
    """A 95 % interval over 60 data sets and three features: nearly always inside."""
    inside = []
    for seed in range(60):
        x, y = simple(300, seed)
        found = feature_effects(x, y, np.ones(300), np.ones(300), rng(seed))
        truth = np.array([0.3, 0.0, 0.0])
        inside.append((found["low"] <= truth) & (truth <= found["high"]))
    assert 0.88 <= np.mean(inside) <= 0.995


def test_the_interval_has_the_width_of_the_normal_approximation():
    x, y = simple(2000, 3)
    found = feature_effects(x, y, np.ones(2000), np.ones(2000), rng(), n_bootstrap=1000)
    on = x[:, 0] == 1
    error = np.sqrt(y[on].var() / on.sum() + y[~on].var() / (~on).sum())
    assert found["high"][0] - found["low"][0] == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_grouped_rows_give_the_interval_of_the_single_ones():
    x, y = simple(600, 4)
    rows, index = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
    count = np.bincount(index.reshape(-1)).astype(float)
    single = feature_effects(x, y, np.ones(600), np.ones(600), rng(), n_bootstrap=2000)
    grouped = feature_effects(
        rows[:, :3], rows[:, 3], count, np.ones(len(rows)), rng(), n_bootstrap=2000
    )
    np.testing.assert_allclose(grouped["effect"], single["effect"])
    np.testing.assert_allclose(grouped["explaining_away"], single["explaining_away"], atol=1e-5)
    width = single["high"] - single["low"]
    np.testing.assert_allclose(grouped["high"] - grouped["low"], width, rtol=0.12)


def test_more_rows_give_a_narrower_interval():
    widths = []
    for n in (200, 3200):
        x, y = simple(n, 5)
        found = feature_effects(x, y, np.ones(n), np.ones(n), rng())
        widths.append((found["high"] - found["low"])[0])
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.35)


def test_the_same_generator_gives_the_same_interval():
    x, y = simple(100, 6)
    one, other = (feature_effects(x, y, np.ones(100), np.ones(100), rng(7)) for _ in range(2))
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name])


# --- the second evidence ---


def causes(n, seed):
    """Two causes of y, one copy of y with errors, one feature that is nothing to y."""
    generator = rng(seed)
    x = (generator.random((n, 4)) < 0.5).astype(float)
    y = (x[:, 0] + x[:, 1] + generator.normal(0, 0.5, n) > 1).astype(float)
    x[:, 2] = np.where(generator.random(n) < 0.75, y, 1 - y)
    return x, y


@pytest.mark.parametrize("seed", range(3))
def test_causes_explain_each_other_away_and_a_copy_of_the_outcome_does_not(seed):
    x, y = causes(3000, seed)
    score = explaining_away(x, y, np.ones(3000))
    assert (score[:2] > 5).all()
    assert (np.abs(score[2:]) < 3.5).all()


def test_the_direction_of_an_effect_does_not_matter():
    x, y = causes(3000, 0)
    flipped = x.copy()
    flipped[:, 0] = 1 - flipped[:, 0]
    np.testing.assert_allclose(
        explaining_away(flipped, y, np.ones(3000)), explaining_away(x, y, np.ones(3000)), atol=1e-3
    )
    np.testing.assert_allclose(
        explaining_away(x, 1 - y, np.ones(3000)), explaining_away(x, y, np.ones(3000)), atol=1e-3
    )


def test_the_order_of_features_and_rows_does_not_matter():
    x, y = causes(1000, 1)
    score = explaining_away(x, y, np.ones(1000))
    order, rows = [2, 0, 3, 1], rng().permutation(1000)
    np.testing.assert_allclose(
        explaining_away(x[rows][:, order], y[rows], np.ones(1000)), score[order], atol=1e-4
    )


def test_one_feature_alone_has_no_witness():
    x, y = simple(100, 0, p=1)
    assert explaining_away(x, y, np.ones(100)).tolist() == [0.0]


def test_where_no_feature_competes_the_interval_decides():
    x, y = simple(2000, 8)
    found = feature_effects(x, y, np.ones(2000), np.ones(2000), rng())
    assert not (found["explaining_away"] > 2.58).any()
    assert found["stable"][0]
    np.testing.assert_array_equal(found["stable"], (found["low"] > 0) | (found["high"] < 0))


@pytest.mark.parametrize("bias_on", ["signal", "outcome"])
@pytest.mark.parametrize("seed", [1000, 1001])
def test_most_stable_features_of_the_synthetic_world_are_found(bias_on, seed):
    world = SyntheticWorld("s_indep_v", bias_on=bias_on)
    train = world.sample(2000, bias_rate=0.75, random_state=seed)
    names = np.array(train.X.columns)
    truth = np.isin(names, world.stable_features)
    score = explaining_away(np.array(train.X, dtype=float), np.array(train.y, float), np.ones(2000))
    found = score > 2.58
    assert found[truth].mean() >= 0.75
    assert found[~truth].mean() <= 0.15


def test_verdicts_of_the_table_are_those_of_the_second_evidence_where_it_speaks():
    world = SyntheticWorld("s_indep_v", bias_on="outcome")
    train = world.sample(1000, bias_rate=0.75, random_state=1002)
    x, y = np.array(train.X, dtype=float), np.array(train.y, dtype=float)
    found = feature_effects(x, y, np.ones(1000), np.ones(1000), rng())
    assert found["stable"].any()
    np.testing.assert_array_equal(found["stable"], found["explaining_away"] > 2.58)
