"""Sections on the model itself: balance, weights, effects of the features, and the run."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from stablepred._text import count_noun, join_words, label, number, percent, signed
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.evaluation.facts import ModelFacts, RunFacts
from stablepred.html.charts import MOST_ROWS, Mark, Row, legend_item, row_chart
from stablepred.html.page import Figure, Format, Section, Table, table_of

WORST_PAIRS = 12
HARDLY = 0.1  # a worst imbalance within this share of what it was has hardly changed


def model_sections(facts: ModelFacts) -> list[Section]:
    """Balance and effects, as far as the model has them."""
    sections = [balance_section(facts.balance)] if facts.balance is not None else []
    return sections + ([_effects_section(facts.effects)] if facts.effects is not None else [])


def balance_section(report: BalanceReport) -> Section:
    """Imbalance before and after weighting, per treatment and of the worst pairs."""
    before, after = (abs(worst.imbalance) for worst in (report.worst_before, report.worst_after))
    verb = "lowers" if after < before else "raises"
    if abs(after - before) <= HARDLY * before:
        verb = "hardly changes"
    change = f"{number(before)} before, {number(after)} after"
    title = f"Weighting {verb} the worst imbalance: {change}"
    text = [
        "Every feature is a treatment in turn. Imbalance of treatment j on feature k: the mean of "
        "k among rows where j is 1 minus its mean among rows where j is 0, as shares.",
        f"Under the weights {report.n_rows:,} rows are as precise as "
        f"{report.effective_sample_size:,.0f} ({percent(report.effective_share, 1)}): the variance "
        f"of a mean is {number(report.design_effect, 2)} times that of equal weights.",
    ]
    return Section("balance", "Balance", title, text, [[_love_plot(report), _worst_pairs(report)]])


def _love_plot(report: BalanceReport) -> Figure:
    """Largest absolute imbalance of each treatment, the largest before first."""
    looks = {"before": ("ring", "c-constant"), "after": ("circle", "c-model")}
    frame = report.to_frame().sort_values("largest_before", ascending=False, kind="stable")
    caption = "Largest absolute imbalance per treatment, largest before weighting first."
    if len(frame) > MOST_ROWS:
        caption += f" The worst {MOST_ROWS} of {len(frame):,} treatments."
    rows = []
    for name, row in frame.head(MOST_ROWS).iterrows():
        ends = {when: float(row[f"largest_{when}"]) for when in looks}
        marks = [Mark(v, *looks[when], f"{when} {number(v)}") for when, v in ends.items()]
        rows.append(Row(str(name), marks, (ends["before"], ends["after"])))
    description = "Imbalance per treatment before and after weighting"
    drawing = row_chart(rows, "largest absolute imbalance", description, zero=True)
    return Figure(drawing, caption, [legend_item(when, *look) for when, look in looks.items()])


def _worst_pairs(report: BalanceReport) -> Table:
    first, gaps = report.before.to_numpy(), report.after.to_numpy()
    names = [label(name) for name in report.after.index]
    order = np.argsort(-np.abs(gaps), axis=None, kind="stable")[:WORST_PAIRS]
    pairs = [(j, k) for j, k in zip(*np.unravel_index(order, gaps.shape), strict=True) if j != k]
    rows = [[names[j], names[k], signed(first[j, k]), signed(gaps[j, k])] for j, k in pairs]
    return Table("The worst pairs after weighting", ["treatment", "on", "before", "after"], rows)


VERDICTS = {
    "stable": ("circle", "c-model"),
    "undecided": ("ring", "c-model"),
    "noisy": ("ring", "c-constant"),
}


def _effects_section(effects: pd.DataFrame) -> Section:
    """Effects of the features with intervals and verdicts."""
    stable = int((effects["verdict"] == "stable").sum())
    title = f"{stable:,} of {count_noun(len(effects), 'feature')} are called stable"
    text = [
        "Effect: the weighted mean of the outcome where the feature is 1 minus where it is 0, on "
        "the training rows under the weights. The verdict is the model's own; the table has all "
        "the evidence it is based on."
    ]
    if "used" in effects:
        used = effects.loc[effects["used"].astype(bool), "feature"]
        title += f"; the model uses {len(used):,}"
        if 0 < len(used) < len(effects):
            text.append(f"Used: {join_words(list(map(label, used)), most=20)}.")
    ordered = effects.sort_values("effect", key=lambda e: -e.abs(), kind="stable")
    frame = ordered.set_index("feature").rename(columns=lambda c: str(c).replace("_", " "))
    frame.insert(0, "verdict", frame.pop("verdict"))
    formats: dict[str, Format] = dict.fromkeys(("effect", "low", "high"), signed)
    formats["used"] = lambda value: "yes" if value else "no"
    table = table_of(frame, "Effect, interval and evidence per feature", formats)
    return Section("effects", "Features", title, text, [[_effects_figure(ordered), table]])


def _effects_figure(effects: pd.DataFrame) -> Figure:
    caption = "Effects with intervals, the largest first."
    if len(effects) > MOST_ROWS:
        caption += f" The first {MOST_ROWS} of {len(effects):,} features; the table has all."
    rows = []
    for _, row in effects.head(MOST_ROWS).iterrows():
        effect, low, high = row[["effect", "low", "high"]]
        hint = f"{signed(effect)} ({signed(low)} to {signed(high)})"
        look = VERDICTS.get(row["verdict"], VERDICTS["undecided"])
        rows.append(Row(str(row["feature"]), [Mark(effect, *look, hint, low, high)]))
    drawing = row_chart(rows, "effect", "Effect of each feature with its interval", zero=True)
    met = {"stable", "noisy", *effects["verdict"]}
    return Figure(drawing, caption, [legend_item(v, *VERDICTS[v]) for v in VERDICTS if v in met])


def run_section(facts: ModelFacts, run: RunFacts, remarks: list[str]) -> Section:
    """Model, data, settings and versions."""
    name, rows = label(facts.name), run.environments["rows"]
    title = (
        f"{name} on {count_noun(int(rows.sum()), 'row')} in "
        f"{count_noun(len(rows), 'environment')}, {count_noun(run.n_features, 'feature')}"
    )
    entries: list[Sequence[str]] = [("model", label(" → ".join(facts.steps), 120))]
    if facts.n_iter is not None:
        state = {True: ", converged", False: ", not converged", None: ""}[facts.converged]
        entries.append(("fit", f"{count_noun(facts.n_iter, 'iteration')}{state}"))
    if run.train is not None:
        trained = f"{run.train[0]}: {count_noun(run.train[1], 'row')}"
        entries.append(("trained on", label(trained, 60)))
    tested = join_words([f"{name}: {n:,}" for name, n in rows.items()], most=12)
    entries += [
        ("rows per environment", label(tested, 240)),
        ("intervals", f"{run.n_bootstrap:,} bootstrap samples of the rows"),
        ("seed of the report", str(run.seed)),
        ("made", run.made),
        ("took", f"{run.seconds:.1f} s"),
        *run.versions.items(),
    ]
    blocks = [Table("The run", [], entries)]
    if facts.parameters:
        given = [(label(key), label(value, 120)) for key, value in facts.parameters.items()]
        blocks.append(Table(f"Parameters of {name}", [], given))
    return Section("run", "What was run", title, remarks, [blocks])
