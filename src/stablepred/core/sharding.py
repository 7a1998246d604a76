"""Where the rows are: all in this process, or spread over several.

A sample asks its ``Local`` or ``Shards`` for totals over all rows; nothing else knows of several
processes. A gradient flows through ``totals`` unchanged, since each process wants the slope in its
own rows; for what all rows depend on, a network say, ``in_every_shard`` adds up its parts.
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


class Local:
    """All rows are in this process."""

    rank, size = 0, 1

    def totals(self, *sums: Any) -> tuple[Any, ...]:
        """Sums over the rows at hand -> sums over all rows; tensors, arrays and numbers alike."""
        return sums

    def total(self, partial: Any) -> Any:
        """One sum over the rows at hand -> the sum over all rows."""
        return self.totals(partial)[0]

    def largest(self, values: Any) -> Any:
        """Maxima over the rows at hand -> maxima over all rows."""
        return values

    def smallest(self, values: Any) -> Any:
        """Minima over the rows at hand -> minima over all rows."""
        return -self.largest(-values)

    def in_every_shard(self, variables: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Variables that every process has, with the gradients of all processes added up."""
        return tuple(variables)

    def exchange(self, note: Any) -> list[Any]:
        """What each process notes, in the order of their ranks; a note is made of plain JSON."""
        return [note]

    def add_counts(self, rows: NDArray[np.uint8], count: FloatArray) -> FloatArray:
        """Total count over all processes of each of these distinct rows."""
        return count


LOCAL = Local()


class Shards(Local):
    """The processes that hold the rows, and what they tell each other."""

    def __init__(self, group: Any, timeout: timedelta) -> None:
        self.group, self.timeout = group, timeout
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self.device = "cuda" if dist.get_backend(group) == "nccl" else "cpu"

    def totals(self, *sums: Any) -> tuple[Any, ...]:
        """Sums over all rows, in one message."""
        if all(isinstance(part, Tensor) for part in sums):
            return tuple(_Totals.apply(self, *sums))
        tensors = [torch.as_tensor(np.asarray(part, dtype=np.float64)) for part in sums]
        return tuple(part.numpy()[()] for part in self._in_one_message(tensors))

    def largest(self, values: Any) -> Any:
        """Maxima over all rows."""
        maxima = self.reduce(torch.as_tensor(values, dtype=torch.float64), dist.ReduceOp.MAX)
        return maxima if isinstance(values, Tensor) else maxima.numpy()[()]

    def in_every_shard(self, variables: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The same variables; their gradients are added up."""
        return tuple(_InEveryShard.apply(self, *variables))

    def exchange(self, note: Any) -> list[Any]:
        """What each process notes."""
        text = json.dumps(note).encode()
        text = text.ljust(int(self.largest(len(text))))
        message = torch.frombuffer(bytearray(text), dtype=torch.uint8).to(self.device)
        texts = [torch.empty_like(message) for _ in range(self.size)]
        self._send(dist.all_gather, texts, message)
        return [json.loads(bytes(part.cpu().numpy())) for part in texts]

    def add_counts(self, rows: NDArray[np.uint8], count: FloatArray) -> FloatArray:
        """Total counts: fingerprints travel to the process that adds them up, totals back."""
        prints = b"".join(hashlib.blake2b(row, digest_size=16).digest() for row in rows)
        keys = np.frombuffer(prints, dtype=np.uint8).reshape(len(rows), 16)
        owner = (keys[:, :8].copy().view("<u8")[:, 0] % self.size).astype(np.intp)
        order = np.argsort(owner, kind="stable")
        sent = np.bincount(owner, minlength=self.size)
        received = self._deal(sent[:, None], [1] * self.size, [1] * self.size)[:, 0]
        splits = sent.tolist(), received.tolist()
        theirs = self._deal(keys[order], *splits)
        _, index = np.unique(theirs, axis=0, return_inverse=True)
        counts = self._deal(count[order, None], *splits)[:, 0]
        sums = np.bincount(index.ravel(), counts)[index.ravel()].astype(np.float64)
        everywhere = np.empty_like(count)
        everywhere[order] = self._deal(sums[:, None], *splits[::-1])[:, 0]
        return everywhere

    def reduce(self, values: Tensor, operation: Any = dist.ReduceOp.SUM) -> Tensor:
        """The sum (or the maximum) over all processes, the same on each of them."""
        message = values.detach().clone().to(self.device)
        self._send(dist.all_reduce, message, operation)
        return message.to(values.device)

    def _in_one_message(self, sums: Sequence[Tensor]) -> tuple[Tensor, ...]:
        message = self.reduce(torch.cat([part.reshape(-1) for part in sums]))
        parts = message.split([part.numel() for part in sums])
        return tuple(part.view(whole.shape) for part, whole in zip(parts, sums, strict=True))

    def _deal(self, values: NDArray[Any], sent: list[int], received: list[int]) -> NDArray[Any]:
        """So many rows of ``values`` to each process, for so many of each."""
        message = torch.as_tensor(np.ascontiguousarray(values)).to(self.device)
        answer = message.new_empty(sum(received), message.shape[1])
        self._send(dist.all_to_all_single, answer, message, received, sent)
        return answer.cpu().numpy()

    def _send(self, send: Any, *arguments: Any) -> None:
        """Send and wait; with a limit of its own also on a GPU, where an error would go unseen."""
        try:
            send(*arguments, group=self.group, async_op=True).wait(self.timeout)
        except RuntimeError as error:
            raise ShardError(str(error)) from error


class _Totals(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, shards: Shards, *sums: Tensor) -> tuple[Tensor, ...]:
        return shards._in_one_message(sums)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        return None, *slopes


class _InEveryShard(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, shards: Shards, *variables: Tensor) -> tuple[Tensor, ...]:
        ctx.shards = shards
        return tuple(variable.view_as(variable) for variable in variables)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        return None, *ctx.shards._in_one_message(slopes)


_current: Local = LOCAL


@contextmanager
def row_shards(shards: Shards) -> Iterator[None]:
    """Samples made while this lasts are shards of a larger table."""
    global _current
    _current = shards
    try:
        yield
    finally:
        _current = LOCAL


def current_shards() -> Local:
    """Where the rows of a fit that begins now are."""
    return _current
