"""Sections on the model itself: the variables it uses and why, and balance."""

import pandas as pd

from stablepred._text import count_noun, join_words, label, number, percent, signed
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.evaluation.facts import ModelFacts
from stablepred.html.page import Block, Format, Section, make_figure, table_of
from stablepred.plotting.model import BalanceDisplay, VariableEffectsDisplay

# Verdict, whether used, and what it means.
VERDICTS = [
    ("stable", True, "Used, called stable: the evidence is that they bear on the outcome"),
    ("undecided", True, "Used, undecided: the evidence is too weak either way"),
    ("noisy", True, "Used although called noisy: their tie to the outcome may not hold elsewhere"),
    ("noisy", False, "Left out, called noisy: their tie to the outcome may not hold elsewhere"),
    ("undecided", False, "Left out, undecided: the evidence is too weak either way"),
    ("stable", False, "Left out although called stable"),
    ("constant", False, "Left out, the same in every training row"),
]
MOST_NAMES = 15  # of one verdict in words; the table has all
HARDLY = 0.1  # a worst imbalance within this share of what it was has hardly changed


def balance_section(report: BalanceReport) -> Section:
    """Imbalance before and after weighting, per treatment and of the worst pair."""
    worst = report.worst_after
    before, after = abs(report.worst_before.imbalance), abs(worst.imbalance)
    verb = "lowers" if after < before else "raises"
    if abs(after - before) <= HARDLY * before:
        verb = "hardly changes"
    change = f"{number(before)} before, {number(after)} after"
    title = f"Weighting {verb} the worst imbalance: {change}"
    text = [
        "Every feature is a treatment in turn. Imbalance of treatment j on feature k: what the "
        "mean of k changes by from j = 0 to j = 1, or with a standard deviation of a number j. "
        f"After weighting the worst is that of {label(worst.treatment)} on "
        f"{label(worst.covariate)}.",
        f"Under the weights {report.n_rows:,} rows are as precise as "
        f"{report.effective_sample_size:,.0f} ({percent(report.effective_share, 1)}): the variance "
        f"of a mean is {number(report.design_effect, 2)} times that of equal weights.",
    ]
    figure = make_figure(
        BalanceDisplay(report).plot,
        "Imbalance per treatment before and after weighting",
        "Largest absolute imbalance per treatment, largest before weighting first.",
        len(report.after),
    )
    return Section("balance", "Balance", title, text, [[figure]])


def variables_section(facts: ModelFacts, effects: pd.DataFrame) -> Section:
    """What the model uses, what it leaves out, and why; effects with intervals and verdicts."""
    name, n = label(facts.name), count_noun(len(effects), "variable")
    title = f"{int((effects['verdict'] == 'stable').sum()):,} of {n} are called stable"
    if "used" in effects:
        title = f"{name} uses {int(effects['used'].sum()):,} of {n}"
    text = [] if facts.decision is None else [str(facts.decision.reason)]
    for verdict, used, meaning in VERDICTS if "used" in effects else []:
        found = effects[(effects["verdict"] == verdict) & (effects["used"].astype(bool) == used)]
        names = join_words([label(name, 60) for name in found["feature"]], most=MOST_NAMES)
        text += [f"{meaning} ({len(found):,}). {names}."] if len(found) else []
    text.append(
        "Effect: what the weighted mean of the outcome changes by from 0 to 1, or with a standard "
        "deviation of a number; of a category, the largest of its levels. Verdicts are the model's."
    )
    ordered = effects.sort_values("effect", key=lambda e: -e.abs(), kind="stable")
    frame = _space_out(ordered.set_index("feature").rename_axis("variable"))
    for column in ("used", "verdict"):  # first the verdict, then whether it was followed
        if column in frame:
            frame.insert(0, column, frame.pop(column))
    formats: dict[str, Format] = dict.fromkeys(("effect", "low", "high"), signed)
    formats["used"] = lambda value: "yes" if value else "no"
    table = table_of(frame, "Effect, interval and evidence per variable", formats)
    figure = make_figure(
        VariableEffectsDisplay(effects).plot,
        "Effect of each variable with its interval",
        "Effects with intervals, the largest first.",
        len(effects),
    )
    rows: list[list[Block]] = [[figure, table]]
    if facts.decision is not None:
        candidates = _space_out(facts.decision.candidates.set_index("candidate"))
        rows.append([table_of(candidates, f"What was compared; chosen: {facts.decision.chosen}")])
    return Section("variables", "What it uses", title, [line for line in text if line], rows)


def _space_out(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns=lambda name: str(name).replace("_", " "))
