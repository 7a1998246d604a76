"""What commands print, on standard output and error, and how they end when something goes wrong."""

import ast
import io
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stablepred.cli import options

# Parameters of functions for tables that are options here, and a value as Python writes it.
OPTIONS = ("drop", "positive", "target", "by", "force", "skip_missing_target")
TEXT = r"'[^']*'|\"[^\"]*\""
VALUE = rf"\[(?:{TEXT}|[^\]'\"])*\]|{TEXT}|[\w.+-]*\w"


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


def working(what: str) -> AbstractContextManager[Any]:
    """A spinner on a terminal, for work whose length is not known."""
    console = Console(stderr=True)
    return console.status(what) if console.is_terminal else nullcontext()


def guard(command: Callable[..., None]) -> Any:
    """Let a command end with one plain message and exit code 2 on bad input.

    It gets the option --debug, which shows a traceback as well. Where its output is standard
    output, messages go to standard error.
    """

    @wraps(command)
    def guarded(*, debug: bool, **arguments: Any) -> None:
        piped, failed = arguments.get("output") == options.STANDARD, False
        try:
            with redirect_stdout(sys.stderr) if piped else nullcontext():
                command(**arguments)
        except typer.Exit:
            raise
        except BrokenPipeError:
            forget_reader()
        except (Exception, KeyboardInterrupt) as error:
            if debug:
                traceback.print_exc()
            print(f"error: {in_options(describe(error))}", file=sys.stderr)
            failed = True
        if failed:  # not above, where the error would stay alive with all that its frames hold
            raise typer.Exit(2)
        if isinstance(sys.stdout, NoReader):
            raise typer.Exit(141)

    debug = Parameter("debug", Parameter.KEYWORD_ONLY, default=False, annotation=bool)
    taken = [*signature(command).parameters.values(), debug]
    vars(guarded)["__signature__"] = Signature(
        [options.explain(command.__name__, parameter) for parameter in taken]
    )
    return guarded


def describe(error: BaseException) -> str:
    from stablepred.exceptions import InputError

    if isinstance(error, KeyboardInterrupt):
        return "interrupted."
    if isinstance(error, InputError | options.UsageError):
        return str(error)
    if isinstance(error, OSError):
        return f"{str(error).rstrip('.')}."
    if isinstance(error, MemoryError):
        return "not enough memory. Leave columns out with --drop, or take fewer rows."
    if isinstance(error, ValueError):
        return f"{error} (--debug shows where)"
    return f"{type(error).__name__}: {error}. This should not happen; --debug shows where."


def in_options(message: str, estimator: Any = None) -> str:
    """A message of the library in words of the command line.

    Parameters of Python become options: ``drop=['a b']`` is ``--drop 'a b'``, and ``l1=0``, of the
    estimator, is ``--set l1=0``.
    """
    parameters = [] if estimator is None else [*estimator.get_params(deep=False)]

    def option(match: re.Match[str]) -> str:
        name, value = match[1], parse_value(match[2])
        if name in parameters:
            return f"--set {shlex.quote(f'{name}={value}')}"
        values = value if isinstance(value, list) else [value]
        words = ["" if value is True else f" {shlex.quote(str(value))}" for value in values]
        return " ".join(f"--{name.replace('_', '-')}{word}" for word in words)

    method = r"\b(use) (?:a regressor such as )?Stable(?:Classifier|Regressor)\b"
    message = re.sub(method, r"\1 --method stable", message, flags=re.I)
    rows = r"n_samples = (\d+) rows have a positive sample_weight"
    message = re.sub(rows, r"\1 rows are left", message)
    names = "|".join([*OPTIONS, *parameters])
    return re.sub(rf"(?<![\w-])({names})=({VALUE})", option, message)


def parse_value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


@contextmanager
def warnings_as_lines(estimator: Any = None) -> Iterator[None]:
    """Print the warnings about data and fit of a block as plain lines when it is over, each once.

    They, and an error that ends the block, name options instead of parameters. Commands print
    warnings about tables themselves; those of other libraries do not concern users.
    """
    from stablepred.exceptions import InputError, TableWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for kind in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", kind)
        warnings.simplefilter("ignore", TableWarning)
        try:
            yield
        except InputError as error:
            raise type(error)(in_options(str(error), estimator)) from error
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in caught):
                say(f"warning: {in_options(message, estimator)}")
