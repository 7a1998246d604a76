"""Sections on the model itself: balance, weights, effects of the features, and the run."""

import numpy as np
import pandas as pd

from stablepred._text import count_noun, join_words, label, number, percent, signed
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.evaluation.facts import ModelFacts, RunFacts, WeightSummary
from stablepred.evaluation.verdict import SMALL_SHARE
from stablepred.html.charts import MOST_ROWS, Mark, Row, histogram, row_chart
from stablepred.html.heatmap import heatmap, shade_legend
from stablepred.html.page import Block, Cell, Facts, Figure, Format, Section, Table, table_of
from stablepred.html.palette import legend_item

WORST_PAIRS = 12
# A worst imbalance within this share of what it was has hardly changed.
HARDLY = 0.1


def model_sections(facts: ModelFacts) -> list[Section]:
    """Balance, weights and effects, as far as the model has them."""
    sections = []
    if facts.balance is not None:
        sections.append(balance_section(facts.balance.before, facts.balance.after))
    if facts.weights is not None:
        sections.append(_weights_section(facts.weights, facts.balance))
    if facts.effects is not None:
        sections.append(_effects_section(facts.effects))
    return sections


# --- imbalance ----------------------------------------------------------------------------------


def balance_section(before: pd.DataFrame, after: pd.DataFrame) -> Section:
    """The p x p imbalance before and after weighting, and per treatment."""
    gaps = [np.abs(table.to_numpy()) for table in (before, after)]
    most = [float(gap.max()) for gap in gaps]
    mean = [float(gap.sum() / max(gap.size - len(gap), 1)) for gap in gaps]
    verb = "lowers" if most[1] < most[0] else "raises"
    if abs(most[1] - most[0]) <= HARDLY * most[0]:
        verb = "hardly changes"
    title = (
        f"Weighting {verb} the worst imbalance: {number(most[0])} before, {number(most[1])} after "
        f"(mean {number(mean[0])} and {number(mean[1])})"
    )
    text = [
        "Every feature is a treatment in turn. Imbalance of treatment j on feature k: the mean of "
        "k among rows where j is 1 minus its mean among rows where j is 0, as shares."
    ]
    limit, names = max(*most, 1e-12), [str(name) for name in before.index]
    maps: list[Block] = []
    for when, table in (("Before", before), ("After", after)):
        values = table.to_numpy(dtype=np.float64)
        what = f"imbalance of {len(names)} treatments (rows) on the other features"
        drawing = heatmap(values, names, limit, f"{when} weighting: {what}")
        maps.append(Figure(drawing, f"{when} weighting. Rows: treatments; columns: features."))
    scale = Figure(shade_legend(limit, "imbalance"), "One scale for both; bare is zero.")
    rows: list[list[Block]] = [
        maps,
        [scale],
        [_love_plot(before, after), _worst_pairs(before, after)],
    ]
    return Section("balance", "Balance", title, text, rows)


def _love_plot(before: pd.DataFrame, after: pd.DataFrame) -> Figure:
    """Largest and mean absolute imbalance of each treatment, the largest before first."""
    columns, looks = {}, {}
    for when, colour, shape in (("before", "c-constant", "ring"), ("after", "c-model", "circle")):
        gaps = np.abs((before if when == "before" else after).to_numpy())
        columns[f"largest {when}"], looks[f"largest {when}"] = gaps.max(axis=1), (shape, colour)
        mean = gaps.sum(axis=1) / max(len(gaps) - 1, 1)
        columns[f"mean {when}"], looks[f"mean {when}"] = mean, ("bar", colour)
    frame = pd.DataFrame(columns, index=before.index)
    frame = frame.sort_values("largest before", ascending=False, kind="stable")
    caption = "Largest and mean absolute imbalance per treatment, largest before weighting first."
    if len(frame) > MOST_ROWS:
        caption += f" The worst {MOST_ROWS} of {len(frame):,} treatments."
    rows = []
    for name, row in frame.head(MOST_ROWS).iterrows():
        order = ("mean before", "mean after", "largest before", "largest after")
        marks = [Mark(row[k], *looks[k], f"{k} {number(row[k])}") for k in order]
        rows.append(Row(str(name), marks, (row["largest before"], row["largest after"])))
    description = "Imbalance per treatment before and after weighting"
    drawing = row_chart(rows, "absolute imbalance", description, zero=True)
    shown = ("largest before", "largest after", "mean before", "mean after")
    legend = [legend_item(k.replace(" ", ", "), *looks[k]) for k in shown]
    return Figure(drawing, caption, legend)


def _worst_pairs(before: pd.DataFrame, after: pd.DataFrame) -> Table:
    first, gaps = before.to_numpy(), after.to_numpy()
    order = np.argsort(-np.abs(gaps), axis=None, kind="stable")[:WORST_PAIRS]
    rows: list[list[Cell]] = []
    for j, k in zip(*np.unravel_index(order, gaps.shape), strict=True):
        if j != k:
            values = (signed(float(first[j, k])), signed(float(gaps[j, k])))
            rows.append([label(after.index[j]), label(after.columns[k]), *values])
    return Table("The worst pairs after weighting", ["treatment", "on", "before", "after"], rows)


# --- weights ------------------------------------------------------------------------------------


def _weights_section(weights: WeightSummary, balance: BalanceReport | None) -> Section:
    """The distribution of the weights and what they cost."""
    n = weights.n_rows if balance is None else balance.n_rows
    share = weights.effective_share if balance is None else balance.effective_share
    size = f"{n * share:,.0f}"
    if share > 1 - 1e-6:
        title = "All weights are equal: balancing changed nothing"
    elif share < SMALL_SHARE:
        title = f"The weights rest on few rows: {n:,} are worth {size} ({percent(share, 1)})"
    else:
        title = f"Under the weights {n:,} rows are as precise as {size} ({percent(share)})"
    drawing = histogram(
        weights.shares.tolist(),
        weights.edges.tolist(),
        ("weight", "% of rows"),
        "Histogram of the balancing weights",
        (1.0, "mean 1"),
    )
    entries = {
        "effective sample size": f"{size} of {n:,} rows",
        "effective share": percent(share, 1),
        "design effect": f"{number(1 / share, 2)} times the variance of equal weights",
        **{name: number(value, 2) for name, value in weights.quantiles.items()},
        "heaviest tenth of the rows": f"{percent(weights.heaviest_tenth)} of the weight",
        "rows with a weight under 0.01": percent(weights.dropped, 1),
    }
    if weights.above:
        entries["not in the figure"] = f"{percent(weights.above, 1)} of the rows, to the right"
    figure = Figure(drawing, "Balancing weights of the training rows.")
    blocks: list[Block] = [figure, Facts("What the weights cost", [*entries.items()])]
    return Section("weights", "Weights", title, [], [blocks])


# --- effects ------------------------------------------------------------------------------------

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
            text.append(f"Used: {join_words([label(n).shown for n in used], most=20)}.")
    order = effects["effect"].abs().sort_values(ascending=False, kind="stable").index
    ordered = effects.loc[order]
    caption = "Effects with intervals, the largest first."
    if len(ordered) > MOST_ROWS:
        caption += f" The first {MOST_ROWS} of {len(ordered):,} features; the table has all."
    rows = []
    for _, row in ordered.head(MOST_ROWS).iterrows():
        hint = f"{signed(row['effect'])} ({signed(row['low'])} to {signed(row['high'])})"
        look = VERDICTS.get(row["verdict"], VERDICTS["undecided"])
        rows.append(
            Row(str(row["feature"]), [Mark(row["effect"], *look, hint, row["low"], row["high"])])
        )
    drawing = row_chart(rows, "effect", "Effect of each feature with its interval", zero=True)
    met = set(effects["verdict"])
    legend = [legend_item(v, *look) for v, look in VERDICTS.items() if v in met or v != "undecided"]
    frame = ordered.set_index("feature").rename(columns=lambda c: str(c).replace("_", " "))
    frame = frame[["verdict", *[c for c in frame.columns if c != "verdict"]]]
    formats: dict[str, Format] = dict.fromkeys(("effect", "low", "high"), signed)
    formats["used"] = lambda value: "yes" if value else "no"
    table = table_of(frame, "Effect, interval and evidence per feature", formats)
    return Section("effects", "Features", title, text, [[Figure(drawing, caption, legend), table]])


# --- the run ------------------------------------------------------------------------------------


def run_section(facts: ModelFacts, run: RunFacts, remarks: list[str]) -> Section:
    """Model, data, settings and versions."""
    name, total = label(facts.name).shown, int(run.environments["rows"].sum())
    title = (
        f"{name} on {count_noun(total, 'row')} in "
        f"{count_noun(len(run.environments), 'environment')}, "
        f"{count_noun(run.n_features, 'feature')}"
    )
    entries: list[tuple[Cell, Cell]] = [("model", label(" → ".join(facts.steps), 120))]
    if facts.n_iter is not None:
        state = {True: ", converged", False: ", not converged", None: ""}[facts.converged]
        entries.append(("fit", f"{count_noun(facts.n_iter, 'iteration')}{state}"))
    if run.train is not None:
        trained = f"{run.train[0]}: {count_noun(run.train[1], 'row')}"
        entries.append(("trained on", label(trained, 60)))
    tested = [f"{name}: {rows:,}" for name, rows in run.environments["rows"].items()]
    entries += [
        ("rows per environment", label(join_words(tested, most=12), 240)),
        ("intervals", f"{run.n_bootstrap:,} bootstrap samples of the rows"),
        ("seed of the report", str(run.seed)),
        ("made", run.made),
        ("took", f"{run.seconds:.1f} s"),
        *run.versions.items(),
    ]
    blocks = [Facts("The run", entries)]
    if facts.parameters:
        given = [(label(key), label(value, 120)) for key, value in facts.parameters.items()]
        blocks.append(Facts(f"Parameters of {name}", given))
    return Section("run", "What was run", title, remarks, [blocks])
