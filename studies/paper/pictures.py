"""Records of the paper's figures -> pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Picture

from studies import plots
from studies.methods import ENCODERS, LR
from studies.paper.figures import EmbeddingFigure, Figure, StrengthFigure, TheoryFigure
from studies.paper.panels import Panel, run_definition
from studies.paper.tables import (
    DRAWN,
    curves_table,
    mean_line,
    runs_table,
    shares_table,
    strengths_table,
    summary_table,
)
from studies.records import Records
from studies.tables import SETTINGS, mean_interval

MEASURES = {
    "Average_Error": ("#4c72b0", "o"),
    "5 × Stability_Error": ("#c44e52", "s"),
    "sum": ("#222222", "D"),
}
PAPER_RANGE = (0.2, 20)  # of the strengths in the paper's figure


def draw(figure: Figure, seeds: Sequence[int], records: Records, folder: Path) -> list[Path]:
    """Draw a figure from its records; give the paths of the pictures."""
    path = folder / f"{figure.name}.png"
    title = f"{figure.name}: {figure.title}"
    if isinstance(figure, TheoryFigure):
        (definition,) = figure.definitions(seeds)
        curves = records[definition]["expected"]
        _plot_imbalance(figure.rows, curves, title, path)
    elif isinstance(figure, StrengthFigure):
        _draw_strengths(figure, seeds, records, title, path)
    elif isinstance(figure, EmbeddingFigure):
        _draw_embedding(figure, seeds, records, title, path)
    else:
        return _draw_errors(figure, seeds, records, title, path)
    return [path]


def _draw_errors(
    figure: Figure, seeds: Sequence[int], records: Records, title: str, path: Path
) -> list[Path]:
    curves, frontiers = {}, {}
    for panel in figure.panels:
        runs = runs_table([panel], seeds, records)
        label = panel_title(panel)
        line = mean_line(panel, seeds, records)
        summary = summary_table(runs, {panel.name: line})
        curves[label] = curves_table(runs)
        frontiers[label] = (summary[summary["method"].isin(DRAWN)], line)
    second = path.with_name(f"{figure.name}-summary.png")
    plots.plot_curves(curves, title, figure.columns, path)
    plots.plot_frontiers(frontiers, title, figure.columns, second)
    return [path, second]


def panel_title(panel: Panel) -> str:
    """Letter and training environment."""
    world = panel.world
    letter = panel.name.removeprefix(panel.name.rstrip(ascii_lowercase))
    parts = [f"{SETTINGS[world.setting]}, n = {panel.n}, p = {world.n_features}"]
    parts.append(f"r = {panel.train_bias:g}")
    if panel.permuted:
        parts.append(f"{world.stable:.0%} stable, permuted")
    return f"{letter}) " + ", ".join(parts) if letter else ", ".join(parts)


def _draw_strengths(
    figure: StrengthFigure, seeds: Sequence[int], records: Records, title: str, path: Path
) -> None:
    panels = {}
    for sweep in figure.sweeps:
        table = strengths_table(figure, sweep, seeds, records)
        measures = {
            "Average_Error": table["average"],
            "5 × Stability_Error": 5 * table["stability"],
            "sum": table["average"] + 5 * table["stability"],
        }
        # lambda 2 and 3 of the library are the paper's divided by n.
        scale = 1 if sweep.symbol == "λ1" else figure.panels[0].n
        rows = [
            (name, scale * value, *mean_interval(values[table["value"] == value]))
            for name, values in measures.items()
            for value in sweep.values
        ]
        own = sweep.parameter if scale == 1 else f"{sweep.parameter} × n"
        label = f"{sweep.symbol} of the paper ({own})"
        panels[label] = pd.DataFrame(rows, columns=["measure", "value", "mean", "half"])
    _plot_strengths(panels, title, path)


def _draw_embedding(
    figure: EmbeddingFigure, seeds: Sequence[int], records: Records, title: str, path: Path
) -> None:
    (panel,) = figure.panels
    world, seed = panel.world, seeds[0]
    matrices = {}
    for method in ENCODERS:
        layer = records[run_definition(panel, seed, method)]["first_layer"]
        if layer:
            matrices[method] = pd.DataFrame(layer)[world.feature_names].abs()
    shares = shares_table(figure, seeds, records)
    title = f"{title} ({panel_title(panel)}; matrices of seed {seed})"
    _plot_embedding(matrices, shares, len(world.stable_features), title, path)


# --- pictures of their own kind -------------------------------------------------------------------


def _plot_strengths(panels: Mapping[str, pd.DataFrame], title: str, path: Path) -> None:
    """Both errors and their sum over strengths of L_mix.

    ``panels`` maps the label of the axis to a frame with ``measure``, ``value``, ``mean``,
    ``half``.
    """
    figure, grid = plots.make_panels(len(panels), 3, title)
    for axes, (label, frame) in zip(grid, panels.items(), strict=True):
        axes.set_ylabel("error")
        for measure, part in frame.groupby("measure", sort=False):
            colour, marker = MEASURES[str(measure)]
            axes.plot(part["value"], part["mean"], color=colour, marker=marker, label=measure)
            if np.isfinite(part["half"]).all():
                low, high = part["mean"] - part["half"], part["mean"] + part["half"]
                axes.fill_between(part["value"], low, high, color=colour, alpha=0.15, linewidth=0)
        axes.axvspan(*PAPER_RANGE, color="#dddddd", alpha=0.5, linewidth=0, label="paper's range")
        axes.set(xscale="log", xlabel=label, ylim=(0, 1.15 * frame["mean"].max()))
    plots.add_legend(figure, grid[0])
    figure.savefig(path, dpi=130)


def _plot_embedding(
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
    figure = Picture(figsize=(12.5, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(1, len(matrices) + 1, width_ratios=[*[3] * len(matrices), 2])
    for axes, (method, matrix) in zip(grid, matrices.items(), strict=False):
        size = matrix.to_numpy()
        image = axes.imshow(size, aspect="auto", cmap="Greys", vmin=0, interpolation="nearest")
        axes.axvline(n_stable - 0.5, color=plots.STYLES[LR][0], linewidth=1.2)
        axes.set_xticks(range(size.shape[1]), matrix.columns, rotation=90, fontsize=7)
        axes.set_yticks([])
        axes.set_title(f"{method}: |A⁽¹⁾|", fontsize=9, loc="left")
        figure.colorbar(image, ax=axes, fraction=0.04)
    grid[0].set_ylabel("units of the first layer")
    last = grid[-1]
    colours = [plots.STYLES[method][0] for method in shares["method"]]
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


def _plot_imbalance(
    rows: Sequence[int], curves: Mapping[str, Sequence[float]], title: str, path: Path
) -> None:
    """E[alpha] over the number of rows, one line per number of features."""
    figure, grid = plots.make_canvas(1, 1, (7.2, 4.4))
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
