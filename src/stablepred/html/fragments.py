"""Pieces of HTML for notebooks."""

from html import escape

import pandas as pd

from stablepred._text import printable


def table(frame: pd.DataFrame, caption: str, *, index: bool = True, decimals: int = 4) -> str:
    """A sentence above a table, for ``_repr_html_``; everything in both is text."""
    shown = frame.rename(index=_clean, columns=_clean).map(_clean)
    written = shown.to_html(index=index, float_format=f"{{:.{decimals}f}}".format, na_rep="–")
    lines = "<br>".join(escape(printable(line)) for line in caption.splitlines())
    return f"<div><p>{lines}</p>{written}</div>"


def _clean(value: object) -> object:
    return printable(value) if isinstance(value, str) else value
