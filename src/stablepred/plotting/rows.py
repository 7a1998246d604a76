"""What the pictures share: axes, colours, and rows of marks over one scale."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from stablepred._text import label, labels
from stablepred.exceptions import InputError

MOST_ROWS = 40  # nobody reads more; a table holds the rest
NAME_WIDTH = 26  # letters of a name; longer ones are cut in the middle

Look = tuple[str, str]  # marker and colour; the colours stand out from white and from black
MODEL, QUIET = "#2b73cf", "#7d8590"
ROLES: dict[str, Look] = {
    "model": ("o", MODEL),
    "LR": ("s", "#cf5d10"),
    "ridge": ("s", "#cf5d10"),
    "constant": ("X", QUIET),
    "oracle": ("D", "#1b9467"),
}
BASELINES: list[Look] = [("^", "#9a5cc4"), ("v", "#14899c"), ("s", "#c0507f"), ("D", "#a67c0a")]


def method_looks(roles: Mapping[str, str]) -> dict[str, Look]:
    """A look for each method by its role: model, LR, constant, oracle, or baseline."""
    baselines = cycle(BASELINES)
    return {name: ROLES.get(role) or next(baselines) for name, role in roles.items()}


class Display:
    """A picture on axes; ``height_`` is the height in inches at which everything has room."""

    ax_: Axes
    figure_: Figure | SubFigure
    height_: float = 3.2

    def _take_axes(self, ax: Axes | None, height: float) -> Axes:
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=(7.2, height), layout="constrained")
        self.ax_, self.figure_, self.height_ = ax, ax.figure, height
        return ax


AnyDisplay = TypeVar("AnyDisplay", bound=Display)


class Marks(NamedTuple):
    """One mark per row, NaN where there is none, all of one look.

    Intervals where ``low`` and ``high`` are given; ``since`` is where a quiet line to each mark
    starts.
    """

    name: str
    values: ArrayLike
    look: Look
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    hollow: bool = False
    since: ArrayLike | None = None


def draw_rows(
    display: AnyDisplay,
    ax: Axes | None,
    names: Sequence[object],
    series: Sequence[Marks],
    scale_name: str,
    *,
    joined: bool = False,
    zero: bool = False,
) -> AnyDisplay:
    """Draw rows of marks over one horizontal scale, from top to bottom; the first series on top.

    With ``joined`` a line runs through the marks of each series, with ``zero`` the scale holds 0.
    """
    if not len(names) or not series:
        raise InputError(f"there is nothing to draw: {type(display).__name__} has no rows.")
    size = float(mpl.rcParams["font.size"])
    longest = max(len(marks.name) for marks in series)
    columns = 3 if longest <= 10 else 2 if longest <= 18 else 1  # of names side by side
    legend_rows = -(-len(series) // columns) if len(series) > 1 else 0
    ax = display._take_axes(ax, (1.8 * len(names) + 1.7 * legend_rows + 5) * size / 72)
    positions = np.arange(len(names))
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(positions, labels(names, NAME_WIDTH), fontsize=size, parse_math=False)
    handles = []
    for depth, marks in enumerate(series):
        (marker, colour), order = marks.look, 3.0 - depth / len(series)
        values = np.asarray(marks.values, dtype=np.float64)
        if marks.low is not None and marks.high is not None:
            ax.hlines(positions, marks.low, marks.high, colors=colour, lw=1.6, zorder=order)
        if marks.since is not None:
            ax.hlines(positions, marks.since, values, colors=QUIET, lw=1.4, alpha=0.6, zorder=1)
        style: dict[str, Any] = {"marker": marker, "color": colour, "ms": 0.6 * size}
        style["mec"] = colour if marks.hollow else mpl.rcParams["axes.facecolor"]
        style["mfc"] = mpl.rcParams["axes.facecolor"] if marks.hollow else colour
        style |= {"lw": 1, "ls": "-" if joined else "none", "zorder": order}
        handles += ax.plot(values, positions, **style)
    _set_scale(ax, scale_name, zero)
    if legend_rows:
        # Named afterwards: matplotlib leaves out names with an underscore in front.
        place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": columns}
        legend = ax.legend(handles, ["mark"] * len(series), frameon=False, fontsize=size, **place)
        for text, marks in zip(legend.get_texts(), series, strict=True):
            text.set(text=label(marks.name), parse_math=False)
    return display


def _set_scale(ax: Axes, name: str, zero: bool) -> None:
    """Few round numbers along the bottom, each with its grid line; zero stands out."""
    if zero:
        ax.axvline(0, color=QUIET, lw=1, ls=(0, (3, 3)), zorder=0.6)
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3))
    ax.ticklabel_format(axis="x", scilimits=(-3, 5), useOffset=False)
    ax.tick_params(length=0)
    ax.grid(axis="x")
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)
    ax.set_xlabel(name, parse_math=False)
