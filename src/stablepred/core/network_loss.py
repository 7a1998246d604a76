"""What the network and the head minimise at fixed weights, with its gradient in closed form.

    L_Pre + lambda_2 L_AE + lambda_4 ||beta||^2 + lambda_7 sum_k (||A^(k)||_F^2 + ||A_hat^(k)||_F^2)

Training an encoder is thousands of evaluations of this on few rows, where recording and replaying
the operations one by one costs more than the operations.
"""

import torch
from torch import Tensor
from torch.nn import functional

from stablepred.core.head import Head
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import Rows, Strengths
from stablepred.core.sharding import n_shards, totals


class NetworkLoss:
    """The loss above at fixed weights, as a function of the network and the head.

    Rows stand side by side, (columns, rows): narrow matrices are multiplied two to three times as
    fast this way.
    """

    def __init__(self, rows: Rows, w: Tensor, strengths: Strengths) -> None:
        self.x, self.signs = rows.x.T.contiguous(), 1 - 2 * rows.y
        self.v, self.strengths = rows.mass * w, strengths
        self.error_slopes = 2 * strengths.reconstruction * rows.mass * w.square()

    @torch.no_grad()
    def __call__(self, network: AutoEncoder, head: Head) -> tuple[Tensor, list[Tensor]]:
        """The loss, and its gradients in the network's parameters, beta and the intercept."""
        # Every shard has its share of the penalties, so that all of it is sums over the shards.
        l2, network_l2 = self.strengths.l2 / n_shards(), self.strengths.network_l2 / n_shards()
        parameters = network.parameters()
        matrices, biases = parameters[::2], parameters[1::2]
        hidden = [self.x]  # of each layer, and last the reconstruction
        for matrix, bias in zip(matrices, biases, strict=True):
            hidden.append(torch.addmm(bias[:, None], matrix, hidden[-1]).sigmoid_())
        depth = len(network.encoder)
        phi, misses = hidden[depth], hidden[-1] - self.x
        wrong = self.signs * (head.beta @ phi + head.intercept)  # (n,) how far on the wrong side
        slopes = misses * self.error_slopes
        loss = self.v @ functional.softplus(wrong)
        loss += slopes.view(-1) @ misses.view(-1) / 2
        loss += l2 * (head.beta @ head.beta)
        for matrix in matrices:
            loss += network_l2 * matrix.square().sum()

        residuals = self.v * self.signs * wrong.sigmoid_()  # (n,) slope in the logits
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
        loss, *gradients = totals(loss, *gradients, of_beta, residuals.sum())
        return loss, gradients
