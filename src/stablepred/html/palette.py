"""One colour and one shape per method, the same in every figure, by day and by night."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle

from stablepred._text import Label, label
from stablepred.html.svg import Drawing, element, line, mark


@dataclass(frozen=True)
class Style:
    """How a method is drawn: class of its colour, shape of its marks, class of its line."""

    colour: str
    shape: str
    stroke: str = "thin"


MODEL = Style("c-model", "circle", "thick")
ROLES = {
    "model": MODEL,
    "LR": Style("c-lr", "square"),
    "constant": Style("c-constant", "cross", "dotted"),
    "oracle": Style("c-oracle", "diamond", "dashed"),
}
BASELINES = (
    Style("c-1", "triangle"),
    Style("c-2", "down"),
    Style("c-3", "square"),
    Style("c-4", "diamond"),
)


def method_styles(roles: Mapping[str, str]) -> dict[str, Style]:
    """A style for each method by its role: model, LR, constant, oracle, or baseline."""
    baselines = cycle(BASELINES)
    return {name: ROLES.get(role) or next(baselines) for name, role in roles.items()}


@dataclass(frozen=True)
class LegendItem:
    """A sample of a mark, and what it stands for."""

    name: Label
    swatch: Drawing


def legend_item(
    name: str, shape: str, colour: str, stroke: str = "", size: float = 4.2
) -> LegendItem:
    """An entry of a legend: a mark, on a piece of line if the figure draws lines."""
    parts = [line(1, 7, 25, 7, f"{stroke} {colour}")] if stroke else []
    if shape:
        parts.append(mark(shape, 13, 7, colour, size=size))
    attributes = {"viewBox": "0 0 26 14", "class": "swatch", "aria-hidden": "true"}
    return LegendItem(label(name, 40), element("svg", *parts, **attributes))


def method_legend(styles: Mapping[str, Style], *, lines: bool) -> tuple[LegendItem, ...]:
    """The legend of a figure that shows methods."""
    return tuple(
        legend_item(name, style.shape, style.colour, style.stroke if lines else "")
        for name, style in styles.items()
    )
