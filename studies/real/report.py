"""The real-data studies' records -> tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from studies.methods import CONSTANT, DGBR, LR, ORACLE
from studies.paper.claims import LETTER, LIBRARY
from studies.real.cases import Case, Design, both_errors
from studies.records import Records, Result
from studies.references import beaten_by_shrinkage
from studies.tables import ERRORS, Interval, markdown, mean_interval, percent, seed_text

BOTH = tuple(ERRORS.values())
HELD = ", P(Y) held"
SINGLE = ", one by one"


# --- one row per study, seed and method ---------------------------------------------------------


def long_table(records: Records, cases: Sequence[Case]) -> pd.DataFrame:
    """Both errors of every method in every study for every seed, and what the method says."""
    lines = {
        (case.design, case.seed): _line(records[case.definition]["shrinkage"])
        for case in cases
        if case.method == LR
    }
    rows = [
        {"study": case.design.title, "seed": case.seed, "method": case.method}
        | _numbers(records[case.definition], lines[case.design, case.seed])
        for case in cases
    ]
    return pd.DataFrame(rows)


def _line(both: list[tuple[float, float]]) -> pd.DataFrame:
    return pd.DataFrame(both, columns=list(BOTH))


def _numbers(result: Result, line: pd.DataFrame) -> dict[str, Any]:
    errors, held = result["errors"], result["errors at the training rate"]
    numbers = dict(zip(BOTH, both_errors(errors), strict=True))
    numbers |= {name + HELD: value for name, value in zip(BOTH, both_errors(held), strict=True)}
    single = [both_errors(each) for each in result["one by one"].values()]
    if single:
        means = np.mean(single, axis=0)
        numbers |= {name + SINGLE: value for name, value in zip(BOTH, means, strict=True)}
    return (
        numbers
        | _verdict(result)
        | {
            "effective share": result["effective share"],
            "shrunk LR wins": float(beaten_by_shrinkage(errors, line)),
            "seconds": result.get("fit_seconds", result["seconds"]),  # older records
        }
    )


def _verdict(result: Result) -> dict[str, float]:
    """Shares of the biased features called noisy and of the others called stable."""
    if result["stable"] is None or not result["noisy"]:
        return {}
    stable, biased = set(result["stable"]), set(result["noisy"])
    others = set(result["features"]) - biased
    return {
        "biased called noisy": len(biased - stable) / len(biased),
        "others called stable": len(others & stable) / len(others),
    }


# --- over seeds ---------------------------------------------------------------------------------


def design_table(long: pd.DataFrame, design: Design) -> pd.DataFrame:
    """One row per method: means over seeds with their intervals."""
    part = long[long["study"] == design.title]
    columns = [*BOTH]
    if design.protocol == "selection":
        columns += [name + ending for ending in (HELD, SINGLE) for name in BOTH]
    rows = {}
    for method, runs in part.groupby("method", sort=False):
        row = {column: mean_interval(runs[column]).format(".4f") for column in columns}
        row["effective share"] = percent(runs["effective share"].astype(float).mean(), "")
        row["shrunk LR wins"] = percent(runs["shrunk LR wins"].mean(), "")
        rows[method] = row
    return pd.DataFrame(rows).T.rename_axis("method").reset_index()


def claim_table(
    long: pd.DataFrame, designs: Sequence[Design], four: tuple[str, ...] = LIBRARY
) -> pd.DataFrame:
    """Whether the last of four methods is the most stable, and no worse than the best on average.

    Designs in which one of the four was not run are left out.
    """
    deep, rows = four[-1], []
    for design in designs:
        part = long[long["study"] == design.title]
        if not set(four) <= set(part["method"]):
            continue
        row: dict[str, Any] = {"study": design.title}
        verdicts = []
        for name in BOTH:
            runs = part.pivot(index="seed", columns="method", values=name)[list(four)]
            others = runs.drop(columns=deep).mean()
            best = str(others.idxmin())
            difference = mean_interval(runs[deep] - runs[best])
            row[f"{deep} {name}"] = f"{runs[deep].mean():.4f}"
            row[f"best other {name}"] = f"{others[best]:.4f} ({best})"
            row[f"difference {name}"] = difference.format("+.4f")
            verdicts.append(difference)
        row["claim"] = _judge(*verdicts)
        rows.append(row)
    return pd.DataFrame(rows)


def _judge(average: Interval, stability: Interval) -> str:
    if stability.mean >= 0:
        return "does not hold: not the most stable"
    if average.mean <= 0:
        return "holds"
    if average.mean <= average.half:
        return "undecided: worse on average, within the interval"
    return "does not hold: worse on average"


def reasons_table(
    long: pd.DataFrame, records: Records, cases: Sequence[Case], designs: Sequence[Design]
) -> pd.DataFrame:
    """What stands behind the verdicts of studies by selection."""
    rows = []
    for design in designs:
        part = long[long["study"] == design.title]
        results = [records[c.definition] for c in cases if (c.design, c.method) == (design, DGBR)]
        means = part.groupby("method")[list(BOTH)].mean()
        verdict = part[part["method"] == DGBR].mean(numeric_only=True)
        tests = pd.DataFrame([result["rates"] for result in results]).mean()
        rates = tests.drop("train")
        largest = np.median([max(result["noisy"].values()) for result in results])
        least = np.median([min(result["noisy"].values()) for result in results])
        row = {
            "data": design.dataset,
            "features": len(results[0]["features"]),
            "training rows": round(np.mean([result["rows"]["train"] for result in results])),
            "P(Y) in training": f"{tests['train']:.3f}",
            "P(Y) in the tests": f"{rates.min():.3f} to {rates.max():.3f}",
            "p-values of the biased": f"{least:.2g} to {largest:.2g}",
            "biased called noisy": f"{verdict['biased called noisy']:.0%}",
            "others called stable": f"{verdict['others called stable']:.0%}",
        }
        for method in (LR, DGBR, ORACLE, CONSTANT):
            row[method] = " / ".join(f"{value:.3f}" for value in means.loc[method])
        rows.append(row)
    return pd.DataFrame(rows)


# --- the page -----------------------------------------------------------------------------------


def page_parts(long: pd.DataFrame, records: Records, cases: Sequence[Case]) -> list[str]:
    """Whether the claim holds, what stands behind it, and every table."""
    designs = list(dict.fromkeys(case.design for case in cases))
    seeds = seed_text({case.seed for case in cases})
    parts = [
        f"{seeds[0].upper()}{seeds[1:]}. Every number is a mean over seeds, ± "
        "half the width of its 95 % interval. *P(Y) held*: the same test environments "
        "with both classes weighted to their shares in training. *One by one*: "
        "selection on each other feature alone, mean over the features. *Shrunk LR wins*: in this "
        "share of the seeds some mixture of LR and a constant is better in both errors.",
        "## Does the claim hold?",
        "Of LR, DLR, GBR and DGBR, DGBR has the smallest Stability_Error and no larger "
        "Average_Error than the best of them. Differences are paired by seed, DGBR minus the best "
        "of the others. First the paper's methods to the letter, all with an intercept; then the "
        "library's estimators.",
    ]
    parts += [
        markdown(table)
        for table in (claim_table(long, designs, four) for four in (LETTER, LIBRARY))
        if len(table)
    ]
    selected = [design for design in designs if design.protocol == "selection"]
    if selected:
        parts += [
            "## What stands behind it",
            "Biased selection. The p-values are the chi-square test of the biased features "
            "against the outcome before selection, smallest and largest, medians over seeds. "
            "Errors as Average_Error / Stability_Error; the oracle is LR without those features.",
            markdown(reasons_table(long, records, cases, selected)),
        ]
    for design in designs:
        parts += [f"## {design.title}", markdown(design_table(long, design))]
    return parts
