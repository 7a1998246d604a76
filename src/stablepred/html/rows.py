"""Charts with one named row per environment, treatment or feature."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stablepred.html.svg import (
    WIDTH,
    Drawing,
    Scale,
    chart,
    line,
    mark,
    name_text,
    name_within,
    scale_over,
    text,
    text_width,
    x_axis,
)

# More rows than this no one reads; a table holds the rest.
MOST_ROWS = 40
ROOM_FOR_NAMES = 140.0


@dataclass(frozen=True)
class Mark:
    """A value in a row, with an interval where it has one."""

    value: float
    shape: str
    colour: str
    hint: str = ""
    low: float = math.nan
    high: float = math.nan
    size: float = 4.2


@dataclass(frozen=True)
class Row:
    """A name and its marks; ``span`` is a quiet line behind them."""

    name: str
    marks: Sequence[Mark]
    span: tuple[float, float] | None = None

    @property
    def values(self) -> list[float]:
        """Everything that the scale must cover."""
        marks = [v for m in self.marks for v in (m.value, m.low, m.high)]
        return [*marks, *(self.span or ())]


def row_chart(
    rows: Sequence[Row],
    title: str,
    description: str,
    *,
    zero: bool = False,
    reference: tuple[float, str] | None = None,
) -> Drawing:
    """Rows of marks over one horizontal scale.

    Parameters
    ----------
    rows : sequence of Row
        From top to bottom.
    title : str
        Of the axis.
    description : str
        What a screen reader says.
    zero : bool
        Whether the scale must hold zero, which then has a line.
    reference : (float, str), optional
        A value to compare all rows with, and its name.
    """
    names = (name_within(row.name, ROOM_FOR_NAMES).shown for row in rows)
    left = 4 + max(map(text_width, names))
    height = 24.0 if len(rows) <= 12 else 18.0
    top = 20.0 if reference else 6.0
    bottom = top + height * len(rows)
    held = [*([0.0] if zero else []), *([reference[0]] if reference else [])]
    scale = scale_over([*held, *(v for row in rows for v in row.values)], left + 8, WIDTH - 14)
    parts = x_axis(scale, top, bottom, title)
    if zero:
        parts.append(line(scale(0), top, scale(0), bottom, "zero"))
    if reference:
        parts += _reference(scale, reference, top, bottom)
    for k, row in enumerate(rows):
        parts += _row(row, scale, top + height * (k + 0.5), left)
    return chart(bottom + 40, parts, description)


def _reference(
    scale: Scale, reference: tuple[float, str], top: float, bottom: float
) -> list[Drawing]:
    value, name = reference
    x = scale(value)
    anchor = "start" if x < WIDTH * 0.65 else "end"
    return [line(x, top - 4, x, bottom, "zero"), text(x, top - 8, name, anchor, "tick")]


def _row(row: Row, scale: Scale, y: float, left: float) -> list[Drawing]:
    parts = [name_text(left, y + 4, row.name, ROOM_FOR_NAMES, "end")]
    if row.span:
        parts.append(line(scale(row.span[0]), y, scale(row.span[1]), y, "span"))
    for m in row.marks:
        if not math.isfinite(m.value):
            continue
        if math.isfinite(m.low) and math.isfinite(m.high):
            parts.append(line(scale(m.low), y, scale(m.high), y, f"whisker {m.colour}"))
        parts.append(mark(m.shape, scale(m.value), y, m.colour, m.hint, m.size))
    return parts
