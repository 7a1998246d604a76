"""Records of the paper's figures -> pictures, tables and one Markdown page."""

from pathlib import Path

import pandas as pd

from stablepred.lab.bars import bars_table
from stablepred.lab.claims import claims_table, strengths_claims, trends_table
from stablepred.lab.figures import TUNED_SEEDS, StrengthFigure
from stablepred.lab.paper_page import Report, Tables, page
from stablepred.lab.paper_pictures import draw
from stablepred.lab.tables import mean_line, runs_table, summary_table, tuned_table


def write(report: Report) -> list[Path]:
    """Write everything that the records show; give the paths."""
    pictures = [
        path
        for figure in report.figures
        for path in draw(figure, report.seeds, report.records, report.folder)
    ]
    tables = _tables(report)
    paths = [report.folder / f"{report.name}.md"]
    paths[0].write_text(page(report, pictures, tables), encoding="utf-8")
    for label, table in tables.items():
        paths.append(report.folder / f"{report.name}-{label}.csv")
        table.to_csv(paths[-1], index=False, float_format="%.6g")
    return [*paths, *pictures]


def _tables(report: Report) -> Tables:
    """The tables that go into files, as numbers."""
    tables: Tables = {}
    trends = []
    if report.panels:
        runs = runs_table(report.panels, report.seeds, report.records)
        lines = {p.name: mean_line(p, report.seeds, report.records) for p in report.panels}
        tables["panels"] = summary_table(runs, lines)
        tables["bars"] = bars_table(runs, lines)
        tables["claims"] = claims_table(runs)
        trends.append(trends_table(runs))
    for figure in report.figures:
        if isinstance(figure, StrengthFigure):
            trends.append(strengths_claims(figure, report.seeds, report.records))
    found = [table for table in trends if len(table)]
    if found:
        tables["trends"] = pd.concat(found, ignore_index=True)
    tuned = [panel for panel in report.panels if panel.tuned]
    if report.tuned and tuned:
        tables["tuned"] = tuned_table(tuned, report.seeds[:TUNED_SEEDS], report.records)
    return tables
