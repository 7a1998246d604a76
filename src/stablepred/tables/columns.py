"""How one column of a table becomes features: learned once, stored, applied to new rows."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.io.save import storable
from stablepred.preprocessing import Dichotomizer
from stablepred.tables.messages import Note, in_rows, shorten
from stablepred.tables.scaled import ScaledColumn, check_size, distinct_values, learn_scaled
from stablepred.tables.types import (
    BOOLEANS,
    LEADING_ZERO,
    NUMBER,
    Categories,
    FloatArray,
    Numbers,
    check_kind,
    check_style,
    date_error,
    date_share,
    find_style,
    match,
    read_numbers,
    to_categories,
    to_numbers,
    to_text,
)

Features = Iterable[NDArray[Any]]

# A text value in a smaller share of the rows is counted together with the others like it where
# numbers are cut; else one in fewer rows, and all but the most frequent ones.
RARE = 0.01
FEW, MOST_LEVELS = 10, 30
# Missing values in so many rows, and in this share of them, have a feature of their own.
MISSING = 0.1
# Text that differs in more than this share of the rows, in this many values or more, is an id.
ID_SHARE, ID_LEAST = 0.5, 20
# Text of which at least this share reads as dates is a column of dates.
DATES = 0.9
# A text column is one of numbers with strays among them if at least this share are numbers, and
# more than this many different ones; else they are codes.
NUMBER_SHARE, NUMBER_LEAST = 0.5, 10
# How the numbers of a column are written.
STYLES = ("integer", *NUMBER, "boolean")


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

    def encode(self, column: pd.Series) -> tuple[Features, list[Note]]:
        """The features of new rows, and what was not expected in them."""
        found = read_numbers(column, self.style)
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
        """The features of new rows, and what was not expected in them."""
        check_kind(column)
        found = to_categories(column)
        none, together = len(self.groups), len(self.levels)
        known = {level: k for k, level in enumerate(self.levels)}
        known |= dict.fromkeys(self.rare, together)
        unseen = together if self.rare and not self.shares else none
        missing = none - 1 if self.missing else none
        group = [*(known.get(value, unseen) for value in found.values), missing]
        of_row = np.array(group, dtype=np.intp)[found.codes]
        table = np.vstack([np.eye(none), self.shares or np.zeros(none)])
        notes = []
        new = np.array([*(value not in known for value in found.values), False], dtype=bool)
        suffix = " average" * bool(self.shares)
        if new.any():
            example = found.values[int(np.argmax(new))]
            rows = int(found.counts[new].sum())
            notes.append(Note(f"unseen{suffix}", self.name, rows=rows, example=example))
        if found.missing.any() and not (self.missing or self.imputed):
            rows = int(found.missing.sum())
            notes.append(Note(f"new missing{suffix}", self.name, rows=rows))
        return (table[of_row, k] for k in range(none - len(self.features), none)), notes

    def check_stored(self) -> None:
        """Raise ValueError unless the values are told apart."""
        values = self.levels + self.rare
        if len(set(values)) < len(values) or len(self.rare) == 1 or not self.features:
            raise ValueError(f"the values of column {self.name!r} must be different, two or more")
        total, size = sum(self.shares), len(self.groups)
        if self.shares and not (
            len(self.shares) == size and min(self.shares) >= 0 and abs(total - 1) < 1e-6
        ):
            raise ValueError(f"column {self.name!r} must have {size} shares that add up to 1")


Column = NumberColumn | ScaledColumn | TextColumn
Learned = tuple[Column | None, list[Note]]


def typed(part: Column, column: pd.Series) -> Any:
    """New values as they were read in training: numbers as floats, text as categories."""
    if isinstance(part, TextColumn):
        check_kind(column)
        categories = to_categories(column)
        return pd.Categorical.from_codes(
            categories.codes, pd.Index(categories.values, dtype=object)
        )
    found = read_numbers(column, part.style)
    check_size(found.values, part.name)
    return np.where(found.finite, found.values, np.nan)


# --- learning ---


def learn_column(column: pd.Series, count: FloatArray, dichotomize: str | None = None) -> Learned:
    """How to encode a column, or None where it is left out; and what must not be silent.

    ``count`` says how many rows each row stands for; ``dichotomize`` how numbers are cut, if at
    all.
    """
    name, kind = str(column.name), check_kind(column)
    if kind == "date":  # all missing
        return None, [_constant(name)]
    if kind != "text":
        style = "boolean" if kind == "boolean" else "point"
        return _learn_numbers(name, style, to_numbers(column, style), count, dichotomize)
    text = to_text(column)
    # A word that is taken for a missing value is told.
    words = column[np.asarray(text.is_null()) & column.notna().to_numpy()].unique()
    word = next(filter(None, (str(value).strip() for value in words)), "")
    if not isinstance(column.dtype, pd.CategoricalDtype):
        style, numbers, notes = number_style(column, text, count)
        if style:
            learned, more = _learn_numbers(name, style, numbers, count, dichotomize, word)
            return learned, notes + more
    found = to_categories(text, count)
    if found.values and {value.lower() for value in found.values} <= BOOLEANS.keys():
        numbers = to_numbers(column, "boolean", text)
        return _learn_numbers(name, "boolean", numbers, count, dichotomize, word)
    if date_share(found) >= DATES:
        raise date_error(name, found.values[0])
    return _learn_text(name, found, word, all_named=dichotomize is not None)


def number_style(
    column: pd.Series, text: Any, count: FloatArray | None = None
) -> tuple[str, Numbers, list[Note]]:
    """How strings are written as numbers, empty if they are not; the numbers; what is assumed."""
    name, style = str(column.name), find_style(text)
    found = to_numbers(column, style, text)
    count = np.ones(len(column)) if count is None else count
    distinct, _ = distinct_values(np.where(found.finite, found.values, np.nan), count)
    words, numbers = count[found.strays & ~np.isinf(found.values)].sum(), count[found.finite].sum()
    few = words and numbers < NUMBER_SHARE * (numbers + words)
    if not len(distinct) or few or (words and len(distinct) <= NUMBER_LEAST):
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


def _learn_numbers(
    name: str,
    style: str,
    found: Numbers,
    count: FloatArray,
    dichotomize: str | None,
    word: str = "",
) -> Learned:
    if dichotomize is None:
        check_size(found.values, name)
    absent, strays = ~found.finite, int(found.strays.sum())
    distinct, share = distinct_values(np.where(absent, np.nan, found.values), count)
    missing = bool(absent.any())
    if dichotomize is None:
        missing = _is_frequent(count[absent].sum(), count.sum())
    if len(distinct) + missing < 2 or not len(distinct):
        return None, [_constant(name, f"{distinct[0]:g}" if len(distinct) else "")]
    notes = []
    if strays:
        notes.append(Note("stray", name, rows=strays, example=found.example))
    if rows := int(absent.sum()):
        notes.append(Note("missing" if missing else "imputed", name, rows=rows, example=word))
    known = count[~absent].sum()
    if len(distinct) == known >= ID_LEAST and bool((distinct % 1 == 0).all()):
        notes.append(Note("numeric id", name, f"{len(distinct):,} different integers"))
    if len(distinct) == 1:
        return NumberColumn(name, style, None, 0.0, False, True), notes
    if dichotomize is None:
        imputed = bool(absent.any()) and not missing
        return learn_scaled(name, style, distinct, share, missing, imputed), notes
    if np.array_equal(distinct, [0.0, 1.0]):
        return NumberColumn(name, style, 0.5, 0.0, True, missing), notes
    cutter = Dichotomizer(strategy=dichotomize)
    cutter.fit(found.values[~absent, None], sample_weight=count[~absent])
    cut, tolerance = float(cutter.thresholds_[0]), float(cutter.tolerances_[0])
    if len(distinct) > 2:
        tolerance = max(tolerance, found.precision * float(np.abs(distinct).max()))
    return NumberColumn(name, style, cut, tolerance, False, missing), notes


def _is_frequent(missing: float, rows: float) -> bool:
    """Whether so many values are missing that it is a feature of its own."""
    return missing >= max(FEW, MISSING * rows)


def _learn_text(name: str, found: Categories, word: str, *, all_named: bool) -> Learned:
    """Values and their groups; with ``all_named`` also those that are in few rows of a table."""
    counts, missing_rows = found.counts[:-1], found.counts[-1]
    size = len(found.values)
    missing = bool(missing_rows > 0)
    if size + missing < 2 or not size:
        return None, [_constant(name, found.values[0] if size else "")]
    if all_named:
        few = counts < RARE * (counts.sum() + missing_rows)
    else:
        missing = bool(missing_rows >= FEW)
        few = counts < FEW
        few[np.argsort(-counts, kind="stable")[MOST_LEVELS:]] = True
    if few.sum() < 2:
        few[:] = False
    if size >= ID_LEAST and (size > ID_SHARE * counts.sum() or few.all()):
        rows = in_rows(int(counts.sum()))
        return None, [Note("text id", name, f"{size:,} different values in {rows}")]
    values = np.array(found.values, dtype=object)
    levels, rare = values[~few].tolist(), values[few].tolist()
    notes = [Note("rare", name, f"{len(rare):,} of {size:,} values")] if rare else []
    if found.missing.any():
        topic = "missing" if missing else "new missing average"
        notes.append(Note(topic, name, rows=int(found.missing.sum()), example=word))
    groups = [*counts[~few], *[counts[few].sum()] * bool(rare), *[missing_rows] * missing]
    if len(groups) < 2:
        return None, [Note("few", name, f"{size:,} values")]
    shares = [] if all_named else [float(rows / sum(groups)) for rows in groups]
    imputed = bool(found.missing.any()) and not missing
    return TextColumn(name, levels, rare, missing, shares, imputed), notes


def _constant(name: str, value: str = "") -> Note:
    return Note("constant", name, f"always {shorten(value)!r}" if value else "empty")
