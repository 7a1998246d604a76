"""The terms of the objective that are not balancing (paper, eqs. 16, 18 and 19)."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import functional

from stablepred.core.sharding import total, totals


def logistic_losses(logits: Tensor, y: Tensor) -> Tensor:
    """Minus log likelihood of each row: log(1 + exp((1 - 2 y) * logit)), shape (n,)."""
    return functional.softplus((1 - 2 * y) * logits)


def prediction_loss(logits: Tensor, y: Tensor, v: Tensor) -> Tensor:
    """L_Pre = sum_i v_i log(1 + exp((1 - 2 y_i) * logit_i)) (eq. 16)."""
    return total(v @ logistic_losses(logits, y))


def reconstruction_loss(row_errors: Tensor, w: Tensor, mass: Tensor) -> Tensor:
    """L_AE = sum_i c_i w_i^2 ||x_i - x_hat_i||^2 (eq. 18; n times the paper's at equal rows)."""
    return total((mass * w.square()) @ row_errors)


def weight_penalties(w: Tensor, mass: Tensor) -> tuple[Tensor, Tensor]:
    """||W||^2 as sum_i c_i w_i^2 (n times the paper's at equal rows), and (sum_i c_i w_i - 1)^2."""
    norm, mean = totals(mass @ w.square(), mass @ w)
    return norm, (mean - 1).square()


def squared_norm(matrices: Iterable[Tensor]) -> Tensor:
    """Sum of squared Frobenius norms."""
    return torch.stack([matrix.square().sum() for matrix in matrices]).sum()
