"""Group DRO: the loss of the worst training environment (Sagawa, Koh, Hashimoto, Liang; ICLR 2020).

    min_beta  max_e  { mean loss of environment e + adjustment / sqrt(share_e) }  +  l2 ||beta||^2

For a linear model this is convex, and it is solved to the end, by the proximal method of
``minimax.py``, where the paper's networks need an exponentiated gradient.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from stablepred._validation import atomic
from stablepred.baselines.base import LinearClassifier
from stablepred.baselines.minimax import capped, fit_worst_case, log_loss
from stablepred.baselines.rows import read_rows
from stablepred.io.save import storable


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class GroupDROClassifier(LinearClassifier):
    """Logistic regression for the training environment that it predicts worst.

    Parameters
    ----------
    adjustment : float, default=0.0
        ``adjustment / sqrt(share of the rows)`` is added to the loss of every environment, so that
        small ones count for more. In the paper's notation it is C / sqrt(n), n all rows together.
    l2 : float, default=1e-6
        Penalty on the squared coefficients of the standardised columns.
    max_iter, tol : int and float
        Of L-BFGS: its iterations in all, and the largest slope at which it stops.

    Attributes
    ----------
    classes_, coef_, intercept_ : as in scikit-learn's LogisticRegression
    objective_ : float
        The minimum that was reached, adjustment and penalty included.
    n_iter_, converged_ : int and bool

    Examples
    --------
    >>> from stablepred.baselines import GroupDROClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 4
    >>> y = [0, 0, 1, 1] * 2 + [0, 1, 1, 1] * 2
    >>> model = GroupDROClassifier(l2=0.01).fit(X, y, environment=["a"] * 8 + ["b"] * 8)
    >>> model.predict([[1, 1]])
    array([1])
    """

    adjustment: float = 0.0
    l2: float = 1e-6
    max_iter: int = 2000
    tol: float = 1e-8

    @atomic
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        environment: Any = None,
    ) -> Self:
        """Fit to two classes; ``environment`` has the label of every row's environment.

        Without ``environment`` this is plain logistic regression, with a warning.
        """
        rows = read_rows(self, X, y, sample_weight, environment, grouped=True)
        share = np.bincount(rows.group, rows.mass).astype(np.float64)
        worst = partial(capped, share, 1 / share)  # any weights of groups that sum to one
        added = self.adjustment / np.sqrt(share)
        coef, intercept = fit_worst_case(self, rows, log_loss, worst, rows.group, added)
        self.coef_, self.intercept_ = coef[None], np.array([intercept])
        return self
