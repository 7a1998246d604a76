"""Global balancing as the public derivatives of the authors' code do it.

At every step: a Python loop over the p features; for each a copy of the data with its column set
to zero, encoded again; weighted means with clamped denominators; automatic differentiation;
one step of RMSProp on omega, W = omega * omega, from omega = 1. Only what those codes do in every
step is done here, in the objective of this library, so that both sides lower the same function.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from stablepred.core.objective import Strengths

LEAST_SIDE = 0.1  # denominators are not let below this; the weights sum to n
LEARNING_RATE = 0.005
STEPS = 4000
ENOUGH = 0.05  # the balance at which those codes stop

Encode = Callable[[Tensor], Tensor]


def loop_balance(
    x: Tensor, w: Tensor, encode: Encode | None = None, scale: Tensor | None = None
) -> Tensor:
    """L_Bal at row weights ``w`` that sum to about n, one feature after the other."""
    total = torch.zeros((), dtype=x.dtype)
    for j in range(x.shape[1]):
        removed = x.clone()
        removed[:, j] = 0
        embedded = removed if encode is None else encode(removed)
        treated, control = w * x[:, j], w * (1 - x[:, j])
        gap = treated @ embedded / treated.sum().clamp_min(
            LEAST_SIDE
        ) - control @ embedded / control.sum().clamp_min(LEAST_SIDE)
        total = total + (gap if scale is None else gap / scale).square().sum()
    return total


@dataclass
class Trace:
    """Seconds since the start and the balance, at each step."""

    seconds: list[float] = field(default_factory=list)
    balance: list[float] = field(default_factory=list)

    def add(self, seconds: float, balance: float) -> None:
        self.seconds.append(seconds)
        self.balance.append(balance)

    def first_at_most(self, balance: float) -> int | None:
        """The first step at which the balance was as low as that."""
        return next((step for step, value in enumerate(self.balance) if value <= balance), None)


def loop_weights(
    x: Tensor,
    strengths: Strengths,
    encode: Encode | None = None,
    scale: Tensor | None = None,
    *,
    seconds: float,
) -> Trace:
    """Lower the balance until it is ``ENOUGH``, for ``STEPS`` steps or some ``seconds``."""
    omega = torch.ones(len(x), dtype=x.dtype, requires_grad=True)
    optimiser = torch.optim.RMSprop([omega], lr=LEARNING_RATE, alpha=0.9, eps=1e-10)
    trace = Trace()
    start = time.perf_counter()
    for _ in range(STEPS):
        w = omega.square()
        balance = loop_balance(x, w, encode, scale)
        trace.add(time.perf_counter() - start, balance.item())
        if trace.balance[-1] < ENOUGH or trace.seconds[-1] > seconds:
            break
        spread = strengths.weight_l2 * w.square().mean()
        around_one = strengths.weight_sum * (w.mean() - 1).square()
        optimiser.zero_grad()
        (strengths.balance * balance + spread + around_one).backward()
        optimiser.step()
    return trace
