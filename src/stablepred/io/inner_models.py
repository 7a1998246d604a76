"""scikit-learn's estimators that may stand in a model file, and what makes them valid.

Each is named with the attributes that it predicts from. Shapes are written with letters: k for
the number of classes, h for the number of linear functions (1 for two classes, else k), p for the
number of features. Attributes that are not named here only describe the fit.
"""

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from stablepred.io.values import (
    attribute,
    check_feature_names,
    check_labels,
    check_numbers,
    whole_number,
)


@dataclass(frozen=True)
class InnerModel:
    """Where a class comes from and the shapes of what it predicts from."""

    module: str
    shapes: dict[str, str]
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)


_LINEAR_CLASSIFIER = {"coef_": "hp", "intercept_": "h"}
_LINEAR_REGRESSOR = {"coef_": "p", "intercept_": "1"}
# Products of such numbers with each other and with features of that size are finite.
_MODERATE = (-1e100, 1e100)
_LOG_PROBABILITY = (-1e6, 1e-9)
_LOG_PRIORS = {"class_log_prior_": _LOG_PROBABILITY}
_DISCRETE = {"feature_log_prob_": "kp", "class_log_prior_": "k"}

INNER_MODELS = {
    **{
        name: InnerModel("sklearn.linear_model", _LINEAR_REGRESSOR)
        for name in (
            *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet"),
            *("ElasticNetCV", "BayesianRidge", "HuberRegressor", "QuantileRegressor"),
            "SGDRegressor",
        )
    },
    "LinearSVR": InnerModel("sklearn.svm", _LINEAR_REGRESSOR),
    "LinearSVC": InnerModel("sklearn.svm", _LINEAR_CLASSIFIER),
    "LogisticRegression": InnerModel("sklearn.linear_model", _LINEAR_CLASSIFIER),
    # Absence counts for Bernoulli's, so that no feature may be certain.
    "BernoulliNB": InnerModel(
        "sklearn.naive_bayes", _DISCRETE, _LOG_PRIORS | {"feature_log_prob_": (-1e6, -1e-15)}
    ),
    "MultinomialNB": InnerModel(
        "sklearn.naive_bayes", _DISCRETE, _LOG_PRIORS | {"feature_log_prob_": _LOG_PROBABILITY}
    ),
    "GaussianNB": InnerModel(
        "sklearn.naive_bayes",
        {"theta_": "kp", "var_": "kp", "class_prior_": "k"},
        {"theta_": _MODERATE, "var_": (1e-100, 1e100), "class_prior_": (1e-100, 1.0)},
    ),
}

# Parameters of earlier versions of scikit-learn; no prediction depends on them.
RETIRED = ("multi_class", "n_jobs", "penalty")


def inner_class(name: str) -> type:
    """The class of that name, one of ``INNER_MODELS``."""
    cls: type = getattr(import_module(INNER_MODELS[name].module), name)
    return cls


def check_inner_model(model: Any) -> None:
    """Refuse parameters that scikit-learn refuses, and shapes that do not fit each other."""
    model._validate_params()
    if not any(name.endswith("_") for name in vars(model)):
        return
    kind = INNER_MODELS[type(model).__name__]
    sizes = {"p": whole_number(model, "n_features_in_", least=1), "1": 1}
    check_feature_names(model, sizes["p"])
    if "k" in "".join(kind.shapes.values()) or "h" in "".join(kind.shapes.values()):
        sizes["k"] = len(check_labels(model))
        sizes["h"] = 1 if sizes["k"] == 2 else sizes["k"]
    for name, letters in kind.shapes.items():
        shape = tuple(sizes[letter] for letter in letters)
        low, high = kind.ranges.get(name, (-np.inf, np.inf))
        # Single numbers and those of 32 bits are as good for scikit-learn.
        value = np.atleast_1d(attribute(model, name))
        wide = value.astype(np.float64) if value.dtype.kind == "f" else value
        check_numbers(wide, f"{name} of the {type(model).__name__}", shape, low=low, high=high)
    if "coef_" in kind.shapes:
        _check_linear(model)


def _check_linear(model: Any) -> None:
    with np.errstate(over="ignore"):
        largest = np.abs(model.coef_).sum() + np.abs(model.intercept_).sum()
    if not np.isfinite(largest):
        raise ValueError("coef_ adds up to more than a number can hold")
    if getattr(model, "solver", None) == "liblinear" and len(model.classes_) > 2:
        raise ValueError("solver 'liblinear' has no more than two classes")
