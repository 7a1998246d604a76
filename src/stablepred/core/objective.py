"""The objective as named terms and their strengths (paper, eqs. 15-19).

L_mix = L_Pre + lambda_1 L_Bal + lambda_2 L_AE
        + lambda_3 ||W||^2 + lambda_4 ||beta||^2 + lambda_5 ||beta||_1
        + lambda_6 (sum W - 1)^2 + lambda_7 sum_k (||A^(k)||_F^2 + ||A_hat^(k)||_F^2)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from stablepred.core import losses
from stablepred.core.head import Head
from stablepred.core.networks import AutoEncoder
from stablepred.core.sharding import in_every_shard, total
from stablepred.weights.balancing import (
    EmbeddedBalance,
    embedded_imbalance,
    raw_balance,
    removed_embeddings,
)


@dataclass(frozen=True)
class Strengths:
    """The lambdas, by the name of the term they multiply."""

    balance: float = 0.0
    reconstruction: float = 0.0
    weight_l2: float = 0.0
    l2: float = 0.0
    l1: float = 0.0
    weight_sum: float = 0.0
    network_l2: float = 0.0


@dataclass(frozen=True)
class Rows:
    """The training data of one fit, as distinct rows.

    ``mass`` is the share of each row, summing to one. With balancing of order 2 the first
    ``n_features`` columns are the features and the rest their products, and ``shared`` marks the
    treatments and covariates that are made of a common feature.
    """

    x: Tensor  # (n, p), 0/1
    y: Tensor  # (n,), 0/1
    mass: Tensor  # (n,)
    n_features: int
    shared: Tensor | None = None  # (p, p)

    @property
    def features(self) -> Tensor:
        """The features alone, without products: what a head without an encoder sees."""
        return self.x[:, : self.n_features]


TERMS = (
    "prediction",
    "balance",
    "reconstruction",
    "weight_l2",
    "l2",
    "l1",
    "weight_sum",
    "network_l2",
)


def embedding_scale(phi: Tensor, mass: Tensor) -> Tensor:
    """Standard deviation of each coordinate of the embedding over the training rows: (d,)."""
    (mean,) = in_every_shard([total(mass @ phi)])
    variance = total(mass @ (phi - mean).square())
    return (variance + 1e-12).sqrt()


def embedded_balance(
    rows: Rows, w: Tensor, network: AutoEncoder, phi: Tensor, standardize: bool
) -> Tensor:
    """L_Bal on the embedding (eq. 17), differentiable in the weights and in the network."""
    scale = embedding_scale(phi, rows.mass) if standardize else None
    if not (phi.requires_grad or w.requires_grad):
        fixed = EmbeddedBalance(network.encoder, rows.x, scale, rows.shared, keep_at_most=0)
        return fixed(rows.mass * w)
    removed = removed_embeddings(network.encoder, rows.x, rows.shared)
    gaps = embedded_imbalance(rows.x, rows.mass * w, phi, removed, scale, rows.shared)
    return gaps.square().sum()


def terms_of_weights(
    rows: Rows, head: Head, network: AutoEncoder | None
) -> Callable[[Tensor], dict[str, Tensor]]:
    """Every term of L_mix but balance, as a function of the weights alone."""
    phi = rows.features if network is None else network.encode(rows.x)
    return _terms_of_weights(rows, head, network, phi)


def _terms_of_weights(
    rows: Rows, head: Head, network: AutoEncoder | None, phi: Tensor
) -> Callable[[Tensor], dict[str, Tensor]]:
    row_losses = losses.logistic_losses(head.logits(phi), rows.y)
    terms = {"l2": head.beta.square().sum(), "l1": head.beta.abs().sum()}
    row_errors = torch.zeros_like(row_losses)
    if network is not None:
        row_errors = (rows.x - network.decode(phi)).square().sum(1)
        terms["network_l2"] = losses.squared_norm(network.matrices())

    def at(w: Tensor) -> dict[str, Tensor]:
        norm, gap = losses.weight_penalties(w, rows.mass)
        return terms | {
            "prediction": total((rows.mass * w) @ row_losses),
            "reconstruction": losses.reconstruction_loss(row_errors, w, rows.mass),
            "weight_l2": norm,
            "weight_sum": gap,
        }

    return at


def all_terms(
    rows: Rows, w: Tensor, head: Head, network: AutoEncoder | None, standardize: bool
) -> dict[str, Tensor]:
    """Every term of L_mix by name, before its strength."""
    if network is None:
        balance = raw_balance(rows.x, rows.mass * w, rows.shared)
        return _terms_of_weights(rows, head, None, rows.features)(w) | {"balance": balance}
    phi = network.encode(rows.x)
    balance = embedded_balance(rows, w, network, phi, standardize)
    return _terms_of_weights(rows, head, network, phi)(w) | {"balance": balance}


def weighted_sum(terms: Mapping[str, Tensor], strengths: Strengths) -> Tensor:
    """L_mix, or the part of it that the given terms make up."""
    parts = [
        value if name == "prediction" else getattr(strengths, name) * value
        for name, value in terms.items()
    ]
    return torch.stack(parts).sum()
