import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from stablepred.data import SyntheticWorld
from stablepred.evidence.stable_features import (
    _Strata,
    explaining_away,
    feature_effects,
    share_through_outcome,
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
        explaining_away(flipped, y, np.ones(3000)), explaining_away(x, y, np.ones(3000)), rtol=1e-2
    )
    np.testing.assert_allclose(
        explaining_away(x, 1 - y, np.ones(3000)), explaining_away(x, y, np.ones(3000)), rtol=1e-2
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


def test_a_cause_that_acts_only_together_with_another_one_is_found():
    """The second feature matters only where the first is one."""
    generator = rng(3)
    x = (generator.random((4000, 5)) < 0.5).astype(float)
    logit = 2.5 * x[:, 0] * x[:, 1] + 2 * x[:, 2] - 2.2
    y = (generator.random(4000) < 1 / (1 + np.exp(-logit))).astype(float)
    score = explaining_away(x, y, np.ones(4000))
    assert (score[:3] > 2.58).all()
    assert (np.abs(score[3:]) < 2.58).all()


def test_leaving_out_a_witness_by_one_newton_step_is_nearly_a_regression_without_it():
    """For effects of ordinary size; a very strong one is judged more cautiously."""
    generator = rng(4)
    x = (generator.random((3000, 4)) < 0.5).astype(float)
    y = (x[:, 0] + x[:, 1] + generator.normal(0, 2, 3000) > 1).astype(float)
    data = _Strata(x, y, np.ones(3000), np.ones(3000))
    fast = data.competition(np.arange(4), data.regression(data.features))
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


def test_under_weights_a_row_of_weight_two_counts_as_two_but_is_no_surer():
    x, y = causes(600, 5)
    one = explaining_away(x, y, np.ones(600), np.full(600, 3.0))
    np.testing.assert_allclose(one, explaining_away(x, y, np.ones(600)), rtol=1e-6)
    doubled = explaining_away(x, y, np.full(600, 2.0))
    np.testing.assert_allclose(doubled, np.sqrt(2) * one, rtol=0.05, atol=0.3)


# --- how features come to depend on each other ---


def squared_correlations(x):
    return np.mean(np.square(np.corrcoef(x.T)[np.triu_indices(x.shape[1], 1)]))


def test_the_share_through_the_outcome_is_what_correlations_say():
    x, y = causes(2000, 6)
    x[:, 3] = np.where(rng(7).random(2000) < 0.8, x[:, 2], x[:, 3])
    within = sum((y == v).mean() * np.corrcoef(x[y == v].T) for v in (0, 1))
    within = np.mean(np.square(within[np.triu_indices(4, 1)]))
    expected = 1 - (within - 1 / 2000) / (squared_correlations(x) - 1 / 2000)
    assert share_through_outcome(x, y, np.ones(2000)) == pytest.approx(expected)


def test_copies_of_the_outcome_depend_on_each_other_through_it():
    generator = rng(8)
    y = (generator.random(3000) < 0.5).astype(float)
    x = np.where(generator.random((3000, 5)) < 0.8, y[:, None], 1 - y[:, None])
    assert share_through_outcome(x, y, np.ones(3000)) > 0.95


def test_features_that_depend_on_each_other_by_themselves_do_not_do_so_through_the_outcome():
    generator = rng(9)
    hidden = generator.random(3000) < 0.5
    x = np.where(generator.random((3000, 5)) < 0.8, hidden[:, None], ~hidden[:, None]).astype(float)
    y = (generator.random(3000) < 0.3).astype(float)
    assert abs(share_through_outcome(x, y, np.ones(3000))) < 0.05


def test_independent_features_have_nothing_that_the_outcome_could_not_explain():
    x, y = simple(500, 10, p=6)
    assert share_through_outcome(x, y, np.ones(500)) == 1.0
    assert share_through_outcome(x[:, :1], y, np.ones(500)) == 1.0


@pytest.mark.parametrize("setting", ["s_indep_v", "s_to_v", "v_to_s"])
def test_the_share_tells_the_two_shifts_of_the_paper_apart(setting):
    shares = {}
    for shift, rate in (("y_given_v", 0.65), ("v_given_s", 0.85)):
        train = SyntheticWorld(setting, shift=shift).sample(1000, bias_rate=rate, random_state=11)
        x, y = np.array(train.X, dtype=float), np.array(train.y, dtype=float)
        shares[shift] = share_through_outcome(x, y, np.ones(1000))
    assert shares["v_given_s"] < 0.05
    assert shares["y_given_v"] > 0.2
