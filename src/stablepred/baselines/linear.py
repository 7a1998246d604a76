"""Predictions of linear models, for two classes and for a number."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from stablepred._parameters import check_parameters
from stablepred._validation import FloatArray, validate
from stablepred.baselines.minimax import Fit
from stablepred.io import values
from stablepred.io.save import save_method


def scores(model: Any, X: ArrayLike) -> FloatArray:
    """The linear function of new rows."""
    check_is_fitted(model)
    return validate(model, X, reset=False) @ np.ravel(model.coef_) + model.intercept_


def check_linear(model: Any) -> None:
    """Raise ValueError unless the model is sound."""
    check_parameters(model)
    if values.is_fitted(model):
        one = () if isinstance(model, RegressorMixin) else (1,)
        if one and len(values.labels(model)) != 2:
            raise ValueError("classes_ must be two labels")
        coef = values.numbers(model, "coef_", (*one, values.n_features(model)))
        offset = values.numbers(model, "intercept_", one) if one else np.array(model.intercept_)
        values.check_finite_sums("coef_", coef, offset)


class LinearClassifier(ClassifierMixin):
    """Two classes by log-odds that are linear in the columns."""

    classes_: np.ndarray
    coef_: FloatArray
    intercept_: FloatArray
    objective_: float
    n_iter_: int
    converged_: bool
    save = save_method
    check_stored = check_linear

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log-odds of the positive class."""
        return scores(self, X)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class: (n_samples, 2)."""
        odds = scores(self, X)
        return np.column_stack([expit(-odds), expit(odds)])

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The more probable class of each row."""
        positive = scores(self, X) > 0
        return self.classes_[positive.astype(int)]

    def _take(self, fit: Fit) -> None:
        self.coef_, self.intercept_ = fit.coef[None], np.array([fit.intercept])
        self.objective_, self.n_iter_, self.converged_ = fit[2:]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LinearRegressor(RegressorMixin):
    """A number that is linear in the columns."""

    coef_: FloatArray
    intercept_: float
    objective_: float
    n_iter_: int
    converged_: bool
    save = save_method
    check_stored = check_linear

    def predict(self, X: ArrayLike) -> FloatArray:
        """The predicted number of each row."""
        return scores(self, X)
