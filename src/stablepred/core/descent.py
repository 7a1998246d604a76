"""One block of variables, lowered by L-BFGS with a safeguard."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from stablepred.core.checkpoint import State
from stablepred.core.sharding import ShardedLBFGS


class Block:
    """Variables that are updated together while the others stay fixed.

    The curvature memory lives as long as the block, so that alternating between blocks does not
    start each one afresh. ``part`` marks variables that belong to the rows of a shard.
    """

    def __init__(
        self, variables: Sequence[Tensor], steps: int = 10, part: Tensor | None = None
    ) -> None:
        self.variables = [variable.requires_grad_() for variable in variables]
        self.steps, self.part = steps, part
        self._forget()

    def _forget(self) -> None:
        options: dict[str, Any] = {
            "max_iter": self.steps,
            "max_eval": 4 * self.steps,
            "history_size": 20,
            "tolerance_grad": 1e-12,
            "tolerance_change": 1e-16,
            "line_search_fn": "strong_wolfe",
        }
        if self.part is None:
            self._optimiser = torch.optim.LBFGS(self.variables, **options)
        else:
            self._optimiser = ShardedLBFGS(self.variables, self.part, **options)

    def lower(self, objective: Callable[[], Tensor]) -> None:
        """Take up to ``steps`` steps; undo them if the objective has risen or is not finite."""
        before = [variable.detach().clone() for variable in self.variables]
        with torch.no_grad():
            old = objective()

        def closure() -> Tensor:
            self._optimiser.zero_grad()
            with torch.enable_grad():
                value = objective()
                value.backward()
            return value

        self._optimiser.step(closure)
        with torch.no_grad():
            new = objective()
            if not new <= old:
                for variable, value in zip(self.variables, before, strict=True):
                    variable.copy_(value)
                self._forget()

    def state(self) -> State:
        """Everything that the next call of ``lower`` depends on."""
        memory = dict(self._optimiser.state_dict()["state"].get(0, {}))
        memory.pop("al", None)  # scratch space
        return {"variables": [v.detach() for v in self.variables], "memory": memory}

    def restore(self, state: State) -> None:
        """Stand where a block of the same variables stood when ``state`` was taken."""
        for variable, value in zip(self.variables, state["variables"], strict=True):
            if variable.shape != value.shape:
                raise ValueError(f"a variable of shape {tuple(variable.shape)} was expected")
            with torch.no_grad():
                variable.copy_(value)
        self._forget()
        if state["memory"]:
            whole = self._optimiser.state_dict() | {"state": {0: state["memory"]}}
            self._optimiser.load_state_dict(whole)
