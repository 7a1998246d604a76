"""The logistic loss of a 0/1 outcome, with its derivatives."""

import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

import slow_versions as slow
from stablepred.outcomes.binary import BINARY


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    scores = torch.as_tensor(rng.normal(scale=3, size=40))
    return scores, torch.as_tensor((rng.random(40) < 0.5).astype(float))


def test_the_loss_is_minus_the_log_likelihood(rows):
    scores, y = rows
    found = BINARY.losses(scores, y)
    by_hand = slow.prediction(scores.numpy(), y.numpy(), np.ones(40))
    assert float(found.sum()) == pytest.approx(by_hand, rel=1e-12)
    probability = BINARY.inverse_link(scores).tolist()
    for loss, p, outcome in zip(found.tolist(), probability, y.tolist(), strict=True):
        assert loss == pytest.approx(-math.log(p if outcome == 1 else 1 - p), rel=1e-9)


def test_losses_of_certain_predictions_do_not_overflow():
    scores = torch.tensor([1000.0, -1000.0, 1000.0, -1000.0], dtype=torch.float64)
    y = torch.tensor([1.0, 0.0, 0.0, 1.0], dtype=torch.float64)
    assert BINARY.losses(scores, y).tolist() == [0, 0, 1000, 1000]
    assert BINARY.slopes(scores, y).tolist() == [0, 0, 1, -1]


def test_the_slope_of_a_nearly_certain_prediction_is_not_lost_to_cancellation():
    scores, y = torch.tensor([50.0]).double(), torch.ones(1).double()
    assert float(BINARY.slopes(scores, y)) == pytest.approx(-math.exp(-50), rel=1e-12)


def test_slopes_and_curvature_are_the_derivatives_of_the_loss(rows):
    scores, y = rows
    scores.requires_grad_()
    assert gradcheck(lambda s: BINARY.losses(s, y), scores)
    (slopes,) = torch.autograd.grad(BINARY.losses(scores, y).sum(), scores)
    torch.testing.assert_close(BINARY.slopes(scores, y).detach(), slopes, rtol=1e-12, atol=1e-15)
    (curvature,) = torch.autograd.grad(BINARY.slopes(scores, y).sum(), scores)
    torch.testing.assert_close(
        BINARY.curvature(scores, y).detach(), curvature, rtol=1e-10, atol=1e-14
    )


def test_the_curvature_never_exceeds_its_bound_and_reaches_it():
    scores = torch.linspace(-40, 40, 1001, dtype=torch.float64)
    curvature = BINARY.curvature(scores, torch.zeros_like(scores))
    assert float(curvature.max()) == BINARY.bound
    assert (curvature >= 0).all()


def test_a_prediction_is_certain_where_the_other_class_has_nothing_left():
    scores = torch.tensor([31.0, -31.0, 31.0, 29.0]).double()
    y = torch.tensor([1.0, 0.0, 0.0, 1.0]).double()
    assert BINARY.is_certain(scores, y).tolist() == [True, True, False, False]


def test_the_strata_are_the_two_classes(rows):
    _, y = rows
    negative, positive = BINARY.strata(y)
    assert (negative ^ positive).all()
    assert positive.equal(y == 1)
