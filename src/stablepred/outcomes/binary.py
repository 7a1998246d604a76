"""A 0/1 outcome with the logistic loss (paper, eq. 16).

loss = log(1 + exp((1 - 2 y) * score)),   P(y = 1) = 1 / (1 + exp(-score))
"""

import torch
from torch import Tensor
from torch.nn import functional

# Log-odds of this size are a certain prediction in double precision.
LARGEST_SCORE = 30.0


class Binary:
    """Logistic loss of a 0/1 outcome."""

    bound = 0.25

    def losses(self, scores: Tensor, y: Tensor) -> Tensor:
        """log(1 + exp((1 - 2 y) * score)) of each row."""
        return functional.softplus((1 - 2 * y) * scores)

    def slopes(self, scores: Tensor, y: Tensor) -> Tensor:
        """P(y = 1) - y, without cancellation where the prediction is nearly certain."""
        sign = 1 - 2 * y
        return sign * torch.sigmoid(sign * scores)

    def curvature(self, scores: Tensor, y: Tensor) -> Tensor:
        """P(y = 1) P(y = 0)."""
        probability = torch.sigmoid(scores)
        return probability * (1 - probability)

    def inverse_link(self, scores: Tensor) -> Tensor:
        """P(y = 1)."""
        return torch.sigmoid(scores)

    def is_certain(self, scores: Tensor, y: Tensor) -> Tensor:
        """Whether the right class has all the probability that a double can hold."""
        return (2 * y - 1) * scores > LARGEST_SCORE

    def strata(self, y: Tensor) -> list[Tensor]:
        """The negative and the positive class."""
        return [y == 0, y == 1]


BINARY = Binary()
