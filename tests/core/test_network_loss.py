from dataclasses import replace

import pytest
import torch
from test_objective import STRENGTHS, made
from torch.autograd import gradcheck

from stablepred.core.network_loss import network_loss
from stablepred.core.objective import all_terms, weighted_sum

WITHOUT_WEIGHTS = replace(STRENGTHS, balance=0.0, weight_l2=0.0, weight_sum=0.0, l1=0.0)


@pytest.mark.parametrize("hidden", [(3,), (4, 2), (3, 3, 2)])
def test_the_loss_and_its_gradients_are_those_of_the_terms_one_by_one(hidden):
    rows, w, head, network = made(hidden)
    variables = [*network.parameters(), head.beta, head.intercept]
    for variable in variables:
        variable.requires_grad_()
    terms = all_terms(rows, w, head, network, standardize=True)
    expected = weighted_sum(terms, WITHOUT_WEIGHTS)
    found = network_loss(rows, w, network, head, WITHOUT_WEIGHTS)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    slopes = torch.autograd.grad(3 * found, variables)
    expected_slopes = torch.autograd.grad(3 * expected, variables)
    torch.testing.assert_close(slopes, expected_slopes, rtol=1e-10, atol=1e-14)


def test_the_gradient_is_that_of_finite_differences():
    rows, w, head, network = made((3, 2), n=6)
    inputs = [tensor.requires_grad_() for tensor in [head.beta, *network.parameters()]]
    loss = lambda *_: network_loss(rows, w, network, head, WITHOUT_WEIGHTS)  # noqa: E731
    assert gradcheck(loss, inputs)


def test_a_fixed_head_gets_no_gradient():
    rows, w, head, network = made((3, 2))
    for variable in network.parameters():
        variable.requires_grad_()
    network_loss(rows, w, network, head, WITHOUT_WEIGHTS).backward()
    assert head.beta.grad is None
    assert all(variable.grad is not None for variable in network.parameters())
