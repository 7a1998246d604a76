"""Rows of a table by the values of one column: one group per environment."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._text import count_noun
from stablepred.exceptions import InputError
from stablepred.tables.learning import number_style
from stablepred.tables.types import Mask, format_value, kind_of, to_categories, to_numbers, to_text

FEW = 10  # numbers with more different values than this are cut
MOST = 50  # groups that can be compared by eye, with enough rows in each
MISSING = "(missing)"


@dataclass(frozen=True)
class Groups:
    """Which rows belong to each group, by name, and what was left out on the way."""

    rows: dict[str, Mask]
    notes: list[str]

    @property
    def labels(self) -> NDArray[np.object_]:
        """The name of each row's group, empty where it has none."""
        (size,) = {len(rows) for rows in self.rows.values()}
        found = np.full(size, "", dtype=object)
        for name, rows in self.rows.items():
            found[rows] = name
        return found


def group_rows(column: pd.Series, bins: Sequence[float] | None = None) -> Groups:
    """Group rows by text or numbers; missing values are a group of their own.

    Group ``[a, b)`` between two edges of ``bins`` has the numbers from a up to but not b. Without
    edges, numbers with more than ten different values are cut at their quartiles.
    """
    kind, notes = kind_of(column), list[str]()
    numbers = to_numbers(column) if kind == "number" else None
    if kind == "text" and not isinstance(column.dtype, pd.CategoricalDtype):
        style, read, found = number_style(str(column.name), to_text(column))
        numbers = read if style else None
        notes = [f"read as fractions: {note}" for note in found if note.topic == "decimals"]
    if numbers is None:
        if bins is not None:
            raise InputError(
                f"bins cut numbers, but column {column.name!r} holds text. Leave the bins out."
            )
        texts = to_categories(column)
        if len(texts.values) > MOST:
            raise InputError(
                f"column {column.name!r} has {len(texts.values):,} different values, too many to "
                f"be environments (at most {MOST}). Choose a coarser column, or numbers with bins."
            )
        masks = {value: texts.codes == k for k, value in enumerate(texts.values)}
        return Groups(_with_missing(masks, texts.missing), [])
    if numbers.strays.any():
        rows = count_noun(int(numbers.strays.sum()), "row")
        notes.append(f"not finite numbers, in group {MISSING}: {rows}, e.g. {numbers.example!r}")
    values = np.where(numbers.finite, numbers.values, np.nan)
    missing = np.isnan(values)
    known = values[~missing]
    distinct = np.unique(known)
    if bins is None and len(distinct) <= FEW:
        masks = {str(format_value(value)): values == value for value in distinct}
        return Groups(_with_missing(masks, missing), notes)
    edges = np.unique(np.quantile(known, [0, 0.25, 0.5, 0.75, 1])) if bins is None else bins
    edges = np.asarray(edges, dtype=np.float64)
    if len(edges) < 2 or not np.isfinite(edges).all() or not (np.diff(edges) > 0).all():
        raise InputError(
            "bins must be two or more rising numbers, for example 20,30,40, but are "
            f"{edges.tolist()}."
        )
    index = np.searchsorted(edges, values, side="right") - 1
    shown = [f"{edge:g}" for edge in edges]
    if len(set(shown)) < len(edges):  # six digits do not tell them apart
        shown = [str(format_value(edge)) for edge in edges]
    names = [f"[{low}, {high})" for low, high in pairwise(shown)]
    if bins is None:  # the last quartile has its upper edge
        index[values == edges[-1]] -= 1
        names[-1] = names[-1][:-1] + "]"
    masks = {name: index == k for k, name in enumerate(names) if (index == k).any()}
    if not masks and len(known):
        raise InputError(
            f"no row of {str(column.name)!r} lies in the bins {','.join(shown)}; it goes from "
            f"{known.min():g} to {known.max():g}."
        )
    notes += [f"no rows in {name}" for name in names if name not in masks]
    outside = int((~missing & ((index < 0) | (index > len(edges) - 2))).sum())
    if outside:
        notes.append(f"outside the bins, left out: {count_noun(outside, 'row')}")
    return Groups(_with_missing(masks, missing), notes)


def _with_missing(rows: dict[str, Mask], missing: Mask) -> dict[str, Mask]:
    return rows | {MISSING: missing | rows.get(MISSING, False)} if missing.any() else rows
