"""The prediction head: weighted elastic-net logistic regression (paper, update of beta).

    min over beta, b:  sum_i v_i log(1 + exp((1 - 2 y_i)(z_i beta + b)))
                       + lambda_4 ||beta||^2 + lambda_5 ||beta||_1

Proximal Newton: each step replaces the loss by its quadratic expansion, which needs one weighted
Gram matrix, and hands the small lasso problem that is left to scikit-learn's coordinate descent,
which gives exact zeros. A step is taken only as far as it lowers the objective. Where predictions
are nearly certain the expansion is too flat to be of use; then the curvature is replaced by its
upper bound, v / 4, whose step always lowers the objective.
"""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn import config_context
from sklearn.linear_model import enet_path
from torch import Tensor

from stablepred.core.losses import prediction_loss
from stablepred.core.sharding import smallest, totals

# A logit of this size is a certain prediction in double precision; on separable data without a
# penalty the coefficients would otherwise grow for ever.
LARGEST_LOGIT = 30.0


@dataclass(frozen=True)
class Head:
    """A fitted head: ``logits = z @ beta + intercept``."""

    beta: Tensor  # (d,)
    intercept: Tensor  # ()
    converged: bool = True

    def to(self, device: torch.device | str) -> "Head":
        """The same head on another device."""
        return Head(self.beta.to(device), self.intercept.to(device), self.converged)

    def logits(self, z: Tensor) -> Tensor:
        """Logits of the rows of ``z``: (n,)."""
        return z @ self.beta + self.intercept


def zero_head(z: Tensor) -> Head:
    """The head that predicts one half everywhere."""
    return Head(z.new_zeros(z.shape[1]), z.new_zeros(()))


def head_objective(
    head: Head, columns: Tensor, y: Tensor, v: Tensor, l2: float, l1: float
) -> Tensor:
    """L_Pre + lambda_4 ||beta||^2 + lambda_5 ||beta||_1, with the rows of z side by side."""
    penalty = l2 * head.beta.square().sum() + l1 * head.beta.abs().sum()
    return prediction_loss(_logits(head, columns), y, v) + penalty


def _logits(head: Head, columns: Tensor) -> Tensor:
    return head.beta @ columns + head.intercept


def fit_head(
    z: Tensor,
    y: Tensor,
    v: Tensor,
    *,
    l2: float,
    l1: float,
    fit_intercept: bool = True,
    start: Head | None = None,
    max_iter: int = 100,
    tol: float = 1e-12,
) -> Head:
    """Minimise the head's objective from ``start``; the objective never rises."""
    head = zero_head(z) if start is None else start
    z = z.T.contiguous()  # (d, n): narrow matrices are multiplied faster this way
    best = head_objective(head, z, y, v, l2, l1)
    for _ in range(max_iter):
        value = best
        for bounded in (False, True):
            proposal = _newton_proposal(head, z, y, v, l2, l1, fit_intercept, bounded)
            trial, lower, step = _line_search(head, proposal, best, z, y, v, l2, l1)
            if lower <= value:
                chosen, value = trial, lower
            if step > 0.1:
                break
        head = chosen
        certain = smallest(((2 * y - 1) * _logits(head, z)).min()) > LARGEST_LOGIT
        if best - value <= tol * value.abs() or certain:
            return Head(head.beta, head.intercept, converged=not certain)
        best = value
    return Head(head.beta, head.intercept, converged=False)


def _newton_proposal(
    head: Head,
    z: Tensor,
    y: Tensor,
    v: Tensor,
    l2: float,
    l1: float,
    fit_intercept: bool,
    bounded: bool,
) -> Head:
    """Minimiser of the quadratic expansion of the loss (or of its bound) plus the penalties."""
    probability = torch.sigmoid(_logits(head, z))
    curvature = v / 4  # (n,)
    if not bounded:
        curvature = v * (probability * (1 - probability)).clamp_min(1e-10)
    residual = v * (y - probability)  # (n,) minus the gradient in the logits
    total, first, misses = totals(curvature.sum(), z @ curvature, residual.sum())
    centre = first / total if fit_intercept else torch.zeros_like(head.beta)
    # With the intercept profiled out, the expansion is 1/2 beta'H beta - q'beta.
    shift = misses / total if fit_intercept else residual.new_zeros(())
    centred = z - centre[:, None]
    hessian, slope = totals(
        (centred * curvature) @ centred.T,  # (d, d)
        centred @ (residual - curvature * shift),  # (d,)
    )
    target = hessian @ head.beta + slope
    beta = _small_elastic_net(hessian, target, l2, l1, head.beta)
    if not fit_intercept:
        return Head(beta, head.intercept)
    return Head(beta, head.intercept + shift - centre @ (beta - head.beta))


def _small_elastic_net(
    hessian: Tensor, target: Tensor, l2: float, l1: float, start: Tensor
) -> Tensor:
    """Min 1/2 beta'H beta - q'beta + l2 ||beta||^2 + l1 ||beta||_1, exactly sparse."""
    values, vectors = torch.linalg.eigh(hessian)
    keep = values > values[-1:].clamp_min(1e-300) * 1e-13
    values, vectors = values[keep], vectors[:, keep]
    if l1 == 0.0 or not keep.any():
        return vectors @ ((vectors.T @ target) / (values + 2 * l2))
    # The same problem as least squares with as many rows as columns: H = R'R, q = R't.
    root = (values.sqrt()[:, None] * vectors.T).cpu().numpy()  # (d', d)
    response = ((vectors.T @ target) / values.sqrt()).cpu().numpy()  # (d',)
    strength = l1 + 2 * l2
    scale = np.sqrt(len(root))
    with config_context(skip_parameter_validation=True):  # it takes longer than the descent
        _, coefficients, _ = enet_path(
            np.asfortranarray(root * scale),
            response * scale,
            alphas=[strength],
            l1_ratio=l1 / strength,
            coef_init=start.cpu().numpy().copy(),  # overwritten by the descent
            tol=1e-12,
            max_iter=100_000,
            random_state=0,  # not used by cyclic descent; None would advance the global generator
            check_input=False,
        )
    return torch.as_tensor(coefficients[:, 0], dtype=start.dtype, device=start.device)


def _line_search(
    old: Head, new: Head, best: Tensor, z: Tensor, y: Tensor, v: Tensor, l2: float, l1: float
) -> tuple[Head, Tensor, float]:
    """The longest halved step from ``old`` towards ``new`` that lowers the objective."""
    step = 1.0
    while step > 1e-8:
        # At a full step the zeros of the proposal stay exact zeros.
        trial = (
            new
            if step == 1.0
            else Head(
                old.beta + step * (new.beta - old.beta),
                old.intercept + step * (new.intercept - old.intercept),
            )
        )
        value = head_objective(trial, z, y, v, l2, l1)
        if value <= best:
            return trial, value, step
        step /= 2
    return old, best, 0.0
