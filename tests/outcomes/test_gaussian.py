"""A numeric outcome: the squared loss with its derivatives, and strata of equally many rows."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch.autograd import gradcheck

from stablepred.outcomes.gaussian import GAUSSIAN, STRATA


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return torch.as_tensor(rng.normal(size=40)), torch.as_tensor(rng.normal(size=40))


def test_slopes_and_curvature_are_the_differences_of_the_loss(rows):
    scores, y = rows
    step = 1e-4
    low, middle, high = (GAUSSIAN.losses(scores + s, y) for s in (-step, 0, step))
    torch.testing.assert_close(
        GAUSSIAN.slopes(scores, y), (high - low) / (2 * step), atol=1e-7, rtol=0
    )
    second = (high - 2 * middle + low) / step**2
    torch.testing.assert_close(GAUSSIAN.curvature(scores, y), second, atol=1e-6, rtol=0)
    assert float(GAUSSIAN.curvature(scores, y).max()) <= GAUSSIAN.bound
    assert gradcheck(lambda s: GAUSSIAN.losses(s, y), scores.requires_grad_())


def test_the_weighted_loss_is_least_at_the_weighted_mean(rows):
    _, y = rows
    weight = torch.as_tensor(np.random.default_rng(1).exponential(size=40))
    mean = (weight @ y / weight.sum()).expand(40)
    assert float(weight @ GAUSSIAN.slopes(mean, y)) == pytest.approx(0, abs=1e-12)


def test_the_dispersion_is_the_weighted_mean_square_of_the_residuals(rows):
    scores, y = rows
    mass = torch.as_tensor(np.random.default_rng(1).exponential(size=40))
    expected = np.average((y - scores).numpy() ** 2, weights=mass.numpy())
    assert GAUSSIAN.dispersion(scores, y, mass) == pytest.approx(expected)


def test_a_prediction_is_a_mean_and_never_certain(rows):
    scores, y = rows
    assert torch.equal(GAUSSIAN.inverse_link(scores), scores)
    assert not GAUSSIAN.is_certain(scores, y).any()
    torch.testing.assert_close(GAUSSIAN.losses_of_means(scores, y), (y - scores) ** 2 / 2)
    torch.testing.assert_close(GAUSSIAN.squared_errors(scores, y), (y - scores) ** 2)


def test_the_strata_divide_the_rows_in_order_into_equal_parts():
    y = torch.as_tensor(np.random.default_rng(2).permutation(400).astype(float))
    strata = GAUSSIAN.strata(y)
    assert [int(mask.sum()) for mask in strata] == [400 // STRATA] * STRATA
    assert torch.stack(strata).sum(0).eq(1).all()
    ends = [(float(y[mask].min()), float(y[mask].max())) for mask in strata]
    assert all(before[1] < after[0] for before, after in pairwise(ends))


def test_equal_outcomes_are_in_one_stratum():
    y = torch.tensor([0.0] * 150 + [1.0] * 50 + [2.5] * 200).double()
    found = [set(y[mask].tolist()) for mask in GAUSSIAN.strata(y)]
    assert found == [{0.0}, {1.0}, {2.5}]


def test_the_probabilities_of_the_strata_are_those_of_normal_noise():
    rng = np.random.default_rng(3)
    y = torch.as_tensor(rng.normal(size=200))
    scores = torch.tensor([0.0, 1.3, -40.0, 40.0]).double()
    found = torch.stack(GAUSSIAN.strata_probabilities(scores, y, 0.25))
    torch.testing.assert_close(found.sum(0), torch.ones(4).double())
    edges = np.sort(y.numpy())[np.arange(1, STRATA) * 200 // STRATA]
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    for k in range(4):
        expected = np.diff(norm.cdf(ends, float(scores[k]), 0.5))
        np.testing.assert_allclose(found[:, k], expected, atol=1e-12)
