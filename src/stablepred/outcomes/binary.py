"""A 0/1 outcome with the logistic loss (paper, eq. 16).

loss = log(1 + exp((1 - 2 y) * score)),   P(y = 1) = 1 / (1 + exp(-score))
"""

import torch
from torch import Tensor
from torch.nn import functional

from stablepred.io.save import storable
from stablepred.outcomes.base import Outcome

# Probabilities are kept this far from 0 and 1 before a logarithm.
CLIP = 1e-7
# Log-odds of this size are a certain prediction in double precision.
LARGEST_SCORE = 30.0


@storable
class Binary(Outcome):
    name = "binary"
    bound = 0.25

    def losses(self, scores: Tensor, y: Tensor) -> Tensor:
        return functional.softplus((1 - 2 * y) * scores)

    def slopes(self, scores: Tensor, y: Tensor) -> Tensor:
        """P(y = 1) - y, without cancellation where the prediction is nearly certain."""
        sign = 1 - 2 * y
        return sign * torch.sigmoid(sign * scores)

    def curvature(self, scores: Tensor, y: Tensor) -> Tensor:
        probability = torch.sigmoid(scores)
        return probability * (1 - probability)

    def inverse_link(self, scores: Tensor) -> Tensor:
        return torch.sigmoid(scores)

    def is_certain(self, scores: Tensor, y: Tensor) -> Tensor:
        return (2 * y - 1) * scores > LARGEST_SCORE

    def strata(self, y: Tensor) -> list[Tensor]:
        return [y == 0, y == 1]

    def strata_probabilities(self, scores: Tensor, y: Tensor, dispersion: float) -> list[Tensor]:
        return [torch.sigmoid(-scores), torch.sigmoid(scores)]

    def losses_of_means(self, means: Tensor, y: Tensor) -> Tensor:
        p = means.clamp(CLIP, 1 - CLIP)
        return -torch.where(y > 0.5, p, 1 - p).log()


BINARY = Binary()
