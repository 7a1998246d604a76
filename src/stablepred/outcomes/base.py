"""What a fit needs to know about an outcome."""

from typing import Protocol

from torch import Tensor


class Outcome(Protocol):
    """The loss of scores against the outcome, and its derivatives, row by row.

    Scores are what a head gives: z @ beta + intercept. Everything is of shape (n,).
    """

    bound: float  # of the curvature, whatever the scores

    def losses(self, scores: Tensor, y: Tensor) -> Tensor:
        """Minus log likelihood of each row, up to a constant."""
        ...

    def slopes(self, scores: Tensor, y: Tensor) -> Tensor:
        """Derivative of each row's loss in its score."""
        ...

    def curvature(self, scores: Tensor, y: Tensor) -> Tensor:
        """Second derivative of each row's loss in its score."""
        ...

    def inverse_link(self, scores: Tensor) -> Tensor:
        """Prediction of the outcome's mean."""
        ...

    def is_certain(self, scores: Tensor, y: Tensor) -> Tensor:
        """Whether each row's prediction cannot get any better in double precision."""
        ...

    def strata(self, y: Tensor) -> list[Tensor]:
        """Masks of the rows with (nearly) the same outcome: what "given y" means for evidence."""
        ...
