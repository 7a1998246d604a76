"""The stages one after the other: the encoder, then the weights on its fixed embedding.

Neither stage sees the other's loss, so that the weights cannot lower the prediction loss by leaving
the rows that are hard to predict, nor the encoder the balancing loss by shrinking.
"""

import torch
from torch import Tensor

from stablepred.core.descent import Block
from stablepred.core.head import zero_head
from stablepred.core.loop import Settings, Solution, repeat
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import NetworkLoss, all_terms, loss_of_weights
from stablepred.core.row_weights import RowWeights, effective_share, scale_to_mean_one
from stablepred.sample import Sample
from stablepred.weights.base import Balance, DeepBalance

LARGE_TABLE = 20_000  # rows
LAST_STEPS = 15  # on all rows, after a part on which they are trained to the end


def start_solution(sample: Sample) -> Solution:
    """Equal weights and a head that predicts one half everywhere."""
    return Solution(torch.ones_like(sample.mass), zero_head(sample.features))


def train_encoder(
    sample: Sample,
    network: AutoEncoder,
    settings: Settings,
    solution: Solution,
    recorded: DeepBalance | None = None,
    begin_on: Sample | None = None,
) -> None:
    """Minimise L_Pre + lambda_2 L_AE + lambda_4 ||beta||^2 + lambda_7 ||theta||^2 at w = 1.

    From the network as it is given, which is changed, and a head of zeros; both become the
    solution's. On a large table the steps begin on part of the rows, and go on with all of them
    from there: for LAST_STEPS at most, if they ``begin_on`` rows that are given. L_Bal costs more
    than a step: only if it is ``recorded`` the history has lines of this stage, with L_Bal on that
    part.
    """
    few, head = sample, zero_head(network.encoder[-1][0].T)
    every = -(-int(sample.shards.largest(float(len(sample.y)))) // LARGE_TABLE)
    if begin_on is not None or every > 1:
        part = torch.arange(len(sample.y), device=sample.device) % every == 0
        few = begin_on or sample.take(part.double())
        start = start_solution(few)
        train_encoder(few, network, settings, start)
        head = start.head
    ones, of_few = torch.ones_like(sample.mass), torch.ones_like(few.mass)
    trained = [head.beta, head.intercept] if settings.fit_intercept else [head.beta]
    block = Block([*network.parameters(), *trained], 10 if begin_on is None else LAST_STEPS)
    network_loss = NetworkLoss(sample, ones, settings.strengths, settings.outcome)
    solution.network, solution.head = network, head

    def evaluate() -> tuple[Tensor, list[Tensor]]:
        loss, gradients = network_loss(network, head)
        return loss, gradients[: len(block.variables)]

    def update() -> float:
        value = block.lower(evaluate, again=True)
        if recorded is not None:
            balance = recorded.of_network(few, of_few, network)
            terms = all_terms(sample, ones, head, network, balance, settings.outcome)
            solution.record(terms, settings.strengths)
        return value

    if begin_on is not None:
        block.lower(evaluate)
        solution.unfinished += start.unfinished
        return
    repeat("encoder", update, solution, settings, [block])
    solution.head = head


def learn_weights(
    sample: Sample,
    balance: Balance,
    network: AutoEncoder | None,
    settings: Settings,
    solution: Solution,
) -> None:
    """Minimise lambda_1 L_Bal + lambda_3 ||W||^2 + lambda_6 (sum W - 1)^2 from w = 1.

    ``network`` is the one whose embedding is balanced; None balances the features. The weights of
    the solution get mean one.
    """
    weights = RowWeights(sample, settings.least_share)
    l_bal = balance.prepare(sample, network)
    loss = loss_of_weights(sample, settings.strengths, l_bal)

    def update() -> float:
        value = weights.lower(loss, again=True)
        w = weights.w
        imbalance, _ = l_bal(sample.mass * w)
        terms = all_terms(sample, w, solution.head, solution.network, imbalance, settings.outcome)
        solution.record(terms, settings.strengths)
        return value

    repeat("weights", update, solution, settings, [weights])
    solution.floored |= weights.floored
    solution.w = scale_to_mean_one(sample, weights.w)


def extend_weights(
    sample: Sample, rows: Tensor, balance: Balance, settings: Settings, solution: Solution
) -> None:
    """Give all rows weights, from those of the rows of a mask.

    Where the objective of the weights is lowest, its slope in every weight that is not zero is
    zero, so that the weights are linear in the slopes of L_Bal: w_i = max(0, a - b dL_Bal/dv_i).
    L_Bal of the rows of the mask has a slope in every row; a and b fit their weights.
    """
    own = torch.zeros_like(sample.mass)
    own[rows] = solution.w
    v = sample.mass * own
    v = v / sample.total(v.sum())
    _, slopes = balance.prepare(sample, solution.network)(v)
    slopes = slopes - sample.total(v @ slopes)
    products, squares, level = sample.totals(v @ (own * slopes), v @ slopes.square(), v @ own)
    w = (level + products / squares.clamp_min(1e-300) * slopes).clamp_min(0)
    w, least = scale_to_mean_one(sample, w), settings.least_share
    if (share := effective_share(sample, w)) < least:
        w = 1 + (w - 1) * ((1 / least - 1) / (1 / share - 1)).sqrt()
        solution.floored = True
    solution.w = w
