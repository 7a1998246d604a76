"""Records of the paper's figures -> pictures, tables and one Markdown page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stablepred.lab.bars import LEAST_SHARE, bars_table
from stablepred.lab.claims import claims_table, strengths_claims, trends_table
from stablepred.lab.experiment import Panel
from stablepred.lab.figures import (
    TUNED_SEEDS,
    EmbeddingFigure,
    Figure,
    StrengthFigure,
)
from stablepred.lab.paper_pictures import draw
from stablepred.lab.records import Definition, Records
from stablepred.lab.tables import (
    compact,
    mean_line,
    readable,
    readable_tuned,
    runs_table,
    shares_table,
    summary_table,
    tuned_table,
)
from stablepred.lab.text import duration, markdown, seed_text
from stablepred.lab.tuned import FOLDS


@dataclass(frozen=True)
class Report:
    """What was asked for, and the records that answer it."""

    name: str
    figures: Sequence[Figure]
    seeds: Sequence[int]
    records: Records
    folder: Path
    command: str
    tuned: bool = False

    @property
    def definitions(self) -> list[Definition]:
        """Everything that is to be recorded."""
        found = [d for figure in self.figures for d in figure.definitions(self.seeds)]
        if self.tuned:
            found += [d for figure in self.figures for d in figure.tuned_definitions(self.seeds)]
        return found

    @property
    def panels(self) -> list[Panel]:
        """The panels in which all methods are compared."""
        return [panel for figure in self.figures for panel in figure.compared]


def write(report: Report) -> list[Path]:
    """Write everything that the records show; give the paths."""
    pictures = [
        path
        for figure in report.figures
        for path in draw(figure, report.seeds, report.records, report.folder)
    ]
    tables = _tables(report)
    page = report.folder / f"{report.name}.md"
    page.write_text(_page(report, pictures, tables), encoding="utf-8")
    paths = []
    for label, table in tables.items():
        paths.append(report.folder / f"{report.name}-{label}.csv")
        table.to_csv(paths[-1], index=False, float_format="%.6g")
    return [page, *paths, *pictures]


def _tables(report: Report) -> dict[str, pd.DataFrame]:
    """The tables that go into files, as numbers."""
    tables: dict[str, pd.DataFrame] = {}
    claims = [
        strengths_claims(figure, report.seeds, report.records)
        for figure in report.figures
        if isinstance(figure, StrengthFigure)
    ]
    if report.panels:
        runs = runs_table(report.panels, report.seeds, report.records)
        lines = {p.name: mean_line(p, report.seeds, report.records) for p in report.panels}
        tables["panels"] = summary_table(runs, lines)
        tables["bars"] = bars_table(runs, lines)
        claims = [claims_table(runs), trends_table(runs), *claims]
    if claims:
        tables["claims"] = pd.concat([c for c in claims if len(c)], ignore_index=True)
    tuned = [panel for panel in report.panels if panel.tuned]
    if report.tuned and tuned:
        tables["tuned"] = tuned_table(tuned, report.seeds[:TUNED_SEEDS], report.records)
    return tables


# --- the page -----------------------------------------------------------------------------------


def _page(report: Report, pictures: Sequence[Path], tables: dict[str, pd.DataFrame]) -> str:
    parts = [
        f"# {'The synthetic experiments of the paper' if report.name == 'paper' else report.name}",
        f"`{report.command}`",
        _how_it_was_run(report),
        *_figure_parts(report, pictures, tables),
    ]
    if "bars" in tables:
        parts += ["## Bars", BARS_TEXT, _bars_summary(tables["bars"]), _bars(tables["bars"])]
    if "claims" in tables:
        parts += ["## The paper's claims", CLAIMS_TEXT, _claims_summary(tables["claims"])]
        parts.append(_claims(tables["claims"]))
    if "panels" in tables:
        parts += ["## All panels", PANELS_TEXT, _small_shares(tables["panels"])]
        parts.append(markdown(readable(tables["panels"])))
    if "tuned" in tables:
        parts += ["## Tuned", TUNED_TEXT, _candidates(report)]
        parts.append(markdown(readable_tuned(tables["tuned"])))
    return "\n\n".join(part for part in parts if part) + "\n"


BARS_TEXT = (
    "What is asked of `DGBRClassifier()` with its defaults, over means of all seeds. A margin is "
    "by how much the error is smaller than the smallest of those named; it must not be negative. "
    '"Both gaps" is the smaller of (LR − DGBR)/(LR − oracle) in Average_Error and in '
    "Stability_Error; where LR − oracle is under two standard errors it is undefined. Part of a "
    "Stability_Error is only the sampling of the test rows (*noise* in the table of all panels): "
    "smaller margins say nothing."
)
CLAIMS_TEXT = (
    "Differences over seeds, positive where the claim is right. A claim holds where the mean "
    "difference is more than two standard errors above zero, does not hold where it is as far "
    "below, and is undecided in between. The gain is that of DGBR's Average_Error against the best "
    "of LR, DLR and GBR. Claims about DGBR are repeated for the paper's letter, DGBR (paper)."
)
PANELS_TEXT = (
    "Means over seeds ± half the width of their 95 % t interval. Gaps are shares of the way from "
    "LR to the oracle. *Noise* is what Stability_Error would be if the errors differed only "
    "because the test rows are a sample. The effective sample share and the F1 of "
    "`stable_features_` are means. "
    "*LR shrunk* is the point of the shrinkage line, a · LR + (1 − a) · base rate, that is as "
    "stable as DGBR."
)
TUNED_TEXT = (
    "Tuned by `StableSearchCV` on the training environment alone, every method with the same "
    f"number of candidates and {FOLDS} folds. Errors as Average_Error / Stability_Error. "
    "*Hindsight* is the best candidate by the test "
    "environments themselves (Average_Error + 5 Stability_Error, better than a constant on "
    "average): what a perfect choice would have given, not a result. The candidates:"
)


def _how_it_was_run(report: Report) -> str:
    results = [report.records[definition] for definition in report.definitions]
    versions = ", ".join(sorted({result["version"] for result in results}))
    busy = sum(result["seconds"] for result in results)
    ends = np.array([(r["finished"] - r["seconds"], r["finished"]) for r in results])
    return (
        f"Version {versions}; {seed_text(report.seeds)}; {len(results)} records, "
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


def _figure_parts(
    report: Report, pictures: Sequence[Path], tables: dict[str, pd.DataFrame]
) -> list[str]:
    parts = []
    errors = compact(tables["panels"]) if "panels" in tables else pd.DataFrame({"panel": []})
    for figure in report.figures:
        parts += [f"## {figure.name}: {figure.title}", f"*{figure.claim}.*"]
        for path in pictures:
            if path.stem in (figure.name, f"{figure.name}-summary"):
                parts.append(f"![{path.stem}]({path.name})")
        if isinstance(figure, EmbeddingFigure):
            parts.append(_embedding_text(report, figure))
        if figure.compared:
            shown = errors["panel"].isin([panel.name for panel in figure.compared])
            parts += ["Average_Error / Stability_Error:", markdown(errors[shown])]
    return parts


def _embedding_text(report: Report, figure: EmbeddingFigure) -> str:
    table = shares_table(figure, report.seeds, report.records)
    (panel,) = figure.panels
    even = 1 - len(panel.world.stable_features) / panel.world.n_features
    numbers = ", ".join(
        f"{row['method']} {_with_half(row['mean'], row['half'])}" for _, row in table.iterrows()
    )
    return (
        f"Norm share of the noisy features' columns in A⁽¹⁾ (even: {even:.2f}): {numbers}. Where "
        "DGBR is fitted again on the features that it finds stable, the columns of all others are "
        "zero."
    )


def _with_half(mean: float, half: float) -> str:
    return f"{mean:.2f}" + ("" if np.isnan(half) else f" ± {half:.2f}")


def _claims_summary(claims: pd.DataFrame) -> str:
    counts = pd.crosstab(claims["claim"], claims["verdict"]).reindex(
        index=claims["claim"].unique(), columns=["holds", "undecided", "does not hold"]
    )
    return markdown(counts.fillna(0).astype(int).reset_index())


def _claims(claims: pd.DataFrame) -> str:
    table = claims.copy()
    for column in ("difference", "standard error"):
        table[column] = table[column].map("{:+.4f}".format if column == "difference" else _plain)
    return markdown(table)


def _plain(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4f}"


def _bars_summary(bars: pd.DataFrame) -> str:
    counts = pd.crosstab(bars["bar"], bars["reached"]).reindex(
        index=bars["bar"].unique(), columns=["yes", "no", "undefined"]
    )
    return markdown(counts.fillna(0).astype(int).reset_index())


def _bars(bars: pd.DataFrame) -> str:
    table = bars.copy()
    shares = bars["needed"] > 0
    table["needed"] = np.where(shares, bars["needed"].map("{:.0%}".format), "margin")
    numbers: list[Any] = [
        "" if np.isnan(number) else f"{number:.1%}" if share else f"{number:+.4f}"
        for number, share in zip(bars["number"], shares, strict=True)
    ]
    table["number"] = numbers
    table["standard error"] = bars["standard error"].map(_plain)
    return markdown(table)


def _candidates(report: Report) -> str:
    """The grids, as they are in the records' definitions."""
    plans = {d["method"]: d["search"]["grid"] for d in report.definitions if d["kind"] == "tuned"}
    lines = []
    for method, grid in plans.items():
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
