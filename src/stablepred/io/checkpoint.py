"""Checkpoint files: what an unfinished fit has done so far, in the container of model files.

A checkpoint is written under one fixed other name, so that a process that is killed leaves the
checkpoint before it, and at most one stray file, which the next write replaces.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

from stablepred.exceptions import CheckpointError, InputError
from stablepred.io.atomic import PathLike, write_file
from stablepred.io.codec import decode, encode
from stablepred.io.container import Arrays, pack, unpack

KIND = "checkpoint"


def write_checkpoint(path: PathLike, content: dict[str, Any]) -> None:
    """Write ``content`` to ``path``, completely or not at all."""
    arrays: Arrays = {}
    try:
        blob = pack(encode(content, KIND, arrays), arrays, KIND)
    except ValueError as error:
        raise CheckpointError(
            f"the state of this fit cannot be kept in {path}: {str(error).rstrip('.')}. Fit "
            "without a checkpoint."
        ) from error
    try:
        write_file(path, blob, temporary_beside(path))
    except (FileExistsError, FileNotFoundError) as error:
        if not Path(path).parent.is_dir():
            raise
        raise CheckpointError(
            f"another fit is writing to the checkpoint {path}. Give each a file of its own."
        ) from error


def read_checkpoint(path: PathLike) -> Any:
    """Read what :func:`write_checkpoint` wrote; CheckpointError where it is anything else."""
    if not Path(path).is_file():
        raise InputError(f"{path} is no file; give the name of a file for the checkpoint.")
    try:
        content, arrays = unpack(path, KIND)
        return decode(content[KIND], arrays)
    except Exception as error:
        raise CheckpointError(
            f"{path} is not a sound checkpoint of a fit: {str(error).rstrip('.')}. Remove it to "
            "fit from the beginning, or name another file."
        ) from error


def remove_checkpoint(path: PathLike) -> None:
    """Remove a checkpoint, and what a killed write may have left beside it."""
    Path(os.path.realpath(path)).unlink(missing_ok=True)
    temporary_beside(path).unlink(missing_ok=True)


def temporary_beside(path: PathLike) -> Path:
    """The name that a checkpoint has while it is written; short, however long its own is."""
    target = Path(os.path.realpath(path))
    digest = hashlib.sha256(target.name.encode(errors="surrogateescape")).hexdigest()
    return target.with_name(f".stablepred-{digest[:16]}")
