"""The contract of a study.

A study lists the definitions of its cases, runs one case at a time, and makes tables, pictures and
a page from the records. Everything else is the same for all studies and stands here: what is
recorded is not run again, every case runs on one thread, and results are written beside the
records.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import pandas as pd
from threadpoolctl import threadpool_limits

from stablepred._version import __version__
from stablepred.core.resources import threads_for
from studies.records import Definition, Records, Result, run_missing

Tables = dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Study(ABC):
    """What was asked for, and how it is answered.

    Attributes
    ----------
    name : str
        Names the page and the tables.
    seeds : tuple of int
    quick : bool
        Whether a small version is run, to see that it runs.
    tuned : bool
        Whether the methods are tuned as well, in studies that compare them.
    command : str
        The command that gives the same results again.
    """

    name: str
    seeds: tuple[int, ...]
    quick: bool = False
    tuned: bool = False
    command: str = ""

    folder: ClassVar[str]  # of the records, below the folder of all results

    @staticmethod
    @abstractmethod
    def run(definition: Definition) -> Result:
        """Run one case; a function of a module, so that other processes find it."""

    @property
    @abstractmethod
    def definitions(self) -> list[Definition]:
        """The definitions of all cases: plain values that decide the result."""

    @abstractmethod
    def tables(self, records: Records) -> Tables:
        """Tables of numbers by label; each becomes a CSV file."""

    @abstractmethod
    def draw(self, records: Records, folder: Path) -> list[Path]:
        """Draw the pictures into the folder; return their paths."""

    @abstractmethod
    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """The results as Markdown."""

    def prepare(self, missing: Sequence[Definition]) -> None:  # noqa: B027, most need nothing
        """Fetch what the missing cases need; fail before the first of them runs."""

    def reproduce(self, folder: Path, jobs: int = 1) -> list[Path]:
        """Run what is not recorded yet, then write everything; return the paths."""
        records = Records(folder / "records.jsonl")
        self.prepare([one for one in self.definitions if one not in records])
        compute = partial(compute_case, type(self).run)
        run_missing(self.definitions, compute, records, title=self.name, jobs=jobs)
        return [records.path, *self.write(records, folder)]

    def write(self, records: Records, folder: Path) -> list[Path]:
        """Write page, tables and pictures from the records alone; return the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        tables = self.tables(records)
        pictures = self.draw(records, folder)
        paths = [folder / f"{self.name}.md"]
        paths[0].write_text(self.page(records, tables, pictures), encoding="utf-8")
        for label, table in tables.items():
            paths.append(folder / (f"{self.name}-{label}.csv" if label else f"{self.name}.csv"))
            table.to_csv(paths[-1], index=False, float_format="%.6g")
        return [*paths, *pictures]


def compute_case(run: Callable[[Definition], Result], definition: Definition) -> Result:
    """Run a case on one thread; add the version, the time it took, and when it ended."""
    started = time.perf_counter()
    with threadpool_limits(1), threads_for(0):
        result = run(definition)
    return result | {
        "version": __version__,
        "seconds": round(time.perf_counter() - started, 3),
        "finished": round(time.time()),
    }
