"""The paper's real-data experiments as a study."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from stablepred.tables.datasets import load_dataset
from studies.real.cases import Case, list_cases, run_case
from studies.real.pictures import draw
from studies.real.report import long_table, page_parts
from studies.records import Definition, Records
from studies.study import Study, Tables
from studies.tables import join


class RealStudy(Study):
    """Both protocols of section 6.3 on public tables."""

    folder = "real"
    run = staticmethod(run_case)

    @cached_property
    def cases(self) -> list[Case]:
        """Every method in every design for every seed."""
        return list_cases(self.seeds, quick=self.quick)

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
        return draw(records, self.cases, folder)

    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """Whether the claim holds, what stands behind it, and every table."""
        head = ["# The paper's real-data experiments on public tables", f"`{self.command}`"]
        return join(head + page_parts(tables[""], records, self.cases))
