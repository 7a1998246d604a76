"""Rows of a table by the values of one column: one group per environment."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.exceptions import InputError
from stablepred.tables.columns import in_rows, number_style
from stablepred.tables.values import numbers, text_of, texts, type_of

Mask = NDArray[np.bool_]

# Numbers with more different values than this are cut.
FEW = 10
# More groups than this cannot be compared by eye, nor with enough rows in each.
MOST = 50


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
        Texts, or numbers. Missing values are a group of their own.
    bins : sequence of float, optional
        Edges; group ``[a, b)`` has the numbers from a up to but not b. Without edges, numbers with
        more than ten different values are cut at their quartiles.

    Returns
    -------
    Groups
    """
    is_number = type_of(column) == "number" or (
        type_of(column) == "text" and number_style(column) != ""
    )
    if bins is not None:
        if not is_number:
            raise InputError(
                f"--bins cuts numbers, but column {column.name!r} holds texts. Leave --bins out."
            )
        return _between(_values(column), _edges(bins), closed=False)
    if is_number:
        values = _values(column)
        distinct = np.unique(values[~np.isnan(values)])
        if len(distinct) > FEW:
            edges = np.unique(np.nanquantile(values, [0, 0.25, 0.5, 0.75, 1]))
            return _between(values, edges, closed=True)
        rows = {str(text_of(value)): values == value for value in distinct}
        return Groups(rows | _missing(np.isnan(values)), [])
    return _by_text(column)


def _values(column: pd.Series) -> NDArray[np.float64]:
    style = number_style(column) if type_of(column) == "text" else "point"
    found = numbers(column, style)
    return np.where(found.finite, found.values, np.nan)


def _edges(bins: Sequence[float]) -> NDArray[np.float64]:
    edges = np.asarray(bins, dtype=np.float64)
    if len(edges) < 2 or not np.isfinite(edges).all() or not (np.diff(edges) > 0).all():
        raise InputError(
            f"--bins must be two or more rising numbers, for example 20,30,40, but is {list(bins)}."
        )
    return edges


def _between(values: NDArray[np.float64], edges: NDArray[np.float64], *, closed: bool) -> Groups:
    """Groups between neighbouring edges; ``closed`` says that the last edge belongs to one."""
    rows, notes = {}, []
    inside = np.isnan(values)
    for low, high in pairwise(edges):
        last = closed and high == edges[-1]
        mask = (values >= low) & ((values <= high) if last else (values < high))
        name = f"[{low:g}, {high:g}{']' if last else ')'}"
        inside |= mask
        if mask.any():
            rows[name] = mask
        else:
            notes.append(f"no rows in {name}")
    if not inside.all():
        notes.append(f"outside the bins, left out: {in_rows(int((~inside).sum()))}")
    return Groups(rows | _missing(np.isnan(values)), notes)


def _by_text(column: pd.Series) -> Groups:
    found = texts(column)
    if len(found.values) > MOST:
        raise InputError(
            f"column {column.name!r} has {len(found.values):,} different values, too many to be "
            f"environments (at most {MOST}). Choose a coarser column, or numbers with --bins."
        )
    rows = {value: found.codes == k for k, value in enumerate(found.values)}
    return Groups(rows | _missing(found.missing), [])


def _missing(mask: Mask) -> dict[str, Mask]:
    return {"(missing)": mask} if mask.any() else {}
