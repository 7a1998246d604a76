"""Records of the paper's figures -> pictures."""

from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase

import pandas as pd

from stablepred.lab import plots
from stablepred.lab.experiment import Panel, run_definition
from stablepred.lab.figures import (
    ENCODERS,
    EmbeddingFigure,
    Figure,
    StrengthFigure,
    TheoryFigure,
)
from stablepred.lab.records import Records
from stablepred.lab.tables import (
    SHRUNK,
    TITLES,
    curves_table,
    mean_interval,
    mean_line,
    runs_table,
    shares_table,
    strengths_table,
    summary_table,
)


def draw(figure: Figure, seeds: Sequence[int], records: Records, folder: Path) -> list[Path]:
    """Draw a figure from its records; give the paths of the pictures."""
    path = folder / f"{figure.name}.png"
    title = f"{figure.name}: {figure.title}"
    if isinstance(figure, TheoryFigure):
        (definition,) = figure.definitions(seeds)
        curves = records[definition]["expected"]
        plots.plot_expected_imbalance(figure.rows, curves, title, path)
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
        frontiers[label] = (summary[summary["method"] != SHRUNK], line)
    second = path.with_name(f"{figure.name}-summary.png")
    plots.plot_curves(curves, title, figure.columns, path)
    plots.plot_frontiers(frontiers, title, figure.columns, second)
    return [path, second]


def panel_title(panel: Panel) -> str:
    """Letter and training environment."""
    world = panel.world
    letter = panel.name.removeprefix(panel.name.rstrip(ascii_lowercase))
    parts = [f"{TITLES[world.setting]}, n = {panel.n}, p = {world.n_features}"]
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
        rows = [
            (name, value, *mean_interval(values[table["value"] == value]))
            for name, values in measures.items()
            for value in sweep.values
        ]
        label = f"{sweep.symbol} ({sweep.parameter})"
        panels[label] = pd.DataFrame(rows, columns=["measure", "value", "mean", "half"])
    plots.plot_strengths(panels, title, path)


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
    plots.plot_embedding(matrices, shares, len(world.stable_features), title, path)
