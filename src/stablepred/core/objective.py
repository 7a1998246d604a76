"""L_mix, term by term: values and gradients (paper, eqs. 15-19).

    L_mix = L_Pre + lambda_1 L_Bal + lambda_2 L_AE
            + lambda_3 ||W||^2 + lambda_4 ||beta||^2 + lambda_5 ||beta||_1
            + lambda_6 (sum W - 1)^2 + lambda_7 sum_k (||A^(k)||_F^2 + ||A_hat^(k)||_F^2)

``mass`` holds the normalised sample weights, ``w`` the balancing weights, of mean one, and the
paper's W is v = mass * w. On this scale ||W||^2 is sum_i mass_i w_i^2, and lambda_2 and lambda_3
are the paper's divided by n. L_Bal is in ``stablepred.weights``.

The terms of the weights come with their gradients in v. ``NetworkLoss`` evaluates together what
depends on the network and the head.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from stablepred.core.head import Head
from stablepred.core.networks import AutoEncoder
from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY
from stablepred.sample import Sample

# A loss of the total row weights v, with its gradient in them.
ValueAndGradient = Callable[[Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Strengths:
    balance: float = 0.0
    reconstruction: float = 0.0
    weight_l2: float = 0.0
    l2: float = 0.0
    l1: float = 0.0
    weight_sum: float = 0.0
    network_l2: float = 0.0


TERMS = ("prediction", *Strengths.__dataclass_fields__)


def weighted_sum(terms: Mapping[str, Tensor], strengths: Strengths) -> Tensor:
    """L_mix, or the part of it that consists of the given terms; L_Pre has no lambda."""
    return torch.stack([getattr(strengths, name, 1.0) * terms[name] for name in terms]).sum()


def row_losses_and_errors(
    sample: Sample, head: Head, network: AutoEncoder | None, outcome: Outcome = BINARY
) -> tuple[Tensor, Tensor | None]:
    """What each row contributes to L_Pre and, with a network, to L_AE."""
    if network is None:
        return outcome.losses(head.scores(sample.features), sample.y), None
    phi = network.encode(sample.x)
    errors = (sample.targets - network.decode(phi)).square().sum(1)
    return outcome.losses(head.scores(phi), sample.y), errors


def terms_of_weights(
    sample: Sample, w: Tensor, row_losses: Tensor | None, row_errors: Tensor | None
) -> dict[str, tuple[Tensor, Tensor]]:
    """The terms of W except L_Bal, each with its gradient in v; only those with data given.

    L_Pre = sum_i v_i loss_i (eq. 16),   ||W||^2 as sum_i mass_i w_i^2,
    L_AE = sum_i mass_i w_i^2 ||x_i - x_hat_i||^2 (eq. 18), numbers as 1/2 + x/6
    """
    v = sample.mass * w
    excess = sample.total(v.sum()) - 1
    terms = {
        "weight_l2": (sample.total(v @ w), 2 * w),
        "weight_sum": (excess.square(), 2 * excess * torch.ones_like(w)),
    }
    if row_losses is not None:
        terms["prediction"] = sample.total(v @ row_losses), row_losses
    if row_errors is not None:
        value = sample.total((sample.mass * w.square()) @ row_errors)
        terms["reconstruction"] = value, 2 * w * row_errors
    return terms


def loss_of_weights(
    sample: Sample,
    strengths: Strengths,
    balance: ValueAndGradient,
    row_losses: Tensor | None = None,
    row_errors: Tensor | None = None,
) -> ValueAndGradient:
    """L_mix as a function of w alone, with its gradient in v = mass * w."""

    def loss(w: Tensor) -> tuple[Tensor, Tensor]:
        terms = {"balance": balance(sample.mass * w)}
        terms |= terms_of_weights(sample, w, row_losses, row_errors)
        values = {name: value for name, (value, _) in terms.items()}
        slopes = {name: getattr(strengths, name, 1.0) * slope for name, (_, slope) in terms.items()}
        gradient = slopes["balance"] + (slopes["weight_l2"] + slopes["weight_sum"])
        for name in ("prediction", "reconstruction"):
            gradient += slopes.get(name, 0.0)
        return weighted_sum(values, strengths), gradient

    return loss


def all_terms(
    sample: Sample,
    w: Tensor,
    head: Head,
    network: AutoEncoder | None,
    balance: Tensor,
    outcome: Outcome = BINARY,
) -> dict[str, Tensor]:
    """Every term of L_mix by name, before it is multiplied by its strength; L_Bal is given."""
    losses, errors = row_losses_and_errors(sample, head, network, outcome)
    of_weights = terms_of_weights(sample, w, losses, errors).items()
    terms = {name: value for name, (value, _) in of_weights}
    terms |= {"balance": balance, "l2": head.beta @ head.beta, "l1": head.beta.abs().sum()}
    if network is not None:
        matrices = network.parameters()[::2]
        terms["network_l2"] = torch.stack([matrix.square().sum() for matrix in matrices]).sum()
    return terms


class NetworkLoss:
    """L_Pre + lambda_2 L_AE + lambda_4 ||beta||^2 + lambda_7 ||theta||^2 with its gradient.

    By hand, since recording the operations would cost more than they do on few rows. Matrices are
    stored as (columns, rows): narrow matrices are multiplied two to three times as fast this way.
    """

    def __init__(
        self, sample: Sample, w: Tensor, strengths: Strengths, outcome: Outcome = BINARY
    ) -> None:
        self.sample, self.strengths, self.outcome = sample, strengths, outcome
        self.x, self.v = sample.x.T.contiguous(), sample.mass * w
        self.targets = sample.targets.T.contiguous()
        self.error_slopes = 2 * strengths.reconstruction * sample.mass * w.square()

    @torch.no_grad()
    def __call__(self, network: AutoEncoder, head: Head) -> tuple[Tensor, list[Tensor]]:
        # Every process takes its share of the penalties, so everything is a sum over processes.
        n_shards, y = self.sample.shards.size, self.sample.y
        l2, network_l2 = self.strengths.l2 / n_shards, self.strengths.network_l2 / n_shards
        parameters = network.parameters()
        matrices, biases = parameters[::2], parameters[1::2]
        hidden = [self.x]  # of each layer; the last is the reconstruction
        for matrix, bias in zip(matrices, biases, strict=True):
            hidden.append(torch.addmm(bias[:, None], matrix, hidden[-1]).sigmoid_())
        depth = len(network.encoder)
        phi, misses = hidden[depth], hidden[-1] - self.targets
        scores = head.beta @ phi + head.intercept  # (n,)
        slopes = misses * self.error_slopes
        loss = self.v @ self.outcome.losses(scores, y)
        loss += slopes.view(-1) @ misses.view(-1) / 2
        loss += l2 * (head.beta @ head.beta)
        entries = torch.cat([matrix.view(-1) for matrix in matrices])
        loss += network_l2 * (entries @ entries)

        residuals = self.v * self.outcome.slopes(scores, y)  # (n,)
        gradients: list[Tensor] = []
        for k in range(len(matrices), 0, -1):
            if k == depth:
                slopes = torch.addr(slopes, head.beta, residuals)
            slopes = torch.ops.aten.sigmoid_backward(slopes, hidden[k])
            matrix = matrices[k - 1]
            slope = torch.addmm(matrix, slopes, hidden[k - 1].T, beta=2 * network_l2)
            gradients = [slope, slopes.sum(1), *gradients]
            if k > 1:
                slopes = matrix.T @ slopes
        of_beta = phi @ residuals + 2 * l2 * head.beta
        loss, *gradients = self.sample.totals(loss, *gradients, of_beta, residuals.sum())
        return loss, gradients
