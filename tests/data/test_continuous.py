"""Continuous worlds against a slow version written row by row from the formulas."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from stablepred.data import ContinuousWorld, Environment
from stablepred.exceptions import InputError

SETTINGS = ["s_indep_v", "s_to_v", "v_to_s", "collinear"]
RATES = [1.7, -1.5]


def row(setting, p, rng):
    """One row before selection."""
    half = p // 2
    z = rng.standard_normal(half + 1)
    s = [0.8 * z[j] + 0.2 * z[j + 1] for j in range(half)]
    v = list(rng.standard_normal(half))
    if setting == "s_to_v":
        v = [0.8 * s[j] + 0.2 * s[(j + 1) % half] + rng.standard_normal() for j in range(half)]
    if setting == "v_to_s":
        s = [0.2 * v[j] + 0.8 * v[(j + 1) % half] + rng.standard_normal() for j in range(half)]
    if setting == "collinear":
        s, v = (
            rng.multivariate_normal(np.zeros(half), (1 - c) * np.eye(half) + c) for c in (0.9, 0.1)
        )
    return [*s, *v]


def f(s):
    beta = [1 / 3, -2 / 3, 1, -1 / 3, 2 / 3]
    return sum(beta[j % 5] * s[j] for j in range(len(s))) + s[0] * s[1] * s[2]


def brute_force(setting, p, rate, proposals, rng):
    """Rows kept one by one."""
    kept = []
    for _ in range(proposals):
        x = row(setting, p, rng)
        signal = f(x[: p // 2])
        if rng.random() < abs(rate) ** (-5 * abs(signal - np.sign(rate) * x[-1])):
            kept.append([*x, signal + np.sqrt(0.3) * rng.standard_normal()])
    return np.array(kept)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_moments_equal_those_of_rows_kept_one_by_one(setting, rate):
    slow = brute_force(setting, 10, rate, 12_000, np.random.default_rng(0))
    drawn = ContinuousWorld(setting).sample(20_000, bias_rate=rate, random_state=0)
    fast = np.column_stack([drawn.X, drawn.y])
    assert len(slow) > 700
    i, j = np.triu_indices(11)
    for first, second in ((slow, fast), (slow[:, i] * slow[:, j], fast[:, i] * fast[:, j])):
        error = np.sqrt(first.var(axis=0) / len(first) + second.var(axis=0) / len(second))
        assert (np.abs(first.mean(axis=0) - second.mean(axis=0)) / error).max() < 4.5


def test_six_or_fourteen_features_repeat_or_cut_the_coefficients():
    for p in (6, 14):
        world = ContinuousWorld("s_indep_v", p)
        X = world.sample(50, 2.0, random_state=0).X
        expected = [f(s) for s in X[world.stable_features].to_numpy()]
        np.testing.assert_allclose(world.signal(X), expected, rtol=1e-12)


def test_names_say_which_features_are_stable_and_which_is_biased():
    world = ContinuousWorld("s_to_v")
    assert world.stable_features == ["S1", "S2", "S3", "S4", "S5"]
    assert world.biased_features == ["V5"]
    environment = world.sample(30, bias_rate=-2, random_state=0)
    assert isinstance(environment, Environment)
    assert environment.name == "r=-2"
    assert list(environment.X.columns) == world.feature_names


def test_noise_has_variance_three_tenths_in_every_environment():
    world = ContinuousWorld("v_to_s")
    for rate in (-3, 1.3):
        environment = world.sample(20_000, bias_rate=rate, random_state=1)
        noise = environment.y - world.signal(environment.X)
        assert abs(noise.mean()) < 4.5 * np.sqrt(0.3 / 20_000)
        assert noise.var() == pytest.approx(0.3, abs=0.015)


def test_a_model_on_all_features_is_unstable_and_one_on_the_stable_ones_is_not():
    world = ContinuousWorld("s_indep_v")
    train = world.sample(2000, bias_rate=1.7, random_state=0)
    spread = {}
    for names in (world.feature_names, world.stable_features):
        model = LinearRegression().fit(train.X[names], train.y)
        tests = [world.sample(5000, rate, random_state=9) for rate in (-3, -1.3, 1.3, 3)]
        errors = [np.sqrt(np.mean((model.predict(t.X[names]) - t.y) ** 2)) for t in tests]
        spread[len(names)] = np.std(errors)
    assert spread[5] < 0.02 < 0.08 < spread[10]


def test_the_same_seed_gives_the_same_rows_and_another_one_others():
    world = ContinuousWorld("collinear")
    first, again, other = (world.sample(100, 2.5, random_state=s) for s in (3, 3, 4))
    pd.testing.assert_frame_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not first.X.equals(other.X)


@pytest.mark.parametrize("rate", [1, -1, 0.5, float("nan"), float("inf"), "2"])
def test_a_rate_that_is_no_rate_is_refused(rate):
    with pytest.raises(InputError, match="bias_rate"):
        ContinuousWorld("s_indep_v").sample(10, bias_rate=rate)


def test_impossible_worlds_are_refused():
    with pytest.raises(InputError, match="setting must be one of"):
        ContinuousWorld("s_and_v")
    for p in (4, 7, 10.5):
        with pytest.raises(InputError, match="even integer"):
            ContinuousWorld("s_to_v", p)
    with pytest.raises(InputError, match="lacks the columns"):
        ContinuousWorld("s_to_v").signal(pd.DataFrame({"S1": [0.0]}))
