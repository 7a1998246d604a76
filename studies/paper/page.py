"""Tables of the paper's figures -> one Markdown page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.methods import DGBR, DLR, OURS, OURS_CLASS, PAPER
from studies.paper.bars import LEAST_SHARE
from studies.paper.claims import verdict
from studies.paper.figures import EmbeddingFigure, Figure
from studies.paper.tables import compact, noisy_shares, readable, readable_tuned, shares_table
from studies.paper.tuned import FOLDS
from studies.records import Records, Result
from studies.study import Tables
from studies.tables import Interval, duration, markdown, seed_text

REACHED = ("yes", "no", "undefined")
VERDICTS = ("holds", "undecided", "does not hold")

BARS_TEXT = (
    f"What is asked of `{OURS_CLASS}` ({OURS}) and the others, with their defaults, over means of "
    "all seeds. A margin is "
    "by how much the error is smaller than the smallest of those named; it must not be negative. "
    '"Both gaps" is the smaller of (LR − method)/(LR − oracle) in Average_Error and in '
    "Stability_Error; where LR − oracle is under two standard errors it is undefined. Part of a "
    "Stability_Error is only the sampling of the test rows (*noise* in the table of all panels): "
    "smaller margins say nothing."
)
CLAIMS_TEXT = (
    "Differences over seeds, positive where the claim is right. A claim holds where the mean "
    "difference is more than two standard errors above zero, does not hold where it is as far "
    "below, and is undecided in between; standard errors in brackets. The gain of a method is that "
    "of its Average_Error against the best of the others. First the paper's methods to the letter, "
    "all with an intercept, since a missing one changes the errors more than the weights do; then "
    "the same for the library's estimators."
)
PANELS_TEXT = (
    "Panels of 80 features are run for the first three seeds, figure 12 for the first five; the "
    "methods have their defaults. Means over seeds ± half the width of their 95 % t interval. "
    "Gaps are shares of the way from LR to the oracle. *Noise* is what Stability_Error would be "
    "if the errors differed only because the test rows are a sample. The effective sample share "
    "and the F1 of `stable_features_` are means. "
    "*LR shrunk* is the point of the shrinkage line, a · LR + (1 − a) · base rate, that is as "
    f"stable as {OURS}."
)
TUNED_TEXT = (
    "Tuned by `StableSearchCV` on the training environment alone, every method with the same "
    f"number of candidates and {FOLDS} folds. Errors as Average_Error / Stability_Error. "
    "*Hindsight* is the best candidate by the test "
    "environments themselves (Average_Error + 5 Stability_Error, better than a constant on "
    "average): what a perfect choice would have given, not a result. *Constant first*: in so many "
    "seeds that sum is smaller for a constant than for every candidate, so that it alone would "
    "choose a model that says nothing; the search passes over constants. The candidates:"
)


def summary_parts(tables: Tables) -> list[str]:
    """What is asked of the methods and what the paper claims, counted."""
    parts = []
    if "bars" in tables:
        bars = tables["bars"]
        parts += ["## Bars", BARS_TEXT, _counts(bars, "bar", "reached", REACHED), _missed(bars)]
    claims = [tables[name] for name in ("claims", "claims-library", "trends") if name in tables]
    if claims:
        parts += ["## The paper's claims", CLAIMS_TEXT]
        parts.append(_counts(pd.concat(claims), "claim", "verdict", VERDICTS))
    return parts


def full_parts(tables: Tables, grids: Mapping[str, Mapping[str, Sequence[Any]]]) -> list[str]:
    """All tables in full."""
    parts = []
    if "claims" in tables or "trends" in tables:
        parts.append("## All claims")
    for name in ("claims", "claims-library"):
        if name in tables:
            parts.append(_by_panel(tables[name]))
    if "trends" in tables:
        parts.append(_one_by_one(tables["trends"]))
    if "bars" in tables:
        parts += ["## All bars", markdown(_readable_bars(tables["bars"]))]
    if "panels" in tables:
        parts += ["## All panels", PANELS_TEXT, _small_shares(tables["panels"])]
        parts.append(markdown(readable(tables["panels"])))
    if "tuned" in tables:
        parts += ["## Tuned", TUNED_TEXT, _candidates(grids)]
        parts.append(markdown(readable_tuned(tables["tuned"])))
    return parts


def describe_run(results: Sequence[Result], seeds: Sequence[int]) -> str:
    """Version, seeds, and the time it took."""
    versions = ", ".join(sorted({result["version"] for result in results}))
    busy = sum(result["seconds"] for result in results)
    ends = np.array([(r["finished"] - r["seconds"], r["finished"]) for r in results])
    return (
        f"Version {versions}; {seed_text(seeds)}; {len(results)} records, "
        f"{duration(busy)} of computing in {duration(elapsed(ends))} of wall time."
    )


def elapsed(spans: np.ndarray, pause: float = 60.0) -> float:
    """Length of the union of time spans, pauses under a minute included: (records, 2)."""
    ordered = spans[np.argsort(spans[:, 0])]
    total, (start, end) = 0.0, ordered[0]
    for first, last in ordered[1:]:
        if first > end + pause:
            total, start = total + end - start, first
        end = max(end, last)
    return float(total + end - start)


def figure_parts(
    figures: Sequence[Figure],
    seeds: Sequence[int],
    records: Records,
    pictures: Sequence[Path],
    tables: Tables,
) -> list[str]:
    """Every figure: its claim, its pictures, and the errors in short."""
    parts = []
    errors = compact(tables["panels"]) if "panels" in tables else pd.DataFrame({"panel": []})
    for figure in figures:
        parts += [f"## {figure.name}: {figure.title}", f"*{figure.claim}.*"]
        for path in pictures:
            if path.stem in (figure.name, f"{figure.name}-summary"):
                parts.append(f"![{path.stem}]({path.name})")
        if isinstance(figure, EmbeddingFigure):
            parts.append(_embedding_text(figure, seeds, records))
        if figure.compared:
            shown = errors["panel"].isin([panel.name for panel in figure.compared])
            parts += ["Average_Error / Stability_Error:", markdown(errors[shown])]
    return parts


def _embedding_text(figure: EmbeddingFigure, seeds: Sequence[int], records: Records) -> str:
    (panel,) = figure.panels
    shares = shares_table(figure, seeds, records)
    own, plain = (
        pd.Series(noisy_shares(figure, method, seeds, records)) for method in (PAPER, DLR)
    )
    outcome = verdict(plain - own)
    even = 1 - len(panel.world.stable_features) / panel.world.n_features
    numbers = ", ".join(
        f"{row['method']} {Interval(row['mean'], row['half']).format('.2f')}"
        for _, row in shares.iterrows()
    )
    return (
        f"Norm share of the noisy features' columns in A⁽¹⁾ (even: {even:.2f}): {numbers}. The "
        f"claim {outcome} for the paper's own method: {PAPER}'s share is compared with {DLR}'s, "
        f"seed by seed. Where {DGBR} trains its network again without the variables that may move, "
        "their columns are zero, which is a choice and not a finding."
    )


# --- tables as text -----------------------------------------------------------------------------


def _counts(table: pd.DataFrame, of: str, by: str, values: Sequence[str]) -> str:
    """How often each value occurs."""
    counts = pd.crosstab(table[of], table[by])
    counts = counts.reindex(index=table[of].unique(), columns=list(values), fill_value=0)
    return markdown(counts.reset_index())


def _by_panel(claims: pd.DataFrame) -> str:
    """Verdicts, one row per panel, one column per claim."""
    wide = claims.assign(cell=_verdicts(claims)).pivot(
        index="panel", columns="claim", values="cell"
    )
    wide = wide.reindex(index=claims["panel"].unique(), columns=claims["claim"].unique())
    return markdown(wide.reset_index())


def _one_by_one(trends: pd.DataFrame) -> str:
    """Verdicts, one row each."""
    return markdown(trends[["claim", "panel"]].assign(verdict=_verdicts(trends)))


def _verdicts(claims: pd.DataFrame) -> list[str]:
    """Verdicts with differences and their standard errors."""
    return [
        f"{row['verdict']}, {row['difference']:+.3f}{_in_brackets(row['standard error'])}"
        for _, row in claims.iterrows()
    ]


def _in_brackets(error: float) -> str:
    return "" if np.isnan(error) else f" ({error:.3f})"


def _missed(bars: pd.DataFrame) -> str:
    """The bars that are not reached."""
    missed = bars[bars["reached"] != "yes"]
    if missed.empty:
        return "All are reached."
    return "Not reached:\n\n" + markdown(_readable_bars(missed))


def _readable_bars(bars: pd.DataFrame) -> pd.DataFrame:
    """Bars as text: shares in per cent, margins with their sign."""
    table, shares = bars.copy(), bars["needed"] > 0
    table["needed"] = np.where(shares, bars["needed"].map("{:.0%}".format), "margin")
    table["number"] = [
        "" if np.isnan(number) else f"{number:.1%}" if share else f"{number:+.4f}"
        for number, share in zip(bars["number"], shares, strict=True)
    ]
    errors = bars["standard error"]
    table["standard error"] = errors.map(lambda v: "" if np.isnan(v) else f"{v:.4f}")
    return table


def _candidates(grids: Mapping[str, Mapping[str, Sequence[Any]]]) -> str:
    """The grids, as they are in the records' definitions."""
    lines = []
    for method, grid in grids.items():
        values = "; ".join(
            f"`{name}` {', '.join(map(str, options))}" for name, options in grid.items()
        )
        lines.append(f"- {method}: {values}")
    return "\n".join(lines)


def _small_shares(summary: pd.DataFrame) -> str:
    """Where a result rests on few rows, it is said."""
    small = summary[summary["least share"] < LEAST_SHARE]
    if small.empty:
        return f"No result rests on an effective sample share under {LEAST_SHARE:.0%}."
    named = ", ".join(
        f"{row['method']} in {row['panel']} ({row['least share']:.1%})"
        for _, row in small.iterrows()
    )
    return f"Results that rest, for some seed, on an effective sample share under 5 %: {named}."
