"""A table as it comes -> columns of numbers, in groups: one group per variable.

Numbers stay numbers, standardised and bounded: within the range of the training rows, and beyond
the bulk of it growing like a logarithm only. 0/1 columns are left as they are. Categories become
one column per level; rare levels share one, and a level never seen counts as the average row.
Missing numbers become the median, with an indicator where they are more than rare.

Draft: quantiles, medians and the counts of levels ignore row weights.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from stablepred.exceptions import InputError
from studies.natural.draft.data import FloatArray, IntArray

RARE = 10  # levels and missing values with fewer rows get no column of their own
MOST_LEVELS = 30
MISSING = 0.1  # share of missing values from which they get an indicator
TAIL = 0.01  # share of the training rows on each side that is not the bulk
LARGEST = 1e100  # squares of larger numbers leave the range of doubles


@dataclass(frozen=True)
class Number:
    """How a column of numbers is encoded.

    ``middle`` replaces missing values; ``low`` and ``high`` bound the bulk of the training rows,
    ``least`` and ``most`` all of them; ``unit`` is that of the logarithm beyond the bulk.
    """

    name: str
    middle: float
    low: float
    high: float
    unit: float
    least: float
    most: float
    has_indicator: bool
    mean: float = 0.0
    sd: float = 1.0

    @property
    def width(self) -> int:
        """Number of columns."""
        return 1 + self.has_indicator

    def encode(self, values: pd.Series) -> FloatArray:
        """The columns of new values."""
        x = _numbers(values)
        missing = np.isnan(x)
        x = (self.bound(np.where(missing, self.middle, x)) - self.mean) / self.sd
        return np.column_stack([x, missing]) if self.has_indicator else x[:, None]

    def bound(self, x: FloatArray) -> FloatArray:
        """Within the training range, and drawn in beyond its bulk."""
        x = np.clip(x, self.least, self.most)
        bulk = np.clip(x, self.low, self.high)
        beyond = self.unit * np.log1p(np.abs(x - bulk) / self.unit)
        bounded: FloatArray = bulk + np.sign(x - bulk) * beyond
        return bounded


@dataclass(frozen=True, eq=False)
class Category:
    """How a column of categories is encoded: level -> column, and the share of each column."""

    name: str
    levels: dict[str, int]
    shares: FloatArray

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.shares)

    def encode(self, values: pd.Series) -> FloatArray:
        """The columns of new values; a level never seen counts as the shares of the others."""
        index = _labels(values).map(self.levels).fillna(-1).to_numpy(dtype=int)
        table = np.vstack([np.eye(len(self.shares)), self.shares])
        return table[index]


class Encoder:
    """Learns the columns from training rows.

    Attributes
    ----------
    names_ : list of str
        The variables; constant ones are left out.
    groups_ : ndarray of int
        The variable of each column.
    """

    def fit(self, frame: pd.DataFrame) -> Self:
        """Learn how to encode each variable."""
        parts = [_learn(frame[name], str(name)) for name in frame.columns]
        self._positions = [k for k, part in enumerate(parts) if part is not None]
        self.parts_ = [part for part in parts if part is not None]
        self.names_ = [part.name for part in self.parts_]
        widths = np.array([part.width for part in self.parts_], dtype=np.int64)
        self.groups_: IntArray = np.repeat(np.arange(len(widths)), widths)
        self._columns = list(frame.columns)
        return self

    def transform(self, frame: pd.DataFrame) -> FloatArray:
        """The columns of new rows, which need the columns of the training rows."""
        absent = [str(name) for name in self._columns if name not in frame.columns]
        if absent:
            raise InputError(f"the table lacks columns that the model was fitted on: {absent}.")
        columns = [
            part.encode(frame[self._columns[k]])
            for k, part in zip(self._positions, self.parts_, strict=True)
        ]
        return np.hstack(columns).astype(float) if columns else np.zeros((len(frame), 0))


def _learn(values: pd.Series, name: str) -> Number | Category | None:
    """How to encode one variable; None where it is constant."""
    if not (pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)):
        return _learn_category(values, name)
    x = _numbers(values)
    known = x[~np.isnan(x)]
    if len(known) == 0 or (known == known[0]).all():
        return None
    has_indicator = len(x) - len(known) >= max(RARE, MISSING * len(x))
    if np.isin(known, (0.0, 1.0)).all():
        return Number(name, float(known.mean()), 0.0, 1.0, 1.0, 0.0, 1.0, has_indicator)
    low, high = np.quantile(known, [TAIL, 1 - TAIL])
    ends = float(known.min()), float(known.max())
    middle, unit = float(np.median(known)), float(known.std())
    number = Number(name, middle, low, high, unit, *ends, has_indicator)
    bounded = number.bound(known)
    mean, sd = float(bounded.mean()), float(bounded.std())
    return Number(name, middle, low, high, unit, *ends, has_indicator, mean, sd)


def _learn_category(values: pd.Series, name: str) -> Category | None:
    counts = _labels(values).value_counts()
    frequent = list(counts.index[counts >= RARE][:MOST_LEVELS])
    rare = [level for level in counts.index if level not in set(frequent)]
    levels = {level: j for j, level in enumerate(frequent)} | dict.fromkeys(rare, len(frequent))
    width = len(frequent) + bool(rare)
    if width < 2:
        return None
    shares = np.zeros(width)
    for level, j in levels.items():
        shares[j] += counts[level] / counts.sum()
    return Category(name, levels, shares)


def _numbers(values: pd.Series) -> FloatArray:
    """Numbers as doubles, missing ones NaN; infinite ones are refused."""
    x = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    too_large = np.flatnonzero(np.abs(x) > LARGEST)
    if len(too_large):
        raise InputError(
            f"column {values.name!r} has {len(too_large)} infinite or too large numbers (the first "
            f"in row {too_large[0]}); replace them by missing values or by a bound."
        )
    return x


def _labels(values: pd.Series) -> pd.Series:
    """Levels as strings; missing is a level of its own."""
    return values.astype(object).where(values.notna(), "(missing)").astype(str)
