"""Figures of the real-data studies, from records."""

from collections.abc import Callable, Mapping, Sequence, Sized
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from stablepred.evaluation.metrics import average_error, stability_error
from stablepred.lab.plots import STYLES
from stablepred.lab.real_methods import BALANCED_BOOSTING, BOOSTING
from stablepred.lab.real_studies import Case, Study
from stablepred.lab.records import Records

METHOD_STYLES = STYLES | {
    BOOSTING: ("#937860", "x", "-"),
    BALANCED_BOOSTING: ("#ccb974", "P", "-"),
}
# References have no marker on a line; as points they need one.
POINTS = {"constant": "X", "oracle": "*"}
FOUR = ("LR", "DLR", "GBR", "DGBR")
Panels = Mapping[str, pd.DataFrame]
Runs = Mapping[Study, Sequence[Case]]


def write_figures(records: Records, cases: Sequence[Case], folder: Path) -> list[Path]:
    """All figures that the cases have something for; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds: dict[str, tuple[Callable[[Study], bool], str]] = {
        "selection": (lambda study: study.protocol == "selection", "bias rate r of the test"),
        "age": (lambda study: study.by.lower() == "age", "age (trained on the first group)"),
        "groups": (lambda study: study.by.lower() not in ("", "age"), "trained on the first group"),
    }
    written = []
    for name, (belongs, label) in kinds.items():
        runs = _runs(cases, belongs)
        if runs:
            errors = {study.title: _mean_errors(records, part) for study, part in runs.items()}
            written.append(plot_environments(errors, label, folder / f"{name}.png"))
            written.append(_plot_both(records, runs, folder / f"{name}-both-errors.png"))
    selected = _runs(cases, kinds["selection"][0])
    if selected:
        single = {study.title: _single_errors(records, part) for study, part in selected.items()}
        written.append(plot_one_by_one(single, folder / "one-by-one.png"))
    return written


# --- tables -------------------------------------------------------------------------------------


def _runs(cases: Sequence[Case], belongs: Callable[[Study], bool]) -> Runs:
    studies = dict.fromkeys(case.study for case in cases if belongs(case.study))
    return {study: [case for case in cases if case.study == study] for study in studies}


def _mean_errors(records: Records, cases: Sequence[Case]) -> pd.DataFrame:
    """Errors per environment, means over seeds: one row per method."""
    rows = [{"method": case.method} | records[case.definition]["errors"] for case in cases]
    return pd.DataFrame(rows).groupby("method", sort=False).mean()


def _mean_line(records: Records, cases: Sequence[Case]) -> pd.DataFrame:
    """The shrinkage line of LR, mean over seeds."""
    lines = [records[case.definition]["shrinkage"] for case in cases if case.method == "LR"]
    return pd.DataFrame(np.mean(lines, axis=0), columns=["average", "stability"])


def _mean_both(records: Records, cases: Sequence[Case]) -> pd.DataFrame:
    rows = []
    for case in cases:
        errors = records[case.definition]["errors"]
        both = {"average": average_error(errors), "stability": stability_error(errors)}
        rows.append({"method": case.method} | both)
    return pd.DataFrame(rows).groupby("method", sort=False).mean()


def _single_errors(records: Records, cases: Sequence[Case]) -> pd.DataFrame:
    """Stability_Error under selection on one feature, means over seeds: methods x features."""
    rows = []
    for case in cases:
        if case.method in FOUR:
            single = records[case.definition]["one by one"]
            stability = {name: stability_error(errors) for name, errors in single.items()}
            rows.append({"method": case.method} | stability)
    # The biased features, which differ from seed to seed, have no value of their own there.
    table = pd.DataFrame(rows).groupby("method", sort=False).mean()
    return table.sort_values("LR", axis=1, ascending=False)


# --- figures ------------------------------------------------------------------------------------


def plot_environments(panels: Panels, label: str, path: Path) -> Path:
    """RMSE per test environment, one panel per study and one line per method."""
    figure, grid = _figure(panels, height=2.9)
    for axes, (title, errors) in zip(grid, panels.items(), strict=False):
        places = np.arange(errors.shape[1])
        for method, row in errors.iterrows():
            colour, marker, dash = METHOD_STYLES[str(method)]
            width = 2.2 if method == "DGBR" else 1.2
            axes.plot(places, row, dash, color=colour, marker=marker, lw=width, ms=4, label=method)
        names = [str(name).removeprefix("r=0") for name in errors.columns]
        long = max(map(len, names)) > 8
        axes.set_xticks(places, names, fontsize=7, rotation=25 if long else 0)
        for tick in axes.get_xticklabels():
            tick.set_horizontalalignment("right" if long else "center")
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel(label, fontsize=8)
        axes.set_ylabel("RMSE", fontsize=8)
    return _finish(figure, grid, path)


def _plot_both(records: Records, runs: Runs, path: Path) -> Path:
    """Average_Error against Stability_Error, with the shrinkage line of LR."""
    figure, grid = _figure(runs, height=3.1)
    for axes, (study, cases) in zip(grid, runs.items(), strict=False):
        line = _mean_line(records, cases)
        axes.plot(line["stability"], line["average"], color="#c44e52", lw=1, alpha=0.5)
        for method, both in _mean_both(records, cases).iterrows():
            colour, marker, _ = METHOD_STYLES[str(method)]
            marker = POINTS.get(str(method), marker)
            size = 9 if method == "DGBR" else 6
            axes.plot(
                both["stability"], both["average"], marker, color=colour, ms=size, label=method
            )
        axes.set_title(study.title, fontsize=9, loc="left")
        axes.set_xlabel("Stability_Error", fontsize=8)
        axes.set_ylabel("Average_Error", fontsize=8)
    return _finish(figure, grid, path)


def plot_one_by_one(panels: Panels, path: Path) -> Path:
    """Stability_Error when one predictor at a time is biased, the most dangerous for LR first."""
    figure, grid = _figure(panels, height=3.6)
    for axes, (title, table) in zip(grid, panels.items(), strict=False):
        places = np.arange(table.shape[1])
        for method, row in table.iterrows():
            colour, marker, _ = METHOD_STYLES[str(method)]
            axes.plot(places, row, marker, color=colour, ms=4, label=method)
        axes.set_xticks(places, list(table.columns), fontsize=5.5, rotation=90)
        axes.set_ylim(bottom=0)
        axes.set_title(
            title.replace("biased selection", "one predictor at a time"), fontsize=9, loc="left"
        )
        axes.set_ylabel("Stability_Error", fontsize=8)
    return _finish(figure, grid, path)


def _figure(panels: Sized, height: float) -> tuple[Figure, list[Axes]]:
    columns = min(3 if len(panels) % 3 == 0 else 4, len(panels))
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(4.0 * columns, height * lines + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    grid = list(figure.subplots(lines, columns, squeeze=False).flat)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    return figure, grid


def _finish(figure: Figure, grid: list[Axes], path: Path) -> Path:
    """One legend for all panels, light axes, and the file."""
    for axes in grid:
        axes.grid(alpha=0.25)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=round(figure.get_figwidth() * 0.75),
        fontsize=8,
        frameon=False,
    )
    figure.savefig(path, dpi=130)
    return path
