"""A large Parquet file of numbers, encoded and counted where it lies, for ``stablepred fit``."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from stablepred.data.columns import Note, NumberColumn, learn_column
from stablepred.data.features import tolerance_of_mean
from stablepred.data.pattern_counts import (
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
from stablepred.data.table_encoder import TableEncoder
from stablepred.data.table_model import TableModel
from stablepred.data.tables import ParquetFile, TableFile
from stablepred.data.target import Target, learn_target
from stablepred.exceptions import InputError

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
            found = _learned(frame, file.rows, columns, target, positive)
        except InputError:  # for reading to deal with, or to explain
            found = None
        yield found


def _learned(
    frame: Any, rows: int, columns: list[str], target: str, positive: str | None
) -> CountedTable | None:
    nw = load_narwhals()
    types = dict(frame.collect_schema())
    names = feature_names(types, target, [name for name in columns if name != target])
    ranges = value_ranges(frame, types, names, target)
    if any(high - low + 1 >= rows for low, high in ranges.values()):
        return None  # perhaps an id: a different whole number in every row
    values = pd.Series(two_values(frame, target), name=target)
    outcome = learn_target(values, positive)
    (one,) = values[outcome.encode(values) == 1]
    means = means_of_several_values(frame, types, ranges)
    found, notes = [], []
    for name, ends in ranges.items():
        column, said = _column(name, types[name] == nw.Boolean, ends, means.get(name))
        found += [] if column is None else [column]
        notes += said
    encoder = TableEncoder.from_columns(found, notes)
    bits = {c.features[0]: number(c.name) > c.cut + c.tolerance for c in found if c.cut is not None}
    encoded = frame.select(**bits, **{target: (nw.col(target) == one).cast(nw.Int64)})
    ones = int(one_row(encoded.select(nw.col(target).sum()))[target])
    return CountedTable(encoder, outcome, rows, ones / rows, encoded)


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
