"""The paper's real-data experiments as a study."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from stablepred.exceptions import InputError
from stablepred.tables.datasets import load_dataset
from studies.real.cases import Case, Design, list_cases, run_case
from studies.real.pictures import draw, draw_figure
from studies.real.report import long_table, page_parts
from studies.records import Definition, Records
from studies.study import Study, Tables
from studies.tables import join

# Which designs a figure of the paper shows.
FIGURES: dict[str, Callable[[Design], bool]] = {
    "figure-13": lambda design: design.protocol == "selection",
    "figure-14": lambda design: design.protocol == "selection",
    "figure-15": lambda design: design.by.lower() == "age" and not design.fix_rate,
    "figure-16": lambda design: design.by.lower() == "age" and design.fix_rate,
}


class RealStudy(Study):
    """Both protocols of section 6.3 on public tables, or one of the paper's figures 13 to 16."""

    folder = "real"
    run = staticmethod(run_case)

    @cached_property
    def cases(self) -> list[Case]:
        """Every method in every design of the figure, or in all, for every seed."""
        belongs = FIGURES.get(self.name, lambda design: True)
        found = list_cases(self.seeds, quick=self.quick)
        chosen = [case for case in found if belongs(case.design)]
        if not chosen:
            raise InputError(f"{self.name} has no small version: its tables are files.")
        return chosen

    @cached_property
    def definitions(self) -> list[Definition]:
        """What the records are keyed by."""
        return [case.definition for case in self.cases]

    def prepare(self, missing: Sequence[Definition]) -> None:
        """Fetch every table once."""
        for name in dict.fromkeys(definition["dataset"] for definition in missing):
            load_dataset(name)

    def tables(self, records: Records) -> Tables:
        """One row per design, seed and method."""
        return {"": long_table(records, self.cases)}

    def draw(self, records: Records, folder: Path) -> list[Path]:
        """Pictures of every kind of design."""
        if self.name in FIGURES:
            return draw_figure(self.name, records, self.cases, folder)
        return draw(records, self.cases, folder)

    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """Whether the claim holds, what stands behind it, and every table."""
        title = "The paper's real-data experiments on public tables"
        title = f"{self.name}: {title}" if self.name in FIGURES else title
        parts = [f"# {title}", f"`{self.command}`"]
        parts += page_parts(tables[""], records, self.cases)
        return join([*parts, *(f"![{path.stem}]({path.name})" for path in pictures)])
