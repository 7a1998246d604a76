"""What the network and the head minimise at fixed weights, with its gradient in closed form.

    L_Pre + lambda_2 L_AE + lambda_4 ||beta||^2 + lambda_7 sum_k (||A^(k)||_F^2 + ||A_hat^(k)||_F^2)

Training an encoder is thousands of evaluations of this on few rows, where recording and replaying
the operations one by one costs more than the operations.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from stablepred.core.head import Head
from stablepred.core.losses import logistic_losses
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import Rows, Strengths
from stablepred.core.sharding import n_shards, total, totals


def network_loss(
    rows: Rows, w: Tensor, network: AutoEncoder, head: Head, strengths: Strengths
) -> Tensor:
    """The loss above, differentiable in the network and in the head."""
    loss: Tensor = _NetworkLoss.apply(
        rows.x,
        rows.y,
        rows.mass * w,
        rows.mass * w.square(),
        strengths,
        len(network.encoder),
        head.beta,
        head.intercept,
        *network.parameters(),
    )
    return loss


class _NetworkLoss(torch.autograd.Function):
    """Forward and backward pass at once."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor,
        v: Tensor,
        v_squares: Tensor,
        strengths: Strengths,
        n_encoder: int,
        beta: Tensor,
        intercept: Tensor,
        *flat: Tensor,
    ) -> Tensor:
        # Every shard has its share of the penalties, so that all of it is sums over the shards.
        l2, network_l2 = strengths.l2 / n_shards(), strengths.network_l2 / n_shards()
        matrices, biases = flat[::2], flat[1::2]
        hidden = [x]  # of each layer, and last the reconstruction
        for matrix, bias in zip(matrices, biases, strict=True):
            hidden.append(torch.addmm(bias, hidden[-1], matrix.T).sigmoid_())
        phi, misses = hidden[n_encoder], hidden[-1] - x
        logits = phi @ beta + intercept
        loss = v @ logistic_losses(logits, y)
        loss += strengths.reconstruction * (v_squares @ misses.square().sum(1))
        loss += l2 * (beta @ beta)
        for matrix in matrices:
            loss += network_l2 * matrix.square().sum()
        if any(ctx.needs_input_grad):
            residuals = v * (torch.sigmoid(logits) - y)  # (n,) slope in the logits
            slopes = misses.mul_((2 * strengths.reconstruction * v_squares)[:, None])
            gradients: list[Tensor] = []
            for k in range(len(matrices), 0, -1):
                if k == n_encoder:
                    slopes = torch.addr(slopes, residuals, beta)
                slopes = torch.ops.aten.sigmoid_backward(slopes, hidden[k])
                matrix = matrices[k - 1]
                slope = torch.addmm(matrix, slopes.T, hidden[k - 1], beta=2 * network_l2)
                gradients = [slope, slopes.sum(0), *gradients]
                if k > 1:
                    slopes = slopes @ matrix
            of_beta = phi.T @ residuals + 2 * l2 * beta
            loss, *gradients = totals(loss, of_beta, residuals.sum(), *gradients)
            ctx.save_for_backward(*gradients)
            return loss
        return total(loss)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        return (None,) * 6 + tuple(upstream * gradient for gradient in ctx.saved_tensors)
