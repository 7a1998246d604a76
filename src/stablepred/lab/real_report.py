"""The real-data studies' records -> tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from stablepred.evaluation.metrics import average_error, stability_error
from stablepred.evaluation.references import beaten_by_shrinkage
from stablepred.lab.real_methods import CONSTANT, ORACLE
from stablepred.lab.real_studies import NAME, Case, Study
from stablepred.lab.records import Records, Result
from stablepred.lab.text import PUBLISHED_FROM

FOUR = ("LR", "DLR", "GBR", "DGBR")
AVERAGE, STABILITY = "Average_Error", "Stability_Error"
BOTH = (AVERAGE, STABILITY)
HELD = ", P(Y) held"
SINGLE = ", one by one"
LEVEL = 0.95


# --- one row per study, seed and method ---------------------------------------------------------


def long_table(records: Records, cases: Sequence[Case]) -> pd.DataFrame:
    """Both errors of every method in every study for every seed, and what the method says."""
    lines = {
        (case.study, case.seed): _line(records[case.definition]["shrinkage"])
        for case in cases
        if case.method == "LR"
    }
    rows = [
        {"study": case.study.title, "seed": case.seed, "method": case.method}
        | _numbers(records[case.definition], lines[case.study, case.seed])
        for case in cases
    ]
    return pd.DataFrame(rows)


def _line(both: list[tuple[float, float]]) -> pd.DataFrame:
    return pd.DataFrame(both, columns=list(BOTH))


def _numbers(result: Result, line: pd.DataFrame) -> dict[str, Any]:
    errors, held = result["errors"], result["errors at the training rate"]
    numbers = dict(zip(BOTH, _both(errors), strict=True))
    numbers |= {name + HELD: value for name, value in zip(BOTH, _both(held), strict=True)}
    single = [_both(dict(enumerate(each))) for each in result["one by one"].values()]
    if single:
        means = np.mean(single, axis=0)
        numbers |= {name + SINGLE: value for name, value in zip(BOTH, means, strict=True)}
    return (
        numbers
        | _verdict(result)
        | {
            "effective share": result["effective share"],
            "shrunk LR wins": float(beaten_by_shrinkage(errors, line)),
            "seconds": result["seconds"],
        }
    )


def _both(errors: dict[Any, float]) -> tuple[float, float]:
    return average_error(list(errors.values())), stability_error(list(errors.values()))


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


def interval(values: pd.Series) -> tuple[float, float]:
    """Mean over seeds and half the width of its 95 % interval (Student's t); NaN for one seed."""
    mean, n = float(values.mean()), len(values)
    if n < 2:
        return mean, float("nan")
    return mean, float(student.ppf((1 + LEVEL) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n))


def study_table(long: pd.DataFrame, study: Study) -> pd.DataFrame:
    """One row per method: means over seeds with their intervals."""
    part = long[long["study"] == study.title]
    columns = [*BOTH]
    if study.protocol == "selection":
        columns += [name + ending for ending in (HELD, SINGLE) for name in BOTH]
    rows = {}
    for method, runs in part.groupby("method", sort=False):
        row = {column: _with_interval(runs[column]) for column in columns}
        row["effective share"] = _percent(runs["effective share"])
        row["shrunk LR wins"] = _percent(runs["shrunk LR wins"])
        rows[method] = row
    return pd.DataFrame(rows).T.rename_axis("method").reset_index()


def claim_table(long: pd.DataFrame, studies: Sequence[Study]) -> pd.DataFrame:
    """Whether DGBR is the most stable of the four and no worse than the best on average."""
    rows = []
    for study in studies:
        part = long[long["study"] == study.title]
        row: dict[str, Any] = {"study": study.title}
        verdicts = []
        for name in BOTH:
            runs = part.pivot(index="seed", columns="method", values=name)[list(FOUR)]
            others = runs.drop(columns="DGBR").mean()
            best = str(others.idxmin())
            difference, half = interval(runs["DGBR"] - runs[best])
            row[f"DGBR {name}"] = f"{runs['DGBR'].mean():.4f}"
            row[f"best other {name}"] = f"{others[best]:.4f} ({best})"
            row[f"difference {name}"] = _with_sign(difference, half)
            verdicts.append((difference, half))
        row["claim"] = _judgement(*verdicts)
        rows.append(row)
    return pd.DataFrame(rows)


def _judgement(average: tuple[float, float], stability: tuple[float, float]) -> str:
    if stability[0] >= 0:
        return "does not hold: not the most stable"
    if average[0] <= 0:
        return "holds"
    if average[0] <= average[1]:
        return "undecided: worse on average, within the interval"
    return "does not hold: worse on average"


def reasons_table(
    long: pd.DataFrame, records: Records, cases: Sequence[Case], studies: Sequence[Study]
) -> pd.DataFrame:
    """What stands behind the verdicts of studies by selection."""
    rows = []
    for study in studies:
        part = long[long["study"] == study.title]
        results = [records[c.definition] for c in cases if (c.study, c.method) == (study, "DGBR")]
        means = part.groupby("method")[list(BOTH)].mean()
        verdict = part[part["method"] == "DGBR"].mean(numeric_only=True)
        tests = pd.DataFrame([result["rates"] for result in results]).mean()
        rates = tests.drop("train")
        largest = np.median([max(result["noisy"].values()) for result in results])
        least = np.median([min(result["noisy"].values()) for result in results])
        row = {
            "data": study.dataset,
            "features": len(results[0]["features"]),
            "training rows": round(np.mean([result["rows"]["train"] for result in results])),
            "P(Y) in training": f"{tests['train']:.3f}",
            "P(Y) in the tests": f"{rates.min():.3f} to {rates.max():.3f}",
            "p-values of the biased": f"{least:.2g} to {largest:.2g}",
            "biased called noisy": f"{verdict['biased called noisy']:.0%}",
            "others called stable": f"{verdict['others called stable']:.0%}",
        }
        for method in ("LR", "DGBR", ORACLE, CONSTANT):
            row[method] = " / ".join(f"{value:.3f}" for value in means.loc[method])
        rows.append(row)
    return pd.DataFrame(rows)


# --- text ---------------------------------------------------------------------------------------


def write_tables(
    records: Records, cases: Sequence[Case], folder: Path, command: str
) -> tuple[Path, Path]:
    """Write the Markdown report and the long CSV table; give their paths."""
    long = long_table(records, cases)
    folder.mkdir(parents=True, exist_ok=True)
    report, table = folder / f"{NAME}.md", folder / f"{NAME}.csv"
    table.write_text(f"# {command}\n" + long.to_csv(index=False), encoding="utf-8")
    report.write_text(_report(long, records, cases, command), encoding="utf-8")
    return report, table


def _report(long: pd.DataFrame, records: Records, cases: Sequence[Case], command: str) -> str:
    studies = list(dict.fromkeys(case.study for case in cases))
    seeds = sorted({case.seed for case in cases})
    kind = "published" if seeds[0] >= PUBLISHED_FROM else "development"
    parts = [
        "# The paper's real-data experiments on public tables",
        f"`{command}`",
        f"Seeds {seeds[0]} to {seeds[-1]} ({kind} seeds). Every number is a mean over seeds, ± "
        "half the width of its 95 % interval. *P(Y) held*: the same test environments "
        "with both classes weighted to their shares in training. *One by one*: "
        "selection on each other feature alone, mean over the features. *Shrunk LR wins*: in this "
        "share of the seeds some mixture of LR and a constant is better in both errors.",
        "## Does the claim hold?",
        "Of LR, DLR, GBR and DGBR, DGBR has the smallest Stability_Error and no larger "
        "Average_Error than the best of them. Differences are paired by seed, DGBR minus the best "
        "of the others.",
        _markdown(claim_table(long, studies)),
    ]
    selected = [study for study in studies if study.protocol == "selection"]
    if selected:
        parts += [
            "## What stands behind it",
            "Biased selection. The p-values are the chi-square test of the biased features "
            "against the outcome before selection, smallest and largest, medians over seeds. "
            "Errors as Average_Error / Stability_Error; the oracle is LR without those features.",
            _markdown(reasons_table(long, records, cases, selected)),
        ]
    for study in studies:
        parts += [f"## {study.title}", _markdown(study_table(long, study))]
    return "\n\n".join(parts) + "\n"


def _with_interval(values: pd.Series) -> str:
    mean, half = interval(values)
    return f"{mean:.4f}" + _half_width(half)


def _with_sign(difference: float, half: float) -> str:
    return f"{difference:+.4f}" + _half_width(half)


def _half_width(half: float) -> str:
    return "" if np.isnan(half) else f" ± {half:.4f}"


def _percent(values: pd.Series) -> str:
    return "" if values.isna().all() else f"{values.astype(float).mean():.0%}"


def _markdown(frame: pd.DataFrame) -> str:
    rows = [list(map(str, frame.columns)), ["---"] * len(frame.columns)]
    rows += [["" if pd.isna(v) else str(v) for v in row] for row in frame.to_numpy(dtype=object)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
