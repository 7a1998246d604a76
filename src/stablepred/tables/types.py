"""What the values of one column are: numbers, booleans, dates or text, and which are missing.

The same values give the same result whether the column is text or has a type.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._validation import overflow_error
from stablepred.exceptions import InputError
from stablepred.tables.arrow import pa, pc
from stablepred.tables.messages import shorten

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
Mask = NDArray[np.bool_]

MISSING = ("", "#n/a", "<na>", "?", "n/a", "na", "nan", "null")
BOOLEANS = {"true": 1.0, "false": 0.0}

# How numbers are written, by their decimal mark and the mark between groups of three digits. No
# two parts of a pattern match the same digits, or a long string of them would take forever.
INFINITE = "(?i:inf(inity)?)"
EXPONENT = r"([eE][+-]?\d{1,3})?"
MARKS = {"point": (".", ""), "comma": (",", ""), "1,234.5": (".", ","), "1.234,5": (",", ".")}
NUMBER = {
    style: (
        rf"^[+-]?({INFINITE}|(\d+(\{mark}\d*)?|\{mark}\d+){EXPONENT}"
        + (rf"|[1-9]\d{{0,2}}(\{group}\d{{3}})+(\{mark}\d*)?)$" if group else ")$")
    )
    for style, (mark, group) in MARKS.items()
}
# One mark and three digits after it: 1.234, or 1234 with its digits in groups.
DOUBTFUL = {mark: rf"^[+-]?[1-9]\d{{0,2}}\{mark}\d{{3}}$" for mark in ".,"}
# Floats shorter than doubles, by their names in pandas.
SHORT: dict[str, Any] = {"float16": np.float16, "halffloat[pyarrow]": np.float16}
SHORT |= {"float32": np.float32, "float[pyarrow]": np.float32}
LEADING_ZERO = r"^[+-]?0\d"

MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
TIME = r"([t ]\s*\d{1,2}:\d{2}.*)?$"
DATE = "|".join(
    [
        rf"^\d{{4}}([-/.])\d{{1,2}}{TIME}",
        rf"^\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}{TIME}",
        rf"^\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{2}}|\d{{4}}){TIME}",
        rf"^\d{{1,2}}[-. ]+{MONTH}[-., ]+\d{{2,4}}{TIME}",
        rf"^{MONTH} \d{{1,2}},? \d{{4}}{TIME}",
    ]
)

# What pandas calls the values of a column whose type says nothing.
SCALARS = (str, bool, int, float, np.generic)
DATES = ("date", "datetime", "datetime64", "time", "timedelta", "timedelta64", "period")
INFERRED = {"boolean": "boolean"} | dict.fromkeys(DATES, "date")
INFERRED |= dict.fromkeys(["integer", "floating", "decimal", "mixed-integer-float"], "number")
INFERRED |= dict.fromkeys(["string", "empty", "mixed-integer"], "text")


@dataclass(frozen=True)
class Categories:
    """A column as its distinct strings, sorted, and for each row the index of its string."""

    values: list[str]
    codes: IndexArray  # (n,), -1 where missing
    weight: FloatArray | None = None  # (n,), how many rows each row stands for; None: one

    @property
    def counts(self) -> NDArray[Any]:
        """Rows of each string, and of missing ones at the end."""
        codes = np.where(self.missing, len(self.values), self.codes)
        return np.bincount(codes, self.weight, minlength=len(self.values) + 1)

    @property
    def missing(self) -> Mask:
        """Whether each row has no value."""
        return self.codes < 0


@dataclass(frozen=True)
class Numbers:
    """A column as numbers, with what was found there that is not one."""

    values: FloatArray  # (n,), NaN where missing or not a number; some may be infinite
    strays: Mask  # (n,), rows with something that is not a finite number
    example: str  # one of those, empty if there is none
    precision: float = 0.0  # relative, of a type with fewer digits than doubles have

    @property
    def finite(self) -> Mask:
        """Whether each row has a number."""
        return np.isfinite(self.values)


def kind_of(column: pd.Series) -> str:
    """``number``, ``boolean``, ``date`` or ``text``, by the type that pandas gives the column."""
    dtype, kinds = column.dtype, pd.api.types
    if isinstance(dtype, pd.CategoricalDtype):  # text, whatever the categories, but for dates
        categories = pd.Series(dtype.categories, name=column.name)
        return "date" if kind_of(categories) == "date" and column.notna().any() else "text"
    if str(dtype).startswith("dictionary<values="):  # the same of Arrow
        return "date" if re.match("dictionary<values=(date|time|duration)", str(dtype)) else "text"
    if kinds.is_bool_dtype(dtype):
        return "boolean"
    if kinds.is_numeric_dtype(dtype) and not kinds.is_complex_dtype(dtype):
        return "number"
    if kinds.is_string_dtype(dtype) and not kinds.is_object_dtype(dtype):
        return "text"
    found = kinds.infer_dtype(column, skipna=True)
    is_mixed = found == "mixed" and column.dropna().map(lambda v: isinstance(v, SCALARS)).all()
    if is_mixed or column.isna().all():
        return "text"
    if found in INFERRED:
        return INFERRED[found]
    raise InputError(
        f"column {column.name!r} holds values that are neither numbers nor text (found: {found}). "
        "Turn it into numbers or text, or leave it out."
    )


def check_kind(column: pd.Series) -> str:
    """What `kind_of` says; dates are refused."""
    kind = kind_of(column)
    if kind == "date":
        raise date_error(str(column.name), str(column.dropna().iloc[0]))
    return kind


def date_error(name: str, example: str) -> InputError:
    """The error for a column of dates, with advice."""
    return InputError(
        f"column {name!r} holds dates or times (e.g. {shorten(example)!r}), which say "
        "nothing about rows of another time. Derive what matters from it (year, month, age in "
        f"days) as a column of its own, and leave it out: drop=[{name!r}]."
    )


# --- text ---


def to_text(column: Any) -> Any:
    """A column as an Arrow dictionary of its distinct strings, trimmed, null where missing."""
    array = column if isinstance(column, pa.Array) else _strings(column)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    encoded = pc.cast(array, pa.large_string()).dictionary_encode()
    trimmed = pc.utf8_trim_whitespace(encoded.dictionary)
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(MISSING, pa.large_string()))
    cleaned = pc.if_else(missing, pa.scalar(None, pa.large_string()), trimmed)
    return cleaned.take(encoded.indices).dictionary_encode()


def _strings(column: pd.Series) -> Any:
    untyped = pd.api.types.is_object_dtype(column.dtype)
    found = pd.api.types.infer_dtype(column, skipna=True) if untyped else ""
    if found in ("string", "empty") or (pd.api.types.is_string_dtype(column.dtype) and not untyped):
        return pa.array(column, from_pandas=True)
    kind_of(column)  # raises where values are neither numbers nor text
    if untyped:  # one by one: to pandas, True and 1 are the same value
        return pa.array([format_value(value) for value in column.tolist()], pa.large_string())
    codes, values = pd.factorize(column)
    distinct = pa.array([format_value(value) for value in np.asarray(values)], pa.large_string())
    return distinct.take(pa.array(codes, mask=codes < 0))


def format_value(value: Any) -> str | None:
    """One value as text: 1.0 as ``1``, None and NaN as nothing."""
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    is_whole = isinstance(value, float | np.floating) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def to_categories(text: Any, weight: FloatArray | None = None) -> Categories:
    """The distinct strings of what `to_text` gives, or of a column."""
    encoded = to_text(text) if isinstance(text, pd.Series) else text
    found = np.array(encoded.dictionary.to_pylist(), dtype=object)
    values, rank = np.unique(found, return_inverse=True)
    return Categories(values.tolist(), np.append(rank, -1)[_codes(encoded)], weight)


def _codes(text: Any) -> IndexArray:
    """For each row the index of its string, -1 where it is missing."""
    return np.asarray(text.indices.fill_null(-1)).astype(np.intp)


def match(text: Any, pattern: str) -> Mask:
    """Which rows match a pattern; a missing one does not."""
    return np.append(_matches(text.dictionary, pattern), False)[_codes(text)]


def _matches(distinct: Any, pattern: str) -> Mask:
    return np.array(pc.match_substring_regex(distinct, pattern), dtype=bool)


def date_share(found: Categories) -> float:
    """Share of the rows with a string that reads as a date."""
    if not found.values:
        return 0.0
    dates = _matches(pc.utf8_lower(pa.array(found.values, pa.large_string())), DATE)
    counts = found.counts[:-1]
    return float(counts[dates].sum() / counts.sum())


# --- numbers ---


def find_style(text: Any) -> str:
    """How numbers are written: as most can be read; ``integer`` where none has a mark."""
    valid = _codes(text) >= 0
    strays = {s: int((valid & ~match(text, pattern)).sum()) for s, pattern in NUMBER.items()}
    style = min(strays, key=lambda style: strays[style])
    return "integer" if style == "point" and not match(text, r"\.").any() else style


def check_style(text: Any, style: str, name: str) -> str:
    """Raise when numbers can be read in two ways, or are written in two; else say what is assumed.

    1.234 beside 1.5 is a fraction, beside 1.234.567 a thousand, and beside 999 could be either.
    """
    check_new_numbers(text, style, name)
    if style not in MARKS:
        return ""
    mark, group = MARKS[style]
    numbers, doubtful = match(text, NUMBER[style]), match(text, DOUBTFUL[mark])
    if group:  # certain where a value makes no sense with the two marks exchanged
        certain = numbers & ~match(text, NUMBER["1.234,5" if mark == "." else "1,234.5"])
    else:
        certain = numbers & match(text, rf"\{mark}") & ~doubtful
    if certain.any() or not doubtful.any():
        return ""
    example = text[int(np.argmax(doubtful))].as_py()
    if not group and (doubtful == numbers).all():
        return f"e.g. {example} as {example.replace(mark, '.')}"
    raise InputError(
        f"column {name!r} has numbers that can be read in two ways: {example!r} may be "
        f"{example.replace(mark, '.')} or {example.replace(mark, '')}. Write them without a mark "
        f"for thousands or with another number of decimals, or leave the column out: "
        f"drop=[{name!r}]."
    )


def check_new_numbers(text: Any, style: str, name: str) -> None:
    """Raise when numbers are written in another way than ``style``, or may be."""
    if style not in ("integer", *NUMBER):
        return
    other = (_codes(text) >= 0) & ~match(text, NUMBER.get(style, NUMBER["point"]))
    if other.any():
        other &= np.logical_or.reduce([match(text, pattern) for pattern in NUMBER.values()])
    if style == "integer":
        other |= match(text, DOUBTFUL["."])
    if other.any():
        example = text[int(np.argmax(other))].as_py()
        words = {"integer": "as integers", "point": "with a decimal point as in 1234.5"}
        words |= {"comma": "with a decimal comma as in 1234,5"}
        raise InputError(
            f"column {name!r} is written {words.get(style, f'as in {style}')}, but has "
            f"{example!r}, which may mean something else. Write all its numbers in one way."
        )


def to_numbers(column: pd.Series) -> Numbers:
    """A column of numbers or booleans in double precision."""
    try:
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    except OverflowError as error:
        raise overflow_error([column.name]) from error
    short, precision = SHORT.get(str(column.dtype).lower()), 0.0
    if short is not None:  # the doubles with the same digits: what is written 0.1 is 0.1 in both
        digits = values.astype(short).astype(str).astype(np.float64)
        values = np.where(values == np.rint(values), values, digits)
        precision = float(np.finfo(short).eps)
    strays = np.isinf(values)
    return Numbers(values, strays, str(values[strays][0]) if strays.any() else "", precision)


def parse_numbers(text: Any, style: str) -> Numbers:
    """What `to_text` gives as numbers, read in the given style."""
    values = np.append(_parse(text.dictionary, style), np.nan)[_codes(text)]
    strays = ~np.isfinite(values) & (_codes(text) >= 0)
    example = text[int(np.argmax(strays))].as_py() if strays.any() else ""
    return Numbers(values, strays, example)


def read_numbers(column: pd.Series, style: str) -> Numbers:
    """New values of a column that was read in the given style in training."""
    if check_kind(column) in ("number", "boolean"):
        return to_numbers(column)
    text = to_text(column)
    check_new_numbers(text, style, str(column.name))
    return parse_numbers(text, style)


def _parse(distinct: Any, style: str) -> FloatArray:
    """Numbers from strings, NaN where it is not one."""
    mark, group = MARKS.get(style, MARKS["point"])
    pattern = NUMBER.get(style, NUMBER["point"])
    written = pc.if_else(pc.match_substring_regex(distinct, pattern), distinct, None)
    if group:
        written = pc.replace_substring(written, group, "")
    if mark != ".":
        written = pc.replace_substring(written, mark, ".")
    values = np.array(pc.cast(written, pa.float64()).to_numpy(zero_copy_only=False))
    if style == "boolean":
        values[~np.isin(values, (0.0, 1.0))] = np.nan
        for word, value in BOOLEANS.items():
            values[_matches(distinct, f"^(?i:{word})$")] = value
    return values
