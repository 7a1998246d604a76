"""Reports as text and as pieces of HTML for notebooks."""

from html import escape
from typing import Any

import pandas as pd

from stablepred._text import printable

MOST_ROWS = 60  # as pandas shows of a frame
SHOWN = 10  # rows in a printed report


class Report:
    """What prints as text; in a notebook, as a verdict above a table of ``errors``."""

    errors: pd.DataFrame
    verdict: Any

    def to_frame(self) -> pd.DataFrame:
        """A copy of the table."""
        return self.errors.copy()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return table(self.to_frame(), self.verdict)


def first_lines(frame: pd.DataFrame, **options: Any) -> list[str]:
    lines = [frame.head(SHOWN).round(4).to_string(**options)]
    return lines + [f"... and {len(frame) - SHOWN} more features"] * (len(frame) > SHOWN)


def table(frame: pd.DataFrame, caption: str, *, index: bool = True) -> str:
    """A sentence above a table, for ``_repr_html_``; everything in both is text."""
    shown = frame.rename(index=_clean, columns=_clean).map(_clean)
    options: Any = {"float_format": "{:.4f}".format, "na_rep": "–", "max_rows": MOST_ROWS}
    written = shown.to_html(index=index, **options)
    lines = "<br>".join(escape(printable(line)) for line in caption.splitlines())
    return f"<div><p>{lines}</p>{written}</div>"


def _clean(value: object) -> object:
    return printable(value) if isinstance(value, str) else value
