"""The weights of rows while they are learned (paper: W = omega * omega)."""

import torch
from torch import Tensor

from stablepred.core.descent import Block
from stablepred.core.loop import State
from stablepred.core.objective import ValueAndGradient
from stablepred.sample import Sample


class RowWeights:
    """The weights of a sample's rows as omega, with omega^2 = mass * w (the paper's W).

    An update that would cross the floor on the effective share stops there; then a penalty leads
    along the floor.
    """

    def __init__(self, sample: Sample, least_share: float) -> None:
        self.sample, self.least_share, self.penalty = sample, least_share, 0.0
        self.omega = sample.mass.sqrt()
        self.block = Block([self.omega], total=sample.total)

    @property
    def w(self) -> Tensor:
        return self.omega.square() / self.sample.mass

    @property
    def floored(self) -> bool:
        return self.penalty > 0

    def move_to(self, w: Tensor) -> None:
        self.block.move_to([(self.sample.mass * w).sqrt()])

    def lower(self, loss: ValueAndGradient, *, again: bool = False) -> float:
        def evaluate() -> tuple[Tensor, list[Tensor]]:
            w = self.w
            value, gradient = loss(w)
            if self.penalty:
                excess, slope = self._excess(w)
                value = value + self.penalty * excess.square()
                gradient = gradient + 2 * self.penalty * excess * slope
            return value, [2 * self.omega * gradient]

        def is_inside() -> bool:
            return bool(effective_share(self.sample, self.w) >= self.least_share)

        def value_at(omega: Tensor) -> float:
            self.block.move_to([omega])
            return float(evaluate()[0])

        before = self.omega.clone()
        value = self.block.lower(evaluate, again=again)
        if not is_inside() and not self.penalty:  # the same steps again, along the floor
            self.penalty = max(1.0, abs(value_at(before)))
            value = self.block.lower(evaluate)
        if is_inside():
            return value
        # The weights mixed with equal ones, until the share is the least allowed.
        mean = self.sample.total(self.sample.mass @ self.w)
        spread = 1 / effective_share(self.sample, self.w) - 1
        part = ((1 / self.least_share - 1) / spread).sqrt() * (1 - 1e-12)
        mixed = self.sample.mass * (mean + part * (self.w - mean))
        inside = torch.copysign(mixed.sqrt(), self.omega)
        old, value = value_at(before), value_at(inside)
        return value_at(before) if value > old else value

    def _excess(self, w: Tensor) -> tuple[Tensor, Tensor]:
        """How far 1 / effective share is above its bound, relative to it; its gradient in v."""
        first, second = self.sample.totals(self.sample.mass @ w, self.sample.mass @ w.square())
        ratio = self.least_share * second / first.square()
        slope = 2 * self.least_share * (w / first.square() - second / first**3)
        over = (ratio > 1).to(w.dtype)
        return over * (ratio - 1), over * slope

    def state(self) -> State:
        return self.block.state() | {"penalty": self.penalty}

    def restore(self, state: State) -> None:
        self.block.restore(state)
        self.penalty = state["penalty"]


def scale_to_mean_one(sample: Sample, w: Tensor) -> Tensor:
    return w / sample.total(sample.mass @ w)


def effective_share(sample: Sample, w: Tensor) -> Tensor:
    """Effective sample size over sample size: (sum c w)^2 / sum c w^2, in (0, 1]."""
    first, second = sample.totals(sample.mass @ w, sample.mass @ w.square())
    return torch.as_tensor(first.square() / second)
