"""Ways to spoil any file, byte by byte; everything is drawn from one generator."""

from collections.abc import Callable
from typing import Any

import numpy as np

Generator = np.random.Generator
ByteChange = Callable[[Generator, bytearray], None]


def pick(rng: Generator, items: Any) -> Any:
    """One of the items, as it is."""
    return items[int(rng.integers(len(items)))]


def flip_bits(rng: Generator, blob: bytearray) -> None:
    """Up to eight bits, anywhere."""
    for _ in range(int(rng.integers(1, 9))):
        blob[int(rng.integers(len(blob)))] ^= 1 << int(rng.integers(8))


def set_bytes(rng: Generator, blob: bytearray) -> None:
    """A few bytes replaced by others, not always as many."""
    place = int(rng.integers(len(blob)))
    blob[place : place + int(rng.integers(1, 17))] = rng.bytes(int(rng.integers(1, 17)))


def cut(rng: Generator, blob: bytearray) -> None:
    """The end is gone."""
    del blob[int(rng.integers(len(blob))) :]


def remove(rng: Generator, blob: bytearray) -> None:
    """A piece is gone."""
    place = int(rng.integers(len(blob)))
    del blob[place : place + int(rng.integers(1, 65))]


def repeat(rng: Generator, blob: bytearray) -> None:
    """A piece stands there several times."""
    place = int(rng.integers(len(blob)))
    blob[place:place] = blob[place : place + int(rng.integers(1, 200))] * int(rng.integers(1, 5))


def append(rng: Generator, blob: bytearray) -> None:
    """Something follows the end."""
    blob += rng.bytes(int(rng.integers(1, 500)))


BLIND: tuple[ByteChange, ...] = (flip_bits, set_bytes, cut, remove, repeat, append)
