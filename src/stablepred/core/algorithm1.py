"""Algorithm 1 of the paper: updates of W, beta and theta in turn, each of which lowers L_mix."""

from collections.abc import Sequence
from functools import partial
from typing import cast

import torch
from torch import Tensor

from stablepred.core.descent import Block, Evaluate
from stablepred.core.head import Head, fit_head, zero_head
from stablepred.core.loop import Settings, Solution, State, repeat
from stablepred.core.networks import AutoEncoder, value_and_gradients
from stablepred.core.objective import (
    NetworkLoss,
    all_terms,
    loss_of_weights,
    row_losses_and_errors,
    weighted_sum,
)
from stablepred.core.row_weights import RowWeights
from stablepred.sample import Sample
from stablepred.weights.base import Balance, DeepBalance


def algorithm1(
    sample: Sample,
    network: AutoEncoder | None,
    balance: Balance,
    settings: Settings,
    generator: torch.Generator | None = None,
) -> Solution:
    """Minimise L_mix over W, beta and, with a network, theta; L_mix never rises.

    GBR is the case without a network: phi(X) = X. It starts at W = 1 and beta = 0, or, with a
    generator, at random: W uniform between 0 and 2, beta standard normal.
    """
    weights = RowWeights(sample, settings.least_share)
    theta = None if network is None else Block(network.parameters())
    head = zero_head(embed(sample, network))
    if generator is not None:
        drawn = torch.rand(len(sample.y), generator=generator, dtype=torch.float64) * 2
        weights.move_to(drawn.to(sample.device))
        beta = torch.randn(len(head.beta), generator=generator, dtype=torch.float64)
        head = Head(beta.to(sample.device), head.intercept)
    solution = Solution(weights.w, head, network)
    l_bal = _PreparedBalance(balance, sample, network)

    def terms() -> dict[str, Tensor]:
        value, _ = l_bal.loss(sample.mass * weights.w)
        return all_terms(sample, weights.w, solution.head, network, value, settings.outcome)

    def iterate() -> float:
        # W: balance and penalties, weighted losses and reconstruction errors.
        losses = row_losses_and_errors(sample, solution.head, network, settings.outcome)
        weights.lower(loss_of_weights(sample, settings.strengths, l_bal.loss, *losses))
        solution.w = weights.w
        # beta: a weighted elastic-net regression on phi(X).
        update_head(sample, solution, settings)
        # theta: everything that depends on the embedding.
        if theta is not None:
            theta.lower(loss_of_network(sample, solution, cast(DeepBalance, balance), settings))
            l_bal.renew()
        return solution.record(terms(), settings.strengths)

    start = float(weighted_sum(terms(), settings.strengths))
    blocks = [] if theta is None else [theta]
    repeat("alternating", iterate, solution, settings, [weights, *blocks, l_bal], start)
    solution.w, solution.floored = weights.w, weights.floored
    return solution


class _PreparedBalance:
    def __init__(self, balance: Balance, sample: Sample, network: AutoEncoder | None) -> None:
        self._prepare = partial(balance.prepare, sample, network)
        self.renew()

    def renew(self) -> None:
        self.loss = self._prepare()

    def state(self) -> State:
        return {}  # everything follows from the network

    def restore(self, state: State) -> None:
        self.renew()  # the network has been restored before


def embed(sample: Sample, network: AutoEncoder | None) -> Tensor:
    return sample.features if network is None else network.encode(sample.x)


def update_head(sample: Sample, solution: Solution, settings: Settings) -> None:
    strengths = settings.strengths
    solution.head = fit_head(
        sample,
        embed(sample, solution.network).detach(),
        sample.mass * solution.w,
        l2=strengths.l2,
        l1=strengths.l1,
        fit_intercept=settings.fit_intercept,
        outcome=settings.outcome,
        start=solution.head,
    )


def loss_of_network(
    sample: Sample, solution: Solution, balance: DeepBalance, settings: Settings
) -> Evaluate:
    """L_mix as a function of theta alone."""
    w, head, network = solution.w, solution.head, solution.network
    assert network is not None
    n_encoder, strength = 2 * len(network.encoder), settings.strengths.balance
    network_loss = NetworkLoss(sample, w, settings.strengths, settings.outcome)

    def balance_of(encoder: Sequence[Tensor]) -> Tensor:
        everywhere = sample.shards.in_every_shard(encoder)
        rebuilt = network.rebuild([*everywhere, *network.parameters()[n_encoder:]])
        return balance.of_network(sample, w, rebuilt)

    def evaluate() -> tuple[Tensor, list[Tensor]]:
        loss, (*gradients, _, _) = network_loss(network, head)
        if strength > 0:
            value, slopes = value_and_gradients(balance_of, network.parameters()[:n_encoder])
            loss += strength * value
            for gradient, slope in zip(gradients, slopes, strict=False):
                gradient += strength * slope
        return loss, gradients

    return evaluate
