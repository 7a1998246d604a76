"""What balancers of the field share: weights of the distinct rows, back at the user's rows."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from stablepred._validation import (
    FloatArray,
    atomic,
    check_at_least,
    check_sample_weight,
    column_names,
    validate,
    warn_user,
)
from stablepred.baselines.rows import distinct_rows
from stablepred.exceptions import ConstantFeatureWarning, InputError
from stablepred.io.save import save_method
from stablepred.io.values import check_fitted_names, is_fitted, n_features, numbers


class RowBalancer(BaseEstimator):
    """A balancer is its parameters and ``_weigh``, the weights of rows with masses."""

    weights_: FloatArray
    min_effective_share: float
    save = save_method

    @atomic
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the weights of the rows of ``X``; ``y`` is accepted and ignored."""
        x = validate(self, X, ensure_min_samples=3)
        self._check_parameters()
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

    def _check_parameters(self) -> None:
        check_at_least(self, "min_effective_share", 0)
        if self.min_effective_share >= 1:
            raise InputError(
                "min_effective_share must be less than 1 (1 would make all weights equal), but is "
                f"{self.min_effective_share!r}."
            )

    def check_stored(self) -> None:
        """Raise ValueError unless the balancer is sound."""
        self._check_parameters()
        if is_fitted(self):
            check_fitted_names(self, "weights_", "objective_", "n_iter_", "converged_")
            n_features(self)
            numbers(self, "weights_", (None,), low=0.0)
