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
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from stablepred._validation import FloatArray, atomic, check_sample_weight, validate
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.exceptions import InputError
from stablepred.heads.wrapped import check_kind, find_weight_name, fit_weighted
from stablepred.io import values
from stablepred.io.save import save_method, storable
from stablepred.models.balancer import GlobalBalancer


def _last_step(estimator: Any) -> Any:
    return _last_step(estimator[-1]) if isinstance(estimator, Pipeline) else estimator


def _no_balancer(kind: type) -> InputError:
    return InputError(
        "balancer must find weights of the rows, as GlobalBalancer or DGBRClassifier do, but "
        f"{kind.__name__} does not. Pass one of them, or a pipeline that ends in one."
    )


def _inner_has(method: str) -> Any:
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), method)


class _Balanced(MetaEstimatorMixin, BaseEstimator):
    estimator_: BaseEstimator
    balancer_: BaseEstimator
    sample_weight_: FloatArray
    save = save_method

    def __init__(self, estimator: BaseEstimator, balancer: BaseEstimator | None = None) -> None:
        self.estimator = estimator
        self.balancer = balancer

    @atomic
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Fit the balancer on X, then the estimator under its weights.

        The inner estimator receives X as given and ``sample_weight`` times the balancing weights;
        in a pipeline, these go to the last step, unless some step requests them. ``params`` are
        what it requests besides, by scikit-learn's metadata routing.
        """
        routed = process_routing(self, "fit", **params).estimator.fit if params else {}
        self._check_parts()
        # Missing values and text are left to the parts.
        options = {"dtype": None, "ensure_all_finite": False}
        x, y = validate(self, X, y, ensure_min_samples=3, **options)
        count = check_sample_weight(sample_weight, x)
        balancer = GlobalBalancer() if self.balancer is None else clone(self.balancer)
        self.balancer_ = fit_weighted(balancer, X, y, count)
        last = _last_step(self.balancer_)
        w = getattr(last, "weights_", getattr(last, "sample_weight_", None))
        if w is None:
            raise _no_balancer(type(last))
        self.sample_weight_ = w
        self.estimator_ = fit_weighted(clone(self.estimator), X, y, count * w, **routed)
        return self

    def _check_parts(self) -> None:
        if find_weight_name(self.estimator) is None:
            raise InputError(
                f"{type(self.estimator).__name__} does not take sample_weight in fit, so the "
                "balancing weights could not reach it. Choose an estimator that does."
            )
        check_kind(self, "Balanced")
        last = _last_step(self.balancer)
        kind = last if isinstance(last, type) else type(last)
        if last is not None and (kind is last or not hasattr(last, "fit")):
            raise _no_balancer(kind)

    def get_metadata_routing(self) -> MetadataRouter:
        """What ``fit`` takes itself, and what it passes on to the inner estimator."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    @property
    def balance_report_(self) -> BalanceReport:
        """The balancer's report."""
        check_is_fitted(self)
        return _last_step(self.balancer_).balance_report_

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predictions of the inner estimator."""
        return self._ask("predict", X)

    def check_stored(self) -> None:
        if not values.is_fitted(self):
            return
        p, names = values.n_features(self), vars(self).get("feature_names_in_")
        values.numbers(self, "sample_weight_", (None,), low=0.0)
        for name in ("estimator_", "balancer_"):
            part = vars(vars(self)[name])
            same = np.array_equal(names, part.get("feature_names_in_"))  # type: ignore[arg-type]
            if part.get("n_features_in_") != p or not same:
                raise ValueError(f"{name} is not fitted on the {p} features of the model")

    def _ask(self, method: str, X: ArrayLike) -> Any:
        check_is_fitted(self)
        validate_data(self, X, dtype=None, reset=False, ensure_all_finite=False)
        return getattr(self.estimator_, method)(X)


@storable
class BalancedClassifier(ClassifierMixin, _Balanced):
    """Any classifier, fitted under global balancing weights.

    Parameters
    ----------
    estimator : classifier with ``sample_weight`` in ``fit``, or a pipeline that ends in one
        Receives X as given, as the balancer does; missing values and text are for them to take,
        for example in pipelines that begin with a `TableEncoder`.
    balancer : GlobalBalancer, DGBRClassifier or the like, or a pipeline of them, default=None
        Finds the weights; None means ``GlobalBalancer()``. The outcome is passed to the balancer,
        so that it can be one that uses it, such as ``DGBRClassifier``.

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

    @property
    def classes_(self) -> np.ndarray:
        """Classes of the inner estimator."""
        check_is_fitted(self)
        return self.estimator_.classes_

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the inner estimator."""
        return self._ask("predict_proba", X)

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Decision function of the inner estimator."""
        return self._ask("decision_function", X)


@storable
class BalancedRegressor(RegressorMixin, _Balanced):
    """Any regressor, fitted under global balancing weights.

    Parameters and attributes as in :class:`BalancedClassifier`. The outcome may be any number; the
    balancer must not require a binary one.
    """
