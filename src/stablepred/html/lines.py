"""Errors over environments that stand in an order: one line per method."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stablepred.html.palette import Style
from stablepred.html.svg import (
    WIDTH,
    Drawing,
    Scale,
    chart,
    compact,
    element,
    group,
    line,
    mark,
    polyline,
    scale_over,
    text,
    x_axis,
    y_axis,
)
from stablepred.html.text import number

HEIGHT = 290.0
LEFT, RIGHT, TOP, BOTTOM = 42.0, WIDTH - 12, 30.0, HEIGHT - 40
# With more points than this a line has no marks.
MOST_MARKS = 25


@dataclass(frozen=True)
class Series:
    """One line, with a band where it has an interval."""

    name: str
    values: Sequence[float]
    style: Style
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def line_chart(
    places: Sequence[float],
    series: Sequence[Series],
    titles: tuple[str, str],
    description: str,
    marked: tuple[float, str] | None = None,
) -> Drawing:
    """Lines over ``places``; the first series is drawn on top.

    Parameters
    ----------
    places : sequence of float
        Where on the horizontal axis the values stand.
    series : sequence of Series
        With one value per place.
    titles : (str, str)
        Of the horizontal and of the vertical axis.
    description : str
        What a screen reader says.
    marked : (float, str), optional
        A place to mark, and why.
    """
    across = scale_over([*places, *([marked[0]] if marked else [])], LEFT, RIGHT)
    up = scale_over(_heights(series), BOTTOM, TOP)
    parts = [*y_axis(up, LEFT, RIGHT, titles[1]), *x_axis(across, BOTTOM, BOTTOM, titles[0])]
    if marked:
        x = across(marked[0])
        anchor = "end" if x > WIDTH * 0.6 else "start"
        parts.append(line(x, TOP, x, BOTTOM, "zero"))
        parts.append(
            text(x + (4 if anchor == "start" else -4), TOP + 10, marked[1], anchor, "tick")
        )
    for one in reversed(series):
        parts.append(_series(places, one, across, up))
    return chart(HEIGHT, parts, description)


def _heights(series: Sequence[Series]) -> list[float]:
    """All values; zero as well, since an error is compared with none at all."""
    heights = [0.0]
    for one in series:
        heights += [*one.values, *(one.low or ()), *(one.high or ())]
    return heights


def _series(places: Sequence[float], one: Series, across: Scale, up: Scale) -> Drawing:
    points = [
        (across(x), up(y)) for x, y in zip(places, one.values, strict=True) if math.isfinite(y)
    ]
    parts: list[str] = []
    if one.low is not None and one.high is not None:
        parts.append(_band(places, one.low, one.high, across, up))
    parts.append(polyline(points, f"{one.style.stroke} {one.style.colour}"))
    if len(points) <= MOST_MARKS:
        size = 4.2 if one.style.stroke == "thick" else 3.4
        for (x, y), value in zip(points, one.values, strict=True):
            hint = f"{one.name}: {number(value)}"
            parts.append(mark(one.style.shape, x, y, one.style.colour, hint, size))
    return group(parts, class_=one.style.colour)


def _band(
    places: Sequence[float], low: Sequence[float], high: Sequence[float], across: Scale, up: Scale
) -> Drawing:
    there = [(across(x), up(y)) for x, y in zip(places, low, strict=True)]
    back = [(across(x), up(y)) for x, y in zip(places, high, strict=True)]
    corners = " ".join(f"{compact(x)},{compact(y)}" for x, y in [*there, *reversed(back)])
    return element("polygon", points=corners, class_="band")
