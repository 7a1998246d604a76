"""Displays as inline SVG that takes its font and its neutral colours from the page."""

import io
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import Any

from matplotlib import style
from matplotlib.figure import Figure

from stablepred._text import printable
from stablepred.html.page import Figure as Picture
from stablepred.plotting.rows import MOST_ROWS, Display

WIDTH = 380  # of all figures, in points: they scale with the page, and so does their text
# Colours of the style sheet by day, which the page replaces by its own.
NEUTRAL = {"#1c2025": "ink", "#5a626d": "quiet", "#dfe0db": "rule", "#fdfdfb": "page"}
INK, QUIET, RULE, PAGE = NEUTRAL
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text
    "font.size": 11,
    "axes.labelsize": 11,
    "xtick.labelsize": 11,
    "text.color": INK,
    "axes.labelcolor": QUIET,
    "xtick.color": QUIET,
    "axes.edgecolor": QUIET,
    "grid.color": RULE,
    "axes.facecolor": PAGE,
}


def make_figure(
    draw: Callable[[Any], Display], description: str, caption: str, n_rows: int = 0
) -> Picture:
    """A figure of what ``draw`` draws on axes of its own; ``description`` is for screen readers.

    ``n_rows`` is how many rows there are to draw.
    """
    if n_rows > MOST_ROWS:
        caption += f" Only the {MOST_ROWS} largest of {n_rows:,} are drawn."
    return Picture(inline_svg(draw, description), caption)


def inline_svg(draw: Callable[[Any], Display], description: str) -> str:
    """What ``draw`` draws, as SVG."""
    written = io.StringIO()
    own = STYLE | {"svg.hashsalt": description}  # the same file every time
    with style.context(["default", own]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the browser has its own fonts
        figure = Figure(figsize=(WIDTH / 72, 3), layout="constrained")
        figure.set_figheight(draw(figure.subplots()).height_)
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(written, format="svg", transparent=True, metadata=nothing)
    attributes = f'class="chart" role="img" aria-label="{escape(printable(description))}"'
    return _suit_page(written.getvalue(), attributes)  # matplotlib escapes all text


def _suit_page(svg: str, attributes: str) -> str:
    """An SVG file as part of a page: no styles, clips and ids that would meet the page's own."""
    svg = svg[svg.index("<svg") :]
    (box,) = re.findall(r'viewBox="[^"]*"', svg[: svg.index(">")])
    svg = f"<svg {box} {attributes}{svg[svg.index('>') :]}"
    svg = re.sub(r"<defs>\s*<(style|clipPath).*?</defs>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' clip-path="[^"]*"|(?<=<g) id="[^"]*"', "", svg)
    svg = re.sub(r"(font: [\d.]+px|font-family:) [^;\"]*", r"\1 var(--sans)", svg)
    for colour, name in NEUTRAL.items():
        svg = svg.replace(colour, f"var(--{name})")
    return svg
