"""``stablepred reproduce``: run the library's own studies and write their records and tables."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from stablepred.lab import real, real_studies, tuning_report, tuning_study
from stablepred.lab.records import Records, run_missing

# Development uses seeds below; published tables start here.
FIRST_SEED = tuning_report.PUBLISHED_FROM
RESULTS = Path("results")
Study = Callable[[list[int], bool, Path, int, str], list[Path]]


def _tuning_study(
    seeds: list[int], quick: bool, folder: Path, jobs: int, command: str
) -> list[Path]:
    cases = tuning_study.cases(seeds, quick=quick)
    records = Records(folder / "records.jsonl")
    definitions = [case.definition for case in cases]
    run_missing(definitions, tuning_study.run_case, records, title=tuning_study.NAME, jobs=jobs)
    return [records.path, *tuning_report.write_tables(records, cases, folder, command)]


STUDIES: dict[str, Study] = {tuning_study.NAME: _tuning_study, real_studies.NAME: real.run}


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="What to run; without a name the list is shown.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 10,
    first_seed: Annotated[
        int, typer.Option(min=0, help="First seed; published tables start at 1000.")
    ] = FIRST_SEED,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, to see that it runs.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    output: Annotated[Path, typer.Option(help="Folder for records and tables.")] = RESULTS,
) -> None:
    """Run studies by name and write records and tables.

    What is recorded already is not computed again, so an interrupted run goes on where it stopped.
    """
    unknown = [name for name in names or [] if name not in STUDIES]
    if not names or unknown:
        for name in unknown:
            typer.echo(f"unknown study {name!r}.", err=True)
        typer.echo("The studies are: " + ", ".join(STUDIES), err=bool(unknown))
        raise typer.Exit(2 if unknown else 0)
    console = Console()
    for name in dict.fromkeys(names):
        options = ["--seeds", str(seeds), "--first-seed", str(first_seed)]
        options += ["--quick"] if quick else []
        options += [] if output == RESULTS else ["--output", str(output)]
        command = shlex.join(["stablepred", "reproduce", name, *options])
        chosen = list(range(first_seed, first_seed + seeds))
        for path in STUDIES[name](chosen, quick, output / name, jobs, command):
            console.print(f"written: {path}", highlight=False, soft_wrap=True)
