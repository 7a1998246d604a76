"""Several classes, numbered from 0: each is modelled and judged against the rest."""

import torch
from torch import Tensor

from stablepred.io.save import storable
from stablepred.outcomes.binary import CLIP


@storable
class Multinomial:
    """Losses of predicted probabilities (n, k); all else is binary, class by class."""

    name = "multinomial"

    def strata(self, y: Tensor) -> list[Tensor]:
        return [y == k for k in torch.unique(y)]

    def dispersion(self, scores: Tensor, y: Tensor, mass: Tensor) -> float:
        return 1.0

    def losses_of_means(self, means: Tensor, y: Tensor) -> Tensor:
        right = means.gather(1, y.long()[:, None])[:, 0]
        return -right.clamp(CLIP, 1.0).log()

    def squared_errors(self, means: Tensor, y: Tensor) -> Tensor:
        """Half the squared distance from the right class: of two classes, (y - p)^2."""
        right = torch.nn.functional.one_hot(y.long(), means.shape[1])
        return (right - means).square().sum(1) / 2


MULTINOMIAL = Multinomial()
