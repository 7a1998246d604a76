"""The section of a stress test: what happens when one feature at a time changes its link."""

from collections.abc import Sequence

import pandas as pd

from stablepred.html.page import Block, Figure, Section, Table, table_of
from stablepred.html.palette import legend_item
from stablepred.html.rows import MOST_ROWS, Mark, Row, row_chart
from stablepred.html.text import interval, label, number, percent


def stress_section(
    errors: pd.DataFrame, observed: float, error: str, level: float, remarks: Sequence[str]
) -> Section:
    """Worst errors per feature.

    Parameters
    ----------
    errors : DataFrame
        One row per feature, the worst first: ``agreement``, the error at each rate (``r=...``),
        ``stability``, ``worst``, ``low``, ``high``, ``worst_rate``, ``effective_rows``.
    observed : float
        Error on the table as it is.
    error : str
        Name of the error.
    level : float
        Of the intervals.
    remarks : sequence of str
        What else there is to say.
    """
    name, top = label(errors.index[0]).shown, errors.iloc[0]
    title = (
        f"{name} breaks it most: {number(top['worst'])} where it agrees with the outcome in "
        f"{percent(top['worst_rate'])} of the rows, instead of {percent(top['agreement'])}"
    )
    text = [
        "Rows are resampled so that one feature at a time agrees with the outcome in a share r of "
        "both classes, from against it to with it.",
        *remarks,
    ]
    rates = [str(column) for column in errors.columns if str(column).startswith("r=")]
    by_rate = table_of(errors[rates].rename_axis("feature"), f"{error} by rate of agreement r")
    rows: list[list[Block]] = [
        [_figure(errors, rates, observed, error, level), _table(errors, error)],
        [by_rate],
    ]
    return Section("stress", "Stress", title, text, rows)


def _figure(
    errors: pd.DataFrame, rates: list[str], observed: float, error: str, level: float
) -> Figure:
    rows = []
    for feature, row in errors.head(MOST_ROWS).iterrows():
        hint = f"worst {number(row['worst'])} at rate {row['worst_rate']:g}"
        worst = Mark(row["worst"], "circle", "c-model", hint, row["low"], row["high"])
        rows.append(Row(str(feature), [worst], (row[rates].min(), row[rates].max())))
    drawing = row_chart(
        rows,
        error,
        f"Worst {error} by feature, the largest first",
        reference=(observed, f"as observed, {number(observed)}"),
    )
    caption = f"The whisker is the {percent(level)} interval of the worst error."
    if len(errors) > MOST_ROWS:
        caption += f" The worst {MOST_ROWS} of {len(errors):,} features; the table has all."
    legend = (
        legend_item("worst error", "circle", "c-model", "whisker"),
        legend_item("errors over all rates", "", "", "span"),
    )
    return Figure(drawing, caption, legend)


def _table(errors: pd.DataFrame, error: str) -> Table:
    ends = [interval(low, high) for low, high in zip(errors["low"], errors["high"], strict=True)]
    frame = pd.DataFrame(
        {
            "worst": errors["worst"],
            "interval": ends,
            "at rate": errors["worst_rate"].map(percent),
            "agreement now": errors["agreement"].map(percent),
            "spread": errors["stability"],
            "effective rows": errors["effective_rows"].map("{:,.0f}".format),
        },
        index=errors.index.rename("feature"),
    )
    return table_of(frame, f"Worst {error} per feature, and its spread over the rates")
