"""Numbers kept as numbers: standardised, and bounded by what the training rows had."""

from dataclasses import astuple, dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.exceptions import InputError
from stablepred.io.save import storable
from stablepred.tables.messages import Note, in_rows
from stablepred.tables.types import FloatArray, read_numbers

TAIL = 0.01  # share of the training rows on each side that is not the bulk
LARGEST = 1e100  # squares of larger numbers leave the range of doubles


@storable
@dataclass(frozen=True)
class ScaledColumn:
    """A column of numbers that stay numbers: missing ones are the mean, far ones drawn in.

    Values are clipped to the range of training, [least, most]. Beyond its bulk, [low, high], they
    grow like a logarithm: low - unit log(1 + (low - x) / unit), and the same above. What comes of
    this is standardised, so that a missing value is zero. Columns of 0 and 1 stay as they are, with
    the share of ones where a value is missing.
    """

    name: str
    style: str  # how text is read
    missing: bool  # whether there is a feature for missing values
    least: float
    most: float
    low: float
    high: float
    unit: float
    mean: float = 0.0
    sd: float = 1.0
    binary: bool = False
    imputed: bool = False  # whether values were missing in training, too few for a feature

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [self.name, f"{self.name} is missing"] if self.missing else [self.name]

    def encode(self, column: pd.Series) -> tuple[list[NDArray[np.generic]], list[Note]]:
        """The features of new rows, and what was not expected in them."""
        found = read_numbers(column, self.style)
        check_size(found.values, self.name)
        missing = ~found.finite
        x = np.where(missing, self.least, found.values)
        notes = []
        if strays := int(found.strays.sum()):
            notes.append(Note("stray", self.name, rows=strays, example=found.example))
        empty = int(missing.sum()) - strays
        if empty and not (self.missing or self.imputed):
            notes.append(Note("imputed", self.name, rows=empty))
        if self.binary:
            odd, topic = (x != 0) & (x != 1), "not 0/1"
        else:
            width = self.most - self.least
            odd, topic = (x > self.most + width) | (x < self.least - width), "outside"
        if odd.any():
            example = f"{x[int(np.argmax(odd))]:g}"
            notes.append(Note(topic, self.name, rows=int(odd.sum()), example=example))
        if self.binary:
            x = (x > 0.5).astype(np.float64)
            x[missing] = self.mean
        else:
            x = (self.bound(x) - self.mean) / self.sd
            x[missing] = 0.0
        return [x, missing] if self.missing else [x], notes

    def bound(self, x: FloatArray) -> FloatArray:
        """Within the training range, and drawn in beyond its bulk."""
        bounded = np.clip(x, self.low, self.high)
        far = np.flatnonzero(bounded != x)
        beyond = np.clip(x[far], self.least, self.most) - bounded[far]
        bounded[far] += np.sign(beyond) * self.unit * np.log1p(np.abs(beyond) / self.unit)
        return bounded

    def check_stored(self) -> None:
        """Raise ValueError unless new values can be encoded."""
        numbers = [value for value in astuple(self) if isinstance(value, float)]
        ordered = self.least <= self.low <= self.high <= self.most and self.least < self.most
        if not np.isfinite(numbers).all() or np.abs(numbers).max() > LARGEST or not ordered:
            raise ValueError(f"the range of column {self.name!r} must be finite and in order")
        if not (self.unit > 0 and self.sd > 0):
            raise ValueError(f"column {self.name!r} must have units above zero")


def learn_scaled(
    name: str, style: str, values: FloatArray, share: FloatArray, missing: bool, imputed: bool
) -> ScaledColumn:
    """Learn how to encode numbers from two or more distinct values and their shares of the rows."""
    least, most = float(values[0]), float(values[-1])
    low, high = (_quantile(values, share, q) for q in (TAIL, 1 - TAIL))
    if least == 0 and most == 1 and len(values) == 2:
        ones = float(share[1])
        return ScaledColumn(name, style, missing, 0, 1, 0, 1, 1, ones, 1, True, imputed)
    unit = moments(values, share)[1]
    column = ScaledColumn(name, style, missing, least, most, low, high, unit)
    mean, sd = moments(column.bound(values), share)
    return replace(column, mean=mean, sd=sd, imputed=imputed)


def distinct_values(values: FloatArray, count: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The different numbers, sorted, and the share of the rows with each; NaN is left out.

    What is computed from them depends neither on the order of the rows nor on whether a row is
    there twice or counts twice.
    """
    known = ~np.isnan(values)
    values, count = values[known] + 0.0, count[known]  # no negative zero
    if (count == 1).all():
        found, rows = np.unique(values, return_counts=True)
        return found, rows / max(1, len(values))
    found, index = np.unique(values, return_inverse=True)
    rows = np.bincount(index, count, minlength=len(found))
    return found, rows / rows.sum()


def _quantile(values: FloatArray, share: FloatArray, q: float) -> float:
    """The smallest value that at least a share q of the rows do not exceed."""
    return float(values[np.argmax(np.cumsum(share) >= q - 1e-9)])


def moments(values: FloatArray, share: FloatArray) -> tuple[float, float]:
    """Mean, and standard deviation or the smallest number above zero."""
    mean = float((share * values).sum())
    far = float(np.abs(values - mean).max())  # squares of tiny numbers are zero
    sd = far * float(np.sqrt((share * ((values - mean) / (far or 1.0)) ** 2).sum()))
    return mean, max(sd, float(np.finfo(np.float64).tiny))


def check_size(values: FloatArray, name: str) -> None:
    """Refuse infinite numbers, and those whose squares would be."""
    large = np.abs(values) > LARGEST
    if large.any():
        row = int(np.argmax(large))
        raise InputError(
            f"column {name!r} has infinite or too large numbers in {in_rows(int(large.sum()))} "
            f"(the first is {values[row]:g} in data row {row + 1}). Replace them by a bound, or "
            "by missing values."
        )
