"""Records -> tables: one row per run, then one row per panel and method."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from stablepred.worlds.synthetic import SyntheticWorld
from studies.methods import (
    COMPARED,
    CONSTANT,
    DGBR,
    DLR,
    ENCODERS,
    FLOOR,
    GBR,
    GBR_PAPER,
    GRIDS,
    LR,
    ORACLE,
    OURS,
    PAPER,
    REFERENCES,
)
from studies.paper.figures import STRENGTH_SEEDS, EmbeddingFigure, StrengthFigure, Sweep
from studies.paper.panels import LINE, Panel, references_definition, run_definition
from studies.paper.tuned import STABILITY_WEIGHT, tuned_definition
from studies.records import Records, Result
from studies.tables import ERRORS, SETTINGS, Interval, mean_interval, percent, standard_error

NAMES = (*COMPARED, *REFERENCES)
# What the pictures of errors show; the tables have all.
DRAWN = (LR, DLR, GBR, DGBR, OURS, GBR_PAPER, PAPER, CONSTANT, ORACLE, FLOOR)
SHRUNK = "LR shrunk"


# --- one row per run ----------------------------------------------------------------------------


def runs_table(panels: Iterable[Panel], seeds: Sequence[int], records: Records) -> pd.DataFrame:
    """One row per panel, seed and method or reference, with an ``error r=...`` per environment."""
    rows: list[dict[str, Any]] = []
    for panel in panels:
        described = describe(panel)
        for seed in seeds[: panel.most_seeds]:
            found = {m: records[run_definition(panel, seed, m)] for m in COMPARED}
            references = records[references_definition(panel, seed)]
            found |= {name: references[name] for name in REFERENCES}
            for method, result in found.items():
                rows.append(described | {"seed": seed, "method": method} | _numbers(result))
    return pd.DataFrame(rows)


def describe(panel: Panel) -> dict[str, Any]:
    """The panel in columns of a table."""
    world = panel.world
    return {
        "figure": panel.name.rstrip(ascii_lowercase),
        "panel": panel.name,
        "shift": _shift(world),
        "setting": SETTINGS[world.setting],
        "bias on": world.bias_on or "Z(S)",
        "stable": world.stable,
        "n": panel.n,
        "p": world.n_features,
        "r": panel.train_bias,
    }


def _shift(world: SyntheticWorld) -> str:
    if world.shift == "y_given_v":
        return "P(Y|V)"
    return "P(V|S)" if world.mediator == "binary" else "P(V|S), integer Z"


def _numbers(result: Result) -> dict[str, Any]:
    return {
        "average": result["average"],
        "stability": result["stability"],
        **{f"error {name}": error for name, error in result["errors"].items()},
        "noise": result["noise"],
        "effective share": result.get("effective_share"),
        "F1": result.get("f1"),
        **{f"AUC {name}": value for name, value in result.get("auc", {}).items()},
        "seconds": result.get("fit_seconds"),
        "warnings": "; ".join(result.get("warnings", [])),
    }


def mean_line(panel: Panel, seeds: Sequence[int], records: Records) -> pd.DataFrame:
    """The shrinkage line of LR, means over seeds; indexed by the share of LR."""
    lines = [
        records[references_definition(panel, seed)]["line"] for seed in seeds[: panel.most_seeds]
    ]
    columns = {name: np.mean([line[name] for line in lines], axis=0) for name in ERRORS.values()}
    return pd.DataFrame(columns, index=pd.Index(LINE, name="share"))


# --- one row per panel and method ---------------------------------------------------------------


class Gap(NamedTuple):
    """The share of the way from LR to the oracle that a method closes, over means of seeds."""

    share: float
    defined: bool

    def __str__(self) -> str:
        return percent(self.share)


def gap(runs: pd.DataFrame, method: str, error: str) -> Gap:
    """(LR - method) / (LR - oracle); undefined where LR - oracle is under two standard errors."""
    lr, chosen, oracle = (by_seed(runs, name, error) for name in (LR, method, ORACLE))
    whole = lr - oracle
    # With one seed there is no standard error; the sign alone decides.
    margin = 0.0 if len(whole) < 2 else 2 * standard_error(whole)
    defined = bool(whole.mean() > margin)
    share = float((lr - chosen).mean() / whole.mean()) if defined else float("nan")
    return Gap(share, defined)


def both_gaps(runs: pd.DataFrame, method: str) -> Gap:
    """The smaller of the gaps in Average_Error and in Stability_Error."""
    return smaller([gap(runs, method, error) for error in ERRORS])


def smaller(gaps: Sequence[Gap]) -> Gap:
    """The smallest of the gaps that are defined."""
    defined = [g for g in gaps if g.defined]
    return min(defined, key=lambda g: g.share) if defined else gaps[0]


def by_seed(runs: pd.DataFrame, method: str, column: str) -> pd.Series:
    """A column of one method, indexed by seed."""
    rows = runs["method"].to_numpy() == method
    values = runs[column].to_numpy(dtype=np.float64)
    return pd.Series(values[rows], index=runs["seed"].to_numpy()[rows])


def summary_table(runs: pd.DataFrame, lines: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Means over seeds with half-widths of their intervals, gaps, shares and F1, as numbers.

    The last row of a panel is the point of its shrinkage line (``lines``, by panel) that is as
    stable as `OURS`.
    """
    rows = []
    described = list(runs.columns[: runs.columns.get_loc("seed")])
    for name, panel in runs.groupby("panel", sort=False):
        head = panel.iloc[0][described].to_dict()
        for method in NAMES:
            rows.append(head | {"method": method} | _summary(panel, method))
        stability = by_seed(panel, OURS, "stability").mean()
        errors = as_stable(lines[str(name)], stability)
        rows.append(head | {"method": SHRUNK} | dict(zip(ERRORS.values(), errors, strict=True)))
    return pd.DataFrame(rows)


def as_stable(line: pd.DataFrame, stability: float) -> pd.Series:
    """Both errors of the least shrunk point of a line that is as stable; else the constant's."""
    stable = line[line["Stability_Error"] <= stability]
    return (stable if len(stable) else line).iloc[-1 if len(stable) else 0]


def _summary(runs: pd.DataFrame, method: str) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for error, title in ERRORS.items():
        row[title], row[f"{title} ±"] = mean_interval(by_seed(runs, method, error))
    gaps = [gap(runs, method, error) for error in ERRORS]
    for error, found in zip(ERRORS, gaps, strict=True):
        row[f"{error} gap"] = found.share
    row["both gaps"] = smaller(gaps).share
    for column in ("noise", "effective share", "F1", "seconds"):
        row[column] = by_seed(runs, method, column).mean()
    row["least share"] = by_seed(runs, method, "effective share").min()
    row["seeds"] = runs["seed"].nunique()
    return row


def compact(summary: pd.DataFrame) -> pd.DataFrame:
    """One row per panel: Average_Error / Stability_Error of every method, our gaps and F1."""
    rows = []
    for name, panel in summary.groupby("panel", sort=False):
        methods = panel.set_index("method")
        row: dict[str, str] = {"panel": str(name)}
        for method, errors in methods[list(ERRORS.values())].iterrows():
            row[str(method)] = " / ".join(f"{error:.3f}" for error in errors)
        share, f1 = (float(methods[column][OURS]) for column in ("both gaps", "F1"))
        rows.append(row | {f"{OURS}: both gaps": percent(share), f"{OURS}: F1": f"{f1:.2f}"})
    return pd.DataFrame(rows)


def readable(summary: pd.DataFrame) -> pd.DataFrame:
    """The summary as text, for Markdown."""
    table = summary[["panel", "setting", "bias on", "n", "p", "r", "method"]].astype(str)
    for title in ERRORS.values():
        table[title] = [
            Interval(mean, half).format(".3f")
            for mean, half in zip(summary[title], summary[f"{title} ±"], strict=True)
        ]
    for column in ("average gap", "stability gap", "both gaps"):
        compared = ~summary["method"].isin([LR, *REFERENCES, SHRUNK])
        table[column] = summary[column].map(percent).where(compared, "")
    for column, digits in (("noise", 4), ("effective share", 2), ("F1", 2), ("seconds", 1)):
        table[column] = summary[column].map(
            lambda v, digits=digits: "" if np.isnan(v) else f"{v:.{digits}f}"
        )
    return table


# --- what the figures show ----------------------------------------------------------------------


def curves_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean error and half-width per method and test environment of one panel."""
    environments = [column for column in runs.columns if column.startswith("error r=")]
    rows = [
        (method, float(name.removeprefix("error r=")), *mean_interval(by_seed(runs, method, name)))
        for method in DRAWN
        for name in environments
    ]
    return pd.DataFrame(rows, columns=["method", "environment", "mean", "half"])


def strengths_table(
    figure: StrengthFigure, sweep: Sweep, seeds: Sequence[int], records: Records
) -> pd.DataFrame:
    """Both errors, by value and seed, over one strength."""
    rows = []
    for value in sweep.values:
        for seed in seeds[:STRENGTH_SEEDS]:
            result = records[figure.definition(sweep, value, seed)]
            rows.append((value, seed, result["average"], result["stability"]))
    return pd.DataFrame(rows, columns=["value", "seed", *ERRORS])


def noisy_share(result: Result, stable_features: Sequence[str]) -> float:
    """Share of the noisy features in the column norms of A^(1).

    sum over noisy j of ||A^(1)_j|| / sum over all j of ||A^(1)_j||
    """
    norms = {name: float(np.linalg.norm(c)) for name, c in result["first_layer"].items()}
    total = sum(norms.values())
    noisy = sum(norm for name, norm in norms.items() if name not in stable_features)
    return noisy / total if total > 0 else float("nan")


def noisy_shares(
    figure: EmbeddingFigure, method: str, seeds: Sequence[int], records: Records
) -> np.ndarray:
    """The share of the noisy features in A^(1), by seed."""
    (panel,) = figure.panels
    results = [records[run_definition(panel, seed, method)] for seed in seeds]
    return np.array([noisy_share(r, panel.world.stable_features) for r in results])


def shares_table(figure: EmbeddingFigure, seeds: Sequence[int], records: Records) -> pd.DataFrame:
    """Mean share of the noisy features in A^(1), with its half-width, by method."""
    rows = []
    for method in ENCODERS:
        shares = noisy_shares(figure, method, seeds, records)
        if np.isfinite(shares).any():
            rows.append((method, *mean_interval(shares[np.isfinite(shares)])))
    return pd.DataFrame(rows, columns=["method", "mean", "half"])


def tuned_runs(panels: Iterable[Panel], seeds: Sequence[int], records: Records) -> pd.DataFrame:
    """One row per search: panel, seed, method, and the errors of what it chose."""
    rows = []
    for panel in panels:
        for seed in seeds[: panel.tuned]:
            for method in GRIDS:
                found = records[tuned_definition(panel, seed, method)]
                errors = {error: found[error] for error in ERRORS}
                rows.append(describe(panel) | {"seed": seed, "method": method} | errors)
    return pd.DataFrame(rows)


def tuned_table(panels: Iterable[Panel], seeds: Sequence[int], records: Records) -> pd.DataFrame:
    """Errors by default, tuned, and of the best candidate in hindsight; means over seeds.

    ``constant first`` counts the seeds in which the criterion, asked in the test environments,
    prefers a constant to every candidate.
    """
    rows = []
    for panel in panels:
        own = seeds[: panel.tuned]
        for method in GRIDS:
            tuned = [records[tuned_definition(panel, seed, method)] for seed in own]
            default = [records[run_definition(panel, seed, method)] for seed in own]
            ways = {
                "default": default,
                "tuned": tuned,
                "hindsight": [result["hindsight"] for result in tuned],
            }
            row = describe(panel) | {"method": method, "seeds": len(own)}
            for error, title in ERRORS.items():
                for way, results in ways.items():
                    row[f"{title} {way}"] = float(np.mean([r[error] for r in results]))
            shares = [r["effective_share"] for r in tuned if r["effective_share"] is not None]
            row["effective share"] = float(np.mean(shares)) if shares else float("nan")
            first = [min(map(_criterion, r["candidates"])) for r in tuned]
            constants = [records[references_definition(panel, s)][CONSTANT] for s in own]
            pairs = zip(constants, first, strict=True)
            row["constant first"] = sum(_criterion(one) < best for one, best in pairs)
            params = Counter(str(result["params"]) for result in tuned)
            rows.append(row | {"chosen": "; ".join(f"{k}× {v}" for v, k in params.items())})
    return pd.DataFrame(rows)


def _criterion(result: Result) -> float:
    return float(result["average"] + STABILITY_WEIGHT * result["stability"])


def readable_tuned(table: pd.DataFrame) -> pd.DataFrame:
    """The tuned table as text, for Markdown."""
    text = table[["panel", "method"]].astype(str)
    for way in ("default", "tuned", "hindsight"):
        pairs = zip(*(table[f"{title} {way}"] for title in ERRORS.values()), strict=True)
        text[way] = [f"{average:.3f} / {stability:.3f}" for average, stability in pairs]
    text["effective share"] = table["effective share"].map(lambda share: percent(share, ""))
    counts = zip(table["constant first"], table["seeds"], strict=True)
    text["constant first"] = [f"{first} of {seeds}" for first, seeds in counts]
    text["chosen"] = table["chosen"]
    return text
