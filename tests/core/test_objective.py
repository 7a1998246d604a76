"""Every term of L_mix is the paper's, and so is its gradient."""

from dataclasses import astuple, fields

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck
from torch.autograd.functional import jacobian

import slow_versions as slow
from samples import layers_of, random_network, sample_of
from stablepred.core import objective
from stablepred.core.head import Head
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import (
    TERMS,
    Strengths,
    all_terms,
    loss_of_weights,
    row_losses_and_errors,
    terms_of_weights,
    weighted_sum,
)
from stablepred.weights.embedded import EmbeddedBalance
from stablepred.weights.raw import RawBalance, imbalance

STRENGTHS = Strengths(
    balance=0.7,
    reconstruction=0.3,
    weight_l2=0.11,
    l2=0.05,
    l1=0.013,
    weight_sum=1.7,
    network_l2=0.002,
)
HIDDEN = [None, (3,), (4, 2), (3, 3, 2)]


def make_problem(hidden, seed=0, n=25, p=4):
    """A sample, weights, a head and a network, all at random."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, p)) < 0.5).astype(float)
    mass = rng.exponential(size=n)
    y, w = (rng.random(n) < 0.5).astype(float), torch.as_tensor(rng.exponential(size=n))
    network = None if hidden is None else random_network(p, hidden, seed)
    beta = torch.as_tensor(rng.normal(size=p if hidden is None else hidden[-1]))
    head = Head(beta, torch.tensor(0.4, dtype=torch.float64))
    return sample_of(x, y, mass / mass.sum()), w, head, network


def kind_of_balance(network, standardize=True):
    return RawBalance() if network is None else EmbeddedBalance(standardize)


def find_terms(sample, w, head, network, standardize=False):
    value, _ = kind_of_balance(network, standardize).prepare(sample, network)(sample.mass * w)
    return all_terms(sample, w, head, network, value)


def terms_by_hand(sample, w, head, network, standardize=False):
    x, y, mass, w = (a.detach().numpy() for a in (sample.x, sample.y, sample.mass, w))
    beta, intercept = head.beta.detach().numpy(), float(head.intercept)
    return slow.mixed_terms(x, y, mass, w, beta, intercept, *layers_of(network), standardize)


# --- values ---


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("seed", range(3))
def test_every_term_equals_the_one_written_by_hand(hidden, standardize, seed):
    problem = make_problem(hidden, seed)
    found = find_terms(*problem, standardize)
    expected = terms_by_hand(*problem, standardize)
    assert set(found) <= set(TERMS) == set(expected)
    for name in TERMS:
        assert float(found.get(name, 0.0)) == pytest.approx(expected[name], rel=1e-12), name


@pytest.mark.parametrize("hidden", [None, (4, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_the_total_is_the_sum_of_seven_strengths_times_their_terms(hidden, seed):
    problem = make_problem(hidden, seed)
    term = terms_by_hand(*problem)
    expected = (
        term["prediction"]
        + 0.7 * term["balance"]
        + 0.3 * term["reconstruction"]
        + 0.11 * term["weight_l2"]
        + 0.05 * term["l2"]
        + 0.013 * term["l1"]
        + 1.7 * term["weight_sum"]
        + 0.002 * term["network_l2"]
    )
    total = float(weighted_sum(find_terms(*problem), STRENGTHS))
    assert total == pytest.approx(expected, rel=1e-12)


def test_each_of_the_seven_strengths_has_its_own_term():
    assert {field.name for field in fields(Strengths)} == set(TERMS) - {"prediction"}
    assert astuple(Strengths()) == (0.0,) * 7


def test_without_strengths_the_total_is_the_prediction_loss():
    terms = find_terms(*make_problem((4, 2)), True)
    assert float(weighted_sum(terms, Strengths())) == pytest.approx(float(terms["prediction"]))


def test_with_equal_mass_reconstruction_and_norm_are_n_times_those_of_the_paper():
    problem, w, head, network = make_problem((4, 2))
    n = len(w)
    sample = sample_of(problem.x, problem.y)
    paper = w / n  # the paper's W
    error = sample.x - network.decode(network.encode(sample.x))
    reconstruction = float((paper[:, None] * error).square().sum())  # ||(W 1) * (X - X_hat)||^2
    terms = find_terms(sample, w, head, network)
    assert float(terms["weight_l2"]) == pytest.approx(n * float(paper @ paper))
    assert float(terms["reconstruction"]) == pytest.approx(n * reconstruction)
    assert float(terms["weight_sum"]) == pytest.approx((float(paper.sum()) - 1) ** 2)


def test_the_sum_of_weights_costs_nothing_at_mean_one():
    sample, w, _, _ = make_problem(None)
    at_mean_one = w / (sample.mass @ w)
    value, slope = objective.terms_of_weights(sample, at_mean_one, None, None)["weight_sum"]
    assert float(value) == pytest.approx(0, abs=1e-30)
    assert float(slope.abs().max()) == pytest.approx(0, abs=1e-14)


# --- gradients ---


@pytest.mark.parametrize("name", ["prediction", "reconstruction", "weight_l2", "weight_sum"])
@pytest.mark.parametrize("hidden", [(3,), (4, 2)])
def test_the_gradient_of_each_term_in_the_total_row_weights_is_the_true_one(hidden, name):
    sample, w, head, network = make_problem(hidden)
    losses, errors = row_losses_and_errors(sample, head, network)

    def value(v):
        return terms_of_weights(sample, v / sample.mass, losses, errors)[name][0]

    _, gradient = terms_of_weights(sample, w, losses, errors)[name]
    true = jacobian(value, sample.mass * w)
    torch.testing.assert_close(gradient, true, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("hidden", HIDDEN)
def test_the_gradient_of_the_loss_of_weights_is_that_of_the_slow_loop(hidden, standardize):
    """Central differences of L_mix as it is written by hand, row by row."""
    sample, w, head, network = make_problem(hidden, n=12, p=3)
    l_bal = kind_of_balance(network, standardize).prepare(sample, network)
    rows = row_losses_and_errors(sample, head, network)
    value, gradient = loss_of_weights(sample, STRENGTHS, l_bal, *rows)(w)
    constant = {"l2", "l1", "network_l2"}  # they do not depend on the weights

    def by_hand(w):
        terms = terms_by_hand(sample, w, head, network, standardize)
        kept = {
            name: torch.tensor(terms[name], dtype=torch.float64)
            for name in terms
            if name not in constant
        }
        return float(weighted_sum(kept, STRENGTHS))

    assert float(value) == pytest.approx(by_hand(w), rel=1e-12)
    step = 1e-6
    for i in range(len(w)):
        up, down = w.clone(), w.clone()
        up[i] += step / sample.mass[i]
        down[i] -= step / sample.mass[i]
        slope = (by_hand(up) - by_hand(down)) / (2 * step)
        assert slope == pytest.approx(float(gradient[i]), rel=1e-5, abs=1e-6)


def test_without_losses_and_errors_only_balance_and_penalties_are_left():
    sample, w, _, network = make_problem((4, 2))
    l_bal = EmbeddedBalance().prepare(sample, network)
    value, gradient = loss_of_weights(sample, STRENGTHS, l_bal)(w)
    balance, slope = l_bal(sample.mass * w)
    mean = sample.mass @ w
    expected = 0.7 * balance + 0.11 * (sample.mass @ w**2) + 1.7 * (mean - 1) ** 2
    torch.testing.assert_close(value, expected, rtol=1e-12, atol=0)
    expected_slope = 0.7 * slope + 0.22 * w + 3.4 * (mean - 1)
    torch.testing.assert_close(gradient, expected_slope, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("standardize", [False, True])
def test_the_total_passes_gradcheck_in_weights_coefficients_and_network(standardize):
    sample, w, head, network = make_problem((3, 2), n=8, p=3)
    flat = [tensor.requires_grad_() for tensor in network.parameters()]
    balance = EmbeddedBalance(standardize)

    def total(w, beta, *flat):
        layers = list(zip(flat[::2], flat[1::2], strict=True))
        net = AutoEncoder(layers[:2], layers[2:])
        value = balance.of_network(sample, w, net)
        terms = all_terms(sample, w, Head(beta, head.intercept), net, value)
        return weighted_sum(terms, STRENGTHS)

    assert gradcheck(total, (w.requires_grad_(), head.beta.requires_grad_(), *flat))


def test_the_raw_total_passes_gradcheck_in_weights_and_coefficients():
    sample, w, head, _ = make_problem(None, n=10, p=3)

    def total(w, beta):
        value = imbalance(sample.x, sample.mass * w).square().sum()
        terms = all_terms(sample, w, Head(beta, head.intercept), None, value)
        return weighted_sum(terms, STRENGTHS)

    assert gradcheck(total, (w.requires_grad_(), head.beta.requires_grad_()))
