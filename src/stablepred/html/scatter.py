"""Average_Error against Stability_Error: the methods as named points beside a line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stablepred.html.palette import Style
from stablepred.html.svg import (
    TEXT,
    WIDTH,
    Drawing,
    Scale,
    chart,
    line,
    mark,
    name_text,
    name_within,
    polyline,
    round_step,
    scale_over,
    text_width,
    x_axis,
    y_axis,
)
from stablepred.html.text import number

HEIGHT = 320.0
LEFT, RIGHT, TOP, BOTTOM = 42.0, WIDTH - 12, 30.0, HEIGHT - 40
ROOM_FOR_NAMES = 130.0
Interval = tuple[float, float]
Box = tuple[float, float, float, float]


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
    titles: tuple[str, str],
    description: str,
) -> Drawing:
    """Points with their names, beside a dashed path; the first point is drawn on top."""
    across = scale_over([0.0, *_reach(points, path, 0)], LEFT, RIGHT)
    up = _loose_scale(_reach(points, path, 1))
    parts = [*y_axis(up, LEFT, RIGHT, titles[1]), *x_axis(across, TOP, BOTTOM, titles[0])]
    if path:
        parts.append(polyline([(across(x), up(y)) for x, y in path], "dashed c-constant"))
    places = [(across(p.x), up(p.y)) for p in points]
    for point, (x, y) in zip(reversed(points), reversed(places), strict=True):
        parts += _cross_hair(point, across, up)
        hint = f"{point.name}: {titles[0]} {number(point.x)}, {titles[1]} {number(point.y)}"
        parts.append(mark(point.style.shape, x, y, point.style.colour, hint, 5.0))
    return chart(HEIGHT, [*parts, *_names(points, places)], description)


def _loose_scale(heights: Sequence[float]) -> Scale:
    """A vertical scale with some room above and below, so that no point lies on its edge."""
    spread = max(max(heights) - min(heights), 0.02)
    room = 0.08 * spread
    return Scale(min(heights) - room, max(heights) + room, BOTTOM, TOP, round_step(spread / 5))


def _reach(
    points: Sequence[Point], path: Sequence[tuple[float, float]], direction: int
) -> list[float]:
    """All values in one direction."""
    values = [place[direction] for place in path]
    for point in points:
        values += [(point.x, point.y)[direction], *((point.across, point.up)[direction] or ())]
    return values


def _cross_hair(point: Point, across: Scale, up: Scale) -> list[Drawing]:
    x, y, class_ = across(point.x), up(point.y), f"whisker {point.style.colour}"
    parts = []
    if point.across:
        parts.append(line(across(point.across[0]), y, across(point.across[1]), y, class_))
    if point.up:
        parts.append(line(x, up(point.up[0]), x, up(point.up[1]), class_))
    return parts


def _names(points: Sequence[Point], places: Sequence[tuple[float, float]]) -> list[Drawing]:
    """The names beside their points, where there is room; the legend has them all."""
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in places]
    parts = []
    for point, (x, y) in zip(points, places, strict=True):
        width = text_width(name_within(point.name, ROOM_FOR_NAMES).shown)
        for anchor, dx, dy in _SIDES:
            start = x + dx - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
            box = (start, y + dy - 0.8 * TEXT, start + width, y + dy + 0.2 * TEXT)
            if _is_free(box, taken):
                taken.append(box)
                parts.append(name_text(x + dx, y + dy, point.name, ROOM_FOR_NAMES, anchor))
                break
    return parts


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


def _is_free(box: Box, taken: Sequence[Box]) -> bool:
    left, top, right, bottom = box
    if left < LEFT or right > WIDTH or top < TOP - 8 or bottom > BOTTOM or math.isnan(left):
        return False
    return not any(
        left < other[2] and right > other[0] and top < other[3] and bottom > other[1]
        for other in taken
    )
