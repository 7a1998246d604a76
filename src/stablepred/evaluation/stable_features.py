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

from stablepred.core.head import fit_head

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# One-sided level of about 0.005 for calling a feature a cause.
CAUSE_Z = 2.58
# Weaker evidence is enough to let a feature speak as a witness about the others.
WITNESS_Z = 2.0


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
    against the direction of the feature's own effect. Features that are no causes only add noise
    to the evidence, so they are left out of it and the scores are computed again, until the set
    of witnesses settles.
    """
    witnesses = np.ones(x.shape[1], dtype=bool)
    for _ in range(5):
        scores = np.array([_competition(j, x, y, count, witnesses) for j in range(x.shape[1])])
        chosen = scores > WITNESS_Z
        if chosen.sum() < 2 or (chosen == witnesses).all():
            break
        witnesses = chosen
    return scores


def _competition(
    j: int, x: FloatArray, y: FloatArray, count: FloatArray, witnesses: BoolArray
) -> float:
    others = witnesses.copy()
    others[j] = False
    if not others.any():
        return 0.0
    evidence, _ = _logits(x[:, others], y, count)
    _, own = _logits(np.column_stack([x[:, others], x[:, j]]), y, count)
    covariance, variance = 0.0, 0.0
    for value in (0.0, 1.0):
        stratum = y == value
        rows = count[stratum]
        feature = x[stratum, j] - np.average(x[stratum, j], weights=rows)
        rest = evidence[stratum] - np.average(evidence[stratum], weights=rows)
        covariance += float(rows @ (feature * rest))
        variance += float(rows @ (feature * rest) ** 2)
    return 0.0 if variance == 0 else -float(np.sign(own[-1])) * covariance / variance**0.5


def _logits(z: FloatArray, y: FloatArray, count: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logits and coefficients of a lightly penalised logistic regression of y on z."""
    features, outcome, mass = (torch.as_tensor(a) for a in (z, y, count / count.sum()))
    head = fit_head(features, outcome, mass, l2=0.5 / count.sum(), l1=0.0, tol=1e-8)
    return head.logits(features).numpy(), head.beta.numpy()
