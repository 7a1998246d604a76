"""Blocks of variables, lowered by L-BFGS: the step, the direction, the block.

The two loops of L-BFGS (Nocedal and Wright, algorithm 7.4) run over the coefficients of the
direction in the basis of all remembered vectors; all they need is the basis' inner products (Chen,
Wang and Zhou 2014, "Large-scale L-BFGS using MapReduce"). A step costs two passes over the memory,
and where rows are spread over processes one message. Steps meet the strong Wolfe conditions
(Nocedal and Wright, ch. 3).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stablepred.core.loop import State

# The function at the variables as they are now, and its gradient in each of them.
Evaluate = Callable[[], tuple[Tensor, Sequence[Tensor]]]
Products = NDArray[np.float64]  # of all pairs of vectors in the basis
Summed = Callable[[Tensor], Tensor]  # products over the entries at hand -> over all entries

FLAT = 1e-16  # a slope that is no slope
FIRST_STEP = 0.01  # of the length of the variables, before anything is known of the curvature
DECREASE = 1e-4  # of what the slope at the start promises, at least
CURVATURE = 0.9  # of the slope at the start may be left, at most
MOST_TRIALS = 25


# --- the step ---


class Trial(NamedTuple):
    """A point on the line: how far it is, and the function there."""

    step: float
    value: float
    slope: float  # along the line
    gradient: Tensor


def strong_wolfe(at: Callable[[float], Trial], start: Trial, step: float) -> Trial:
    """A point that is clearly lower and less steep, else the lowest one, else ``start`` itself."""
    low, high = start, None  # the lowest point; one beyond the minimum, once it is known
    for _ in range(MOST_TRIALS):
        trial = at(step)
        enough = trial.value <= start.value + DECREASE * trial.step * start.slope
        known = math.isfinite(trial.slope)
        if not (enough and known) or (low is not start and trial.value >= low.value):
            high = trial
        elif abs(trial.slope) <= -CURVATURE * start.slope:
            return trial
        else:
            ahead = 1.0 if high is None else high.step - low.step
            if trial.slope * ahead >= 0:
                high = low
            low, last = trial, low
        if high is None:  # the function still falls
            step = _cubic_minimum(last, low, 1.1 * low.step, 10 * low.step)
            continue
        left, right = sorted((low.step, high.step))
        if right - left <= 1e-9 * right:
            break
        margin = 0.1 * (right - left)
        step = _cubic_minimum(low, high, left + margin, right - margin)
    return low


def _cubic_minimum(a: Trial, b: Trial, least: float, most: float) -> float:
    curvature = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    square = curvature * curvature - a.slope * b.slope
    step = math.nan
    if 0 <= square < math.inf:
        root = math.copysign(math.sqrt(square), b.step - a.step)
        if below := b.slope - a.slope + 2 * root:
            step = b.step - (b.step - a.step) * (b.slope + root - curvature) / below
    return (least + most) / 2 if math.isnan(step) else min(max(step, least), most)


# --- the direction ---


class Memory:
    """The last steps and the changes of the gradient along them."""

    def __init__(self, like: Tensor, summed: Summed, size: int = 20) -> None:
        # The gradient, then every step followed by its change: (1 + 2 size, N).
        self._basis = like.new_zeros(1 + 2 * size, len(like))
        self._products = np.zeros((1 + 2 * size, 1 + 2 * size))
        self._size, self._summed = size, summed
        self._slots: list[int] = []  # rows of the steps, the oldest first

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, step: Tensor, change: Tensor) -> None:
        """Remember a pair, in the place of the oldest one if there is no room."""
        full = len(self._slots) == self._size
        slot = self._slots.pop(0) if full else 1 + 2 * len(self._slots)
        self._basis[slot], self._basis[slot + 1] = step, change
        self._slots.append(slot)

    def direction(self, gradient: Tensor) -> tuple[Tensor, float]:
        """Where to go from a point with this gradient, and the slope there."""
        self._basis[0] = gradient
        used = 1 + 2 * len(self._slots)
        basis, products = self._basis[:used], self._products[:used, :used]
        # The gradient and the newest pair have changed.
        changed = [0, *(slot + shift for slot in self._slots[-1:] for shift in (0, 1))]
        columns = self._summed(basis @ basis[changed].T).cpu().numpy()  # (used, 1 or 3)
        products[:, changed], products[changed] = columns, columns.T
        coefficients = _two_loops(products, self._slots)
        direction = torch.from_numpy(coefficients).to(gradient.device) @ basis
        return direction, float(products[0] @ coefficients)

    def state(self) -> State:
        used = 1 + 2 * len(self._slots)
        return {
            "basis": self._basis[:used],
            "products": torch.from_numpy(self._products[:used, :used].copy()),
            "slots": self._slots,
        }

    def restore(self, state: State) -> None:
        used = len(state["basis"])
        self._basis[:used] = state["basis"]
        self._products[:used, :used] = state["products"].numpy()
        self._slots = list(state["slots"])


def _two_loops(products: Products, slots: list[int]) -> NDArray[np.float64]:
    """The coefficients of minus the inverse Hessian times the gradient."""
    coefficients = np.zeros(len(products))
    coefficients[0] = -1.0
    along = {}
    for slot in reversed(slots):
        along[slot] = products[slot] @ coefficients / products[slot, slot + 1]
        coefficients[slot + 1] -= along[slot]
    if slots:
        newest = slots[-1]
        coefficients *= products[newest, newest + 1] / products[newest + 1, newest + 1]
    for slot in slots:
        back = products[slot + 1] @ coefficients / products[slot, slot + 1]
        coefficients[slot] += along[slot] - back
    return coefficients


# --- blocks ---


class Block:
    """Variables that are updated together, with a curvature memory that lives as long as they do.

    ``total`` adds up inner products where the variables belong to rows of several processes.
    """

    def __init__(
        self, variables: Sequence[Tensor], steps: int = 10, total: Summed | None = None
    ) -> None:
        self.variables, self.steps = list(variables), steps
        self._summed = total or (lambda products: products)
        # One vector; from here on the variables are views of its parts.
        self._point = torch.cat([variable.detach().reshape(-1) for variable in variables])
        parts = self._point.split([variable.numel() for variable in variables])
        for variable, part in zip(variables, parts, strict=True):
            variable.data = part.view(variable.shape)
        self._memory = Memory(self._point, self._summed)
        self._here: Trial | None = None  # the function where the last call ended

    @torch.no_grad()
    def lower(self, evaluate: Evaluate, *, again: bool = False) -> float:
        """Take up to ``steps`` steps, each to a lower value; ``again``: the same function."""
        here = self._here if again and self._here is not None else self._evaluate(evaluate)
        for _ in range(self.steps):
            direction, slope = self._memory.direction(here.gradient)
            if not -slope > FLAT:
                break
            here = here._replace(step=0.0, slope=slope)
            there = self._along(evaluate, here, direction)
            if there.step == 0:
                if not len(self._memory):
                    break
                # What is remembered misleads: go straight down once.
                self._memory = Memory(self._point, self._summed)
            elif there.slope - slope > 1e-10 * -slope:  # the function curves upwards
                self._memory.add(there.step * direction, there.gradient - here.gradient)
            here = there
        self._here = here
        return here.value

    def move_to(self, values: Sequence[Tensor]) -> None:
        """Stand elsewhere; what is remembered of the curvature stays."""
        for variable, value in zip(self.variables, values, strict=True):
            variable.copy_(value)
        self._here = None

    def _along(self, evaluate: Evaluate, start: Trial, direction: Tensor) -> Trial:
        origin = self._point.clone()

        def at(step: float) -> Trial:
            torch.add(origin, direction, alpha=step, out=self._point)
            return self._evaluate(evaluate, step, direction)

        first = 1.0
        if not len(self._memory):
            squares = torch.stack([self._point @ self._point, direction @ direction])
            length, ahead = self._summed(squares).sqrt().tolist()
            first = min(1.0, FIRST_STEP * max(1.0, length) / ahead)
        found = strong_wolfe(at, start, first)
        torch.add(origin, direction, alpha=found.step, out=self._point)
        return found

    def _evaluate(
        self, evaluate: Evaluate, step: float = 0.0, direction: Tensor | None = None
    ) -> Trial:
        value, gradients = evaluate()
        gradient = torch.cat([part.reshape(-1) for part in gradients])
        slope = math.nan if direction is None else float(self._summed(gradient @ direction))
        return Trial(step, float(value), slope, gradient)

    def state(self) -> State:
        return {"variables": self.variables, "memory": self._memory.state()}

    def restore(self, state: State) -> None:
        for variable, value in zip(self.variables, state["variables"], strict=True):
            if variable.shape != value.shape:
                raise ValueError(f"a variable of shape {tuple(variable.shape)} was expected")
        self.move_to(state["variables"])
        self._memory = Memory(self._point, self._summed)
        if state["memory"]:
            self._memory.restore(state["memory"])
