"""``stablepred reproduce real``: the real-data studies from records to tables and figures."""

from collections.abc import Sequence
from pathlib import Path

from stablepred.lab import real_plots, real_report
from stablepred.lab.real_studies import NAME, cases, run_case
from stablepred.lab.records import Records, run_missing
from stablepred.tables.datasets import load_dataset


def run(seeds: Sequence[int], quick: bool, records: Records, jobs: int, command: str) -> list[Path]:
    """Run what is not recorded yet; write tables and figures beside the records."""
    planned = cases(seeds, quick=quick)
    folder = records.path.parent
    definitions = [case.definition for case in planned]
    # A table that cannot be had is an error before the first run, and is fetched only once.
    for name in dict.fromkeys(each["dataset"] for each in records.missing(definitions)):
        load_dataset(name)
    run_missing(definitions, run_case, records, title=NAME, jobs=jobs)
    tables = real_report.write_tables(records, planned, folder, command)
    figures = real_plots.write_figures(records, planned, folder)
    return [*tables, *figures]
