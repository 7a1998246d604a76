"""What baselines share: predictions of linear models, and weights given back to all rows."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

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
from stablepred.io import values
from stablepred.io.objects import check_sklearn_model
from stablepred.io.save import save_method


class LinearModel(BaseEstimator):
    coef_: FloatArray
    intercept_: Any
    objective_: float
    n_iter_: int
    converged_: bool
    save = save_method
    _validate_params = check_parameters

    def _score(self, X: ArrayLike) -> Any:
        check_is_fitted(self)
        return validate(self, X, reset=False) @ np.ravel(self.coef_) + self.intercept_

    def check_stored(self) -> None:
        check_sklearn_model(self)
        if len(getattr(self, "classes_", (0, 1))) != 2:
            raise ValueError("classes_ must be two labels")


class LinearClassifier(ClassifierMixin, LinearModel):
    """Two classes by log-odds that are linear in the columns."""

    classes_: np.ndarray
    intercept_: FloatArray

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log-odds of the positive class."""
        return np.asarray(self._score(X))

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class: (n_samples, 2)."""
        odds = self._score(X)
        return np.column_stack([expit(-odds), expit(odds)])

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The more probable class of each row."""
        positive = self._score(X) > 0  # first, since it says so where there was no fit
        return self.classes_[positive.astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LinearRegressor(RegressorMixin, LinearModel):
    intercept_: float

    def predict(self, X: ArrayLike) -> FloatArray:
        """The predicted number of each row."""
        return np.asarray(self._score(X))


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
        check_parameters(self)
        if values.is_fitted(self):
            values.n_features(self)
            values.numbers(self, "weights_", (None,), low=0.0)
