"""The weighted effect of each feature on the outcome (paper, section 3.2.2).

    effect_j = Cov_v(x_j, y) / Var_v(x_j),   v = c w

For a 0/1 feature that is the paper's difference of weighted means of y between x_j = 1 and
x_j = 0; for a number, which a sample holds in standard deviations, the effect of one of them. Once
the weights have balanced every feature against all others, only stable features have an effect. A
feature is called stable if the interval of its effect excludes zero.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from stablepred._random import numpy_generator
from stablepred.core.sharding import LOCAL, Local
from stablepred.evidence.base import FloatArray, Scores
from stablepred.sample import Sample

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
        """Effects with the 2.5 % and 97.5 % quantiles of their draws."""
        shards = sample.shards
        rank = [shards.rank] if shards.size > 1 else []
        rng = numpy_generator(self.seed, "bootstrap", *rank)
        x, y = sample.features, sample.y
        effect = weighted_effects(x, y, (sample.copies * w)[None, :], shards)[0]
        counts = np.broadcast_to(sample.copies.cpu().numpy(), (TOGETHER, len(y)))
        drawn = (
            torch.as_tensor(rng.gamma(counts), device=x.device) * w
            for _ in range(self.n_bootstrap // TOGETHER)
        )
        draws = np.concatenate([weighted_effects(x, y, v, shards) for v in drawn])
        low, high = np.nanquantile(draws, [0.025, 0.975], axis=0)
        return Scores(effect, draws.std(axis=0), low, high, (low > 0) | (high < 0))


def weighted_effects(x: Any, y: Any, v: Any, shards: Local = LOCAL) -> FloatArray:
    """Weighted slopes of y on each x_j: (draws, p), from arrays or from tensors on any device.

    ``v`` (draws, n) are total row weights. The effect is zero where x_j does not vary under them.
    """
    x, y, v = (torch.as_tensor(values) for values in (x, y, v))
    weight, first, second = shards.totals(v.sum(1)[:, None], v @ x, v @ x.square())
    y_sum, products = shards.totals((v @ y)[:, None], (v * y) @ x)
    squares = second - first.square() / weight
    varies = squares > 1e-12 * weight
    effects = (products - first * y_sum / weight) / torch.where(varies, squares, 1.0) * varies
    return np.asarray(effects.cpu().numpy())
