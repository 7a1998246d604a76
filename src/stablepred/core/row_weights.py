"""The weights of rows while they are learned (paper: W = omega * omega)."""

import torch
from torch import Tensor

from stablepred.core.checkpoint import State
from stablepred.core.descent import Block, Evaluate
from stablepred.core.objective import ValueAndGradient
from stablepred.sample import Sample


class RowWeights:
    """The weights of a sample's rows as omega, with omega^2 = mass * w (the paper's W).

    Never negative, and never below the floor on the effective share: an update that would cross
    it stops there.
    """

    def __init__(self, sample: Sample, least_share: float) -> None:
        self.sample, self.least_share, self.floored = sample, least_share, False
        self.omega = sample.mass.sqrt()
        self.block = Block([self.omega], total=sample.total)

    @property
    def w(self) -> Tensor:
        """Balancing weights, with a mean near one."""
        return self.omega.square() / self.sample.mass

    def move_to(self, w: Tensor) -> None:
        """Stand at given weights."""
        self.block.move_to([(self.sample.mass * w).sqrt()])

    def lower(self, loss: ValueAndGradient, *, again: bool = False) -> float:
        """Take some steps that lower ``loss(w)``, whose gradient is in mass * w."""

        def evaluate() -> tuple[Tensor, list[Tensor]]:
            value, gradient = loss(self.w)
            return value, [2 * self.omega * gradient]

        before = self.omega.clone()
        value = self.block.lower(evaluate, again=again)
        if effective_share(self.sample, self.w) >= self.least_share:
            return value
        self.floored = True
        farthest = self._farthest(before)
        old, value = (self._value_at(evaluate, omega) for omega in (before, farthest))
        return self._value_at(evaluate, before) if value > old else value

    def _value_at(self, evaluate: Evaluate, omega: Tensor) -> float:
        self.block.move_to([omega])
        return float(evaluate()[0])

    def _farthest(self, before: Tensor) -> Tensor:
        """The farthest point between ``before`` and here that keeps the effective share."""
        step = self.omega - before
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            w = (before + middle * step).square() / self.sample.mass
            enough = effective_share(self.sample, w) >= self.least_share
            low, high = (middle, high) if enough else (low, middle)
        return before + low * step

    def state(self) -> State:
        """Everything that the next update depends on."""
        return self.block.state() | {"floored": self.floored}

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self.block.restore(state)
        self.floored = state["floored"]


def scale_to_mean_one(sample: Sample, w: Tensor) -> Tensor:
    """The same weights, scaled so that their mean under the sample's mass is one."""
    return w / sample.total(sample.mass @ w)


def effective_share(sample: Sample, w: Tensor) -> Tensor:
    """Effective sample size over sample size: (sum c w)^2 / sum c w^2, in (0, 1]."""
    first, second = sample.totals(sample.mass @ w, sample.mass @ w.square())
    return torch.as_tensor(first.square() / second)
