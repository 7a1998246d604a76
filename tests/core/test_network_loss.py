"""``NetworkLoss`` is the sum of the terms that it says, and so are its gradients."""

from dataclasses import replace

import pytest
import torch
from test_objective import STRENGTHS, find_terms, make_problem

from stablepred.core.objective import NetworkLoss, Strengths, weighted_sum

WITHOUT_WEIGHTS = replace(STRENGTHS, balance=0.0, weight_l2=0.0, weight_sum=0.0, l1=0.0)
TERMS_OF_NETWORK = ("prediction", "reconstruction", "l2", "network_l2")


@pytest.mark.parametrize("hidden", [(3,), (4, 2), (3, 3, 2)])
def test_the_loss_and_its_gradients_are_those_of_the_terms_one_by_one(hidden):
    sample, w, head, network = make_problem(hidden)
    variables = [*network.parameters(), head.beta, head.intercept]
    for variable in variables:
        variable.requires_grad_()
    terms = find_terms(sample, w, head, network)
    expected = weighted_sum({name: terms[name] for name in TERMS_OF_NETWORK}, STRENGTHS)
    found, slopes = NetworkLoss(sample, w, WITHOUT_WEIGHTS)(network, head)
    torch.testing.assert_close(found, expected.detach(), rtol=1e-12, atol=0)
    expected_slopes = torch.autograd.grad(expected, variables)
    torch.testing.assert_close(tuple(slopes), expected_slopes, rtol=1e-10, atol=1e-14)


def test_the_terms_that_do_not_depend_on_network_or_head_are_no_part_of_it():
    sample, w, head, network = make_problem((4, 2))
    one, _ = NetworkLoss(sample, w, STRENGTHS)(network, head)
    other, _ = NetworkLoss(sample, w, WITHOUT_WEIGHTS)(network, head)
    assert float(one) == float(other)


@pytest.mark.parametrize("name", TERMS_OF_NETWORK)
def test_each_strength_multiplies_its_own_term(name):
    sample, w, head, network = make_problem((4, 2))
    terms = find_terms(sample, w, head, network)
    strengths = Strengths() if name == "prediction" else Strengths(**{name: 0.37})
    found, _ = NetworkLoss(sample, w, strengths)(network, head)
    expected = terms["prediction"] + (0.0 if name == "prediction" else 0.37 * terms[name])
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)


def test_the_gradient_is_that_of_finite_differences():
    sample, w, head, network = make_problem((3, 2), n=6)
    loss = NetworkLoss(sample, w, WITHOUT_WEIGHTS)
    _, slopes = loss(network, head)
    step = 1e-6
    for variable, slope in zip([*network.parameters(), head.beta], slopes, strict=False):
        flat = variable.view(-1)
        for k in range(len(flat)):
            flat[k] += step
            above = float(loss(network, head)[0])
            flat[k] -= 2 * step
            below = float(loss(network, head)[0])
            flat[k] += step
            assert (above - below) / (2 * step) == pytest.approx(
                float(slope.view(-1)[k]), rel=1e-5, abs=1e-8
            )
