"""What charts are made of: elements, scales, axes and marks."""

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from stablepred._text import MINUS, Label, label, printable

# All charts share one width in user units and scale with the page, and so does their text.
WIDTH = 400.0
TEXT = 12.0  # size of text in user units
LONGEST = 60  # letters in one line


class Drawing(str):
    """Markup that is already safe; everything else is escaped on its way to the page."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def element(tag: str, *children: str, **attributes: str | float) -> Drawing:
    """An SVG element; strings are escaped, ``class_`` and ``stroke_width`` become SVG names."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for name, value in attributes.items()
    )
    inside = "".join(c if isinstance(c, Drawing) else escape(printable(c)) for c in children)
    return Drawing(f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>")


def _attribute(value: str | float) -> str:
    return escape(printable(value)) if isinstance(value, str) else compact(value)


def compact(value: float) -> str:
    """A coordinate with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def group(parts: Iterable[str], **attributes: str | float) -> Drawing:
    """Elements that belong together."""
    return element("g", *parts, **attributes)


def chart(height: float, parts: Iterable[str], description: str) -> Drawing:
    """A chart of the common width; ``description`` is for screen readers."""
    box = f"0 0 {compact(WIDTH)} {compact(height)}"
    attributes = {"viewBox": box, "class": "chart", "role": "img", "aria-label": description}
    return element("svg", *parts, **attributes)


def text(
    x: float, y: float, content: str, anchor: str = "start", class_: str = "", hint: str = ""
) -> Drawing:
    """A line of text; ``hint`` is shown on hovering."""
    attributes: dict[str, str | float] = {"x": x, "y": y}
    if anchor != "start":
        attributes["text-anchor"] = anchor
    if class_:
        attributes["class"] = class_
    children = [content, *([element("title", hint)] if hint else [])]
    return element("text", *children, **attributes)


def name_text(x: float, y: float, name: object, room: float, anchor: str = "start") -> Drawing:
    """A name, cut to fit into ``room``, the whole of it on hovering."""
    cut = name_within(name, room)
    return text(x, y, cut.shown, anchor, "name", cut.whole if cut.cut else "")


def name_within(name: object, room: float) -> Label:
    """A name cut so that its text is no wider than ``room`` in user units."""
    for width in range(LONGEST, 3, -1):
        cut = label(name, width)
        if text_width(cut.shown) <= room:
            return cut
    return cut


def text_width(content: str) -> float:
    """A careful guess of the width of a text in user units, whatever the font."""
    return TEXT * sum(_letter_width(letter) for letter in content)


def _letter_width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    if letter in "mwMW@%…—":
        return 1.0
    if letter in "iljtfrI.,:;'|!()[] ":
        return 0.42
    return 0.72 if letter.isupper() else 0.64


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Drawing:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def polyline(points: Iterable[tuple[float, float]], class_: str) -> Drawing:
    """A line through points."""
    path = " ".join(f"{compact(x)},{compact(y)}" for x, y in points)
    return element("polyline", points=path, class_=class_)


# --- scales -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """A linear map from data to user units, with ticks at round numbers."""

    low: float
    high: float
    start: float
    end: float
    step: float

    def __call__(self, value: float) -> float:
        """The coordinate of a value; values outside are kept at the edge."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """Round numbers from end to end."""
        first = math.ceil(self.low / self.step - 1e-9)
        last = math.floor(self.high / self.step + 1e-9)
        return [k * self.step for k in range(first, last + 1)]

    def tick_text(self, value: float) -> str:
        """A tick with as many decimals as the step needs."""
        decimals = max(0, -math.floor(math.log10(self.step) + 1e-9))
        rounded = round(value, decimals) + 0.0
        return f"{rounded:,.{decimals}f}".replace("-", MINUS)


def scale_over(values: Iterable[float], start: float, end: float, count: int = 5) -> Scale:
    """A scale that covers all finite values and ends at round numbers."""
    finite = [float(v) for v in values if math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.05, high + 0.05
    step = round_step((high - low) / count)
    below, above = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Scale(below * step, above * step, start, end, step)


def round_step(rough: float) -> float:
    """The smallest of 1, 2, 5 or 10 times a power of ten that is at least ``rough``."""
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next(power * k for k in (1, 2, 5, 10) if power * k >= rough * (1 - 1e-9))


# --- axes ---------------------------------------------------------------------------------------


def x_axis(scale: Scale, top: float, bottom: float, title: str) -> list[Drawing]:
    """Grid lines with their numbers below, and what they are."""
    parts = [line(scale(t), top, scale(t), bottom, "grid") for t in scale.ticks]
    parts += [
        text(scale(t), bottom + 15, scale.tick_text(t), "middle", "tick") for t in scale.ticks
    ]
    middle, cut = (scale.start + scale.end) / 2, name_within(title, scale.end - scale.start)
    return [*parts, text(middle, bottom + 32, cut.shown, "middle", "axis")]


def y_axis(scale: Scale, left: float, right: float, title: str) -> list[Drawing]:
    """Grid lines with their numbers to the left, and what they are above them."""
    parts = [line(left, scale(t), right, scale(t), "grid") for t in scale.ticks]
    parts += [text(left - 6, scale(t) + 4, scale.tick_text(t), "end", "tick") for t in scale.ticks]
    return [*parts, text(2, scale.end - 12, name_within(title, WIDTH).shown, "start", "axis")]


# --- marks --------------------------------------------------------------------------------------


def mark(shape: str, x: float, y: float, class_: str, hint: str = "", size: float = 4.2) -> Drawing:
    """A mark of a shape; its colour comes with the class, so that no colour is fixed here."""
    inside = [element("title", hint)] if hint else []
    if shape in ("circle", "ring"):
        kind = "mark hollow" if shape == "ring" else "mark"
        return element("circle", *inside, cx=x, cy=y, r=size, class_=f"{kind} {class_}")
    if shape in _STROKES:
        strokes = "".join(_path(stroke, x, y, size) for stroke in _STROKES[shape])
        return element("path", *inside, d=strokes, class_=f"stroke {class_}")
    outline = _path(_OUTLINES[shape], x, y, size) + "z"
    return element("path", *inside, d=outline, class_=f"mark {class_}")


_OUTLINES = {
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "triangle": [(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
    "down": [(0.0, 1.15), (1.1, -0.85), (-1.1, -0.85)],
    "diamond": [(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
}
_STROKES = {
    "bar": [[(0.0, -1.2), (0.0, 1.2)]],
    "cross": [[(-1.0, -1.0), (1.0, 1.0)], [(-1.0, 1.0), (1.0, -1.0)]],
}


def _path(corners: list[tuple[float, float]], x: float, y: float, size: float) -> str:
    """A line through corners around a point."""
    points = (f"{compact(x + size * dx)} {compact(y + size * dy)}" for dx, dy in corners)
    return "M" + "L".join(points)
