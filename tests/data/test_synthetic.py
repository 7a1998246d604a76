"""Synthetic worlds against a slow version written from the text of section 6.2."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from stablepred.data import SyntheticWorld
from stablepred.exceptions import InputError
from stablepred.worlds.factors import half_normal_nodes, selected_law

SETTINGS = ["s_indep_v", "s_to_v", "v_to_s"]
KINDS = {
    "outcome": {"bias_on": "outcome"},
    "signal": {"bias_on": "signal"},
    "v_given_s": {"shift": "v_given_s"},
    "literal": {"shift": "v_given_s", "mediator": "integer"},
}


def population(world, n, rng):
    """Features, outcome and signal before selection, column by column as the paper prints it."""
    p, ps, pv = world.n_features, world.n_stable, world.n_noisy
    wide, narrow = (2, 0.2) if world.noise_scale == "sd" else (np.sqrt(2), np.sqrt(0.2))
    s = rng.standard_normal((n, ps))
    v = rng.standard_normal((n, pv))
    stable, noisy = s >= 0, v >= 0
    if world.setting == "s_to_v":
        for j in range(pv):
            noisy[:, j] = s[:, j % ps] + s[:, (j + 1) % ps] + wide * rng.standard_normal(n) > 1
    if world.setting == "v_to_s":
        for j in range(ps):
            stable[:, j] = v[:, j % pv] + v[:, (j + 1) % pv] + wide * rng.standard_normal(n) > 1
    x = np.hstack([stable, noisy]).astype(int)
    z = np.zeros(n)
    for i in range(ps):
        if i < 3 * ps // 4:
            z += (-1) ** i * ((i % 3 + 1) * p / 3 if world.shift == "y_given_v" else 1) * x[:, i]
        else:
            z += p / 2 * x[:, i] * x[:, i + 1]
    z = np.where(np.abs(z) < 1e-9, 0.0, z)
    probability = 1 / (1 + np.exp(-z))
    noise = narrow * rng.standard_normal(n) if world.shift == "y_given_v" else 0.0
    return x, (probability + noise >= 0.5).astype(int), (z >= 0).astype(int)


def selection_weights(world, x, y, signal, rate):
    """Weight of each row in the selection, relative to a row in which all biased V agree."""
    weights = np.ones(len(x))
    for i in range(world.n_noisy - world.n_biased, world.n_noisy):
        if world.shift == "v_given_s":
            target = sum((-1) ** j * x[:, j % world.n_stable] for j in range(i, i + 6))
            target = target if world.mediator == "integer" else (target >= 0).astype(int)
        else:
            target = y if world.bias_on == "outcome" else signal
        weights *= np.where(x[:, world.n_stable + i] == target, rate, 1 - rate)
    return weights / max(rate, 1 - rate) ** world.n_biased


def brute_force(world, proposals, rate, rng):
    """Selected rows by plain rejection."""
    x, y, signal = population(world, proposals, rng)
    keep = rng.random(proposals) < selection_weights(world, x, y, signal, rate)
    return x[keep], y[keep]


def homogeneity(first, second):
    """P-value of the chi-square test that two samples of rows (x, y) have the same law."""
    counts = []
    for x, y in (first, second):
        code = np.column_stack([x, y]) @ (1 << np.arange(x.shape[1] + 1))
        counts.append(np.bincount(code, minlength=1 << (x.shape[1] + 1)))
    a, b = (np.asarray(c, dtype=float) for c in counts)
    rare = (a + b) < 20
    a, b = np.append(a[~rare], a[rare].sum()), np.append(b[~rare], b[rare].sum())
    a, b = a[a + b > 0], b[a + b > 0]
    scale = np.sqrt(a.sum() / b.sum())
    statistic = ((a / scale - b * scale) ** 2 / (a + b)).sum()
    return chi2.sf(statistic, len(a) - 1)


def assert_same_law(world, rate, seed, proposals=400_000):
    x, y = brute_force(world, proposals, rate, np.random.default_rng(seed))
    assert len(y) > 5000
    environment = world.sample(2 * len(y), bias_rate=rate, random_state=seed)
    assert homogeneity((x, y), (environment.X.to_numpy(), environment.y)) > 1e-3


@pytest.mark.parametrize("rate", [0.3, 0.85])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_joint_law_equals_brute_force_selection(setting, kind, rate):
    assert_same_law(SyntheticWorld(setting, 10, **KINDS[kind]), rate, seed=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_joint_law_is_right_when_the_noisy_feature_in_the_outcome_is_biased(setting, kind):
    world = SyntheticWorld(setting, 10, stable=0.6, **KINDS[kind])
    assert "V1" in world.biased_features
    assert_same_law(world, 0.75, seed=2, proposals=200_000)


@pytest.mark.parametrize(
    ("setting", "options"),
    [
        ("s_to_v", {"stable": 0.2, "bias_on": "signal"}),
        ("s_to_v", {"noise_scale": "variance"}),
        ("v_to_s", {"noise_scale": "variance", "bias_on": "signal"}),
        ("v_to_s", {"stable": 0.5, "biased": 0.5, "shift": "v_given_s"}),
        ("v_to_s", {"stable": 0.5, "biased": 0.5, **KINDS["literal"]}),
        ("s_to_v", {"stable": 0.7, "biased": 0.2, "shift": "v_given_s"}),
        ("s_to_v", {"stable": 0.7, "biased": 0.2, **KINDS["literal"]}),
    ],
)
def test_joint_law_is_right_for_other_shares_and_noise(setting, options):
    assert_same_law(SyntheticWorld(setting, 10, **options), 0.7, seed=3, proposals=200_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_means_and_pairs_at_20_features_equal_the_weighted_population(setting, kind):
    world, rate = SyntheticWorld(setting, 20, **KINDS[kind]), 0.65
    x, y, signal = population(world, 200_000, np.random.default_rng(5))
    w = selection_weights(world, x, y, signal, rate)
    w /= w.sum()
    environment = world.sample(50_000, bias_rate=rate, random_state=5)
    rows = np.column_stack([x, y])
    drawn = np.column_stack([environment.X, environment.y])
    left, right = np.triu_indices(rows.shape[1])
    expected, noise = np.empty(len(left)), np.empty(len(left))
    for k, (i, j) in enumerate(zip(left, right, strict=True)):
        both = rows[:, i] * rows[:, j]
        expected[k] = w @ both
        noise[k] = (w**2) @ (both - expected[k]) ** 2
    found = (drawn.T @ drawn / len(drawn))[left, right]
    noise += found * (1 - found) / len(drawn)
    assert np.abs((found - expected) / np.sqrt(noise)).max() < 4.5


@pytest.mark.parametrize(("p", "rate"), [(20, 0.2), (40, 0.65), (80, 0.85)])
def test_every_biased_feature_agrees_with_the_outcome_at_the_bias_rate(p, rate):
    world = SyntheticWorld("s_indep_v", p)
    environment = world.sample(20_000, bias_rate=rate, random_state=0)
    shares = environment.X[world.biased_features].eq(environment.y, axis=0).mean()
    assert np.abs(shares - rate).max() < 4.5 * np.sqrt(rate * (1 - rate) / 20_000)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_rate_of_one_half_selects_nothing(setting, kind):
    world = SyntheticWorld(setting, 8, **KINDS[kind])
    x, y, _ = population(world, 20_000, np.random.default_rng(0))
    environment = world.sample(20_000, random_state=0)
    assert homogeneity((x, y), (environment.X.to_numpy(), environment.y)) > 1e-3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("rate", [0.001, 0.999])
def test_extreme_rates_can_be_drawn(setting, kind, rate):
    environment = SyntheticWorld(setting, 40, **KINDS[kind]).sample(300, rate, random_state=0)
    assert environment.X.shape == (300, 40)


def test_many_rows_of_many_features_can_be_drawn():
    environment = SyntheticWorld("v_to_s", 80).sample(100_000, bias_rate=0.85, random_state=0)
    assert environment.X.shape == (100_000, 80)
    assert environment.name == "r=0.85"


def test_probability_equals_the_share_of_outcomes_of_rows_with_the_same_features():
    world = SyntheticWorld("s_indep_v", 10)
    x, y, signal = population(world, 200_000, np.random.default_rng(0))
    rows = pd.DataFrame(x[:, :5]).assign(y=y)
    shares = rows.groupby(list(range(5)))["y"].agg(["mean", "size"]).reset_index()
    grid = np.hstack([shares[list(range(5))].to_numpy(), np.zeros((len(shares), 5), int)])
    probability = world.probability(grid)
    spread = np.sqrt(probability * (1 - probability) / shares["size"])
    assert (np.abs(shares["mean"] - probability) < 4.5 * spread).all()
    np.testing.assert_array_equal(world.signal(x), signal)


def test_ties_are_exact_and_give_one_before_noise():
    world = SyntheticWorld("s_indep_v", 80)
    nothing = pd.DataFrame(0, index=[0], columns=world.feature_names)
    tie = nothing.assign(S1=1, S3=1, S6=1, S4=1)  # 1 + 3 - 3 - 1 = 0
    assert world.signal(pd.concat([nothing, tie])).tolist() == [1, 1]
    assert world.probability(pd.concat([nothing, tie])).tolist() == [0.5, 0.5]


def test_without_noise_the_outcome_is_the_signal():
    world = SyntheticWorld("v_to_s", 20, shift="v_given_s")
    environment = world.sample(2000, bias_rate=0.7, random_state=0)
    np.testing.assert_array_equal(environment.y, world.signal(environment.X))
    np.testing.assert_array_equal(environment.y, world.probability(environment.X))


def test_twenty_features_have_nine_stable_and_eight_biased_ones():
    world = SyntheticWorld("s_indep_v")
    assert world.stable_features == [f"S{j}" for j in range(1, 9)] + ["V1"]
    assert world.biased_features == [f"V{j}" for j in range(5, 13)]
    assert world.n_linear == 6


def test_probability_takes_frames_by_name_and_arrays_by_position():
    world = SyntheticWorld("s_indep_v", 10)
    X = world.sample(50, random_state=0).X
    shuffled = X[X.columns[::-1]].assign(other=3)
    np.testing.assert_array_equal(world.probability(shuffled), world.probability(X.to_numpy()))


def test_the_same_seed_gives_the_same_rows_and_another_one_others():
    world = SyntheticWorld("s_to_v", 20)
    first, again, other = (world.sample(500, 0.7, random_state=s) for s in (3, 3, 4))
    pd.testing.assert_frame_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not first.X.equals(other.X)


def test_the_binary_mediator_is_the_default():
    world = SyntheticWorld("s_to_v", shift="v_given_s")
    assert world == SyntheticWorld("s_to_v", shift="v_given_s", mediator="binary")


def test_selection_by_the_binary_mediator_acts_on_the_noisy_features_and_spares_the_stable_ones():
    world = SyntheticWorld("s_indep_v", shift="v_given_s")
    rows = world.sample(40_000, bias_rate=0.85, random_state=0).X.to_numpy()
    assert np.abs(rows[:, :8].mean(axis=0) - 0.5).max() < 4.5 * 0.5 / np.sqrt(40_000)
    for i in range(4, 12):  # the biased V, counted from 0
        z = sum((-1) ** j * rows[:, j % 8] for j in range(i, i + 6))
        assert abs((rows[:, 8 + i] == (z >= 0)).mean() - 0.85) < 0.01


def test_bias_on_the_outcome_is_the_default():
    assert SyntheticWorld("s_to_v") == SyntheticWorld("s_to_v", bias_on="outcome")


def test_half_normal_quadrature_has_the_moments_of_a_half_normal():
    nodes, weights = half_normal_nodes(10)
    moments = [1.0, np.sqrt(2 / np.pi)]
    for k in range(2, 20):
        moments.append((k - 1) * moments[k - 2])
    powers = np.array([weights @ nodes**k for k in range(20)])
    np.testing.assert_allclose(powers, moments, rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["s_to_v", "v_to_s"])
@pytest.mark.parametrize("kind", KINDS)
def test_more_quadrature_nodes_do_not_change_the_total(setting, kind):
    world = SyntheticWorld(setting, 20, **KINDS[kind])
    coarse, fine = (selected_law(world, 0.85, nodes).log_total for nodes in (10, 14))
    assert coarse == pytest.approx(fine, abs=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"setting": "s_and_v"}, "setting must be one of"),
        ({"shift": "p_of_y"}, "shift must be one of"),
        ({"bias_on": "noise"}, "bias_on must be one of"),
        ({"noise_scale": "precision"}, "noise_scale must be one of"),
        ({"shift": "v_given_s", "bias_on": "outcome"}, "no meaning with shift='v_given_s'"),
        ({"mediator": "integer"}, "no meaning with shift='y_given_v'"),
        ({"shift": "v_given_s", "mediator": "real"}, "mediator must be one of"),
        ({"stable": 1.2}, "stable must lie strictly between 0 and 1"),
        ({"biased": 0.0}, "biased must lie strictly between 0 and 1"),
        ({"stable": 0.7, "biased": 0.5}, "6 noisy features, 10 of them"),
        ({"n_features": 3}, "two of each"),
        ({"n_features": 10.5}, "an integer"),
    ],
)
def test_impossible_worlds_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        SyntheticWorld(**{"setting": "s_indep_v", **options})


@pytest.mark.parametrize("rate", [0, 1, -0.1, 1.5, float("nan")])
def test_a_rate_outside_the_open_unit_interval_is_refused(rate):
    with pytest.raises(InputError, match="bias_rate"):
        SyntheticWorld("s_indep_v").sample(10, bias_rate=rate)


@pytest.mark.parametrize("n", [0, -3, 2.5])
def test_a_number_of_rows_that_is_none_is_refused(n):
    with pytest.raises(InputError, match="n must be"):
        SyntheticWorld("s_indep_v").sample(n, bias_rate=0.7)


def test_probability_refuses_other_columns_and_other_values():
    world = SyntheticWorld("s_indep_v", 10)
    X = world.sample(5, random_state=0).X
    with pytest.raises(InputError, match="lacks the columns \\['V2'\\]"):
        world.probability(X.drop(columns="V2"))
    with pytest.raises(InputError, match="10 columns"):
        world.probability(X.to_numpy()[:, :4])
    with pytest.raises(InputError, match="0/1"):
        world.probability(X + 1)
