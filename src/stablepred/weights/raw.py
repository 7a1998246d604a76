"""Global balancing of the features themselves (paper, eq. 4).

    L_Bal(v) = sum_j || X_{-j}' (v * x_j) / v'x_j  -  X_{-j}' (v * (1 - x_j)) / v'(1 - x_j) ||^2

Every column of X is the treatment in turn; X_{-j} is X with column j set to zero; ``v`` holds the
total row weights, the paper's W. A treatment without weight on one of its two sides offers nothing
to compare and contributes zero.

With products of columns among the columns (order 2), a treatment and a covariate may share a
source column, which ``shared[j, k]`` marks. Such covariates are zeroed together with j, since
no weights could balance them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import ValueAndGradient
from stablepred.core.sharding import LOCAL, Local
from stablepred.sample import Sample

# Rows whose products are taken at once, few enough to stay in the processor's cache.
BLOCK = 1 << 15


class RawBalance:
    """The loss above."""

    def prepare(self, sample: Sample, network: AutoEncoder | None = None) -> ValueAndGradient:
        """The loss over the sample's rows."""

        def loss(v: Tensor) -> tuple[Tensor, Tensor]:
            return balance_and_gradient(sample.x, v, sample.shared, sample.shards)

        return loss


def compare_sides(on: Tensor, off: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Denominators of both sides of every treatment, and whether both have weight: each (p,)."""
    # Relative to the total, so that the verdict does not depend on the scale of the weights.
    least = weight * 1e-12
    comparable = (on > least) & (off > least)
    one = torch.ones_like(on)
    return torch.where(comparable, on, one), torch.where(comparable, off, one), comparable


class RawSums(NamedTuple):
    """The sums over rows from which L_Bal on raw features follows."""

    gram: Tensor  # (p, p) x' diag(v) x
    on: Tensor  # (p,) v'x
    off: Tensor  # (p,) v'(1 - x)
    weight: Tensor  # () sum of v

    @classmethod
    def of(cls, x: Tensor, v: Tensor, shards: Local = LOCAL) -> "RawSums":
        """The sums over all rows."""
        return cls(*shards.totals(*_weighted_sums(x, v), v.sum()))


def _allowed(comparable: Tensor, shared: Tensor | None) -> Tensor:
    """Which (treatment, covariate) pairs count: (p, p)."""
    if shared is None:
        shared = torch.eye(len(comparable), dtype=torch.bool, device=comparable.device)
    return comparable[:, None] & ~shared


def imbalance(x: Tensor, v: Tensor, shared: Tensor | None = None) -> Tensor:
    """Weighted mean of feature k with x_j = 1 minus with x_j = 0, for all (j, k): (p, p)."""
    return imbalance_from(RawSums.of(x, v), shared)


def imbalance_from(sums: RawSums, shared: Tensor | None = None) -> Tensor:
    """The imbalance computed from sums over rows."""
    gram, ones, *others = sums
    on, off, comparable = compare_sides(ones, *others)
    gaps = gram / on[:, None] - (ones[None, :] - gram) / off[:, None]
    return gaps * _allowed(comparable, shared)


def balance_and_gradient(
    x: Tensor, v: Tensor, shared: Tensor | None = None, shards: Local = LOCAL
) -> tuple[Tensor, Tensor]:
    """L_Bal on raw features and its gradient in ``v``, from one weighted Gram matrix.

    With g = gram, m = v'x, gaps G_jk = g_jk / on_j - (m_k - g_jk) / off_j and L = sum G^2, the
    chain rule gives dL/dv_i = x_i' D x_i + a'x_i + b with

        D_jk = 2 G_jk (1 / on_j + 1 / off_j)
        a_k  = -2 sum_j G_jk / off_j - r_k - s_k,   b = sum_j s_j
        r_j  = 2 sum_k G_jk g_jk / on_j^2,          s_j = 2 sum_k G_jk (m_k - g_jk) / off_j^2
    """
    gram, ones, *others = RawSums.of(x, v, shards)
    on, off, comparable = compare_sides(ones, *others)
    rest = ones[None, :] - gram  # (p, p) the same sums over the rows with x_j = 0
    gaps = (gram / on[:, None] - rest / off[:, None]) * _allowed(comparable, shared)
    slope_on = 2 * (gaps * gram).sum(1) / on.square()  # (p,) r
    slope_off = 2 * (gaps * rest).sum(1) / off.square()  # (p,) s
    quadratic = 2 * gaps * (1 / on + 1 / off)[:, None]  # (p, p) D
    linear = -2 * (gaps / off[:, None]).sum(0) - slope_on - slope_off  # (p,) a
    # With 0/1 features x'Dx + a'x is the sum of (xD + a) x.
    parts = [torch.addmm(linear, part, quadratic).mul_(part).sum(1) for part in _blocks(x)]
    return gaps.square().sum(), torch.cat(parts) + slope_off.sum()


def _weighted_sums(x: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x'diag(v)x, v'x and v'(1 - x): (p, p), (p,) and (p,)."""
    gram = x.new_zeros(x.shape[1], x.shape[1])
    on, off = x.new_zeros(x.shape[1]), x.new_zeros(x.shape[1])
    for part, weights in zip(_blocks(x), _blocks(v), strict=True):
        gram.addmm_(part.T, weights[:, None] * part)
        on += weights @ part
        off += weights @ (1 - part)
    return gram, on, off


def _blocks(rows: Tensor) -> Sequence[Tensor]:
    """The rows in blocks; on a GPU, all at once."""
    return (rows,) if rows.is_cuda else rows.split(BLOCK)
