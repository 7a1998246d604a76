"""What commands print: lines and tables on standard output, progress on standard error."""

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text


class NoReader(io.StringIO):
    """Takes what is printed once the reader of our output has left, as ``head -1`` does."""


def say(line: str) -> None:
    """Print a line as it is, however long, and at once."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        forget_reader()


def forget_reader() -> None:
    """Let the work go on without a reader; the exit code will tell."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is still in a buffer
    sys.stdout = NoReader()


def show_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, rule_before: int = 0
) -> None:
    """Print a table, the first column to the left and the others to the right.

    A line is drawn before the row with the number ``rule_before``.
    """
    table = Table(box=box.SIMPLE, padding=(0, 1))
    for k, name in enumerate(columns):
        table.add_column(
            Text(name), justify="right" if k else "left", overflow="fold", no_wrap=k > 0
        )
    for k, row in enumerate(rows):
        if rule_before and k == rule_before:
            table.add_section()
        table.add_row(*(Text(cell) for cell in row))
    console = Console()
    with console.capture() as printed:
        console.print(Text(title, style="bold"), soft_wrap=True)
        console.print(table)
    say(printed.get().removesuffix("\n"))


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal; yields a function that takes the share that is done."""
    with _shown(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner on a terminal, for work whose length is not known."""
    with _shown(SpinnerColumn(), TextColumn("{task.description}")) as bar:
        bar.add_task(what, total=None)
        yield


def _shown(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)
    quiet = not console.is_terminal
    return Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=quiet)
