"""How one column of a table becomes features: stored, and applied to new rows."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._text import count_noun
from stablepred.exceptions import InputError
from stablepred.io.save import storable
from stablepred.tables import types
from stablepred.tables.messages import Note, note_rows
from stablepred.tables.types import NUMBER, FloatArray, Mask, Numbers

Features = Iterable[NDArray[Any]]

# How the numbers of a column are written.
STYLES = ("integer", *NUMBER, "boolean")
LARGEST = 1e100  # squares of larger numbers leave the range of doubles


@storable
@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: above the cut or not; missing or not."""

    name: str
    style: str  # how text is read
    cut: float | None  # None where there is one value only, besides missing ones
    tolerance: float
    plain: bool  # values are 0 and 1 already, and the feature is named like the column
    missing: bool  # whether values were missing in training

    @property
    def features(self) -> list[str]:
        missing = [f"{self.name} is missing"] * self.missing
        if self.cut is None:
            return missing
        # Six digits, and large numbers without an exponent.
        cut = f"{self.cut:.1f}".removesuffix(".0") if abs(self.cut) >= 1e5 else f"{self.cut:g}"
        return [self.name if self.plain else f"{self.name}>{cut}", *missing]

    def encode(self, column: pd.Series) -> tuple[Features, list[Note]]:
        found, notes = _read_new(self, column, "new missing")
        bits = []
        if self.cut is not None:
            slack = 0.0  # halfway between two values
            if self.tolerance > 0:  # a value of few digits may differ in the last
                slack = max(self.tolerance, found.precision * abs(self.cut))
            bits.append(found.finite & (found.values > self.cut + slack))
        if self.missing:
            bits.append(~found.finite)
        if self.plain:
            odd = found.finite & (found.values != 0) & (found.values != 1)
            notes += _note_odd("not 0/1", self.name, odd, found.values)
        return bits, notes

    def check_stored(self) -> None:
        if self.style not in STYLES:
            raise ValueError(f"the style of column {self.name!r} must be one of {STYLES}")
        if not np.isfinite([self.cut or 0.0, self.tolerance]).all() or self.tolerance < 0:
            raise ValueError(f"cut and tolerance of column {self.name!r} must be finite")
        if not self.features:
            raise ValueError(f"column {self.name!r} must make a feature")


@storable
@dataclass(frozen=True)
class ScaledColumn:
    """A column of numbers that stay numbers: missing ones are the mean, far ones drawn in.

    Beyond [low, high] values grow like a logarithm, low - unit log(1 + (low - x) / unit) and the
    same above; beyond [least, most] they do not grow at all. What comes of this is standardised, so
    that a missing value is zero. Columns of 0 and 1 stay as they are, with the share of ones where
    a value is missing.
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

    def encode(self, column: pd.Series) -> tuple[Features, list[Note]]:
        """The features of new rows, and what was not expected in them."""
        found, notes = _read_new(self, column, "imputed")
        check_size(found.values, self.name)
        missing = ~found.finite
        x = np.where(missing, 0.0 if self.binary else self.mean, found.values)
        if self.binary:
            notes += _note_odd("not 0/1", self.name, (x != 0) & (x != 1), x)
            x = np.where(missing, self.mean, x > 0.5)
        else:
            ends = (self.least, self.most) if self.most < LARGEST else (self.low, self.high)
            width = ends[1] - ends[0]
            odd = (x > ends[1] + width) | (x < ends[0] - width)
            notes += _note_odd("outside", self.name, odd, x)
            x = (self.bound(x) - self.mean) / self.sd
            x[missing] = 0.0
        return [x, missing] if self.missing else [x], notes

    def bound(self, x: FloatArray) -> FloatArray:
        """Drawn in where they are far."""
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


@storable
@dataclass(frozen=True)
class TextColumn:
    """A column of text: one feature per value, one for all rare ones, one for missing."""

    name: str
    levels: list[str]
    rare: list[str]  # values counted together, two or more of them, or none
    missing: bool
    # Of the groups of training rows: what a row of no group is taken for. Without them it is taken
    # as rare or as none of the groups.
    shares: list[float] = field(default_factory=list)
    imputed: bool = False  # whether values were missing in training, too few for a feature

    @property
    def groups(self) -> list[str]:
        """Names of the features, as many as there are groups of rows."""
        others = ["rare"] * bool(self.rare) + ["missing"] * self.missing
        return [f"{self.name}={v}" for v in self.levels] + [f"{self.name} is {v}" for v in others]

    @property
    def features(self) -> list[str]:
        """Names of the features: of two groups the last one says it all."""
        return self.groups if len(self.groups) > 2 else self.groups[1:]

    def encode(self, column: pd.Series) -> tuple[Features, list[Note]]:
        found = types.read_text(column)
        none, together = len(self.groups), len(self.levels)
        known = {level: k for k, level in enumerate(self.levels)}
        known |= dict.fromkeys(self.rare, together)
        unseen = together if self.rare and not self.shares else none
        missing = none - 1 if self.missing else none
        group = [*(known.get(value, unseen) for value in found.values), missing]
        of_row = np.array(group, dtype=np.intp)[found.codes]
        table = np.vstack([np.eye(none), self.shares or np.zeros(none)])
        new = np.array([*(value not in known for value in found.values), False], dtype=bool)
        new, suffix = new[found.codes], " average" * bool(self.shares)
        notes = note_rows(f"unseen{suffix}", self.name, new, found.first(new))
        if not (self.missing or self.imputed):
            notes += note_rows(f"new missing{suffix}", self.name, found.missing)
        return (table[of_row, k] for k in range(none - len(self.features), none)), notes

    def check_stored(self) -> None:
        values, size = self.levels + self.rare, len(self.groups)
        if len(set(values)) < len(values) or len(self.rare) == 1 or not self.features:
            raise ValueError(f"the values of column {self.name!r} must be different, two or more")
        right = len(self.shares) == size and min(self.shares, default=0) >= 0
        if self.shares and not (right and abs(sum(self.shares) - 1) < 1e-6):
            raise ValueError(f"column {self.name!r} must have {size} shares that add up to 1")


def _read_new(
    part: NumberColumn | ScaledColumn, column: pd.Series, topic: str
) -> tuple[Numbers, list[Note]]:
    """New numbers, and notes on those that are none and on missing ones where none were before."""
    found = types.read_numbers(column, part.style)
    notes = note_rows("stray", part.name, found.strays, found.example)
    if not (part.missing or getattr(part, "imputed", False)):
        notes += note_rows(topic, part.name, ~found.finite & ~found.strays)
    return found, notes


def _note_odd(topic: str, name: str, odd: Mask, values: FloatArray) -> list[Note]:
    return note_rows(topic, name, odd, f"{values[int(np.argmax(odd))]:g}" if odd.any() else "")


def check_size(values: FloatArray, name: str) -> None:
    """Refuse infinite numbers, and those whose squares would be."""
    large = np.abs(values) > LARGEST
    if large.any():
        row = int(np.argmax(large))
        raise InputError(
            f"column {name!r} has infinite or too large numbers in "
            f"{count_noun(int(large.sum()), 'row')} (the first is {values[row]:g} in data row "
            f"{row + 1}). Replace them by a bound, or by missing values."
        )


Column = NumberColumn | ScaledColumn | TextColumn


def typed(part: Column, column: pd.Series) -> Any:
    """New values as they were read in training: numbers as floats, text as categories."""
    if isinstance(part, TextColumn):
        text = types.read_text(column)
        return pd.Categorical.from_codes(text.codes, pd.Index(text.values, dtype=object))
    found = types.read_numbers(column, part.style)
    check_size(found.values, part.name)
    return found.known
