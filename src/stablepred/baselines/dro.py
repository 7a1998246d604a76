"""Distributionally robust regression: the worst distribution near that of the training rows.

    min_beta  sup { E_Q loss(beta) : Q near P }  +  l2 ||beta||^2

    chi2   E_P (dQ/dP - 1)^2 <= radius    sup = min_eta eta + sqrt(1 + radius) (E (loss - eta)_+^2)^(1/2)
    kl     E_Q log dQ/dP <= radius        sup = min_t (log E exp(t loss) + radius) / t
    cvar   dQ/dP <= 1 / level             sup = min_eta eta + E (loss - eta)_+ / level

Duchi and Namkoong (Annals of Statistics, 2021); Hu and Hong (2013) for KL; Rockafellar and Uryasev
(2000) for CVaR, the mean over the worst share ``level`` of the rows.
"""  # noqa: E501

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from stablepred._validation import (
    FloatArray,
    check_at_least,
    check_one_of,
    check_sample_weight,
    fit_atomically,
    validate,
)
from stablepred.baselines.linear import (
    Fit,
    LinearClassifier,
    LinearRegressor,
    Loss,
    check_solver,
    fit_worst_case,
    log_loss,
    squared_loss,
)
from stablepred.baselines.rows import distinct_rows, standardise
from stablepred.baselines.worst_case import Capped, ChiSquared, KullbackLeibler, WorstCase
from stablepred.exceptions import InputError
from stablepred.io.save import storable
from stablepred.models.entry import encode_outcome


class _DRO(BaseEstimator):
    """The parameters, and the fit to an outcome with a loss."""

    def __init__(
        self,
        divergence: str = "chi2",
        *,
        radius: float = 0.5,
        level: float = 0.2,
        l2: float = 1e-6,
        max_iter: int = 2000,
        tol: float = 1e-8,
    ) -> None:
        self.divergence = divergence
        self.radius = radius
        self.level = level
        self.l2 = l2
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        check_one_of(self, "divergence", ("chi2", "cvar", "kl"))
        check_solver(self)
        for name, most in {"radius": np.inf, "level": 1.0}.items():
            check_at_least(self, name, 0)
            if not 0 < getattr(self, name) < most:
                below = " and less than 1, a share of the rows" if name == "level" else ""
                raise InputError(
                    f"{name} must be larger than 0{below}, but is {getattr(self, name)!r}."
                )

    def _fit_rows(self, x: FloatArray, y: FloatArray, weight: FloatArray, loss: Loss) -> Fit:
        mass, first, _ = distinct_rows(weight, x, y)
        worst: WorstCase
        if self.divergence == "cvar":
            worst = Capped(mass, np.full(len(mass), 1 / self.level))
        else:
            kinds = {"chi2": ChiSquared, "kl": KullbackLeibler}
            worst = kinds[self.divergence](mass, self.radius)
        unit = np.arange(len(mass))
        return fit_worst_case(self, x[first], y[first], mass, loss, worst, unit)


@storable
class DROClassifier(LinearClassifier, _DRO):
    """Logistic regression for the worst distribution near that of the training rows.

    Parameters
    ----------
    divergence : {"chi2", "cvar", "kl"}, default="chi2"
        What "near" means; the formulas are at the top of the file and in the documentation.
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
    objective_ : float
        The minimum that was reached, penalty included.
    n_iter_, converged_ : int and bool

    Examples
    --------
    >>> from stablepred.baselines import DROClassifier
    >>> from stablepred.data import SyntheticWorld
    >>> train = SyntheticWorld("s_indep_v").sample(500, bias_rate=0.75, random_state=0)
    >>> DROClassifier(divergence="cvar").fit(train.X, train.y).predict_proba(train.X).shape
    (500, 2)
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to two classes."""
        return fit_atomically(self, lambda model: model._fit(X, y, sample_weight))

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        x, labels = validate(self, X, y)
        self._check_parameters()
        weight = check_sample_weight(sample_weight, x)
        self._take(self._fit_rows(x, encode_outcome(self, labels, weight), weight, log_loss))


@storable
class DRORegressor(LinearRegressor, _DRO):
    """Least squares for the worst distribution near that of the training rows.

    Parameters and attributes as in :class:`DROClassifier`; the objective is in units of the
    variance of ``y``.
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a number."""
        return fit_atomically(self, lambda model: model._fit(X, y, sample_weight))

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        x, outcome = validate(self, X, y, y_numeric=True)
        self._check_parameters()
        weight = check_sample_weight(sample_weight, x)
        z, mean, unit = standardise(outcome[:, None].astype(float), weight / weight.sum())
        found = self._fit_rows(x, z[:, 0], weight, squared_loss)
        self.coef_ = found.coef * unit
        self.intercept_ = float(found.intercept * unit[0] + mean[0])
        self.objective_, self.n_iter_ = found.objective, found.n_iter
        self.converged_ = found.converged
