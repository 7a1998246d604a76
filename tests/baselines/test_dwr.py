"""DWR against its definition and against the published algorithm, written out slowly."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import check_grad

from stablepred.baselines import DWRBalancer
from stablepred.baselines.dwr import _objective, columns_apart
from stablepred.data import ContinuousWorld


def dependent(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    x[:, 1] += 0.6 * x[:, 0]
    x[:, 3] = x[:, 2] + x[:, 0] > 0.5
    return x


def slow_loss(x, w, weight_l2):
    """The sum of squared weighted covariances of standardised columns, pair by pair."""
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    w = w / w.sum()
    loss = weight_l2 * len(x) * (w**2).sum()
    for j in range(x.shape[1]):
        for k in range(x.shape[1]):
            if j != k:
                both = (w * z[:, j] * z[:, k]).sum()
                loss += (both - (w * z[:, j]).sum() * (w * z[:, k]).sum()) ** 2
    return loss


def test_the_objective_is_the_sum_over_pairs():
    x = dependent()
    balancer = DWRBalancer(min_effective_share=0).fit(x)
    expected = slow_loss(x, balancer.weights_, balancer.weight_l2)
    assert balancer.objective_ == pytest.approx(expected, rel=1e-9)
    assert expected < 0.3 * slow_loss(x, np.ones(len(x)), balancer.weight_l2)


@pytest.mark.parametrize("order", [1, 2])
def test_the_gradient_is_that_of_the_objective(order):
    x, mass = dependent(20), np.full(20, 1 / 20)
    z, apart = columns_apart(x, mass, order)
    omega = np.random.default_rng(0).uniform(0.5, 1.5, 20)
    error = check_grad(
        lambda o: _objective(o, z, apart, mass, 0.1)[0],
        lambda o: _objective(o, z, apart, mass, 0.1)[1],
        omega,
    )
    assert error < 1e-6


def test_order_two_makes_squares_uncorrelated_with_other_columns():
    x = dependent(1000)
    x[:, 1] = x[:, 0] ** 2 + x[:, 1]
    share = {"min_effective_share": 0.0, "weight_l2": 1e-4}
    square = (x[:, 0] - x[:, 0].mean()) ** 2
    found = [
        abs(np.cov(square, x[:, 1], aweights=DWRBalancer(order=k, **share).fit(x).weights_)[0, 1])
        for k in (1, 2)
    ]
    assert found[1] < 0.1 * found[0]


def test_levels_of_a_category_are_not_pulled_apart():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 300)
    _, apart = columns_apart(np.eye(3)[level], np.full(300, 1 / 300), 1)
    assert not apart.any()
    one_hot = np.column_stack([np.eye(3)[level], level + rng.normal(size=300)])
    weights = DWRBalancer().fit(one_hot).weights_
    assert np.bincount(level, weights).min() > 20


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_the_effective_share_is_not_under_its_floor(share):
    x = dependent()
    free = DWRBalancer(min_effective_share=0, weight_l2=0).fit(x).weights_
    held = DWRBalancer(min_effective_share=share, weight_l2=0).fit(x).weights_
    assert 1 / np.mean(held**2) >= share
    assert slow_loss(x, free, 0) <= slow_loss(x, held, 0) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["s_indep_v", "collinear"])
def test_the_objective_is_no_higher_than_that_of_the_published_algorithm(setting, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    adam = importlib.import_module("baselines").adam
    x = ContinuousWorld(setting).sample(2000, 1.7, random_state=0).X.to_numpy()
    own = DWRBalancer(min_effective_share=0).fit(x)
    published = adam(x, 0.01, steps=20_000)
    assert own.objective_ <= slow_loss(x, published, 0.01) + 1e-9
