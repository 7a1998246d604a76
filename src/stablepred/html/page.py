"""A page: verdict, numbers, sections of figures and tables, rendered into one HTML file."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from stablepred._extras import require
from stablepred._text import label, number
from stablepred._version import __version__
from stablepred.exceptions import InputError
from stablepred.io.atomic import write_file

Format = Callable[[Any], str]


class Figure(NamedTuple):
    """A picture with its caption."""

    drawing: str  # SVG that is safe as it is
    caption: str


class Table(NamedTuple):
    """Rows of cells, the first of which is a name; the last ``summary`` rows are summaries."""

    caption: str
    columns: Sequence[str]  # none in a list of names with their values
    rows: Sequence[Sequence[str]]
    summary: int = 0


Block = Figure | Table


class Section(NamedTuple):
    """A finding as title, some sentences, and rows of one or two blocks side by side."""

    key: str
    name: str
    title: str
    text: Sequence[str]
    rows: Sequence[Sequence[Block]]


class Page(NamedTuple):
    """All that is on a page."""

    title: str
    verdict: str
    numbers: Sequence[tuple[str, str, str]]  # the few that stand out: name, value, remark
    sections: Sequence[Section]
    made: str  # date and time


def table_of(
    frame: pd.DataFrame,
    caption: str,
    formats: Mapping[str, Format] | None = None,
    summary: int = 0,
) -> Table:
    """A table from a frame, whose index names the rows; numbers have three decimals."""
    chosen = [(formats or {}).get(str(column), _plain) for column in frame.columns]
    rows = [
        [label(name), *(write(value) for write, value in zip(chosen, values, strict=True))]
        for name, *values in frame.itertuples(name=None)
    ]
    corner = label(frame.index.name) if frame.index.name else ""
    return Table(caption, [corner, *map(label, frame.columns)], rows, summary)


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    return label(value) if value != "" else ""


def render(page: Page) -> str:
    """The page as HTML: no script, no address outside of it."""
    jinja2 = require("jinja2", "an HTML page")
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("stablepred", "html"),
        autoescape=True,  # everything is escaped that is not a drawing of ours
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return str(templates.get_template("page.html.jinja").render(page=page, version=__version__))


def write_page(page: Page, path: str | os.PathLike[str]) -> None:
    """Write the page to a file, completely or not at all."""
    try:
        write_file(path, render(page).encode(errors="replace"))
    except OSError as error:
        raise InputError(
            f"the report cannot be written to {os.fspath(path)}: {error.strerror}. Choose a folder "
            "that exists and can be written."
        ) from error
