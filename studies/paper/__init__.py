"""The paper's synthetic figures as a study."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

from studies.paper import page, panels, tuned
from studies.paper.bars import bars_table, tuned_bars
from studies.paper.claims import LIBRARY, claims_table, join_trends
from studies.paper.definitions import EVERYTHING, FIGURES, named_figures
from studies.paper.figures import Figure
from studies.paper.panels import Panel
from studies.paper.pictures import draw
from studies.paper.tables import (
    mean_line,
    runs_table,
    summary_table,
    tuned_runs,
    tuned_table,
)
from studies.records import Definition, Records, Result, definition_key
from studies.study import Study, Tables
from studies.tables import join

__all__ = ["EVERYTHING", "FIGURES", "PaperStudy", "named_figures"]

KINDS = {
    "references": panels.run_references,
    "run": panels.run_method,
    "theory": panels.run_theory,
    "tuned": tuned.run_search,
}


def run_case(definition: Definition) -> Result:
    """Run whatever kind of case a definition describes."""
    return KINDS[definition["kind"]](definition)


class PaperStudy(Study):
    """All figures, one, or one part of one, by its name."""

    folder = EVERYTHING
    run = staticmethod(run_case)

    @cached_property
    def figures(self) -> list[Figure]:
        """The figures that the name stands for."""
        return named_figures(self.name, quick=self.quick)

    @property
    def panels(self) -> list[Panel]:
        """The panels in which all methods are compared."""
        return [panel for figure in self.figures for panel in figure.compared]

    @cached_property
    def definitions(self) -> list[Definition]:
        """Everything that is to be recorded, once."""
        found = [d for figure in self.figures for d in figure.definitions(self.seeds)]
        if self.tuned:
            found += [d for figure in self.figures for d in figure.tuned_definitions(self.seeds)]
        return list({definition_key(definition): definition for definition in found}.values())

    def tables(self, records: Records) -> Tables:
        """Panels, what is asked of them, the paper's claims, and the tuned methods."""
        tables: Tables = {}
        runs = None
        if self.panels:
            runs = runs_table(self.panels, self.seeds, records)
            lines = {p.name: mean_line(p, self.seeds, records) for p in self.panels}
            tables["panels"] = summary_table(runs, lines)
            tables["bars"] = bars_table(runs, lines)
            tables["claims"] = claims_table(runs)
            tables["claims-library"] = claims_table(runs, LIBRARY)
        trends = join_trends(runs, self.figures, self.seeds, records)
        if len(trends):
            tables["trends"] = trends
        searched = [panel for panel in self.panels if panel.tuned]
        if self.tuned and searched:
            tables["tuned"] = tuned_table(searched, self.seeds, records)
            first = [panel for panel in searched if panel.name.startswith("figure-4")]
            lines = {p.name: mean_line(p, self.seeds[: p.tuned], records) for p in first}
            asked = tuned_bars(tuned_runs(first, self.seeds, records), lines)
            tables["bars"] = pd.concat([tables["bars"], asked], ignore_index=True)
        return tables

    def draw(self, records: Records, folder: Path) -> list[Path]:
        """One or two pictures of every figure."""
        return [
            path for figure in self.figures for path in draw(figure, self.seeds, records, folder)
        ]

    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """What was run and how; what it shows, in short; the figures; then everything in full."""
        title = "The synthetic experiments of the paper" if self.name == EVERYTHING else self.name
        results = [records[definition] for definition in self.definitions]
        parts = [f"# {title}", f"`{self.command}`", page.describe_run(results, self.seeds)]
        parts += page.summary_parts(tables)
        parts += page.figure_parts(self.figures, self.seeds, records, pictures, tables)
        grids = {d["method"]: d["search"]["grid"] for d in self.definitions if "search" in d}
        return join([*parts, *page.full_parts(tables, grids)])
