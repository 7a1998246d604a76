"""Where the rows are: all in this process, or spread over several.

A sample asks its ``Local`` or ``Shards`` for totals over all rows; nothing else knows of several
processes. A gradient flows through ``totals`` unchanged, since each process wants the slope in its
own rows; for what all rows depend on, a network say, ``in_every_shard`` adds up its parts.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from stablepred.exceptions import ShardError


class Local:
    rank, size = 0, 1

    def totals(self, *sums: Any) -> tuple[Any, ...]:
        """Sums over the rows at hand -> sums over all rows; tensors, arrays and numbers alike."""
        return sums

    def total(self, partial: Any) -> Any:
        return self.totals(partial)[0]

    def largest(self, values: Any) -> Any:
        return values

    def smallest(self, values: Any) -> Any:
        return -self.largest(-values)

    def in_every_shard(self, variables: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Variables that every process has, with the gradients of all processes added up."""
        return tuple(variables)

    def exchange(self, note: Any) -> list[Any]:
        """What each process notes, in the order of their ranks; a note is made of plain JSON."""
        return [note]


LOCAL = Local()


class Shards(Local):
    """The processes that hold the rows, and what they tell each other."""

    def __init__(self, group: Any, timeout: timedelta) -> None:
        self.group, self.timeout = group, timeout
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self.device = "cuda" if dist.get_backend(group) == "nccl" else "cpu"

    def totals(self, *sums: Any) -> tuple[Any, ...]:
        if all(isinstance(part, Tensor) for part in sums):
            return tuple(_Totals.apply(self, *sums))
        tensors = [torch.as_tensor(np.asarray(part, dtype=np.float64)) for part in sums]
        return tuple(part.numpy()[()] for part in self.add_up(tensors))

    def largest(self, values: Any) -> Any:
        maxima = self.reduce(torch.as_tensor(values, dtype=torch.float64), dist.ReduceOp.MAX)
        return maxima if isinstance(values, Tensor) else maxima.numpy()[()]

    def in_every_shard(self, variables: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return tuple(_InEveryShard.apply(self, *variables))

    def exchange(self, note: Any) -> list[Any]:
        text = json.dumps(note).encode()
        text = text.ljust(int(self.largest(len(text))))
        message = torch.frombuffer(bytearray(text), dtype=torch.uint8).to(self.device)
        texts = [torch.empty_like(message) for _ in range(self.size)]
        self._send(dist.all_gather, texts, message)
        return [json.loads(bytes(part.cpu().numpy())) for part in texts]

    def add_up(self, sums: Sequence[Tensor]) -> tuple[Tensor, ...]:
        message = self.reduce(torch.cat([part.reshape(-1) for part in sums]))
        parts = message.split([part.numel() for part in sums])
        return tuple(part.view(whole.shape) for part, whole in zip(parts, sums, strict=True))

    def reduce(self, values: Tensor, operation: Any = dist.ReduceOp.SUM) -> Tensor:
        message = values.detach().clone().to(self.device)
        self._send(dist.all_reduce, message, operation)
        return message.to(values.device)

    def _send(self, send: Any, *arguments: Any) -> None:
        """Send and wait; with a limit of its own also on a GPU, where an error would go unseen."""
        try:
            send(*arguments, group=self.group, async_op=True).wait(self.timeout)
        except RuntimeError as error:
            raise ShardError(str(error)) from error


class _Totals(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, shards: Shards, *sums: Tensor) -> tuple[Tensor, ...]:
        return shards.add_up(sums)

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
        return None, *ctx.shards.add_up(slopes)


_current: Local = LOCAL


@contextmanager
def row_shards(shards: Shards) -> Iterator[None]:
    global _current
    _current = shards
    try:
        yield
    finally:
        _current = LOCAL


def current_shards() -> Local:
    return _current
