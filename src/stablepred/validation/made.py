"""Training rows of a search, and the environments in which its candidates are judged."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing

from stablepred._random import child_seed
from stablepred.exceptions import InputError, StablepredWarning
from stablepred.models.gbr import GBRClassifier
from stablepred.validation.environments import (
    NoisyColumns,
    by_content,
    column_values,
    validation_environments,
)

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.intp]


@dataclass(frozen=True)
class Rows:
    """Training rows: features as given, outcome as given and as 0/1, sample weight if any."""

    X: Any
    y: NDArray[Any]
    target: FloatArray
    weight: FloatArray | None

    def take(self, rows: IndexArray) -> "Rows":
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Rows(_safe_indexing(self.X, rows), self.y[rows], self.target[rows], weight)

    @property
    def present(self) -> IndexArray:
        """Which rows have a positive weight."""
        if self.weight is None:
            return np.arange(len(self.y))
        return np.flatnonzero(self.weight > 0)


class Table(NamedTuple):
    """One environment to judge in: features, 0/1 outcome, weights of the rows."""

    X: Any
    y: FloatArray
    weight: FloatArray


@dataclass(frozen=True)
class HeldOut:
    """Environments made from held-out rows by changing their noisy columns."""

    rows: Rows
    columns: NoisyColumns
    kind: str
    rates: tuple[float, ...]
    seed: int

    @property
    def names(self) -> list[str]:
        """One per rate."""
        return [f"r={rate:g}" for rate in self.rates]

    def tables(self) -> Iterator[Table]:
        """Make them one after the other."""
        rows, columns = self.rows, self.columns
        changes = validation_environments(
            self.kind,
            columns.bits,
            rows.target,
            np.ones(len(columns.positions), dtype=bool),
            np.random.default_rng(self.seed),
            count=rows.weight,
            rates=self.rates,
        )
        for bits, weight in changes:
            table = rows.X if bits is columns.bits else columns.changed(rows.X, bits)
            yield Table(table, rows.target, weight)


@dataclass(frozen=True)
class Given:
    """Environments of the user's own."""

    names: list[str]
    features: list[Any]
    targets: list[FloatArray]

    def tables(self) -> Iterator[Table]:
        """Hand them out one after the other."""
        for X, y in zip(self.features, self.targets, strict=True):
            yield Table(X, y, np.ones(len(y)))


@dataclass(frozen=True)
class Split:
    """What a candidate is fitted on, and where it is judged."""

    train: Rows
    environments: HeldOut | Given


def folds(rows: Rows, cv: Any, seed: int) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Training and held-out rows, as positions among the rows that are present.

    A number means shuffled, stratified folds of those; a splitter, or a list of splits, speaks
    about all rows.
    """
    present = rows.present
    if not isinstance(cv, Integral):
        for split in check_cv(cv, rows.y, classifier=True).split(rows.X, rows.y):
            train, test = (
                np.searchsorted(present, part[np.isin(part, present)])
                for part in map(_index, split)
            )
            yield train, test
        return
    target = rows.target[present]
    smaller = int(min(target.sum(), (1 - target).sum()))
    n_folds = min(int(cv), smaller)
    if n_folds < 2:
        raise InputError(
            f"the search needs two folds with both classes in each, but cv={cv} and the smaller "
            f"class has n_samples={smaller}. Raise cv, pass more rows, or pass environments=."
        )
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=child_seed(seed, "folds"))
    yield from splitter.split(present, target)


def _index(rows: Any) -> IndexArray:
    """Row numbers from row numbers or a mask."""
    values = np.asarray(rows)
    return np.flatnonzero(values) if values.dtype == bool else values


def constant_error(splits: list[Split]) -> float:
    """Average_Error of predicting the training rows' base rate, in the same environments."""
    sums = []
    for split in splits:
        base = np.average(split.train.target, weights=split.train.weight)
        tables = split.environments.tables()
        sums.append([(t.weight @ (t.y - base) ** 2, t.weight.sum()) for t in tables])
    squares, totals = np.sum(sums, axis=0).T  # (environments,)
    return float(np.sqrt(squares / totals).mean())


def found_noisy(rows: Rows, names: list[str], seed: int) -> BoolArray:
    """The features that vary and that a balanced model does not find stable."""
    x = column_values(rows.X, range(len(names)), names)
    order = by_content(x)  # so that the verdict does not depend on the columns' order
    judge = GBRClassifier(l1=0.0, refit=False, random_state=child_seed(seed, "noisy"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StablepredWarning)
        judge.fit(x[:, order], rows.target, sample_weight=rows.weight)
    mask = np.empty(len(names), dtype=bool)
    mask[order] = ~judge.stable_features_ & (x[:, order].min(axis=0) < x[:, order].max(axis=0))
    return mask


def named_noisy(chosen: Any, names: list[str]) -> BoolArray:
    """A mask over the columns from names, indices or booleans."""
    listed = [chosen] if isinstance(chosen, str) else list(chosen)
    if not listed:
        raise InputError("noisy_features is empty; name a feature, or leave it at None.")
    mask = np.zeros(len(names), dtype=bool)
    if all(isinstance(item, bool | np.bool_) for item in listed):
        if len(listed) != len(names) or not any(listed):
            raise InputError(
                f"noisy_features as booleans must have one per feature ({len(names)}) and at least "
                f"one True, but has {len(listed)} with {sum(map(bool, listed))} True."
            )
        mask[:] = listed
        return mask
    for item in listed:
        if isinstance(item, Integral) and 0 <= int(item) < len(names):
            mask[int(item)] = True
        elif item in names:
            mask[names.index(item)] = True
        else:
            raise InputError(f"noisy_features names {item!r}, but the features are {names}.")
    return mask


def zero_one(y: Any, classes: NDArray[Any], name: str) -> FloatArray:
    """An environment's outcome as 0/1: it may have the labels of y, or be 0/1 already."""
    values = np.asarray(y)
    if np.isin(values, classes).all():
        return (values == classes[1]).astype(np.float64)
    if np.isin(values, (0, 1)).all():
        return values.astype(np.float64)
    raise InputError(
        f"the outcome of environment {name!r} must have the values {classes.tolist()} or 0 and 1, "
        f"but has {np.unique(values)[:5].tolist()}."
    )
