"""How the columns of a table are encoded: learned from all of its rows."""

from dataclasses import replace

import numpy as np
import pandas as pd

from stablepred._text import count_noun
from stablepred.exceptions import InputError
from stablepred.preprocessing import Dichotomizer
from stablepred.tables import types
from stablepred.tables.columns import (
    LARGEST,
    Column,
    NumberColumn,
    ScaledColumn,
    TextColumn,
    check_size,
)
from stablepred.tables.messages import Note, note_rows, shorten
from stablepred.tables.types import BOOLEANS, DATE, LEADING_ZERO, FloatArray, Numbers, Text

Learned = tuple[Column | None, list[Note]]

# Share of the training rows on each side that is not the bulk of the numbers.
TAIL = 0.01
# Standard deviations in which numbers beyond those of training grow like a logarithm.
SOFT = 0.5
# A text value in a smaller share of the rows is counted together with the others like it where
# numbers are cut; else one in fewer rows than this (in a small table: this share of them), and all
# but the most frequent ones.
RARE = 0.01
FEW, FEW_SHARE, MOST_LEVELS = 10, 0.05, 30
# Missing values in so many rows, and in this share of them, have a feature of their own.
MISSING = 0.1
# Text that differs in more than this share of the rows, in this many values or more, is an id.
ID_SHARE, ID_LEAST = 0.5, 20
# Text of which at least this share reads as dates is a column of dates.
DATES = 0.9
# A text column is one of numbers with strays among them if at least this share are numbers, and
# more than this many different ones; else they are codes.
NUMBER_SHARE, NUMBER_LEAST = 0.5, 10


def learn_column(
    column: pd.Series, count: FloatArray, dichotomize: str | None = None, tails: str = "soft"
) -> Learned:
    """How to encode a column, or None where it is left out; and what must not be silent.

    ``count`` says how many rows each row stands for; ``dichotomize`` how numbers are cut, if at
    all; ``tails`` what becomes of those that are not.
    """
    learned, notes = _learn(column, count, dichotomize)
    if isinstance(learned, ScaledColumn) and tails != "soft":
        learned = change_tails(learned, column, count, tails)
    return learned, notes


def change_tails(part: ScaledColumn, rows: pd.Series, count: FloatArray, tails: str) -> Column:
    """The column with other tails, learned from some training rows."""
    known = types.read_numbers(rows, part.style)
    values = distinct_values(np.where(known.finite, known.values, np.nan), count)
    return part if part.binary else _set_tails(part, *values, tails)


def _set_tails(
    part: ScaledColumn, values: FloatArray, share: FloatArray, tails: str
) -> ScaledColumn:
    """The column with tails learned from distinct values and their shares of the rows."""
    low, high = least, most = float(values[0]), float(values[-1])
    unit = moments(values, share)[1]
    if tails == "log":  # the smallest values that at least these shares of the rows do not exceed
        reached = np.cumsum(share) + 1e-9
        low, high = (float(values[np.argmax(reached >= q)]) for q in (TAIL, 1 - TAIL))
    elif tails == "soft":
        unit *= SOFT
    if tails in ("soft", "keep"):
        least, most = -LARGEST, LARGEST
    if tails == "keep":
        low, high = least, most
    found = replace(part, least=least, most=most, low=low, high=high, unit=unit)
    mean, sd = moments(found.bound(values), share)
    return replace(found, mean=mean, sd=sd)


def _learn(column: pd.Series, count: FloatArray, dichotomize: str | None) -> Learned:
    name, kind = str(column.name), types.check_kind(column)
    if kind != "text":
        style = "boolean" if kind == "boolean" else "point"
        return _learn_numbers(column, style, types.to_numbers(column), count, dichotomize)
    text = types.to_text(column)
    if not isinstance(column.dtype, pd.CategoricalDtype):
        style, numbers, notes = number_style(name, text, count)
        if style:
            learned, more = _learn_numbers(column, style, numbers, count, dichotomize)
            return learned, notes + more
    distinct = {value.lower() for value in text.values}
    if distinct & BOOLEANS.keys() and distinct <= {*BOOLEANS, "0", "1"}:  # True and 1 are the same
        numbers = types.parse_numbers(text, "boolean")
        return _learn_numbers(column, "boolean", numbers, count, dichotomize)
    dates = text.match(DATE)
    if dates.any() and count[dates].sum() >= DATES * count[~text.missing].sum():
        raise types.date_error(name, text.first(dates))
    return _learn_text(name, types.to_categories(text), count, all_named=dichotomize is not None)


def number_style(
    name: str, text: Text, count: FloatArray | None = None
) -> tuple[str, Numbers, list[Note]]:
    """How strings are written as numbers, empty if they are not; the numbers; what is assumed."""
    style = types.find_style(text)
    found = types.parse_numbers(text, style)
    count = np.ones(len(found.values)) if count is None else count
    distinct, _ = distinct_values(found.known, count)
    words, numbers = count[found.strays & ~np.isinf(found.values)].sum(), count[found.finite].sum()
    few = words and numbers < NUMBER_SHARE * (numbers + words)
    if not len(distinct) or few or (words and len(distinct) <= NUMBER_LEAST):
        return "", found, []
    notes = []
    if assumed := types.check_style(text, style, name):
        notes.append(Note("decimals", name, assumed))
    if style == "comma":
        notes.append(Note("comma", name))
    elif style not in ("integer", "point"):
        notes.append(Note("thousands", name, style))
    if example := text.first(text.match(LEADING_ZERO)):
        notes.append(Note("zeros", name, example=example))
    return style, found, notes


def _learn_numbers(
    column: pd.Series, style: str, found: Numbers, count: FloatArray, dichotomize: str | None
) -> Learned:
    name = str(column.name)
    large = np.abs(found.values) >= 2.0**53  # where not every integer is a double
    if column[large].nunique() > len(np.unique(found.values[large])):
        raise InputError(
            f"column {name!r} has integers that differ in more than 15 digits (e.g. "
            f"{column[large].iloc[0]}), which numbers here do not have. If they are names, leave "
            f"the column out: drop=[{name!r}]; else subtract a common amount."
        )
    if dichotomize is None:
        check_size(found.values, name)
    absent = ~found.finite
    distinct, share = distinct_values(found.known, count)
    missing = bool(absent.any())
    if dichotomize is None:
        missing = count[absent].sum() >= max(FEW, MISSING * count.sum())
    if len(distinct) + missing < 2 or not len(distinct):
        return None, [_constant(name, f"{distinct[0]:g}" if len(distinct) else "")]
    notes = note_rows("stray", name, found.strays, found.example)
    notes += note_rows("missing" if missing else "imputed", name, absent)
    known = count[~absent].sum()
    if len(distinct) == known >= ID_LEAST and bool((distinct % 1 == 0).all()):
        notes.append(Note("numeric id", name, f"{len(distinct):,} different integers"))
    if len(distinct) == 1:
        return NumberColumn(name, style, None, 0.0, False, True), notes
    if dichotomize is None:
        imputed = bool(absent.any()) and not missing
        return _learn_scaled(name, style, distinct, share, missing, imputed), notes
    if np.array_equal(distinct, [0.0, 1.0]):
        return NumberColumn(name, style, 0.5, 0.0, True, missing), notes
    cutter = Dichotomizer(strategy=dichotomize)
    cutter.fit(found.values[~absent, None], sample_weight=count[~absent])
    cut, tolerance = float(cutter.thresholds_[0]), float(cutter.tolerances_[0])
    if len(distinct) > 2:
        tolerance = max(tolerance, found.precision * float(np.abs(distinct).max()))
    return NumberColumn(name, style, cut, tolerance, False, missing), notes


def _learn_scaled(
    name: str, style: str, values: FloatArray, share: FloatArray, missing: bool, imputed: bool
) -> ScaledColumn:
    """Learn how to encode numbers from two or more distinct values and their shares of the rows."""
    if np.array_equal(values, [0.0, 1.0]):
        ones = float(share[1])
        return ScaledColumn(name, style, missing, 0, 1, 0, 1, 1, ones, 1, True, imputed)
    column = ScaledColumn(name, style, missing, 0, 1, 0, 1, 1, imputed=imputed)
    return _set_tails(column, values, share, "soft")


def distinct_values(values: FloatArray, count: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The different numbers, sorted, and the share of the rows with each; NaN is left out.

    What is computed from them depends neither on the order of the rows nor on whether a row is
    there twice or counts twice.
    """
    known = ~np.isnan(values)
    values, count = values[known] + 0.0, count[known]  # no negative zero
    found, index = np.unique(values, return_inverse=True)
    rows = np.bincount(index, count, minlength=len(found))
    return found, rows / rows.sum()


def moments(values: FloatArray, share: FloatArray) -> tuple[float, float]:
    """Mean, and standard deviation or the smallest number above zero."""
    mean = float((share * values).sum())
    far = float(np.abs(values - mean).max())  # squares of tiny numbers are zero
    sd = far * float(np.sqrt((share * ((values - mean) / (far or 1.0)) ** 2).sum()))
    return mean, max(sd, float(np.finfo(np.float64).tiny))


def _learn_text(name: str, found: Text, count: FloatArray, *, all_named: bool) -> Learned:
    """Values and their groups; with ``all_named`` also those that are in few rows of a table."""
    values = np.array(found.values, dtype=object)
    counts = np.bincount(found.codes + 1, count, minlength=len(values) + 1)
    missing_rows, counts, size, total = counts[0], counts[1:], len(values), count.sum()
    missing = bool(missing_rows > 0)
    if size + missing < 2 or not size:
        return None, [_constant(name, values[0] if size else "")]
    if all_named:
        few = counts < RARE * total
    else:
        least = max(2, min(FEW, FEW_SHARE * total))
        missing = bool(missing_rows >= least)
        few = counts < least
        if few.all() and size <= MOST_LEVELS:  # many small groups, such as shops
            few = counts < 2
        few[np.argsort(-counts, kind="stable")[MOST_LEVELS:]] = True
    if few.sum() < 2:
        few[:] = False
    if size >= ID_LEAST and (size > ID_SHARE * counts.sum() or few.all()):
        rows = count_noun(int(counts.sum()), "row")
        return None, [Note("text id", name, f"{size:,} different values in {rows}")]
    levels, rare = values[~few].tolist(), values[few].tolist()
    notes = [Note("rare", name, f"{len(rare):,} of {size:,} values")] if rare else []
    notes += note_rows("missing" if missing else "new missing average", name, found.missing)
    groups = [*counts[~few], *[counts[few].sum()] * bool(rare), *[missing_rows] * missing]
    if len(groups) < 2:
        return None, [Note("few", name, f"{size:,} values")]
    shares = [] if all_named else [float(rows / sum(groups)) for rows in groups]
    imputed = bool(found.missing.any()) and not missing
    return TextColumn(name, levels, rare, missing, shares, imputed), notes


def _constant(name: str, value: str = "") -> Note:
    return Note("constant", name, f"always {shorten(value)!r}" if value else "empty")
