"""The loop that all solvers share: settings, where a solution stands, progress and checkpoints."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from stablepred.core.head import Head
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import TERMS, Strengths, weighted_sum
from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY

OnIteration = Callable[[str, int, float], None]
State = dict[str, Any]  # lists and dicts of tensors, numbers, booleans and None


class Checkpoint:
    """Keeps nothing. Each loop of a fit calls ``begin``, ``keep`` after iterations, and ``end``.

    ``begin`` hands the state that an earlier run left of this loop, if it did, to ``restore``; at
    the ``end`` the state is the loop's result.
    """

    def begin(self, stage: str, restore: Callable[[State], None]) -> None: ...
    def keep(self, state: Callable[[], State]) -> None: ...
    def end(self, state: Callable[[], State]) -> None: ...


@dataclass(frozen=True)
class Settings:
    strengths: Strengths
    fit_intercept: bool = True
    least_share: float = 0.0
    max_iter: int = 100
    tol: float = 1e-4
    outcome: Outcome = BINARY
    on_iteration: OnIteration = lambda stage, iteration, total: None
    checkpoint: Checkpoint = field(default_factory=Checkpoint)


@dataclass
class Solution:
    w: Tensor  # (m,)
    head: Head
    network: AutoEncoder | None = None
    history: dict[str, list[float]] = field(
        default_factory=lambda: {name: [] for name in ("total", *TERMS)}
    )
    unfinished: list[str] = field(default_factory=list)  # stages stopped by max_iter
    floored: bool = False  # the effective sample size met its floor

    def record(self, terms: dict[str, Tensor], strengths: Strengths) -> float:
        total = float(weighted_sum(terms, strengths))
        for name in TERMS:
            self.history[name].append(float(terms[name]) if name in terms else 0.0)
        self.history["total"].append(total)
        return total


class Part(Protocol):
    def state(self) -> State: ...
    def restore(self, state: State) -> None: ...


def repeat(
    stage: str,
    update: Callable[[], float],
    solution: Solution,
    settings: Settings,
    parts: Sequence[Part],
    start: float = float("inf"),
) -> None:
    """Update ``parts`` and the solution's head until the objective settles, or ``max_iter``."""
    at: State = {"done": 0, "last": start, "settled": False}
    first_line = len(solution.history["total"])  # of the history that is this loop's own

    def is_over() -> bool:
        return bool(at["settled"] or at["done"] >= settings.max_iter)

    def state() -> State:
        """Everything that the next iteration depends on; when it is over, the result alone."""
        head, kept = solution.head, [part.state() for part in parts]
        lines = [values[first_line:] for values in solution.history.values()]
        return at | {
            "head": [head.beta.detach(), head.intercept.detach(), head.converged],
            "history": torch.tensor(lines, dtype=torch.float64),
            "parts": [part | {"memory": {}} for part in kept] if is_over() else kept,
        }

    def restore(state: State) -> None:
        at.update((name, state[name]) for name in at)
        (beta, intercept, converged), device = state["head"], solution.head.beta.device
        solution.head = Head(beta.to(device), intercept.to(device), converged)
        lines = state["history"].tolist()
        for values, own in zip(solution.history.values(), lines, strict=True):
            values[first_line:] = own
        for part, kept in zip(parts, state["parts"], strict=True):
            part.restore(kept)

    settings.checkpoint.begin(stage, restore)
    while not is_over():
        value = update()
        settings.on_iteration(stage, at["done"], value)
        at["settled"] = at["last"] - value <= settings.tol * abs(value)
        at["done"], at["last"] = at["done"] + 1, value
        settings.checkpoint.keep(state)
    settings.checkpoint.end(state)
    if not at["settled"]:
        solution.unfinished.append(stage)
