"""Ways to spoil a model file: blindly, byte by byte, or knowing their structure.

:func:`mutate` is all that others need. Everything is drawn from one generator, so that a file is
known by the seed of its generator.
"""

import copy
import json
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from byte_mutations import BLIND as ANYWHERE
from byte_mutations import ByteChange, Generator, pick

from stablepred.io import save as files

NUMBERS = (0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e300, 1.7e308, -1.7e308, np.nan, np.inf, -np.inf)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 3, 1 << 31, (1 << 63) - 1, 1 << 64, 0.5, -0.5, 1e300, 5e-324),
    *("", "x", "auto", "mean", "../../x", "\0", "\ud800", "x" * 2000, [], [[]], {}, [0, 1]),
    *({"float": "nan"}, {"float": "inf"}, {"float": "1e999"}, {"tuple": []}, {"tuple": [0, 1]}),
    *({"array": "x"}, {"dict": []}, {"dict": [["a", 1]]}, {"frame": [], "index": [], "values": []}),
    *({"strings": [], "object": True}, {"strings": ["a", "b"], "object": False}),
    *({"object": "Recipe", "state": {}}, {"object": "Dichotomizer", "state": {}}),
    *({"object": "GBRClassifier", "state": {}}, {"object": "object", "state": {}}),
    *({"object": "LogisticRegression", "state": {}}, {"object": "SVC", "state": {}}),
)
NAMES = ("predict", "__class__", "__dict__", "_x", "coef_", "x_", "x", "state", "fit", "")
DTYPES = ("F64", "F32", "F16", "BF16", "I64", "I8", "U8", "BOOL", "U64", "x", None)


# --- blind changes ---


def _header_length(rng: Generator, blob: bytearray) -> None:
    near = int.from_bytes(blob[:8], "little") + int(rng.integers(-16, 17))
    length = pick(rng, (near, 0, 8, len(blob), 1 << 31, 1 << 63, (1 << 64) - 1))
    blob[:8] = struct.pack("<Q", max(0, length))


def _swap_digits(rng: Generator, blob: bytearray) -> None:
    """Change digits, quotes and brackets of the header into others."""
    signs = b'0123456789{}[],:"\\-.eE'
    positions = [k for k, byte in enumerate(blob[:4000]) if byte in signs]
    for _ in range(int(rng.integers(1, 5))):
        if positions:
            blob[pick(rng, positions)] = pick(rng, signs)


BLIND: tuple[ByteChange, ...] = (*ANYWHERE, _header_length, _swap_digits)


# --- changes that know the structure ---


class Parts:
    """A model file taken apart: the table of arrays, the text, the numbers."""

    def __init__(self, blob: bytes) -> None:
        length = int.from_bytes(blob[:8], "little")
        self.table = json.loads(blob[8 : 8 + length])
        self.text = json.loads(self.table.pop("__metadata__")["stablepred"])
        self.data = bytearray(blob[8 + length :])

    def joined(self) -> bytearray:
        """The file again."""
        text = json.dumps(self.text)
        header = json.dumps({"__metadata__": {"stablepred": text}} | self.table).encode()
        header += b" " * (-len(header) % 8)
        return bytearray(struct.pack("<Q", len(header)) + header + self.data)


def _paths(value: Any, found: list[tuple[Any, Any]] | None = None) -> list[tuple[Any, Any]]:
    """(container, key) of everything inside a JSON value."""
    found = [] if found is None else found
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        found.append((value, key))
        if isinstance(value[key], dict | list):
            _paths(value[key], found)
    return found


def _change_value(rng: Generator, parts: Parts) -> None:
    container, key = pick(rng, _paths(parts.text))
    container[key] = copy.deepcopy(pick(rng, VALUES))


def _swap_values(rng: Generator, parts: Parts) -> None:
    """A part of the file where another was."""
    paths = _paths(parts.text["model"])
    (container, key), (other, name) = pick(rng, paths), pick(rng, paths)
    container[key] = copy.deepcopy(other[name])


def _remove_value(rng: Generator, parts: Parts) -> None:
    container, key = pick(rng, _paths(parts.text))
    del container[key]


def _rename_key(rng: Generator, parts: Parts) -> None:
    dicts = [path for path in _paths(parts.text) if isinstance(path[0], dict)]
    container, key = pick(rng, dicts)
    container[pick(rng, (*NAMES, pick(rng, dicts)[1]))] = container.pop(key)


def _inflate(rng: Generator, parts: Parts) -> None:
    lists = [c[k] for c, k in _paths(parts.text) if isinstance(c[k], list)]
    if lists:
        chosen = pick(rng, lists)
        item = pick(rng, (*chosen[:1], [], {}, 0, "x"))
        times = min(pick(rng, (2, 10, 1000, 20_000)), 300_000 // len(json.dumps(item)))
        # Copies: one item many times would multiply with the next change inside it.
        chosen.extend(copy.deepcopy(item) for _ in range(times))


def _nest(rng: Generator, parts: Parts) -> None:
    container, key = pick(rng, _paths(parts.text))
    for _ in range(pick(rng, (1, 5, 40, 300))):
        container[key] = pick(rng, ([container[key]], {"tuple": [container[key]]}))


def _change_entry(rng: Generator, parts: Parts) -> None:
    """Another type, shape or place for an array."""
    entries = [entry for entry in parts.table.values() if isinstance(entry, dict)]
    if not entries:
        return
    entry = pick(rng, entries)
    kind = int(rng.integers(5))
    if kind == 0:
        entry["dtype"] = pick(rng, DTYPES)
    elif kind == 1:
        entry["shape"] = pick(rng, (entry["shape"][::-1], [*entry["shape"], 1], [0], [], [-1]))
    elif kind == 2 and entry["shape"]:
        entry["shape"][0] = pick(rng, (0, 1, entry["shape"][0] + 1, 1 << 40, 1 << 63, "1", None))
    elif kind == 3:
        entry["data_offsets"] = pick(rng, ([0, 0], [0, 1 << 62], [8, 0], [0], {}, [0.0, 8.0]))
    else:
        entry.update(copy.deepcopy(pick(rng, entries)))


def _rename_array(rng: Generator, parts: Parts) -> None:
    if parts.table:
        name, other = pick(rng, list(parts.table)), pick(rng, list(parts.table))
        parts.table[pick(rng, (other, "x", "../x", ""))] = parts.table.pop(name)


def _change_numbers(rng: Generator, parts: Parts) -> None:
    """Set some numbers of one array; all of them, or a few."""
    doubles = [e["data_offsets"] for e in parts.table.values() if e.get("dtype") == "F64"]
    if not doubles:
        return
    begin, end = pick(rng, doubles)
    values = np.frombuffer(parts.data, "<f8", (end - begin) // 8, begin)
    if len(values):
        rows = slice(None) if rng.random() < 0.3 else rng.integers(0, len(values), 2)
        values[rows] = pick(rng, (*NUMBERS, float(rng.normal()), values[0], values[-1]))


def _reshape_together(rng: Generator, parts: Parts) -> None:
    """Arrays cut to another length, with the file still complete: only the meaning is wrong."""
    names = list(parts.table)
    if not names:
        return
    chosen, data, place = pick(rng, names), bytearray(), 0
    for name in sorted(names, key=lambda name: parts.table[name]["data_offsets"][0]):
        begin, end = parts.table[name]["data_offsets"]
        shape = parts.table[name]["shape"]
        piece = parts.data[begin:end]
        if name == chosen and shape and shape[0] > 1:
            piece = piece[: len(piece) * (shape[0] - 1) // shape[0]]
            shape[0] -= 1
        parts.table[name]["data_offsets"] = [place, place + len(piece)]
        data += piece
        place += len(piece)
    parts.data = data


KNOWING: tuple[Callable[[Generator, Parts], None], ...] = (
    *(_change_value, _change_value, _swap_values, _remove_value, _rename_key, _inflate, _nest),
    *(_change_entry, _rename_array, _change_numbers, _change_numbers, _reshape_together),
)


def mutate(rng: Generator, blob: bytes, *, seal: bool) -> tuple[str, bytearray]:
    """A spoiled copy of a model file, and how it was spoiled.

    With ``seal`` the checksum is computed again, where there still is one.
    """
    if rng.random() < 0.35:
        result = bytearray(blob)
        change = pick(rng, BLIND)
        change(rng, result)
    else:
        parts = Parts(blob)
        for _ in range(pick(rng, (1, 1, 1, 2, 3))):
            change = pick(rng, KNOWING)
            # What an earlier change took away, a later one does not find.
            with suppress(AttributeError, LookupError, TypeError, ValueError):
                change(rng, parts)
        result = parts.joined()
    if seal:
        with suppress(ValueError):
            files.seal(result)
    return change.__name__.strip("_"), result
