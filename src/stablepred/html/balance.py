"""Sections about balancing: the imbalance, the weights, and the effects of the features."""

import numpy as np
import pandas as pd

from stablepred.html.heatmap import heatmap, shade_legend
from stablepred.html.histogram import histogram
from stablepred.html.page import Block, Cell, Facts, Figure, Format, Section, Table, table_of
from stablepred.html.palette import legend_item
from stablepred.html.rows import MOST_ROWS, Mark, Row, row_chart
from stablepred.html.text import counted, label, number, percent, signed

WORST_PAIRS = 12
# Below this effective share a result rests on few rows.
SMALL_SHARE = 0.05


# --- imbalance ----------------------------------------------------------------------------------


def balance_section(before: pd.DataFrame, after: pd.DataFrame) -> Section:
    """The p x p imbalance before and after weighting, and per treatment."""
    gaps = [np.abs(table.to_numpy()) for table in (before, after)]
    most = [float(gap.max()) for gap in gaps]
    mean = [float(gap.sum() / max(gap.size - len(gap), 1)) for gap in gaps]
    verb = "cuts" if most[1] < most[0] else "does not cut"
    title = (
        f"Weighting {verb} the worst imbalance: {number(most[0])} before, {number(most[1])} after "
        f"(mean {number(mean[0])} and {number(mean[1])})"
    )
    text = [
        "Every feature is a treatment in turn. Imbalance of treatment j on feature k: the mean of "
        "k among rows where j is 1 minus its mean among rows where j is 0, as shares."
    ]
    limit = max(*most, 1e-12)
    names = [str(name) for name in before.index]
    maps = []
    for when, table in (("Before", before), ("After", after)):
        drawing = heatmap(
            table.to_numpy(dtype=np.float64),
            names,
            limit,
            f"{when} weighting: imbalance of {len(names)} treatments (rows) on the other features",
        )
        maps.append(Figure(drawing, f"{when} weighting. Rows: treatments; columns: features."))
    scale = Figure(shade_legend(limit, "imbalance"), "One scale for both; bare is zero.")
    rows: list[list[Block]] = [
        [*maps],
        [scale],
        [_love_plot(before, after), _worst_pairs(before, after)],
    ]
    return Section("balance", "Balance", title, text, rows)


def per_treatment(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Largest and mean absolute imbalance of each treatment, the largest before first."""
    columns = {}
    for when, table in (("before", before), ("after", after)):
        gaps = np.abs(table.to_numpy())
        columns[f"largest_{when}"] = gaps.max(axis=1)
        columns[f"mean_{when}"] = gaps.sum(axis=1) / max(len(gaps) - 1, 1)
    frame = pd.DataFrame(columns, index=before.index)
    return frame.sort_values("largest_before", ascending=False, kind="stable")


def _love_plot(before: pd.DataFrame, after: pd.DataFrame) -> Figure:
    frame = per_treatment(before, after)
    caption = "Largest and mean absolute imbalance per treatment, largest before weighting first."
    if len(frame) > MOST_ROWS:
        caption += f" The worst {MOST_ROWS} of {len(frame):,} treatments."
    rows = []
    for name, row in frame.head(MOST_ROWS).iterrows():
        first, second = row["largest_before"], row["largest_after"]
        marks = [
            Mark(
                row["mean_before"], "bar", "c-constant", f"mean before {number(row['mean_before'])}"
            ),
            Mark(row["mean_after"], "bar", "c-model", f"mean after {number(row['mean_after'])}"),
            Mark(first, "ring", "c-constant", f"largest before {number(first)}"),
            Mark(second, "circle", "c-model", f"largest after {number(second)}"),
        ]
        rows.append(Row(str(name), marks, (first, second)))
    drawing = row_chart(
        rows, "absolute imbalance", "Imbalance per treatment before and after weighting", zero=True
    )
    legend = (
        legend_item("largest, before", "ring", "c-constant"),
        legend_item("largest, after", "circle", "c-model"),
        legend_item("mean, before", "bar", "c-constant"),
        legend_item("mean, after", "bar", "c-model"),
    )
    return Figure(drawing, caption, legend)


def _worst_pairs(before: pd.DataFrame, after: pd.DataFrame) -> Table:
    first, gaps = before.to_numpy(), after.to_numpy()
    order = np.argsort(-np.abs(gaps), axis=None, kind="stable")[:WORST_PAIRS]
    rows: list[list[Cell]] = []
    for j, k in zip(*np.unravel_index(order, gaps.shape), strict=True):
        if j != k:
            places = (signed(float(first[j, k])), signed(float(gaps[j, k])))
            rows.append([label(after.index[j]), label(after.columns[k]), *places])
    return Table("The worst pairs after weighting", ["treatment", "on", "before", "after"], rows)


# --- weights ------------------------------------------------------------------------------------


def weights_section(
    shares: np.ndarray,
    edges: np.ndarray,
    facts: dict[str, str],
    n_rows: int,
    effective_share: float,
) -> Section:
    """The distribution of the weights and what they cost.

    Parameters
    ----------
    shares, edges : arrays
        Histogram of the weights, whose mean is one: share of rows per bin, and the bins.
    facts : dict
        More about them, as text.
    n_rows : int
        Rows that the model was trained on.
    effective_share : float
        Effective sample size over rows.
    """
    size = n_rows * effective_share
    if effective_share > 1 - 1e-6:
        title = "All weights are equal: balancing changed nothing"
    elif effective_share < SMALL_SHARE:
        title = (
            f"The weights rest on few rows: {n_rows:,} are worth {size:,.0f} "
            f"({percent(effective_share, 1)})"
        )
    else:
        title = (
            f"Under the weights {n_rows:,} rows are as precise as {size:,.0f} "
            f"({percent(effective_share)})"
        )
    drawing = histogram(
        shares.tolist(),
        edges.tolist(),
        ("weight", "% of rows"),
        "Histogram of the balancing weights",
        (1.0, "mean 1"),
    )
    entries = {
        "effective sample size": f"{size:,.0f} of {n_rows:,} rows",
        "effective share": percent(effective_share, 1),
        "design effect": f"{number(1 / effective_share, 2)} times the variance of equal weights",
    }
    blocks: list[Block] = [
        Figure(drawing, "Balancing weights of the training rows."),
        Facts("What the weights cost", [*(entries | facts).items()]),
    ]
    return Section("weights", "Weights", title, [], [blocks])


# --- effects ------------------------------------------------------------------------------------


def effects_section(effects: pd.DataFrame) -> Section:
    """Effects of the features with intervals and verdicts.

    Parameters
    ----------
    effects : DataFrame
        ``feature``, ``effect``, ``low``, ``high``, ``stable``, whether the prediction depends on
        it as ``used`` where that is known, and further evidence as columns.
    """
    stable = effects["stable"].astype(bool)
    title = f"{int(stable.sum()):,} of {counted(len(effects), 'feature')} are called stable"
    if "used" in effects:
        title += f"; the model uses {int(effects['used'].sum()):,}"
    text = [
        "Effect: the weighted mean of the outcome where the feature is 1 minus where it is 0, on "
        "the training rows under the weights. The verdict is the model's own; the table has all "
        "the evidence it is based on."
    ]
    strength = effects["effect"].abs()
    order = strength.sort_values(ascending=False, kind="stable").index
    ordered = effects.loc[order]
    caption = "Effects with intervals, the largest first."
    if len(ordered) > MOST_ROWS:
        caption += f" The first {MOST_ROWS} of {len(ordered):,} features; the table has all."
    rows = [_effect_row(row) for _, row in ordered.head(MOST_ROWS).iterrows()]
    drawing = row_chart(rows, "effect", "Effect of each feature with its interval", zero=True)
    legend = (
        legend_item("stable", "circle", "c-model"),
        legend_item("noisy", "ring", "c-constant"),
    )
    figure = Figure(drawing, caption, legend)
    return Section("effects", "Features", title, text, [[figure, _effects_table(ordered)]])


def _effect_row(row: pd.Series) -> Row:
    shape, colour = ("circle", "c-model") if row["stable"] else ("ring", "c-constant")
    hint = f"{signed(row['effect'])} ({signed(row['low'])} to {signed(row['high'])})"
    mark = Mark(row["effect"], shape, colour, hint, row["low"], row["high"])
    return Row(str(row["feature"]), [mark])


def _effects_table(effects: pd.DataFrame) -> Table:
    frame = effects.set_index("feature")
    frame = frame[["stable", *[c for c in frame.columns if c != "stable"]]]
    frame = frame.rename(columns=lambda c: {"stable": "verdict"}.get(c, str(c).replace("_", " ")))
    formats: dict[str, Format] = dict.fromkeys(("effect", "low", "high"), signed)
    formats["verdict"] = lambda value: "stable" if value else "noisy"
    formats["used"] = lambda value: "yes" if value else "no"
    return table_of(frame, "Effect, interval and evidence per feature", formats)
