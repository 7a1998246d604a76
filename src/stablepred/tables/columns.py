"""How one column of a table becomes 0/1 features: learned once, stored, applied to new rows.

A number becomes one feature, whether it lies above its training mean (`Dichotomizer`). A text
becomes one feature per value. Missing values have a feature of their own, so that nothing is
filled in.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.exceptions import InputError
from stablepred.io.save import storable
from stablepred.preprocessing import Dichotomizer
from stablepred.tables.values import (
    NUMBER,
    Texts,
    date_share,
    is_truth,
    numbers,
    texts,
    type_of,
)

Bits = NDArray[np.uint8]

# A text value in a smaller share of the rows is counted together with the others like it.
RARE = 0.01
# Texts that differ in more than this share of the rows name the row, they do not describe it.
ID_SHARE = 0.5
# Fewer distinct values than this are never taken for ids.
ID_LEAST = 20
# Text of which at least this share reads as dates is a column of dates.
DATES = 0.9
# A text column is one of numbers with strays among them if at least this share are numbers, and
# more than this many different ones; else they are codes.
NUMBER_SHARE, NUMBER_LEAST = 0.5, 10
# How the numbers of a column are written.
STYLES = (*NUMBER, "truth")


@dataclass(frozen=True)
class Note:
    """Something about a column that must not be silent."""

    topic: str
    column: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.column} ({self.detail})" if self.detail else self.column


@dataclass(frozen=True)
class Surprise:
    """Values that were not there in training: which kind, in how many rows, and one of them."""

    column: str
    kind: str  # "unseen", "missing" or "stray"
    rows: int
    example: str


@storable
@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: above the cut or not; missing or not."""

    name: str
    style: str  # how text is read: "point", "comma" or "truth"
    cut: float | None  # None where there is one value only, besides missing ones
    tolerance: float
    plain: bool  # values are 0 and 1 already, and the feature is called like the column
    missing: bool  # whether values were missing in training

    @property
    def features(self) -> list[str]:
        """Names of the 0/1 features."""
        if self.cut is None:
            return _missing_name(self)
        above = self.name if self.plain else f"{self.name}>{_short(self.cut)}"
        return [above, *_missing_name(self)]

    def encode(self, column: pd.Series) -> tuple[Bits, list[Surprise]]:
        """The features of new rows, (n, k), and what was not expected in them."""
        found = numbers(column, self.style)
        missing = ~found.finite
        bits = []
        if self.cut is not None:
            bits.append(found.finite & (found.values > self.cut + self.tolerance))
        if self.missing:
            bits.append(missing)
        surprises = []
        if found.strays:
            surprises.append(Surprise(self.name, "stray", found.strays, found.example))
        empty = int(missing.sum()) - found.strays
        if empty and not self.missing:
            surprises.append(Surprise(self.name, "missing", empty, ""))
        return np.column_stack(bits).astype(np.uint8), surprises

    def check_stored(self) -> None:
        """Raise ValueError unless the column can be encoded."""
        if self.style not in STYLES:
            raise ValueError(f"the style of column {self.name!r} must be one of {STYLES}")
        if not np.isfinite([self.cut or 0.0, self.tolerance]).all() or self.tolerance < 0:
            raise ValueError(f"cut and tolerance of column {self.name!r} must be finite")
        if not self.features:
            raise ValueError(f"column {self.name!r} must make a feature")


@storable
@dataclass(frozen=True)
class TextColumn:
    """A column of texts: one feature per value, one for all rare ones, one for missing."""

    name: str
    levels: list[str]
    rare: list[str]  # values counted together, two or more of them, or none
    missing: bool

    @property
    def groups(self) -> list[str]:
        """Names of the features, as many as there are groups of rows."""
        rare = [f"{self.name} is rare"] * bool(self.rare)
        return [f"{self.name}={level}" for level in self.levels] + rare + _missing_name(self)

    @property
    def features(self) -> list[str]:
        """Names of the 0/1 features: of two groups the last one says it all."""
        return self.groups if len(self.groups) > 2 else self.groups[1:]

    def encode(self, column: pd.Series) -> tuple[Bits, list[Surprise]]:
        """The features of new rows, (n, k), and what was not expected in them."""
        found = texts(column)
        none = len(self.groups)  # a group without a feature
        together = len(self.levels) if self.rare else none
        known = {level: k for k, level in enumerate(self.levels)} | dict.fromkeys(
            self.rare, together
        )
        places = [known.get(value, together) for value in found.values]
        missing = self.groups.index(f"{self.name} is missing") if self.missing else none
        group = np.array([*places, missing], dtype=np.intp)[found.codes]
        first = len(self.groups) - len(self.features)
        bits = group[:, None] == np.arange(first, len(self.groups))[None, :]
        return bits.astype(np.uint8), list(self._surprises(found, known))

    def _surprises(self, found: Texts, known: dict[str, int]) -> Iterator[Surprise]:
        unseen = np.array([value not in known for value in found.values], dtype=bool)
        if unseen.any():
            example = found.values[int(np.argmax(unseen))]
            yield Surprise(self.name, "unseen", int(found.counts[unseen].sum()), example)
        if not self.missing and found.missing.any():
            yield Surprise(self.name, "missing", int(found.missing.sum()), "")

    def check_stored(self) -> None:
        """Raise ValueError unless the values are told apart."""
        values = self.levels + self.rare
        if len(set(values)) < len(values) or len(self.rare) == 1 or not self.features:
            raise ValueError(f"the values of column {self.name!r} must be different, two or more")


Column = NumberColumn | TextColumn


def _missing_name(column: NumberColumn | TextColumn) -> list[str]:
    return [f"{column.name} is missing"] * column.missing


def _short(number: float) -> str:
    """A number for a name: six digits, large ones without an exponent."""
    return f"{number:.1f}".removesuffix(".0") if abs(number) >= 1e5 else f"{number:g}"


# --- learning ---


def learn_column(column: pd.Series) -> tuple[Column | None, list[Note]]:
    """How to encode a column, or None where it is left out; and what to say about it."""
    kind = type_of(column)
    if kind == "date":
        present = column.dropna()
        if present.empty:
            return None, [_constant(str(column.name), "")]
        raise _dates(column, str(present.iloc[0]))
    if kind in ("number", "truth"):
        return _learn_numbers(column, "truth" if kind == "truth" else "point")
    categorical = isinstance(column.dtype, pd.CategoricalDtype)
    style = "" if categorical else number_style(column)
    if style:
        return _learn_numbers(column, style)
    found = texts(column)
    if is_truth(found):
        return _learn_numbers(column, "truth")
    if date_share(found) >= DATES:
        raise _dates(column, found.values[0])
    return _learn_texts(str(column.name), found)


def _dates(column: pd.Series, example: str) -> InputError:
    return InputError(
        f"column {column.name!r} holds dates or times (e.g. {shortened(example)!r}), which say "
        "nothing about rows of another time. Derive what matters from it (year, month, age in "
        f"days) as a column of its own, and leave it out: --drop {column.name}, in Python "
        f"drop=[{column.name!r}]."
    )


def number_style(column: pd.Series) -> str:
    """How the texts are written as numbers, nothing if they are not."""
    style, found = "point", numbers(column, "point")
    if found.strays:
        with_comma = numbers(column, "comma")
        if with_comma.strays < found.strays:
            style, found = "comma", with_comma
    values = found.values[found.finite]
    words = found.strays - int(np.isinf(found.values).sum())
    if not len(values):
        return ""
    if not words:
        return style
    many = len(np.unique(values)) > NUMBER_LEAST
    return style if many and len(values) >= NUMBER_SHARE * (len(values) + words) else ""


def _learn_numbers(column: pd.Series, style: str) -> tuple[Column | None, list[Note]]:
    name = str(column.name)
    found = numbers(column, style)
    missing = ~found.finite
    values = found.values[found.finite]
    distinct = np.unique(values)
    if len(distinct) == 0 or (len(distinct) == 1 and not missing.any()):
        return None, [_constant(name, f"{distinct[0]:g}" if len(distinct) else "")]
    notes = []
    if style == "comma":
        notes.append(Note("comma", name))
    if found.strays:
        example = shortened(found.example)
        notes.append(Note("stray", name, f"{in_rows(found.strays)}, e.g. {example!r}"))
    if missing.any():
        notes.append(Note("missing", name, in_rows(int(missing.sum()))))
    if len(distinct) == len(values) >= ID_LEAST and bool((distinct % 1 == 0).all()):
        notes.append(Note("numeric id", name, f"{len(values):,} different whole numbers"))
    if len(distinct) == 1:
        return NumberColumn(name, style, None, 0.0, False, True), notes
    cutter = Dichotomizer().fit(values[:, None])
    cut, tolerance = float(cutter.thresholds_[0]), float(cutter.tolerances_[0])
    plain = np.array_equal(distinct, [0.0, 1.0])
    return NumberColumn(name, style, cut, tolerance, plain, bool(missing.any())), notes


def _learn_texts(name: str, found: Texts) -> tuple[Column | None, list[Note]]:
    counts, missing = found.counts, bool(found.missing.any())
    rows, size = int(counts.sum()), len(found.values)
    if size == 0 or (size == 1 and not missing):
        return None, [_constant(name, found.values[0] if size else "")]
    few = counts < RARE * len(found.codes)
    if few.sum() < 2:
        few[:] = False
    if size >= ID_LEAST and (size > ID_SHARE * rows or few.all()):
        return None, [Note("text id", name, f"{size:,} different texts in {in_rows(rows)}")]
    levels = [value for value, seldom in zip(found.values, few, strict=True) if not seldom]
    rare = [value for value, seldom in zip(found.values, few, strict=True) if seldom]
    notes = []
    if rare:
        notes.append(Note("rare", name, f"{len(rare):,} of {size:,} values"))
    if missing:
        notes.append(Note("missing", name, in_rows(int(found.missing.sum()))))
    return TextColumn(name, levels, rare, missing), notes


def _constant(name: str, value: str) -> Note:
    return Note("constant", name, f"always {shortened(value)!r}" if value else "empty")


def in_rows(rows: int) -> str:
    """How many rows, in words."""
    return f"{rows:,} row" if rows == 1 else f"{rows:,} rows"


def shortened(text: str, most: int = 30) -> str:
    """A text for a message."""
    return text if len(text) <= most else text[: most - 3] + "..."
