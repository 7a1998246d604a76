"""The weighted effect of each feature on the outcome (paper, section 3.2.2).

    effect_j = Cov_v(x_j, y) / Var_v(x_j),   v = c w

For a 0/1 feature that is the paper's difference of weighted means of y between x_j = 1 and
x_j = 0; for a number, which a sample holds in standard deviations, the effect of one of them. Once
the weights have balanced every feature against all others, only stable features have an effect. A
feature is called stable if the interval of its effect excludes zero.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.stats import norm
from torch import Tensor

from stablepred._random import numpy_generator
from stablepred.core.sharding import LOCAL, Local
from stablepred.evidence.base import Scores
from stablepred.sample import FloatArray, Sample

# Bootstrap draws that are computed at once.
TOGETHER = 20


@dataclass(frozen=True)
class WeightedEffect:
    """The effect above, with a bootstrap interval.

    The number of times a row is drawn is a gamma variable whose mean is the row's count (the
    Bayesian bootstrap, for grouped rows). Where several processes hold the rows, each draws its
    own.
    """

    seed: int
    n_bootstrap: int = 200
    name: ClassVar[str] = "effect"

    def __call__(self, sample: Sample, w: Tensor) -> Scores:
        shards, x, y = sample.shards, sample.features, sample.y
        rng = numpy_generator(self.seed, "bootstrap", *[shards.rank] * (shards.size > 1))
        effect = weighted_effects(x, y, (sample.copies * w)[None, :], shards)[0]
        counts = np.broadcast_to(sample.copies.cpu().numpy(), (TOGETHER, len(y)))
        drawn = (
            torch.as_tensor(rng.gamma(counts), device=x.device) * w
            for _ in range(self.n_bootstrap // TOGETHER)
        )
        draws = np.concatenate([weighted_effects(x, y, v, shards) for v in drawn])
        low, high = np.nanquantile(draws, [0.025, 0.975], axis=0)
        return Scores(effect, draws.std(axis=0), low, high, (low > 0) | (high < 0))


@dataclass(frozen=True)
class EffectOfVariables:
    """The effect of every variable of a table: of a category, that of its clearest level.

    ``columns`` is the sample with a column for each level. The interval of a category of k levels
    is that of the level with 1 - .05 / k, since the clearest of several was chosen.
    """

    effect: WeightedEffect
    columns: Sample
    name: ClassVar[str] = "effect"

    def __call__(self, sample: Sample, w: Tensor) -> Scores:
        columns = replace(self.columns, y=sample.y)
        found = self.effect(columns, w)
        levels = ((columns.features == 0) | (columns.features == 1)).all(0).cpu().numpy()
        clearest = np.zeros(sample.n_features, dtype=np.intp)
        low, high = (np.zeros(sample.n_features) for _ in range(2))
        for k, one in enumerate(sample.origin.columns):
            own = np.flatnonzero(columns.groups == one)
            if not levels[own].all():  # a number, and perhaps whether it is missing
                own = own[~levels[own]]
            j = clearest[k] = own[np.argmax(np.abs(found.score[own]) / (found.error[own] + 1e-12))]
            low[k], high[k] = found.low[j], found.high[j]
            if len(own) > 1:
                wide = norm.isf(0.025 / len(own)) * found.error[j]
                low[k], high[k] = found.score[j] - wide, found.score[j] + wide
        stable = (low > 0) | (high < 0)
        return Scores(found.score[clearest], found.error[clearest], low, high, stable)


def weighted_effects(x: Any, y: Any, v: Any, shards: Local = LOCAL) -> FloatArray:
    """Weighted slopes of y on each x_j: (draws, p); of arrays or tensors.

    ``v`` (draws, n) are total row weights. The effect is zero where x_j does not vary under them.
    """
    x, y, v = (torch.as_tensor(values) for values in (x, y, v))
    weight, first, second = shards.totals(v.sum(1)[:, None], v @ x, v @ x.square())
    y_sum, products = shards.totals((v @ y)[:, None], (v * y) @ x)
    squares = second - first.square() / weight
    varies = squares > 1e-12 * weight
    effects = (products - first * y_sum / weight) / torch.where(varies, squares, 1.0) * varies
    return np.asarray(effects.cpu().numpy())
