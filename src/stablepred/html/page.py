"""A page: verdict, numbers, sections of figures and tables, rendered into one HTML file.

Displays are inline SVG that takes its font and its neutral colours from the page.
"""

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import matplotlib.figure
import matplotlib.style
import pandas as pd

from stablepred._extras import require
from stablepred._text import label, labels, number, printable
from stablepred._version import __version__
from stablepred.plotting.rows import MOST_ROWS, Display

WIDTH = 380  # of all figures, in points: they scale with the page, and so does their text
# Colours of the style sheet by day, which the page replaces by its own.
NEUTRAL = {"#1c2025": "ink", "#5a626d": "quiet", "#dfe0db": "rule", "#fdfdfb": "page"}
INK, QUIET, RULE, PAGE = NEUTRAL
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": QUIET,
    "xtick.color": QUIET,
    "ytick.color": INK,
    "axes.edgecolor": QUIET,
    "grid.color": RULE,
    "axes.facecolor": PAGE,
}

Format = Callable[[Any], str]


class Block(NamedTuple):
    """A picture, or rows of cells, the first of which is a name, with a caption."""

    caption: str
    drawing: str = ""  # SVG that is safe as it is
    columns: Sequence[str] = ()  # none in a list of names with their values
    rows: Sequence[Sequence[str]] = ()
    summary: int = 0  # how many of the last rows are summaries


class Section(NamedTuple):
    """A finding as title, some sentences, and rows of one or two blocks side by side."""

    key: str
    name: str
    title: str
    text: Sequence[str]
    rows: Sequence[Sequence[Block]]


class Page(NamedTuple):
    title: str
    verdict: str  # in plain words
    details: Sequence[str]  # the same with numbers
    numbers: Sequence[tuple[str, str, str]]  # the few that stand out: name, value, remark
    sections: Sequence[Section]
    made: str  # date and time


def make_table(
    frame: pd.DataFrame,
    caption: str,
    formats: Mapping[str, Format] | None = None,
    summary: int = 0,
) -> Block:
    """A table from a frame, whose index names the rows; numbers have three decimals."""
    chosen = [(formats or {}).get(str(column), _plain) for column in frame.columns]
    rows = [
        [name, *(write(value) for write, value in zip(chosen, values, strict=True))]
        for name, values in zip(labels(frame.index), frame.itertuples(False, None), strict=True)
    ]
    corner = label(frame.index.name) if frame.index.name else ""
    return Block(caption, "", [corner, *map(label, frame.columns)], rows, summary)


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    return label(value) if value != "" else ""


def make_figure(
    draw: Callable[[Any], Display], description: str, caption: str, n_rows: int = 0
) -> Block:
    """A figure of what ``draw`` draws on axes of its own; ``description`` is for screen readers.

    ``n_rows`` is how many rows there are to draw. The SVG comes without styles, clips and ids that
    would meet the page's own.
    """
    if n_rows > MOST_ROWS:
        caption += f" Only the {MOST_ROWS} largest of {n_rows:,} are drawn."
    written = io.StringIO()
    own = STYLE | {"svg.hashsalt": description}  # the same file every time
    with matplotlib.style.context(["default", own]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the browser has its own fonts
        figure = matplotlib.figure.Figure(figsize=(WIDTH / 72, 3), layout="constrained")
        figure.set_figheight(draw(figure.subplots()).height_)
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(written, format="svg", transparent=True, metadata=nothing)
    svg = written.getvalue()  # matplotlib escapes all text
    svg = svg[svg.index("<svg") :]
    (box,) = re.findall(r'viewBox="[^"]*"', svg[: svg.index(">")])
    attributes = f'class="chart" role="img" aria-label="{escape(printable(description))}"'
    svg = f"<svg {box} {attributes}{svg[svg.index('>') :]}"
    svg = re.sub(r"<defs>\s*<(style|clipPath).*?</defs>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' clip-path="[^"]*"|(?<=<g) id="[^"]*"', "", svg)
    svg = re.sub(r"(font: [\d.]+px|font-family:) [^;\"]*", r"\1 var(--sans)", svg)
    for colour, name in NEUTRAL.items():
        svg = svg.replace(colour, f"var(--{name})")
    return Block(caption, svg)


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
