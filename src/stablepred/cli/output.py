"""Files that are complete or not there at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stablepred.exceptions import InputError


def check_file(path: Path, *, force: bool) -> None:
    """Raise early when a file cannot be written to ``path``, before any work is done."""
    if path.is_dir():
        raise InputError(f"{path} is a folder. Name a file.")
    if path.exists() and not force:
        raise InputError(f"{path} exists. Name another file, or replace it with --force.")
    temporary = _beside(path)
    temporary.touch(exist_ok=False)
    temporary.unlink()


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a name to write to; the file gets its own name when the block is done.

    Until then an older file of that name stays, and when the block fails, it stays for good.
    """
    path = path.resolve()
    check_file(path, force=force)
    temporary = _beside(path)
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _beside(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}{path.suffix}")
