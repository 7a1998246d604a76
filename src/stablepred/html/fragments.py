"""Pieces of HTML for notebooks."""

from html import escape

import pandas as pd

from stablepred._text import printable

MOST_ROWS = 60  # as pandas shows of a frame


def table(frame: pd.DataFrame, caption: str, *, index: bool = True, decimals: int = 4) -> str:
    """A sentence above a table, for ``_repr_html_``; everything in both is text."""
    shown = frame.rename(index=_clean, columns=_clean).map(_clean)
    numbers = f"{{:.{decimals}f}}".format
    written = shown.to_html(index=index, float_format=numbers, na_rep="–", max_rows=MOST_ROWS)
    lines = "<br>".join(escape(printable(line)) for line in caption.splitlines())
    return f"<div><p>{lines}</p>{written}</div>"


def _clean(value: object) -> object:
    return printable(value) if isinstance(value, str) else value
