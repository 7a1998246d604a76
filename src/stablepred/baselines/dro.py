"""Distributionally robust regression: the worst distribution near that of the training rows.

    min_beta  sup { E_Q loss(beta) : Q near P }  +  l2 ||beta||^2

    chi2   E_P (dQ/dP - 1)^2 <= radius    sup = min_eta eta + sqrt(1 + radius) (E (loss - eta)_+^2)^(1/2)
    kl     E_Q log dQ/dP <= radius        sup = min_t (log E exp(t loss) + radius) / t
    cvar   dQ/dP <= 1 / level             sup = min_eta eta + E (loss - eta)_+ / level

Duchi and Namkoong (Annals of Statistics, 2021); Hu and Hong (2013) for KL; Rockafellar and Uryasev
(2000) for CVaR, the mean over the worst share ``level`` of the rows.
"""  # noqa: E501

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier

from stablepred._validation import atomic
from stablepred.baselines import minimax
from stablepred.baselines.base import LinearClassifier, LinearModel, LinearRegressor
from stablepred.baselines.rows import read_rows, standardise
from stablepred.io.save import storable


@dataclass(eq=False, repr=False)
class _DRO(LinearModel):
    divergence: str = "chi2"
    _: KW_ONLY
    radius: float = 0.5
    level: float = 0.2
    l2: float = 1e-6
    max_iter: int = 2000
    tol: float = 1e-8

    @atomic
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to two classes, or to a number."""
        rows = read_rows(self, X, y, sample_weight, grouped=False)
        m, every = rows.mass, np.arange(len(rows.mass))
        worst = {
            "chi2": partial(minimax.chi_squared, m, self.radius),
            "kl": partial(minimax.kullback_leibler, m, self.radius),
            "cvar": partial(minimax.capped, m, np.full(len(m), 1 / self.level)),
        }[self.divergence]
        if is_classifier(self):
            coef, intercept = minimax.fit_worst_case(self, rows, minimax.log_loss, worst, every)
            self.coef_, self.intercept_ = coef[None], np.array([intercept])
            return self
        z, (mean,), (unit,) = standardise(rows.y[:, None], m)
        rows = rows._replace(y=z[:, 0])
        coef, intercept = minimax.fit_worst_case(self, rows, minimax.squared_loss, worst, every)
        self.coef_, self.intercept_ = coef * unit, float(intercept * unit + mean)
        return self


@storable
class DROClassifier(LinearClassifier, _DRO):
    """Logistic regression for the worst distribution near that of the training rows.

    Parameters
    ----------
    divergence : {"chi2", "cvar", "kl"}, default="chi2"
        What "near" means; docs/baselines.md has the formulas.
    radius : float, default=0.5
        Of the ball, for chi2 and kl.
    level : float, default=0.2
        For cvar: the share of the rows, the worst predicted, that the loss is averaged over.
    l2 : float, default=1e-6
        Penalty on the squared coefficients of the standardised columns.
    max_iter, tol : int and float
        Of L-BFGS: its iterations in all, and the largest slope at which it stops.

    Attributes
    ----------
    classes_, coef_, intercept_ : as in scikit-learn's LogisticRegression
    objective_, n_iter_, converged_ : float, int and bool
        The minimum that was reached, penalty included; how the search ended.

    Examples
    --------
    >>> from stablepred.baselines import DROClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 2, [0, 0, 1, 1, 0, 1, 1, 1]
    >>> DROClassifier("cvar").fit(X, y).predict_proba(X).shape
    (8, 2)
    """


@storable
class DRORegressor(LinearRegressor, _DRO):
    """Least squares for the worst distribution near that of the training rows.

    As :class:`DROClassifier`, with the objective in units of the variance of ``y``.
    """
