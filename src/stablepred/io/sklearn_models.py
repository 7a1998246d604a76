"""scikit-learn's estimators that a model file may hold, and what makes them valid.

They cannot say that themselves, as the classes of this library do. Each is listed with the
attributes that it predicts from; the others only describe the fit. Shapes are written with
letters: k for the number of classes, h for the number of linear functions (1 for two classes,
else k), p for the number of features.
"""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from stablepred.io.values import (
    attribute,
    check_finite_sums,
    check_numbers,
    is_fitted,
    labels,
    n_features,
)


class SklearnModel(NamedTuple):
    """Where a class is defined, and the shapes and ranges of what it predicts from."""

    module: str
    shapes: dict[str, str]
    ranges: dict[str, tuple[float, float]]


_LINEAR_CLASSIFIER = {"coef_": "hp", "intercept_": "h"}
_LINEAR_REGRESSOR = {"coef_": "p", "intercept_": "1"}
_DISCRETE = {"feature_log_prob_": "kp", "class_log_prior_": "k"}
_GAUSSIAN = {"theta_": "kp", "var_": "kp", "class_prior_": "k"}
_LOG_PROBABILITY = (-1e6, 1e-9)

_REGRESSORS = (
    *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"),
    *("BayesianRidge", "HuberRegressor", "QuantileRegressor", "SGDRegressor"),
)
SKLEARN_MODELS = {
    **dict.fromkeys(_REGRESSORS, SklearnModel("sklearn.linear_model", _LINEAR_REGRESSOR, {})),
    "LinearSVR": SklearnModel("sklearn.svm", _LINEAR_REGRESSOR, {}),
    "LinearSVC": SklearnModel("sklearn.svm", _LINEAR_CLASSIFIER, {}),
    "LogisticRegression": SklearnModel("sklearn.linear_model", _LINEAR_CLASSIFIER, {}),
    "MultinomialNB": SklearnModel(
        "sklearn.naive_bayes", _DISCRETE, dict.fromkeys(_DISCRETE, _LOG_PROBABILITY)
    ),
    # Absence counts here, so that no feature may be certain.
    "BernoulliNB": SklearnModel(
        "sklearn.naive_bayes",
        _DISCRETE,
        {"feature_log_prob_": (-1e6, -1e-15), "class_log_prior_": _LOG_PROBABILITY},
    ),
    # Products of such numbers with each other and with features of that size are finite.
    "GaussianNB": SklearnModel(
        "sklearn.naive_bayes",
        _GAUSSIAN,
        {"theta_": (-1e100, 1e100), "var_": (1e-100, 1e100), "class_prior_": (1e-100, 1.0)},
    ),
}

# Parameters of earlier versions of scikit-learn; no prediction depends on them.
RETIRED = ("multi_class", "n_jobs", "penalty")


def find_sklearn_class(name: str) -> type | None:
    """The class of that name, if it is listed here."""
    if name not in SKLEARN_MODELS:
        return None
    cls: type = getattr(import_module(SKLEARN_MODELS[name].module), name)
    return cls


def check_sklearn_model(model: Any) -> None:
    """Refuse parameters that scikit-learn refuses, and shapes that do not fit each other."""
    model._validate_params()
    if not is_fitted(model):
        return
    listed = SKLEARN_MODELS[type(model).__name__]
    sizes = {"p": n_features(model), "1": 1}
    if {"k", "h"} & set("".join(listed.shapes.values())):
        sizes["k"] = len(labels(model))
        sizes["h"] = 1 if sizes["k"] == 2 else sizes["k"]
    for name, letters in listed.shapes.items():
        shape = tuple(sizes[letter] for letter in letters)
        low, high = listed.ranges.get(name, (-np.inf, np.inf))
        # Single numbers and those of 32 bits are as good for scikit-learn.
        value = np.atleast_1d(attribute(model, name))
        wide = value.astype(np.float64) if value.dtype.kind == "f" else value
        check_numbers(wide, f"{name} of the {type(model).__name__}", shape, low=low, high=high)
    if "coef_" in listed.shapes:
        check_finite_sums("coef_", np.ravel(model.coef_), np.ravel(model.intercept_))
    if getattr(model, "solver", None) == "liblinear" and len(model.classes_) > 2:
        raise ValueError("solver 'liblinear' has no more than two classes")
