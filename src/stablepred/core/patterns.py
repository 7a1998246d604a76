"""Distinct rows with counts.

At the optimum equal rows (x, y) have equal weights, since the objective is symmetric in them and
each carries its share of the mass. Fitting on the distinct rows, in a fixed order, is therefore
the same problem, smaller, and its result depends neither on the order of the rows nor on whether
a row is written twice or given twice the weight.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stablepred.core.sharding import array_total, counted_everywhere, largest


@dataclass(frozen=True)
class Patterns:
    """Distinct rows of (x, y), sorted, with the relative sample weight of each."""

    x: NDArray[np.float64]  # (m, p)
    y: NDArray[np.float64]  # (m,)
    count: NDArray[np.float64]  # (m,)
    index: NDArray[np.intp]  # (n,) the pattern of each original row

    @property
    def mass(self) -> NDArray[np.float64]:
        """Share of each pattern, summing to one."""
        return np.asarray(self.count / array_total(self.count.sum()))


def distinct_patterns(
    x: NDArray[np.float64], y: NDArray[np.float64], count: NDArray[np.float64]
) -> Patterns:
    """Group equal rows of 0/1 ``x`` and ``y`` and add up their ``count``, up to its scale."""
    bits = np.packbits(np.column_stack([x, y]).astype(bool), axis=1)
    _, first, index = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    index = index.reshape(-1)
    total = np.bincount(index, count).astype(np.float64)
    everywhere = counted_everywhere(bits[first], total)
    count = _without_scale(everywhere) * (total / everywhere)
    return Patterns(x[first], y[first], count, index)


def _without_scale(count: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts relative to the largest, to 40 bits.

    Sums of scaled weights differ in their last bits, and an iterative fit makes such differences
    grow. Rounding them off makes the result independent of the weights' scale to the last bit.
    """
    mantissa, exponent = np.frexp(count / largest(count.max()))
    return np.ldexp(np.round(np.ldexp(mantissa, 40)), exponent - 40)
