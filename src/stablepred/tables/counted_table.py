"""A large Parquet file of numbers, encoded and counted where it lies, for ``stablepred fit``."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from stablepred.exceptions import InputError
from stablepred.preprocessing import tolerance_of_mean
from stablepred.tables.columns import Note, NumberColumn, learn_column
from stablepred.tables.files import ParquetFile, TableFile
from stablepred.tables.pattern_counts import (
    Range,
    feature_names,
    load_narwhals,
    means_of_several_values,
    number,
    one_row,
    opened,
    two_values,
    value_ranges,
)
from stablepred.tables.table_encoder import TableEncoder
from stablepred.tables.table_model import TableModel
from stablepred.tables.target import Target, learn_target

# From so many rows on counting them is worth while; below, all rows are read.
MANY = 1_000_000


@dataclass(frozen=True, eq=False)
class CountedTable:
    """A table whose rows stay where they are, with how to encode them."""

    encoder: TableEncoder
    target: Target
    rows: int
    base_rate: float
    frame: Any  # 0/1 features and outcome, for an engine to count

    def fit(self, estimator: Any) -> TableModel:
        """Fit an estimator that has ``fit_table``."""
        fitted = estimator.fit_table(self.frame, self.target.name)
        return TableModel(self.encoder, self.target, fitted, self.rows, self.base_rate)


@contextmanager
def counted_table(
    file: TableFile, columns: list[str], target: str, positive: str | None
) -> Iterator[CountedTable | None]:
    """The table to count, or None where its rows must be read.

    Counted are Parquet files of `MANY` rows whose columns are all numbers, or true and false, with
    no value missing, and none with so many values that it may be an id. The model is the one that
    reading gives, but for weights of distinct rows in place of all rows.
    """
    if not isinstance(file, ParquetFile) or file.rows < MANY:
        yield None
        return
    with ExitStack() as stack:
        try:
            frame = stack.enter_context(opened(file.path))
            facts = _Facts(frame, file.rows, columns, target)
        except InputError:  # for reading to deal with, or to explain
            yield None
            return
        yield facts.encoded(positive)


class _Facts:
    """What an engine tells about the columns; an error where they are not to be counted."""

    def __init__(self, frame: Any, rows: int, columns: list[str], target: str) -> None:
        self.frame, self.rows = frame, rows
        self.types = dict(frame.collect_schema())
        names = feature_names(self.types, target, [name for name in columns if name != target])
        self.ranges = value_ranges(frame, self.types, names, target)
        for name, (low, high) in self.ranges.items():
            if high - low + 1 >= rows:
                raise InputError(f"{name!r} may have a different whole number in every row.")
        self.means = means_of_several_values(frame, self.types, self.ranges)
        self.values = pd.Series(two_values(frame, target), name=target)
        learn_target(self.values)

    def encoded(self, positive: str | None) -> CountedTable:
        """The table as 0/1 features and outcome, yet to be counted."""
        nw = load_narwhals()
        target = learn_target(self.values, positive)
        (one,) = self.values[target.encode(self.values) == 1]
        found, notes = [], []
        for name, ends in self.ranges.items():
            is_truth = self.types[name] == nw.Boolean
            column, said = _column(name, is_truth, ends, self.means.get(name))
            found += [] if column is None else [column]
            notes += said
        encoder = TableEncoder.from_columns(found, notes)
        keys = {
            c.features[0]: number(c.name) > c.cut + c.tolerance for c in found if c.cut is not None
        }
        keys[target.name] = (nw.col(target.name) == one).cast(nw.Int64)
        frame = self.frame.select(**keys)
        ones = int(one_row(frame.select(nw.col(target.name).sum()))[target.name])
        return CountedTable(encoder, target, self.rows, ones / self.rows, frame)


def _column(
    name: str, is_truth: bool, ends: Range, mean: float | None
) -> tuple[NumberColumn | None, list[Note]]:
    """How to encode a column of which the ends are known, and the mean if there is more between."""
    column, notes = learn_column(pd.Series(ends, name=name, dtype=bool if is_truth else float))
    assert column is None or isinstance(column, NumberColumn)
    if column is not None and mean is not None:
        tolerance = tolerance_of_mean(max(map(abs, ends)))
        column = replace(column, cut=mean, tolerance=tolerance, plain=False)
    return column, notes
