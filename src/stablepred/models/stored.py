"""Checks of estimators from files: their parts fit each other, and they can predict.

Types have been checked before, by the annotations of each class. What only describes the fit is not
checked further. Each check lists the fitted attributes that its estimator may have.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from stablepred.io.values import (
    attribute,
    brief,
    check_finite_sums,
    check_fitted_names,
    check_numbers,
    is_fitted,
    labels,
    n_features,
    numbers,
)
from stablepred.models.screening import check_screening_parameters
from stablepred.models.standardizer import Standardizer
from stablepred.preprocessing import Dichotomizer

# What all estimators that balance have.
SHARED = (
    *("dichotomizer_", "standardizer_", "converged_", "balance_report_"),
    *("n_iter_", "history_", "row_count_"),
)


def check_balancer(model: Any) -> None:
    """Raise ValueError unless a GlobalBalancer is sound."""
    model._check_parameters()
    if is_fitted(model):
        _check_shared(model, "weights_")


def check_classifier(model: Any) -> None:
    """Raise ValueError unless GBR, DLR or DGBR is sound."""
    model._check_parameters()
    if not is_fitted(model):
        return
    p = _check_shared(
        model,
        "sample_weight_",
        *("classes_", "coef_", "intercept_", "encoders_", "pairs_", "recipe_", "head_", "heads_"),
        *("feature_effects_", "stable_features_", "random_state_"),
    )
    if len(labels(model)) != 2:
        raise ValueError("classes_ must be two labels")
    effects, stable = attribute(model, "feature_effects_"), attribute(model, "stable_features_")
    if not {"feature", "effect", "stable"} <= set(effects) or len(effects) != p:
        raise ValueError(f"feature_effects_ must be a table with a row for each of {p} features")
    if stable.shape != (p,):
        raise ValueError(f"stable_features_ must be {p} booleans")
    pairs = attribute(model, "pairs_")
    if not isinstance(pairs, list) or not all(
        isinstance(pair, tuple)
        and [type(column) for column in pair] == [int, int]
        and 0 <= min(pair) < max(pair) < p
        for pair in pairs
    ):
        raise ValueError(f"pairs_ must be a list of pairs of {p} columns")
    encoders, inputs = attribute(model, "encoders_"), p + len(pairs)
    width = sum(_check_encoder(layers, inputs, k) for k, layers in enumerate(encoders))
    if bool(encoders) != ("hidden" in vars(model)):
        raise ValueError("encoders_ must be present for a network, and only then")
    # Files of before the head was chosen in the fit name it by the parameter.
    given = getattr(model, "head", "embedding") if encoders else "features"
    vars(model).setdefault("head_", given)
    # With a head on the features the encoders only made the weights.
    on_embedding = attribute(model, "head_") == "embedding"
    if attribute(model, "head_") not in ("features", "embedding") or on_embedding > bool(encoders):
        raise ValueError(f"head_ must be a head that the model has, not {model.head_!r}")
    coef = numbers(model, "coef_", (1, width if on_embedding else p))
    check_finite_sums("coef_", coef, numbers(model, "intercept_", (1,)))


def check_balanced(model: Any) -> None:
    """Raise ValueError unless a BalancedClassifier or BalancedRegressor is sound."""
    for name, kinds in {"estimator": BaseEstimator, "balancer": BaseEstimator | None}.items():
        if not isinstance(getattr(model, name), kinds):
            raise ValueError(f"{name} must be an estimator, not {brief(getattr(model, name))}")
    if not is_fitted(model):
        return
    check_fitted_names(model, "estimator_", "balancer_", "sample_weight_")
    p, names = n_features(model), vars(model).get("feature_names_in_")
    numbers(model, "sample_weight_", (None,), low=0.0)
    for name in ("estimator_", "balancer_"):
        part = attribute(model, name)
        fits = isinstance(part, BaseEstimator) and getattr(part, "n_features_in_", None) == p
        if not fits or not np.array_equal(names, vars(part).get("feature_names_in_")):
            raise ValueError(f"{name} is not fitted on the {p} features of the model")
    if not {"weights_", "sample_weight_"} & vars(model.balancer_).keys():
        raise ValueError("balancer_ has no weights")
    if not hasattr(model.estimator_, "classes_" if is_classifier(model) else "predict"):
        raise ValueError("estimator_ must be fitted, and predict what the model does")


def check_stable(model: Any) -> None:
    """Raise ValueError unless a StableClassifier or StableRegressor is sound."""
    check_screening_parameters(model)
    if not is_fitted(model):
        return
    own = ("classes_",) if is_classifier(model) else ("target_mean_", "target_scale_")
    check_fitted_names(
        model,
        *("variables_", "decision_", "stable_features_", "used_features_", "references_"),
        *("encoder_", "columns_", "estimator_", "random_state_", *own),
    )
    check_selection(model)
    encoder, columns = attribute(model, "encoder_"), attribute(model, "columns_")
    width = len(encoder.get_feature_names_out())
    if columns.dtype.kind != "i" or len(set(columns.tolist())) < len(columns):
        raise ValueError("columns_ must be different integers")
    if len(columns) and not 0 <= columns.min() <= columns.max() < width:
        raise ValueError(f"columns_ must be columns of the encoder, which has {width}")
    if is_classifier(model):
        if len(labels(model)) < 2:
            raise ValueError("classes_ must be two labels or more")
    elif not np.isfinite(attribute(model, "target_mean_") + attribute(model, "target_scale_")):
        raise ValueError("target_mean_ and target_scale_ must be finite")
    estimator = attribute(model, "estimator_")
    if model.estimator is None:
        if not hasattr(estimator, "check_columns"):
            raise ValueError("estimator_ must be a model of this library")
        estimator.check_columns(len(columns))
    elif getattr(estimator, "n_features_in_", None) != len(columns):
        raise ValueError("estimator_ must be fitted on the columns in use")
    elif is_classifier(model) and not np.array_equal(estimator.classes_, model.classes_):
        raise ValueError("the classes of estimator_ differ from those of the model")


def check_selection(model: Any) -> None:
    """Raise ValueError unless the verdicts have one entry per column."""
    p = n_features(model)
    masks = [attribute(model, name) for name in ("stable_features_", "used_features_")]
    if any(mask.dtype != bool or mask.shape != (p,) for mask in masks):
        raise ValueError(f"the masks must be {p} booleans")
    if len(attribute(model, "variables_")) != p:
        raise ValueError(f"variables_ must have one row for each of {p} columns")
    if vars(attribute(model, "encoder_")).get("columns_") is None:
        raise ValueError("encoder_ must be fitted")


def _check_shared(model: Any, weights: str, *more: str) -> int:
    """Check what all estimators that balance have; return the number of features."""
    check_fitted_names(model, weights, *more, *SHARED)
    p, kept = n_features(model), model.dichotomize is None
    parts: dict[str, type] = {"dichotomizer_": Dichotomizer, "standardizer_": Standardizer}
    other, name = sorted(parts, reverse=not kept)
    kind, part = parts[name], vars(model).get(name)
    if part is None or other in vars(model):
        raise ValueError(
            f"{name}, and not {other}, must be present where dichotomize is {model.dichotomize!r}"
        )
    if type(part) is not kind or vars(part).get("n_features_in_") != p:
        raise ValueError(f"{name} must be a {kind.__name__} of {p} features")
    found = numbers(model, weights, (None,), low=0.0)
    if "row_count_" in vars(model):
        numbers(model, "row_count_", found.shape, low=1.0)
    return p


def _check_encoder(layers: Any, inputs: int, number: int) -> int:
    """The number of coordinates of one encoder's embedding; its layers must fit each other."""
    for k, (matrix, bias) in enumerate(layers):
        what = f"layer {k} of encoder {number}"
        check_numbers(matrix, f"the matrix of {what}", (None, inputs))
        check_numbers(bias, f"the bias of {what}", (len(matrix),))
        check_finite_sums(what, matrix, bias)
        inputs = len(matrix)
    return inputs
