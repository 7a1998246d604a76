"""The chart of all pages: rows of marks over one scale, and how methods look in it."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

from stablepred._text import Label, label
from stablepred.html.svg import (
    WIDTH,
    Drawing,
    Scale,
    element,
    join_points,
    line,
    mark,
    name_within,
    text,
    text_width,
)

ROOM_FOR_NAMES = 140.0
MOST_ROWS = 40  # nobody reads more; a table holds the rest

LegendItem = tuple[Label, Drawing]


Style = tuple[str, str]  # shape of the marks of a method, class of its colour
ROLES: dict[str, Style] = {
    "model": ("circle", "c-model"),
    "LR": ("square", "c-lr"),
    "ridge": ("square", "c-lr"),
    "constant": ("cross", "c-constant"),
    "oracle": ("diamond", "c-oracle"),
}
BASELINES = [("triangle", "c-1"), ("down", "c-2"), ("square", "c-3"), ("diamond", "c-4")]


def method_styles(roles: Mapping[str, str]) -> dict[str, Style]:
    """A style for each method by its role: model, LR, constant, oracle, or baseline."""
    baselines = cycle(BASELINES)
    return {name: ROLES.get(role) or next(baselines) for name, role in roles.items()}


def legend_item(name: str, shape: str, colour: str, stroke: str = "") -> LegendItem:
    """An entry of a legend: a name, and a mark, a piece of line, or a mark on a line."""
    parts = [line(1, 7, 25, 7, f"{stroke} {colour}")] if stroke else []
    parts += [mark(shape, 13, 7, colour)] if shape else []
    attributes = {"viewBox": "0 0 26 14", "class": "swatch", "aria-hidden": "true"}
    return label(name, 40), element("svg", *parts, **attributes)


class Mark(NamedTuple):
    """A value in a row, with an interval where it has one."""

    value: float
    shape: str
    colour: str
    hint: str = ""
    low: float = math.nan
    high: float = math.nan


class Row(NamedTuple):
    """A name and its marks; ``span`` is a quiet line behind them."""

    name: str
    marks: Sequence[Mark]
    span: tuple[float, float] | None = None


def row_chart(
    rows: Sequence[Row],
    title: str,
    description: str,
    *,
    zero: bool = False,
    joined: bool = False,
    reference: tuple[float, str] | None = None,
) -> Drawing:
    """Rows of marks over one horizontal scale, from top to bottom.

    With ``zero`` the scale holds zero; with ``joined`` a line runs through the first marks of all
    rows, the second ones and so on; ``reference`` is a value to compare with, and its name.
    ``description`` is for screen readers.
    """
    left = 4 + max(text_width(name_within(row.name, ROOM_FOR_NAMES)) for row in rows)
    height = 24.0 if len(rows) <= 12 else 18.0
    top = 20.0 if reference else 6.0
    bottom = top + height * len(rows)
    values = [v for row in rows for m in row.marks for v in (m.value, m.low, m.high)]
    values += [v for row in rows for v in (row.span or ())] + [0.0] * zero
    scale = Scale.over([*values, *(reference[:1] if reference else ())], left + 8, WIDTH - 14)
    parts = _axis(scale, top, bottom, title)
    if reference:
        x = scale(reference[0])
        anchor, shift = ("end", -4) if x > WIDTH * 0.6 else ("start", 4)
        parts.append(line(x, top - 4, x, bottom, "zero"))
        parts.append(text(x + shift, top - 8, reference[1], "tick", anchor))
    heights = [top + height * (k + 0.5) for k in range(len(rows))]
    if joined:
        for marks in zip(*(row.marks for row in rows), strict=True):
            points = join_points((scale(m.value), y) for m, y in zip(marks, heights, strict=True))
            parts.append(element("polyline", points=points, class_=f"thin {marks[0].colour}"))
    for row, y in zip(rows, heights, strict=True):
        parts += _draw_row(row, scale, y, left)
    box = f"0 0 {WIDTH:g} {bottom + 40:g}"
    attributes = {"viewBox": box, "class": "chart", "role": "img", "aria-label": description}
    return element("svg", *parts, **attributes)


def _axis(scale: Scale, top: float, bottom: float, title: str) -> list[Drawing]:
    """Grid lines with their numbers below, and what they are; zero stands out."""
    parts = []
    for value, tick in scale.ticks:
        x = scale(value)
        parts.append(line(x, top, x, bottom, "grid" if value else "zero"))
        parts.append(text(x, bottom + 15, tick, "tick", "middle"))
    middle, cut = (scale.start + scale.end) / 2, name_within(title, scale.end - scale.start)
    return [*parts, text(middle, bottom + 32, cut, "axis", "middle")]


def _draw_row(row: Row, scale: Scale, y: float, left: float) -> list[Drawing]:
    name = name_within(row.name, ROOM_FOR_NAMES)
    parts = [text(left, y + 4, name, "name", "end", name.whole if name != name.whole else "")]
    if row.span:
        parts.append(line(scale(row.span[0]), y, scale(row.span[1]), y, "span"))
    for m in row.marks:
        if math.isfinite(m.value):
            if math.isfinite(m.low) and math.isfinite(m.high):
                parts.append(line(scale(m.low), y, scale(m.high), y, f"whisker {m.colour}"))
            parts.append(mark(m.shape, scale(m.value), y, m.colour, m.hint))
    return parts
