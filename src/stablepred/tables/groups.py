"""Rows of a table by the values of one column: one group per environment."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.exceptions import InputError
from stablepred.tables.columns import number_style
from stablepred.tables.messages import in_rows
from stablepred.tables.types import Mask, format_value, kind_of, to_categories, to_numbers, to_text

# Numbers with more different values than this are cut.
FEW = 10
# More groups than this cannot be compared by eye, nor with enough rows in each.
MOST = 50
MISSING = "(missing)"


@dataclass(frozen=True)
class Groups:
    """Which rows belong to each group, by name, and what was left out on the way."""

    rows: dict[str, Mask]
    notes: list[str]


def group_rows(column: pd.Series, bins: Sequence[float] | None = None) -> Groups:
    """Group rows by the values of a column.

    Parameters
    ----------
    column : Series
        Text, or numbers. Missing values are a group of their own.
    bins : sequence of float, optional
        Edges; group ``[a, b)`` has the numbers from a up to but not b. Without edges, numbers with
        more than ten different values are cut at their quartiles.

    Returns
    -------
    Groups
    """
    values, notes = _numbers(column)
    if bins is not None:
        if values is None:
            raise InputError(
                f"bins cut numbers, but column {column.name!r} holds text. Leave the bins out."
            )
        return _between(values, _edges(bins), notes, closed=False)
    if values is None:
        return _by_text(column)
    distinct = np.unique(values[~np.isnan(values)])
    if len(distinct) > FEW:
        edges = np.unique(np.nanquantile(values, [0, 0.25, 0.5, 0.75, 1]))
        return _between(values, edges, notes, closed=True)
    rows = {str(format_value(value)): values == value for value in distinct}
    return Groups(_with_missing(rows, np.isnan(values)), notes)


def _numbers(column: pd.Series) -> tuple[NDArray[np.float64] | None, list[str]]:
    """The values of a column of numbers, NaN where there is none; and what was assumed."""
    kind, text, style, notes = kind_of(column), None, "point", []
    if kind == "text" and not isinstance(column.dtype, pd.CategoricalDtype):
        text = to_text(column)
        style, found = number_style(column, text)
        notes = [f"read as fractions: {note}" for note in found if note.topic == "decimals"]
    if not (kind == "number" or (text is not None and style)):
        return None, []
    numbers = to_numbers(column, style, text)
    if numbers.strays.any():
        rows = in_rows(int(numbers.strays.sum()))
        notes.append(f"not finite numbers, in group {MISSING}: {rows}, e.g. {numbers.example!r}")
    return np.where(numbers.finite, numbers.values, np.nan), notes


def _edges(bins: Sequence[float]) -> NDArray[np.float64]:
    edges = np.asarray(bins, dtype=np.float64)
    if len(edges) < 2 or not np.isfinite(edges).all() or not (np.diff(edges) > 0).all():
        raise InputError(
            f"bins must be two or more rising numbers, for example 20,30,40, but are {list(bins)}."
        )
    return edges


def _between(
    values: NDArray[np.float64], edges: NDArray[np.float64], notes: list[str], *, closed: bool
) -> Groups:
    """Groups between neighbouring edges; ``closed`` where the last edge belongs to one."""
    rows, missing = {}, np.isnan(values)
    inside = missing.copy()
    shown = [f"{edge:g}" for edge in edges]
    if len(set(shown)) < len(edges):  # six digits do not tell them apart
        shown = [str(format_value(edge)) for edge in edges]
    for (low, high), (left, right) in zip(pairwise(edges), pairwise(shown), strict=True):
        last = closed and high == edges[-1]
        mask = (values >= low) & ((values <= high) if last else (values < high))
        name = f"[{left}, {right}{']' if last else ')'}"
        inside |= mask
        if mask.any():
            rows[name] = mask
        else:
            notes.append(f"no rows in {name}")
    if not inside.all():
        notes.append(f"outside the bins, left out: {in_rows(int((~inside).sum()))}")
    return Groups(_with_missing(rows, missing), notes)


def _by_text(column: pd.Series) -> Groups:
    found = to_categories(column)
    if len(found.values) > MOST:
        raise InputError(
            f"column {column.name!r} has {len(found.values):,} different values, too many to be "
            f"environments (at most {MOST}). Choose a coarser column, or numbers with bins."
        )
    rows = {value: found.codes == k for k, value in enumerate(found.values)}
    return Groups(_with_missing(rows, found.missing), [])


def _with_missing(rows: dict[str, Mask], missing: Mask) -> dict[str, Mask]:
    if not missing.any():
        return rows
    return rows | {MISSING: missing | rows.get(MISSING, np.zeros(len(missing), dtype=bool))}
