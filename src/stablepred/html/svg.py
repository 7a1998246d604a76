"""What charts are made of: elements, text that fits, scales and marks."""

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from stablepred._text import Label, label, number, printable

WIDTH = 400.0  # of all charts, in user units: they scale with the page, and so does their text
TEXT = 12.0  # size of text in user units
LONGEST = 60  # letters in one line


class Drawing(str):
    """Markup that is already safe; everything else is escaped on its way to the page."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def element(tag: str, *children: str, **attributes: str | float) -> Drawing:
    """An SVG element; strings are escaped, ``class_`` and ``text_anchor`` become SVG names."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="'
        f'{escape(printable(value)) if isinstance(value, str) else compact(value)}"'
        for name, value in attributes.items()
    )
    inside = "".join(c if isinstance(c, Drawing) else escape(printable(c)) for c in children)
    return Drawing(f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>")


def compact(value: float) -> str:
    """A coordinate with at most two decimals."""
    return f"{value:z.2f}".rstrip("0").rstrip(".")


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Drawing:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def join_points(points: Iterable[tuple[float, float]]) -> str:
    """Points as SVG writes them."""
    return " ".join(f"{compact(x)},{compact(y)}" for x, y in points)


def text(x: float, y: float, content: str, class_: str, anchor: str, hint: str = "") -> Drawing:
    """A line of text; ``hint`` is shown on hovering."""
    children = [content, *([element("title", hint)] if hint else [])]
    return element("text", *children, x=x, y=y, text_anchor=anchor, class_=class_)


def name_within(name: object, room: float) -> Label:
    """A name cut so that its text is no wider than ``room`` in user units."""
    cuts = (label(name, width) for width in range(LONGEST, 3, -1))
    return next((cut for cut in cuts if text_width(cut) <= room), label(name, 4))


def text_width(content: str) -> float:
    """A careful guess of the width of a text in user units, whatever the font."""
    return TEXT * sum(_letter_width(letter) for letter in content)


def _letter_width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF" or letter in "mwMW@%…—":
        return 1.05
    if letter in "iljtfrI.,:;'|!()[] ":
        return 0.42
    return 0.72 if letter.isupper() else 0.64


@dataclass(frozen=True)
class Scale:
    """A linear map from data to user units, with ticks at round numbers."""

    low: float
    high: float
    start: float
    end: float
    step: float

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float, count: int = 5) -> "Scale":
        """A scale that covers all finite values and ends at round numbers."""
        finite = [float(v) for v in values if math.isfinite(v)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        if high - low < 1e-9 * max(1.0, abs(high)):
            low, high = low - 0.05, high + 0.05
        rough = (high - low) / count
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough * (1 - 1e-9))
        below, above = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        return cls(below * step, above * step, start, end, step)

    def __call__(self, value: float) -> float:
        """The coordinate of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round numbers from end to end, and as text with as many decimals as the step needs."""
        decimals = max(0, -math.floor(math.log10(self.step) + 1e-9))
        first, last = (round(end / self.step) for end in (self.low, self.high))
        return [(k * self.step, number(k * self.step, decimals)) for k in range(first, last + 1)]


# Corners around a point; a cross is two strokes in one.
SHAPES = {
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "triangle": [(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
    "down": [(0.0, 1.15), (1.1, -0.85), (-1.1, -0.85)],
    "diamond": [(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
    "cross": [(-1.0, -1.0), (1.0, 1.0), (0.0, 0.0), (-1.0, 1.0), (1.0, -1.0)],
}


def mark(shape: str, x: float, y: float, class_: str, hint: str = "", size: float = 4.2) -> Drawing:
    """A mark of a shape; its colour comes with the class, so that no colour is fixed here."""
    inside = [element("title", hint)] if hint else []
    kind = {"ring": "mark hollow", "cross": "stroke"}.get(shape, "mark")
    if shape in ("circle", "ring"):
        return element("circle", *inside, cx=x, cy=y, r=size, class_=f"{kind} {class_}")
    corners = join_points((x + size * dx, y + size * dy) for dx, dy in SHAPES[shape])
    tag = "polyline" if shape == "cross" else "polygon"
    return element(tag, *inside, points=corners, class_=f"{kind} {class_}")
