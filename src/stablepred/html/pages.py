"""The page of a stability report."""

import re

import pandas as pd

from stablepred._text import (
    count_noun,
    error_name,
    interval,
    label,
    number,
    percent,
    printable,
    signed,
)
from stablepred.evaluation.diagnostics import BalanceReport, ModelFacts
from stablepred.evaluation.metrics import SUMMARIES
from stablepred.evaluation.reports import StabilityReport
from stablepred.evaluation.verdict import NAMES
from stablepred.html.page import Block, Format, Page, Section, make_figure, make_table
from stablepred.plotting.displays import (
    BalanceDisplay,
    EnvironmentErrorsDisplay,
    VariableEffectsDisplay,
)
from stablepred.plotting.rows import MOST_ROWS, ROLES, Display, Marks, draw_rows

SLIGHT = 0.02  # harm below this share of the error is not worth a title
VISIBLE = 0.001  # harm below this is not worth a mark
HARDLY = 0.1  # a worst imbalance within this share of what it was has hardly changed
MEANINGS = (
    "Stable: the evidence is that a variable bears on the outcome. Undecided: it is too weak "
    "either way. Noisy: the tie to the outcome may not hold elsewhere. Effect: what the weighted "
    "mean of the outcome changes by from 0 to 1, or with a standard deviation of a number; of a "
    "category, its clearest level."
)
REFERENCES = (
    "LR (or ridge, for a number) is the linear model of the same columns, its penalty chosen on "
    "held-out rows; the constant predicts the training mean; the oracle, where the stable features "
    "are known, is the linear model of those. All are fitted on the training rows."
)
NO_REFERENCES = (
    "The model keeps no references, and without the training environment (train=...) there is no "
    "logistic regression and no constant to compare with."
)
NUMBERS = r" \([^()]* (differs|lower) by [^()]*\)"  # in a verdict
PLAIN_WORDS = {
    "Average_Error": "Average error",
    "Stability_Error": "How much errors differ between groups",
    "Worst_Error": "Largest error",
}


def stability_page(report: StabilityReport) -> Page:
    facts = report.facts
    sections = [_errors_section(report)]
    sections += [] if facts.effects is None else [_variables_section(facts, facts.effects)]
    sections += [] if report.breakers is None else [_breakers_section(report, report.breakers)]
    sections += [] if facts.balance is None else [balance_section(facts.balance)]
    sections.append(_run_section(report))
    # The numbers that stand out, in plain words, beside those of what is always at hand.
    summary, roles = report.comparison.summary(), report.comparison.roles
    numbers = []
    for column, words in PLAIN_WORDS.items():
        found = list(zip(roles.values(), summary[column], strict=True))  # the model comes first
        at = [f"in {label(report.worst)}"] * (column == "Worst_Error")
        at += [f"{NAMES[r]} {number(value)}" for r, value in found if r in ("LR", "constant")]
        numbers.append((words, number(found[0][1]), ", ".join(at)))
    title = f"Stability report of {label(facts.name)}"
    headline = re.sub(NUMBERS, "", re.split(r"(?<=\.) (?=The worst error of)", report.verdict)[0])
    details = [report.verdict] if headline != report.verdict else []
    return Page(title, headline, details, numbers, sections, report.run["made"])


def _errors_section(report: StabilityReport) -> Section:
    own, comparison, summary = report.errors, report.comparison, report.comparison.summary()
    error, name, at = error_name(report.error), label(report.facts.name), own["error"]
    figure = make_figure(
        lambda ax: EnvironmentErrorsDisplay.from_report(report, ax=ax),
        f"{error} by environment, one mark per method",
        f"The line through a mark is the {percent(report.level)} interval of {name} over the rows.",
        len(report.rows),
    )
    frame = pd.DataFrame(
        {
            "rows": report.rows,
            "mean of y": own["observed"],
            "predicted": own["predicted"],
            error: at,
            f"{report.level:.0%} interval": list(map(interval, own["low"], own["high"])),
        },
        index=own.index.rename("environment"),
    )
    formats: dict[str, Format] = {"rows": lambda rows: number(rows, 0)}
    blocks = [[figure, make_table(frame, f"{error} of {name}", formats, summary=len(SUMMARIES))]]
    if len(comparison.errors) > 1:
        every = pd.concat([comparison.errors.T, summary[list(SUMMARIES)].T])
        every = every.rename_axis("environment")
        blocks.append([make_table(every, f"{error} of all methods", summary=len(SUMMARIES))])
    text = [REFERENCES if "constant" in comparison.roles.values() else NO_REFERENCES]
    if "shrunk_better" in summary and summary["shrunk_better"].iloc[0]:
        text.append(
            f"{name} does not help: some step of the linear model, pulled step by step to the "
            "constant, is smaller in both Average_Error and Stability_Error."
        )
    title = (
        f"The error is largest in {label(report.worst)} ({number(at[report.worst])}) and "
        f"smallest in {label(report.best)} ({number(at[report.best])})"
    )
    return Section("errors", "Errors", title, [*text, *comparison.notes], blocks)


def _breakers_section(report: StabilityReport, breakers: pd.DataFrame) -> Section:
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
    frame = _space_out(breakers.set_index("feature").iloc[:, ::-1])
    columns = ("harm", "association best", "association worst")
    meaning = "Association: mean of the outcome where the feature is high minus where it is low"
    blocks = [make_table(frame, meaning, dict.fromkeys(columns, signed))]
    shown = breakers[breakers["harm"].abs() >= VISIBLE].head(MOST_ROWS)
    if not shown.empty:
        names, harm = list(shown["feature"]), shown["harm"].to_numpy()
        marks = [Marks("harm", harm, ROLES["model"], 0 * harm, harm)]
        figure = make_figure(
            lambda ax: draw_rows(Display(), ax, names, marks, f"harm ({error})", zero=True),
            f"Harm by feature in {here}",
            f"The most harmful first; those that change the error by {VISIBLE} or more.",
        )
        blocks.insert(0, figure)
    return Section("breakers", "What breaks it", title, [text], [blocks])


def _variables_section(facts: ModelFacts, effects: pd.DataFrame) -> Section:
    name, n = label(facts.name), count_noun(len(effects), "variable")
    title = f"{int((effects['verdict'] == 'stable').sum()):,} of {n} are called stable"
    if "used" in effects:
        title = f"{name} uses {int(effects['used'].sum()):,} of {n}"
    decision = facts.decision
    text = [] if decision is None else [decision.reason, *decision.variables.splitlines()]
    text = [printable(line) for line in [*text, MEANINGS] if line]
    frame = effects.sort_values("effect", key=lambda e: -e.abs(), kind="stable")
    frame = _space_out(frame.set_index("feature").rename_axis("variable"))
    first = [name for name in ("verdict", "used") if name in frame]
    frame = frame[[*first, *(name for name in frame if name not in first)]]
    formats: dict[str, Format] = dict.fromkeys(("effect", "low", "high"), signed)
    formats["used"] = lambda value: "yes" if value else "no"
    table = make_table(frame, "Effect, interval and evidence per variable", formats)
    figure = make_figure(
        VariableEffectsDisplay(effects).plot,
        "Effect of each variable with its interval",
        "Effects with intervals, the largest first.",
        len(effects),
    )
    rows = [[figure, table]]
    if decision is not None:
        candidates = _space_out(decision.candidates.set_index("candidate"))
        rows.append([make_table(candidates, f"What was compared; chosen: {decision.chosen}")])
    return Section("variables", "What it uses", title, text, rows)


def _space_out(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns=lambda name: str(name).replace("_", " "))


def balance_section(report: BalanceReport) -> Section:
    worst = report.worst_after
    before, after = abs(report.worst_before.imbalance), abs(worst.imbalance)
    verb = "lowers" if after < before else "raises"
    verb = "hardly changes" if abs(after - before) <= HARDLY * before else verb
    change = f"{number(before)} before, {number(after)} after"
    text = [
        "Imbalance of feature j on feature k: what the mean of k changes by from j = 0 to j = 1, "
        "or with a standard deviation of a number j. After weighting the worst is that of "
        f"{label(worst.treatment)} on {label(worst.covariate)}.",
        f"Under the weights {report.n_rows:,} rows are as precise as "
        f"{report.effective_sample_size:,.0f} ({percent(report.effective_share, 1)}): the variance "
        f"of a mean is {number(1 / report.effective_share, 2)} times that of equal weights.",
    ]
    figure = make_figure(
        BalanceDisplay(report).plot,
        "Imbalance per treatment before and after weighting",
        "Largest absolute imbalance per treatment, largest before weighting first.",
        len(report.after),
    )
    title = f"Weighting {verb} the worst imbalance: {change}"
    return Section("balance", "Balance", title, text, [[figure]])


def _run_section(report: StabilityReport) -> Section:
    name = label(report.facts.name)
    remarks = ["From predictions alone there is no answer to what breaks the model."]
    rows, environments = int(report.rows.sum()), len(report.rows)
    title = f"{name} on {count_noun(rows, 'row')} in {count_noun(environments, 'environment')}"
    entries = [(label(key), label(value, 120)) for key, value in report.run.items() if value]
    table = Block("The run", rows=entries)
    return Section("run", "What was run", title, remarks * (report.breakers is None), [[table]])
