"""The stages one after the other: neither sees the other's loss."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from test_algorithm1 import (
    FLOORS,
    SETTINGS,
    STRENGTHS,
    assert_equal_up_to_order,
    reorder,
    solve,
)

from samples import dependent_sample, largest_rise, random_network
from stablepred.core import sequential
from stablepred.core.objective import NetworkLoss
from stablepred.core.row_weights import effective_share
from stablepred.core.sequential import (
    extend_weights,
    learn_weights,
    start_solution,
    train_encoder,
)
from stablepred.weights.embedded import EmbeddedBalance
from stablepred.weights.raw import RawBalance, imbalance


def weights_of(sample, network, settings=SETTINGS):
    """Weights of the features, or of the embedding of a network that is trained first."""
    solution = start_solution(sample)
    if network is None:
        learn_weights(sample, RawBalance(), None, settings, solution)
    else:
        balance = EmbeddedBalance()
        train_encoder(sample, network, settings, solution, recorded=balance)
        learn_weights(sample, balance, network, settings, solution)
    return solution


# --- weights ---


def test_only_balance_and_variance_move_the_weights():
    sample = dependent_sample()
    solution = weights_of(sample, None)
    flipped = weights_of(replace(sample, y=1 - sample.y), None)
    torch.testing.assert_close(solution.w, flipped.w, rtol=0, atol=1e-12)


def test_the_weights_stop_where_the_true_gradient_vanishes():
    sample = dependent_sample(n=150, p_biased=1)
    # Held to a sum of one, the solver's weights are those that are handed back.
    strengths = replace(STRENGTHS, weight_sum=1e6)
    settings = replace(SETTINGS, strengths=strengths, max_iter=150, tol=1e-12)
    solution = weights_of(sample, None, settings)

    def slope_in_omega(w):
        omega = torch.sqrt(sample.mass * w).requires_grad_()
        v = omega.square() / omega.square().sum()
        variance = (v.square() / sample.mass).sum()
        balance = imbalance(sample.x, v).square().sum()
        total = STRENGTHS.balance * balance + STRENGTHS.weight_l2 * variance
        (slope,) = torch.autograd.grad(total, omega)
        return float(slope.abs().max())

    assert slope_in_omega(solution.w) < 1e-3
    assert slope_in_omega(torch.ones_like(solution.w)) > 1e-2


@pytest.mark.parametrize("deep", [False, True])
def test_weights_lower_the_imbalance_and_have_mean_one(deep):
    sample = dependent_sample(n=200)
    network = random_network() if deep else None
    solution = weights_of(sample, network, replace(SETTINGS, max_iter=30))
    assert float(sample.mass @ solution.w) == pytest.approx(1)
    assert (solution.w >= 0).all()
    balance = EmbeddedBalance() if deep else RawBalance()
    l_bal = balance.prepare(sample, network)
    assert float(l_bal(sample.mass * solution.w)[0]) < 0.5 * float(l_bal(sample.mass)[0])


def test_the_features_can_be_balanced_beside_an_encoder():
    sample = dependent_sample()
    solution = start_solution(sample)
    train_encoder(sample, random_network(), SETTINGS, solution)
    learn_weights(sample, RawBalance(), None, SETTINGS, solution)
    alone = weights_of(sample, None)
    torch.testing.assert_close(solution.w, alone.w)
    assert solution.history["balance"][-1] == alone.history["balance"][-1]
    assert solution.network is not None
    assert solution.history["reconstruction"][-1] > 0


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("deep", [False, True])
def test_the_floor_on_the_effective_sample_size_holds(deep, floor):
    sample = dependent_sample(n=80)
    strengths = replace(STRENGTHS, balance=100.0, weight_l2=0.0)
    settings = replace(SETTINGS, strengths=strengths, least_share=floor, max_iter=15)
    held = weights_of(sample, random_network() if deep else None, settings)
    free = weights_of(
        sample, random_network() if deep else None, replace(settings, least_share=0.0)
    )
    assert float(effective_share(sample, held.w)) >= floor - 1e-9
    assert held.floored == (float(effective_share(sample, free.w)) < floor)
    assert not free.floored


# --- the encoder ---


def test_training_the_encoder_lowers_its_objective_and_leaves_the_weights_at_one():
    sample = dependent_sample()
    solution = start_solution(sample)
    settings = replace(SETTINGS, max_iter=10)
    train_encoder(sample, random_network(), settings, solution, recorded=EmbeddedBalance())
    own = np.array(solution.history["prediction"])
    for name in ("reconstruction", "l2", "network_l2"):
        own = own + getattr(STRENGTHS, name) * np.array(solution.history[name])
    assert largest_rise(own) <= 1e-9
    assert solution.history["prediction"][-1] < np.log(2)
    assert (solution.w == 1).all()


def test_what_is_not_recorded_leaves_no_line_and_the_same_network():
    sample, one, other = dependent_sample(), random_network(), random_network()
    silent, recorded = start_solution(sample), start_solution(sample)
    train_encoder(sample, one, SETTINGS, silent)
    train_encoder(sample, other, SETTINGS, recorded, recorded=EmbeddedBalance())
    assert silent.history["total"] == []
    assert len(recorded.history["total"]) == SETTINGS.max_iter
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        assert mine.equal(theirs)


def test_the_network_is_changed_in_place():
    sample, network = dependent_sample(), random_network()
    solution, before = start_solution(sample), network.copy()
    train_encoder(sample, network, SETTINGS, solution)
    assert solution.network is network
    assert not network.encoder[0][0].equal(before.encoder[0][0])
    assert (solution.head.beta != 0).any()


def test_an_encoder_without_intercept_keeps_it_at_zero():
    solution = start_solution(dependent_sample())
    settings = replace(SETTINGS, fit_intercept=False)
    train_encoder(dependent_sample(), random_network(), settings, solution)
    assert float(solution.head.intercept) == 0


# --- the loops ---


def test_each_stage_is_bounded_by_max_iter():
    solution = weights_of(dependent_sample(), random_network(), replace(SETTINGS, max_iter=3))
    assert len(solution.history["total"]) == 3 + 3
    assert solution.unfinished == ["encoder", "weights"]


def test_a_stage_that_settles_is_not_called_unfinished():
    solution = weights_of(dependent_sample(), None, replace(SETTINGS, max_iter=500, tol=1e-3))
    assert solution.unfinished == []


def test_every_iteration_is_announced_with_its_stage():
    calls = []
    settings = replace(
        SETTINGS,
        max_iter=3,
        on_iteration=lambda stage, iteration, value: calls.append((stage, iteration)),
    )
    weights_of(dependent_sample(), random_network(), settings)
    solve(dependent_sample(), False, settings)
    expected = ("encoder", "weights", "alternating")
    assert calls == [(stage, k) for stage in expected for k in range(3)]


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_features_does_not_matter(seed, features):
    sample, network = dependent_sample(seed), random_network(seed=seed)
    order = np.random.default_rng(seed).permutation(4)
    settings = replace(SETTINGS, max_iter=2)
    solutions = []
    for part, net in ((sample, network), reorder(sample, network, order)):
        solution = start_solution(part)
        train_encoder(part, net, settings, solution)
        balance = RawBalance() if features else EmbeddedBalance()
        learn_weights(part, balance, None if features else net, settings, solution)
        solutions.append(solution)
    assert_equal_up_to_order(*solutions, order)


def test_an_encoder_that_is_started_on_part_of_the_rows_is_trained_on_all_of_them(monkeypatch):
    sample = dependent_sample(n=400)
    settings = replace(SETTINGS, max_iter=300, tol=1e-7)

    def lowest(begin_on=None):
        solution = start_solution(sample)
        train_encoder(sample, random_network(), settings, solution, begin_on=begin_on)
        losses = NetworkLoss(sample, torch.ones_like(sample.mass), STRENGTHS)
        return float(losses(solution.network, solution.head)[0])

    whole = lowest()
    half = sample.take((torch.arange(len(sample.y)) % 2 == 0).double())
    assert lowest(half) == pytest.approx(whole, rel=0.05)
    monkeypatch.setattr(sequential, "LARGE_TABLE", 100)
    assert lowest() == pytest.approx(whole, rel=0.02)


def test_the_weights_of_some_rows_extend_to_those_that_balance_all():
    sample, network = dependent_sample(n=800), random_network()
    rows = torch.arange(len(sample.y)) % 2 == 0
    few = sample.take(rows.double())
    solution, balance = start_solution(few), EmbeddedBalance()
    learn_weights(few, balance, network, SETTINGS, solution)

    def extend(least_share: float) -> torch.Tensor:
        own = replace(solution, network=network)
        settings = replace(SETTINGS, least_share=least_share)
        extend_weights(sample, rows, balance, settings, own)
        assert own.floored == (least_share > 0)
        return own.w

    w = extend(0.0)
    l_bal = balance.prepare(sample, network)
    assert float(sample.mass @ w) == pytest.approx(1)
    assert w.min() >= 0
    assert l_bal(sample.mass * w)[0] < 0.3 * l_bal(sample.mass)[0]
    least = (1 + float(effective_share(sample, w))) / 2
    assert float(effective_share(sample, extend(least))) == pytest.approx(least)
