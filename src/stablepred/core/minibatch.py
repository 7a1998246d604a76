"""Balancing weights of rows that are read in batches and do not fit in memory.

L_Bal and the penalties of the weights follow from a few sums over rows (``RawSums`` and the sum of
c w^2). They are kept for all batches together. A visit to a batch takes its old part out of the
sums, lowers the objective in its own weights with the sums of all other rows held fixed, and puts
its new part back: block-coordinate descent on the objective of all rows, which never rises.

The first pass has no weights to go by. It balances every batch by itself, which is close to the
answer where batches are alike; were a batch to make up for all the others, it would go much too
far. Weights are in memory, 8 bytes a row, and features are not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor

from stablepred.core.descent import Block
from stablepred.core.objective import TERMS, Rows
from stablepred.core.solvers import Settings, sequential
from stablepred.core.weights import omega_from_weights, weights_from_omega
from stablepred.weights.balancing import RawSums, balance_and_gradient, imbalance_from

Batches = Callable[[], Iterator[Tensor]]  # each pass: 0/1 features of every batch, (m, p)


class WeightSums(NamedTuple):
    """What the objective of the weights needs to know about some rows."""

    raw: RawSums
    squares: Tensor  # () sum of c w^2

    @classmethod
    def of(cls, x: Tensor, w: Tensor, mass: float) -> "WeightSums":
        """The sums over rows of equal mass."""
        return cls(RawSums.of(x, mass * w), mass * w.square().sum())

    def plus(self, other: "WeightSums", sign: int = 1) -> "WeightSums":
        """The sums with those over other rows added (or taken away)."""
        return WeightSums(self.raw.plus(other.raw, sign), self.squares + sign * other.squares)

    @property
    def effective_share(self) -> float:
        """Effective sample size over sample size."""
        return float(self.raw.weight.square() / self.squares)

    def terms(self) -> dict[str, float]:
        """The terms of the objective that the weights decide."""
        return {
            "balance": float(imbalance_from(self.raw).square().sum()),
            "weight_l2": float(self.squares),
            "weight_sum": float((self.raw.weight - 1).square()),
        }


@dataclass
class BatchSolution:
    """Weights of all rows in the order they are read, and how they were found."""

    w: Tensor  # (n,)
    sums: WeightSums
    history: dict[str, list[float]] = field(
        default_factory=lambda: {name: [] for name in ("total", *TERMS)}
    )
    floored: bool = False
    converged: bool = False

    def record(self, settings: Settings) -> float:
        """Append one line to the history and return the total."""
        terms = self.sums.terms()
        total = sum(getattr(settings.strengths, name) * terms[name] for name in terms)
        for name in TERMS:
            self.history[name].append(terms.get(name, 0.0))
        self.history["total"].append(total)
        return total


def balance_batches(batches: Batches, n_rows: int, settings: Settings) -> BatchSolution:
    """Weights that minimise lambda_1 L_Bal + lambda_3 ||W||^2 + lambda_6 (sum W - 1)^2."""
    w, sums = _each_by_itself(batches, n_rows, settings)
    solution = BatchSolution(w, sums)
    last = solution.record(settings)
    settings.on_iteration("weights", 0, last)
    for number in range(1, settings.max_iter):
        _visit_all(batches, solution, settings)
        value = solution.record(settings)
        settings.on_iteration("weights", number, value)
        if last - value <= settings.tol * abs(value):
            solution.converged = True
            break
        last = value
    return solution


def _each_by_itself(batches: Batches, n_rows: int, settings: Settings) -> tuple[Tensor, WeightSums]:
    """The first pass: weights that balance each batch alone, and their sums over all."""
    quiet = replace(settings, on_iteration=lambda stage, iteration, value: None)
    parts, sums = [], None
    for x in batches():
        mass = torch.full((len(x),), 1 / len(x), dtype=x.dtype)
        rows = Rows(x, torch.zeros(len(x), dtype=x.dtype), mass, x.shape[1])
        parts.append(sequential(rows, [], quiet).w)
        own = WeightSums.of(x, parts[-1], 1 / n_rows)
        sums = own if sums is None else sums.plus(own)
    assert sums is not None
    return torch.cat(parts), sums


def _visit_all(batches: Batches, solution: BatchSolution, settings: Settings) -> None:
    """One pass: every batch in turn, given all others."""
    fresh: WeightSums | None = None  # adding and taking away leaves rounding behind
    start, mass = 0, 1 / len(solution.w)
    for x in batches():
        rows = slice(start, start + len(x))
        start += len(x)
        elsewhere = solution.sums.plus(WeightSums.of(x, solution.w[rows], mass), -1)
        w = _lowered(x, solution.w[rows], mass, elsewhere, settings)
        own = WeightSums.of(x, w, mass)
        if elsewhere.plus(own).effective_share >= settings.least_share:
            solution.w[rows] = w
        else:
            solution.floored = True
            own = WeightSums.of(x, solution.w[rows], mass)
        solution.sums = elsewhere.plus(own)
        fresh = own if fresh is None else fresh.plus(own)
    assert fresh is not None
    solution.sums = fresh


def _lowered(
    x: Tensor, w: Tensor, mass: float, elsewhere: WeightSums, settings: Settings
) -> Tensor:
    """The weights of one batch after a few steps, the other rows held fixed."""
    masses = torch.full_like(w, mass)
    omega = omega_from_weights(w, masses)
    strengths = settings.strengths

    def evaluate() -> tuple[Tensor, list[Tensor]]:
        w = weights_from_omega(omega, masses)
        value, gradient = balance_and_gradient(x, masses * w, elsewhere=elsewhere.raw)
        squares = masses @ w.square() + elsewhere.squares
        gap = masses @ w + elsewhere.raw.weight - 1
        loss = (
            strengths.balance * value
            + strengths.weight_l2 * squares
            + strengths.weight_sum * gap.square()
        )
        gradient *= strengths.balance
        gradient += 2 * strengths.weight_l2 * w + 2 * strengths.weight_sum * gap
        return loss, [2 * omega * gradient]

    Block([omega]).lower(evaluate)
    return weights_from_omega(omega, masses)
