"""Stable, noisy or undecided: the draft's verdict per variable, with a probability.

Two questions. Does the dependence given y look like that of causes that compete for an effect, and
of variables tied to it by selection? And if it does, which variable is which: how likely is its z
as that of a cause, and as that of a noisy one?
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

from studies.natural.draft.data import BoolArray, FloatArray, TrainingData
from studies.natural.draft.evidence import Competition, regress

# Log-odds that the pattern is one of selection, from the misfit and the dependence of the others.
# Fitted on synthetic worlds and on tables with natural environments.
INTERCEPT, PER_MISFIT, PER_DEPENDENCE = 3.9, -1.9, -4.2
STRAY = (0.1, 0.6)  # least and most that a cause's z strays, as a share of its expectation
NOISY, STABLE = 0.9, 0.1
LARGEST_LOGIT = 8


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is thought of every variable.

    Attributes
    ----------
    competition : Competition
        The evidence.
    probability_pattern : float
        That the dependence given y is one of selection.
    leaning_noisy : ndarray
        Probability that a variable is noisy if the pattern is one of selection.
    labels : ndarray of str
        "stable", "noisy" or "undecided".
    """

    competition: Competition
    probability_pattern: float
    leaning_noisy: FloatArray
    labels: NDArray[np.str_]

    @property
    def probability_noisy(self) -> FloatArray:
        """Probability that a variable is noisy."""
        return self.probability_pattern * self.leaning_noisy

    @property
    def noisy(self) -> BoolArray:
        """Which variables are called noisy."""
        return self.labels == "noisy"

    @property
    def stable(self) -> BoolArray:
        """Which variables are called stable."""
        return self.labels == "stable"


def judge_variables(data: TrainingData, competition: Competition) -> Verdict:
    """The verdict on one-column variables from their evidence."""
    z, expected, causes = competition.z, competition.expected, competition.causes
    pattern = _pattern_probability(data, competition)
    stray = np.clip(np.sqrt(_misfit(z[causes], expected[causes], expected[causes])), *STRAY)
    as_cause = norm.logpdf(z, expected, np.sqrt(1 + (stray * expected) ** 2))
    as_noisy = norm.logpdf(z, np.minimum(z, 0.0), 1.0)
    leaning: FloatArray = np.asarray(expit(as_noisy - as_cause))
    is_stable = causes & (leaning < STABLE) & (pattern > 0.5)
    labels = np.where(pattern * leaning >= NOISY, "noisy", "undecided")
    return Verdict(competition, pattern, leaning, np.where(is_stable, "stable", labels))


def _misfit(z: FloatArray, expected: FloatArray, of_causes: FloatArray) -> float:
    """How far the evidence is from what competing causes would show: 0 exact, 1 as if none."""
    power = np.sum(np.maximum(of_causes, 0) ** 2)
    return float(np.sum((z - expected) ** 2) / power) if power > 0 else np.inf


def _pattern_probability(data: TrainingData, competition: Competition) -> float:
    """The probability that causes compete and the others are tied to y by selection alone."""
    z, expected, causes = competition.z, competition.expected, competition.causes
    if not causes.any():
        return 0.0
    misfit = _misfit(z, expected * causes, expected[causes])
    others = int((~causes).sum())
    largest = np.abs(_correlations(data, causes)).max() if others > 1 else 0.0
    chance = np.sqrt(2 * np.log(20 * max(others * (others - 1) / 2, 1)) / data.w.sum())
    log_odds = (
        INTERCEPT
        + PER_MISFIT * np.log(np.clip(misfit, 0.01, 100))
        + PER_DEPENDENCE * max(largest - chance, 0.0)
    )
    return float(expit(log_odds))


def _correlations(data: TrainingData, causes: BoolArray) -> FloatArray:
    """Partial correlations of the others given y, the causes and their fitted signal."""
    model = regress(data, np.flatnonzero(causes))
    inside = data.x[:, causes]
    logit = model.logit(inside)
    bounded = np.clip(logit, -LARGEST_LOGIT, LARGEST_LOGIT)
    shapes = np.column_stack([bounded, expit(logit), np.sign(logit), np.abs(bounded)])
    signal = np.hstack([model.form.design(inside), shapes])
    given = np.column_stack([np.ones(len(data)), data.y, signal, signal * data.y[:, None]])
    given = given * np.sqrt(data.w)[:, None]
    x = data.x[:, ~causes] * np.sqrt(data.w)[:, None]
    gram = given.T @ given
    gram[np.diag_indices_from(gram)] += 1e-6 * np.trace(gram) / len(gram)
    cross = given.T @ x
    covariance = x.T @ x - cross.T @ np.linalg.solve(gram, cross)
    sd = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    correlations: FloatArray = covariance / sd[:, None] / sd[None, :]
    np.fill_diagonal(correlations, 0)
    return correlations
