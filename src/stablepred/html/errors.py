"""Errors per environment, as lines or as rows, with the table."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from stablepred.html.lines import Series, line_chart
from stablepred.html.page import Block, Figure, Section, Table, table_of
from stablepred.html.palette import Style, method_legend, method_styles
from stablepred.html.rows import MOST_ROWS, Mark, Row, row_chart
from stablepred.html.svg import Drawing
from stablepred.html.text import interval, label, listed, number, percent

SUMMARIES = ("Average_Error", "Stability_Error", "Worst_Error")
# A name of an ordered environment: a number, or "something = a number".
ORDERED = re.compile(r"(?:(.*\S)\s*=\s*)?([-+]?\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class MethodErrors:
    """Errors of the model and of all that it is compared with.

    Attributes
    ----------
    by_method : DataFrame
        One row per method, the model first; one column per environment.
    roles : dict
        By method: model, baseline, LR, constant or oracle.
    with_intervals : DataFrame
        Of the model: ``error``, ``low``, ``high`` per environment, then for the three summaries.
    error : str
        Name of the error.
    level : float
        Of the intervals.
    """

    by_method: pd.DataFrame
    roles: Mapping[str, str]
    with_intervals: pd.DataFrame
    error: str
    level: float

    @property
    def model(self) -> str:
        """Name of the model, cut to a length that a sentence can bear."""
        return label(self.by_method.index[0]).shown

    @property
    def environments(self) -> list[str]:
        """Names of the environments."""
        return [str(name) for name in self.by_method.columns]

    @property
    def of_model(self) -> pd.DataFrame:
        """Errors of the model per environment, without the summaries."""
        return self.with_intervals.iloc[: -len(SUMMARIES)]

    @property
    def styles(self) -> dict[str, Style]:
        """How the methods are drawn."""
        return method_styles(self.roles)


def errors_section(
    errors: MethodErrors, environments: pd.DataFrame, trained_on: str | None
) -> Section:
    """Errors per environment with intervals.

    Parameters
    ----------
    errors : MethodErrors
        Of the model and of all others.
    environments : DataFrame
        ``rows`` and ``positive`` (share of y = 1) per environment.
    trained_on : str, optional
        Name of the training environment.
    """
    own = errors.of_model["error"]
    title = (
        f"The error is largest in {label(own.idxmax()).shown} ({number(own.max())}) and smallest "
        f"in {label(own.idxmin()).shown} ({number(own.min())})"
    )
    rows: list[list[Block]] = [[_figure(errors, trained_on), _own_table(errors, environments)]]
    if len(errors.by_method) > 1:
        rows.append([_all_table(errors)])
    return Section("errors", "Errors", title, [], rows)


# --- the figure ---------------------------------------------------------------------------------


def _figure(errors: MethodErrors, trained_on: str | None) -> Figure:
    names = errors.environments
    axis = ordered_places(names) if len(names) > 2 else None
    if axis:
        return Figure(
            _as_lines(errors, *axis, trained_on=trained_on),
            f"The band is the {percent(errors.level)} interval of {errors.model} over the rows.",
            method_legend(errors.styles, lines=True),
        )
    caption = (
        f"{errors.error} per environment. The whisker is the {percent(errors.level)} interval of "
        f"{errors.model} over the rows."
    )
    if len(names) > MOST_ROWS:
        caption += f" The {MOST_ROWS} environments with the largest errors; the table has all."
    return Figure(_as_rows(errors), caption, method_legend(errors.styles, lines=False))


def ordered_places(names: Sequence[str]) -> tuple[str, list[float]] | None:
    """What the names count and where they stand, if they are numbers of one thing."""
    found = [ORDERED.fullmatch(name) for name in names]
    matches = [match for match in found if match]
    if len(matches) < len(names) or len({match[1] for match in matches}) > 1:
        return None
    return matches[0][1] or "environment", [float(match[2]) for match in matches]


def _as_lines(
    errors: MethodErrors, axis: str, places: list[float], trained_on: str | None
) -> Drawing:
    order = sorted(range(len(places)), key=places.__getitem__)
    own = errors.of_model.iloc[order]
    series: list[Series] = []
    for method, row in errors.by_method.iterrows():
        band = (own["low"].tolist(), own["high"].tolist()) if not series else (None, None)
        values = row.iloc[order].tolist()
        series.append(Series(str(method), values, errors.styles[str(method)], *band))
    trained = None
    if trained_on is not None:
        there = ordered_places([errors.environments[0], trained_on])
        trained = (there[1][1], "trained here") if there else None
    methods = listed([label(one.name).shown for one in series])
    return line_chart(
        [places[k] for k in order],
        series,
        (f"{label(axis).shown} of the environment", errors.error),
        f"{errors.error} over {label(axis).shown}, one line each for {methods}",
        trained,
    )


def _as_rows(errors: MethodErrors) -> Drawing:
    own = errors.of_model.reset_index(drop=True)
    order = own["error"].sort_values(ascending=False, kind="stable").index[:MOST_ROWS]
    rows = []
    for k in own.index if len(own) <= MOST_ROWS else order:
        marks: list[Mark] = []
        for method, value in errors.by_method.iloc[:, k].items():
            style = errors.styles[str(method)]
            ends = (own["low"][k], own["high"][k]) if not marks else ()
            hint = f"{label(method).shown}: {number(value)}"
            marks.append(Mark(value, style.shape, style.colour, hint, *ends))
        rows.append(Row(errors.environments[k], marks[::-1]))
    methods = listed([label(method).shown for method in errors.by_method.index])
    return row_chart(rows, errors.error, f"{errors.error} by environment for {methods}")


# --- the tables ---------------------------------------------------------------------------------


def _own_table(errors: MethodErrors, environments: pd.DataFrame) -> Table:
    own = errors.with_intervals
    blank = [""] * len(SUMMARIES)
    frame = pd.DataFrame(index=own.index.rename("environment"))
    frame["rows"] = [*map("{:,}".format, environments["rows"]), *blank]
    frame["y\u00a0=\u00a01"] = [*map(percent, environments["positive"]), *blank]
    frame[errors.error] = own["error"]
    ends = [interval(low, high) for low, high in zip(own["low"], own["high"], strict=True)]
    frame[f"{errors.level:.0%} interval"] = ends
    return table_of(frame, f"{errors.error} of {errors.model}", summary=len(SUMMARIES))


def _all_table(errors: MethodErrors) -> Table:
    frame = errors.by_method.T.rename_axis("environment")
    return table_of(frame, f"{errors.error} of all methods")
