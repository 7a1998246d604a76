"""``stablepred reproduce``: run the studies of the repository; they are not in the package."""

import importlib
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import stablepred

RESULTS = Path("results")
QUICK_RESULTS = RESULTS / "quick"


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="What to run; without a name the list is shown.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Number of seeds: 10, or 2 with --quick.")
    ] = None,
    first_seed: Annotated[
        int, typer.Option(min=0, help="First seed; published tables start at 1000.")
    ] = 1000,
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
    """Run the paper's experiments and other studies by name, from a clone of the repository.

    A figure of the paper is named by its number, as figure-4, one panel by its letter, as
    figure-4e; "paper" is all of them. What is recorded already is not computed again, so an
    interrupted run continues where it stopped, and a finished one is only drawn again.
    """
    catalogue = _import_catalogue()
    names = _check_names(catalogue, names or [])
    count = seeds if seeds is not None else 2 if quick else 10
    standard = QUICK_RESULTS if quick else RESULTS
    folder = standard if output is None else output
    options = ["--seeds", str(count), "--first-seed", str(first_seed)]
    options += ["--quick"] if quick else []
    options += ["--tuned"] if tuned else []
    options += [] if folder == standard else ["--output", str(folder)]
    chosen = range(first_seed, first_seed + count)
    studies = [
        catalogue.find_study(
            name,
            chosen,
            quick=quick,
            tuned=tuned,
            command=shlex.join(["stablepred", "reproduce", name, *options]),
        )
        for name in names
    ]
    for study in studies:
        _check_writable(folder / study.folder)
    for study in studies:
        for path in study.reproduce(folder / study.folder, jobs):
            Console().print(f"written: {path}", highlight=False, soft_wrap=True)


def _import_catalogue() -> Any:
    """The studies beside the source of this package, or else in the current folder."""
    for root in (Path(stablepred.__file__).parents[2], Path.cwd()):
        if (root / "studies" / "catalogue.py").is_file():
            if str(root) not in sys.path:
                sys.path.insert(0, str(root))
            return importlib.import_module("studies.catalogue")
    typer.echo(
        "studies come with the repository, not with the installed package: clone it and run "
        "this command in its folder.",
        err=True,
    )
    raise typer.Exit(2)


def _check_names(catalogue: Any, names: list[str]) -> list[str]:
    """The names without repetition; where one is unknown, or none given, the list of all."""
    unknown = [name for name in names if not catalogue.is_study(name)]
    if names and not unknown:
        return list(dict.fromkeys(names))
    for name in unknown:
        typer.echo(f"unknown study {name!r}.", err=True)
    known = ", ".join(catalogue.NAMES)
    typer.echo(f"The studies are: {known}; one panel by its letter, as figure-4e.", err=bool(names))
    raise typer.Exit(2 if names else 0)


def _check_writable(folder: Path) -> None:
    """Report before anything is run if the records cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "records.jsonl").open("a").close()
    except OSError as error:
        typer.echo(
            f"cannot write to {folder}: {error.strerror}. Choose another folder with --output.",
            err=True,
        )
        raise typer.Exit(2) from None
