"""Anchor regression (Rothenhaeusler, Meinshausen, Buehlmann, Peters; JRSS B, 2021).

    min_b  ||(I - P)(y - X b)||^2 + gamma ||P (y - X b)||^2

P replaces a column by its means within environments; X and y are centred. The minimum is that of
least squares with X + (sqrt(gamma) - 1) P X in place of X, and the same for y. gamma = 0 removes
what differs between environments, 1 is least squares, a large one is near instrumental variables.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from stablepred._validation import atomic
from stablepred.baselines.base import LinearRegressor
from stablepred.baselines.rows import read_rows, standardise
from stablepred.io.save import storable


@storable
class AnchorRegressor(LinearRegressor):
    """Least squares that limits the error under larger shifts of the kind between environments.

    Parameters
    ----------
    gamma : float, default=5.0
        How much stronger than in training the shifts are for which the worst error is least.

    Attributes
    ----------
    coef_, intercept_ : as in scikit-learn's LinearRegression

    Examples
    --------
    >>> from stablepred.baselines import AnchorRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [4.0]], [0.0, 1.0, 2.0, 4.0]
    >>> model = AnchorRegressor().fit(X, y, environment=["a", "a", "b", "b"])
    >>> model.predict([[3.0]]).round(6)
    array([3.])
    """

    def __init__(self, gamma: float = 5.0) -> None:
        self.gamma = gamma

    @atomic
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        environment: ArrayLike | None = None,
    ) -> Self:
        """Fit to a number; ``environment`` has the label of every row's environment.

        Without ``environment`` this is least squares, with a warning.
        """
        x, outcome, mass, group = read_rows(self, X, y, sample_weight, environment, grouped=True)
        z, mean, scale = standardise(np.column_stack([x, outcome]), mass)
        share = np.bincount(group, mass)
        means = np.stack([np.bincount(group, mass * column) / share for column in z.T], axis=1)
        pulled = z + (np.sqrt(self.gamma) - 1) * means[group]
        pulled *= np.sqrt(mass)[:, None]
        solution = np.linalg.lstsq(pulled[:, :-1], pulled[:, -1], rcond=None)[0]
        self.coef_ = solution / scale[:-1] * scale[-1]
        self.intercept_ = float(mean[-1] - mean[:-1] @ self.coef_)
        return self
