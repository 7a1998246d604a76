"""Charts with axes: lines, scatter, histogram, and rows of marks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stablepred._text import number, percent
from stablepred.html.palette import Style
from stablepred.html.svg import (
    TEXT,
    WIDTH,
    Drawing,
    Scale,
    chart,
    compact,
    element,
    group,
    line,
    mark,
    name_text,
    name_within,
    polyline,
    round_step,
    scale_over,
    text,
    text_width,
    x_axis,
    y_axis,
)

LEFT, RIGHT, TOP = 42.0, WIDTH - 12, 30.0
BELOW = 40.0  # room for the horizontal axis
ROOM_FOR_NAMES = 140.0
MOST_MARKS = 25  # a line with more points than this has no marks
MOST_ROWS = 40  # nobody reads more; a table holds the rest

Titles = tuple[str, str]  # of the horizontal and of the vertical axis
Reference = tuple[float, str]  # a value to mark, and its name
Interval = tuple[float, float]
Box = tuple[float, float, float, float]


def _reference_line(
    scale: Scale, reference: Reference, top: float, bottom: float, y: float
) -> list[Drawing]:
    """A vertical line at a value, with its name at height ``y`` on the side where there is room."""
    x = scale(reference[0])
    anchor, shift = ("end", -4) if x > WIDTH * 0.6 else ("start", 4)
    return [line(x, top, x, bottom, "zero"), text(x + shift, y, reference[1], anchor, "tick")]


# --- lines --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Series:
    """One line, with a band where it has an interval."""

    name: str
    values: Sequence[float]
    style: Style
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def line_chart(
    xs: Sequence[float],
    series: Sequence[Series],
    titles: Titles,
    description: str,
    reference: Reference | None = None,
) -> Drawing:
    """Lines over ``xs``, the first series on top; zero is on the vertical axis."""
    height, bottom = 290.0, 290.0 - BELOW
    heights = [v for s in series for v in (*s.values, *(s.low or ()), *(s.high or ()))]
    across = scale_over([*xs, *(reference[:1] if reference else ())], LEFT, RIGHT)
    up = scale_over([0.0, *heights], bottom, TOP)
    parts = [*y_axis(up, LEFT, RIGHT, titles[1]), *x_axis(across, bottom, bottom, titles[0])]
    if reference:
        parts += _reference_line(across, reference, TOP, bottom, TOP + 10)
    parts += [_draw_series(xs, one, across, up) for one in reversed(series)]
    return chart(height, parts, description)


def _draw_series(xs: Sequence[float], one: Series, across: Scale, up: Scale) -> Drawing:
    style, parts = one.style, []
    if one.low is not None and one.high is not None:
        corners = [*zip(xs, one.low, strict=True), *reversed([*zip(xs, one.high, strict=True)])]
        path = " ".join(f"{compact(across(x))},{compact(up(y))}" for x, y in corners)
        parts.append(element("polygon", points=path, class_="band"))
    points = [(across(x), up(y), y) for x, y in zip(xs, one.values, strict=True)]
    points = [point for point in points if math.isfinite(point[2])]
    parts.append(polyline([point[:2] for point in points], f"{style.stroke} {style.colour}"))
    if len(points) <= MOST_MARKS:
        size = 4.2 if style.stroke == "thick" else 3.4
        for x, y, value in points:
            hint = f"{one.name}: {number(value)}"
            parts.append(mark(style.shape, x, y, style.colour, hint, size))
    return group(parts, class_=style.colour)


# --- scatter ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """A named point, with intervals in both directions where it has them."""

    name: str
    x: float
    y: float
    style: Style
    across: Interval | None = None
    up: Interval | None = None


def scatter_chart(
    points: Sequence[Point],
    path: Sequence[tuple[float, float]],
    titles: Titles,
    description: str,
) -> Drawing:
    """Points with their names, beside a dashed path; the first point is drawn on top."""
    height, bottom = 320.0, 320.0 - BELOW
    xs = [x for x, _ in path] + [v for p in points for v in (p.x, *(p.across or ()))]
    ys = [y for _, y in path] + [v for p in points for v in (p.y, *(p.up or ()))]
    across = scale_over([0.0, *xs], LEFT, RIGHT)
    # Some room above and below, so that no point lies on the edge.
    spread = max(max(ys) - min(ys), 0.02)
    low, high = min(ys) - 0.08 * spread, max(ys) + 0.08 * spread
    up = Scale(low, high, bottom, TOP, round_step(spread / 5))
    parts = [*y_axis(up, LEFT, RIGHT, titles[1]), *x_axis(across, TOP, bottom, titles[0])]
    if path:
        parts.append(polyline([(across(x), up(y)) for x, y in path], "dashed c-constant"))
    at = [(across(p.x), up(p.y)) for p in points]
    for p, (x, y) in zip(reversed(points), reversed(at), strict=True):
        whisker = f"whisker {p.style.colour}"
        if p.across:
            parts.append(line(across(p.across[0]), y, across(p.across[1]), y, whisker))
        if p.up:
            parts.append(line(x, up(p.up[0]), x, up(p.up[1]), whisker))
        hint = f"{p.name}: {titles[0]} {number(p.x)}, {titles[1]} {number(p.y)}"
        parts.append(mark(p.style.shape, x, y, p.style.colour, hint, 5.0))
    return chart(height, [*parts, *_place_names(points, at, bottom)], description)


# Where a name may stand beside its point: anchor and shift.
_SIDES = (
    ("start", 9.0, 4.0),
    ("end", -9.0, 4.0),
    ("middle", 0.0, -9.0),
    ("middle", 0.0, 18.0),
    ("start", 7.0, -7.0),
    ("start", 7.0, 15.0),
    ("end", -7.0, -7.0),
    ("end", -7.0, 15.0),
)


def _place_names(
    points: Sequence[Point], at: Sequence[tuple[float, float]], bottom: float
) -> list[Drawing]:
    """The names beside their points, where there is room; the legend has them all."""
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in at]
    parts, room = [], 130.0
    for point, (x, y) in zip(points, at, strict=True):
        width = text_width(name_within(point.name, room).shown)
        for anchor, dx, dy in _SIDES:
            start = x + dx - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
            box = (start, y + dy - 0.8 * TEXT, start + width, y + dy + 0.2 * TEXT)
            if _is_inside(box, bottom) and not any(_is_overlap(box, other) for other in taken):
                taken.append(box)
                parts.append(name_text(x + dx, y + dy, point.name, room, anchor))
                break
    return parts


def _is_inside(box: Box, bottom: float) -> bool:
    return box[0] >= LEFT and box[2] <= WIDTH and box[1] >= TOP - 8 and box[3] <= bottom


def _is_overlap(one: Box, other: Box) -> bool:
    across = one[0] < other[2] and one[2] > other[0]
    return across and one[1] < other[3] and one[3] > other[1]


# --- histogram ----------------------------------------------------------------------------------


def histogram(
    shares: Sequence[float],
    edges: Sequence[float],
    titles: Titles,
    description: str,
    reference: Reference,
) -> Drawing:
    """Shares of a whole between ``edges``, as bars; there is one edge more than there are bars."""
    height, bottom = 240.0, 240.0 - BELOW
    across = scale_over(edges, LEFT, RIGHT - 2)
    up = scale_over([0.0, *(100 * share for share in shares)], bottom, TOP, 4)
    parts = [*y_axis(up, LEFT, RIGHT - 2, titles[1]), *x_axis(across, bottom, bottom, titles[0])]
    for share, low, high in zip(shares, edges[:-1], edges[1:], strict=True):
        left, right, top = across(low), across(high), up(100 * share)
        hint = f"{percent(share, 1)} between {number(low, 2)} and {number(high, 2)}"
        bar = {"x": left + 0.4, "y": top, "width": right - left - 0.8, "height": bottom - top}
        parts.append(element("rect", element("title", hint), **bar, class_="bar c-model"))
    parts += _reference_line(across, reference, TOP, bottom, TOP + 10)
    return chart(height, parts, description)


# --- rows ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mark:
    """A value in a row, with an interval where it has one."""

    value: float
    shape: str
    colour: str
    hint: str = ""
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Row:
    """A name and its marks; ``span`` is a quiet line behind them."""

    name: str
    marks: Sequence[Mark]
    span: Interval | None = None


def row_chart(
    rows: Sequence[Row],
    title: str,
    description: str,
    *,
    zero: bool = False,
    reference: Reference | None = None,
) -> Drawing:
    """Rows of marks over one horizontal scale, from top to bottom.

    With ``zero`` the scale holds zero, which then has a line; with a ``reference`` all rows have
    a value to compare with.
    """
    names = (name_within(row.name, ROOM_FOR_NAMES).shown for row in rows)
    left = 4 + max(map(text_width, names))
    height = 24.0 if len(rows) <= 12 else 18.0
    top = 20.0 if reference else 6.0
    bottom = top + height * len(rows)
    values = [v for row in rows for m in row.marks for v in (m.value, m.low, m.high)]
    values += [v for row in rows for v in (row.span or ())]
    held = [*([0.0] if zero else []), *(reference[:1] if reference else ())]
    scale = scale_over([*held, *values], left + 8, WIDTH - 14)
    parts = x_axis(scale, top, bottom, title)
    if zero:
        parts.append(line(scale(0), top, scale(0), bottom, "zero"))
    if reference:
        parts += _reference_line(scale, reference, top - 4, bottom, top - 8)
    for k, row in enumerate(rows):
        parts += _draw_row(row, scale, top + height * (k + 0.5), left)
    return chart(bottom + BELOW, parts, description)


def _draw_row(row: Row, scale: Scale, y: float, left: float) -> list[Drawing]:
    parts = [name_text(left, y + 4, row.name, ROOM_FOR_NAMES, "end")]
    if row.span:
        parts.append(line(scale(row.span[0]), y, scale(row.span[1]), y, "span"))
    for m in row.marks:
        if not math.isfinite(m.value):
            continue
        if math.isfinite(m.low) and math.isfinite(m.high):
            parts.append(line(scale(m.low), y, scale(m.high), y, f"whisker {m.colour}"))
        parts.append(mark(m.shape, scale(m.value), y, m.colour, m.hint))
    return parts
