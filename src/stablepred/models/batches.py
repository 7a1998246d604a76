"""Rows that are read in batches, anew for every pass, because they do not fit in memory."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stablepred.exceptions import InputError
from stablepred.models.base import FloatArray, check_binary, report_constant_columns
from stablepred.preprocessing import Dichotomizer, column_names, sums_within, validated
from stablepred.weights.balancing import RawSums

StartBatches = Callable[[], Iterable[Any]]


class BatchedTable:
    """What a first look at all batches tells: cuts, columns that vary, number of rows."""

    names: list[str]  # of all features
    columns: NDArray[np.intp]  # (a,) the features that vary
    n_rows: int
    largest: int  # entries of the largest batch

    def __init__(self, estimator: Any, start: StartBatches) -> None:
        if not callable(start):
            raise InputError(
                "batches must be a function that starts reading anew, since the rows are read "
                "several times; for example lambda: pandas.read_csv(path, chunksize=100_000). "
                f"It is {type(start).__name__}."
            )
        self.estimator, self.start = estimator, start
        self._cut: Dichotomizer | None = None
        low, high = self._range()
        if estimator.dichotomize is not None:
            sums = (sums_within(x, np.ones(len(x)), low, high) for x in self._validated())
            self._cut = Dichotomizer.from_sums(low, high, _added(sums))
            estimator.dichotomizer_ = self._cut
        self._find_varying_columns()

    def __call__(self) -> Iterator[Tensor]:
        """One pass: the varying columns of each batch as 0/1, (m, a)."""
        for x in self._binary():
            yield torch.as_tensor(np.ascontiguousarray(x[:, self.columns]))

    def _validated(self) -> Iterator[FloatArray]:
        rows = 0
        for batch in self.start():
            x: FloatArray = validated(self.estimator, batch, reset=False)
            rows += len(x)
            yield x
        if rows != self.n_rows:
            raise InputError(
                f"the batches had {self.n_rows} rows at first and {rows} later. Every pass must "
                "read the same rows in the same order."
            )

    def _binary(self) -> Iterator[FloatArray]:
        for x in self._validated():
            if self._cut is None:
                check_binary(x, self.names)
            yield x if self._cut is None else self._cut.transform(x)

    def _range(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest value of every column; the names and the number of rows on the way."""
        self.n_rows = self.largest = 0
        for batch in self.start():
            x = validated(self.estimator, batch, reset=self.n_rows == 0)
            if self.n_rows == 0:
                low, high = x.min(axis=0), x.max(axis=0)
            low, high = np.minimum(low, x.min(axis=0)), np.maximum(high, x.max(axis=0))
            self.n_rows += len(x)
            self.largest = max(self.largest, x.size)
        if self.n_rows < 3:
            raise InputError(
                f"the batches have n_samples = {self.n_rows} rows, but at least 3 are needed."
            )
        self.names = column_names(self.estimator, len(low))
        return low, high

    def _find_varying_columns(self) -> None:
        """The columns that vary, and the sums at equal weights."""
        mass = 1 / self.n_rows
        parts = (
            RawSums.of(torch.as_tensor(x), torch.full((len(x),), mass, dtype=torch.float64))
            for x in self._binary()
        )
        sums = RawSums(*_added(parts))
        varies = ((sums.on > mass / 2) & (sums.off > mass / 2)).numpy()
        self.columns = np.flatnonzero(varies)
        report_constant_columns(self.names, self.columns)
        gram = sums.gram[self.columns][:, self.columns]
        self.before = RawSums(gram, sums.on[self.columns], sums.off[self.columns], sums.weight)


def _added(parts: Iterable[Iterable[Any]]) -> list[Any]:
    """Tuples of sums, added up."""
    result: list[Any] = []
    for part in parts:
        result = [a + b for a, b in zip(result, part, strict=True)] if result else list(part)
    return result
