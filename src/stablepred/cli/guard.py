"""What a command says when something goes wrong, and how it ends."""

import errno
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from stablepred.cli.screen import say
from stablepred.exceptions import InputError, TableWarning

FAILED_CHECK = 1
BAD_INPUT = 2


@contextmanager
def plain_errors(debug: bool) -> Iterator[None]:
    """End with one plain message and exit code 2 on bad input; a traceback only to debug."""
    try:
        yield
    except (typer.Exit, BrokenPipeError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception | KeyboardInterrupt):
            raise
        if debug:
            traceback.print_exc()
        print(f"error: {_message(error)}", file=sys.stderr)
        raise typer.Exit(BAD_INPUT) from None


def _message(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted. Nothing was written."
    if isinstance(error, InputError | FileNotFoundError):
        return str(error)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "the disk is full. Nothing was written; free some space and run it again."
    if isinstance(error, PermissionError):
        return f"no permission for {error.filename}. Nothing was written; name another place."
    if isinstance(error, OSError):
        return f"{error}. Nothing was written."
    if isinstance(error, MemoryError):
        return "not enough memory. Leave columns out with --drop, or take fewer rows."
    if isinstance(error, ValueError):
        return f"{error} (--debug shows where)"
    return f"{type(error).__name__}: {error}. This should not happen; --debug shows where."


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print the warnings of a block as plain lines when it is over, each once.

    Those about tables are left to the command, which prints them with their place and order.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            messages = [str(w.message) for w in caught if not issubclass(w.category, TableWarning)]
            for message in dict.fromkeys(messages):
                say(f"warning: {message}")
