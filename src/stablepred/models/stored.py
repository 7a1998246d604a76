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
from stablepred.preprocessing import Dichotomizer

# What all estimators that balance have.
SHARED = ("dichotomizer_", "converged_", "balance_report_", "n_iter_", "history_", "row_count_")


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
    _check_two_labels(model)
    effects, stable = attribute(model, "feature_effects_"), attribute(model, "stable_features_")
    if not {"feature", "effect", "stable"} <= set(effects) or len(effects) != p:
        raise ValueError(f"feature_effects_ must be a table with a row for each of {p} features")
    if stable.shape != (p,):
        raise ValueError(f"stable_features_ must be {p} booleans")
    encoders, inputs = attribute(model, "encoders_"), p + _check_pairs(model, p)
    width = sum(_check_encoder(layers, inputs, k) for k, layers in enumerate(encoders))
    if bool(encoders) != ("hidden" in vars(model)):
        raise ValueError("encoders_ must be present for a network, and only then")
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
    """Raise ValueError unless a StableClassifier is sound."""
    model._check_parameters()
    if not is_fitted(model):
        return
    p = _check_shared(
        model,
        "sample_weight_",
        *("classes_", "variables_", "decision_", "stable_features_", "used_features_"),
        *("share_through_outcome_", "estimator_", "random_state_"),
    )
    _check_two_labels(model)
    masks = [attribute(model, name) for name in ("stable_features_", "used_features_")]
    if any(mask.shape != (p,) for mask in masks) or len(attribute(model, "variables_")) != p:
        raise ValueError(f"the masks and variables_ must have one entry for each of {p} features")
    estimator, inputs = attribute(model, "estimator_"), int(masks[1].sum())
    if model.estimator is None:
        fits = hasattr(estimator, "encoder") and estimator.encoder[0][0].shape[1] == p
    else:
        fits = hasattr(estimator, "predict_proba") and estimator.n_features_in_ == inputs
        if fits and not np.array_equal(estimator.classes_, model.classes_):
            raise ValueError("the classes of estimator_ differ from those of the model")
    if not fits:
        raise ValueError("estimator_ must be a classifier fitted on the features in use")


def check_network(network: Any) -> None:
    """Raise ValueError unless an encoder and the coefficients on its embedding are sound."""
    if not network.encoder or network.encoder[0][0].ndim != 2:
        raise ValueError("the encoder must begin with a matrix")
    width = _check_encoder(network.encoder, network.encoder[0][0].shape[1])
    check_numbers(network.coef, "coef of the network", (width,))
    check_finite_sums("coef of the network", network.coef, np.array(network.intercept))


def _check_shared(model: Any, weights: str, *more: str) -> int:
    """Check what all estimators that balance have; return the number of features."""
    check_fitted_names(model, weights, *more, *SHARED)
    p, cut = n_features(model), vars(model).get("dichotomizer_")
    if (cut is None) != (model.dichotomize is None):
        raise ValueError("dichotomizer_ must be present unless dichotomize is None")
    if cut is not None and (type(cut) is not Dichotomizer or vars(cut).get("n_features_in_") != p):
        raise ValueError(f"dichotomizer_ must be a Dichotomizer of {p} features")
    found = numbers(model, weights, (None,), low=0.0)
    if "row_count_" in vars(model):
        numbers(model, "row_count_", found.shape, low=1.0)
    return p


def _check_two_labels(model: Any) -> None:
    if len(labels(model)) != 2:
        raise ValueError("classes_ must be two labels")


def _check_pairs(model: Any, p: int) -> int:
    """The number of products that enter the encoder."""
    pairs = attribute(model, "pairs_")
    if not isinstance(pairs, list) or not all(
        isinstance(pair, tuple)
        and [type(column) for column in pair] == [int, int]
        and 0 <= min(pair) < max(pair) < p
        for pair in pairs
    ):
        raise ValueError(f"pairs_ must be a list of pairs of {p} columns")
    return len(pairs)


def _check_encoder(layers: Any, inputs: int, number: int = 0) -> int:
    """The number of coordinates of one encoder's embedding; its layers must fit each other."""
    for k, (matrix, bias) in enumerate(layers):
        what = f"layer {k} of encoder {number}"
        check_numbers(matrix, f"the matrix of {what}", (None, inputs))
        check_numbers(bias, f"the bias of {what}", (len(matrix),))
        check_finite_sums(what, matrix, bias)
        inputs = len(matrix)
    return inputs
