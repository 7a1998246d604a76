"""What the values of one column are: numbers, truth values, dates or texts, and which are missing.

A column of a CSV file is text, a column of a Parquet file or of a DataFrame has a type; the same
values give the same result either way. Texts are trimmed, and an empty one, ``NA``, ``N/A``,
``NaN``, ``null`` and ``?`` mean missing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stablepred.exceptions import InputError

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

MISSING = ("", "#n/a", "<na>", "?", "n/a", "na", "nan", "null")

# How a number is written: 1234.5, or 1.234,5 as in much of Europe. No two parts of a pattern match
# the same digits, or Python would try every way to share out a long text of digits between them.
EXPONENT = r"([eE][+-]?\d{1,3})?"
NUMBER = {
    "point": rf"^[+-]?((\d+(\.\d*)?|\.\d+){EXPONENT}|(?i:inf(inity)?))$",
    "comma": rf"^[+-]?(\d{{1,3}}(\.\d{{3}})+|\d+)(,\d*)?{EXPONENT}$",
}
TRUTH = {"true": 1.0, "false": 0.0}

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
SCALARS = (str, bool, int, float)
INFERRED = {
    "truth": {"boolean"},
    "number": {"integer", "floating", "decimal", "mixed-integer-float"},
    "date": {"date", "datetime", "datetime64", "time", "timedelta", "timedelta64", "period"},
    "text": {"string", "empty", "mixed-integer"},
}


@dataclass(frozen=True)
class Texts:
    """A column as its distinct texts, sorted, and for each row the place of its text."""

    values: list[str]
    codes: IndexArray  # (n,), -1 where missing

    @property
    def counts(self) -> IndexArray:
        """Rows of each text."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each row has no value."""
        return self.codes < 0


@dataclass(frozen=True)
class Numbers:
    """A column as numbers, with what stood there and was not one."""

    values: FloatArray  # (n,), NaN where missing or not a number; some may be infinite
    strays: int  # rows with something that is not a finite number
    example: str  # one of those, empty if there is none

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Whether each row has a number."""
        return np.isfinite(self.values)


def type_of(column: pd.Series) -> str:
    """``number``, ``truth``, ``date`` or ``text``, by the type that pandas gives the column.

    A categorical column is one of texts, whatever the categories are, unless they are dates.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        categories = pd.Series(dtype.categories, name=column.name)
        return "date" if type_of(categories) == "date" else "text"
    if pd.api.types.is_bool_dtype(dtype):
        return "truth"
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        return "number"
    if pd.api.types.is_string_dtype(dtype) and not pd.api.types.is_object_dtype(dtype):
        return "text"
    found = pd.api.types.infer_dtype(column, skipna=True)
    if found == "mixed" and column.dropna().map(lambda value: isinstance(value, SCALARS)).all():
        return "text"
    for kind, names in INFERRED.items():
        if found in names:
            return kind
    raise InputError(
        f"column {column.name!r} holds values that are neither numbers nor texts (found: {found}). "
        "Turn it into numbers or texts, or leave it out."
    )


def texts(column: pd.Series) -> Texts:
    """Any column as text; a number is written as shortly as it can be."""
    encoded = _cleaned(column).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    found = encoded.dictionary.to_pylist()
    order = sorted(range(len(found)), key=found.__getitem__)
    place = np.empty(len(found) + 1, dtype=np.intp)
    place[order], place[-1] = np.arange(len(found)), -1
    return Texts([found[k] for k in order], place[codes])


def numbers(column: pd.Series, style: str = "point") -> Numbers:
    """Any column as numbers; text is read in the given style, or as true and false."""
    if type_of(column) in ("number", "truth"):
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
        infinite = np.isinf(values)
        example = str(values[infinite][0]) if infinite.any() else ""
        return Numbers(values, int(infinite.sum()), example)
    cleaned = _cleaned(column)
    if style == "truth":
        lower = pc.utf8_lower(cleaned)
        values = np.full(len(lower), np.nan)
        for word, value in TRUTH.items():
            values[_mask(pc.equal(lower, word))] = value
    else:
        values = _parsed(cleaned, style)
    stray = ~np.isfinite(values) & _mask(cleaned.is_valid())
    example = cleaned[int(np.argmax(stray))].as_py() if stray.any() else ""
    return Numbers(values, int(stray.sum()), example)


def is_truth(column: Texts) -> bool:
    """Whether the texts are true and false."""
    return bool(column.values) and {value.lower() for value in column.values} <= TRUTH.keys()


def date_share(column: Texts) -> float:
    """Share of the rows with a text that reads as a date."""
    if not column.values:
        return 0.0
    lower = pc.utf8_lower(pa.array(column.values, pa.large_string()))
    dates = _mask(pc.match_substring_regex(lower, DATE))
    return float(column.counts[dates].sum() / column.counts.sum())


def text_of(value: Any) -> str | None:
    """One value as text: 1.0 as ``1``, None and NaN as nothing."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else repr(int(value) if value.is_integer() else float(value))
    return str(value)


def _cleaned(column: pd.Series) -> Any:
    """The column as Arrow text, trimmed, with nulls where it is missing."""
    if _is_plain_text(column):
        array = pa.array(column, from_pandas=True)
    else:
        type_of(column)  # raises where values are neither numbers nor texts
        codes, values = pd.factorize(column.to_numpy(dtype=object))
        written = pa.array([text_of(value) for value in values], pa.large_string())
        array = written.take(pa.array(codes, mask=codes < 0))
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    trimmed = pc.utf8_trim_whitespace(pc.cast(array, pa.large_string()))
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(MISSING, pa.large_string()))
    return pc.if_else(missing, pa.scalar(None, pa.large_string()), trimmed)


def _is_plain_text(column: pd.Series) -> bool:
    """Whether every value is a text, or missing."""
    if pd.api.types.is_object_dtype(column.dtype):
        return pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty")
    return pd.api.types.is_string_dtype(column.dtype)


def _parsed(cleaned: Any, style: str) -> FloatArray:
    """Numbers from text, NaN where it is not one."""
    written = pc.if_else(pc.match_substring_regex(cleaned, NUMBER[style]), cleaned, None)
    if style == "comma":
        written = pc.replace_substring(pc.replace_substring(written, ".", ""), ",", ".")
    values: FloatArray = pc.cast(written, pa.float64()).to_numpy(zero_copy_only=False)
    return values


def _mask(flags: Any) -> NDArray[np.bool_]:
    """Arrow's flags as an array, null as no."""
    mask: NDArray[np.bool_] = flags.fill_null(False).to_numpy(zero_copy_only=False)
    return mask
