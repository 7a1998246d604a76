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
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from stablepred.core.head import Head, fit_head

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# One-sided level of about 0.005 for calling a feature a cause.
CAUSE_Z = 2.58
# One in this many witnesses (at least one) is dismissed before the rest are judged again.
DISMISSED_AT_ONCE = 5


def feature_effects(
    x: FloatArray,
    y: FloatArray,
    count: FloatArray,
    w: FloatArray,
    rng: np.random.Generator,
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
    away = explaining_away(x, y, count)
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
    on, off = v @ x, v @ (1 - x)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = (v * y) @ x / on - (v * y) @ (1 - x) / off
    return np.where((on > 0) & (off > 0), gap, 0.0)


def explaining_away(x: FloatArray, y: FloatArray, count: FloatArray) -> FloatArray:
    """Z-score of explaining away for each feature: large for causes of y.

    For feature j the other features' evidence is the logit of a logistic regression of y on them.
    Its covariance with x_j within the strata of y is compared with its standard error, and signed
    against the direction of the feature's own effect. Features that are no causes blur the
    evidence, and where features depend on each other they bend it, so the least convincing ones
    are dismissed as witnesses, a few at a time, until all that are left convince; then every
    feature is judged by those.
    """
    data = _Strata(x, y, count)
    witnesses = np.ones(x.shape[1], dtype=bool)
    while True:
        inside = np.flatnonzero(witnesses)
        scores = data.competition(inside, witnesses)
        doubtful = inside[np.argsort(scores)][: (scores < CAUSE_Z).sum()]
        if len(doubtful) == 0 or len(inside) - len(doubtful) < 2:
            return data.competition(np.arange(x.shape[1]), witnesses)
        witnesses[doubtful[: max(1, len(inside) // DISMISSED_AT_ONCE)]] = False


class _Strata:
    """The data with what every test of competition needs again and again."""

    def __init__(self, x: FloatArray, y: FloatArray, count: FloatArray) -> None:
        self.x, self.y, self.count = x, y, count
        self.features, self.outcome = torch.as_tensor(x), torch.as_tensor(y)
        self.mass = torch.as_tensor(count / count.sum())

    def _regression(self, columns: NDArray[Any], start: Head | None = None) -> Head:
        """A lightly penalised logistic regression of y on some columns."""
        return fit_head(
            self.features[:, columns],
            self.outcome,
            self.mass,
            l2=0.5 / float(self.count.sum()),
            l1=0.0,
            start=start,
            tol=1e-8,
        )

    def competition(self, judged: NDArray[Any], witnesses: BoolArray) -> FloatArray:
        """Z-scores of the ``judged`` features against the other ``witnesses``."""
        jury = np.flatnonzero(witnesses)
        whole = self._regression(jury)
        scores = np.zeros(len(judged))
        for k, j in enumerate(judged):
            others = jury[jury != j]
            if len(others) == 0:
                continue
            if witnesses[j]:
                keep = torch.as_tensor(jury != j)
                own = float(whole.beta[~keep])
                start = Head(whole.beta[keep], whole.intercept)
                evidence = self._regression(others, start).logits(self.features[:, others])
            else:
                own = float(self._regression(np.append(jury, j)).beta[-1])
                evidence = whole.logits(self.features[:, jury])
            scores[k] = -np.sign(own) * self._within_strata(self.x[:, j], evidence.numpy())
        return scores

    def _within_strata(self, feature: FloatArray, evidence: FloatArray) -> float:
        """Covariance given y, over its standard error."""
        covariance, variance = 0.0, 0.0
        for value in (0.0, 1.0):
            stratum = self.y == value
            rows = self.count[stratum]
            a = feature[stratum] - np.average(feature[stratum], weights=rows)
            b = evidence[stratum] - np.average(evidence[stratum], weights=rows)
            covariance += float(rows @ (a * b))
            variance += float(rows @ (a * b) ** 2)
        return 0.0 if variance == 0 else covariance / variance**0.5
