"""``Sample``, the class for a set of rows.

At the optimum equal rows (x, y) have equal weights, since the objective is symmetric in them and
each carries its share of the mass. A sample therefore holds the distinct rows, sorted, with how
often each occurs. This is the same problem, only smaller, and its result depends neither on the
order of the user's rows nor on whether a row is given twice or with twice the weight. Columns are
ordered by their content, so that their order in the user's table does not matter either.

A sum over rows is ``sample.total(...)``. Where several processes hold the rows, that is the sum
over all of them; nothing outside this file and ``core/sharding.py`` needs to know.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from stablepred.core.sharding import LOCAL, Local, current_shards

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]
Pairs = list[tuple[int, int]]

# Most rows that one row may stand for, by its sample weight.
MOST_COPIES = 1e9
BLOCK = 4096  # rows that are summed at once


@dataclass(frozen=True)
class Origin:
    names: list[str]  # of all columns
    columns: IntArray  # (p,) which of them the features are
    index: IntArray  # of the distinct row, for each row that is present
    present: BoolArray  # (n,) the rows with a positive sample weight
    n_rows: int  # the number of those, in all processes
    groups: IntArray | None = None  # the variable of each column; None: one column each


@dataclass(frozen=True)
class Sample:
    """Distinct rows of varying features and an outcome, with the mass of each row.

    Features are 0/1 or numbers. Several may belong to one variable, as the levels of a category
    do: ``groups`` says which. With balancing of order 2 the products of ``pairs`` of features are
    further columns.
    """

    x: Tensor  # (m, q) the features, then the products
    y: Tensor  # (m,)
    mass: Tensor  # (m,) normalised sample weights; they sum to one
    copies: Tensor  # (m,) how many rows each stands for
    origin: Origin
    pairs: Pairs
    shards: Local = LOCAL
    environment: Tensor | None = None  # (m,) number of the training environment
    cluster: Tensor | None = None  # (m,) rows with the same number are never held out apart

    @property
    def n_features(self) -> int:
        return self.x.shape[1] - len(self.pairs)

    @property
    def features(self) -> Tensor:
        return self.x[:, : self.n_features]

    @property
    def every_feature(self) -> Tensor:
        return torch.ones(self.n_features, dtype=torch.bool, device=self.device)

    @property
    def names(self) -> list[str]:
        return [self.origin.names[j] for j in self.origin.columns]

    @property
    def groups(self) -> IntArray:
        groups, columns = self.origin.groups, self.origin.columns
        return columns if groups is None else groups[columns]

    @cached_property
    def shared(self) -> Tensor | None:
        """Which columns have a variable in common, (q, q); None if none do."""
        groups = self.groups.tolist()
        if not self.pairs and len(set(groups)) == len(groups):
            return None
        variables = [{one} for one in groups] + [{groups[a], groups[b]} for a, b in self.pairs]
        has = np.array([[one in own for one in set(groups)] for own in variables], dtype=float)
        return torch.as_tensor(has @ has.T > 0, device=self.device)

    @cached_property
    def targets(self) -> Tensor:
        """What a decoder should reconstruct, between 0 and 1 as its output is: (m, q)."""
        bits = (self.x.square() == self.x).all(0).double()
        return torch.where(self.shards.smallest(bits) > 0, self.x, 0.5 + self.x / 6)

    @property
    def n_environments(self) -> int:
        return 1 if self.environment is None else len(torch.unique(self.environment))

    @property
    def device(self) -> torch.device:
        return self.x.device

    # --- sums over rows ---

    def total(self, partial: Any) -> Any:
        return self.shards.total(partial)

    def totals(self, *sums: Any) -> tuple[Any, ...]:
        return self.shards.totals(*sums)

    # --- other samples ---

    def with_products(self) -> Self:
        """The same rows with the products of all pairs of features that vary (order 2)."""
        pairs = []
        for a, b in combinations(range(self.n_features), 2):
            product = self.x[:, a] * self.x[:, b]
            if product.min() < product.max():
                pairs.append((a, b))
        return replace(self, x=add_products(self.x, pairs), pairs=pairs)

    def take(self, share: Tensor) -> Self:
        """A fold: a share of each row, with the mass scaled to sum to one."""
        rows = share > 0
        names = ("x", "y", "mass", "copies", "environment", "cluster")
        held: dict[str, Any] = {
            name: given[rows] for name in names if (given := getattr(self, name)) is not None
        }
        mass, copies = held["mass"] * share[rows], held["copies"] * share[rows]
        return replace(self, **held | {"mass": mass / self.total(mass.sum()), "copies": copies})

    def restrict(self, features: BoolArray) -> Self:
        origin = replace(self.origin, columns=self.origin.columns[features])
        x = self.features[:, torch.as_tensor(features, device=self.device)]
        return replace(self, x=x, origin=origin, pairs=[])

    def select(self, used: Tensor, v: Tensor) -> Self:
        """Only some of the features, so that fewer rows are distinct; ``v`` is the rows' mass."""
        part, number = self.restrict(used.cpu().numpy()), torch.cumsum(used.long(), 0) - 1
        x, y, weight, copies = (a.cpu().numpy() for a in (part.x, self.y, v, self.copies))
        first, mass, index = group_rows(x, y, weight, self.shards)
        columns = {"x": x[first], "y": y[first], "mass": mass, "copies": np.bincount(index, copies)}
        rows: dict[str, Any] = {k: torch.as_tensor(a).to(self.device) for k, a in columns.items()}
        pairs = [(int(number[a]), int(number[b])) for a, b in self.pairs if used[a] and used[b]]
        part = replace(part, **rows, pairs=pairs, environment=None, cluster=None)
        return replace(part, x=add_products(part.x, pairs))

    def against_rest(self, k: int) -> Self:
        return replace(self, y=(self.y == k).double())

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
        own, every = (
            np.bincount(self.origin.index, w[self.origin.present], minlength=len(self.y))
            for w in (chosen * weight, weight)
        )
        return torch.as_tensor(own / every).to(self.device)


def make_sample(
    x: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    names: list[str],
    *,
    groups: IntArray | None = None,
    environment: IntArray | None = None,
    cluster: IntArray | None = None,
    counted: bool = False,
    device: torch.device | str = "cpu",
) -> Sample:
    """The sample of a table; columns that do not vary are left out.

    ``groups`` is the variable of each column, where a variable has several; ``environment`` and
    ``cluster`` number the rows' environments and clusters. ``counted`` says that the sample weights
    are numbers of equal rows.
    """
    shards = current_shards()
    present = weight > 0
    n_rows = int(shards.total(weight.sum() if counted else present.sum()))
    x, y, weight = x[present], y[present], weight[present]
    given = {"environment": environment, "cluster": cluster}
    marks = {name: mark[present] for name, mark in given.items() if mark is not None}
    varies = shards.smallest(x.min(axis=0)) != shards.largest(x.max(axis=0))
    active = np.flatnonzero(varies)
    columns = active[_order_columns(x[:, active], y, weight, shards)]
    x = x[:, columns]
    rows, mass, index = group_rows(x, y, weight, shards, list(marks.values()))
    copies = np.bincount(index, weight if counted else count_rows(weight, shards))
    origin = Origin(names, columns, index, present, n_rows, groups)
    x_, y_, mass_, copies_ = (
        torch.as_tensor(np.ascontiguousarray(a), dtype=torch.float64, device=device)
        for a in (x[rows], y[rows], mass, copies)
    )
    held = {name: torch.as_tensor(mark[rows], device=device) for name, mark in marks.items()}
    return Sample(x_, y_, mass_, copies_, origin, [], shards, **held)


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
    x: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    shards: Local = LOCAL,
    marks: Sequence[IntArray] = (),
) -> tuple[IntArray, FloatArray, IntArray]:
    """The distinct rows of ``x``, ``y`` and ``marks``: first index, mass, and each row's group.

    Rows of 0/1 are in lexicographic order, those of numbers in that of a random combination of
    their columns. Unlike a hash it hardly changes with the last digits, so that the same numbers in
    single precision give the same folds.

    Sums of scaled weights differ in their last bits, and an iterative fit amplifies such
    differences. Relative to the largest, and rounded to 40 bits, sums do not depend on the scale.
    """
    keys = np.column_stack([y + 0.0, *marks])
    are_bits = not shards.largest(float(((x != 0) & (x != 1)).any()))
    if are_bits:
        packed = np.packbits(x != 0, axis=1)
        padded = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
        content = np.ascontiguousarray(padded).view(">u8")
    else:
        content = (x + 0.0).view(np.uint64)
    words = np.hstack([content, keys.view(np.uint64)]).astype(np.uint64)  # of outcomes: 0 before 1
    first, index = _find_distinct(words)
    if are_bits:
        order = np.lexsort(words[first].T[::-1])
    else:
        rng, position = np.random.default_rng(0), np.zeros(len(first))
        for column in np.hstack([x[first], keys[first]]).T:  # no rounding depends on other rows
            position += rng.normal() * column
        order = np.argsort(position, kind="stable")
    first, index = first[order], np.argsort(order)[index]
    total = np.bincount(index, weight)
    mantissa, exponent = np.frexp(total / shards.largest(total.max()))
    mass = np.ldexp(np.round(np.ldexp(mantissa, 40)), exponent - 40)
    return first, mass / shards.total(mass.sum()), index


def _find_distinct(rows: NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    by_column = pd.DataFrame(np.asfortranarray(rows))
    hashes = pd.util.hash_pandas_object(by_column, index=False).to_numpy()
    _, first, index = np.unique(hashes, return_index=True, return_inverse=True)
    if (rows[first[index]] != rows).any():  # two rows with one hash
        _, first, index = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, index.reshape(-1)


def sum_exactly(values: FloatArray, times: FloatArray | None = None) -> FloatArray:
    """Sums over the first axis, of ``times * values``, that do not depend on the order of the rows.

    Relative to the largest value, each value is an integer of 30 bits, one of 30 bits for the
    rest, and an error under 2^-61; sums of integers are exact.
    """

    def blocks() -> Iterator[FloatArray]:
        for rows in (slice(start, start + BLOCK) for start in range(0, len(values), BLOCK)):
            yield values[rows] if times is None else times[rows] * values[rows]

    largest = np.max([np.abs(part).max(axis=0) for part in blocks()], axis=0)
    shift = np.minimum(30 - np.frexp(largest)[1], 1000)
    high, low = np.zeros((2, *largest.shape), dtype=np.int64)
    for part in blocks():
        scaled = part * np.ldexp(1.0, shift)
        whole = np.rint(scaled)
        high += whole.astype(np.int64).sum(axis=0)
        low += np.rint((scaled - whole) * 2.0**30).astype(np.int64).sum(axis=0)
    return np.asarray(np.ldexp(high, -shift) + np.ldexp(low, -shift - 30))


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
    """Columns sorted by sums over the rows, which depend on the order of neither.

    The next sum is taken only of columns that do not differ in those before.
    """
    size = x.sum(axis=1)  # how many features a row has
    moments = [np.ones_like(size), y, size, size * y, size**2, size**2 * y, size**3]
    factors = np.array(moments) * (weight / shards.largest(weight.max()))
    # Sums of centred numbers are zero but for rounding, which must not decide.
    least = 1e-12 * np.abs(shards.total(factors @ x)).max(initial=1e-300)
    keys = [tuple[float, ...]() for _ in range(x.shape[1])]
    for factor in factors:
        repeated = Counter(keys)
        alike = [j for j, key in enumerate(keys) if repeated[key] > 1]
        if not alike:
            break
        own = x if len(alike) == x.shape[1] else x[:, alike]
        sums = shards.total(sum_exactly(own, factor[:, None]))
        for j, value in zip(alike, np.where(np.abs(sums) < least, 0.0, sums), strict=True):
            keys[j] += (float(f"{value:.9e}"),)
    return np.array(sorted(range(x.shape[1]), key=keys.__getitem__), dtype=np.intp)
