"""Files that commands write: checked before any work is done, complete or not there at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stablepred.exceptions import InputError
from stablepred.io import atomic


def check_file(path: Path, *, force: bool) -> None:
    """Raise early when a file cannot be written to ``path``, before any work is done."""
    target = atomic.check_file(path)
    if target.exists() and not force:
        raise InputError(f"{path} exists. Name another file, or replace it with --force.")
    target.parent.mkdir(parents=True, exist_ok=True)
    atomic.check_writable(target.parent)


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a name to write to; the file gets its own name when the block is done."""
    check_file(path, force=force)
    with atomic.new_file(path) as temporary:
        yield temporary
