"""How one column of a table becomes 0/1 features: learned once, stored, applied to new rows."""

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
    BOOLEANS,
    LEADING_ZERO,
    NUMBER,
    Categories,
    Numbers,
    check_new_numbers,
    check_style,
    date_share,
    find_style,
    kind_of,
    match,
    to_categories,
    to_numbers,
    to_text,
)

Bits = NDArray[np.bool_]

# A text value in a smaller share of the rows is counted together with the others like it.
RARE = 0.01
# Text that differs in more than this share of the rows, in this many values or more, is an id.
ID_SHARE, ID_LEAST = 0.5, 20
# Text of which at least this share reads as dates is a column of dates.
DATES = 0.9
# A text column is one of numbers with strays among them if at least this share are numbers, and
# more than this many different ones; else they are codes.
NUMBER_SHARE, NUMBER_LEAST = 0.5, 10
# How the numbers of a column are written.
STYLES = ("integer", *NUMBER, "boolean")


@dataclass(frozen=True)
class Note:
    """Something about a column that must not be silent, in how many rows, and one example."""

    topic: str
    column: str
    detail: str = ""
    rows: int = 0
    example: str = ""

    def __str__(self) -> str:
        parts = [self.detail, in_rows(self.rows) if self.rows else ""]
        parts.append(f"e.g. {shorten(self.example)!r}" if self.example else "")
        detail = ", ".join(filter(None, parts))
        return f"{self.column} ({detail})" if detail else self.column


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
        missing = [f"{self.name} is missing"] * self.missing
        if self.cut is None:
            return missing
        # Six digits, and large numbers without an exponent.
        cut = f"{self.cut:.1f}".removesuffix(".0") if abs(self.cut) >= 1e5 else f"{self.cut:g}"
        return [self.name if self.plain else f"{self.name}>{cut}", *missing]

    def encode(self, column: pd.Series) -> tuple[list[Bits], list[Note]]:
        """The features of new rows, and what was not expected in them."""
        text = to_text(column) if _check_kind(column) == "text" else None
        if text is not None:
            check_new_numbers(text, self.style, self.name)
        found = to_numbers(column, self.style, text)
        missing, strays = ~found.finite, int(found.strays.sum())
        bits, notes = [], []
        if self.cut is not None:
            slack = 0.0  # halfway between two values
            if self.tolerance > 0:  # a value of few digits may differ in the last
                slack = max(self.tolerance, found.precision * abs(self.cut))
            bits.append(found.finite & (found.values > self.cut + slack))
        if self.missing:
            bits.append(missing)
        if strays:
            notes.append(Note("stray", self.name, rows=strays, example=found.example))
        empty = int(missing.sum()) - strays
        if empty and not self.missing:
            notes.append(Note("new missing", self.name, rows=empty))
        odd = found.finite & (found.values != 0) & (found.values != 1)
        if self.plain and odd.any():
            example = f"{found.values[int(np.argmax(odd))]:g}"
            notes.append(Note("not 0/1", self.name, rows=int(odd.sum()), example=example))
        return bits, notes

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
        others = ["rare"] * bool(self.rare) + ["missing"] * self.missing
        return [f"{self.name}={v}" for v in self.levels] + [f"{self.name} is {v}" for v in others]

    @property
    def features(self) -> list[str]:
        """Names of the 0/1 features: of two groups the last one says it all."""
        return self.groups if len(self.groups) > 2 else self.groups[1:]

    def encode(self, column: pd.Series) -> tuple[list[Bits], list[Note]]:
        """The features of new rows, and what was not expected in them."""
        _check_kind(column)
        found = to_categories(column)
        none = len(self.groups)  # a group without a feature
        together = len(self.levels) if self.rare else none
        known = {level: k for k, level in enumerate(self.levels)}
        known |= dict.fromkeys(self.rare, together)
        missing = none - 1 if self.missing else none
        group = [*(known.get(value, together) for value in found.values), missing]
        of_row = np.array(group, dtype=np.intp)[found.codes]
        bits = [of_row == k for k in range(none - len(self.features), none)]
        notes = []
        unseen = np.array([value not in known for value in found.values], dtype=bool)
        if unseen.any():
            example = found.values[int(np.argmax(unseen))]
            rows = int(found.counts[unseen].sum())
            notes.append(Note("unseen", self.name, rows=rows, example=example))
        if not self.missing and found.missing.any():
            notes.append(Note("new missing", self.name, rows=int(found.missing.sum())))
        return bits, notes

    def check_stored(self) -> None:
        """Raise ValueError unless the values are told apart."""
        values = self.levels + self.rare
        if len(set(values)) < len(values) or len(self.rare) == 1 or not self.features:
            raise ValueError(f"the values of column {self.name!r} must be different, two or more")


Column = NumberColumn | TextColumn
Learned = tuple[Column | None, list[Note]]


# --- learning ---


def learn_column(column: pd.Series) -> Learned:
    """How to encode a column, or None where it is left out; and what must not be silent."""
    name, kind = str(column.name), _check_kind(column)
    if kind == "date":  # all missing
        return None, [_constant(name)]
    if kind != "text":
        style = "boolean" if kind == "boolean" else "point"
        return _learn_numbers(name, style, to_numbers(column, style))
    text = to_text(column)
    # A word that is taken for a missing value is told.
    words = column[np.asarray(text.is_null()) & column.notna().to_numpy()].unique()
    word = next(filter(None, (str(value).strip() for value in words)), "")
    if not isinstance(column.dtype, pd.CategoricalDtype):
        style, numbers, notes = number_style(column, text)
        if style:
            learned, more = _learn_numbers(name, style, numbers, word)
            return learned, notes + more
    found = to_categories(text)
    if found.values and {value.lower() for value in found.values} <= BOOLEANS.keys():
        return _learn_numbers(name, "boolean", to_numbers(column, "boolean", text), word)
    if date_share(found) >= DATES:
        raise _date_error(name, found.values[0])
    return _learn_text(name, found, word)


def _check_kind(column: pd.Series) -> str:
    kind = kind_of(column)
    if kind == "date" and column.notna().any():
        raise _date_error(str(column.name), str(column.dropna().iloc[0]))
    return kind


def _date_error(name: str, example: str) -> InputError:
    return InputError(
        f"column {name!r} holds dates or times (e.g. {shorten(example)!r}), which say "
        "nothing about rows of another time. Derive what matters from it (year, month, age in "
        f"days) as a column of its own, and leave it out: drop=[{name!r}]."
    )


def number_style(column: pd.Series, text: Any) -> tuple[str, Numbers, list[Note]]:
    """How strings are written as numbers, empty if they are not; the numbers; what is assumed."""
    name, style = str(column.name), find_style(text)
    found = to_numbers(column, style, text)
    values = found.values[found.finite]
    words = int(found.strays.sum() - np.isinf(found.values).sum())
    few = words and len(values) < NUMBER_SHARE * (len(values) + words)
    if not len(values) or few or (words and len(np.unique(values)) <= NUMBER_LEAST):
        return "", found, []
    assumed = check_style(text, style, name)
    notes = [Note("decimals", name, assumed)] if assumed else []
    if style == "comma":
        notes.append(Note("comma", name))
    if style not in ("integer", "point", "comma"):
        notes.append(Note("thousands", name, style))
    zeros = match(text, LEADING_ZERO)
    if zeros.any():
        notes.append(Note("zeros", name, example=text[int(np.argmax(zeros))].as_py()))
    return style, found, notes


def _learn_numbers(name: str, style: str, found: Numbers, word: str = "") -> Learned:
    missing, strays = int((~found.finite).sum()), int(found.strays.sum())
    values = found.values[found.finite]
    distinct = np.unique(values)
    if len(distinct) + (missing > 0) < 2 or not len(distinct):
        return None, [_constant(name, f"{distinct[0]:g}" if len(distinct) else "")]
    notes = []
    if strays:
        notes.append(Note("stray", name, rows=strays, example=found.example))
    if missing:
        notes.append(Note("missing", name, rows=missing, example=word))
    if len(distinct) == len(values) >= ID_LEAST and bool((distinct % 1 == 0).all()):
        notes.append(Note("numeric id", name, f"{len(values):,} different integers"))
    if len(distinct) == 1:
        return NumberColumn(name, style, None, 0.0, False, True), notes
    if np.array_equal(distinct, [0.0, 1.0]):
        return NumberColumn(name, style, 0.5, 0.0, True, missing > 0), notes
    cutter = Dichotomizer().fit(values[:, None])
    cut, tolerance = float(cutter.thresholds_[0]), float(cutter.tolerances_[0])
    if len(distinct) > 2:
        tolerance = max(tolerance, found.precision * float(np.abs(distinct).max()))
    return NumberColumn(name, style, cut, tolerance, False, missing > 0), notes


def _learn_text(name: str, found: Categories, word: str) -> Learned:
    counts, missing = found.counts, int(found.missing.sum())
    rows, size = int(counts.sum()), len(found.values)
    if size + (missing > 0) < 2 or not size:
        return None, [_constant(name, found.values[0] if size else "")]
    few = counts < RARE * len(found.codes)
    if few.sum() < 2:
        few[:] = False
    if size >= ID_LEAST and (size > ID_SHARE * rows or few.all()):
        return None, [Note("text id", name, f"{size:,} different values in {in_rows(rows)}")]
    values = np.array(found.values, dtype=object)
    levels, rare = values[~few].tolist(), values[few].tolist()
    notes = [Note("rare", name, f"{len(rare):,} of {size:,} values")] if rare else []
    if missing:
        notes.append(Note("missing", name, rows=missing, example=word))
    return TextColumn(name, levels, rare, missing > 0), notes


def _constant(name: str, value: str = "") -> Note:
    return Note("constant", name, f"always {shorten(value)!r}" if value else "empty")
