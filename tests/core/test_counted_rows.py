"""Distinct rows with counts are the same problem as all rows one by one."""

import numpy as np
import pytest
import torch
from stablepred.core.patterns import distinct_patterns
from stablepred.core.solvers import Settings, sequential

from stablepred.core.head import Head, fit_head
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import Rows, Strengths, all_terms, weighted_sum

STRENGTHS = Strengths(
    balance=1.3,
    reconstruction=0.2,
    weight_l2=0.5,
    l2=1e-3,
    l1=1e-2,
    weight_sum=0.7,
    network_l2=1e-4,
)


def made(n=400, p=5, seed=0):
    """All rows one by one, their distinct rows, and the way from each row to its distinct one."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, p)) < 0.5).astype(float)
    x[:, 1] = np.where(rng.random(n) < 0.6, x[:, 0], x[:, 1])
    y = (x[:, 0] + x[:, 2] + rng.normal(0, 0.7, n) > 1).astype(float)
    patterns = distinct_patterns(x, y, np.ones(n))
    every = Rows(
        torch.as_tensor(x), torch.as_tensor(y), torch.full((n,), 1 / n, dtype=torch.float64), p
    )
    distinct = Rows(*(torch.as_tensor(a) for a in (patterns.x, patterns.y, patterns.mass)), p)
    return every, distinct, torch.as_tensor(patterns.index)


def loss_and_gradients(rows, w, beta, network):
    w, beta = w.clone().requires_grad_(), beta.clone().requires_grad_()
    intercept = torch.tensor(0.3, dtype=torch.float64)
    terms = all_terms(rows, w, Head(beta, intercept), network, standardize=True)
    total = weighted_sum(terms, STRENGTHS)
    parameters = [] if network is None else network.parameters()
    return terms | {"total": total}, torch.autograd.grad(total, [w, beta, *parameters])


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_losses_and_gradients_of_counted_rows_are_those_of_all_rows(deep, seed):
    every, distinct, index = made(seed=seed)
    generator = torch.Generator().manual_seed(seed)
    network = AutoEncoder.random(5, (3, 2), generator) if deep else None
    for tensor in [] if network is None else network.parameters():
        tensor.requires_grad_()
    w = torch.rand(len(distinct.y), generator=generator).double() + 0.5
    beta = torch.randn(2 if deep else 5, generator=generator).double()
    few, few_gradients = loss_and_gradients(distinct, w, beta, network)
    all_, all_gradients = loss_and_gradients(every, w[index], beta, network)
    for name, value in all_.items():
        torch.testing.assert_close(few[name], value, rtol=1e-10, atol=1e-10, msg=name)
    of_patterns = torch.zeros_like(w).index_add(0, index, all_gradients[0])
    for one, other in zip(few_gradients, [of_patterns, *all_gradients[1:]], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_coefficients_from_counted_rows_are_those_from_all_rows(seed):
    every, distinct, index = made(seed=seed)
    settings = Settings(STRENGTHS, max_iter=400, tol=1e-13)
    weights, heads = [], []
    for rows in (every, distinct):
        w = sequential(rows, [], settings).w
        v = rows.mass * w
        head = fit_head(rows.x, rows.y, v / v.sum(), l2=1e-3, l1=1e-2, tol=1e-12)
        weights.append(w)
        heads.append(head)
    torch.testing.assert_close(weights[0], weights[1][index], rtol=0, atol=1e-5)
    torch.testing.assert_close(heads[0].beta, heads[1].beta, rtol=0, atol=1e-6)
    torch.testing.assert_close(heads[0].intercept, heads[1].intercept, rtol=0, atol=1e-6)
