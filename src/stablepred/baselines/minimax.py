"""Minimise the worst case: linear models against the worst weights of their rows."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit

from stablepred._validation import FloatArray, check_at_least, warn_user
from stablepred.baselines.rows import IntArray, standardise
from stablepred.baselines.worst_case import WorstCase
from stablepred.exceptions import ConvergenceWarning

LBFGS = {"maxcor": 30, "maxls": 50, "maxfun": 10**9}
WARM_UP = 20  # iterations
PULL = 0.1  # to the centre; it is smaller in each round
GAP = 1e-6  # between the lower bound and the maximum, relative

Loss = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


def log_loss(scores: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The loss of log-odds for a 0/1 outcome, and its slope."""
    return np.logaddexp(0.0, scores) - y * scores, expit(scores) - y


def squared_loss(scores: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The squared error of a number, and its slope."""
    return (scores - y) ** 2, 2 * (scores - y)


class Fit(NamedTuple):
    """Coefficients in the units of the columns, and how the search ended."""

    coef: FloatArray
    intercept: float
    objective: float
    n_iter: int
    converged: bool


def fit_worst_case(
    estimator: Any,
    x: FloatArray,
    y: FloatArray,
    mass: FloatArray,
    loss: Loss,
    worst: WorstCase,
    unit: IntArray,
    added: FloatArray | float = 0.0,
) -> Fit:
    """Min over beta of max_{q in Q} sum_i q_i loss_i + l2 ||beta||^2, on standardised columns.

    ``unit`` is the group of every row that gets one common weight; ``added`` goes on the mean loss
    of each. For a smooth Q the maximum is differentiable in beta, with the gradient at the worst q
    (Danskin), and one run of L-BFGS is enough. Otherwise runs of L-BFGS near a centre alternate
    with moving the centre to the worst q, until the value there, a lower bound once beta is
    optimal, meets the exact maximum.
    """
    z, mean, scale = standardise(x, mass)
    within = mass / np.bincount(unit, mass)[unit]

    def evaluate(
        theta: FloatArray, centre: FloatArray, pull: float
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        losses, slopes = loss(z @ theta[1:] + theta[0], y)
        units = np.asarray(np.bincount(unit, within * losses) + added, dtype=np.float64)
        q, cost = (centre, 0.0) if pull == np.inf else worst.weights(units, centre, pull)
        slope = q[unit] * within * slopes
        gradient: FloatArray = np.append(slope.sum(), slope @ z + 2 * estimator.l2 * theta[1:])
        value = q @ units - cost + estimator.l2 * theta[1:] @ theta[1:]
        return float(value), gradient, q, units

    def minimise(theta: FloatArray, centre: FloatArray, pull: float, most: int) -> OptimizeResult:
        return minimize(  # type: ignore[call-overload]
            lambda t: evaluate(t, centre, pull)[:2],
            theta,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": most, "ftol": 1e-15, "gtol": estimator.tol} | LBFGS,
        )

    # From a short ordinary fit, because at zero all losses are equal and the maximum has a kink.
    theta = minimise(np.zeros(z.shape[1] + 1), worst.mass, np.inf, WARM_UP).x
    centre, pull, n_iter, converged = worst.mass, PULL, 0, False
    while n_iter < estimator.max_iter and not converged:
        found = minimise(theta, centre, pull, estimator.max_iter - n_iter)
        theta, n_iter = found.x, n_iter + max(int(found.nit), 1)
        _, _, centre, units = evaluate(theta, centre, pull)
        exact = worst.value(units)
        gap = float(exact - centre @ units)
        converged = gap <= GAP * (1 + abs(exact)) and found.status != 1
        pull /= 4
    if not converged:
        warn_user(
            f"{type(estimator).__name__} stopped after max_iter={estimator.max_iter} iterations. "
            "Raise max_iter, or raise l2.",
            ConvergenceWarning,
        )
    coef = theta[1:] / scale
    objective = float(exact + estimator.l2 * theta[1:] @ theta[1:])
    return Fit(coef, float(theta[0] - mean @ coef), objective, n_iter, converged)


def check_solver(estimator: Any) -> None:
    """Check the parameters of `fit_worst_case`."""
    check_at_least(estimator, "l2", 0)
    check_at_least(estimator, "max_iter", 1, integer=True)
    check_at_least(estimator, "tol", 0)
