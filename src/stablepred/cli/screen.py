"""What commands print: lines and tables on standard output, progress on standard error."""

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn
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
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, rule_before: int = 0
) -> None:
    """Print a table, with a line before the row with the number ``rule_before``."""
    table = Table(box=box.SIMPLE, padding=(0, 1))
    for k, name in enumerate(columns):
        side: Any = "right" if k else "left"
        table.add_column(Text(name), justify=side, overflow="fold", no_wrap=k > 0)
    for k, row in enumerate(rows, start=1):
        table.add_row(*map(Text, row), end_section=k == rule_before)
    console = Console()
    with console.capture() as printed:
        console.print(Text(title, style="bold"), soft_wrap=True)
        console.print(table)
    say(printed.get().removesuffix("\n"))


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal; yields a function that takes the share that is done."""
    console = Console(stderr=True)
    columns = [*Progress.get_default_columns()[:3], TimeElapsedColumn()]
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def working(what: str) -> AbstractContextManager[Any]:
    """A spinner on a terminal, for work whose length is not known."""
    console = Console(stderr=True)
    return console.status(what) if console.is_terminal else nullcontext()
