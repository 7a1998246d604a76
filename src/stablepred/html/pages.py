"""The pages of stability reports and of stress tests."""

from functools import partial
from typing import Any

import pandas as pd

from stablepred._text import error_name, interval, join_words, label, number, percent, signed
from stablepred.evaluation.drop import DropReport
from stablepred.evaluation.metrics import SUMMARIES
from stablepred.evaluation.reports import StabilityReport
from stablepred.evaluation.stress import StressReport
from stablepred.evaluation.verdict import methods_title
from stablepred.html.model import balance_section, run_section, variables_section
from stablepred.html.page import Block, Format, Page, Section, make_figure, table_of
from stablepred.plotting.errors import EnvironmentErrorsDisplay
from stablepred.plotting.rows import MOST_ROWS, QUIET, ROLES, Display, Marks, draw_rows

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
        sections.append(_drop_section(drop))
    if facts.effects is not None:
        sections.append(variables_section(facts, facts.effects))
    if report.breakers is not None:
        sections.append(_breakers_section(report, report.breakers))
    if facts.balance is not None:
        sections.append(balance_section(facts.balance))
    remarks = []
    if report.breakers is None:
        remarks.append("From predictions alone there is no answer to what breaks the model.")
    if facts.converged is False:
        remarks.append(f"{label(facts.name)} stopped before it converged.")
    sections.append(run_section(facts, report.run, remarks))
    # The numbers that stand out, in plain words, beside those of what is always at hand.
    own, summary = report.errors["error"], report.comparison.summary()
    names = {"LR": "logistic regression", "constant": "a constant"}
    beside = {n: names[role] for n, role in report.comparison.roles.items() if role in names}
    numbers = []
    for column, words in PLAIN_WORDS.items():
        at = [f"in {label(report.worst)}"] * (column == "Worst_Error")
        at += [f"{other} {number(float(summary[column].loc[n]))}" for n, other in beside.items()]
        numbers.append((words, number(own[column]), ", ".join(at)))
    title = f"Stability report of {label(facts.name)}"
    return Page(title, report.verdict, numbers, sections, report.run.made)


def _errors_section(report: StabilityReport) -> Section:
    """Errors per environment with intervals."""
    own, errors, environments = report.errors, report.comparison.errors, report.run.environments
    error, name, at = error_name(report.error), label(report.facts.name), report.errors["error"]
    figure = make_figure(
        lambda ax: EnvironmentErrorsDisplay.from_report(report, ax=ax),
        f"{error} by environment, one mark per method",
        f"The line through a mark is the {percent(report.level)} interval of {name} over the rows.",
        errors.shape[1],
    )
    blank = [""] * len(SUMMARIES)
    frame = pd.DataFrame(index=own.index.rename("environment"))
    frame["rows"] = [*map("{:,}".format, environments["rows"]), *blank]
    show, mean = (percent, "y\u00a0=\u00a01") if report.run.binary else (number, "mean of y")
    frame[mean] = [*map(show, environments["positive"]), *blank]
    frame["predicted"] = [*map(show, own["predicted"].dropna()), *blank]
    frame[error] = at
    frame[f"{report.level:.0%} interval"] = list(map(interval, own["low"], own["high"]))
    table = table_of(frame, f"{error} of {name}", summary=len(SUMMARIES))
    blocks: list[list[Block]] = [[figure, table]]
    if len(errors) > 1:
        blocks.append([table_of(errors.T.rename_axis("environment"), f"{error} of all methods")])
    title = (
        f"The error is largest in {label(report.worst)} ({number(at[report.worst])}) and "
        f"smallest in {label(report.best)} ({number(at[report.best])})"
    )
    return Section("errors", "Errors", title, [], blocks)


def _methods_section(report: StabilityReport) -> Section:
    """Summaries of the errors of all methods, and how they stand to the references."""
    names = dict(zip(SUMMARIES, ("average", "stability", "worst"), strict=True))
    names |= {"average_gap": "average gap closed", "stability_gap": "stability gap closed"}
    names["shrunk_better"] = "shrunk LR better"
    formats: dict[str, Format] = {name: percent for name in names.values() if "gap" in name}
    formats["shrunk LR better"] = lambda value: "yes" if value else "no"
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
    names = {"harm": "harm", "error_redrawn": "error, redrawn", "error_restored": "error, restored"}
    names |= {"association_best": f"link in {there}", "association_worst": f"link in {here}"}
    frame = breakers.set_index("feature")[list(names)].rename(columns=names)
    signs: dict[str, Format] = {c: signed for c in frame.columns if c.startswith(("harm", "link"))}
    link = "Link: mean of the outcome where the feature is high minus where it is low"
    blocks: list[Block] = [table_of(frame, link, signs)]
    shown = breakers[breakers["harm"].abs() >= VISIBLE].head(MOST_ROWS)
    if not shown.empty:
        rows, harm = list(shown["feature"]), shown["harm"].to_numpy()
        marks = [Marks("harm", harm, ROLES["model"], 0 * harm, harm)]
        caption = "Features, the most harmful first."
        if len(shown) < min(len(breakers), MOST_ROWS):
            caption += f" The others change the error by less than {VISIBLE}."
        draw = partial(draw_rows, Display(), names=rows, series=marks, zero=True)
        scale = f"harm ({error})"
        drawn = make_figure(
            lambda ax: draw(ax=ax, scale_name=scale), f"Harm by feature in {here}", caption
        )
        blocks.insert(0, drawn)
    return Section("breakers", "What breaks it", title, [text], [blocks])


def _drop_section(report: DropReport) -> Section:
    """What a loss comes from: X moving, or Y given X changing; the variables behind both."""
    parts = report.parts[["loss"]].rename_axis("part").rename(columns={"loss": report.error})
    ends = zip(report.parts["low"], report.parts["high"], strict=True)
    parts[f"{percent(report.level)} interval"] = [interval(low, high) for low, high in ends]
    parts["share"] = report.parts["share"]
    formats: dict[str, Format] = {report.error: signed, "share": percent, "x loss": signed}
    frame = report.variables.sort_values("moved", ascending=False, kind="stable")
    frame = (
        frame.head(MOST_ROWS).rename_axis("variable").rename(columns=lambda c: c.replace("_", " "))
    )
    first, second = map(label, report.names)
    text = (
        "Both tables are weighted to the rows that they share. X moves: the loss changes between "
        f"all rows and the shared ones. Y given X changes: it differs between {first} and {second} "
        "on the shared ones. Moved: how well a variable alone tells the tables apart. Relation: "
        "how far the slope of the model's residuals on it differs."
    )
    tables = [table_of(parts, "Parts of the loss", formats), table_of(frame, "Variables", formats)]
    return Section("drop", "What it comes from", report.verdict, [text], [tables])


# --- the page of a stress test ---


def stress_page(report: StressReport) -> Page:
    """All that a stress test has to show."""
    name, top = label(report.errors.index[0]), report.errors.iloc[0]
    error, model = error_name(report.error), label(report.facts.name)
    verdict = (
        f"The {error} of {model} is {number(report.observed)} as observed and rises to "
        f"{number(top['worst'])} when {name} comes to agree with the outcome in "
        f"{percent(top['worst_rate'])} of the rows."
    )
    numbers = [
        ("As observed", number(report.observed), error),
        ("Worst", number(top["worst"]), f"{name} at {percent(top['worst_rate'])}"),
        ("Features tested", f"{len(report.errors):,}", f"{len(report.skipped):,} not tested"),
    ]
    sections = [_stress_section(report), run_section(report.facts, report.run, [])]
    return Page(f"Stress test of {model}", verdict, numbers, sections, report.run.made)


def _stress_section(report: StressReport) -> Section:
    """Worst errors per feature."""
    errors, error = report.errors.rename_axis("feature"), error_name(report.error)
    agreement = f"it agrees with the outcome in {percent(errors['agreement'].iloc[0])} of the rows"
    title = f"{label(errors.index[0], 60)} breaks it most; {agreement} now"
    text = [
        "Rows are resampled so that one feature at a time agrees with the outcome in a share r of "
        "both classes, from against it to with it.",
        *(f"{label(name)} was not tested: {why}." for name, why in report.skipped.items()),
    ]
    frame = pd.DataFrame(
        {
            "worst": errors["worst"],
            "interval": list(map(interval, errors["low"], errors["high"])),
            "at rate": errors["worst_rate"].map(percent),
            "agreement now": errors["agreement"].map(percent),
            "spread": errors["stability"],
            "effective rows": errors["effective_rows"].map("{:,.0f}".format),
        }
    )
    caption = f"Worst {error} per feature, and its spread over the rates"
    by_rate = errors.filter(like="r=")
    rates = table_of(by_rate, f"{error} by rate of agreement r")
    top, shown = report.errors.head(MOST_ROWS), by_rate.head(MOST_ROWS)
    series = [
        Marks("largest error", top["worst"], ROLES["model"], top["low"], top["high"]),
        Marks("smallest error", shown.min(axis=1), ("o", QUIET), hollow=True),
    ]

    def draw(ax: Any) -> Display:
        ax.axvline(report.observed, color=QUIET, lw=1, ls=(0, (3, 3)))
        return draw_rows(Display(), ax, list(top.index), series, error)

    figure = make_figure(
        draw,
        f"{error} by feature, the largest first",
        f"The dashed line is the error as observed, {number(report.observed)}; the line through a "
        f"mark is the {percent(report.level)} interval of the largest error.",
        len(report.errors),
    )
    blocks: list[Block] = [figure, table_of(frame, caption)]
    return Section("stress", "Stress", title, text, [blocks, [rates]])
