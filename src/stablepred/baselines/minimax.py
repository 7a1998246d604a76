"""Minimise the worst case: linear models against the worst weights of their rows.

The worst weights of units (rows, or groups of rows) within a set around their masses are

    worst(losses) = max_{q in Q} sum_i q_i loss_i,    sum_i q_i = 1, q_i >= 0

`capped` weights are a polyhedron, on whose edges the maximum has several solutions; there the
search is kept near a ``centre`` that moves (proximal method), which makes it smooth in the losses.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, brentq, minimize
from scipy.special import expit

from stablepred._validation import FloatArray
from stablepred.baselines.rows import IntArray, Rows, standardise, warn_unless_converged

LBFGS = {"maxcor": 30, "maxls": 50, "maxfun": 10**9}
WARM_UP = 20  # iterations
PULL = 0.1  # to the centre; it is smaller in each round
GAP = 1e-6  # between the lower bound and the maximum, relative

Loss = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
# Losses, centre and pull -> the worst weights, and what is subtracted for their distance from the
# centre. At a pull of 0 they are the worst of all.
Worst = Callable[[FloatArray, FloatArray, float], tuple[FloatArray, float]]


def log_loss(scores: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The loss of log-odds for a 0/1 outcome, and its slope."""
    return np.logaddexp(0.0, scores) - y * scores, expit(scores) - y


def squared_loss(scores: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The squared error of a number, and its slope."""
    return (scores - y) ** 2, 2 * (scores - y)


def chi_squared(
    m: FloatArray, radius: float, losses: FloatArray, *near: Any
) -> tuple[FloatArray, float]:
    """sum_i (q_i - m_i)^2 / m_i <= radius.

    q_i is proportional to m_i (loss_i - eta)_+, with eta such that the bound is reached; the value
    is min_eta eta + sqrt(1 + radius) (sum_i m_i (loss_i - eta)_+^2)^(1/2).
    """
    below_top = losses < losses.max()
    if m[~below_top].sum() * (1 + radius) >= 1:
        q = m * ~below_top  # all weight on the largest losses
        return q / q.sum(), 0.0

    def excess(eta: float) -> float:
        above = np.maximum(losses - eta, 0.0)
        return float(m @ above**2 / (m @ above) ** 2 - 1 - radius)

    mean = float(m @ losses)
    low = mean - float(np.sqrt(m @ (losses - mean) ** 2 / radius))
    q = m * np.maximum(losses - _root(excess, low, float(losses[below_top].max())), 0.0)
    return q / q.sum(), 0.0


def kullback_leibler(
    m: FloatArray, radius: float, losses: FloatArray, *near: Any
) -> tuple[FloatArray, float]:
    """sum_i q_i log(q_i / m_i) <= radius.

    q_i is proportional to m_i exp(t loss_i), with t such that the bound is reached; the value is
    min_t (log sum_i m_i exp(t loss_i) + radius) / t.
    """
    below = losses - losses.max()
    if -np.log(m[below == 0].sum()) <= radius:
        q = m * (below == 0)  # all weight on the largest losses
        return q / q.sum(), 0.0

    def excess(log_t: float) -> float:
        tilted = m * np.exp(np.exp(log_t) * below)
        q = tilted / tilted.sum()
        return float(np.exp(log_t) * (q @ below) - np.log(tilted.sum()) - radius)

    low = high = 0.5 * float(np.log(2 * radius / (m @ (losses - m @ losses) ** 2)))
    while excess(low) > 0:
        low -= 1.0
    while excess(high) < 0:
        high += 1.0
    q = m * np.exp(np.exp(_root(excess, low, high)) * below)
    return q / q.sum(), 0.0


def capped(
    m: FloatArray, cap: FloatArray, losses: FloatArray, centre: FloatArray, pull: float
) -> tuple[FloatArray, float]:
    """q_i <= m_i cap_i: the CVaR of rows with cap = 1 / level, or the worst of several groups.

    Near a centre c the maximum of sum_i q_i loss_i - pull/2 sum_i (q_i - c_i)^2 / m_i is
    q_i = clip(c_i + m_i (loss_i - eta) / pull, 0, m_i cap_i).
    """
    if pull == 0:  # the largest losses are filled first
        order, q = np.argsort(-losses), np.empty(len(m))
        q[order] = np.diff(np.minimum(np.cumsum((m * cap)[order]), 1.0), prepend=0.0)
        return q, 0.0
    ratio = centre / m

    def spread(eta: float) -> FloatArray:
        return m * np.clip(ratio + (losses - eta) / pull, 0.0, cap)

    low = (losses - pull * (cap - ratio)).min()
    high = (losses + pull * ratio).max()
    q = spread(_root(lambda eta: float(spread(eta).sum() - 1), low, high))
    q /= q.sum()
    return q, 0.5 * pull * float((q - centre) ** 2 @ (1 / m))


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """A root between two ends; rounding may have put it on one of them."""
    at_low, at_high = excess(low), excess(high)
    if at_low * at_high >= 0:
        return low if abs(at_low) < abs(at_high) else high
    return float(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))


def fit_worst_case(
    estimator: Any,
    rows: Rows,
    loss: Loss,
    worst: Worst,
    unit: IntArray,
    added: FloatArray | float = 0.0,
) -> tuple[FloatArray, float]:
    """Min over beta of max_{q in Q} sum_i q_i loss_i + l2 ||beta||^2, on standardised columns.

    ``unit`` is the group of every row that gets one common weight; ``added`` goes on the mean loss
    of each. For a smooth Q the maximum is differentiable in beta, with the gradient at the worst q
    (Danskin), and one run of L-BFGS is enough. Otherwise runs of L-BFGS near a centre alternate
    with moving the centre to the worst q, until the value there, a lower bound once beta is
    optimal, meets the exact maximum. Returned are coefficients and intercept in the units of the
    columns; how the search ended becomes attributes of the estimator.
    """
    mass, (z, mean, scale) = rows.mass, standardise(rows.x, rows.mass)
    sizes = np.asarray(np.bincount(unit, mass), dtype=np.float64)
    within = mass / sizes[unit]

    def evaluate(
        theta: FloatArray, centre: FloatArray, pull: float
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        losses, slopes = loss(z @ theta[1:] + theta[0], rows.y)
        units = np.asarray(np.bincount(unit, within * losses) + added, dtype=np.float64)
        q, cost = (centre, 0.0) if pull == np.inf else worst(units, centre, pull)
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
    theta = minimise(np.zeros(z.shape[1] + 1), sizes, np.inf, WARM_UP).x
    centre, pull, n_iter, converged = sizes, PULL, 0, False
    while n_iter < estimator.max_iter and not converged:
        found = minimise(theta, centre, pull, estimator.max_iter - n_iter)
        theta, n_iter = found.x, n_iter + max(int(found.nit), 1)
        _, _, centre, units = evaluate(theta, centre, pull)
        exact = float(worst(units, centre, 0.0)[0] @ units)
        gap = float(exact - centre @ units)
        converged = gap <= GAP * (1 + abs(exact)) and found.status != 1
        pull /= 4
    estimator.objective_ = float(exact + estimator.l2 * theta[1:] @ theta[1:])
    estimator.n_iter_, estimator.converged_ = n_iter, converged
    warn_unless_converged(estimator, "raise l2")
    coef = theta[1:] / scale
    return coef, float(theta[0] - mean @ coef)
