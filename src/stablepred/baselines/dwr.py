"""Decorrelating weights, DWR (Kuang, Xiong, Cui, Athey, Li; AAAI 2020; see also Shen et al. 2020).

    min_w  sum_{j != k} Cov_w(x_j, x_k)^2 + weight_l2 sum_i m_i w_i^2,    w >= 0, sum_i m_i w_i = 1

for standardised columns and row masses m. The paper holds the mean of the weights at one by a
penalty; here it is exact. w = omega^2 / mean(omega^2), by L-BFGS in omega.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from stablepred._parameters import Rule, at_least
from stablepred._validation import FloatArray
from stablepred.baselines.base import RowBalancer
from stablepred.baselines.rows import standardise, warn_unless_converged
from stablepred.io.save import storable


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class DWRBalancer(RowBalancer):
    """Row weights under which the columns are uncorrelated; for numbers and 0/1 alike.

    Pairs of 0/1 columns that are never both 1, such as the levels of a category, are left out:
    no weights can make them uncorrelated.

    Parameters
    ----------
    order : int, default=1
        Powers of the columns up to this one are uncorrelated with those of other columns.
    weight_l2 : float, default=0.01
        Penalty on the variance of the weights.
    min_effective_share : float, default=0.1
        Floor on the effective sample size, as a share of the rows: the penalty is doubled until it
        is reached.
    max_iter, tol : int and float
        Of L-BFGS: its iterations in all, and the relative change at which it stops.

    Attributes
    ----------
    weights_, sample_weight_ : ndarray of shape (n_samples,)
        Mean one under the sample weights.
    objective_ : float
        The minimum that was reached, with the penalty in use.
    n_iter_, converged_ : int and bool

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from stablepred import BalancedRegressor
    >>> from stablepred.baselines import DWRBalancer
    >>> model = BalancedRegressor(LinearRegression(), DWRBalancer())
    """

    rules: ClassVar[dict[str, Rule]] = {"order": at_least(1, integer=True)}

    order: int = 1
    weight_l2: float = 0.01
    min_effective_share: float = 0.1
    max_iter: int = 2000
    tol: float = 1e-9

    def _weigh(self, x: FloatArray, mass: FloatArray) -> FloatArray:
        z, apart = columns_apart(x, mass, self.order)
        penalty, omega, left = float(self.weight_l2), np.ones(len(mass)), self.max_iter
        while True:
            found = minimize(  # type: ignore[call-overload]
                lambda o, penalty=penalty: _objective(o, z, apart, mass, penalty),
                omega,
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": left, "maxfun": 2 * left, "ftol": self.tol, "gtol": 1e-12},
            )
            omega, left = found.x, left - max(found.nit, 1)
            w = omega**2 / (mass @ omega**2)
            if 1 / (mass @ w**2) >= self.min_effective_share or left <= 0:
                break
            penalty = max(2 * penalty, 1e-3)
        self.objective_ = float(found.fun)
        self.n_iter_, self.converged_ = self.max_iter - left, left > 0
        warn_unless_converged(self, "weight_l2")
        return np.asarray(w)


def columns_apart(x: FloatArray, mass: FloatArray, order: int) -> tuple[FloatArray, NDArray[Any]]:
    """Standardised powers of the columns, and which pairs of them are to be uncorrelated."""
    z, binary = standardise(x, mass)[0], ((x == 0) | (x == 1)).all(axis=0)
    variable = np.concatenate([np.arange(x.shape[1])] * order)
    powers = np.column_stack([z ** (k + 1) for k in range(order)])
    kept = np.arange(len(variable)) < x.shape[1]
    kept |= ~binary[variable]  # all powers of a 0/1 column are the same
    ones = np.where(binary, x, 1.0)
    common = np.asarray(ones.T @ ones) > 0  # not two columns that are never both 1
    apart = (variable[:, None] != variable) & common[np.ix_(variable, variable)]
    return standardise(powers[:, kept], mass)[0], np.asarray(apart)[np.ix_(kept, kept)]


def _objective(
    omega: FloatArray, z: FloatArray, apart: NDArray[Any], mass: FloatArray, weight_l2: float
) -> tuple[float, FloatArray]:
    total = mass @ omega**2
    w = omega**2 / total
    v = mass * w
    centred = z - v @ z
    covariance = np.where(apart, centred.T @ (v[:, None] * centred), 0.0)
    # Of the loss in v; centring adds nothing, because v sums to one.
    slope = 2 * ((centred @ covariance) * centred).sum(axis=1) + 2 * weight_l2 * w
    value = (covariance**2).sum() + weight_l2 * (v @ w)
    return float(value), 2 * omega * mass * (slope - v @ slope) / total
