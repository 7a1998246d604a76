"""``stablepred reproduce``: run the library's own studies and write their records and tables."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from stablepred.lab import (
    paper,
    paper_report,
    real,
    real_studies,
    runner,
    tuning_report,
    tuning_study,
)
from stablepred.lab.paper_page import Report
from stablepred.lab.records import Records, run_missing
from stablepred.lab.text import PUBLISHED_FROM

RESULTS = Path("results")
QUICK_RESULTS = RESULTS / "quick"
Study = Callable[[list[int], bool, Records, int, str], list[Path]]


def _tuning_study(
    seeds: list[int], quick: bool, records: Records, jobs: int, command: str
) -> list[Path]:
    cases = tuning_study.cases(seeds, quick=quick)
    definitions = [case.definition for case in cases]
    run_missing(definitions, tuning_study.run_case, records, title=tuning_study.NAME, jobs=jobs)
    return list(tuning_report.write_tables(records, cases, records.path.parent, command))


# Studies besides the paper's figures, each with a folder of its own.
STUDIES: dict[str, Study] = {tuning_study.NAME: _tuning_study, real_studies.NAME: real.run}
NAMES = [*paper.FIGURES, paper.EVERYTHING, *STUDIES]


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="What to run; without a name the list is shown.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Number of seeds: 10, or 2 with --quick.")
    ] = None,
    first_seed: Annotated[
        int, typer.Option(min=0, help="First seed; published tables start at 1000.")
    ] = PUBLISHED_FROM,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, to see that it runs.")
    ] = False,
    tuned: Annotated[
        bool,
        typer.Option("--tuned", help="Tune the methods as well, where n = 2000, for three seeds."),
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for records, tables and figures: results, or results/quick."),
    ] = None,
) -> None:
    """Run the paper's experiments and other studies by name; write records, tables and figures.

    A figure of the paper is named by its number, as figure-4, one panel by its letter, as
    figure-4e; "paper" is all of them. What is recorded already is not computed again, so an
    interrupted run goes on where it stopped, and a finished one is only drawn again.
    """
    chosen_names = _checked_names(names)
    count = seeds if seeds is not None else 2 if quick else 10
    standard = QUICK_RESULTS if quick else RESULTS
    folder = standard if output is None else output
    for name in chosen_names:
        _check_writable(_folder(folder, name))
    options = ["--seeds", str(count), "--first-seed", str(first_seed)]
    options += ["--quick"] if quick else []
    options += ["--tuned"] if tuned else []
    options += [] if folder == standard else ["--output", str(folder)]
    chosen = list(range(first_seed, first_seed + count))
    console = Console()
    for name in chosen_names:
        command = shlex.join(["stablepred", "reproduce", name, *options])
        records = Records(_folder(folder, name) / "records.jsonl")
        if name in STUDIES:
            paths = STUDIES[name](chosen, quick, records, jobs, command)
        else:
            figures = paper.named_figures(name, quick=quick)
            report = Report(name, figures, chosen, records, records.path.parent, command, tuned)
            run_missing(report.definitions, runner.compute, records, title=name, jobs=jobs)
            paths = paper_report.write(report)
        for path in [records.path, *paths]:
            console.print(f"written: {path}", highlight=False, soft_wrap=True)


def _checked_names(names: list[str] | None) -> list[str]:
    """The names without repetition; where one is unknown, or none given, the list of all."""
    known = [
        name in STUDIES or bool(paper.named_figures(name, quick=False)) for name in names or []
    ]
    if names and all(known):
        return list(dict.fromkeys(names))
    for name, found in zip(names or [], known, strict=True):
        if not found:
            typer.echo(f"unknown study {name!r}.", err=True)
    text = f"The studies are: {', '.join(NAMES)}; one panel by its letter, as figure-4e."
    typer.echo(text, err=bool(names))
    raise typer.Exit(2 if names else 0)


def _folder(output: Path, name: str) -> Path:
    """All figures share one folder, so that what two of them show is recorded once."""
    return output / (name if name in STUDIES else paper.EVERYTHING)


def _check_writable(folder: Path) -> None:
    """Say so before anything is run if the records cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "records.jsonl").open("a").close()
    except OSError as error:
        typer.echo(
            f"cannot write to {folder}: {error.strerror}. Choose another folder with --output.",
            err=True,
        )
        raise typer.Exit(2) from None
