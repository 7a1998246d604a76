"""``stablepred reproduce``: run the studies of the repository; they are not in the package."""

import importlib
import shlex
import sys
from pathlib import Path
from typing import Any

import stablepred
from stablepred.cli import options
from stablepred.cli.screen import say

RESULTS = Path("results")


def reproduce(
    names: list[str] | None = None,
    seeds: int | None = None,
    first_seed: int = 1000,
    quick: bool = False,
    tuned: bool = False,
    jobs: int = 1,
    output: Path | None = None,
) -> None:
    """Run the paper's experiments and other studies by name, from a clone of the repository.

    A figure of the paper is named by its number, as figure-4, one panel by its letter, as
    figure-4e; "paper" is all of them. What is recorded already is not computed again, so an
    interrupted run continues where it stopped, and a finished one is only drawn again.

    Example: stablepred reproduce tuning-study --seeds 3
    """
    catalogue = _import_catalogue()
    known = f"The studies are: {', '.join(catalogue.NAMES)}; one panel as figure-4e."
    unknown = [repr(name) for name in names or [] if not catalogue.is_study(name)]
    if unknown:
        raise options.UsageError(f"unknown study {', '.join(unknown)}. {known}")
    if not names:
        say(known)
        return
    from stablepred.cli.tables import check_file

    count = seeds if seeds is not None else 2 if quick else 10
    standard = RESULTS / "quick" if quick else RESULTS
    folder = standard if output is None else output
    flags = ["--seeds", str(count), "--first-seed", str(first_seed)]
    flags += ["--quick"] * quick + ["--tuned"] * tuned
    flags += [] if folder == standard else ["--output", str(folder)]
    seeds_in_use = range(first_seed, first_seed + count)
    studies = []
    for name in dict.fromkeys(names):
        command = shlex.join(["stablepred", "reproduce", name, *flags])
        study = catalogue.find_study(name, seeds_in_use, quick=quick, tuned=tuned, command=command)
        check_file(folder / study.folder / "records.jsonl", force=True)  # before anything is run
        studies.append(study)
    for study in studies:
        for path in study.reproduce(folder / study.folder, jobs):
            say(f"written: {path}")


def _import_catalogue() -> Any:
    """The studies beside the source of this package, or else in the current folder."""
    for root in (Path(stablepred.__file__).parents[2], Path.cwd()):
        if (root / "studies" / "catalogue.py").is_file():
            if str(root) not in sys.path:
                sys.path.insert(0, str(root))
            return importlib.import_module("studies.catalogue")
    raise options.UsageError(
        "studies come with the repository, not with the installed package: clone it and run "
        "this command in its folder."
    )
