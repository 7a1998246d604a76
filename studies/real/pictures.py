"""Pictures of the real-data study, from records."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from stablepred.evaluation.metrics import stability_error
from studies import plots
from studies.methods import BOOSTING, CONSTANT, FOUR, GBR_PAPER, LR, ORACLE, OURS, PAPER
from studies.real.cases import Case, Design, both_errors
from studies.real.environments import TEST_RATES
from studies.real.report import BOTH
from studies.records import Records
from studies.tables import mean_interval

# Which designs share a picture, and what their environments are.
KINDS: dict[str, tuple[Callable[[Design], bool], str]] = {
    "selection": (lambda design: design.protocol == "selection", "bias rate r of the test"),
    "age": (lambda design: design.by.lower() == "age", "age (trained on the first group)"),
    "groups": (lambda design: design.by.lower() not in ("", "age"), "trained on the first group"),
}


# The tables have all methods.
DRAWN = (*FOUR, OURS, GBR_PAPER, PAPER, BOOSTING, CONSTANT, ORACLE)


def draw(records: Records, cases: Sequence[Case], folder: Path) -> list[Path]:
    """All pictures that the cases have something for; their paths."""
    written, cases = [], [case for case in cases if case.method in DRAWN]
    for name, (belongs, label) in KINDS.items():
        designs = dict.fromkeys(case.design for case in cases if belongs(case.design))
        runs = {d.title: [case for case in cases if case.design == d] for d in designs}
        if not runs:
            continue
        columns = min(3 if len(runs) % 3 == 0 else 4, len(runs))
        curves = {title: _curves(records, part) for title, part in runs.items()}
        frontiers = {title: _frontier(records, part) for title, part in runs.items()}
        first, second = folder / f"{name}.png", folder / f"{name}-both-errors.png"
        plots.plot_curves(curves, "", columns, first, label=label, shared=False)
        plots.plot_frontiers(frontiers, "", columns, second, shared=False)
        written += [first, second]
        if name == "selection":
            single = {title: _single_errors(records, part) for title, part in runs.items()}
            written.append(folder / "one-by-one.png")
            _plot_one_by_one(single, columns, written[-1])
    return written


def draw_figure(name: str, records: Records, cases: Sequence[Case], folder: Path) -> list[Path]:
    """What the paper shows: errors per environment (13, 14, 15), both summaries (13, 16).

    Figure 14 varies one predictor at a time: here the two that are the most dangerous for LR.
    """
    runs: dict[str, list[Case]] = {}
    for case in cases:
        if case.method in DRAWN:
            runs.setdefault(case.design.title, []).append(case)
    columns, path = min(3, len(runs)), folder / f"{name}.png"
    if name == "figure-14":
        panels = {
            f"{title}: {predictor}": _curves_of_one(records, part, predictor)
            for title, part in runs.items()
            for predictor in _single_errors(records, part).columns[:2]
        }
        label = "bias rate r of one predictor in the test"
        plots.plot_curves(panels, "", 2, path, label=label, shared=False)
        return [path]
    frontiers = {title: _frontier(records, part) for title, part in runs.items()}
    if name == "figure-16":
        plots.plot_frontiers(frontiers, "", columns, path, shared=False)
        return [path]
    curves = {title: _curves(records, part) for title, part in runs.items()}
    kind = "selection" if name == "figure-13" else "age"
    plots.plot_curves(curves, "", columns, path, label=KINDS[kind][1], shared=False)
    if name == "figure-15":
        return [path]
    second = folder / f"{name}-both-errors.png"
    plots.plot_frontiers(frontiers, "", columns, second, shared=False)
    return [path, second]


def _curves_of_one(records: Records, cases: Sequence[Case], predictor: str) -> pd.DataFrame:
    """Errors per method and bias rate of one predictor, where it was not biased in training."""
    rows = [
        (case.method, rate, error)
        for case in cases
        for rate, error in zip(
            TEST_RATES, records[case.definition]["one by one"].get(predictor, []), strict=False
        )
    ]
    return _intervals(rows)


def _intervals(rows: Sequence[tuple[str, object, float]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["method", "environment", "error"])
    groups = table.groupby(["method", "environment"], sort=False)["error"]
    intervals = [(*key, *mean_interval(errors)) for key, errors in groups]
    return pd.DataFrame(intervals, columns=["method", "environment", "mean", "half"])


def _curves(records: Records, cases: Sequence[Case]) -> pd.DataFrame:
    """Errors per method and environment, means over seeds with their intervals."""
    rows = [
        (case.method, name.removeprefix("r=0"), error)
        for case in cases
        for name, error in records[case.definition]["errors"].items()
    ]
    return _intervals(rows)


def _frontier(records: Records, cases: Sequence[Case]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both errors of every method with their intervals, and the shrinkage line of LR."""
    rows = []
    for method in dict.fromkeys(case.method for case in cases):
        results = [records[case.definition] for case in cases if case.method == method]
        row: dict[str, object] = {"method": method}
        errors = [both_errors(result["errors"]) for result in results]
        for title, values in zip(BOTH, zip(*errors, strict=True), strict=True):
            row[title], row[f"{title} ±"] = mean_interval(values)
        rows.append(row)
    lines = [records[case.definition]["shrinkage"] for case in cases if case.method == LR]
    return pd.DataFrame(rows), pd.DataFrame(np.mean(lines, axis=0), columns=list(BOTH))


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
    return table.sort_values(LR, axis=1, ascending=False)


def _plot_one_by_one(panels: dict[str, pd.DataFrame], columns: int, path: Path) -> None:
    """Stability_Error when one predictor at a time is biased, the most dangerous for LR first."""
    figure, grid = plots.make_panels(len(panels), columns, "")
    for axes, (title, table) in zip(grid, panels.items(), strict=True):
        for method, row in table.iterrows():
            colour, marker, _ = plots.STYLES[str(method)]
            axes.plot(list(table.columns), row, marker, color=colour, ms=4, label=method)
        axes.tick_params(axis="x", labelsize=5.5, rotation=90)
        axes.set_ylim(bottom=0)
        title = title.replace("biased selection", "one predictor at a time")
        axes.set_title(title, fontsize=9, loc="left")
    plots.label_axes(grid, columns, "", "Stability_Error")
    plots.add_legend(figure, grid[0])
    figure.savefig(path, dpi=130)
