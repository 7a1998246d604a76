"""Distinct rows with their mass are the same problem as all rows one by one."""

import numpy as np
import pytest
import torch

from samples import random_network, sample_of
from stablepred.core.head import Head, fit_head
from stablepred.core.loop import Settings
from stablepred.core.objective import Strengths, all_terms, weighted_sum
from stablepred.core.sequential import learn_weights, start_solution
from stablepred.sample import make_sample
from stablepred.weights.embedded import EmbeddedBalance
from stablepred.weights.raw import RawBalance, imbalance

STRENGTHS = Strengths(
    balance=1.3,
    reconstruction=0.2,
    weight_l2=0.5,
    l2=1e-3,
    l1=1e-2,
    weight_sum=0.7,
    network_l2=1e-4,
)


def make_both(n=400, p=5, seed=0):
    """All rows one by one, the distinct rows, and the way from each row to its distinct one."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, p)) < 0.5).astype(float)
    x[:, 1] = np.where(rng.random(n) < 0.6, x[:, 0], x[:, 1])
    y = (x[:, 0] + x[:, 2] + rng.normal(0, 0.7, n) > 1).astype(float)
    distinct = make_sample(x, y, np.ones(n), [f"x{j}" for j in range(p)])
    every = sample_of(x[:, distinct.origin.columns], y)
    return every, distinct, torch.as_tensor(distinct.origin.index)


def loss_and_gradients(sample, w, beta, network):
    w, beta = w.clone().requires_grad_(), beta.clone().requires_grad_()
    if network is None:
        balance = imbalance(sample.x, sample.mass * w).square().sum()
    else:
        balance = EmbeddedBalance().of_network(sample, w, network)
    head = Head(beta, torch.tensor(0.3, dtype=torch.float64))
    terms = all_terms(sample, w, head, network, balance)
    total = weighted_sum(terms, STRENGTHS)
    parameters = [] if network is None else network.parameters()
    return terms | {"total": total}, torch.autograd.grad(total, [w, beta, *parameters])


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_losses_and_gradients_of_distinct_rows_are_those_of_all_rows(deep, seed):
    every, distinct, index = make_both(seed=seed)
    assert len(distinct.y) < len(every.y) / 4
    generator = torch.Generator().manual_seed(seed)
    network = random_network(5, (3, 2), seed) if deep else None
    for tensor in [] if network is None else network.parameters():
        tensor.requires_grad_()
    w = torch.rand(len(distinct.y), generator=generator).double() + 0.5
    beta = torch.randn(2 if deep else 5, generator=generator).double()
    few, few_gradients = loss_and_gradients(distinct, w, beta, network)
    all_, all_gradients = loss_and_gradients(every, w[index], beta, network)
    for name, value in all_.items():
        torch.testing.assert_close(few[name], value, rtol=1e-10, atol=1e-10, msg=name)
    of_distinct = torch.zeros_like(w).index_add(0, index, all_gradients[0])
    for one, other in zip(few_gradients, [of_distinct, *all_gradients[1:]], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_weights_and_coefficients_from_distinct_rows_are_those_from_all_rows(seed):
    every, distinct, index = make_both(seed=seed)
    settings = Settings(STRENGTHS, max_iter=400, tol=1e-13)
    weights, heads = [], []
    for sample in (every, distinct):
        solution = start_solution(sample)
        learn_weights(sample, RawBalance(), None, settings, solution)
        v = sample.mass * solution.w
        heads.append(fit_head(sample, sample.x, v / v.sum(), l2=1e-3, l1=1e-2, tol=1e-12))
        weights.append(solution.w)
    torch.testing.assert_close(weights[0], weights[1][index], rtol=0, atol=1e-5)
    torch.testing.assert_close(heads[0].beta, heads[1].beta, rtol=0, atol=1e-6)
    torch.testing.assert_close(heads[0].intercept, heads[1].intercept, rtol=0, atol=1e-6)
