"""How unequal balancing weights are, and what that costs."""

from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from stablepred._text import percent
from stablepred.evaluation.facts import model_facts
from stablepred.exceptions import InputError
from stablepred.plotting.rows import MODEL, QUIET, Display


class WeightsDisplay(Display):
    """Distribution of balancing weights, with the share of rows that they are worth.

        effective share = (sum w)^2 / (n sum w^2)

    is 1 for equal weights; a mean under weights varies as one over that share of the rows.

    Parameters
    ----------
    weights : array of shape (n_samples,)
        Weights that are not negative; rows of weight zero took no part.
    count : array of shape (n_samples,), optional
        How many rows each weight stands for; one if not given.
    effective_share : float, optional
        Computed from the weights if not given.
    """

    def __init__(
        self,
        weights: ArrayLike,
        *,
        count: ArrayLike | None = None,
        effective_share: float | None = None,
    ) -> None:
        given = np.asarray(weights, dtype=np.float64)
        self.weights = given[given > 0]
        if not len(self.weights):
            raise InputError("weights must have a positive value, but have none.")
        rows = np.ones(len(given)) if count is None else np.asarray(count, dtype=np.float64)
        self.count = rows[given > 0]
        total, squares = self.count @ self.weights, self.count @ self.weights**2
        self.effective_share = effective_share or total**2 / (self.count.sum() * squares)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None) -> Self:
        """Draw ``sample_weight_`` of a fitted model, or ``weights_`` of a balancer."""
        weights = getattr(model, "sample_weight_", getattr(model, "weights_", None))
        if weights is None:
            raise InputError(
                f"{type(model).__name__} has neither sample_weight_ nor weights_. Fit a model with "
                "balancing weights, for example GBRClassifier, or a GlobalBalancer."
            )
        count = getattr(model, "row_count_", None)
        return cls(weights, count=count, effective_share=model_facts(model).effective_share).plot(
            ax
        )

    def plot(self, ax: Axes | None = None, *, bins: int = 40) -> Self:
        """Draw a histogram of the weights, scaled to mean one."""
        ax = self._take_axes(ax, 3.2)
        share = self.count / self.count.sum()
        ax.hist(self.weights / (share @ self.weights), bins=bins, weights=share, color=MODEL)
        ax.axvline(1, color=QUIET, lw=1, ls=(0, (3, 3)))
        ax.set(xlabel="weight (mean 1)", ylabel="share of rows")
        ax.set_title(f"effective share {percent(self.effective_share)}", loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        return self
