"""The outer layer of a model file, and what a file must be before anything is made of it.

    8 bytes     length of the header
    header      JSON: {name: {dtype, shape, data_offsets}, ...} and, under "__metadata__", a string
    the rest    the numbers of all arrays, one after the other without gaps

That is safetensors. The string is JSON again and begins with the format, the version of the
library, and the SHA-256 of the whole file, computed with 64 zeros in its own position. The length
of the header is checked before any of it is read.
"""

import hashlib
import json
import os
from typing import Any

import numpy as np
from safetensors import numpy as safetensors

from stablepred._version import __version__
from stablepred.exceptions import ModelFileError

FORMAT = 4

LARGEST = 1 << 32  # bytes of a file
HEADER, HEADER_MOST = 1 << 21, 1 << 24  # bytes of a header: this plus size / 8, and at most

METADATA, KEY = "__metadata__", "stablepred"
UNSEALED = b"0" * 64
SEAL = rb"\"sha256\": \""  # as it is written in the header: JSON within a string of JSON

Arrays = dict[str, np.ndarray]


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


def unpack(path: str | os.PathLike[str], kind: str = "model") -> tuple[dict[str, Any], Arrays]:
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
