"""The two solvers and the fixed-weight phase.

``alternating`` is Algorithm 1 of the paper: W, beta and theta in turn, each lowering L_mix.
``sequential`` takes one after the other: the encoder (prediction and reconstruction), then the
weights on the fixed embedding; the head follows under those weights.
``fixed_weights`` is what FWDGBR and RFWDGBR do once W is fixed.

One iteration of any loop is one update of its block, of several L-BFGS steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from stablepred.core import losses
from stablepred.core.checkpoint import Checkpoint, State
from stablepred.core.descent import Block, Evaluate
from stablepred.core.differentiation import pulled_back, value_and_gradients
from stablepred.core.head import Head, fit_head, zero_head
from stablepred.core.network_loss import NetworkLoss
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import (
    TERMS,
    Rows,
    Strengths,
    all_terms,
    embedded_balance,
    embedding_scale,
    terms_of_weights,
    weighted_sum,
)
from stablepred.core.sharding import in_every_shard, total, totals
from stablepred.core.weights import (
    effective_share,
    omega_from_weights,
    weights_from_omega,
    with_mean_one,
)
from stablepred.weights.balancing import EmbeddedBalance, RawBalance

OnIteration = Callable[[str, int, float], None]


@dataclass(frozen=True)
class Settings:
    """How to solve: strengths, guards and stopping."""

    strengths: Strengths
    fit_intercept: bool = True
    standardize: bool = True
    least_share: float = 0.0
    max_iter: int = 100
    tol: float = 1e-4
    on_iteration: OnIteration = lambda stage, iteration, total: None
    checkpoint: Checkpoint = field(default_factory=Checkpoint)


@dataclass
class Solution:
    """Where a solver stands, and how it got there."""

    w: Tensor  # (n,)
    head: Head
    networks: list[AutoEncoder]
    history: dict[str, list[float]] = field(
        default_factory=lambda: {name: [] for name in ("total", *TERMS)}
    )
    unfinished: list[str] = field(default_factory=list)  # stages stopped by max_iter
    floored: bool = False  # the effective sample size met its floor

    def record(self, terms: dict[str, Tensor], strengths: Strengths) -> float:
        """Append one line to the history and return the total."""
        total = float(weighted_sum(terms, strengths))
        for name in TERMS:
            self.history[name].append(float(terms[name]) if name in terms else 0.0)
        self.history["total"].append(total)
        return total


def _repeat(
    stage: str,
    update: Callable[[], float],
    start: float,
    solution: Solution,
    settings: Settings,
    parts: "Sequence[Block | _Weights]",
) -> None:
    """Update until the block's own objective settles or ``max_iter`` is reached.

    ``parts`` are the variables that ``update`` changes, besides the head of the solution.
    """
    loop = _Loop(start, settings.max_iter, solution, parts, len(solution.history["total"]))
    settings.checkpoint.begin(stage, loop.restore)
    while not loop.over:
        value = update()
        settings.on_iteration(stage, loop.done, value)
        loop.settled = loop.last - value <= settings.tol * abs(value)
        loop.done, loop.last = loop.done + 1, value
        settings.checkpoint.keep(loop.state)
    settings.checkpoint.end(loop.state)
    if not loop.settled:
        solution.unfinished.append(stage)


@dataclass
class _Loop:
    """Where a loop stands."""

    last: float
    max_iter: int
    solution: Solution
    parts: "Sequence[Block | _Weights]"
    first_line: int  # of the history that is this loop's own
    done: int = 0
    settled: bool = False

    @property
    def over(self) -> bool:
        return self.settled or self.done >= self.max_iter

    def state(self) -> State:
        """Everything that the next iteration depends on; when it is over, the result alone."""
        head, history = self.solution.head, self.solution.history
        parts = [part.state() for part in self.parts]
        return {
            "done": self.done,
            "last": self.last,
            "settled": self.settled,
            "head": [head.beta.detach(), head.intercept.detach(), head.converged],
            "history": torch.tensor(
                [values[self.first_line :] for values in history.values()], dtype=torch.float64
            ),
            "parts": [part | {"memory": {}} for part in parts] if self.over else parts,
        }

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self.done, self.last, self.settled = state["done"], state["last"], state["settled"]
        beta, intercept, converged = state["head"]
        self.solution.head = Head(beta, intercept, converged).to(self.solution.head.beta.device)
        lines = state["history"].tolist()
        for values, own in zip(self.solution.history.values(), lines, strict=True):
            values[self.first_line :] = own
        for part, kept in zip(self.parts, state["parts"], strict=True):
            part.restore(kept)


# --- the three updates of Algorithm 1 -----------------------------------------------------------


Balance = RawBalance | EmbeddedBalance
# A loss at given weights, and its gradient.
ValueAndGradient = Callable[[Tensor], tuple[Tensor, Tensor]]


class _Weights:
    """omega, with w = omega^2 / mass, and its safeguarded update."""

    def __init__(self, rows: Rows, w: Tensor, least_share: float) -> None:
        self.rows, self.least_share, self.floored = rows, least_share, False
        self.omega = omega_from_weights(w, rows.mass).clone()
        self.block = Block([self.omega], over_rows=True)

    def __call__(self) -> Tensor:
        return weights_from_omega(self.omega, self.rows.mass)

    def evaluation(self, objective: ValueAndGradient) -> Evaluate:
        """``objective(w)``, with its gradient in mass * w = omega^2, as a function of omega."""

        def evaluate() -> tuple[Tensor, list[Tensor]]:
            value, gradient = objective(self())
            return value, [2 * self.omega * gradient]

        return evaluate

    def lower(self, evaluate: Evaluate, *, again: bool = False) -> float:
        """Take some steps; stop short where the effective sample size meets its floor."""
        before = self.omega.clone()
        value = self.block.lower(evaluate, again=again)
        if effective_share(self(), self.rows.mass) >= self.least_share:
            return value
        self.floored = True
        farthest = self._farthest(before)
        old, value = (self._moved(evaluate, to) for to in (before, farthest))
        return self._moved(evaluate, before) if value > old else value

    def _moved(self, evaluate: Evaluate, omega: Tensor) -> float:
        self.block.move_to([omega])
        return float(evaluate()[0])

    def state(self) -> State:
        return self.block.state() | {"floored": self.floored}

    def restore(self, state: State) -> None:
        self.block.restore(state)
        self.floored = state["floored"]

    def _farthest(self, before: Tensor) -> Tensor:
        """The farthest point between ``before`` and here that keeps the effective share."""
        step = self.omega - before
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            share = effective_share(
                weights_from_omega(before + middle * step, self.rows.mass), self.rows.mass
            )
            low, high = (middle, high) if share >= self.least_share else (low, middle)
        return before + low * step


def _weight_objective(
    rows: Rows,
    strengths: Strengths,
    balance: Balance,
    row_losses: Tensor | None = None,
    row_errors: Tensor | None = None,
) -> ValueAndGradient:
    """L_mix as a function of w alone; without row losses and errors, balance and variance only.

    The gradient is in the total row weights, mass * w.
    """

    def objective(w: Tensor) -> tuple[Tensor, Tensor]:
        v = rows.mass * w
        norm, mean = totals(v @ w, v.sum())
        value, gradient = balance.value_and_gradient(v)
        terms = {"balance": value, "weight_l2": norm, "weight_sum": (mean - 1).square()}
        gradient *= strengths.balance
        gradient += 2 * strengths.weight_l2 * w + 2 * strengths.weight_sum * (mean - 1)
        if row_losses is not None:
            terms["prediction"] = total(v @ row_losses)
            gradient += row_losses
        if row_errors is not None:
            terms["reconstruction"] = total((v * w) @ row_errors)
            gradient += 2 * strengths.reconstruction * w * row_errors
        return weighted_sum(terms, strengths), gradient

    return objective


def _balance_of(rows: Rows, network: AutoEncoder | None, standardize: bool) -> Balance:
    """L_Bal as a function of the total row weights, with the network fixed."""
    if network is None:
        return RawBalance(rows.x, rows.shared)
    scale = embedding_scale(network.encode(rows.x), rows.mass) if standardize else None
    return EmbeddedBalance(network.encoder, rows.x, scale, rows.shared)


def _embed(rows: Rows, network: AutoEncoder | None) -> Tensor:
    return rows.features if network is None else network.encode(rows.x)


def _best_head(rows: Rows, w: Tensor, phi: Tensor, settings: Settings, start: Head) -> Head:
    strengths = settings.strengths
    return fit_head(
        phi.detach(),
        rows.y,
        rows.mass * w,
        l2=strengths.l2,
        l1=strengths.l1,
        fit_intercept=settings.fit_intercept,
        start=start,
    )


def alternating(rows: Rows, network: AutoEncoder | None, settings: Settings) -> Solution:
    """Algorithm 1: update W, beta and theta in turn; L_mix never rises."""
    strengths = settings.strengths
    weights = _Weights(rows, torch.ones_like(rows.mass), settings.least_share)
    network_block = None if network is None else Block(network.parameters())
    networks = [] if network is None else [network]
    solution = Solution(weights(), zero_head(_embed(rows, network)), networks)

    def terms() -> dict[str, Tensor]:
        return all_terms(rows, weights(), solution.head, network, settings.standardize)

    def update() -> float:
        phi = _embed(rows, network)
        row_losses = losses.logistic_losses(solution.head.logits(phi), rows.y)
        row_errors = None
        if network is not None:
            row_errors = (rows.x - network.decode(phi)).square().sum(1)
        balance = _balance_of(rows, network, settings.standardize)
        objective = _weight_objective(rows, strengths, balance, row_losses, row_errors)
        weights.lower(weights.evaluation(objective))
        solution.head = _best_head(rows, weights(), phi, settings, solution.head)
        if network is not None and network_block is not None:
            network_block.lower(
                _network_objective(rows, weights(), network, solution.head, settings)
            )
        return solution.record(terms(), strengths)

    start = float(weighted_sum(terms(), strengths))
    blocks = [] if network_block is None else [network_block]
    _repeat("alternating", update, start, solution, settings, [weights, *blocks])
    solution.w, solution.floored = weights(), weights.floored
    return solution


def _network_objective(
    rows: Rows, w: Tensor, network: AutoEncoder, head: Head, settings: Settings
) -> Evaluate:
    """L_mix as a function of theta alone."""
    strengths, n_encoder = settings.strengths, 2 * len(network.encoder)
    network_loss = NetworkLoss(rows, w, strengths)

    def balance(encoder: Sequence[Tensor]) -> Tensor:
        everywhere = network.rebuilt([*in_every_shard(encoder), *network.parameters()[n_encoder:]])
        phi = everywhere.encode(rows.x)
        return embedded_balance(rows, w, everywhere, phi, settings.standardize)

    def evaluate() -> tuple[Tensor, list[Tensor]]:
        loss, (*gradients, _, _) = network_loss(network, head)
        if strengths.balance > 0:
            value, slopes = value_and_gradients(balance, network.parameters()[:n_encoder])
            loss += strengths.balance * value
            for gradient, slope in zip(gradients[:n_encoder], slopes, strict=True):
                gradient += strengths.balance * slope
        return loss, gradients

    return evaluate


# --- the sequential solver ----------------------------------------------------------------------


def sequential(
    rows: Rows,
    networks: Sequence[AutoEncoder],
    settings: Settings,
    *,
    balance: Literal["embedding", "features", "nothing"] = "embedding",
    weight_steps: int | None = None,
) -> Solution:
    """Encoder, then weights on its fixed embedding; weights of several encoders are averaged.

    The average is the geometric mean: a row counts only if every embedding wants it to. Without
    encoders there is no embedding, and the weights balance the features. ``weight_steps`` bounds
    the iterations of the weights alone.
    """
    ones = torch.ones_like(rows.mass)
    solution = Solution(ones, zero_head(rows.features), [])
    weight_settings = replace(settings, max_iter=weight_steps or settings.max_iter)
    for network in networks:
        trained, solution.head = train_encoder(rows, network, settings, solution)
        solution.networks.append(trained)
    if balance == "nothing":
        return solution
    balanced: Sequence[AutoEncoder | None] = solution.networks
    if balance == "features" or not networks:
        balanced = [None]
    logs = [_balanced_weights(rows, net, weight_settings, solution).log() for net in balanced]
    solution.w = with_mean_one(torch.stack(logs).mean(0).exp(), rows.mass)
    return solution


def train_encoder(
    rows: Rows,
    network: AutoEncoder,
    settings: Settings,
    solution: Solution,
    head: Head | None = None,
    *,
    recorded: bool = True,
) -> tuple[AutoEncoder, Head]:
    """Minimise L_Pre + lambda_2 L_AE + lambda_4 ||beta||^2 + lambda_7 ||theta||^2 at w = 1.

    From the network and the head as they are given.

    Its history has L_Bal, which costs more than a step; what nobody looks at is not ``recorded``.
    """
    ones = torch.ones_like(rows.mass)
    start = zero_head(network.encoder[-1][0].T) if head is None else head.to(rows.x.device)
    head = Head(start.beta.clone(), start.intercept.clone())
    trained = [head.beta, head.intercept] if settings.fit_intercept else [head.beta]
    block = Block([*network.parameters(), *trained])
    network_loss = NetworkLoss(rows, ones, settings.strengths)

    def evaluate() -> tuple[Tensor, list[Tensor]]:
        loss, gradients = network_loss(network, head)
        return loss, gradients[: len(block.variables)]

    def update() -> float:
        value = block.lower(evaluate, again=True)
        if recorded:
            terms = all_terms(rows, ones, head, network, settings.standardize)
            solution.record(terms, settings.strengths)
        return value

    _repeat("encoder", update, float("inf"), solution, settings, [block])
    return network, head


def _balanced_weights(
    rows: Rows, network: AutoEncoder | None, settings: Settings, solution: Solution
) -> Tensor:
    """Minimise lambda_1 L_Bal + lambda_3 ||W||^2 + lambda_6 (sum W - 1)^2 from w = 1."""
    weights = _Weights(rows, torch.ones_like(rows.mass), settings.least_share)
    balance = _balance_of(rows, network, settings.standardize)
    evaluate = weights.evaluation(_weight_objective(rows, settings.strengths, balance))
    embedder = solution.networks[-1] if solution.networks else None  # what the head stands on
    other_terms = terms_of_weights(rows, solution.head, embedder)

    def update() -> float:
        value = weights.lower(evaluate, again=True)
        w = weights()
        terms = other_terms(w) | {"balance": balance(rows.mass * w)}
        solution.record(terms, settings.strengths)
        return value

    _repeat("weights", update, float("inf"), solution, settings, [weights])
    solution.floored |= weights.floored
    # A weight of exactly zero has no logarithm; one this small changes no sum.
    return with_mean_one(weights(), rows.mass).clamp_min(1e-12)


# --- fixed weights ------------------------------------------------------------------------------


def fixed_weights(
    rows: Rows,
    solution: Solution,
    settings: Settings,
    *,
    reduced: bool,
    bias_bound: float | None,
    network_bound: float | None,
) -> Solution:
    """FWDGBR and RFWDGBR: W is fixed, beta and theta go on under L_Pre / sum(W).

    L_Bal and the terms of W leave the objective. ``reduced`` also drops reconstruction, decoder
    and lambda_7, and bounds ||A^(k)||_F^2 of each encoder layer instead (by ``network_bound``, or
    by its value at the start of the phase).
    """
    free = solution.networks[0].copied()
    matrix_bounds = None
    if reduced:
        own = [float(weight.square().sum()) for weight, _ in free.encoder]
        matrix_bounds = own if network_bound is None else [network_bound] * len(own)
    w = with_mean_one(solution.w, rows.mass)
    strengths = replace(settings.strengths, balance=0.0, weight_l2=0.0, weight_sum=0.0)
    if reduced:
        strengths = replace(strengths, reconstruction=0.0, network_l2=0.0)
    settings = replace(settings, strengths=strengths)
    block = Block(free.parameters())
    network_loss = NetworkLoss(rows, w, strengths)

    def bounded(parameters: Sequence[Tensor]) -> AutoEncoder:
        return free.rebuilt(parameters).bounded(matrix_bounds, bias_bound)

    network = bounded(free.parameters())
    phi = network.encode(rows.x)
    result = replace(solution, w=w, networks=[network])
    # That the weights were stopped by then is the plan, not a failure to converge.
    result.unfinished = [stage for stage in solution.unfinished if stage == "encoder"]
    result.head = _best_head(rows, w, phi, settings, zero_head(phi))

    def evaluate() -> tuple[Tensor, Sequence[Tensor]]:
        loss, (*gradients, _, _) = network_loss(bounded(free.parameters()), result.head)
        through = pulled_back(lambda v: bounded(v).parameters(), free.parameters(), gradients)
        return loss, through

    def update() -> float:
        block.lower(evaluate)
        network = bounded(free.parameters())
        phi = network.encode(rows.x)
        result.head = _best_head(rows, w, phi, settings, result.head)
        terms = all_terms(rows, w, result.head, network, settings.standardize)
        return result.record(terms, strengths)

    _repeat("fixed weights", update, float("inf"), result, settings, [block])
    result.networks = [bounded(free.parameters())]
    return result
