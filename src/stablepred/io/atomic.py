"""The one writer: a path has its old content or its new content, at every moment."""

import ctypes
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

from stablepred.exceptions import InputError

PathLike = str | os.PathLike[str]
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # constants of Linux


def write_file(path: PathLike, content: bytes | bytearray, temporary: Path | None = None) -> None:
    """Write ``content`` to ``path``, completely or not at all; see :func:`new_file`."""
    with new_file(path, temporary) as name, name.open("xb") as stream:
        stream.write(content)


@contextmanager
def new_file(path: PathLike, temporary: Path | None = None) -> Iterator[Path]:
    """Yield a name to write to; the file is at ``path`` when the block is done.

    An older file stays until then, and for good when the block fails. Links are followed. What a
    killed process left at ``temporary`` is replaced; without it the name is new each time.
    """
    target = check_file(path)
    temporary = temporary or _name_beside(target, target.suffix[:16])
    temporary.unlink(missing_ok=True)
    try:
        yield temporary
        _sync_file(temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


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


@contextmanager
def new_folder(path: PathLike) -> Iterator[Path]:
    """Yield an empty folder to fill with files; it is at ``path`` when the block is done.

    An older folder stays until then, and for good when the block fails. On Linux the two change
    places in one step. Where the system or the file system cannot do that, the files are replaced
    one by one: each is always there, old or new, but for a moment not all are of one kind.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is not a folder; name another one.")
    new = _name_beside(target)
    new.mkdir()
    try:
        yield new
        for item in new.iterdir():
            _sync_file(item)
        _sync_folder(new)
        if not target.exists():
            os.rename(new, target)
        elif not _exchange(new, target):
            names = sorted(os.listdir(new))
            for name in names:
                os.replace(new / name, target / name)
            for name in set(os.listdir(target)) - set(names):
                (target / name).unlink()
            _sync_folder(target)
        _sync_folder(target.parent)
    finally:  # what is left there is the older folder, or an unfinished one
        shutil.rmtree(new, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Let two paths change places in one step; False where that is not possible."""
    paths = AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other)
    with suppress(AttributeError, OSError, TypeError):  # a system without renameat2
        return bool(ctypes.CDLL(None).renameat2(*paths, RENAME_EXCHANGE) == 0)
    return False


def _name_beside(target: Path, suffix: str = "") -> Path:
    """A new name in the same folder, short however long the target's own is."""
    return target.with_name(f".stablepred-{secrets.token_hex(8)}{suffix}")


def _sync_file(path: Path) -> None:
    """Force the content of a file to the disk."""
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())


def _sync_folder(path: Path) -> None:
    """Force the names in a folder to the disk, where the system can do that."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
