"""The page of a stability report."""

from functools import partial

import pandas as pd

from stablepred._text import error_name, interval, join_words, label, number, percent, signed
from stablepred.evaluation.drop import DropReport
from stablepred.evaluation.metrics import SUMMARIES
from stablepred.evaluation.reports import StabilityReport
from stablepred.evaluation.verdict import methods_title
from stablepred.html.drop import drop_section
from stablepred.html.figures import make_figure
from stablepred.html.model import balance_section, run_section, variables_section
from stablepred.html.page import Block, Figure, Format, Page, Section, Table, table_of
from stablepred.plotting.errors import EnvironmentErrorsDisplay
from stablepred.plotting.rows import MOST_ROWS, ROLES, Display, Marks, draw_rows

SLIGHT = 0.02  # harm below this share of the error is not worth a title
VISIBLE = 0.001  # harm below this is not worth a mark
PLAIN_WORDS = {
    "Average_Error": "Average error",
    "Stability_Error": "How much errors differ between groups",
    "Worst_Error": "Largest error",
}


def stability_page(report: StabilityReport, drop: DropReport | None = None) -> Page:
    """All that a stability report has to show, and what a change in loss comes from."""
    facts = report.facts
    sections = [_errors_section(report), _methods_section(report)]
    if drop is not None:
        sections.append(drop_section(drop))
    if facts.effects is not None:
        sections.append(variables_section(facts, facts.effects))
    if report.breakers is not None:
        sections.append(_breakers_section(report, report.breakers))
    if facts.balance is not None:
        sections.append(balance_section(facts.balance))
    sections.append(run_section(report.facts, report.run, _remarks(report)))
    title = f"Stability report of {label(report.facts.name)}"
    return Page(title, report.verdict, _numbers(report), sections, report.run.made)


def _numbers(report: StabilityReport) -> list[tuple[str, str, str]]:
    """The numbers that stand out, in plain words, beside those of what is always at hand."""
    own, summary = report.errors["error"], report.comparison.summary()
    names = {"LR": "logistic regression", "constant": "a constant"}
    beside = {n: names[role] for n, role in report.comparison.roles.items() if role in names}
    numbers = []
    for column, words in PLAIN_WORDS.items():
        remarks = [f"in {label(report.worst)}"] * (column == "Worst_Error")
        remarks += [
            f"{other} {number(float(summary[column].loc[n]))}" for n, other in beside.items()
        ]
        numbers.append((words, number(own[column]), ", ".join(remarks)))
    return numbers


def _remarks(report: StabilityReport) -> list[str]:
    """What the page lacks, and whether the model stopped early."""
    lines = []
    if report.breakers is None:
        lines.append("From predictions alone there is no answer to what breaks the model.")
    if report.facts.converged is False:
        lines.append(f"{label(report.facts.name)} stopped before it converged.")
    return lines


def _errors_section(report: StabilityReport) -> Section:
    """Errors per environment with intervals."""
    own, errors = report.errors["error"], report.comparison.errors
    title = (
        f"The error is largest in {label(report.worst)} ({number(own[report.worst])}) and "
        f"smallest in {label(report.best)} ({number(own[report.best])})"
    )
    blocks: list[list[Block]] = [[_errors_figure(report), _errors_table(report)]]
    if len(errors) > 1:
        caption = f"{error_name(report.error)} of all methods"
        blocks.append([table_of(errors.T.rename_axis("environment"), caption)])
    return Section("errors", "Errors", title, [], blocks)


def _errors_figure(report: StabilityReport) -> Figure:
    whose = f"{percent(report.level)} interval of {label(report.facts.name)}"
    return make_figure(
        lambda ax: EnvironmentErrorsDisplay.from_report(report, ax=ax),
        f"{error_name(report.error)} by environment, one mark per method",
        f"The line through a mark is the {whose} over the rows.",
        report.comparison.errors.shape[1],
    )


def _errors_table(report: StabilityReport) -> Table:
    own, environments = report.errors, report.run.environments
    error, blank = error_name(report.error), [""] * len(SUMMARIES)
    frame = pd.DataFrame(index=own.index.rename("environment"))
    frame["rows"] = [*map("{:,}".format, environments["rows"]), *blank]
    show, mean = (percent, "y\u00a0=\u00a01") if report.run.binary else (number, "mean of y")
    frame[mean] = [*map(show, environments["positive"]), *blank]
    frame["predicted"] = [*map(show, own["predicted"].dropna()), *blank]
    frame[error] = own["error"]
    frame[f"{report.level:.0%} interval"] = list(map(interval, own["low"], own["high"]))
    return table_of(frame, f"{error} of {label(report.facts.name)}", summary=len(SUMMARIES))


def _methods_section(report: StabilityReport) -> Section:
    """Summaries of the errors of all methods, and how they stand to the references."""
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
        "shrunk LR better": lambda value: "yes" if value else "no",
    }
    frame = report.comparison.summary().rename(columns=names).rename_axis("method")
    table = table_of(frame, join_words(SUMMARIES), formats)
    title = methods_title(report.comparison)
    return Section("methods", "Methods", title, _about_methods(report), [[table]])


def _about_methods(report: StabilityReport) -> list[str]:
    """What the references are, and what is missing."""
    comparison, train = report.comparison, report.run.train
    if "constant" not in comparison.roles.values():
        return [
            "The model keeps no references, and without the training environment (train=...) "
            "there is no logistic regression and no constant to compare with."
        ]
    meanings = {
        "LR": "LR is logistic regression on the same columns, its penalty chosen on held-out rows",
        "ridge": "ridge is linear regression on the same columns, its penalty chosen on held-out "
        "rows",
        "constant": "the constant predicts the training mean for every row",
        "oracle": "the oracle is the same kind of model on the features known to be stable",
    }
    known = [text for role, text in meanings.items() if role in comparison.roles.values()]
    where = "the training rows" if train is None else label(train[0])
    about = [f"All fitted on {where}: {'; '.join(known)}."]
    if comparison.line is not None:
        about.append(
            "Shrunk LR is the linear model pulled step by step to the constant: a method helps "
            "only if no step of it is smaller in both average and stability."
        )
    if "oracle" in comparison.roles.values():
        about.append(
            "The gap closed is the share of the way from LR to the oracle; more than 100 % is "
            "beyond it."
        )
    return [*about, *comparison.notes]


def _breakers_section(report: StabilityReport, breakers: pd.DataFrame) -> Section:
    """The harm that each feature does in the worst environment."""
    error, top = error_name(report.error), breakers.iloc[0]
    there, here = label(report.best), label(report.worst)
    title = f"No single feature does much harm in {here}, the worst environment"
    if top["harm"] > SLIGHT * top["error_redrawn"]:
        title = (
            f"{label(top['feature'], 60)} does most harm: the {error} in {here} falls by "
            f"{number(top['harm'])} when its link to the outcome is as in {there}"
        )
    text = (
        f"In {here}, the worst environment, one feature at a time is drawn again given the "
        f"outcome: once as it is there, once as it is in {there}, the best. Harm is what the error "
        "falls by from the one to the other."
    )
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
    figures = _harms_figure(breakers, f"harm ({error})", f"Harm by feature in {here}")
    blocks: list[Block] = [*figures, table_of(frame, link, signs)]
    return Section("breakers", "What breaks it", title, [text], [blocks])


def _harms_figure(breakers: pd.DataFrame, scale: str, description: str) -> list[Figure]:
    """The harms that three decimals can show, if there are any."""
    shown = breakers[breakers["harm"].abs() >= VISIBLE].head(MOST_ROWS)
    if shown.empty:
        return []
    rows, harm = list(shown["feature"]), shown["harm"].to_numpy()
    marks = [Marks("harm", harm, ROLES["model"], 0 * harm, harm)]
    caption = "Features, the most harmful first."
    if len(shown) < min(len(breakers), MOST_ROWS):
        caption += f" The others change the error by less than {VISIBLE}."
    draw = partial(draw_rows, Display(), names=rows, series=marks, scale_name=scale, zero=True)
    return [make_figure(lambda ax: draw(ax=ax), description, caption)]
