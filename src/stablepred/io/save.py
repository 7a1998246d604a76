"""Model files: one safetensors file, arrays as tensors, everything else as JSON in its header.

No pickle: reading a file runs no code from it. Only classes registered with :func:`storable`, and
a list of scikit-learn's estimators, can be stored. Files are checked (``container``), and objects
while they are built (``codec``, ``objects``, ``check_stored``). See ``docs/model-files.md``.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

from stablepred._version import __version__
from stablepred.exceptions import CheckpointError, InputError, ModelFileError
from stablepred.io.atomic import PathLike, write_file
from stablepred.io.codec import decode, decode_model, encode
from stablepred.io.container import FORMAT, Arrays, pack, unpack
from stablepred.io.objects import storable

__all__ = ["FORMAT", "MODEL_FILE", "load", "save", "save_method", "storable"]

MODEL_FILE = "model.safetensors"  # in a folder


def save(model: Any, path: PathLike) -> None:
    """Write the model to one file (safetensors with a JSON header, no pickle).

    The file is complete or not there at all. Read it with :func:`stablepred.load`.

    Raises
    ------
    InputError
        When a part of the model has no plain form, or when :func:`load` would refuse the file:
        numbers that are not finite, parameters changed after the fit so that they contradict it.
    """
    name, arrays = type(model).__name__, dict[str, Any]()
    content = encode(model, name, arrays)
    try:
        decode_model(content, arrays)
        blob = pack(content, arrays)
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise InputError(f"this {name} cannot be stored: {reason}.") from error
    write_file(path, blob)


save_method = save  # in the body of a class: ``save = save_method``


def load(path: PathLike) -> Any:
    """Read a model that was written with ``save``.

    ``path`` is the file, or a folder with a file ``model.safetensors``.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ModelFileError
        When the file is damaged, of another format, or no model file at all.
    """
    path = Path(path)
    if path.is_dir():
        path = path / MODEL_FILE
    if not path.is_file():
        raise FileNotFoundError(f"no model file at {path}")
    content: dict[str, Any] = {}
    try:
        content, arrays = unpack(path)
        return decode_model(content["model"], arrays)
    except ModelFileError as error:  # a file of another format
        raise ModelFileError(f"{path} cannot be read: {error}") from error
    except Exception as error:
        advice = "Give a file that model.save() wrote; if this is one, copy or save it again."
        if content:
            advice = f"It was written by version {content['stablepred'][:40]!r}, and this is "
            advice += f"{__version__}: install that one, or save the model again."
        raise ModelFileError(
            f"{path} is not a sound stablepred model file: {str(error).rstrip('.')}. {advice}"
        ) from error


# --- checkpoints: what an unfinished fit has done so far ---

CHECKPOINT = "checkpoint"


def write_checkpoint(path: PathLike, content: dict[str, Any]) -> None:
    arrays: Arrays = {}
    try:
        blob = pack(encode(content, CHECKPOINT, arrays), arrays, CHECKPOINT)
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
    if not Path(path).is_file():
        raise InputError(f"{path} is no file; give the name of a file for the checkpoint.")
    try:
        content, arrays = unpack(path, CHECKPOINT)
        return decode(content[CHECKPOINT], arrays)
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
    """The one name that a checkpoint has while it is written; short, however long its own is.

    A process that is killed leaves the checkpoint before, and at most this file, which the next
    write replaces.
    """
    target = Path(os.path.realpath(path))
    digest = hashlib.sha256(target.name.encode(errors="surrogateescape")).hexdigest()
    return target.with_name(f".stablepred-{digest[:16]}")
