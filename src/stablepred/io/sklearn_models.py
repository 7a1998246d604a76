"""scikit-learn's estimators that a model file may hold, and what makes them valid.

Each is listed with the attributes that it predicts from and their shapes: k is the number of
classes, h that of linear functions (1 for two classes, else k), p that of features.
"""

from importlib import import_module
from typing import Any

import numpy as np

from stablepred.io.values import (
    attribute,
    check_finite_sums,
    check_numbers,
    is_fitted,
    labels,
    n_features,
)

_LINEAR = "sklearn.linear_model"
_CLASSIFIER = {"coef_": "hp", "intercept_": "h"}
_REGRESSOR = {"coef_": "p", "intercept_": "1"}
_DISCRETE = {"feature_log_prob_": "kp", "class_log_prior_": "k"}
_REGRESSORS = (
    *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"),
    *("BayesianRidge", "HuberRegressor", "QuantileRegressor", "SGDRegressor"),
)
# Where a class is defined, and the shapes of what it predicts from.
SKLEARN_MODELS: dict[str, tuple[str, dict[str, str]]] = {
    **dict.fromkeys(_REGRESSORS, (_LINEAR, _REGRESSOR)),
    "LinearSVR": ("sklearn.svm", _REGRESSOR),
    "LinearSVC": ("sklearn.svm", _CLASSIFIER),
    "LogisticRegression": (_LINEAR, _CLASSIFIER),
    "MultinomialNB": ("sklearn.naive_bayes", _DISCRETE),
    "BernoulliNB": ("sklearn.naive_bayes", _DISCRETE),
    "GaussianNB": ("sklearn.naive_bayes", {"theta_": "kp", "var_": "kp", "class_prior_": "k"}),
}
# Products of such numbers with each other and with features of that size are finite.
RANGES = {
    "feature_log_prob_": (-1e6, 1e-9),
    "class_log_prior_": (-1e6, 1e-9),
    "theta_": (-1e100, 1e100),
    "var_": (1e-100, 1e100),
    "class_prior_": (1e-100, 1.0),
}

# Parameters of earlier versions of scikit-learn; no prediction depends on them.
RETIRED = ("multi_class", "n_jobs", "penalty")


def find_sklearn_class(name: str) -> type | None:
    """The class of that name, if it is listed here."""
    found = SKLEARN_MODELS.get(name)
    return getattr(import_module(found[0]), name) if found else None


def check_sklearn_model(model: Any) -> None:
    """Refuse parameters that scikit-learn refuses, and shapes that do not fit each other."""
    model._validate_params()
    if not is_fitted(model):
        return
    kind = type(model).__name__
    _, shapes = SKLEARN_MODELS[kind]
    sizes = {"p": n_features(model), "1": 1}
    if shapes is not _REGRESSOR:
        sizes["k"] = len(labels(model))
        sizes["h"] = 1 if sizes["k"] == 2 else sizes["k"]
    for name, letters in shapes.items():
        low, high = RANGES.get(name, (-np.inf, np.inf))
        if kind == "BernoulliNB" and name == "feature_log_prob_":
            high = -1e-15  # absence counts here, so that no feature may be certain
        # Single numbers and those of 32 bits are as good for scikit-learn.
        value = np.atleast_1d(attribute(model, name))
        wide = value.astype(np.float64) if value.dtype.kind == "f" else value
        shape = tuple(map(sizes.get, letters))
        check_numbers(wide, f"{name} of the {kind}", shape, low=low, high=high)
    if "coef_" in shapes:
        check_finite_sums("coef_", np.ravel(model.coef_), np.ravel(model.intercept_))
    if getattr(model, "solver", None) == "liblinear" and len(model.classes_) > 2:
        raise ValueError("solver 'liblinear' has no more than two classes")
