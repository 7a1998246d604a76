"""FWDGBR and RFWDGBR: the weights are fixed, and head and network go on under bounds."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from test_algorithm1 import SETTINGS, STRENGTHS, solve

from samples import dependent_sample, largest_rise
from stablepred.core.frozen import FrozenWeights, fit_under_fixed_weights
from stablepred.core.row_weights import scale_to_mean_one
from stablepred.weights.embedded import EmbeddedBalance


@pytest.fixture(scope="module")
def before():
    """A sample, and a solution of some iterations of Algorithm 1."""
    sample = dependent_sample(n=80)
    return sample, solve(sample, True, replace(SETTINGS, max_iter=3))


def go_on(sample, solution, max_iter=6, **options):
    solution = replace(solution, history={k: list(v) for k, v in solution.history.items()})
    settings = replace(SETTINGS, max_iter=max_iter)
    frozen = FrozenWeights(**options)
    return fit_under_fixed_weights(sample, solution, settings, frozen, EmbeddedBalance())


@pytest.mark.parametrize(
    ("after", "max_iter", "expected"), [(None, 100, 50), (None, 1, 1), (7, 100, 7), (7, 5, 5)]
)
def test_the_weights_are_fixed_after_half_of_the_iterations_unless_told(after, max_iter, expected):
    assert FrozenWeights(after=after).count_iterations(max_iter) == expected


@pytest.mark.parametrize("reduced", [False, True])
def test_fixed_weights_do_not_change(before, reduced):
    sample, solution = before
    result = go_on(sample, solution, reduced=reduced)
    torch.testing.assert_close(result.w, scale_to_mean_one(sample, solution.w), rtol=0, atol=0)


@pytest.mark.parametrize("reduced", [False, True])
def test_only_loss_penalties_and_reconstruction_count(before, reduced):
    sample, solution = before
    history = go_on(sample, solution, reduced=reduced).history
    done = len(solution.history["total"])
    total = np.array(history["prediction"])
    counted = ("l2", "l1") if reduced else ("l2", "l1", "reconstruction", "network_l2")
    for name in counted:
        total = total + getattr(STRENGTHS, name) * np.array(history[name])
    assert len(history["total"]) > done
    np.testing.assert_allclose(history["total"][done:], total[done:], rtol=1e-10)


@pytest.mark.parametrize(
    "options",
    [{}, {"reduced": True}, {"bias_bound": 0.3}, {"reduced": True, "network_bound": 2.0}],
)
def test_the_objective_never_rises(before, options):
    sample, solution = before
    history = go_on(sample, solution, max_iter=10, **options).history["total"]
    assert largest_rise(history[len(solution.history["total"]) :]) <= 1e-9


def test_the_prediction_loss_gets_lower(before):
    sample, solution = before
    history = go_on(sample, solution, max_iter=10).history["prediction"]
    assert history[-1] < history[len(solution.history["total"])]


def test_the_loss_is_divided_by_the_sum_of_the_weights(before):
    sample, solution = before
    doubled = replace(solution, w=2 * solution.w)
    one, other = go_on(sample, solution), go_on(sample, doubled)
    torch.testing.assert_close(one.head.beta, other.head.beta, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("bound", [0.5, 2.0, 100.0])
def test_reduced_the_norm_of_every_matrix_is_bounded(before, bound):
    network = go_on(*before, reduced=True, network_bound=bound).network
    for weight, _ in network.encoder:
        assert float(weight.square().sum()) <= bound * (1 + 1e-12)


def test_without_a_bound_every_matrix_stays_within_its_own_norm(before):
    _, solution = before
    network = go_on(*before, max_iter=15, reduced=True).network
    for (weight, _), (old, _) in zip(network.encoder, solution.network.encoder, strict=True):
        assert float(weight.square().sum()) <= float(old.square().sum()) * (1 + 1e-12)
        assert not torch.equal(weight, old)


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("bound", [0.0, 0.05, 0.5])
def test_the_bias_bound_holds_for_every_layer(before, bound, reduced):
    network = go_on(*before, reduced=reduced, bias_bound=bound).network
    for _, bias in network.encoder:
        assert float(bias.norm()) <= bound * (1 + 1e-12)
        assert torch.isfinite(bias).all()


def test_reduced_the_decoder_is_left_alone(before):
    _, solution = before
    network = go_on(*before, reduced=True).network
    for layer, old in zip(network.decoder, solution.network.decoder, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(layer, old, strict=True))


def test_the_solution_it_starts_from_is_not_touched(before):
    _, solution = before
    old = [tensor.clone() for tensor in solution.network.parameters()]
    go_on(*before)
    for tensor, copy in zip(solution.network.parameters(), old, strict=True):
        assert torch.equal(tensor, copy)


def test_that_the_weights_were_stopped_is_no_failure_to_converge(before):
    sample, solution = before
    assert solution.unfinished == ["alternating"]
    assert go_on(sample, solution, max_iter=3).unfinished == ["fixed weights"]
