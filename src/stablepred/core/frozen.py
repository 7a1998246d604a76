"""FWDGBR and RFWDGBR (paper, section 4.2.3): W is fixed, and beta and theta go on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from stablepred.core.algorithm1 import update_head
from stablepred.core.descent import Block
from stablepred.core.head import zero_head
from stablepred.core.loop import Settings, Solution, repeat
from stablepred.core.networks import AutoEncoder, value_and_gradients
from stablepred.core.objective import NetworkLoss, all_terms
from stablepred.core.row_weights import scale_to_mean_one
from stablepred.sample import Sample
from stablepred.weights.base import DeepBalance


@dataclass(frozen=True)
class FrozenWeights:
    """When the weights are fixed, and what bounds the network from then on.

    FWDGBR minimises L_Pre / sum(W) + lambda_2 L_AE + lambda_4 ||beta||^2 + lambda_5 ||beta||_1
    + lambda_7 ||theta||^2 over beta and theta once W is fixed. RFWDGBR (``reduced=True``) drops
    reconstruction, decoder and lambda_7, and bounds ||A^(k)||_F^2 of each layer of the encoder.

    Parameters
    ----------
    after : int or None, default=None
        Iterations of the weights; None takes half of ``max_iter``.
    reduced : bool, default=False
        Whether to fit RFWDGBR.
    bias_bound, network_bound : float or None, default=None
        Bounds on ||b^(k)||_2 of each layer of the encoder and, with ``reduced``, on ||A^(k)||_F^2;
        for the latter, None takes each layer's own value at the moment the weights are fixed.
    """

    after: int | None = None
    reduced: bool = False
    bias_bound: float | None = None
    network_bound: float | None = None

    def count_iterations(self, max_iter: int) -> int:
        """Iterations before the weights are fixed."""
        return max(1, max_iter // 2) if self.after is None else min(self.after, max_iter)


def fit_under_fixed_weights(
    sample: Sample,
    solution: Solution,
    settings: Settings,
    frozen: FrozenWeights,
    balance: DeepBalance,
) -> Solution:
    """Go on from a solution under its weights; L_Bal and the terms of W leave the objective."""
    assert solution.network is not None
    free, matrix_bounds = solution.network.copy(), None
    strengths = replace(settings.strengths, balance=0.0, weight_l2=0.0, weight_sum=0.0)
    if frozen.reduced:
        own = [float(weight.square().sum()) for weight, _ in free.encoder]
        bound = frozen.network_bound
        matrix_bounds = own if bound is None else [bound] * len(own)
        strengths = replace(strengths, reconstruction=0.0, network_l2=0.0)
    settings = replace(settings, strengths=strengths)
    w = scale_to_mean_one(sample, solution.w)
    block = Block(free.parameters())
    network_loss = NetworkLoss(sample, w, strengths, settings.outcome)

    def bound_all(parameters: Sequence[Tensor]) -> AutoEncoder:
        return free.rebuild(parameters).bound(matrix_bounds, frozen.bias_bound)

    network = bound_all(free.parameters())
    # That the weights were stopped by then is the plan, not a failure to converge.
    unfinished = [stage for stage in solution.unfinished if stage == "encoder"]
    head = zero_head(network.encode(sample.x))
    result = replace(solution, w=w, network=network, head=head, unfinished=unfinished)
    update_head(sample, result, settings)

    def evaluate() -> tuple[Tensor, Sequence[Tensor]]:
        loss, (*gradients, _, _) = network_loss(bound_all(free.parameters()), result.head)

        def along(parameters: Sequence[Tensor]) -> Tensor:
            pairs = zip(bound_all(parameters).parameters(), gradients, strict=True)
            return torch.stack([(one * slope).sum() for one, slope in pairs]).sum()

        return loss, value_and_gradients(along, free.parameters())[1]

    def update() -> float:
        block.lower(evaluate)
        result.network = network = bound_all(free.parameters())
        update_head(sample, result, settings)
        imbalance = balance.of_network(sample, w, network)
        terms = all_terms(sample, w, result.head, network, imbalance, settings.outcome)
        return result.record(terms, strengths)

    repeat("fixed weights", update, result, settings, [block])
    result.network = bound_all(free.parameters())  # also where it was restored
    return result
