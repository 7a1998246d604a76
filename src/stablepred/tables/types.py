"""What the values of one column are: numbers, booleans, dates or text, and which are missing.

The same values give the same result whether the column is text or has a type.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._extras import pa, pc
from stablepred._validation import overflow_error
from stablepred.exceptions import InputError
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
SHORT: dict[str, Any] = dict.fromkeys(("float16", "halffloat[pyarrow]"), np.float16)
SHORT |= dict.fromkeys(("float32", "float[pyarrow]"), np.float32)
LEADING_ZERO = r"^[+-]?0\d"

MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
TIME = r"([t ]\s*\d{1,2}:\d{2}.*)?$"
DATE = "(?i)" + "|".join(
    [
        rf"^\d{{4}}([-/.])\d{{1,2}}{TIME}",
        rf"^\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}{TIME}",
        rf"^\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{2}}|\d{{4}}){TIME}",
        rf"^\d{{1,2}}[-. ]+{MONTH}[-., ]+\d{{2,4}}{TIME}",
        rf"^{MONTH} \d{{1,2}},? \d{{4}}{TIME}",
    ]
)

# What pandas calls the values of a column.
SCALARS = (str, bool, int, float, np.generic)
DATES = ("date", "datetime", "datetime64", "time", "timedelta", "timedelta64", "period")
INFERRED = {"boolean": "boolean"} | dict.fromkeys(DATES, "date")
INFERRED |= dict.fromkeys(["integer", "floating", "decimal", "mixed-integer-float"], "number")
INFERRED |= dict.fromkeys(["string", "empty", "mixed-integer"], "text")


@dataclass(frozen=True)
class Text:
    """A column as its distinct strings, trimmed, and for each row the index of its string."""

    distinct: Any  # an Arrow array
    codes: IndexArray  # (n,), -1 where missing

    @property
    def values(self) -> list[str]:
        return list(self.distinct.to_pylist())

    @property
    def missing(self) -> Mask:
        return self.codes < 0

    def match(self, pattern: str) -> Mask:
        """Which rows match a pattern; a missing one does not."""
        found = np.array(pc.match_substring_regex(self.distinct, pattern), dtype=bool)
        return np.append(found, False)[self.codes]

    def first(self, rows: Mask) -> str:
        """The string of the first of some rows, empty if there is none."""
        return self.distinct[int(self.codes[rows][0])].as_py() if rows.any() else ""


@dataclass(frozen=True)
class Numbers:
    """A column as numbers, with what was found there that is not one."""

    values: FloatArray  # (n,), NaN where missing or not a number; some may be infinite
    strays: Mask  # (n,), rows with something that is not a finite number
    example: str  # one of those, empty if there is none
    precision: float = 0.0  # relative, of a type with fewer digits than doubles have

    @property
    def finite(self) -> Mask:
        return np.isfinite(self.values)

    @property
    def known(self) -> FloatArray:
        """The numbers, with NaN for infinite ones as well."""
        return np.where(self.finite, self.values, np.nan)


def kind_of(column: pd.Series) -> str:
    """``number``, ``boolean``, ``date`` or ``text``, by what pandas calls the values."""
    # Categories, of pandas or Arrow, are text whatever they hold, but for dates.
    coded = isinstance(column.dtype, pd.CategoricalDtype) or "dictionary<" in str(column.dtype)
    values = np.asarray(column.dropna().unique(), dtype=object) if coded else column
    found = pd.api.types.infer_dtype(values, skipna=True)
    kind = INFERRED.get(found, "")
    if found == "mixed" and column.dropna().map(lambda v: isinstance(v, SCALARS)).all():
        kind = "text"
    if kind != "number" and column.isna().all():
        return "text"
    if kind or coded:
        return "date" if kind == "date" else "text" if coded else kind
    raise InputError(
        f"column {column.name!r} holds values that are neither numbers nor text (found: {found}). "
        "Turn it into numbers or text, or leave it out."
    )


def check_kind(column: pd.Series) -> str:
    kind = kind_of(column)
    if kind == "date":
        raise date_error(str(column.name), str(column.dropna().iloc[0]))
    return kind


def date_error(name: str, example: str) -> InputError:
    return InputError(
        f"column {name!r} holds dates or times (e.g. {shorten(example)!r}), which say "
        "nothing about rows of another time. Derive what matters from it (year, month, age in "
        f"days) as a column of its own, and leave it out: drop=[{name!r}]."
    )


# --- text ---


def to_text(column: Any) -> Text:
    """A column as text: what says that a value is missing is no string."""
    array = _strings(column)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    encoded = pc.cast(array, pa.large_string()).dictionary_encode()
    trimmed = pc.utf8_trim_whitespace(encoded.dictionary)
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(MISSING, pa.large_string()))
    cleaned = pc.if_else(missing, pa.scalar(None, pa.large_string()), trimmed)
    found = cleaned.take(encoded.indices).dictionary_encode()
    return Text(found.dictionary, np.asarray(found.indices.fill_null(-1)).astype(np.intp))


def to_categories(column: pd.Series | Text) -> Text:
    """The same with the distinct strings in order."""
    text = column if isinstance(column, Text) else to_text(column)
    order = np.asarray(pc.array_sort_indices(text.distinct)).astype(np.intp)
    return Text(text.distinct.take(order), np.append(np.argsort(order), -1)[text.codes])


def read_text(column: pd.Series) -> Text:
    check_kind(column)
    return to_categories(column)


def _strings(column: pd.Series) -> Any:
    if pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty"):
        return pa.array(column, from_pandas=True)
    kind_of(column)  # raises where values are neither numbers nor text
    if pd.api.types.is_object_dtype(column.dtype):  # to pandas, True and 1 are the same value
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


# --- numbers ---


def find_style(text: Text) -> str:
    """How numbers are written: as most can be read; ``integer`` where none has a mark."""
    read = {style: text.match(pattern).sum() for style, pattern in NUMBER.items()}
    style = max(read, key=lambda style: read[style])
    return "integer" if style == "point" and not text.match(r"\.").any() else style


def check_style(text: Text, style: str, name: str) -> str:
    """Raise when numbers can be read in two ways, or are written in two; else say what is assumed.

    1.234 beside 1.5 is a fraction, beside 1.234.567 a thousand, and beside 999 could be either.
    """
    check_new_numbers(text, style, name)
    if style not in MARKS:
        return ""
    mark, group = MARKS[style]
    numbers, doubtful = text.match(NUMBER[style]), text.match(DOUBTFUL[mark])
    if group:  # certain where a value makes no sense with the two marks exchanged
        certain = numbers & ~text.match(NUMBER["1.234,5" if mark == "." else "1,234.5"])
    else:
        certain = numbers & text.match(rf"\{mark}") & ~doubtful
    if certain.any() or not doubtful.any():
        return ""
    example = text.first(doubtful)
    if not group and (doubtful == numbers).all():
        return f"e.g. {example} as {example.replace(mark, '.')}"
    raise InputError(
        f"column {name!r} has numbers that can be read in two ways: {example!r} may be "
        f"{example.replace(mark, '.')} or {example.replace(mark, '')}. Write them without a mark "
        f"for thousands or with other decimals, or leave the column out: drop=[{name!r}]."
    )


def check_new_numbers(text: Text, style: str, name: str) -> None:
    """Raise when numbers are written in another way than ``style``, or may be."""
    if style == "boolean":
        return
    other = ~text.missing & ~text.match(NUMBER.get(style, NUMBER["point"]))
    if other.any():
        other &= np.logical_or.reduce([text.match(pattern) for pattern in NUMBER.values()])
    if style == "integer":
        other |= text.match(DOUBTFUL["."])
    if other.any():
        words = {"integer": "as integers", "point": "with a decimal point as in 1234.5"}
        words |= {"comma": "with a decimal comma as in 1234,5"}
        raise InputError(
            f"column {name!r} is written {words.get(style, f'as in {style}')}, but has "
            f"{text.first(other)!r}, which may mean something else. Write all in one way."
        )


def to_numbers(column: pd.Series) -> Numbers:
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


def parse_numbers(text: Text, style: str) -> Numbers:
    mark, group = MARKS.get(style, MARKS["point"])
    pattern = NUMBER.get(style, NUMBER["point"])
    written = pc.if_else(pc.match_substring_regex(text.distinct, pattern), text.distinct, None)
    if group:
        written = pc.replace_substring(written, group, "")
    written = pc.replace_substring(written, mark, ".")
    distinct = np.array(pc.cast(written, pa.float64()).to_numpy(zero_copy_only=False))
    if style == "boolean":
        words = np.array(pc.utf8_lower(text.distinct).to_pylist(), dtype=object)
        distinct[~np.isin(distinct, (0.0, 1.0))] = np.nan
        for word, value in BOOLEANS.items():
            distinct[words == word] = value
    values = np.append(distinct, np.nan)[text.codes]
    strays = ~np.isfinite(values) & ~text.missing
    return Numbers(values, strays, text.first(strays))


def read_numbers(column: pd.Series, style: str) -> Numbers:
    if check_kind(column) != "text":
        return to_numbers(column)
    text = to_text(column)
    check_new_numbers(text, style, str(column.name))
    return parse_numbers(text, style)
