"""The prediction head: weighted elastic-net regression (paper, update of beta).

    min over beta, b:  sum_i v_i loss(z_i beta + b, y_i)
                       + lambda_4 ||beta||^2 + lambda_5 ||beta||_1

Proximal Newton: each step replaces the loss by its quadratic expansion and hands the small lasso
problem that is left to scikit-learn's coordinate descent, which gives exact zeros. A step is taken
only as far as it lowers the objective. Where predictions are nearly certain the expansion is too
flat; then the curvature is replaced by its upper bound, whose step always lowers the objective.
"""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn import config_context
from sklearn.linear_model import enet_path
from torch import Tensor

from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY
from stablepred.sample import Sample


@dataclass(frozen=True)
class Head:
    beta: Tensor  # (d,)
    intercept: Tensor  # ()
    converged: bool = True

    def scores(self, z: Tensor) -> Tensor:
        """Scores of the rows of ``z``: (n,). For a 0/1 outcome they are log-odds."""
        return z @ self.beta + self.intercept


def zero_head(z: Tensor) -> Head:
    return Head(z.new_zeros(z.shape[1]), z.new_zeros(()))


@dataclass(frozen=True)
class HeadProblem:
    """The objective of the head: rows of z side by side, (d, n)."""

    sample: Sample
    z: Tensor
    v: Tensor  # (n,) total row weights
    l2: float
    l1: float
    fit_intercept: bool = True
    outcome: Outcome = BINARY

    def scores(self, head: Head) -> Tensor:
        return head.beta @ self.z + head.intercept

    def value(self, head: Head) -> Tensor:
        penalty = self.l2 * (head.beta @ head.beta) + self.l1 * head.beta.abs().sum()
        losses = self.outcome.losses(self.scores(head), self.sample.y)
        return self.sample.total(self.v @ losses) + penalty

    def newton_proposal(self, head: Head, bounded: bool) -> Head:
        """Minimiser of the quadratic expansion of the loss (or of its bound) plus the penalties."""
        scores, y = self.scores(head), self.sample.y
        exact = self.outcome.curvature(scores, y).clamp_min(1e-10)
        curvature = self.v * (self.outcome.bound if bounded else exact)  # (n,)
        residual = -self.v * self.outcome.slopes(scores, y)  # (n,) minus the gradient in the scores
        sums = curvature.sum(), self.z @ curvature, residual.sum()
        weight, first, misses = self.sample.totals(*sums)
        # With the intercept profiled out, the expansion is 1/2 beta'H beta - q'beta.
        centre, shift = first / weight * self.fit_intercept, misses / weight * self.fit_intercept
        centred = self.z - centre[:, None]
        hessian, slope = self.sample.totals(
            (centred * curvature) @ centred.T,  # (d, d)
            centred @ (residual - curvature * shift),  # (d,)
        )
        target = hessian @ head.beta + slope
        beta = _small_elastic_net(hessian, target, self.l2, self.l1, head.beta)
        return Head(beta, head.intercept + shift - centre @ (beta - head.beta))

    def line_search(self, old: Head, new: Head, best: Tensor) -> tuple[Head, Tensor, float]:
        """The longest halved step from ``old`` towards ``new`` that lowers the objective."""
        step, trial = 1.0, new  # at a full step the zeros of the proposal stay exact zeros
        while step > 1e-8:
            if (value := self.value(trial)) <= best:
                return trial, value, step
            step /= 2
            beta = old.beta + step * (new.beta - old.beta)
            trial = Head(beta, old.intercept + step * (new.intercept - old.intercept))
        return old, best, 0.0


def fit_head(
    sample: Sample,
    z: Tensor,
    v: Tensor,
    *,
    l2: float,
    l1: float,
    fit_intercept: bool = True,
    outcome: Outcome = BINARY,
    start: Head | None = None,
    max_iter: int = 100,
    tol: float = 1e-12,
) -> Head:
    """Minimise the head's objective over ``z`` under row weights ``v``; it never rises."""
    head = zero_head(z) if start is None else start
    # (d, n): narrow matrices are multiplied faster this way.
    problem = HeadProblem(sample, z.T.contiguous(), v, l2, l1, fit_intercept, outcome)
    best = problem.value(head)
    for _ in range(max_iter):
        value = best
        for bounded in (False, True):
            proposal = problem.newton_proposal(head, bounded)
            trial, lower, step = problem.line_search(head, proposal, best)
            if lower <= value:
                chosen, value = trial, lower
            if step > 0.1:
                break
        head = chosen
        # On separable data without a penalty the coefficients would otherwise grow for ever.
        sure = outcome.is_certain(problem.scores(head), sample.y)
        certain = bool(sample.shards.smallest(sure.double().min()))
        if best - value <= tol * value.abs() or certain:
            return Head(head.beta, head.intercept, converged=not certain)
        best = value
    return Head(head.beta, head.intercept, converged=False)


def _small_elastic_net(
    hessian: Tensor, target: Tensor, l2: float, l1: float, start: Tensor
) -> Tensor:
    """Min 1/2 beta'H beta - q'beta + l2 ||beta||^2 + l1 ||beta||_1, exactly sparse."""
    hessian, target = hessian.cpu(), target.cpu()  # a GPU is slow at problems of this size
    values, vectors = torch.linalg.eigh(hessian)
    keep = values > values[-1:].clamp_min(1e-300) * 1e-13
    values, vectors = values[keep], vectors[:, keep]
    if l1 == 0.0 or not keep.any():
        return (vectors @ ((vectors.T @ target) / (values + 2 * l2))).to(start.device)
    # The same problem as least squares with as many rows as columns: H = R'R, q = R't.
    root = (values.sqrt()[:, None] * vectors.T).numpy()  # (d', d)
    response = ((vectors.T @ target) / values.sqrt()).numpy()  # (d',)
    strength, scale = l1 + 2 * l2, np.sqrt(len(root))
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
            precompute=False,
            check_input=False,
        )
    return torch.as_tensor(coefficients[:, 0], dtype=start.dtype, device=start.device)
