"""A numeric outcome with the squared loss: loss = (y - score)^2 / 2.

"Given y" means within strata of equally many rows, since no two rows have the same outcome.
"""

import torch
from torch import Tensor

from stablepred.io.save import storable
from stablepred.outcomes.base import Outcome

STRATA = 20


@storable
class Gaussian(Outcome):
    name = "gaussian"
    bound = 1.0

    def losses(self, scores: Tensor, y: Tensor) -> Tensor:
        return (scores - y) ** 2 / 2

    def slopes(self, scores: Tensor, y: Tensor) -> Tensor:
        return scores - y

    def curvature(self, scores: Tensor, y: Tensor) -> Tensor:
        return torch.ones_like(scores)

    def inverse_link(self, scores: Tensor) -> Tensor:
        return scores

    def dispersion(self, scores: Tensor, y: Tensor, mass: Tensor) -> float:
        return float(mass @ (scores - y) ** 2 / mass.sum())

    def is_certain(self, scores: Tensor, y: Tensor) -> Tensor:
        """Never: the penalty on beta bounds the scores."""
        return torch.zeros_like(scores, dtype=torch.bool)

    def strata(self, y: Tensor) -> list[Tensor]:
        index = torch.searchsorted(self._edges(y), y, right=True)
        masks = [index == k for k in range(STRATA)]
        return [mask for mask in masks if mask.any()]

    def strata_probabilities(self, scores: Tensor, y: Tensor, dispersion: float) -> list[Tensor]:
        """Under normal noise around the scores."""
        edges = torch.unique(self._edges(y))
        below = torch.special.ndtr((edges[:, None] - scores) / max(dispersion, 1e-12) ** 0.5)
        ends = torch.cat([torch.zeros_like(below[:1]), below, torch.ones_like(below[:1])])
        return list(ends[1:] - ends[:-1])

    def _edges(self, y: Tensor) -> Tensor:
        ranks = torch.arange(1, STRATA, device=y.device) * len(y) // STRATA
        return torch.sort(y).values[ranks]


GAUSSIAN = Gaussian()
