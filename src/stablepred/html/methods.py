"""All methods: Average_Error against Stability_Error, with the shrinkage line."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from stablepred.html.errors import MethodErrors
from stablepred.html.page import Block, Figure, Format, Section, Table, table_of
from stablepred.html.palette import legend_item, method_legend
from stablepred.html.scatter import Point, scatter_chart
from stablepred.html.text import label, listed, percent


def methods_section(
    errors: MethodErrors,
    summary: pd.DataFrame,
    line: pd.DataFrame | None,
    title: str,
    text: Sequence[str],
) -> Section:
    """Average_Error against Stability_Error of all methods.

    Parameters
    ----------
    errors : MethodErrors
        Of the model and of all others.
    summary : DataFrame
        Per method ``Average_Error``, ``Stability_Error``, ``Worst_Error``; where they are known
        ``average_gap``, ``stability_gap`` and ``shrunk_better``.
    line : DataFrame, optional
        The shrinkage line, with both errors.
    title, text : str, sequence of str
        What is to be said of it.
    """
    blocks: list[Block] = [_table(summary)]
    if len(summary) > 1:
        blocks.insert(0, _figure(errors, summary, line))
    return Section("methods", "Methods", title, text, [blocks])


def _figure(errors: MethodErrors, summary: pd.DataFrame, line: pd.DataFrame | None) -> Figure:
    own = errors.with_intervals
    points: list[Point] = []
    for name, row in summary.iterrows():
        x, y = row["Stability_Error"], row["Average_Error"]
        ends = [(own["low"][k], own["high"][k]) for k in ("Stability_Error", "Average_Error")]
        points.append(Point(str(name), x, y, errors.styles[str(name)], *ends[: 2 * (not points)]))
    legend = list(method_legend(errors.styles, lines=False))
    path: list[tuple[float, float]] = []
    if line is not None:
        path = list(zip(line["Stability_Error"], line["Average_Error"], strict=True))
        legend.append(legend_item("LR pulled to the constant", "", "c-constant", "dashed"))
    names = listed([label(name).shown for name in summary.index])
    drawing = scatter_chart(
        points,
        path,
        ("Stability_Error", "Average_Error"),
        f"Average_Error against Stability_Error of {names}",
    )
    caption = (
        f"Left is steady, low is accurate. The cross-hair of {errors.model} shows its "
        f"{percent(errors.level)} intervals over the rows."
    )
    return Figure(drawing, caption, legend)


def _table(summary: pd.DataFrame) -> Table:
    names = {
        "Average_Error": "average",
        "Stability_Error": "stability",
        "Worst_Error": "worst",
        "average_gap": "average gap closed",
        "stability_gap": "stability gap closed",
        "shrunk_better": "shrunk LR better",
    }
    formats: dict[str, Format] = {
        "average gap closed": percent,
        "stability gap closed": percent,
        "shrunk LR better": _yes_or_no,
    }
    frame = summary.rename(columns=names).rename_axis("method")
    return table_of(frame, "Average_Error, Stability_Error and Worst_Error", formats)


def _yes_or_no(value: Any) -> str:
    return "yes" if value else "no"
