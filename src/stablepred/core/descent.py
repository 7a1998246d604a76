"""One block of variables, lowered by L-BFGS."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from stablepred.core.lbfgs import Memory, Summed
from stablepred.core.line_search import Trial, strong_wolfe
from stablepred.core.loop import State

# The function at the variables as they are now, and its gradient in each of them.
Evaluate = Callable[[], tuple[Tensor, Sequence[Tensor]]]

FLAT = 1e-16  # a slope that is no slope
FIRST_STEP = 0.01  # of the length of the variables, before anything is known of the curvature


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
        """Move along a direction to a lower point, or stay."""
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
        """Everything that the next call of ``lower`` depends on."""
        return {"variables": self.variables, "memory": self._memory.state()}

    def restore(self, state: State) -> None:
        """Stand where a block of the same variables stood when ``state`` was taken."""
        for variable, value in zip(self.variables, state["variables"], strict=True):
            if variable.shape != value.shape:
                raise ValueError(f"a variable of shape {tuple(variable.shape)} was expected")
        self.move_to(state["variables"])
        self._memory = Memory(self._point, self._summed)
        if state["memory"]:
            self._memory.restore(state["memory"])
