"""Explaining away: do causes of the outcome compete to explain it?

Given y, a cause of y goes *against* the evidence that the other features give for y: their
association has the opposite sign of its own effect. A feature that is tied to y by selection on the
outcome is independent of that evidence given y; one that is tied to y by selection on its causes
goes *with* it. So the sign tells the three apart, even when selection depends on the
outcome itself and the weighted effect alone cannot.

This assumes that features depend on each other through the outcome, as selection on it or on its
causes makes them. ``share_through_outcome`` measures to what extent they do.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stablepred.core.head import Head, fit_head
from stablepred.evidence.base import FloatArray, Scores
from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY
from stablepred.sample import Sample

IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

# One-sided level of about 0.005 for calling a feature a cause.
CAUSE_Z = 2.58
# Up to this share, the outcome is taken to have no part in the features' dependence.
LEAST_SHARE_THROUGH_OUTCOME = 0.1
# At most one in this many witnesses (but at least one) is dismissed before the rest are judged
# again.
DISMISSED_AT_ONCE = 5
# Ridge penalty of the regressions, in rows.
RIDGE = 0.5


@dataclass(frozen=True)
class ExplainingAway:
    """A z-score for each feature: large for causes of y.

    For feature j the other features' evidence is the score of a regression of y on them. Its
    covariance with x_j within the strata of y is compared with its standard error, and signed
    against the direction of the feature's own effect. Features that are not causes blur the
    evidence, and where features depend on each other they distort it, so the least convincing ones
    are dismissed as witnesses, a few at a time, until all that are left convince. Then every
    feature is judged by those, with each row weighted by the feature's own effect *there*: a
    feature that acts only together with another one competes only where that one is present.

    Where features do not depend on each other through the outcome, all of this is done under the
    balancing weights, which remove their dependence on each other.
    """

    outcome: Outcome = BINARY
    name: ClassVar[str] = "explaining_away"

    def __call__(self, sample: Sample, w: Tensor) -> Scores:
        """Judge every feature."""
        if depend_through_outcome(sample, self.outcome):
            w = torch.ones_like(w)
        score = explaining_away(sample, w, self.outcome)
        error = np.ones_like(score)
        return Scores(score, error, score - 1.96, score + 1.96, score > CAUSE_Z)


def depend_through_outcome(sample: Sample, outcome: Outcome = BINARY) -> bool:
    """Whether a noticeable share of the features' dependence goes through the outcome."""
    return share_through_outcome(sample, outcome) > LEAST_SHARE_THROUGH_OUTCOME


def share_through_outcome(sample: Sample, outcome: Outcome = BINARY) -> float:
    """How much of the features' dependence on each other goes through the outcome.

        1 - (mean squared correlation given y) / (mean squared correlation)

    over all pairs, each minus what is expected by chance. The share is near one where selection
    ties features to the outcome and zero where they depend on each other directly; it can be
    negative, since causes of y depend on each other given y. It is one where features do not
    depend on each other at all.
    """
    x, count = sample.features, sample.copies
    rows = float(sample.total(count.sum()))
    given_y = torch.zeros_like(x[:0].T @ x[:0])
    for stratum in outcome.strata(sample.y):
        share = sample.total(count[stratum].sum()) / rows
        given_y += share * _correlations(sample, x[stratum], count[stratum])
    above = torch.triu_indices(x.shape[1], x.shape[1], 1).unbind()
    chance = 1 / rows
    if not len(above[0]):
        return 1.0
    total = float(_correlations(sample, x, count)[above].square().mean()) - chance
    if total <= 2 * chance:
        return 1.0
    return 1 - (float(given_y[above].square().mean()) - chance) / total


def _correlations(sample: Sample, x: Tensor, count: Tensor) -> Tensor:
    """Correlations of all pairs of columns; zero for a column without variance."""
    rows, ones = sample.totals(count.sum(), count @ x)
    centred = x - ones / rows
    covariance = sample.total(centred.T @ (count[:, None] * centred)) / rows
    deviation = covariance.diagonal().sqrt()
    inverse = torch.where(deviation > 0, 1 / deviation, 0.0)
    return torch.as_tensor(covariance * inverse[:, None] * inverse[None, :])


def explaining_away(sample: Sample, w: Tensor, outcome: Outcome = BINARY) -> FloatArray:
    """The z-scores, with every row weighted by ``w``."""
    court = _Court(sample, w, outcome)
    witnesses = np.arange(sample.n_features)
    fitted = court.fit(sample.features)
    while True:
        scores = court.judge_witnesses(witnesses, fitted)
        doubtful = np.argsort(scores)[: (scores < CAUSE_Z).sum()]
        if len(doubtful) == 0 or len(witnesses) - len(doubtful) < 2:
            return court.judge_all(witnesses, fitted)
        kept = np.ones(len(witnesses), dtype=bool)
        kept[doubtful[: max(1, len(witnesses) // DISMISSED_AT_ONCE)]] = False
        witnesses = witnesses[kept]
        fitted = court.fit_without(witnesses, fitted, kept)


class _Court:
    """The data, and what every test of competition needs."""

    def __init__(self, sample: Sample, w: Tensor, outcome: Outcome) -> None:
        self.sample, self.outcome, self.x = sample, outcome, sample.features
        self.v, self.squares = sample.copies * w, sample.copies * w**2
        first, second = sample.totals(self.v.sum(), self.squares.sum())
        self.mass = self.v / first
        self.ridge = RIDGE * float(second / first**2)

    def fit(self, z: Tensor, start: Head | None = None) -> Head:
        """A lightly penalised regression of y on some columns."""
        return fit_head(
            self.sample,
            z,
            self.mass,
            l2=self.ridge,
            l1=0.0,
            outcome=self.outcome,
            start=start,
            tol=1e-8,
        )

    def fit_without(self, witnesses: IndexArray, fitted: Head, kept: BoolArray) -> Head:
        """The regression on those witnesses of ``fitted`` that were kept."""
        mask = torch.as_tensor(kept, device=self.x.device)
        return self.fit(self.x[:, witnesses], Head(fitted.beta[mask], fitted.intercept))

    def judge_witnesses(self, witnesses: IndexArray, fitted: Head) -> FloatArray:
        """Z-scores of all witnesses, each against the others.

        What the others say without j follows from the regression on all by one Newton step: with
        C the inverse of its curvature, leaving out j moves the coefficients by -C_.j b_j / C_jj.
        For a very strong effect the step overshoots, which lowers its score.
        """
        z = self.x[:, witnesses]
        wide = torch.cat([z, torch.ones_like(z[:, :1])], dim=1)
        scores = fitted.scores(z)
        weight = self.mass * self.outcome.curvature(scores, self.sample.y)
        curvature = self.sample.total(wide.T @ (weight[:, None] * wide))
        curvature.diagonal()[:-1] += 2 * self.ridge
        inverse = torch.linalg.pinv(curvature, hermitian=True)[:, :-1]  # (k + 1, k)
        step = inverse * (fitted.beta / inverse.diagonal().clamp_min(1e-300))
        evidence = scores[:, None] - wide @ step  # (n, k)
        return self._compare(z, self._centre(evidence) * fitted.beta.sign())

    def judge_all(self, witnesses: IndexArray, fitted: Head) -> FloatArray:
        """Z-scores of all features, by their own effect in each row."""
        scores = np.zeros(self.x.shape[1])
        for j in range(len(scores)):
            kept = witnesses != j
            others = witnesses[kept]
            if len(others) > 0:
                alone = fitted if kept.all() else self.fit_without(others, fitted, kept)
                scores[j] = self._judge_locally(j, self.x[:, others], alone)
        return scores

    def _judge_locally(self, j: int, z: Tensor, fitted: Head) -> float:
        """Z-score of one feature against others, given the regression on them."""
        own = self.x[:, [j]]
        deviations = z - self.sample.total(self.mass @ z)
        start = torch.cat([fitted.beta, fitted.beta.new_zeros(1 + z.shape[1])])
        both = self.fit(torch.cat([z, own, own * deviations], dim=1), Head(start, fitted.intercept))
        main, slopes = both.beta[z.shape[1]], both.beta[z.shape[1] + 1 :]
        effect = main + deviations @ slopes  # (n,)
        evidence = self._centre(fitted.scores(z)[:, None])
        return float(self._compare(own, effect[:, None] * evidence)[0])

    def _centre(self, values: Tensor) -> Tensor:
        """Deviations of columns from their mean given y."""
        centred = values.clone()
        for stratum in self.outcome.strata(self.sample.y):
            v = self.v[stratum]
            weight, first = self.sample.totals(v.sum(), v @ values[stratum])
            centred[stratum] -= first / weight
        return centred

    def _compare(self, columns: Tensor, signed: Tensor) -> FloatArray:
        """Minus the covariance of columns with signed evidence given y, in standard errors."""
        products = self._centre(columns) * self._centre(signed)
        covariance, squares = self.sample.totals(-self.v @ products, self.squares @ products**2)
        deviation = squares.sqrt()
        return torch.where(deviation > 0, covariance / deviation, 0.0).cpu().numpy()
