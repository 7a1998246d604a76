"""The picture of the study: change against LR per table and method."""

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from studies.methods import CHOSEN_LR, CONSTANT, LR, OURS
from studies.natural.methods import DRO, DWR, GROUP_DRO, SRDO, WITH_LABELS
from studies.natural.report import CHANGES, MEASURES, SIZES, WORSE, slug
from studies.plots import POINTS, STYLES, add_legend, make_canvas

OWN_STYLES = {
    CHOSEN_LR: ("#c44e52", "o"),
    OURS: ("#222222", "s"),
    DRO: ("#8172b3", "v"),
    DWR: ("#da8bc3", "<"),
    SRDO: ("#dd8452", ">"),
    GROUP_DRO: ("#8172b3", "v"),
    WITH_LABELS: ("#4c72b0", "D"),
}
LINEAR = 0.01  # changes up to this are drawn to scale, larger ones by their logarithm
TICKS = (-0.1, -0.03, -0.01, -0.005, 0, 0.005, 0.01, 0.03, 0.1, 0.3, 1)


def draw(means: pd.DataFrame, folder: Path) -> list[Path]:
    """One picture per number of training rows; their paths."""
    paths = []
    for size, title in SIZES.items():
        paths.append(folder / f"{slug(size)}-changes.png")
        draw_size(means[means["size"] == size], f"with {title}", paths[-1])
    return paths


def draw_size(
    means: pd.DataFrame, title: str, path: Path, measures: Collection[str] = tuple(MEASURES)
) -> None:
    """Change against LR of every method on every table, a panel per measure."""
    means = means[means["method"] != LR]
    tables, methods = list(means["table"].unique()), list(means["method"].unique())
    figure, grid = make_canvas(
        1, len(measures), (2 + 3.7 * len(measures), 0.55 * len(tables) + 2.2)
    )
    for axes, measure in zip(grid, measures, strict=True):
        column = CHANGES[measure]
        for k, method in enumerate(methods):
            part = means[means["method"] == method].set_index("table").loc[tables]
            up = np.arange(len(tables)) + 0.7 * (k / max(len(methods) - 1, 1) - 0.5)
            _draw_method(axes, method, part[column].to_numpy(), up)
        _set_axes(axes, tables, means[column])
        axes.set_title(MEASURES[measure], fontsize=9, loc="left")
    for axes in grid[1:]:
        axes.tick_params(labelleft=False)
    figure.suptitle(f"Change against LR, {title} (left is better)", x=0.01, ha="left")
    add_legend(figure, grid[0])
    figure.savefig(path, dpi=130)


def _draw_method(axes: Axes, method: str, x: np.ndarray, up: np.ndarray) -> None:
    colour, marker = OWN_STYLES.get(method) or STYLES[method][:2]
    is_ours = method == OURS
    axes.plot(
        x,
        up,
        marker=marker or POINTS[method],
        color=colour,
        markerfacecolor="white" if method == CHOSEN_LR else colour,
        markersize=6 if is_ours else 5,
        linestyle="",
        label=method,
        zorder=4 if is_ours else 2 if method == CONSTANT else 3,
    )


def _set_axes(axes: Axes, tables: Sequence[str], changes: pd.Series) -> None:
    """Linear around zero, logarithmic beyond; the tables from top to bottom."""
    axes.axvspan(-WORSE, WORSE, color="#dddddd", alpha=0.5, linewidth=0)
    axes.axvline(0, color="#555555", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=LINEAR)
    low, high = min(1.3 * changes.min(), -LINEAR), max(1.3 * changes.max(), LINEAR)
    axes.set_xlim(low, high)
    axes.set_xticks([tick for tick in TICKS if low <= tick <= high], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))
    axes.tick_params(axis="x", labelsize=7, rotation=45)
    axes.set_yticks(np.arange(len(tables)), tables)
    for k in range(1, len(tables)):
        axes.axhline(k - 0.5, color="#eeeeee", linewidth=0.8)
    axes.set_ylim(len(tables) - 0.5, -0.5)
    axes.grid(False, axis="y")
