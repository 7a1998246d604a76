"""Figures from tables; the only place that imports matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

STYLES = {
    "LR": ("#c44e52", "o", "-"),
    "DLR": ("#dd8452", "s", "-"),
    "GBR": ("#55a868", "^", "-"),
    "DGBR": ("#4c72b0", "D", "-"),
    "DGBR (paper)": ("#8172b3", "v", "-"),
    "constant": ("#8c8c8c", "", ":"),
    "oracle": ("#222222", "", "--"),
}
OTHER = ("#937860", "x", "-")
POINTS = {"constant": "P", "oracle": "*"}  # markers where there is no line
MEASURES = {
    "Average_Error": ("#4c72b0", "o"),
    "5 × Stability_Error": ("#c44e52", "s"),
    "sum": ("#222222", "D"),
}
RATE = "bias rate r of the test environment"


# --- errors over test environments --------------------------------------------------------------


def plot_errors(errors: pd.DataFrame, title: str, path: Path) -> None:
    """RMSE per test environment, one line per method (the paper's axes)."""
    figure, grid = _canvas(1, 1, (7.2, 4.4))
    axes = grid[0]
    rates = [float(str(name).split("=")[-1]) for name in errors.columns]
    for method, row in errors.iterrows():
        _line(axes, str(method), rates, row.to_numpy())
    axes.set(xlabel=RATE, ylabel="RMSE", xticks=rates)
    axes.set_ylim(bottom=0)
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(frameon=False, fontsize=8, ncols=2)
    figure.savefig(path, dpi=150)


def plot_curves(panels: Mapping[str, pd.DataFrame], title: str, columns: int, path: Path) -> None:
    """RMSE over the test environments, one panel per training environment.

    ``panels`` maps titles to frames with ``method``, ``rate``, ``mean`` and ``half`` (half the
    width of the interval over seeds); ``columns`` of them stand side by side.
    """
    figure, grid = _panels(len(panels), columns, title, shared=True)
    for axes, (name, frame) in zip(grid, panels.items(), strict=True):
        for method, part in frame.groupby("method", sort=False):
            _line(axes, str(method), part["rate"], part["mean"], part["half"])
        axes.set_title(name, fontsize=9, loc="left")
        axes.set_xticks([0.1, 0.3, 0.5, 0.7, 0.9])
    # Intervals of few seeds are wide: the means decide what is shown.
    grid[0].set_ylim(0, 1.08 * max(frame["mean"].max() for frame in panels.values()))
    _label(grid, columns, RATE, "RMSE")
    _shared_legend(figure, grid[0])
    figure.savefig(path, dpi=130)


def plot_frontiers(
    panels: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]], title: str, columns: int, path: Path
) -> None:
    """Average_Error against Stability_Error, with the shrinkage line of LR.

    ``panels`` maps titles to a summary, which has a row per method with both errors and half the
    width of their intervals (``... ±``), and a shrinkage line.
    """
    figure, grid = _panels(len(panels), columns, title, shared=True)
    for axes, (name, (summary, line)) in zip(grid, panels.items(), strict=True):
        axes.plot(
            line["Stability_Error"],
            line["Average_Error"],
            color=STYLES["LR"][0],
            linestyle=":",
            linewidth=1.6,
            label="shrinkage line of LR",
            zorder=1,
        )
        for _, row in summary.iterrows():
            _point(axes, row)
        axes.set_title(name, fontsize=9, loc="left")
    means = pd.concat([summary for summary, _ in panels.values()])
    widest = float(means["Stability_Error"].max())
    grid[0].set_xlim(-0.04 * widest, 1.12 * widest)
    grid[0].set_ylim(0.7 * means["Average_Error"].min(), 1.1 * means["Average_Error"].max())
    _label(grid, columns, "Stability_Error", "Average_Error")
    _shared_legend(figure, grid[0])
    figure.savefig(path, dpi=130)


def _line(axes: Axes, method: str, x: Any, mean: Any, half: Any = None) -> None:
    """One method's line, with its interval where there is one."""
    colour, marker, dash = STYLES.get(method, OTHER)
    width = 2.4 if method == "DGBR" else 1.4
    axes.plot(x, mean, color=colour, marker=marker, linestyle=dash, label=method, linewidth=width)
    axes.lines[-1].set_markersize(5)
    if half is not None and np.isfinite(half).all():
        axes.fill_between(x, mean - half, mean + half, color=colour, alpha=0.15, linewidth=0)


def _point(axes: Axes, row: pd.Series) -> None:
    """One method's pair of errors, with both intervals where there are any."""
    method = str(row["method"])
    colour, marker, _ = STYLES.get(method, OTHER)
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
        zorder=4 if method == "DGBR" else 2 if method in POINTS else 3,
    )


# --- the other figures of the paper -------------------------------------------------------------


def plot_strengths(panels: Mapping[str, pd.DataFrame], title: str, path: Path) -> None:
    """Both errors and their sum over strengths of L_mix.

    ``panels`` maps the label of the axis to a frame with ``measure``, ``value``, ``mean``,
    ``half``.
    """
    figure, grid = _panels(len(panels), 3, title)
    for axes, (label, frame) in zip(grid, panels.items(), strict=True):
        axes.set_ylabel("error")
        for measure, part in frame.groupby("measure", sort=False):
            colour, marker = MEASURES[str(measure)]
            axes.plot(part["value"], part["mean"], color=colour, marker=marker, label=measure)
            if np.isfinite(part["half"]).all():
                low, high = part["mean"] - part["half"], part["mean"] + part["half"]
                axes.fill_between(part["value"], low, high, color=colour, alpha=0.15, linewidth=0)
        axes.set(xscale="log", xlabel=label, ylim=(0, 1.15 * frame["mean"].max()))
    _shared_legend(figure, grid[0])
    figure.savefig(path, dpi=130)


def plot_embedding(
    matrices: Mapping[str, pd.DataFrame],
    shares: pd.DataFrame,
    n_stable: int,
    title: str,
    path: Path,
) -> None:
    """Size of the encoders' first matrices, and the share of the noisy features in them.

    ``matrices`` maps methods to |A^(1)|, one column per feature, the stable ones first; ``shares``
    has ``method``, ``mean`` and ``half``.
    """
    figure = Figure(figsize=(12.5, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(1, len(matrices) + 1, width_ratios=[*[3] * len(matrices), 2])
    for axes, (method, matrix) in zip(grid, matrices.items(), strict=False):
        size = matrix.to_numpy()
        image = axes.imshow(size, aspect="auto", cmap="Greys", vmin=0, interpolation="nearest")
        axes.axvline(n_stable - 0.5, color=STYLES["LR"][0], linewidth=1.2)
        axes.set_xticks(range(size.shape[1]), matrix.columns, rotation=90, fontsize=7)
        axes.set_yticks([])
        axes.set_title(f"{method}: |A⁽¹⁾|", fontsize=9, loc="left")
        figure.colorbar(image, ax=axes, fraction=0.04)
    grid[0].set_ylabel("units of the first layer")
    last = grid[-1]
    colours = [STYLES[method][0] for method in shares["method"]]
    halves = shares["half"].fillna(0.0)
    last.barh(shares["method"], shares["mean"], xerr=halves, color=colours, height=0.6)
    even = 1 - n_stable / next(iter(matrices.values())).shape[1]
    last.axvline(even, color="#222222", linestyle=":", linewidth=1.2)
    last.invert_yaxis()
    last.set_xlim(0, 1.2 * max(even, float(shares["mean"].max())))
    last.set_title("norm share of noisy\nfeatures (dotted: even)", fontsize=9, loc="left")
    last.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    figure.savefig(path, dpi=130)


def plot_expected_imbalance(
    rows: Sequence[int], curves: Mapping[str, Sequence[float]], title: str, path: Path
) -> None:
    """E[alpha] over the number of rows, one line per number of features."""
    figure, grid = _canvas(1, 1, (7.2, 4.4))
    axes = grid[0]
    shades = np.linspace(0.35, 1.0, len(curves))
    for (p, values), shade in zip(curves.items(), shades, strict=True):
        axes.plot(rows, values, color=(0.30 * shade, 0.45 * shade, 0.69, shade), linewidth=1.6)
        at = int(np.argmin(np.abs(np.asarray(values) - 0.5)))
        box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        axes.annotate(
            f"p = {p}" if p == next(iter(curves)) else p,
            (rows[at], values[at]),
            ha="center",
            va="center",
            fontsize=8,
            bbox=box,
        )
    axes.set(xscale="log", xlabel="rows n", ylabel="E[α]", ylim=(-0.02, 1.04))
    axes.set_title(title, fontsize=10, loc="left")
    figure.savefig(path, dpi=130)


# --- canvas -------------------------------------------------------------------------------------


def _canvas(
    rows: int, columns: int, size: tuple[float, float], *, shared: bool = False
) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    plots = figure.subplots(rows, columns, squeeze=False, sharex=shared, sharey=shared)
    grid = list(np.ravel(plots))
    for axes in grid:
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    return figure, grid


def _panels(
    count: int, columns: int, title: str, *, shared: bool = False
) -> tuple[Figure, list[Axes]]:
    """Axes for ``count`` panels under one title; what is left over in the last row is empty."""
    columns = min(columns, count)
    rows = -(-count // columns)
    size = (4.1 * columns + 0.6, 2.7 * rows + 1.1)
    figure, grid = _canvas(rows, columns, size, shared=shared)
    for axes in grid[count:]:
        axes.set_visible(False)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure, grid[:count]


def _label(grid: list[Axes], columns: int, across: str, up: str) -> None:
    """Name the axes of the outer panels; a panel with none below it shows its own ticks."""
    for k, axes in enumerate(grid):
        if k % columns == 0:
            axes.set_ylabel(up, fontsize=9)
        if k + columns >= len(grid):
            axes.set_xlabel(across, fontsize=9)
            axes.tick_params(labelbottom=True)


def _shared_legend(figure: Figure, axes: Axes) -> None:
    """One legend under all panels, in two lines where they are too narrow for one."""
    handles, labels = axes.get_legend_handles_labels()
    width = figure.get_figwidth()
    ncols = len(labels) if width > 8 else -(-len(labels) // (2 if width > 4.8 else 3))
    figure.legend(
        handles, labels, loc="outside lower center", ncols=ncols, frameon=False, fontsize=9
    )
