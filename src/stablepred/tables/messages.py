"""Messages about tables: columns, rows and values in words, and notes on what must be said."""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablepred._text import count_noun
from stablepred._validation import warn_user
from stablepred.exceptions import InputError, TableWarning

A_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)", re.ASCII)


def check_columns(names: Sequence[Any], where: str = "") -> None:
    if odd := [name for name in names if not isinstance(name, str)]:
        raise InputError(f"names of columns must be text, but {odd[:3]} are not. Rename them.")
    if same := repeated(names):
        shown = listed([repr(name) for name in same])
        line = f" {FIRST_LINE}" if has_data_names(names) else ""
        raise InputError(f"{where}names of columns repeat: {shown}. Rename them.{line}")


def repeated(names: Sequence[str]) -> list[str]:
    return sorted(name for name, times in Counter(names).items() if times > 1)


def check_known(name: str, names: Collection[Any], what: str) -> None:
    """Raise when a column is not there, and name the nearest ones that are."""
    if name not in names:
        raise InputError(
            f"{what} {name!r} is not in the table. {nearest(name, names)}The columns are: "
            f"{listed([*names])}.{' ' + FIRST_LINE if has_data_names(names) else ''}"
        )


def not_two_values(target: str, found: str, shown: str, other: str = "") -> InputError:
    advice = f"Recode it into two values first{f', or use {other}' * bool(other)}."
    if found == "only one value":
        advice = "Check the column."
    return InputError(f"target {target!r} must have two values, but has {found}: {shown}. {advice}")


FIRST_LINE = "The first line seems to hold data; put one with names before it."


def has_data_names(names: Collection[Any]) -> bool:
    return sum(A_NUMBER.fullmatch(str(name)) is not None for name in names) > 1


def nearest(name: str, names: Collection[Any]) -> str:
    lower = {str(other).lower(): str(other) for other in names}
    close = difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(repr(lower[k]) for k in close)}? " if close else ""


def listed(names: Sequence[Any], most: int = 20) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


def shorten(text: str, most: int = 30) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


# The text of the note on each topic, in this order.
TOPICS = {
    "constant": "left out, constant",
    "text id": "left out, an id or free text",
    "few": "left out, not two values in enough rows",
    "numeric id": "probably an id, drop it unless its size means something",
    "zeros": "read as numbers though some begin with 0, as codes do",
    "comma": "read with a decimal comma",
    "thousands": "read with a mark between thousands",
    "decimals": "read as fractions, all with three decimals; they may be thousands",
    "unseen": "never seen in training, taken as rare or as none of the known values",
    "unseen average": "never seen in training, taken as an average row",
    "stray": "not finite numbers, counted as missing",
    "missing": "missing values, each column with a feature 'is missing' of its own",
    "imputed": "missing values, taken as the mean",
    "new missing": "missing here but never in training, taken as none of the known values",
    "new missing average": "missing values, too few for a feature, taken as an average row",
    "rare": "values in few rows, counted together as 'is rare'",
    "not 0/1": "only 0 and 1 in training, others taken as 1 if above 0.5",
    "outside": "far outside the numbers of training, taken as nearer",
}
LEFT_OUT = ("constant", "text id", "few")


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
    return [Note(topic, column, rows=int(rows.sum()), example=example)] if rows.any() else []


def note_lines(notes: Iterable[Note]) -> list[str]:
    """One line per topic, in the order of the topics, with the rows of each column added up."""
    lines: dict[str, dict[str, Note]] = {topic: {} for topic in TOPICS}
    for note in notes:
        same = lines[note.topic]
        rows = same[note.column].rows if note.column in same else 0
        same[note.column] = replace(same.get(note.column, note), rows=rows + note.rows)
    return [f"{TOPICS[t]}: {', '.join(map(str, s.values()))}" for t, s in lines.items() if s]


def warn_of(notes: Iterable[Note]) -> None:
    """Warn the user of what is noted, one topic at a time."""
    for line in note_lines(notes):
        warn_user(line, TableWarning)
