"""Columns of text -> numbers, categories and booleans, as a source says."""

import numpy as np
import pandas as pd

from stablepred.exceptions import InputError
from stablepred.tables.sources import Source

MISSING = "?"
TRUE, FALSE = "yes", "no"


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Every value as text, as it would stand in a file; missing ones as "?"."""
    columns = {}
    for column in frame.columns:
        values = frame[column].astype(str).str.strip(" '\"")
        columns[column] = values.where(frame[column].notna(), MISSING)
    return pd.DataFrame(columns)


def typed(text: pd.DataFrame, source: Source) -> pd.DataFrame:
    """Numbers, categories, booleans, and the outcome as 0/1."""
    columns: dict[str, pd.Series] = {}
    for name in source.names:
        column = text[name].astype(str).str.strip()
        if name == source.outcome:
            columns[name] = _zero_one(column, source)
        elif name in source.numeric:
            columns[name] = _number(column)
        elif name in source.flags:
            columns[name] = _flag(column)
        else:
            columns[name] = column.where(column != MISSING).astype("category")
    return pd.DataFrame(columns)


def _zero_one(column: pd.Series, source: Source) -> pd.Series:
    ones = column.isin(source.positive)
    others = column[~ones].unique().tolist()
    if not ones.any() or not others or MISSING in others:
        raise InputError(
            f"the outcome {source.outcome!r} must have values among {list(source.positive)} (for "
            f"1) and others (for 0), but the others are {others[:5]} and {int(ones.sum())} rows "
            "are 1."
        )
    return ones.astype(np.int64)


def _number(column: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(column.where(column != MISSING), errors="coerce")
    wrong = column[numbers.isna() & (column != MISSING)]
    if len(wrong):
        raise InputError(
            f"column {column.name!r} must hold numbers, but has {len(wrong)} other values "
            f"(e.g. {wrong.unique()[:3].tolist()})."
        )
    return numbers


def _flag(column: pd.Series) -> pd.Series:
    lower = column.str.lower()
    wrong = column[~lower.isin([TRUE, FALSE])]
    if len(wrong):
        raise InputError(
            f"column {column.name!r} must be {TRUE!r} or {FALSE!r}, but has {len(wrong)} other "
            f"values (e.g. {wrong.unique()[:3].tolist()})."
        )
    return lower == TRUE
