"""The worst weights of units (rows, or groups of rows) within a set around their masses.

    worst(losses) = max_{q in Q} sum_i q_i loss_i,    sum_i q_i = 1, q_i >= 0

``Capped`` is a polyhedron, on whose edges the maximum has several solutions; there the search is
kept near a ``centre`` that moves (proximal method), which makes it smooth in the losses.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from stablepred._validation import FloatArray


@dataclass(frozen=True)
class WorstCase:
    """A set of weights around the masses of the units, which sum to one."""

    mass: FloatArray

    def weights(self, losses: FloatArray, *near: Any, **more: Any) -> tuple[FloatArray, float]:
        """The worst weights near a centre, and what is subtracted for their distance from it."""
        raise NotImplementedError

    def value(self, losses: FloatArray) -> float:
        """The exact maximum."""
        return float(self.weights(losses)[0] @ losses)


def _ties(losses: FloatArray, mass: FloatArray) -> FloatArray:
    """All weight on the largest losses."""
    q = mass * (losses == losses.max())
    return q / q.sum()


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """A root between two ends; rounding may have put it on one of them."""
    at_low, at_high = excess(low), excess(high)
    if at_low * at_high >= 0:
        return low if abs(at_low) < abs(at_high) else high
    return float(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))


@dataclass(frozen=True)
class ChiSquared(WorstCase):
    """sum_i (q_i - m_i)^2 / m_i <= radius.

    q_i is proportional to m_i (loss_i - eta)_+, with eta such that the bound is reached; the value
    is min_eta eta + sqrt(1 + radius) (sum_i m_i (loss_i - eta)_+^2)^(1/2).
    """

    radius: float

    def weights(self, losses: FloatArray, *near: Any, **more: Any) -> tuple[FloatArray, float]:
        """The worst weights; the centre does not matter."""
        m, top = self.mass, losses.max()
        most = m[losses == top].sum()
        if most * (1 + self.radius) >= 1:
            return _ties(losses, m), 0.0

        def excess(eta: float) -> float:
            above = np.maximum(losses - eta, 0.0)
            return float(m @ above**2 / (m @ above) ** 2 - 1 - self.radius)

        mean = float(m @ losses)
        low = mean - float(np.sqrt(m @ (losses - mean) ** 2 / self.radius))
        q = m * np.maximum(losses - _root(excess, low, float(losses[losses < top].max())), 0.0)
        return q / q.sum(), 0.0


@dataclass(frozen=True)
class KullbackLeibler(WorstCase):
    """sum_i q_i log(q_i / m_i) <= radius.

    q_i is proportional to m_i exp(t loss_i), with t such that the bound is reached; the value is
    min_t (log sum_i m_i exp(t loss_i) + radius) / t.
    """

    radius: float

    def weights(self, losses: FloatArray, *near: Any, **more: Any) -> tuple[FloatArray, float]:
        """The worst weights; the centre does not matter."""
        m, below = self.mass, losses - losses.max()
        if -np.log(m[below == 0].sum()) <= self.radius:
            return _ties(losses, m), 0.0

        def excess(log_t: float) -> float:
            tilted = m * np.exp(np.exp(log_t) * below)
            q = tilted / tilted.sum()
            return float(np.exp(log_t) * (q @ below) - np.log(tilted.sum()) - self.radius)

        low = high = 0.5 * float(np.log(2 * self.radius / (m @ (losses - m @ losses) ** 2)))
        while excess(low) > 0:
            low -= 1.0
        while excess(high) < 0:
            high += 1.0
        q = m * np.exp(np.exp(_root(excess, low, high)) * below)
        return q / q.sum(), 0.0


@dataclass(frozen=True)
class Capped(WorstCase):
    """q_i <= m_i cap_i: the CVaR of rows with cap = 1 / level, or the worst of several groups.

    Near a centre c the maximum of sum_i q_i loss_i - pull/2 sum_i (q_i - c_i)^2 / m_i is
    q_i = clip(c_i + m_i (loss_i - eta) / pull, 0, m_i cap_i).
    """

    cap: FloatArray

    def weights(
        self, losses: FloatArray, centre: FloatArray, pull: float
    ) -> tuple[FloatArray, float]:
        """The worst weights, and what is subtracted for their distance from the centre."""
        m, cap, ratio = self.mass, self.cap, centre / self.mass

        def spread(eta: float) -> FloatArray:
            return m * np.clip(ratio + (losses - eta) / pull, 0.0, cap)

        low = (losses - pull * (cap - ratio)).min()
        high = (losses + pull * ratio).max()
        q = spread(_root(lambda eta: float(spread(eta).sum() - 1), low, high))
        q /= q.sum()
        return q, 0.5 * pull * float((q - centre) ** 2 @ (1 / m))

    def value(self, losses: FloatArray) -> float:
        """The exact maximum."""
        order = np.argsort(-losses)
        filled = np.minimum(np.cumsum((self.mass * self.cap)[order]), 1.0)
        return float(np.diff(filled, prepend=0.0) @ losses[order])
