"""Predictions of linear models, for two classes and for a number."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from stablepred._parameters import check_parameters
from stablepred._validation import FloatArray, validate
from stablepred.baselines.minimax import Fit
from stablepred.io import values
from stablepred.io.save import save_method


class LinearModel(BaseEstimator):
    """A linear function of the columns."""

    coef_: FloatArray
    objective_: float
    n_iter_: int
    converged_: bool
    save = save_method

    def _score(self, X: ArrayLike) -> Any:
        """The linear function of new rows."""
        check_is_fitted(self)
        return validate(self, X, reset=False) @ np.ravel(self.coef_) + vars(self)["intercept_"]

    def check_stored(self) -> None:
        """Raise ValueError unless the model is sound."""
        check_parameters(self)
        if values.is_fitted(self):
            shape = (1,) if is_classifier(self) else ()
            if shape and len(values.labels(self)) != 2:
                raise ValueError("classes_ must be two labels")
            coef = values.numbers(self, "coef_", (*shape, values.n_features(self)))
            offset = np.asarray(values.attribute(self, "intercept_"))
            if offset.shape != shape:
                raise ValueError(f"intercept_ must have shape {shape}, but has {offset.shape}")
            values.check_finite_sums("coef_", coef, offset)


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
        positive = self._score(X) > 0
        return self.classes_[positive.astype(int)]

    def _take(self, fit: Fit) -> None:
        self.coef_, self.intercept_ = fit.coef[None], np.array([fit.intercept])
        self.objective_, self.n_iter_, self.converged_ = fit[2:]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LinearRegressor(RegressorMixin, LinearModel):
    """A number that is linear in the columns."""

    intercept_: float

    def predict(self, X: ArrayLike) -> FloatArray:
        """The predicted number of each row."""
        return np.asarray(self._score(X))
