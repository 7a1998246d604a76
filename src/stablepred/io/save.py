"""Model files: one safetensors file, arrays as tensors, everything else as JSON in its header.

    8 bytes     length of the header
    header      JSON: {name: {dtype, shape, data_offsets}, ...} and, under "__metadata__", a string
    the rest    the numbers of all arrays, one after the other without gaps

The string is JSON again and begins with the format, the version of the library, and the SHA-256 of
the whole file, computed with 64 zeros in its own position. The length of the header is checked
before any of it is read.

No pickle: reading a file runs no code from it. Only classes registered with :func:`storable`, and
a list of scikit-learn's estimators, can be stored. Objects are checked while they are built
(``codec``, ``objects``, ``check_stored``). See ``docs/model-files.md``.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import numpy as safetensors

from stablepred._version import __version__
from stablepred.exceptions import CheckpointError, InputError, ModelFileError
from stablepred.io.atomic import PathLike, write_file
from stablepred.io.codec import Arrays, decode, decode_model, encode
from stablepred.io.objects import storable

__all__ = ["FORMAT", "MODEL_FILE", "load", "save", "save_method", "storable"]

MODEL_FILE = "model.safetensors"  # in a folder
FORMAT = 4

LARGEST = 1 << 32  # bytes of a file
HEADER, HEADER_MOST = 1 << 21, 1 << 24  # bytes of a header: this plus size / 8, and at most

METADATA, KEY = "__metadata__", "stablepred"
UNSEALED = b"0" * 64
SEAL = rb"\"sha256\": \""  # as it is written in the header: JSON within a string of JSON


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


# --- the outer layer of a file ---


def pack(model: Any, arrays: Arrays, kind: str = "model") -> bytearray:
    """Make a file of some kind from the JSON of its object and its arrays."""
    about = {"format": FORMAT, "stablepred": __version__, "sha256": UNSEALED.decode()}
    text = json.dumps(about | {kind: model}, allow_nan=False)
    blob = bytearray(safetensors.save(arrays, metadata={KEY: text}))
    _header_length(blob[:8], len(blob))  # what would not be read is not written
    return seal(blob)


def seal(blob: bytearray) -> bytearray:
    checksum, position = _checksum(blob)
    blob[position : position + 64] = checksum.encode()
    return blob


def _checksum(blob: bytes | bytearray) -> tuple[str, int]:
    """SHA-256 of a file with zeros in place of its checksum, and where that is."""
    position = blob.find(SEAL, 8, 8 + int.from_bytes(blob[:8], "little")) + len(SEAL)
    if position < len(SEAL):
        raise ValueError("it has no checksum")
    digest = hashlib.sha256(blob[:position] + UNSEALED)
    digest.update(memoryview(blob)[position + 64 :])
    return digest.hexdigest(), position


def unpack(path: PathLike, kind: str = "model") -> tuple[dict[str, Any], Arrays]:
    """Read the content of a file of some kind and its arrays, and check that both are sound."""
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        start = stream.read(8)
        start += stream.read(_header_length(start, size))
        content = _read_content(start[8:], kind)
        blob = start + stream.read(size)
    if content["sha256"] != _checksum(blob)[0]:
        raise ValueError("its checksum is wrong: it was damaged or altered after it was saved")
    tensors = safetensors.load(blob)
    del blob
    arrays = {}
    while tensors:  # each gives its memory back when it is copied
        name, array = tensors.popitem()
        if array.dtype == bool and array.view(np.uint8).max(initial=0) > 1:
            raise ValueError(f"array {name[:80]!r} of booleans holds other values")
        # Copied, as the last bits of a product depend on how its factors lie in memory.
        arrays[name] = array.copy()
    return content, arrays


def _header_length(first: bytes | bytearray, size: int) -> int:
    """The length of the header, refused by its bounds before any of it is read."""
    length = int.from_bytes(first, "little")
    if len(first) < 8 or not 2 <= length <= size - 8 or length % 8:
        raise ValueError("it is no safetensors file, or the end of it is missing")
    if size > LARGEST or length > min(HEADER + size // 8, HEADER_MOST):
        raise ValueError(f"its header of {length:,} bytes is too long, or its {size:,} too many")
    return length


def _read_content(header: bytes, kind: str) -> dict[str, Any]:
    """The JSON within the header, of this format and of the right kind."""
    try:
        content: dict[str, Any] = json.loads(json.loads(header)[METADATA][KEY])
        found, version = content["format"], content["stablepred"]
    except (ValueError, KeyError, TypeError):
        raise ValueError("it was not written by stablepred") from None
    if type(found) is not int or found != FORMAT:
        raise ModelFileError(
            f"it has format {str(found)[:40]}, written by stablepred {str(version)[:40]!r}, and "
            f"this version reads format {FORMAT}: install that version, or fit the model again."
        )
    known = {"format", "stablepred", "sha256", kind}
    if set(content) != known or not isinstance(version, str):
        raise ValueError(f"its JSON must hold {sorted(known)}, but holds {sorted(content)[:10]}")
    return content


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
