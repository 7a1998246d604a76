"""Global balancing of the features themselves (paper, eq. 4).

    L_Bal(v) = sum_j || Cov_v(X_{-j}, x_j) / Var_v(x_j) ||^2

Every column of X is the treatment in turn; X_{-j} is X with column j set to zero; ``v`` holds the
total row weights, the paper's W. The quotient is the slope of a weighted regression on x_j. For a
0/1 column that is the paper's difference of weighted means,

    X_{-j}' (v * x_j) / v'x_j  -  X_{-j}' (v * (1 - x_j)) / v'(1 - x_j),

and for a number, in standard deviations, the same without a second theory. A treatment that does
not vary under the weights offers nothing to compare and contributes zero.

Columns of one variable (levels of a category, or products of columns with order 2) have no
meaning without each other, and no weights could balance them. ``shared[j, k]`` marks them: they
are zeroed together with j.
"""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import ValueAndGradient
from stablepred.core.sharding import LOCAL, Local
from stablepred.sample import Sample

# Rows whose products are taken at once, few enough to stay in the processor's cache.
BLOCK = 1 << 15


class RawBalance:
    def prepare(self, sample: Sample, network: AutoEncoder | None = None) -> ValueAndGradient:
        return partial(balance_and_gradient, sample.x, shared=sample.shared, shards=sample.shards)


def vary(variance: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of squares (p,) that one may divide by, and which of the columns vary."""
    # Relative to the total, so that the verdict does not depend on the scale of the weights.
    varies = variance > weight * 1e-12
    return torch.where(varies, variance, 1.0), varies


def imbalance(x: Tensor, v: Tensor, shared: Tensor | None = None, shards: Local = LOCAL) -> Tensor:
    """Weighted slope of feature k on feature j, for all (j, k): (p, p)."""
    return _compare(x, v, shared, shards)[0]


def _compare(
    x: Tensor, v: Tensor, shared: Tensor | None, shards: Local
) -> tuple[Tensor, Tensor, Tensor]:
    """Slopes, zero where they do not count; sums of squares around the means; the means."""
    gram, first = x.new_zeros(x.shape[1], x.shape[1]), x.new_zeros(x.shape[1])
    for part, weights in zip(_blocks(x), _blocks(v), strict=True):
        gram.addmm_(part.T, weights[:, None] * part)
        first += weights @ part
    gram, first, weight = shards.totals(gram, first, v.sum())
    covariance = gram - torch.outer(first, first / weight)
    squares, varies = vary(covariance.diagonal(), weight)
    if shared is None:
        shared = torch.eye(len(varies), dtype=torch.bool, device=varies.device)
    slopes = covariance / squares[:, None] * (varies[:, None] & ~shared)
    return slopes, squares, first / weight


def balance_and_gradient(
    x: Tensor, v: Tensor, shared: Tensor | None = None, shards: Local = LOCAL
) -> tuple[Tensor, Tensor]:
    """L_Bal on raw features and its gradient in ``v``, from one weighted Gram matrix.

    With m the weighted means, C = sum_i v_i (x_i - m)(x_i - m)', D_j = C_jj, G_jk = C_jk / D_j and
    L = sum G^2, moving the means changes nothing to first order, and the chain rule gives

        dL/dv_i = (x_i - m)' Q (x_i - m),   Q_jk = 2 G_jk / D_j,   Q_jj = -2 sum_k G_jk^2 / D_j
    """
    gaps, squares, mean = _compare(x, v, shared, shards)
    curvature = 2 * (gaps - torch.diag(gaps.square().sum(1))) / squares[:, None]  # (p, p) Q
    linear = -(curvature + curvature.T) @ mean
    # x'Qx + a'x is the sum of (xQ + a) x.
    parts = [torch.addmm(linear, part, curvature).mul_(part).sum(1) for part in _blocks(x)]
    return gaps.square().sum(), torch.cat(parts) + mean @ curvature @ mean


def _blocks(rows: Tensor) -> Sequence[Tensor]:
    return (rows,) if rows.is_cuda else rows.split(BLOCK)
