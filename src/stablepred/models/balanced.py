"""Balancing for other predictive methods: any estimator that takes ``sample_weight``."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from stablepred._validation import FloatArray, check_sample_weight, fit_atomically
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.exceptions import InputError
from stablepred.io.save import save_method, storable
from stablepred.models.balancer import GlobalBalancer
from stablepred.models.stored import check_balanced


def _inner_has(method: str) -> Any:
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), method)


class _Balanced(MetaEstimatorMixin, BaseEstimator):
    """Fit a balancer, then the inner estimator under its weights."""

    estimator: Any
    balancer: Any
    save = save_method

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the balancer on 0/1 features, then the estimator on X as given, under its weights.

        The inner estimator receives ``sample_weight`` times the balancing weights.
        """
        return fit_atomically(self, lambda attempt: attempt._fit(X, y, sample_weight))

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise InputError(
                f"{type(self.estimator).__name__} does not take sample_weight in fit, so the "
                "balancing weights could not reach it. Choose an estimator that does."
            )
        x, y = validate_data(self, X, y, dtype=None, ensure_min_samples=3)
        count = check_sample_weight(sample_weight, x)
        balancer = GlobalBalancer() if self.balancer is None else clone(self.balancer)
        self.balancer_ = balancer.fit(X, y, sample_weight=count)
        w = getattr(balancer, "weights_", None)
        self.sample_weight_: FloatArray = balancer.sample_weight_ if w is None else w
        self.estimator_ = clone(self.estimator).fit(X, y, sample_weight=count * self.sample_weight_)

    @property
    def balance_report_(self) -> BalanceReport:
        """The balancer's report."""
        check_is_fitted(self)
        report: BalanceReport = self.balancer_.balance_report_
        return report

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predictions of the inner estimator."""
        self._check(X)
        prediction: np.ndarray = self.estimator_.predict(X)
        return prediction

    def check_stored(self) -> None:
        """Raise ValueError unless the model is sound."""
        check_balanced(self)

    def _check(self, X: ArrayLike) -> None:
        check_is_fitted(self)
        validate_data(self, X, dtype=None, reset=False, skip_check_array=False)


@storable
class BalancedClassifier(ClassifierMixin, _Balanced):
    """Any classifier, fitted under global balancing weights.

    Parameters
    ----------
    estimator : classifier with ``sample_weight`` in ``fit``
        Receives X as given.
    balancer : GlobalBalancer, DGBRClassifier or the like, default=None
        Finds the weights from 0/1 features; None means ``GlobalBalancer()``. The outcome is passed
        to the balancer, so that it can be one that uses it, such as ``DGBRClassifier``.

    Attributes
    ----------
    estimator_, balancer_ : the fitted parts
    sample_weight_ : ndarray of shape (n_samples,)
        The balancing weights.
    balance_report_ : BalanceReport
    classes_ : ndarray

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from stablepred import BalancedClassifier
    >>> from stablepred.data import SyntheticWorld
    >>> train = SyntheticWorld("s_indep_v").sample(500, bias_rate=0.75, random_state=0)
    >>> model = BalancedClassifier(RandomForestClassifier(n_estimators=10))
    >>> model.fit(train.X, train.y).predict(train.X).shape
    (500,)
    """

    def __init__(self, estimator: Any, balancer: Any = None) -> None:
        self.estimator = estimator
        self.balancer = balancer

    @property
    def classes_(self) -> np.ndarray:
        """Classes of the inner estimator."""
        check_is_fitted(self)
        classes: np.ndarray = self.estimator_.classes_
        return classes

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the inner estimator."""
        self._check(X)
        probability: FloatArray = self.estimator_.predict_proba(X)
        return probability

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Decision function of the inner estimator."""
        self._check(X)
        decision: FloatArray = self.estimator_.decision_function(X)
        return decision


@storable
class BalancedRegressor(RegressorMixin, _Balanced):
    """Any regressor, fitted under global balancing weights.

    Parameters and attributes as in :class:`BalancedClassifier`. The outcome may be any number; the
    balancer must not require a binary one.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from stablepred import BalancedRegressor
    >>> X = [[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1]]
    >>> BalancedRegressor(LinearRegression()).fit(X, [0, 0, 1, 2, 3, 3]).predict([[1, 1]]).round(2)
    array([3.])
    """

    def __init__(self, estimator: Any, balancer: Any = None) -> None:
        self.estimator = estimator
        self.balancer = balancer
