"""How one column of a table becomes 0/1 features: learned once, stored, applied to new rows.

A number becomes one feature, whether it lies above its training mean (`Dichotomizer`). A string
becomes one feature per value. Missing values have a feature of their own, so that nothing is
filled in.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.exceptions import InputError
from stablepred.io.save import storable
from stablepred.preprocessing import Dichotomizer
from stablepred.tables.messages import in_rows, shorten
from stablepred.tables.types import (
    LEADING_ZERO,
    NUMBER,
    Categories,
    check_new_numbers,
    check_style,
    date_share,
    find_style,
    is_boolean,
    kind_of,
    match,
    to_categories,
    to_numbers,
    to_text,
)

Bits = NDArray[np.bool_]

# A text value in a smaller share of the rows is counted together with the others like it.
RARE = 0.01
# Text that differs in more than this share of the rows names the row, it does not describe it.
ID_SHARE = 0.5
# Fewer distinct values than this are never taken for ids.
ID_LEAST = 20
# Text of which at least this share reads as dates is a column of dates.
DATES = 0.9
# A text column is one of numbers with strays among them if at least this share are numbers, and
# more than this many different ones; else they are codes.
NUMBER_SHARE, NUMBER_LEAST = 0.5, 10
# How the numbers of a column are written.
STYLES = ("integer", *NUMBER, "boolean")


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
    kind: str  # "unseen", "missing", "stray" or "not 0/1"
    rows: int
    example: str


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

    def __post_init__(self) -> None:
        if self.style == "truth":  # as older files have it
            object.__setattr__(self, "style", "boolean")

    @property
    def features(self) -> list[str]:
        """Names of the 0/1 features."""
        if self.cut is None:
            return _missing_name(self)
        above = self.name if self.plain else f"{self.name}>{_format_cut(self.cut)}"
        return [above, *_missing_name(self)]

    def encode(self, column: pd.Series) -> tuple[list[Bits], list[Surprise]]:
        """The features of new rows, and what was not expected in them."""
        if self.plain and not self.missing and column.dtype == bool:
            return [column.to_numpy()], []
        kind = kind_of(column)
        _check_not_date(column, kind)
        text = to_text(column) if kind == "text" else None
        if text is not None:
            check_new_numbers(text, self.style, self.name)
        found = to_numbers(column, self.style, text)
        missing, strays = ~found.finite, int(found.strays.sum())
        bits, surprises = [], []
        if self.cut is not None:
            bits.append(found.finite & (found.values > self.cut + self._slack(found.precision)))
        if self.missing:
            bits.append(missing)
        if strays:
            surprises.append(Surprise(self.name, "stray", strays, found.example))
        empty = int(missing.sum()) - strays
        if empty and not self.missing:
            surprises.append(Surprise(self.name, "missing", empty, ""))
        odd = found.finite & (found.values != 0) & (found.values != 1) if self.plain else missing
        if self.plain and odd.any():
            example = f"{found.values[int(np.argmax(odd))]:g}"
            surprises.append(Surprise(self.name, "not 0/1", int(odd.sum()), example))
        return bits, surprises

    def _slack(self, precision: float) -> float:
        """By how much a value must lie above the cut; one of few digits may differ in the last."""
        if self.tolerance == 0 or self.cut is None:
            return 0.0  # halfway between two values
        return max(self.tolerance, precision * abs(self.cut))

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
    """A column of text: one feature per value, one for all rare ones, one for missing."""

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

    def encode(self, column: pd.Series) -> tuple[list[Bits], list[Surprise]]:
        """The features of new rows, and what was not expected in them."""
        _check_not_date(column, kind_of(column))
        found = to_categories(column)
        none = len(self.groups)  # a group without a feature
        together = len(self.levels) if self.rare else none
        known = {level: k for k, level in enumerate(self.levels)}
        known |= dict.fromkeys(self.rare, together)
        missing = none - 1 if self.missing else none
        group = [*(known.get(value, together) for value in found.values), missing]
        of_row = np.array(group, dtype=np.intp)[found.codes]
        first = none - len(self.features)
        return [of_row == k for k in range(first, none)], list(self._surprises(found, known))

    def _surprises(self, found: Categories, known: dict[str, int]) -> Iterator[Surprise]:
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


def _format_cut(number: float) -> str:
    """A number for a name: six digits, large ones without an exponent."""
    return f"{number:.1f}".removesuffix(".0") if abs(number) >= 1e5 else f"{number:g}"


# --- learning ---


def learn_column(column: pd.Series) -> tuple[Column | None, list[Note]]:
    """How to encode a column, or None where it is left out; and what must not be silent."""
    kind = kind_of(column)
    name = str(column.name)
    if kind == "date":
        _check_not_date(column, kind)
        return None, [_constant(name, "")]
    if kind != "text":
        return _learn_numbers(column, "boolean" if kind == "boolean" else "point")
    text = to_text(column)
    words = _missing_word(column, text)
    style, notes = "", list[Note]()
    if not isinstance(column.dtype, pd.CategoricalDtype):
        style, notes = number_style(column, text)
    if style:
        learned, more = _learn_numbers(column, style, text, words)
        return learned, notes + more
    found = to_categories(text)
    if is_boolean(found):
        return _learn_numbers(column, "boolean", text, words)
    if date_share(found) >= DATES:
        raise _date_error(name, found.values[0])
    return _learn_text(name, found, words)


def _missing_word(column: pd.Series, text: Any) -> str:
    """An example of a word that is taken for a missing value, for the notes."""
    rows = np.flatnonzero(np.asarray(text.is_null()) & column.notna().to_numpy())
    words = (str(value).strip() for value in column.iloc[rows].unique())
    word = next(filter(None, words), "")
    return f", e.g. {word!r}" if word else ""


def _check_not_date(column: pd.Series, kind: str) -> None:
    if kind == "date" and column.notna().any():
        raise _date_error(str(column.name), str(column.dropna().iloc[0]))


def _date_error(name: str, example: str) -> InputError:
    return InputError(
        f"column {name!r} holds dates or times (e.g. {shorten(example)!r}), which say "
        "nothing about rows of another time. Derive what matters from it (year, month, age in "
        f"days) as a column of its own, and leave it out: drop=[{name!r}]."
    )


def number_style(column: pd.Series, text: Any) -> tuple[str, list[Note]]:
    """How the strings are written as numbers, nothing if they are not; and what is assumed."""
    name, style = str(column.name), find_style(text)
    found = to_numbers(column, style, text)
    values = found.values[found.finite]
    words = int(found.strays.sum() - np.isinf(found.values).sum())
    if not len(values):
        return "", []
    many = len(np.unique(values)) > NUMBER_LEAST
    if words and not (many and len(values) >= NUMBER_SHARE * (len(values) + words)):
        return "", []
    assumed = check_style(text, style, name)
    notes = [Note("decimals", name, assumed)] if assumed else []
    if style == "comma":
        notes.append(Note("comma", name))
    if style not in ("integer", "point", "comma"):
        notes.append(Note("thousands", name, style))
    zeros = match(text, LEADING_ZERO)
    if zeros.any():
        notes.append(Note("zeros", name, f"e.g. {text[int(np.argmax(zeros))].as_py()!r}"))
    return style, notes


def _learn_numbers(
    column: pd.Series, style: str, text: Any = None, words: str = ""
) -> tuple[Column | None, list[Note]]:
    name = str(column.name)
    found = to_numbers(column, style, text)
    missing, strays = ~found.finite, int(found.strays.sum())
    values = found.values[found.finite]
    distinct = np.unique(values)
    if len(distinct) == 0 or (len(distinct) == 1 and not missing.any()):
        return None, [_constant(name, f"{distinct[0]:g}" if len(distinct) else "")]
    notes = []
    if strays:
        notes.append(Note("stray", name, f"{in_rows(strays)}, e.g. {shorten(found.example)!r}"))
    if missing.any():
        notes.append(Note("missing", name, in_rows(int(missing.sum())) + words))
    if len(distinct) == len(values) >= ID_LEAST and bool((distinct % 1 == 0).all()):
        notes.append(Note("numeric id", name, f"{len(values):,} different integers"))
    if len(distinct) == 1:
        return NumberColumn(name, style, None, 0.0, False, True), notes
    if np.array_equal(distinct, [0.0, 1.0]):
        return NumberColumn(name, style, 0.5, 0.0, True, bool(missing.any())), notes
    cutter = Dichotomizer().fit(values[:, None])
    cut, tolerance = float(cutter.thresholds_[0]), float(cutter.tolerances_[0])
    if len(distinct) > 2:
        tolerance = max(tolerance, found.precision * float(np.abs(distinct).max()))
    return NumberColumn(name, style, cut, tolerance, False, bool(missing.any())), notes


def _learn_text(name: str, found: Categories, words: str) -> tuple[Column | None, list[Note]]:
    counts, missing = found.counts, bool(found.missing.any())
    rows, size = int(counts.sum()), len(found.values)
    if size == 0 or (size == 1 and not missing):
        return None, [_constant(name, found.values[0] if size else "")]
    few = counts < RARE * len(found.codes)
    if few.sum() < 2:
        few[:] = False
    if size >= ID_LEAST and (size > ID_SHARE * rows or few.all()):
        return None, [Note("text id", name, f"{size:,} different values in {in_rows(rows)}")]
    levels = [value for value, seldom in zip(found.values, few, strict=True) if not seldom]
    rare = [value for value, seldom in zip(found.values, few, strict=True) if seldom]
    notes = []
    if rare:
        notes.append(Note("rare", name, f"{len(rare):,} of {size:,} values"))
    if missing:
        notes.append(Note("missing", name, in_rows(int(found.missing.sum())) + words))
    return TextColumn(name, levels, rare, missing), notes


def _constant(name: str, value: str) -> Note:
    return Note("constant", name, f"always {shorten(value)!r}" if value else "empty")
