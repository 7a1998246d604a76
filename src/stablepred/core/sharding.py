"""Sums over rows that several processes hold.

Every loss is made of sums over rows. Inside ``row_shards`` each process has some of the rows, and
``totals`` adds up the sums of all of them, so that every process computes the same losses;
outside, the rows at hand are all there are. Weights stay with their rows: only sums travel.

A gradient flows through ``totals`` unchanged, since each process wants the slope in its own rows.
What every process has and every row depends on, such as a network, acts through all rows:
``in_every_shard`` adds up the parts of its gradient.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from stablepred.exceptions import ShardError

FloatArray = NDArray[np.float64]
Bytes = NDArray[np.uint8]


class Shards:
    """The processes that hold the rows, and what they tell each other."""

    def __init__(self, group: Any, timeout: timedelta) -> None:
        self.group, self.timeout = group, timeout
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        on_gpu = dist.get_backend(group) == "nccl"
        self.device = torch.device("cuda" if on_gpu else "cpu")

    def reduced(self, values: Tensor, operation: Any = dist.ReduceOp.SUM) -> Tensor:
        """The sum (or the maximum) over all processes, the same on each of them."""
        message = values.detach().clone().to(self.device)
        self._done(dist.all_reduce, message, operation)
        return message.to(values.device)

    def exchanged(self, note: Any) -> list[Any]:
        """What each process notes, in the order of their ranks; a note is made of plain JSON."""
        text = torch.frombuffer(bytearray(json.dumps(note).encode()), dtype=torch.uint8)
        lengths = [torch.zeros(1, dtype=torch.int64, device=self.device) for _ in range(self.size)]
        self._done(dist.all_gather, lengths, torch.tensor([len(text)], device=self.device))
        widest = int(max(lengths))
        padded = torch.zeros(widest, dtype=torch.uint8)
        padded[: len(text)] = text
        texts = [torch.empty(widest, dtype=torch.uint8, device=self.device) for _ in lengths]
        self._done(dist.all_gather, texts, padded.to(self.device))
        return [
            json.loads(bytes(part[: int(length)].cpu().numpy()))
            for part, length in zip(texts, lengths, strict=True)
        ]

    def counted(self, rows: Bytes, count: FloatArray) -> FloatArray:
        """Total count over all processes of each of these distinct rows.

        Rows do not travel, but fingerprints of 16 bytes, each with its count, to the process that
        adds up this one; and the totals back.
        """
        prints = b"".join(hashlib.blake2b(row, digest_size=16).digest() for row in rows)
        keys = np.frombuffer(prints, dtype=np.uint8).reshape(len(rows), 16)
        owner = (keys[:, :8].copy().view("<u8")[:, 0] % self.size).astype(np.intp)
        order = np.argsort(owner, kind="stable")
        sent = np.bincount(owner, minlength=self.size)
        received = self._dealt(sent[:, None], [1] * self.size, [1] * self.size)[:, 0]
        splits = sent.tolist(), received.tolist()
        theirs = self._dealt(keys[order], *splits)
        counts = self._dealt(count[order, None], *splits)
        _, index = np.unique(theirs, axis=0, return_inverse=True)
        index = index.reshape(-1)
        sums = np.bincount(index, counts[:, 0])[index].astype(np.float64)
        everywhere = np.empty_like(count)
        everywhere[order] = self._dealt(sums[:, None], *splits[::-1])[:, 0]
        return everywhere

    def _dealt(self, values: NDArray[Any], sent: list[int], received: list[int]) -> NDArray[Any]:
        """So many rows of ``values`` to each process, for so many of each."""
        message = torch.as_tensor(np.ascontiguousarray(values)).to(self.device)
        answer = message.new_empty(sum(received), message.shape[1])
        self._done(dist.all_to_all_single, answer, message, received, sent)
        return answer.cpu().numpy()

    def _done(self, send: Any, *arguments: Any) -> None:
        """Send and wait, but not for ever."""
        try:
            work = send(*arguments, group=self.group, async_op=True)
            # With a limit of its own this also waits on a GPU, where an error would go unseen.
            work.wait(self.timeout)
        except RuntimeError as error:
            raise ShardError(str(error)) from error


_shards: Shards | None = None


@contextmanager
def row_shards(shards: Shards) -> Iterator[None]:
    """Rows are shards of a larger table while this lasts."""
    global _shards
    _shards = shards
    try:
        yield
    finally:
        _shards = None


def current_shards() -> Shards | None:
    """The processes that hold the rows, or None where they are all here."""
    return _shards


def n_shards() -> int:
    """How many processes hold the rows."""
    return 1 if _shards is None else _shards.size


# --- sums and extremes over all rows ------------------------------------------------------------


def totals(*sums: Tensor) -> tuple[Tensor, ...]:
    """Sums over the rows at hand -> sums over all rows, in one message."""
    return sums if _shards is None else _Totals.apply(_shards, *sums)


def total(partial: Tensor) -> Tensor:
    """One sum over the rows at hand -> the sum over all rows."""
    return totals(partial)[0]


class _Totals(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, shards: Shards, *sums: Tensor) -> tuple[Tensor, ...]:
        return _in_one_message(shards, sums)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        return None, *slopes


def in_every_shard(variables: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Variables that every process has, with the gradients of all processes added up."""
    return tuple(variables) if _shards is None else _InEveryShard.apply(_shards, *variables)


class _InEveryShard(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, shards: Shards, *variables: Tensor) -> tuple[Tensor, ...]:
        ctx.shards = shards
        return tuple(variable.view_as(variable) for variable in variables)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        return None, *_in_one_message(ctx.shards, slopes)


def _in_one_message(shards: Shards, sums: Sequence[Tensor]) -> tuple[Tensor, ...]:
    message = shards.reduced(torch.cat([part.reshape(-1) for part in sums]))
    parts = message.split([part.numel() for part in sums])
    return tuple(part.view(whole.shape) for part, whole in zip(parts, sums, strict=True))


def array_totals(*sums: Any) -> tuple[Any, ...]:
    """``totals`` of arrays and plain numbers."""
    if _shards is None:
        return sums
    tensors = [torch.as_tensor(np.asarray(part, dtype=np.float64)) for part in sums]
    return tuple(part.numpy()[()] for part in _in_one_message(_shards, tensors))


def array_total(partial: Any) -> Any:
    """One sum over the rows at hand -> the sum over all rows."""
    return array_totals(partial)[0]


def largest(values: Any) -> Any:
    """Maxima over the rows at hand -> maxima over all rows, for an array or a tensor."""
    if _shards is None:
        return values
    if isinstance(values, Tensor):
        return _shards.reduced(values, dist.ReduceOp.MAX)
    array = torch.as_tensor(np.asarray(values, dtype=np.float64))
    return _shards.reduced(array, dist.ReduceOp.MAX).numpy()[()]


def smallest(values: Any) -> Any:
    """Minima over the rows at hand -> minima over all rows."""
    return values if _shards is None else -largest(-values)


def counted_everywhere(rows: Bytes, count: FloatArray) -> FloatArray:
    """Counts of distinct rows at hand -> how often each is there in all shards."""
    return count if _shards is None else _shards.counted(rows, count)
