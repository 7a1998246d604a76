"""Does tuning on validation environments choose well? As a study."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from studies.records import Definition, Records
from studies.study import Study, Tables
from studies.tables import join
from studies.tuning.cases import NAME, Case, list_cases, run_case
from studies.tuning.report import auc_table, long_table, page_parts


class TuningStudy(Study):
    """Every way of tuning in every world."""

    folder = NAME
    run = staticmethod(run_case)

    @cached_property
    def cases(self) -> list[Case]:
        """All worlds for every seed."""
        return list_cases(self.seeds, quick=self.quick)

    @cached_property
    def definitions(self) -> list[Definition]:
        """What the records are keyed by."""
        return [case.definition for case in self.cases]

    def tables(self, records: Records) -> Tables:
        """One row per case and way of tuning."""
        return {"": long_table(records, self.cases)}

    def draw(self, records: Records, folder: Path) -> list[Path]:
        """No picture."""
        return []

    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """How well the search chooses, and all other ways of tuning."""
        head = ["# Does tuning on validation environments choose well?", f"`{self.command}`"]
        return join(head + page_parts(tables[""], auc_table(records, self.cases), self.cases))
