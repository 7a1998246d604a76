import math

import numpy as np
import pytest
import slow_versions as slow
import torch
from torch.autograd import gradcheck

from stablepred.core import losses


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    mass = rng.exponential(size=12)
    return {
        "x": torch.as_tensor((rng.random((12, 3)) < 0.5).astype(float)),
        "x_hat": torch.as_tensor(rng.random((12, 3))),
        "y": torch.as_tensor((rng.random(12) < 0.5).astype(float)),
        "logits": torch.as_tensor(rng.normal(size=12)),
        "w": torch.as_tensor(rng.exponential(size=12)),
        "mass": torch.as_tensor(mass / mass.sum()),
    }


def _errors(rows):
    return (rows["x"] - rows["x_hat"]).square().sum(1)


def test_prediction_loss_is_the_weighted_minus_log_likelihood(rows):
    found = losses.prediction_loss(rows["logits"], rows["y"], rows["w"])
    by_hand = slow.prediction(rows["logits"].numpy(), rows["y"].numpy(), rows["w"].numpy())
    assert float(found) == pytest.approx(by_hand, rel=1e-12)
    likelihood = [
        p if y == 1 else 1 - p for p, y in zip(rows["logits"].sigmoid(), rows["y"], strict=True)
    ]
    by_likelihood = sum(
        -w * math.log(q) for w, q in zip(rows["w"].tolist(), likelihood, strict=True)
    )
    assert float(found) == pytest.approx(by_likelihood, rel=1e-12)


def test_losses_of_certain_predictions_do_not_overflow():
    logits = torch.tensor([1000.0, -1000.0, 1000.0, -1000.0], dtype=torch.float64)
    y = torch.tensor([1.0, 0.0, 0.0, 1.0], dtype=torch.float64)
    assert losses.logistic_losses(logits, y).tolist() == [0, 0, 1000, 1000]


def test_reconstruction_loss_weighs_each_row_by_its_squared_weight(rows):
    found = losses.reconstruction_loss(_errors(rows), rows["w"], rows["mass"])
    by_hand = sum(
        float(rows["mass"][i] * rows["w"][i] ** 2 * (rows["x"][i, k] - rows["x_hat"][i, k]) ** 2)
        for i in range(12)
        for k in range(3)
    )
    assert float(found) == pytest.approx(by_hand, rel=1e-12)


def test_with_equal_rows_reconstruction_and_norm_are_n_times_those_of_the_paper(rows):
    w, mass = rows["w"], torch.full((12,), 1 / 12, dtype=torch.float64)
    paper = w / 12  # the paper's W
    error = rows["x"] - rows["x_hat"]
    reconstruction = float((paper[:, None] * error).square().sum())  # ||(W 1) * (X - X_hat)||^2
    assert float(losses.weight_penalties(w, mass)[0]) == pytest.approx(12 * float(paper @ paper))
    assert float(losses.reconstruction_loss(_errors(rows), w, mass)) == pytest.approx(
        12 * reconstruction
    )
    gap = float(losses.weight_penalties(w, mass)[1])
    assert gap == pytest.approx((float(paper.sum()) - 1) ** 2)


def test_the_sum_of_weights_costs_nothing_at_mean_one(rows):
    w = rows["w"] / (rows["mass"] @ rows["w"])
    assert float(losses.weight_penalties(w, rows["mass"])[1]) == pytest.approx(0, abs=1e-30)


def test_squared_norm_adds_the_squares_of_all_entries():
    matrices = [torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[-5.0]])]
    assert float(losses.squared_norm(matrices)) == 1 + 4 + 9 + 16 + 25


def test_all_losses_pass_gradcheck(rows):
    w, mass = rows["w"].clone().requires_grad_(), rows["mass"]
    logits = rows["logits"].clone().requires_grad_()
    x_hat = rows["x_hat"].clone().requires_grad_()
    assert gradcheck(lambda a, b: losses.prediction_loss(a, rows["y"], b), (logits, w))
    errors = lambda a: (rows["x"] - a).square().sum(1)  # noqa: E731
    assert gradcheck(lambda a, b: losses.reconstruction_loss(errors(a), b, mass), (x_hat, w))
    assert gradcheck(lambda a: losses.weight_penalties(a, mass), w)
