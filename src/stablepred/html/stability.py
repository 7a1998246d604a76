"""The page of a stability report."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from stablepred._text import error_name, interval, join_words, label, number, percent, signed
from stablepred.evaluation.metrics import SUMMARIES
from stablepred.evaluation.verdict import methods_title
from stablepred.html.charts import (
    MOST_ROWS,
    Mark,
    Point,
    Row,
    Series,
    line_chart,
    row_chart,
    scatter_chart,
)
from stablepred.html.model import model_sections, run_section
from stablepred.html.page import Block, Figure, Format, Page, Section, Table, table_of
from stablepred.html.palette import legend_item, method_legend, method_styles
from stablepred.html.svg import Drawing

if TYPE_CHECKING:
    from stablepred.evaluation.reports import StabilityReport

SHOWN = 20  # features in the figure of what breaks the model
# Harm below this share of the error is not worth a title.
SLIGHT = 0.02
# A name of an ordered environment: a number, or "something = a number".
ORDERED = re.compile(r"(?:(.*\S)\s*=\s*)?([-+]?\d+(?:\.\d+)?)")


def stability_page(report: "StabilityReport") -> Page:
    """All that a stability report has to show."""
    sections = [_errors_section(report), _methods_section(report)]
    if report.breakers is not None:
        sections.append(_breakers_section(report, report.breakers))
    sections += [
        *model_sections(report.facts),
        run_section(report.facts, report.run, _missing(report)),
    ]
    title = f"Stability report of {_model(report)}"
    return Page(title, report.verdict, _numbers(report), sections, report.run.made)


def _model(report: "StabilityReport") -> str:
    return label(report.facts.name).shown


def _method_names(report: "StabilityReport") -> str:
    return join_words([label(name).shown for name in report.comparison.errors.index])


def _numbers(report: "StabilityReport") -> list[tuple[str, str, str]]:
    """The numbers that stand out, beside those of the references."""
    own, comparison = report.errors["error"], report.comparison
    summary = comparison.summary()
    numbers = []
    for column in ("Average_Error", "Stability_Error"):
        beside = [
            f"{role} {number(float(summary[column][name]))}"
            for name, role in comparison.roles.items()
            if role in ("LR", "constant", "oracle")
        ]
        numbers.append((column, number(own[column]), ", ".join(beside) or error_name(report.error)))
    worst = f"in {label(report.worst).shown}"
    numbers.append(("Worst_Error", number(own["Worst_Error"]), worst))
    share = report.facts.effective_share
    if share is not None:
        numbers.append(("Effective share", percent(share), "of the training rows, under weights"))
    return numbers


def _missing(report: "StabilityReport") -> list[str]:
    """What the page lacks, and whether the model stopped early."""
    facts, lines = report.facts, []
    parts = {
        "no balance report": facts.balance,
        "no weights": facts.weights,
        "no feature effects": facts.effects,
    }
    absent = [name for name, found in parts.items() if found is None]
    if absent:
        lines.append(f"{_model(report)} has {join_words(absent)}; these sections are left out.")
    if report.breakers is None:
        lines.append("From predictions alone there is no answer to what breaks the model.")
    if facts.converged is False:
        lines.append(f"{_model(report)} stopped before it converged.")
    return lines


# --- errors -------------------------------------------------------------------------------------


def _errors_section(report: "StabilityReport") -> Section:
    """Errors per environment with intervals."""
    own, errors = report.errors["error"], report.comparison.errors
    title = (
        f"The error is largest in {label(report.worst).shown} ({number(own[report.worst])}) and "
        f"smallest in {label(report.best).shown} ({number(own[report.best])})"
    )
    rows: list[list[Block]] = [[_errors_figure(report), _errors_table(report)]]
    if len(errors) > 1:
        caption = f"{error_name(report.error)} of all methods"
        rows.append([table_of(errors.T.rename_axis("environment"), caption)])
    return Section("errors", "Errors", title, [], rows)


def _errors_figure(report: "StabilityReport") -> Figure:
    names = [str(name) for name in report.comparison.errors.columns]
    styles = method_styles(report.comparison.roles)
    whose = f"the {percent(report.level)} interval of {_model(report)} over the rows."
    axis = order_environments(names) if len(names) > 2 else None
    if axis:
        drawing = _draw_lines(report, *axis)
        return Figure(drawing, f"The band is {whose}", method_legend(styles, lines=True))
    caption = f"{error_name(report.error)} per environment. The whisker is {whose}"
    if len(names) > MOST_ROWS:
        caption += f" The {MOST_ROWS} environments with the largest errors; the table has all."
    return Figure(_draw_rows(report), caption, method_legend(styles, lines=False))


def order_environments(names: Sequence[str]) -> tuple[str, list[float]] | None:
    """What the names count and the number in each, if they are numbers of one thing."""
    found = [ORDERED.fullmatch(name) for name in names]
    matches = [match for match in found if match]
    if len(matches) < len(names) or len({match[1] for match in matches}) > 1:
        return None
    return matches[0][1] or "environment", [float(match[2]) for match in matches]


def _draw_lines(report: "StabilityReport", axis: str, xs: list[float]) -> Drawing:
    order = sorted(range(len(xs)), key=xs.__getitem__)
    errors, error = report.comparison.errors, error_name(report.error)
    styles, own = method_styles(report.comparison.roles), report.errors.iloc[order]
    series: list[Series] = []
    for method, row in errors.iterrows():
        band = (own["low"].tolist(), own["high"].tolist()) if not series else (None, None)
        series.append(Series(str(method), row.iloc[order].tolist(), styles[str(method)], *band))
    train = report.run.train
    there = order_environments([str(errors.columns[0]), train[0]]) if train else None
    return line_chart(
        [xs[k] for k in order],
        series,
        (f"{label(axis).shown} of the environment", error),
        f"{error} over {label(axis).shown}, one line each for {_method_names(report)}",
        (there[1][1], "trained here") if there else None,
    )


def _draw_rows(report: "StabilityReport") -> Drawing:
    errors, styles = report.comparison.errors, method_styles(report.comparison.roles)
    own = report.errors.iloc[: -len(SUMMARIES)].reset_index(drop=True)
    order = own["error"].sort_values(ascending=False, kind="stable").index[:MOST_ROWS]
    rows = []
    for k in own.index if len(own) <= MOST_ROWS else order:
        marks: list[Mark] = []
        for method, value in errors.iloc[:, k].items():
            style = styles[str(method)]
            ends = (own["low"][k], own["high"][k]) if not marks else ()
            hint = f"{label(method).shown}: {number(value)}"
            marks.append(Mark(value, style.shape, style.colour, hint, *ends))
        rows.append(Row(str(errors.columns[k]), marks[::-1]))
    error = error_name(report.error)
    return row_chart(rows, error, f"{error} by environment for {_method_names(report)}")


def _errors_table(report: "StabilityReport") -> Table:
    own, environments = report.errors, report.run.environments
    error, blank = error_name(report.error), [""] * len(SUMMARIES)
    frame = pd.DataFrame(index=own.index.rename("environment"))
    frame["rows"] = [*map("{:,}".format, environments["rows"]), *blank]
    frame["y\u00a0=\u00a01"] = [*map(percent, environments["positive"]), *blank]
    frame[error] = own["error"]
    frame[f"{report.level:.0%} interval"] = list(map(interval, own["low"], own["high"]))
    return table_of(frame, f"{error} of {_model(report)}", summary=len(SUMMARIES))


# --- methods ------------------------------------------------------------------------------------


def _methods_section(report: "StabilityReport") -> Section:
    """Average_Error against Stability_Error of all methods, with the shrinkage line."""
    comparison = report.comparison
    names = {
        "Average_Error": "average",
        "Stability_Error": "stability",
        "Worst_Error": "worst",
        "average_gap": "average gap closed",
        "stability_gap": "stability gap closed",
        "shrunk_better": "shrunk LR better",
    }
    formats: dict[str, Format] = dict.fromkeys(
        ("average gap closed", "stability gap closed"), percent
    )
    formats["shrunk LR better"] = lambda value: "yes" if value else "no"
    frame = comparison.summary().rename(columns=names).rename_axis("method")
    blocks: list[Block] = [table_of(frame, join_words(SUMMARIES), formats)]
    if len(frame) > 1:
        blocks.insert(0, _methods_figure(report))
    title = methods_title(comparison)
    return Section("methods", "Methods", title, _about_methods(report), [blocks])


def _methods_figure(report: "StabilityReport") -> Figure:
    comparison, own = report.comparison, report.errors[["low", "high"]]
    styles = method_styles(comparison.roles)
    x, y = "Stability_Error", "Average_Error"
    points: list[Point] = []
    for name, row in comparison.summary().iterrows():
        ends = [] if points else [(own["low"][k], own["high"][k]) for k in (x, y)]
        points.append(Point(str(name), row[x], row[y], styles[str(name)], *ends))
    legend, path = list(method_legend(styles, lines=False)), []
    if comparison.line is not None:
        path = list(zip(comparison.line[x], comparison.line[y], strict=True))
        legend.append(legend_item("LR pulled to the constant", "", "c-constant", "dashed"))
    description = f"{y} against {x} of {_method_names(report)}"
    caption = (
        f"Left is steady, low is accurate. The cross-hair of {_model(report)} shows its "
        f"{percent(report.level)} intervals over the rows."
    )
    return Figure(scatter_chart(points, path, (x, y), description), caption, legend)


def _about_methods(report: "StabilityReport") -> list[str]:
    """What the references are, and what is missing."""
    comparison, train = report.comparison, report.run.train
    roles = set(comparison.roles.values())
    if train is None:
        return [
            "Without the training environment (train=...) there is no logistic regression and no "
            "constant to compare with."
        ]
    meanings = {
        "LR": "LR is scikit-learn's LogisticRegression with its defaults, on the same columns",
        "constant": "the constant predicts the base rate for every row",
        "oracle": "the oracle is a logistic regression on the features known to be stable",
    }
    known = [text for role, text in meanings.items() if role in roles]
    about = f"All fitted on {label(train[0]).shown}: {'; '.join(known)}."
    if comparison.line is not None:
        about += (
            " The shrinkage line holds LR pulled step by step to the constant: a method helps only "
            "if no point of it is smaller in both errors."
        )
    if {"oracle", "LR"} <= roles:
        about += (
            " The gap closed is the share of the way from LR to the oracle; more than 100 % is "
            "beyond it."
        )
    return [about, *comparison.notes]


# --- what breaks it -----------------------------------------------------------------------------


def _breakers_section(report: "StabilityReport", breakers: pd.DataFrame) -> Section:
    """The harm that each feature does in the worst environment."""
    error = error_name(report.error)
    there, here = label(report.best).shown, label(report.worst).shown
    first, harm = label(breakers["feature"].iloc[0]).shown, float(breakers["harm"].iloc[0])
    title = f"No single feature does much harm in {here}, the worst environment"
    if harm > SLIGHT * float(breakers["error_redrawn"].iloc[0]):
        title = (
            f"{first} does most harm: the {error} in {here} falls by {number(harm)} when its link "
            f"to the outcome is as in {there}"
        )
    text = (
        f"In {here}, the worst environment, one feature at a time is drawn again given the "
        f"outcome: once as it is there, once as it is in {there}, the best. Harm is what the error "
        "falls by from the one to the other."
    )
    rows = [
        Row(str(name), [Mark(harm, "circle", "c-model", signed(harm))], (0.0, harm))
        for name, harm in breakers[["feature", "harm"]].head(SHOWN).itertuples(index=False)
    ]
    drawing = row_chart(rows, f"harm ({error})", f"Harm by feature in {here}", zero=True)
    caption = "Features, the most harmful first."
    if len(breakers) > SHOWN:
        caption += f" The first {SHOWN} of {len(breakers):,}; the table has all."
    names = {
        "harm": "harm",
        "error_redrawn": "error, redrawn",
        "error_restored": "error, restored",
        "association_best": f"link in {there}",
        "association_worst": f"link in {here}",
    }
    frame = breakers.set_index("feature")[list(names)].rename(columns=names)
    signs: dict[str, Format] = {c: signed for c in frame.columns if c.startswith(("harm", "link"))}
    link = "Link: mean of the outcome where the feature is high minus where it is low"
    blocks: list[Block] = [Figure(drawing, caption), table_of(frame, link, signs)]
    return Section("breakers", "What breaks it", title, [text], [blocks])
