"""What balancers of the field share: weights of the distinct rows, back at the user's rows."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from stablepred._parameters import check_parameters
from stablepred._validation import (
    FloatArray,
    atomic,
    check_sample_weight,
    column_names,
    validate,
    warn_user,
)
from stablepred.baselines.rows import distinct_rows
from stablepred.exceptions import ConstantFeatureWarning
from stablepred.io.save import save_method
from stablepred.io.values import is_fitted, n_features, numbers


class RowBalancer(BaseEstimator):
    """A balancer is its parameters and ``_weigh``, the weights of rows with masses."""

    weights_: FloatArray
    objective_: float
    n_iter_: int
    converged_: bool
    save = save_method

    @atomic
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the weights of the rows of ``X``; ``y`` is accepted and ignored."""
        x = validate(self, X, ensure_min_samples=3)
        check_parameters(self)
        mass, first, at = distinct_rows(self, check_sample_weight(sample_weight, x), x)
        varying = (x[first] != x[first[0]]).any(axis=0)
        if not varying.all():
            names = ", ".join(np.array(column_names(self, x.shape[1]))[~varying])
            warn_user(
                f"features that are constant in the training rows are not balanced: {names}",
                ConstantFeatureWarning,
            )
        w = self._weigh(x[first][:, varying], mass) if varying.any() else np.ones(len(mass))
        self.weights_ = np.where(at < 0, 1.0, w[at])
        return self

    def _weigh(self, x: FloatArray, mass: FloatArray) -> FloatArray:
        """Weights of distinct rows; their mean under the masses is one."""
        raise NotImplementedError

    @property
    def sample_weight_(self) -> FloatArray:
        """The weights, under the name that estimators use."""
        return self.weights_

    def check_stored(self) -> None:
        """Raise ValueError unless the balancer is sound."""
        check_parameters(self)
        if is_fitted(self):
            n_features(self)
            numbers(self, "weights_", (None,), low=0.0)
