"""The records of the study -> tables and the page."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from studies.methods import CONSTANT, LR, OURS
from studies.natural.cases import MOST_ROWS, Case
from studies.natural.methods import ON_ALL_ROWS
from studies.natural.tables import BY_AGE, NATURAL
from studies.records import Records, Result
from studies.tables import markdown, percent, seed_text

MEASURES = {"average": "RMSE, average", "worst": "RMSE, worst", "log-loss": "log-loss, average"}
CHANGES = {measure: f"change of {name}" for measure, name in MEASURES.items()}
WORSE = 0.002  # a change that counts
MOST_HARM = 0.005
CAPPED, ALL_ROWS = "capped", "all rows"
SIZES = {CAPPED: f"at most {MOST_ROWS:,} training rows", ALL_ROWS: "all training rows"}
RUN = ["size", "table", "environment", "seed"]
WORSE_THAN = {
    "worse than LR": "worse than LR",
    "worse than the constant": "worse than the constant",
    "alone worse than the constant": "… where LR is not",
}


# --- one row per run ----------------------------------------------------------------------------


def long_table(records: Records, cases: Sequence[Case]) -> pd.DataFrame:
    """Errors and changes against LR of every method in every run.

    An environment that has no more rows than the cap is the same run at both sizes, for the
    methods that are run at both.
    """
    uncapped = {(c.table, c.environment) for c in cases if c.most_rows is None}
    rows = []
    for case in cases:
        numbers = _numbers(records[case.definition])
        sizes = [ALL_ROWS] if case.most_rows is None else [CAPPED]
        if case.method in ON_ALL_ROWS and (case.table, case.environment) not in uncapped:
            sizes = [CAPPED, ALL_ROWS]
        for size in sizes:
            run = (size, case.table, case.environment, case.seed, case.method)
            rows.append(dict(zip([*RUN, "method"], run, strict=True)) | numbers)
    return _compare(pd.DataFrame(rows))


def _numbers(result: Result) -> dict[str, Any]:
    errors, losses = list(result["errors"].values()), list(result["log-loss"].values())
    return {
        "rows": result["rows"],
        MEASURES["average"]: float(np.mean(errors)),
        MEASURES["worst"]: float(np.max(errors)),
        MEASURES["log-loss"]: float(np.mean(losses)),
        "RMSE at home": result["error at home"],
        "dropped": _count_dropped(result),
        "seconds": result["fit_seconds"],
    }


def _count_dropped(result: Result) -> float:
    """How many variables were left out by the decision, not because they are constant."""
    if "dropped" not in result:
        return np.nan
    left_out = "; all variables" in result["reason"] or "a few more say all" in result["reason"]
    return len(result["dropped"]) if left_out else 0


def _compare(long: pd.DataFrame) -> pd.DataFrame:
    """Add the changes against LR of the same run, and what is worse than the references."""
    measures = list(MEASURES.values())
    of = {name: long[long["method"] == name].set_index(RUN)[measures] for name in (LR, CONSTANT)}
    index = pd.MultiIndex.from_frame(long[RUN])
    lr, constant = (of[name].reindex(index).to_numpy() for name in (LR, CONSTANT))
    for k, (measure, column) in enumerate(MEASURES.items()):
        long[CHANGES[measure]] = long[column] - lr[:, k]
    average = long[MEASURES["average"]]
    long["worse than LR"] = average > lr[:, 0] + WORSE
    long["worse than the constant"] = average > constant[:, 0]
    long["alone worse than the constant"] = (average > constant[:, 0]) & (
        lr[:, 0] <= constant[:, 0]
    )
    return long


# --- over runs ----------------------------------------------------------------------------------


def table_means(long: pd.DataFrame) -> pd.DataFrame:
    """Means over training environments and seeds, per size, table and method."""
    groups = long.groupby(["size", "table", "method"], sort=False)
    columns = [*MEASURES.values(), *CHANGES.values(), *WORSE_THAN, "dropped", "seconds"]
    means = groups[columns].mean()
    means.insert(0, "runs", groups.size())
    return means.reset_index()


def summary(long: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """Changes as means over tables, every table counting the same, and shares of all runs."""
    kinds = dict.fromkeys(NATURAL, "natural") | dict.fromkeys(BY_AGE, "by age")
    by = ["size", "tables", "method"]
    runs, groups = (
        frame.assign(tables=frame["table"].map(kinds).fillna("made up")).groupby(by, sort=False)
        for frame in (long, means)
    )
    table = groups[[*CHANGES.values()]].mean().join(runs[[*WORSE_THAN]].mean())
    table.insert(0, "count", groups.size())
    table["largest change of a table"] = groups[CHANGES["average"]].max()
    table["tables harmed"] = groups[CHANGES["average"]].agg(lambda x: int((x > MOST_HARM).sum()))
    return table.reset_index()


# --- the page -----------------------------------------------------------------------------------


def page_parts(
    long: pd.DataFrame, means: pd.DataFrame, rows: pd.DataFrame, pictures: Sequence[str]
) -> list[str]:
    """What was done, the summary, and one table per measure; ``rows`` is the summary."""
    seeds = seed_text(set(long["seed"]))
    parts = [
        f"{seeds[0].upper()}{seeds[1:]}. Every environment with at least 150 rows is the training "
        "environment in turn; errors are those in the others with at least 100 rows: their "
        "average, the worst of them, and the average log-loss. A change is that against LR in the "
        "same run, in thousandths, negative where the method is better; a table's is the mean over "
        "its training environments and seeds, and tables count the same. LR is scikit-learn's "
        "default on standardised numbers and one-hot categories. Boosting and Stable take the "
        "columns as they come; GBR and DGBR take the 0/1 columns of `TableEncoder`, and DRO and LR "
        "under the weights of DWR and SRDO its columns as numbers. DGBR is run for the first seed "
        "only, and so is every method on all rows, which are the same for every seed. "
        f"*Worse than LR*: the share of runs in which the average error is higher by more than "
        f"{WORSE}, the grey band of the pictures. *Tables harmed*: those with a change of the "
        f"average error over {MOST_HARM}.",
        _dropped_text(long),
        _home_text(long),
    ]
    for size, title in SIZES.items():
        parts += [f"## With {title}"]
        for kind, part in rows[rows["size"] == size].groupby("tables", sort=False):
            parts += [f"### Mean over the {part['count'].max()} tables ({kind})"]
            parts += [markdown(format_summary(part))]
        parts += [
            f"![Change against LR]({name})" for name in pictures if name.startswith(slug(size))
        ]
        for measure, column in CHANGES.items():
            parts += [f"### Change of the {measure_title(measure)}, in thousandths"]
            parts += [markdown(matrix(means[means["size"] == size], column))]
    return parts


def slug(size: str) -> str:
    """How the pictures of a size begin."""
    return size.replace(" ", "-")


def measure_title(measure: str) -> str:
    """The name of a measure in headings."""
    return measure if measure == "log-loss" else f"{measure} error"


def _dropped_text(long: pd.DataFrame) -> str:
    dropped = long.loc[(long["method"] == OURS) & (long["size"] == CAPPED), "dropped"]
    return (
        f"{OURS} leaves out at "
        f"least one variable in {int((dropped > 0).sum())} of {len(dropped)} runs with at most "
        f"{MOST_ROWS:,} rows; where it leaves out none, its change is that of its estimator alone."
    )


def _home_text(long: pd.DataFrame) -> str:
    """How far the order of the methods at home is their order elsewhere."""
    known = long[(long["size"] == CAPPED) & long["RMSE at home"].notna()]
    ranks = [
        run["RMSE at home"].corr(run[MEASURES["average"]], method="spearman")
        for _, run in known.groupby(RUN)
        if len(run) > 2
    ]
    if not ranks:
        return ""
    return (
        f"In the {len(ranks)} runs whose training environment has rows left for a test, the rank "
        "correlation of the methods' errors there with their average errors elsewhere is "
        f"{np.median(ranks):.2f} in the median."
    )


def format_summary(part: pd.DataFrame) -> pd.DataFrame:
    """The summary with numbers as text."""
    out = {"method": part["method"]}
    for measure, column in CHANGES.items():
        out[measure_title(measure)] = part[column].map(_thousandths)
    for column, title in WORSE_THAN.items():
        out[title] = part[column].map(percent)
    out["largest change"] = part["largest change of a table"].map(_thousandths)
    out["tables harmed"] = part["tables harmed"]
    return pd.DataFrame(out)


def matrix(means: pd.DataFrame, column: str) -> pd.DataFrame:
    """Tables by methods."""
    names, methods = means["table"].unique(), means["method"].unique()
    table = means.pivot(index="table", columns="method", values=column).loc[names, methods]
    return table.drop(columns=LR).map(_thousandths).reset_index()


def _thousandths(change: float) -> str:
    return f"{1000 * change:+.1f}"
