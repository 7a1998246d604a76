"""Pictures that studies share: errors over environments, and both errors against each other."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from studies.methods import (
    BALANCED_BOOSTING,
    BOOSTING,
    CONSTANT,
    DGBR,
    DLR,
    FLOOR,
    GBR,
    LR,
    ORACLE,
    OURS,
    PAPER,
)

STYLES = {
    LR: ("#c44e52", "o", "-"),
    DLR: ("#dd8452", "s", "-"),
    GBR: ("#55a868", "^", "-"),
    OURS: ("#4c72b0", "D", "-"),
    DGBR: ("#64b5cd", "^", "-"),
    PAPER: ("#8172b3", "v", "-"),
    BOOSTING: ("#937860", "x", "-"),
    BALANCED_BOOSTING: ("#ccb974", "h", "-"),
    CONSTANT: ("#8c8c8c", "", ":"),
    ORACLE: ("#222222", "", "--"),
    FLOOR: ("#222222", "", ":"),
    "LR (no intercept)": ("#c44e52", "x", "--"),
    "LR (chosen penalty)": ("#c44e52", "+", "-."),
    "GBR (paper)": ("#da8bc3", "^", "--"),
    "GBR (paper, intercept)": ("#da8bc3", "<", ":"),
    "DGBR (paper, intercept)": ("#8172b3", ">", ":"),
    "OLS": ("#c44e52", "o", "-"),
    "lasso": ("#dd8452", "s", "-"),
    "OLS + weights": ("#55a868", "^", "-"),
    "Stable + boosting": ("#64b5cd", "^", "-"),
    "oracle OLS": ("#222222", "", "--"),
    "oracle boosting": ("#222222", "", "-."),
}
POINTS = {CONSTANT: "P", ORACLE: "*", FLOOR: "X"}  # markers where there is no line
RATE = "bias rate r of the test environment"


def plot_curves(
    panels: Mapping[str, pd.DataFrame],
    title: str,
    columns: int,
    path: Path,
    *,
    label: str = RATE,
    shared: bool = True,
) -> None:
    """RMSE over the test environments, one panel per training environment.

    ``panels`` maps titles to frames with ``method``, ``environment`` (a rate or a name), ``mean``
    and ``half`` (half the width of the interval over seeds); ``columns`` of them stand side by
    side, and ``shared`` axes start at zero.
    """
    figure, grid = make_panels(len(panels), columns, title, shared=shared)
    for axes, (name, frame) in zip(grid, panels.items(), strict=True):
        for method, part in frame.groupby("method", sort=False):
            _line(axes, str(method), part["environment"], part["mean"], part["half"])
        axes.set_title(name, fontsize=9, loc="left")
        _set_ticks(axes, list(frame["environment"].unique()))
    if shared:
        # Intervals of few seeds are wide: the means decide what is shown.
        grid[0].set_ylim(0, 1.08 * max(frame["mean"].max() for frame in panels.values()))
    label_axes(grid, columns, label, "RMSE")
    add_legend(figure, grid[0])
    figure.savefig(path, dpi=130)


def plot_frontiers(
    panels: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]],
    title: str,
    columns: int,
    path: Path,
    *,
    shared: bool = True,
) -> None:
    """Average_Error against Stability_Error, with the shrinkage line of LR.

    ``panels`` maps titles to a summary, which has a row per method with both errors and half the
    width of their intervals (``... ±``), and a shrinkage line.
    """
    figure, grid = make_panels(len(panels), columns, title, shared=shared)
    for axes, (name, (summary, line)) in zip(grid, panels.items(), strict=True):
        axes.plot(
            line["Stability_Error"],
            line["Average_Error"],
            color=STYLES[LR][0],
            linestyle=":",
            linewidth=1.6,
            label="shrinkage line of LR",
            zorder=1,
        )
        for _, row in summary.iterrows():
            _point(axes, row)
        axes.set_title(name, fontsize=9, loc="left")
    if shared:
        means = pd.concat([summary for summary, _ in panels.values()])
        widest = float(means["Stability_Error"].max())
        grid[0].set_xlim(-0.04 * widest, 1.12 * widest)
        grid[0].set_ylim(0.7 * means["Average_Error"].min(), 1.1 * means["Average_Error"].max())
    label_axes(grid, columns, "Stability_Error", "Average_Error")
    add_legend(figure, grid[0])
    figure.savefig(path, dpi=130)


def plot_spread(
    panels: Mapping[str, pd.DataFrame], title: str, columns: int, path: Path, *, oracle: str
) -> None:
    """Average_Error of every method, with a Stability_Error to either side; a panel per world.

    ``panels`` maps titles to frames with a row per method and both errors. Two vertical lines are
    the average of the constant and of the ``oracle``.
    """
    columns, longest = min(columns, len(panels)), max(map(len, panels.values()))
    rows = -(-len(panels) // columns)
    figure, grid = make_canvas(rows, columns, (3.1 * columns + 1, rows * (0.19 * longest + 0.9)))
    for axes, (name, frame) in zip(grid, panels.items(), strict=False):
        own = frame.set_index("method").iloc[::-1]
        average, spread = own["Average_Error"], own["Stability_Error"]
        up = np.arange(len(own))
        for method, dash in ((CONSTANT, ":"), (oracle, "--")):
            axes.axvline(average[method], color="#8c8c8c", linestyle=dash, linewidth=1.2, zorder=1)
        colours = [
            STYLES[OURS][0] if m.lower().startswith("stable") else "#555555" for m in own.index
        ]
        axes.hlines(up, average - spread, average + spread, colours, linewidth=2.5, alpha=0.45)
        axes.scatter(average, up, c=colours, s=20, zorder=3)
        axes.set_yticks(up, own.index, fontsize=7)
        axes.set_title(name, fontsize=9, loc="left")
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    figure.savefig(path, dpi=120)


def _set_ticks(axes: Axes, environments: list[Any]) -> None:
    """Every second rate, or all names, slanted where they are long."""
    if not isinstance(environments[0], str):
        axes.set_xticks(environments[::2])
    elif max(map(len, environments)) > 8:
        axes.set_xticks(environments, environments, fontsize=7, rotation=25, ha="right")


def _line(axes: Axes, method: str, x: Any, mean: Any, half: Any) -> None:
    """One method's line, with its interval where there is one."""
    colour, marker, dash = STYLES[method]
    width = 2.4 if method == OURS else 1.4
    axes.plot(
        x, mean, color=colour, marker=marker, ms=5, linestyle=dash, label=method, linewidth=width
    )
    if np.isfinite(half).all():
        axes.fill_between(x, mean - half, mean + half, color=colour, alpha=0.15, linewidth=0)


def _point(axes: Axes, row: pd.Series) -> None:
    """One method's pair of errors, with both intervals where there are any."""
    method = str(row["method"])
    colour, marker, _ = STYLES[method]
    halves = [row["Stability_Error ±"], row["Average_Error ±"]]
    across, up = (None if np.isnan(half) else half for half in halves)
    axes.errorbar(
        row["Stability_Error"],
        row["Average_Error"],
        xerr=across,
        yerr=up,
        color=colour,
        marker=marker or POINTS[method],
        markersize=11 if method in POINTS else 6,
        linestyle="",
        elinewidth=1,
        label=method,
        zorder=4 if method == OURS else 2 if method in POINTS else 3,
    )


# --- canvas -------------------------------------------------------------------------------------


def make_canvas(
    rows: int, columns: int, size: tuple[float, float], *, shared: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure with light axes."""
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    plots = figure.subplots(rows, columns, squeeze=False, sharex=shared, sharey=shared)
    grid = list(np.ravel(plots))
    for axes in grid:
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    return figure, grid


def make_panels(
    count: int, columns: int, title: str, *, shared: bool = False
) -> tuple[Figure, list[Axes]]:
    """Axes for ``count`` panels under one title; what is left over in the last row is empty."""
    columns = min(columns, count)
    rows = -(-count // columns)
    size = (4.1 * columns + 0.6, 2.7 * rows + 1.1)
    figure, grid = make_canvas(rows, columns, size, shared=shared)
    for axes in grid[count:]:
        axes.set_visible(False)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure, grid[:count]


def label_axes(grid: list[Axes], columns: int, across: str, up: str) -> None:
    """Name the axes of the outer panels; a panel with none below it shows its own ticks."""
    for k, axes in enumerate(grid):
        if k % columns == 0:
            axes.set_ylabel(up, fontsize=9)
        if k + columns >= len(grid):
            axes.set_xlabel(across, fontsize=9)
            axes.tick_params(labelbottom=True)


def add_legend(figure: Figure, axes: Axes) -> None:
    """One legend under all panels, in as many lines as its labels need."""
    handles, labels = axes.get_legend_handles_labels()
    width = sum(0.65 + 0.075 * len(label) for label in labels)  # in inches
    lines = int(np.ceil(width / figure.get_figwidth()))
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=-(-len(labels) // lines),
        frameon=False,
        fontsize=9,
    )
