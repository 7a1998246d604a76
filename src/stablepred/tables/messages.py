"""Parts of messages about tables: columns, rows and values in words."""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablepred._text import count_noun
from stablepred.exceptions import InputError

A_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)", re.ASCII)


def check_columns(names: Sequence[Any], where: str = "") -> None:
    """Raise when names of columns are not strings, or repeat."""
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise InputError(f"names of columns must be text, but {odd[:3]} are not. Rename them.")
    if same := repeated(names):
        shown = listed([repr(name) for name in same])
        line = f" {FIRST_LINE}" if has_data_names(names) else ""
        raise InputError(f"{where}names of columns repeat: {shown}. Rename them.{line}")


def repeated(names: Sequence[str]) -> list[str]:
    """The names that are there more than once."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def check_known(name: str, names: Collection[Any], what: str) -> None:
    """Raise when a column is not there, and name the nearest ones that are."""
    if name not in names:
        raise InputError(
            f"{what} {name!r} is not in the table. {nearest(name, names)}The columns are: "
            f"{listed([*names])}.{' ' + FIRST_LINE if has_data_names(names) else ''}"
        )


def not_two_values(target: str, found: str, shown: Sequence[str], other: str = "") -> InputError:
    """The error for an outcome of one value, or of more than two."""
    one = found == "only one value"
    return InputError(
        f"target {target!r} must have two values, but has {found}: {', '.join(shown)}. "
        + ("Check the column." if one else "Recode it into two values first")
        + ("" if one else f", or use {other}." if other else ".")
    )


FIRST_LINE = "The first line seems to hold data; put one with names before it."


def has_data_names(names: Collection[Any]) -> bool:
    """Whether the names of columns look like a row of data."""
    return sum(A_NUMBER.fullmatch(str(name)) is not None for name in names) > 1


def nearest(name: str, names: Collection[Any]) -> str:
    """Ask whether one of the nearest names was meant."""
    lower = {str(other).lower(): str(other) for other in names}
    close = difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(repr(lower[k]) for k in close)}? " if close else ""


def listed(names: Sequence[Any], most: int = 20) -> str:
    """Names in one line, not too many."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


def shorten(text: str, most: int = 30) -> str:
    """A string for a message."""
    return text if len(text) <= most else text[: most - 3] + "..."


@dataclass(frozen=True)
class Note:
    """Something about a column that must not be silent, in how many rows, and one example."""

    topic: str
    column: str
    detail: str = ""
    rows: int = 0
    example: str = ""

    def __str__(self) -> str:
        parts = [self.detail, count_noun(self.rows, "row") if self.rows else ""]
        parts.append(f"e.g. {shorten(self.example)!r}" if self.example else "")
        detail = ", ".join(filter(None, parts))
        return f"{self.column} ({detail})" if detail else self.column


def note_rows(topic: str, column: str, rows: NDArray[np.bool_], example: str = "") -> list[Note]:
    """A note on some rows of a column, if there are any."""
    return [Note(topic, column, rows=int(rows.sum()), example=example)] if rows.any() else []
