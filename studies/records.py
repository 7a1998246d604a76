"""Runs that are recorded as they end, and not computed again (`stablepred.io.records`)."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.progress import track
from sklearn.utils.parallel import Parallel, delayed

from stablepred.io.records import Definition, Records, Result, definition_key

__all__ = ["Definition", "Records", "Result", "definition_key", "run_missing"]


def run_missing(
    definitions: Sequence[Definition],
    compute: Callable[[Definition], Result],
    records: Records,
    *,
    title: str,
    jobs: int = 1,
) -> None:
    """Compute and record what is not recorded yet, with a progress bar on a terminal."""
    todo = [definition for definition in definitions if definition not in records]
    console = Console(stderr=True)
    # Results come as they are done; with one job, in order and in this process.
    tasks = (delayed(_with_definition)(compute, definition) for definition in todo)
    steps = track(
        Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks),
        title,
        total=len(todo),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    for definition, result in steps:
        records.add(definition, result)


def _with_definition(
    compute: Callable[[Definition], Result], definition: Definition
) -> tuple[Definition, Result]:
    return definition, compute(definition)
