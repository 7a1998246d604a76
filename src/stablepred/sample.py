"""``Sample``, the class for a set of rows.

At the optimum equal rows (x, y) have equal weights, since the objective is symmetric in them and
each carries its share of the mass. A sample therefore holds the distinct rows, sorted, with how
often each occurs. This is the same problem, only smaller, and its result depends neither on the
order of the user's rows nor on whether a row is given twice or with twice the weight. Columns are
ordered by their content, so that their order in the user's table does not matter either.

A sum over rows is ``sample.total(...)``. Where several processes hold the rows, that is the sum
over all of them; nothing outside this file and ``core/sharding.py`` needs to know.
"""

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stablepred.core.sharding import LOCAL, Local, current_shards

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Pairs = list[tuple[int, int]]

# Most rows that one row may stand for, by its sample weight.
MOST_COPIES = 1e9


@dataclass(frozen=True)
class Origin:
    """The way back to the user's table."""

    names: list[str]  # of all columns
    columns: NDArray[np.intp]  # (p,) which of them the features are
    index: NDArray[np.intp]  # of the distinct row, for each row that is present
    present: BoolArray  # (n,) the rows with a positive sample weight
    n_rows: int  # the number of those, in all processes


@dataclass(frozen=True)
class Sample:
    """Distinct rows of varying 0/1 features and an outcome, with the mass of each row.

    With balancing of order 2 the products of ``pairs`` of features are further columns, and
    ``shared`` marks the treatments and covariates that have a feature in common.
    """

    x: Tensor  # (m, q) the features, then the products
    y: Tensor  # (m,)
    mass: Tensor  # (m,) normalised sample weights; they sum to one
    copies: Tensor  # (m,) how many rows each stands for
    origin: Origin
    pairs: Pairs
    shared: Tensor | None = None  # (q, q)
    shards: Local = LOCAL

    @property
    def n_features(self) -> int:
        """How many of the columns are features rather than products."""
        return self.x.shape[1] - len(self.pairs)

    @property
    def features(self) -> Tensor:
        """The features alone: what a head without an encoder sees."""
        return self.x[:, : self.n_features]

    @property
    def names(self) -> list[str]:
        """Names of the features, in the order of the columns."""
        return [self.origin.names[j] for j in self.origin.columns]

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        return self.x.device

    # --- sums over rows ---

    def total(self, partial: Any) -> Any:
        """The sum over all rows, from the sum over the rows of this process."""
        return self.shards.total(partial)

    def totals(self, *sums: Any) -> tuple[Any, ...]:
        """Several such sums, in one message where several processes hold the rows."""
        return self.shards.totals(*sums)

    # --- other samples ---

    def with_products(self) -> Self:
        """The same rows with the products of all pairs of features that vary (order 2)."""
        p = self.n_features
        candidates = list(combinations(range(p), 2))
        shares = [float((self.x[:, a] * self.x[:, b]).mean()) for a, b in candidates]
        pairs = [pair for pair, share in zip(candidates, shares, strict=True) if 0 < share < 1]
        sources = torch.zeros(p + len(pairs), p, dtype=torch.bool)
        sources[range(p), range(p)] = True
        for row, pair in enumerate(pairs, start=p):
            sources[row, list(pair)] = True
        shared = (sources.int() @ sources.int().T) > 0
        wide = add_products(self.x, pairs)
        return replace(self, x=wide, pairs=pairs, shared=shared.to(self.device))

    def take(self, share: Tensor) -> Self:
        """A fold: a share of each row, with the mass scaled to sum to one."""
        rows = share > 0
        mass = self.mass[rows] * share[rows]
        mass = mass / self.total(mass.sum())
        copies = self.copies[rows] * share[rows]
        return replace(self, x=self.x[rows], y=self.y[rows], mass=mass, copies=copies)

    def select(self, used: Tensor, v: Tensor) -> Self:
        """Only some of the features, so that fewer rows are distinct; ``v`` is the rows' mass."""
        features, outcome = self.features[:, used].cpu().numpy(), self.y.cpu().numpy()
        first, mass, index = group_rows(features, outcome, v.cpu().numpy(), self.shards)
        copies = np.bincount(index, self.copies.cpu().numpy()).astype(np.float64)
        number = torch.cumsum(used.long(), 0) - 1
        pairs = [(int(number[a]), int(number[b])) for a, b in self.pairs if used[a] and used[b]]
        columns = self.origin.columns[used.cpu().numpy()]
        return replace(
            self,
            x=add_products(self._tensor(features[first]), pairs),
            y=self._tensor(outcome[first]),
            mass=self._tensor(mass),
            copies=self._tensor(copies),
            origin=replace(self.origin, columns=columns),
            pairs=pairs,
        )

    def _tensor(self, values: FloatArray) -> Tensor:
        return torch.as_tensor(values).to(self.device)

    # --- the way back ---

    def to_user_rows(self, values: Tensor) -> FloatArray:
        """Values per distinct row, for the user's rows (zero where the sample weight is zero)."""
        rows = np.zeros(len(self.origin.present))
        rows[self.origin.present] = values.cpu().numpy()[self.origin.index]
        return rows

    def to_user_columns(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values per feature, for the user's columns (zero for the constant ones)."""
        everywhere = np.zeros(len(self.origin.names), dtype=values.dtype)
        everywhere[self.origin.columns] = values
        return everywhere

    def share_of_rows(self, rows: NDArray[Any], weight: FloatArray) -> Tensor:
        """The share of each distinct row's mass that belongs to ``rows`` of the user's table."""
        chosen = np.zeros(len(self.origin.present))
        chosen[rows] = 1.0
        sums = [
            np.bincount(self.origin.index, w[self.origin.present], minlength=len(self.y))
            for w in (chosen * weight, weight)
        ]
        return torch.as_tensor(sums[0] / sums[1]).to(self.device)


def make_sample(
    x: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    names: list[str],
    *,
    counted: bool = False,
    device: torch.device | str = "cpu",
) -> Sample:
    """The sample of a table of 0/1 columns; columns that do not vary are left out.

    ``counted`` says that the sample weights are numbers of equal rows.
    """
    shards = current_shards()
    present = weight > 0
    n_rows = int(shards.total(weight.sum() if counted else present.sum()))
    x, y, weight = x[present], y[present], weight[present]
    varies = shards.smallest(x.min(axis=0)) != shards.largest(x.max(axis=0))
    active = np.flatnonzero(varies)
    columns = active[_order_columns(x[:, active], y, weight, shards)]
    x = x[:, columns]
    rows, mass, index = group_rows(x, y, weight, shards)
    each = weight if counted else count_rows(weight, shards)
    copies = np.bincount(index, each).astype(np.float64)
    origin = Origin(names, columns, index, present, n_rows)
    tensors = (
        torch.as_tensor(np.ascontiguousarray(a), dtype=torch.float64, device=device)
        for a in (x[rows], y[rows], mass, copies)
    )
    x_, y_, mass_, copies_ = tensors
    return Sample(x_, y_, mass_, copies_, origin, [], shards=shards)


def sample_of_rows(x: FloatArray, y: FloatArray) -> Sample:
    """A sample with exactly these rows and columns, in this order, none of them grouped."""
    n, p = x.shape
    names = [f"x{j}" for j in range(p)]
    origin = Origin(names, np.arange(p), np.arange(n), np.ones(n, dtype=bool), n)
    rows, outcome = (torch.as_tensor(a, dtype=torch.float64) for a in (x, y))
    ones = torch.ones_like(outcome)
    return Sample(rows, outcome, ones / n, ones, origin, [])


def count_rows(weight: FloatArray, shards: Local = LOCAL) -> FloatArray:
    """How many rows each row stands for, for intervals and folds.

    Sample weights that are integer multiples of the smallest one are counts of equal rows, if at
    least one row in twenty has that smallest weight and none has a billion times it. Others are
    scaled to their effective number, (sum c)^2 / sum c^2.
    """
    least = shards.smallest(weight.min())
    multiples = weight / least
    integers = np.round(multiples)
    equal, broken, rows, first, second = shards.totals(
        np.isclose(weight, least, rtol=1e-9).sum(),
        (~np.isclose(multiples, integers, rtol=1e-9, atol=0)).sum(),
        len(weight),
        weight.sum(),
        weight @ weight,
    )
    if equal / rows < 0.05 or broken or shards.largest(multiples.max()) >= MOST_COPIES:
        return weight * first / second
    return integers


def group_rows(
    x: FloatArray, y: FloatArray, weight: FloatArray, shards: Local = LOCAL
) -> tuple[NDArray[np.intp], FloatArray, NDArray[np.intp]]:
    """The distinct rows of 0/1 ``x`` and any ``y``: first index, mass, and each row's group.

    Sums of scaled weights differ in their last bits, and an iterative fit amplifies such
    differences. Relative to the largest, and rounded to 40 bits, sums do not depend on the scale.
    """
    outcome = (y + 0.0).astype(">f8")[:, None].view(np.uint8)  # its bytes: 0 before 1
    bits = np.hstack([np.packbits(x.astype(bool), axis=1), outcome])
    _, first, index = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    index = index.reshape(-1)
    total = np.bincount(index, weight).astype(np.float64)
    everywhere = shards.add_counts(bits[first], total)
    mantissa, exponent = np.frexp(everywhere / shards.largest(everywhere.max()))
    rounded = np.ldexp(np.round(np.ldexp(mantissa, 40)), exponent - 40)
    count = rounded * (total / everywhere)
    return first, count / shards.total(count.sum()), index


def add_products(x: Any, pairs: Pairs) -> Any:
    """The columns of ``x``, a tensor or an array, then the products of the pairs of them."""
    if not pairs:
        return x
    first, second = np.array(pairs).T
    products = x[:, first] * x[:, second]
    return torch.cat([x, products], 1) if isinstance(x, Tensor) else np.hstack([x, products])


def _order_columns(
    x: FloatArray, y: FloatArray, weight: FloatArray, shards: Local
) -> NDArray[np.intp]:
    """Columns sorted by sums over the rows, which depend on the order of neither."""
    size = x.sum(axis=1)  # how many features a row has
    moments = [np.ones_like(size), y, size, size * y, size**2, size**2 * y, size**3]
    relative = weight / shards.largest(weight.max())
    sums = shards.total(
        np.array([[math.fsum(relative * column * moment) for moment in moments] for column in x.T])
    )
    keys = [tuple(float(f"{value:.9e}") for value in row) for row in sums]
    return np.array(sorted(range(x.shape[1]), key=keys.__getitem__), dtype=np.intp)
