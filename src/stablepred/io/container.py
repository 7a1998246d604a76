"""The outer layer of a model file, and what a file must be before anything is made of it.

    8 bytes     length of the header
    header      JSON: {name: {dtype, shape, data_offsets}, ...} and, under "__metadata__", a text
    the rest    the numbers of all arrays, one after the other without gaps

That is safetensors, and other readers of safetensors can open it. The text is JSON again. It
begins with the format, the version of the library that wrote the file, and the SHA-256 of the
whole file, taken with 64 zeros in its own place.

The safetensors library writes the file. It is read here, because the library's readers map the
file into memory or copy every array, and do not bound what the header unfolds to. Reading takes
the size of the file once; header and JSON are limited to ``HEADER`` and ``OBJECTS`` bytes
plus parts of the size, so that no file unfolds to much more than twice its size.
"""

import hashlib
import json
import math
import os
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from safetensors.numpy import save as safetensors_bytes

from stablepred._version import __version__

FORMAT = 2

LARGEST = 1 << 32  # bytes of a file
HEADER = 1 << 21  # bytes of a header, plus an eighth of the file
OBJECTS = 1 << 22  # bytes that the JSON may unfold to, plus a quarter of the file
LARGEST_INTEGER = 1 << 63

METADATA, KEY = "__metadata__", "stablepred"
UNSEALED = b"0" * 64
SEAL = rb"\"sha256\": \""  # as it stands in the header: JSON within a string of JSON

DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}

Arrays = dict[str, np.ndarray]


class ForeignFormatError(ValueError):
    """The file has a format that this version does not read."""


# --- writing ---


def packed(model: Any, arrays: Arrays, kind: str = "model") -> bytearray:
    """A file of some kind from the JSON of its object and its arrays."""
    content = {
        "format": FORMAT,
        "stablepred": __version__,
        "sha256": UNSEALED.decode(),
        kind: model,
    }
    text = json.dumps(content, allow_nan=False)
    blob = bytearray(safetensors_bytes(arrays, metadata={KEY: text}))
    length = _header_length(blob[:8], len(blob))
    check_objects(blob[8 : 8 + length], len(blob))
    return sealed(blob)


def sealed(blob: bytearray) -> bytearray:
    """The file with its own SHA-256 in its place."""
    place = _seal_place(blob)
    blob[place : place + 64] = _digest(blob, place)
    return blob


def _seal_place(blob: bytes | bytearray) -> int:
    header_end = 8 + int.from_bytes(blob[:8], "little")
    place = blob.find(SEAL, 8, header_end)
    if place < 0:
        raise ValueError("it has no checksum")
    return place + len(SEAL)


def _digest(blob: bytearray, place: int) -> bytes:
    view = memoryview(blob)
    digest = hashlib.sha256(view[:place])
    digest.update(UNSEALED)
    digest.update(view[place + 64 :])
    return digest.hexdigest().encode()


# --- reading ---


def unpacked(path: str | os.PathLike[str], kind: str = "model") -> tuple[dict[str, Any], Arrays]:
    """The text of a file of some kind and its arrays, once both are known to be sound."""
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        start = stream.read(8)
        start += stream.read(_header_length(start, size))
        table = _table(start[8:], size)
        content = _content(table, kind)
        entries = _entries(table, size - len(start))
        digest = hashlib.sha256(_unsealed(start))
        arrays = {entry.name: _read_array(stream, entry, digest) for entry in entries}
        if stream.read(1):
            raise ValueError("it changed while it was read")
    if content["sha256"] != digest.hexdigest():
        raise ValueError("its checksum is wrong: it was damaged or altered after it was saved")
    for name, array in arrays.items():
        if array.dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
            raise ValueError(f"array {name[:80]!r} of truth values holds others")
    return content, arrays


def _unsealed(start: bytes) -> bytes:
    place = _seal_place(start)
    return start[:place] + UNSEALED + start[place + 64 :]


def _table(header: bytes, size: int) -> dict[str, Any]:
    """The parsed header of a file of so many bytes."""
    check_objects(header, size)
    table = strict_json(header) if header.startswith(b"{") else None
    if not isinstance(table, dict):
        raise ValueError("it is no safetensors file")
    return table


def _header_length(first: bytes | bytearray, size: int) -> int:
    if size > LARGEST:
        raise ValueError(f"it has {size:,} bytes, and model files have {LARGEST:,} at most")
    length = int.from_bytes(first, "little")
    if len(first) < 8 or not 2 <= length <= size - 8:
        raise ValueError("it is no safetensors file, or the end of it is missing")
    if length > HEADER + size // 8:
        raise ValueError(f"its header of {length:,} bytes is too long for a file of {size:,}")
    if length % 8:
        raise ValueError("its header is not padded to a multiple of 8 bytes")
    return length


def check_objects(header: bytes | bytearray, size: int) -> None:
    """Refuse JSON that unfolds to far more than the file: ``[[],[],[]...`` is small as text only.

    Counted are the characters that open or separate values, at the size of what they may create.
    """
    costs = {b"{": 256, b"[": 72, b",": 72, b":": 72}
    unfolded = sum(cost * header.count(sign) for sign, cost in costs.items())
    if unfolded > OBJECTS + size // 4:
        raise ValueError(
            f"its header unfolds to {unfolded:,} bytes, too many for a file of {size:,} (many "
            "thousands of names or small parts)"
        )


def strict_json(text: bytes | str) -> Any:
    """JSON without repeated keys, NaN, infinities and integers of more than 64 bits."""
    return json.loads(
        text,
        object_pairs_hook=_unique,
        parse_constant=_no_constant,
        parse_float=_finite,
        parse_int=_integer,
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("its header names a part twice")
    return result


def _no_constant(text: str) -> None:
    raise ValueError(f"its header holds {text}, which is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"its header holds {text[:30]}, which is too large a number")
    return value


def _integer(text: str) -> int:
    if len(text) > 20 or not -LARGEST_INTEGER <= int(text) < LARGEST_INTEGER:
        raise ValueError(f"its header holds {text[:30]}, which is too large a number")
    return int(text)


def _content(table: dict[str, Any], kind: str) -> dict[str, Any]:
    """The text under the header's metadata; its format is known here."""
    metadata = table.pop(METADATA, None)
    if not isinstance(metadata, dict) or KEY not in metadata:
        raise ValueError("it was not written by stablepred")
    if set(metadata) != {KEY} or not isinstance(metadata[KEY], str):
        raise ValueError("its header has parts that are unknown here")
    content = strict_json(metadata[KEY])
    if not isinstance(content, dict) or type(content.get("format")) is not int:
        raise ValueError("it says no format")
    if content["format"] != FORMAT:
        later = content["format"] > FORMAT
        raise ForeignFormatError(
            f"it has format {content['format']}, and this version reads format {FORMAT}. It was "
            f"written by stablepred {str(content.get('stablepred'))[:40]!r}: "
            + ("install that version, or a later one." if later else "train the model again.")
        )
    known = {"format", "stablepred", "sha256", kind}
    if set(content) != known or not isinstance(content["stablepred"], str):
        raise ValueError(f"its text must hold {sorted(known)}, but holds {sorted(content)[:10]}")
    return content


@dataclass(frozen=True, order=True)
class _Entry:
    """Where an array stands in the file, and what it is."""

    begin: int
    end: int
    name: str
    dtype: str
    shape: tuple[int, ...]


def _entries(table: dict[str, Any], size: int) -> list[_Entry]:
    """The arrays in their order; together they fill ``size`` bytes exactly."""
    entries = sorted(_entry(name, described) for name, described in table.items())
    filled = 0
    for entry in entries:
        itemsize = DTYPES[entry.dtype].itemsize
        if entry.begin != filled or entry.end > size:
            raise ValueError(f"array {entry.name[:80]!r} lies outside its place in the file")
        filled = entry.end
        if filled - entry.begin != math.prod(entry.shape) * itemsize:
            raise ValueError(
                f"array {entry.name[:80]!r} has {filled - entry.begin} bytes, but shape "
                f"{entry.shape}"
            )
    if filled != size:
        raise ValueError(f"{size - filled} bytes at its end belong to no array")
    return entries


def _entry(name: str, described: Any) -> _Entry:
    """What the header says about an array."""
    if not isinstance(described, dict) or set(described) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"array {name[:80]!r} is not described as safetensors does")
    dtype, shape, offsets = described["dtype"], described["shape"], described["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"array {name[:80]!r} has the unknown type {str(dtype)[:20]!r}")
    whole = all(
        isinstance(part, list) and all(type(n) is int and 0 <= n <= LARGEST for n in part)
        for part in (shape, offsets)
    )
    if not whole or len(shape) > 4 or len(offsets) != 2:
        raise ValueError(f"array {name[:80]!r} has no sensible shape and place")
    return _Entry(offsets[0], offsets[1], name, dtype, tuple(shape))


def _read_array(stream: BinaryIO, entry: _Entry, digest: Any) -> np.ndarray:
    """The next array of the file, in memory of its own.

    Views of one buffer would do, but the last bits of a product depend on how its factors lie in
    memory, and a loaded model is to predict what the saved one did.
    """
    array = np.empty(entry.shape, DTYPES[entry.dtype])
    content = array.reshape(-1).view(np.uint8)
    if stream.readinto(content) != len(content):  # type: ignore[attr-defined]
        raise ValueError("it changed while it was read")
    digest.update(content)
    return array
