"""The study of natural shifts: its cases, its tables of numbers, its pictures and its page."""

import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from stablepred.exceptions import InputError, StablepredWarning
from studies.natural.cases import Case, list_cases, run_case
from studies.natural.pictures import draw
from studies.natural.report import long_table, page_parts, summary, table_means
from studies.natural.tables import load_table
from studies.records import Definition, Records
from studies.study import Study, Tables
from studies.tables import join

RUNS, MEANS, SUMMARY = "", "by-table", "summary"


class NaturalStudy(Study):
    """Every environment of every table in turn as the training environment.

    A table whose file is not there is skipped with a warning; what is recorded of it is kept.
    """

    folder = "natural"
    run = staticmethod(run_case)

    @cached_property
    def cases(self) -> list[Case]:
        """Every method in every training environment of every table."""
        return list_cases(self.seeds, quick=self.quick)

    @cached_property
    def absent(self) -> dict[str, str]:
        """The tables that `prepare` could not load, and why."""
        return {}

    @property
    def definitions(self) -> list[Definition]:
        """What the records are keyed by, without the tables that are absent."""
        return [case.definition for case in self.cases if case.table not in self.absent]

    def prepare(self, missing: Sequence[Definition]) -> None:
        """Load every table once; say which are skipped, and fail where none is left."""
        for name in dict.fromkeys(definition["table"] for definition in missing):
            try:
                load_table(name)
            except InputError as error:
                self.absent[name] = str(error)
                warnings.warn(f"{name} is skipped: {error}", StablepredWarning, stacklevel=3)
        if not self.definitions:
            raise InputError("none of the tables was found, so there is nothing to run.")

    def recorded(self, records: Records) -> list[Case]:
        """The cases of tables that were run to their end."""
        unfinished = {case.table for case in self.cases if case.definition not in records}
        return [case for case in self.cases if case.table not in unfinished]

    def tables(self, records: Records) -> Tables:
        """One row per run and method; means per table; means over tables."""
        long = long_table(records, self.recorded(records))
        means = table_means(long)
        return {RUNS: long, MEANS: means, SUMMARY: summary(long, means)}

    def draw(self, records: Records, folder: Path) -> list[Path]:
        """The changes against LR, a picture per number of training rows."""
        return draw(table_means(long_table(records, self.recorded(records))), folder)

    def skipped(self, records: Records) -> list[str]:
        """A sentence on the tables that were not run to their end, or none."""
        there = {case.table for case in self.recorded(records)}
        names = [n for n in dict.fromkeys(case.table for case in self.cases) if n not in there]
        return [f"Not run to the end: {', '.join(names)}."] if names else []

    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """What was done, which tables are missing, and every table of numbers."""
        parts = ["# Shifts as nature makes them", f"`{self.command}`", *self.skipped(records)]
        names = [path.name for path in pictures]
        return join(parts + page_parts(tables[RUNS], tables[MEANS], tables[SUMMARY], names))
