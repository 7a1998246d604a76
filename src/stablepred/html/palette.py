"""One colour and one shape per method, the same in every figure, by day and by night."""

from collections.abc import Mapping
from itertools import cycle
from typing import NamedTuple

from stablepred._text import Label, label
from stablepred.html.svg import Drawing, element, line, mark


class Style(NamedTuple):
    """How a method is drawn: shape of its marks, class of its colour."""

    shape: str
    colour: str


ROLES = {
    "model": Style("circle", "c-model"),
    "LR": Style("square", "c-lr"),
    "constant": Style("cross", "c-constant"),
    "oracle": Style("diamond", "c-oracle"),
}
SHAPES = ("triangle", "down", "square", "diamond")
BASELINES = tuple(Style(shape, f"c-{k}") for k, shape in enumerate(SHAPES, 1))


def method_styles(roles: Mapping[str, str]) -> dict[str, Style]:
    """A style for each method by its role: model, LR, constant, oracle, or baseline."""
    baselines = cycle(BASELINES)
    return {name: ROLES.get(role) or next(baselines) for name, role in roles.items()}


class LegendItem(NamedTuple):
    """A sample of a mark, and what it stands for."""

    name: Label
    swatch: Drawing


def legend_item(name: str, shape: str, colour: str, stroke: str = "") -> LegendItem:
    """An entry of a legend: a mark, a piece of line, or a mark on a line."""
    parts = [line(1, 7, 25, 7, f"{stroke} {colour}")] if stroke else []
    parts += [mark(shape, 13, 7, colour)] if shape else []
    attributes = {"viewBox": "0 0 26 14", "class": "swatch", "aria-hidden": "true"}
    return LegendItem(label(name, 40), element("svg", *parts, **attributes))
