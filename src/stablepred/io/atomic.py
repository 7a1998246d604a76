"""The one writer: a path has its old content or its new content, at every moment."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

from stablepred.exceptions import InputError

PathLike = str | os.PathLike[str]


def write_file(path: PathLike, content: bytes | bytearray, temporary: Path | None = None) -> None:
    with new_file(path, temporary) as name, name.open("xb") as stream:
        stream.write(content)


@contextmanager
def new_file(path: PathLike, temporary: Path | None = None) -> Iterator[Path]:
    """Yield a name to write to; the file is at ``path`` when the block is done.

    An older file stays until then, and for good when the block fails. Links are followed. What a
    killed process left at ``temporary`` is replaced; without it the name is new each time.
    """
    target = check_file(path)
    if temporary is None:  # short, however long the target's own name is
        temporary = target.with_name(f".stablepred-{secrets.token_hex(8)}{target.suffix[:16]}")
    temporary.unlink(missing_ok=True)
    try:
        yield temporary
        _sync(temporary, os.O_RDWR)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # the names in the folder, where the system can do that
        _sync(target.parent, os.O_RDONLY)


def check_file(path: PathLike) -> Path:
    """The file to write, links followed; refuse what is there and is no regular file."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file.")
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe has no real path
        raise InputError(f"{path} is a device or a pipe, not a regular file; name another one.")
    return target


def check_writable(folder: Path) -> None:
    """Raise OSError where no file can be made in a folder."""
    try:
        TemporaryFile(dir=folder).close()  # it has no name, where the system can do that
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from None


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
