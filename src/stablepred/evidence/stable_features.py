"""Which features are stable: two kinds of evidence.

1. The paper's (section 3.2.2): once the weights have balanced every feature against all others,
   only stable features are associated with Y. The effect of feature j is

       sum v x_j y / sum v x_j  -  sum v (1 - x_j) y / sum v (1 - x_j),   v = c w,

   with an interval by bootstrap.

2. Beyond the paper: causes of a common effect compete to explain it. Given Y, a cause of Y is
   associated with the evidence that the other features give for Y *against* the direction of its
   own effect ("explaining away"). A feature that is tied to Y by selection on the outcome is
   independent of that evidence given Y; one that is tied to Y by selection on its causes goes
   *with* it. So the sign tells the three apart, where the weighted effect alone is blind when the
   selection depends on the outcome itself.

The second kind assumes that features depend on each other through the outcome, as selection on it
or on its causes makes them. ``share_through_outcome`` measures how far they do.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stablepred.core.head import Head, fit_head
from stablepred.core.sharding import array_total, array_totals, current_shards, total

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

# One-sided level of about 0.005 for calling a feature a cause.
CAUSE_Z = 2.58
# One in this many witnesses (at least one) is dismissed before the rest are judged again.
DISMISSED_AT_ONCE = 5
# Ridge penalty of the regressions, in rows.
RIDGE = 0.5


def feature_effects(
    x: FloatArray,
    y: FloatArray,
    count: FloatArray,
    w: FloatArray,
    rng: np.random.Generator,
    *,
    through_outcome: bool = True,
    n_bootstrap: int = 200,
) -> dict[str, NDArray[Any]]:
    """Effect of each feature with a 95 % interval, the second evidence, and the verdict.

    Parameters
    ----------
    x, y, count, w : arrays over distinct rows
        0/1 features and outcome, the number of rows that each stands for, balancing weights.
    rng : numpy.random.Generator
        For the bootstrap: the number of times a row is drawn is a Gamma variable with its count
        as mean (the Bayesian bootstrap, for grouped rows).
    through_outcome : bool
        Whether features depend on each other through the outcome. If not, the second evidence is
        taken under the weights, which remove what they depend on each other by themselves.
    n_bootstrap : int
        Draws of the bootstrap.

    Returns
    -------
    dict of arrays of shape (p,): effect, low, high, explaining_away, stable
        ``explaining_away`` is a z-score: positive for causes of the outcome.
    """
    effect = weighted_effects(x, y, (count * w)[None, :])[0]
    draws = np.concatenate(
        [
            weighted_effects(x, y, rng.gamma(np.broadcast_to(count, (20, len(y)))) * w)
            for _ in range(n_bootstrap // 20)
        ]
    )
    low, high = np.nanquantile(draws, [0.025, 0.975], axis=0)
    away = explaining_away(x, y, count, None if through_outcome else w)
    stable = away > CAUSE_Z
    if not stable.any():
        stable = (low > 0) | (high < 0)
    return {
        "effect": effect,
        "low": low,
        "high": high,
        "explaining_away": away,
        "stable": stable,
    }


def weighted_effects(x: FloatArray, y: FloatArray, v: FloatArray) -> FloatArray:
    """Difference of the weighted means of y between x_j = 1 and x_j = 0: (draws, p).

    Zero where one side has no weight.
    """
    on, off, y_on, y_off = array_totals(v @ x, v @ (1 - x), (v * y) @ x, (v * y) @ (1 - x))
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = y_on / on - y_off / off
    return np.where((on > 0) & (off > 0), gap, 0.0)


def explaining_away(
    x: FloatArray, y: FloatArray, count: FloatArray, w: FloatArray | None = None
) -> FloatArray:
    """Z-score of explaining away for each feature: large for causes of y.

    For feature j the other features' evidence is the logit of a logistic regression of y on them.
    Its covariance with x_j within the strata of y is compared with its standard error, and signed
    against the direction of the feature's own effect. Features that are no causes blur the
    evidence, and where features depend on each other they bend it, so the least convincing ones
    are dismissed as witnesses, a few at a time, until all that are left convince. Then every
    feature is judged by those, each row counting by the feature's own effect *there*: a feature
    that acts only together with another one competes only where that one is present. With row
    weights ``w`` all of this is done under them.
    """
    data = _Strata(x, y, count, np.ones_like(count) if w is None else w)
    witnesses = np.arange(x.shape[1])
    fitted = data.regression(data.features)
    while True:
        scores = data.competition(witnesses, fitted)
        doubtful = np.argsort(scores)[: (scores < CAUSE_Z).sum()]
        if len(doubtful) == 0 or len(witnesses) - len(doubtful) < 2:
            return data.local_competitions(witnesses, fitted)
        kept = np.ones(len(witnesses), dtype=bool)
        kept[doubtful[: max(1, len(witnesses) // DISMISSED_AT_ONCE)]] = False
        witnesses = witnesses[kept]
        fitted = data.without(witnesses, fitted, kept)


def share_through_outcome(x: FloatArray, y: FloatArray, count: FloatArray) -> float:
    """How much of the features' dependence on each other goes through the outcome.

        1 - (mean squared correlation given y) / (mean squared correlation)

    over all pairs, both less what chance gives. Near one where selection ties features to the
    outcome, zero where they depend on each other by themselves; it can be negative, since causes
    of y depend on each other given y. One where they do not depend on each other at all.
    """
    given_y = np.zeros((x.shape[1], x.shape[1]))
    rows = array_total(count.sum())
    for value in (0.0, 1.0):
        stratum = y == value
        share = array_total(count[stratum].sum()) / rows
        given_y += share * _correlations(x[stratum], count[stratum])
    above = np.triu_indices(x.shape[1], 1)
    chance = 1 / rows
    total = np.mean(np.square(_correlations(x, count)[above])) - chance if len(above[0]) else 0.0
    if total <= 2 * chance:
        return 1.0
    return float(1 - (np.mean(np.square(given_y[above])) - chance) / total)


def _correlations(x: FloatArray, count: FloatArray) -> FloatArray:
    """Correlations of all pairs; zero for a column without variance."""
    rows, ones = array_totals(count.sum(), count @ x)
    centred = x - ones / rows
    covariance = array_total(centred.T @ (count[:, None] * centred)) / rows
    deviation = np.sqrt(np.diag(covariance))
    inverse = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    return np.asarray(covariance * inverse[:, None] * inverse[None, :])


def _mean(values: FloatArray, v: FloatArray) -> FloatArray:
    """Weighted mean of one or several columns over all rows."""
    if current_shards() is None:
        return np.asarray(np.average(values, axis=0, weights=v))
    weight, first = array_totals(v.sum(), v @ values)
    return np.asarray(first / weight)


class _Strata:
    """The data with what every test of competition needs again and again."""

    def __init__(self, x: FloatArray, y: FloatArray, count: FloatArray, w: FloatArray) -> None:
        self.x, self.y, self.v, self.squares = x, y, count * w, count * w**2
        self.features, self.outcome = torch.as_tensor(x), torch.as_tensor(y)
        first, second = array_totals(self.v.sum(), self.squares.sum())
        self.mass = torch.as_tensor(self.v / first)
        self.ridge = RIDGE * float(second / first**2)

    def regression(self, z: Tensor, start: Head | None = None) -> Head:
        """A lightly penalised logistic regression of y on some columns."""
        return fit_head(z, self.outcome, self.mass, l2=self.ridge, l1=0.0, start=start, tol=1e-8)

    def without(self, witnesses: IndexArray, fitted: Head, kept: BoolArray) -> Head:
        """The regression on the witnesses that were kept of those that were ``fitted``."""
        start = Head(fitted.beta[torch.as_tensor(kept)], fitted.intercept)
        return self.regression(self.features[:, witnesses], start)

    def competition(self, witnesses: IndexArray, fitted: Head) -> FloatArray:
        """Z-scores of all witnesses, each against the other ones.

        What the others say without j follows from the regression on all by one Newton step: with
        C the inverse of its curvature, leaving out j moves the coefficients by -C_.j b_j / C_jj.
        For a very strong effect the step goes too far, which makes its score smaller.
        """
        z = self.features[:, witnesses]
        wide = torch.cat([z, torch.ones_like(z[:, :1])], dim=1)
        chance = torch.sigmoid(fitted.logits(z))
        curvature = total(wide.T @ ((self.mass * chance * (1 - chance))[:, None] * wide))
        curvature.diagonal()[:-1] += 2 * self.ridge
        inverse = torch.linalg.pinv(curvature, hermitian=True)[:, :-1]  # (k + 1, k)
        step = inverse * (fitted.beta / inverse.diagonal().clamp_min(1e-300))
        evidence = fitted.logits(z)[:, None] - wide @ step  # (n, k)
        signed = self._centred(evidence.numpy()) * np.sign(fitted.beta.numpy())
        return self._within_strata(self.x[:, witnesses], signed)

    def local_competitions(self, witnesses: IndexArray, fitted: Head) -> FloatArray:
        """Z-scores of all features, by their own effect in each row."""
        scores = np.zeros(self.x.shape[1])
        for j in range(len(scores)):
            kept = witnesses != j
            others = witnesses[kept]
            if len(others) > 0:
                alone = fitted if kept.all() else self.without(others, fitted, kept)
                scores[j] = self._local_competition(j, self.features[:, others], alone)
        return scores

    def _local_competition(self, j: int, z: Tensor, fitted: Head) -> float:
        """Z-score of one feature against others with their regression."""
        own = self.features[:, [j]]
        evidence = fitted.logits(z).numpy()
        deviations = z - total(self.mass @ z)
        start = torch.cat([fitted.beta, fitted.beta.new_zeros(1 + z.shape[1])])
        both = self.regression(
            torch.cat([z, own, own * deviations], dim=1), Head(start, fitted.intercept)
        )
        main, slopes = both.beta[z.shape[1]], both.beta[z.shape[1] + 1 :]
        effect = (main + deviations @ slopes).numpy()  # (n,)
        signed = effect * self._centred(evidence)
        return float(self._within_strata(self.x[:, [j]], signed[:, None])[0])

    def _centred(self, values: FloatArray) -> FloatArray:
        """Deviations from the mean given y, for one or several columns."""
        centred = values.copy()
        for value in (0.0, 1.0):
            stratum = self.y == value
            centred[stratum] -= _mean(values[stratum], self.v[stratum])
        return centred

    def _within_strata(self, features: FloatArray, evidence: FloatArray) -> FloatArray:
        """Minus the covariance of each feature with its evidence given y, over its deviation."""
        products = -self._centred(features) * self._centred(evidence)  # (n, k)
        covariance, squares = array_totals(self.v @ products, self.squares @ products**2)
        deviation = np.sqrt(squares)
        scores = np.zeros(products.shape[1])
        return np.divide(covariance, deviation, out=scores, where=deviation > 0)
