"""What a fit needs to know about an outcome."""

from typing import Protocol

from torch import Tensor


class Outcome(Protocol):
    """The loss of scores against the outcome, and its derivatives, row by row.

    Scores are what a head gives: z @ beta + intercept. Everything is of shape (n,).
    """

    name: str
    bound: float  # of the curvature, whatever the scores

    def losses(self, scores: Tensor, y: Tensor) -> Tensor:
        """Minus log likelihood of each row, up to a constant."""

    def slopes(self, scores: Tensor, y: Tensor) -> Tensor:
        """Derivative of each row's loss in its score."""

    def curvature(self, scores: Tensor, y: Tensor) -> Tensor:
        """Second derivative of each row's loss in its score."""

    def inverse_link(self, scores: Tensor) -> Tensor:
        """Prediction of the outcome's mean."""

    def dispersion(self, scores: Tensor, y: Tensor, mass: Tensor) -> float:
        """Variance of the slopes over their mean curvature, if the scores are right."""
        return 1.0

    def is_certain(self, scores: Tensor, y: Tensor) -> Tensor:
        """Whether each row's prediction cannot get any better in double precision."""

    def strata(self, y: Tensor) -> list[Tensor]:
        """Masks of the rows with (nearly) the same outcome: what "given y" means for evidence."""

    def strata_probabilities(self, scores: Tensor, y: Tensor, dispersion: float) -> list[Tensor]:
        """For each stratum, the probability that a row with these scores belongs to it."""

    def losses_of_means(self, means: Tensor, y: Tensor) -> Tensor:
        """The loss of each row where means are predicted, not scores; of k classes (n, k)."""
        return self.losses(means, y)

    def squared_errors(self, means: Tensor, y: Tensor) -> Tensor:
        return (y - means) ** 2
