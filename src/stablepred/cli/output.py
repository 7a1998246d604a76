"""Files that commands write: checked before any work is done, complete or not there at all."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from stablepred.cli import options


def check_file(path: Path | None, *, force: bool) -> None:
    """Raise early when a file cannot be written to ``path``, before any work is done."""
    from stablepred.io import atomic

    if path is None or path == options.STANDARD:
        return
    target = atomic.check_file(path)
    if target.exists() and not force:
        raise options.UsageError(f"{path} exists. Name another file, or replace it with --force.")
    target.parent.mkdir(parents=True, exist_ok=True)
    atomic.check_writable(target.parent)


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a name to write to; the file gets its own name when the block is done."""
    from stablepred.io import atomic

    if path != options.STANDARD:
        check_file(path, force=force)
        with atomic.new_file(path) as temporary:
            yield temporary
        return
    with TemporaryDirectory() as folder:
        yield Path(folder, "output")
        with Path(folder, "output").open("rb") as content:
            assert sys.__stdout__ is not None  # messages go to standard error meanwhile
            shutil.copyfileobj(content, sys.__stdout__.buffer)
            sys.__stdout__.flush()
