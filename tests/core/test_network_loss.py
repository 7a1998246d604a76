from dataclasses import replace

import pytest
import torch
from stablepred.core.network_loss import NetworkLoss
from test_objective import STRENGTHS, made

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
    found, slopes = NetworkLoss(rows, w, WITHOUT_WEIGHTS)(network, head)
    torch.testing.assert_close(found, expected.detach(), rtol=1e-12, atol=0)
    expected_slopes = torch.autograd.grad(expected, variables)
    torch.testing.assert_close(tuple(slopes), expected_slopes, rtol=1e-10, atol=1e-14)


def test_the_gradient_is_that_of_finite_differences():
    rows, w, head, network = made((3, 2), n=6)
    loss = NetworkLoss(rows, w, WITHOUT_WEIGHTS)
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
