"""Algorithm 1: L_mix never rises, and every line of its history is L_mix."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from samples import dependent_sample, largest_rise, random_network
from stablepred.core.algorithm1 import algorithm1
from stablepred.core.loop import Settings
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import TERMS, Strengths, all_terms, weighted_sum
from stablepred.core.row_weights import effective_share
from stablepred.weights.embedded import EmbeddedBalance
from stablepred.weights.raw import RawBalance, imbalance

STRENGTHS = Strengths(
    balance=1.0,
    reconstruction=0.1,
    weight_l2=0.5,
    l2=1e-3,
    l1=1e-3,
    weight_sum=1.0,
    network_l2=1e-4,
)
SETTINGS = Settings(STRENGTHS, max_iter=8, tol=0.0)
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
FLOORS = [0.6, *(pytest.param(floor, marks=pytest.mark.slow) for floor in (0.3, 0.9))]


def solve(sample, deep, settings, *, standardize=True, seed=0, hidden=(3, 2)):
    """Algorithm 1 for GBR or, with a network, for DGBR."""
    if not deep:
        return algorithm1(sample, None, RawBalance(), settings)
    network = random_network(sample.n_features, hidden, seed)
    return algorithm1(sample, network, EmbeddedBalance(standardize), settings)


@pytest.mark.parametrize("least_share", [0.0, 0.5])
@pytest.mark.parametrize(("deep", "standardize"), [(False, True), (True, True), (True, False)])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_objective_never_rises(seed, deep, standardize, least_share):
    settings = replace(SETTINGS, max_iter=12, least_share=least_share)
    sample = dependent_sample(seed)
    solution = solve(sample, deep, settings, standardize=standardize, seed=seed)
    assert len(solution.history["total"]) >= 2
    assert largest_rise(solution.history["total"]) <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("strength", [{"balance": 100.0}, {"weight_l2": 0.0}, {"l1": 0.1}])
@pytest.mark.parametrize("deep", [False, True])
def test_the_objective_never_rises_under_extreme_strengths(deep, strength):
    settings = replace(SETTINGS, strengths=replace(STRENGTHS, **strength), max_iter=12)
    solution = solve(dependent_sample(), deep, settings)
    assert largest_rise(solution.history["total"]) <= 1e-9


@pytest.mark.parametrize("deep", [False, True])
def test_the_last_line_of_the_history_is_the_objective_at_the_solution(deep):
    sample = dependent_sample()
    solution = solve(sample, deep, SETTINGS)
    balance = EmbeddedBalance() if deep else RawBalance()
    value, _ = balance.prepare(sample, solution.network)(sample.mass * solution.w)
    terms = all_terms(sample, solution.w, solution.head, solution.network, value)
    total = float(weighted_sum(terms, STRENGTHS))
    assert solution.history["total"][-1] == pytest.approx(total, rel=1e-12)
    for name in terms:
        assert solution.history[name][-1] == pytest.approx(float(terms[name]), rel=1e-10)


@pytest.mark.parametrize("deep", [False, True])
def test_the_total_of_every_iteration_is_the_sum_of_its_terms(deep):
    history = solve(dependent_sample(), deep, SETTINGS).history
    total = np.array(history["prediction"])
    for name in set(TERMS) - {"prediction"}:
        total = total + getattr(STRENGTHS, name) * np.array(history[name])
    np.testing.assert_allclose(history["total"], total, rtol=1e-10)


@pytest.mark.parametrize("deep", [False, True])
def test_l1_gives_exact_zeros_in_the_head(deep):
    settings = replace(SETTINGS, strengths=replace(STRENGTHS, l1=0.03))
    beta = solve(dependent_sample(), deep, settings, hidden=(4, 4)).head.beta
    assert (beta == 0).any()
    assert not ((beta != 0) & (beta.abs() < 1e-10)).any()


@pytest.mark.parametrize("deep", [False, True])
def test_without_intercept_it_stays_zero(deep):
    solution = solve(dependent_sample(), deep, replace(SETTINGS, fit_intercept=False))
    assert float(solution.head.intercept) == 0


def test_it_stops_where_the_true_gradient_vanishes():
    sample = dependent_sample(n=150, p_biased=1)
    solution = solve(sample, False, replace(SETTINGS, max_iter=150, tol=1e-12))

    def slope_in_omega(w):
        omega = torch.sqrt(sample.mass * w).requires_grad_()
        value = imbalance(sample.x, omega.square()).square().sum()
        w = omega.square() / sample.mass
        total = weighted_sum(all_terms(sample, w, solution.head, None, value), STRENGTHS)
        (slope,) = torch.autograd.grad(total, omega)
        return float(slope.abs().max())

    assert slope_in_omega(solution.w) < 1e-4
    assert slope_in_omega(torch.ones_like(solution.w)) > 1e-2


def test_it_is_bounded_by_max_iter_and_says_so():
    solution = solve(dependent_sample(), True, replace(SETTINGS, max_iter=3))
    assert len(solution.history["total"]) == 3
    assert solution.unfinished == ["alternating"]


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("deep", [False, True])
def test_the_floor_on_the_effective_sample_size_holds(deep, floor):
    sample = dependent_sample(n=80)
    strengths = replace(STRENGTHS, balance=100.0, weight_l2=0.0)
    settings = replace(SETTINGS, strengths=strengths, least_share=floor, max_iter=15)
    held = solve(sample, deep, settings)
    free = solve(sample, deep, replace(settings, least_share=0.0))
    assert float(effective_share(sample, held.w)) >= floor - 1e-9
    assert held.floored == (float(effective_share(sample, free.w)) < floor)
    assert not free.floored


# --- invariance from the corresponding start ---


def reorder(sample, network, order):
    """The same problem with the features in another order."""
    (first, bias), *rest = network.encoder
    *others, (last, last_bias) = network.decoder
    moved = AutoEncoder(
        [(first[:, order], bias), *rest], [*others, (last[order], last_bias[order])]
    )
    return replace(sample, x=sample.x[:, order]), moved.copy()


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_features_does_not_matter(seed, standardize):
    sample, network = dependent_sample(seed), random_network(seed=seed)
    order = np.random.default_rng(seed).permutation(4)
    settings, balance = replace(SETTINGS, max_iter=2), EmbeddedBalance(standardize)
    moved_sample, moved = reorder(sample, network, order)
    one = algorithm1(sample, network, balance, settings)
    other = algorithm1(moved_sample, moved, balance, settings)
    assert_equal_up_to_order(one, other, order)


def assert_equal_up_to_order(one, other, order):
    torch.testing.assert_close(one.w, other.w, rtol=0, atol=1e-6)
    torch.testing.assert_close(one.head.beta, other.head.beta, rtol=0, atol=1e-6)
    network, moved = one.network, other.network
    torch.testing.assert_close(
        network.encoder[0][0][:, order], moved.encoder[0][0], rtol=0, atol=1e-6
    )
    torch.testing.assert_close(
        network.decoder[-1][0][order], moved.decoder[-1][0], rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(one.history["total"], other.history["total"], rtol=1e-6)
