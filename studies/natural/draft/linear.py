"""Logistic regression over a path of penalties, with or without products of columns.

A path starts at a strong penalty and is warm-started, so that one more step costs little.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from studies.natural.draft.data import FloatArray, IntArray, TrainingData

PENALTIES = 10.0 ** np.arange(3, -6.01, -0.5)  # λ in: summed loss + λ/2 |β|²
USUAL = 6  # the step of the path at which the penalty is 1
CURVATURE = 1e-10  # added to the Hessian, so that it can be solved
SCREEN_Z = 2.5  # products are considered where their score statistic exceeds this
ROUNDS = 3
Pair = tuple[int, int]


def newton(
    x: FloatArray,
    data: TrainingData,
    penalty: float,
    beta: FloatArray | None = None,
    tol: float = 1e-6,
    steps: int = 50,
) -> FloatArray:
    """Coefficients of a logistic regression of ``data.y`` on ``x``, the free intercept last.

    The search starts at ``beta``, or at zero.
    """
    y, w = data.y, data.w
    wide = np.column_stack([x, np.ones(len(x))])
    beta = np.zeros(wide.shape[1]) if beta is None else beta
    ridge = np.full(wide.shape[1], penalty)
    ridge[-1] = 1e-8

    def objective(b: FloatArray) -> float:
        eta = wide @ b
        return float(w @ (np.logaddexp(0, eta) - y * eta) + 0.5 * ridge @ b**2)

    value = objective(beta)
    for _ in range(steps):
        mu = expit(wide @ beta)
        slope = wide.T @ (w * (mu - y)) + ridge * beta
        curvature = (wide * (w * mu * (1 - mu))[:, None]).T @ wide
        curvature[np.diag_indices_from(curvature)] += ridge + CURVATURE
        step = np.linalg.solve(curvature, slope)
        decrement = slope @ step
        if decrement < tol * max(value, 1e-3):
            break
        size = 1.0
        new = objective(beta - step)
        while new > value - 1e-4 * size * decrement and size > 1e-4:
            size /= 2
            new = objective(beta - size * step)
        if not new < value:
            break
        beta, value = beta - size * step, new
    return beta


@dataclass(frozen=True)
class Linear:
    """Logistic regression on the columns and the products of some ``pairs`` of them."""

    pairs: tuple[Pair, ...] = ()
    usual: ClassVar[int] = USUAL

    def prepare(self, data: TrainingData) -> "Linear":
        """The form itself: nothing is learned before the path."""
        return self

    def design(self, x: FloatArray) -> FloatArray:
        """The columns and the products."""
        if not self.pairs:
            return x
        a, b = np.array(self.pairs).T
        return np.hstack([x, x[:, a] * x[:, b]])

    def path(self, data: TrainingData) -> Iterator["Logistic"]:
        """A model per penalty, from the strongest on."""
        z = self.design(data.x)
        beta = None
        for penalty in PENALTIES:
            beta = newton(z, data, penalty, beta)
            yield Logistic(self, beta)


@dataclass(frozen=True, eq=False)
class Logistic:
    """A fitted regression; the intercept is the last coefficient."""

    form: Linear
    beta: FloatArray

    def logit(self, x: FloatArray) -> FloatArray:
        """Log-odds of new rows."""
        log_odds: FloatArray = self.form.design(x) @ self.beta[:-1] + self.beta[-1]
        return log_odds

    def predict(self, x: FloatArray) -> FloatArray:
        """Probability of a one."""
        probability: FloatArray = expit(self.logit(x))
        return probability


@dataclass(frozen=True)
class Pairwise:
    """Logistic regression with the products that stand out on the training rows.

    The score statistics of all products cost one Gram matrix; the strongest are added, in a few
    rounds.
    """

    usual: ClassVar[int] = USUAL

    def prepare(self, data: TrainingData) -> Linear:
        """The form with the products chosen on these rows."""
        limit = max(4, min(2 * data.x.shape[1], int(data.w.sum()) // 20))
        form = Linear()
        for _ in range(ROUNDS):
            new = [pair for pair in screen_products(form, data) if pair not in set(form.pairs)]
            if not new:
                break
            form = Linear(form.pairs + tuple(new[: max(2, limit // ROUNDS)]))
        return form


def screen_products(form: Linear, data: TrainingData) -> list[Pair]:
    """Pairs of columns of different variables by falling score statistic, above SCREEN_Z."""
    x, w = data.x, data.w
    z = form.design(x)
    mu = Logistic(form, newton(z, data, 1.0, tol=1e-4, steps=20)).predict(x)
    centred = x - np.average(x, axis=0, weights=w)
    score = (centred * (w * (data.y - mu))[:, None]).T @ centred
    square = centred**2
    spread = (square * (w * (mu * (1 - mu) + 1e-6))[:, None]).T @ square
    t = np.abs(score) / np.sqrt(spread + 1e-12)
    t[data.groups[:, None] == data.groups[None, :]] = 0
    a, b = np.triu_indices(len(t), 1)
    order: IntArray = np.argsort(-t[a, b])
    return [(int(a[k]), int(b[k])) for k in order if t[a[k], b[k]] > SCREEN_Z]
