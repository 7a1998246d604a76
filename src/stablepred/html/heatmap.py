"""A square table of signed numbers as a picture, with one scale for several of them."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stablepred._text import signed
from stablepred.html.svg import (
    WIDTH,
    Drawing,
    chart,
    compact,
    element,
    group,
    name_text,
    name_within,
    text,
    text_width,
)

# Shades on either side of zero. Zero itself is the bare page, white by day and black by night.
SHADES = 12
ROOM_FOR_NAMES = 70.0
LEAST_ROOM = 12.5  # for a name


def heatmap(
    values: NDArray[np.float64], names: Sequence[str], limit: float, description: str
) -> Drawing:
    """One cell per entry: cold below zero, warm above, full colour at plus or minus ``limit``."""
    shown = (name_within(name, ROOM_FOR_NAMES).shown for name in names)
    margin = 8 + max(map(text_width, shown))
    side = (WIDTH - margin - 2) / len(names)
    every = math.ceil(LEAST_ROOM / side)
    parts: list[str] = []
    for k in range(0, len(names), every):
        middle = margin + side * (k + 0.5)
        parts.append(name_text(margin - 5, middle + 4, names[k], ROOM_FOR_NAMES, "end"))
        turned = name_text(0, 4, names[k], ROOM_FOR_NAMES)
        place = f"translate({compact(middle)} {compact(margin - 5)}) rotate(-90)"
        parts.append(group([turned], transform=place))
    place = f"translate({compact(margin)} {compact(margin)}) scale({side:.5f})"
    parts.append(group(_cells(values, limit), class_="cells", transform=place))
    extent = side * len(names)
    frame = element("rect", x=margin, y=margin, width=extent, height=extent, class_="frame")
    return chart(WIDTH, [*parts, frame], description)


def _cells(values: NDArray[np.float64], limit: float) -> list[Drawing]:
    """One path per shade, with a stroke for every run of equal cells: small at any size."""
    shades = _shades(values, limit)
    parts = []
    for shade in np.unique(shades[shades != 0]):
        parts.append(element("path", d=_runs(shades == shade), **_look(int(shade))))
    return parts


def _shades(values: NDArray[np.float64], limit: float) -> NDArray[np.int64]:
    """Integers from -SHADES to SHADES."""
    share = np.nan_to_num(values) / (limit or 1.0)
    return np.rint(np.clip(share, -1, 1) * SHADES).astype(np.int64)


def _look(shade: int) -> dict[str, str]:
    colour = "cold" if shade < 0 else "warm"
    return {"class": colour, "stroke-opacity": compact(abs(shade) / SHADES)}


def _runs(chosen: NDArray[np.bool_]) -> str:
    """Chosen cells as horizontal strokes through their middle, moves relative to the last."""
    path, x, y = "", 0, 0
    for row, cells in enumerate(chosen):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], cells.astype(np.int8), [0]])))
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            path += f"m{start - x} {row - y}h{end - start}"
            x, y = end, row
    return "M0 .5" + path


def shade_legend(limit: float, title: str) -> Drawing:
    """The scale of one or several heatmaps as a strip."""
    left, width = WIDTH * 0.15, WIDTH * 0.7
    step = width / (2 * SHADES + 1)
    parts: list[str] = [text(WIDTH / 2, 12, title, "middle", "axis")]
    for k, shade in enumerate(range(-SHADES, SHADES + 1)):
        if shade:
            x = left + step * (k + 0.5)
            path = f"M{compact(x)} 20v12"
            parts.append(
                element("path", d=path, **_look(shade), **{"stroke-width": compact(step + 0.1)})
            )
    parts.append(element("rect", x=left, y=20, width=width, height=12, class_="frame"))
    for place, value in ((left, -limit), (WIDTH / 2, 0.0), (left + width, limit)):
        parts.append(text(place, 47, signed(value, 2), "middle", "tick"))
    return chart(54, parts, f"Scale from {signed(-limit, 2)} over zero to {signed(limit, 2)}")
