"""Files that are complete or not there at all."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from stablepred.exceptions import InputError


def write_atomically(
    path: str | os.PathLike[str], content: bytes | bytearray, temporary: Path | None = None
) -> None:
    """Write ``content`` to a new file, force it to the disk, then give it the name ``path``.

    Until then it is called ``temporary``, where a killed process may have left something; without
    one, it has a new name each time.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file.")
    if temporary is None:
        temporary = target.with_name(f".stablepred-{secrets.token_hex(8)}")
    temporary.unlink(missing_ok=True)
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _settle(target.parent)


def _settle(folder: Path) -> None:
    """Force the new name to the disk too, where the system can do that for a folder."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
