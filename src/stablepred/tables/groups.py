"""Rows of a table by the values of one column: one group per environment."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._text import count_noun
from stablepred.exceptions import InputError
from stablepred.tables import types
from stablepred.tables.learning import number_style
from stablepred.tables.types import FloatArray, Mask, format_value

FEW = 10  # numbers with more different values than this are cut
MOST = 50  # groups that can be compared by eye, with enough rows in each
MISSING = "(missing)"


class Groups(NamedTuple):
    """Which rows belong to each group, by name, and what was left out on the way."""

    rows: dict[str, Mask]
    notes: list[str]

    @property
    def labels(self) -> NDArray[np.object_]:
        """The name of each row's group, empty where it has none."""
        return np.select([*self.rows.values()], [*self.rows], "").astype(object)


def group_rows(column: pd.Series, bins: Sequence[float] | None = None) -> Groups:
    """Group rows by text or numbers; missing values are a group of their own.

    Group ``[a, b)`` between two edges of ``bins`` has the numbers from a up to but not b. Without
    edges, numbers with more than ten different values are cut at their quartiles.
    """
    name, kind, notes = str(column.name), types.kind_of(column), list[str]()
    numbers = types.to_numbers(column) if kind == "number" else None
    if kind == "text" and not isinstance(column.dtype, pd.CategoricalDtype):
        style, read, found = number_style(name, types.to_text(column))
        numbers = read if style else None
        notes = [f"read as fractions: {note}" for note in found if note.topic == "decimals"]
    if numbers is not None:
        if numbers.strays.any():
            rows = count_noun(int(numbers.strays.sum()), "row")
            notes.append(
                f"not finite numbers, in group {MISSING}: {rows}, e.g. {numbers.example!r}"
            )
        missing, masks = ~numbers.finite, _cut(name, numbers.known, bins, notes)
    elif bins is not None:
        raise InputError(f"bins cut numbers, but column {name!r} holds text. Leave the bins out.")
    else:
        text = types.to_categories(column)
        missing, values = text.missing, text.values
        if len(values) > MOST:
            raise InputError(
                f"column {name!r} has {len(values):,} different values, too many to be "
                f"environments (at most {MOST}). Choose a coarser column, or numbers with bins."
            )
        masks = {value: text.codes == k for k, value in enumerate(values)}
    if missing.any():
        masks[MISSING] = missing | masks.get(MISSING, False)
    return Groups(masks, notes)


def _cut(
    name: str, values: FloatArray, bins: Sequence[float] | None, notes: list[str]
) -> dict[str, Mask]:
    """The rows between the edges; the last of the quartiles has its upper edge."""
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if bins is None and len(distinct) <= FEW:
        return {str(format_value(value)): values == value for value in distinct}
    edges = np.unique(np.quantile(known, [0, 0.25, 0.5, 0.75, 1])) if bins is None else bins
    edges = np.asarray(edges, dtype=np.float64)
    if len(edges) < 2 or not np.isfinite(edges).all() or not (np.diff(edges) > 0).all():
        raise InputError(
            "bins must be two or more rising numbers, for example 20,30,40, but are "
            f"{edges.tolist()}."
        )
    shown = [f"{edge:g}" for edge in edges]
    if len(set(shown)) < len(edges):  # six digits do not tell them apart
        shown = [str(format_value(edge)) for edge in edges]
    names = [f"[{low}, {high})" for low, high in pairwise(shown)]
    index = np.searchsorted(edges, values, side="right") - 1
    if bins is None:
        index[values == edges[-1]] -= 1
        names[-1] = names[-1][:-1] + "]"
    masks = {group: index == k for k, group in enumerate(names) if (index == k).any()}
    if not masks and len(known):
        raise InputError(
            f"no row of {name!r} lies in the bins {','.join(shown)}; it goes from "
            f"{known.min():g} to {known.max():g}."
        )
    notes += [f"no rows in {group}" for group in names if group not in masks]
    if outside := len(known) - sum(int(rows.sum()) for rows in masks.values()):
        notes.append(f"outside the bins, left out: {count_noun(outside, 'row')}")
    return masks
