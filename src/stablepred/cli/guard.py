"""What a command says when something goes wrong, and how it ends."""

import errno
import re
import shlex
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
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        print(f"error: {_message(error)}", file=sys.stderr)
        raise typer.Exit(BAD_INPUT) from None


def _message(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted. Nothing was written."
    if isinstance(error, InputError | FileNotFoundError):
        return _as_options(str(error))
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


def _as_options(message: str) -> str:
    """Parameters of Python that a message names, as options of the command line."""
    message = re.sub(
        r"drop=\[('.*?'|\".*?\")\]", lambda m: f"--drop {shlex.quote(m[1][1:-1])}", message
    )
    message = message.replace("force=True", "--force").replace("the bins out", "--bins out")
    return re.sub(r"\bbins (?=(cut|must)\b)", "--bins ", message)


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
            for message in dict.fromkeys(str(w.message) for w in caught if _concerns_user(w)):
                say(f"warning: {message}")


def _concerns_user(warning: warnings.WarningMessage) -> bool:
    """Whether it is about data or fit, not about tables or the inside of a library."""
    kinds = (UserWarning, RuntimeWarning)
    return issubclass(warning.category, kinds) and not issubclass(warning.category, TableWarning)
