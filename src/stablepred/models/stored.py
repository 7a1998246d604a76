"""What makes an estimator from a file valid: it could have been fitted, and it can predict.

Each check lists the fitted attributes that its estimator may have; a new one needs a line here.
"""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_classifier

from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.exceptions import InputError
from stablepred.heads.choice import Recipe
from stablepred.io.values import (
    attribute,
    brief,
    check_finite_sums,
    check_fitted_names,
    check_numbers,
    integer,
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
        check_fitted_names(model, "weights_", *SHARED)
        _check_shared(model)
        _check_row_weights(model, "weights_")


def check_classifier(model: Any) -> None:
    """Raise ValueError unless GBR, DLR or DGBR is sound."""
    model._check_parameters()
    check_folds(model)
    if not is_fitted(model):
        return
    check_fitted_names(
        model,
        *("classes_", "coef_", "intercept_", "encoders_", "pairs_", "recipe_", "sample_weight_"),
        *("feature_effects_", "stable_features_", "random_state_"),
        *SHARED,
    )
    p = _check_shared(model)
    integer(model, "random_state_")
    check_two_labels(model)
    _check_effects(model, p)
    _check_row_weights(model, "sample_weight_")
    _part(model, "recipe_", Recipe)
    width = _check_encoders(model, p + _check_pairs(model, p))
    if bool(model.encoders_) != ("hidden" in vars(model)):
        raise ValueError("encoders_ must be there for a network, and for nothing else")
    # With head="features" the encoders only made the weights.
    on_embedding = bool(model.encoders_) and getattr(model, "head", "embedding") == "embedding"
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
    p, names = n_features(model), _names(model)
    numbers(model, "sample_weight_", (None,), low=0.0)
    for name in ("estimator_", "balancer_"):
        part = attribute(model, name)
        fitted = isinstance(part, BaseEstimator) and hasattr(part, "n_features_in_")
        if not fitted or part.n_features_in_ != p or _names(part) != names:
            raise ValueError(f"{name} is not fitted on the {p} features of the model")
    if not {"weights_", "sample_weight_"} & vars(model.balancer_).keys():
        raise ValueError("balancer_ has no weights")
    needed = ["predict", *(["classes_"] if is_classifier(model) else [])]
    if not all(hasattr(model.estimator_, name) for name in needed):
        raise ValueError(f"estimator_ must have {' and '.join(needed)}")


def check_stable(model: Any) -> None:
    """Raise ValueError unless a StableClassifier is sound."""
    model._check_parameters()
    if not is_fitted(model):
        return
    check_fitted_names(
        model,
        *("classes_", "variables_", "decision_", "stable_features_", "used_features_"),
        *("share_through_outcome_", "sample_weight_", "estimator_", "random_state_"),
        *SHARED,
    )
    p = _check_shared(model)
    check_two_labels(model)
    integer(model, "random_state_")
    _check_row_weights(model, "sample_weight_")
    masks = [attribute(model, name) for name in ("stable_features_", "used_features_")]
    if any(mask.shape != (p,) for mask in masks) or len(attribute(model, "variables_")) != p:
        raise ValueError(f"the masks and variables_ must have one entry for each of {p} features")
    attribute(model, "decision_")
    estimator, inputs = attribute(model, "estimator_"), int(masks[1].sum())
    if model.estimator is None:
        fits = hasattr(estimator, "encoder") and estimator.encoder[0][0].shape[1] == p
    else:
        fits = hasattr(estimator, "predict_proba") and estimator.n_features_in_ == inputs
        if fits and not np.array_equal(estimator.classes_, model.classes_):
            raise ValueError("estimator_ has other classes than the model")
    if not fits:
        raise ValueError("estimator_ must be a classifier fitted on the features in use")


def check_network(network: Any) -> None:
    """Raise ValueError unless an encoder and the coefficients on its embedding are sound."""
    if not network.encoder or network.encoder[0][0].ndim != 2:
        raise ValueError("the encoder must begin with a matrix")
    width = encoder_width(network.encoder, network.encoder[0][0].shape[1])
    check_numbers(network.coef, "coef of the network", (width,))
    check_finite_sums("coef of the network", network.coef, np.array(network.intercept))


# --- what several checks share ---


def check_two_labels(model: Any) -> np.ndarray:
    """``classes_`` of a binary classifier."""
    found = labels(model)
    if len(found) != 2:
        raise ValueError("classes_ must be two labels")
    return found


def check_folds(model: Any) -> None:
    """``cv``, where there is one: what a file can hold is a number of folds, or the folds."""
    cv = getattr(model, "cv", None)
    if isinstance(cv, bool) or not (cv is None or isinstance(cv, int | list | tuple)):
        raise InputError(f"cv must be a number of folds, not {brief(cv)}.")
    if isinstance(cv, int) and cv < 2:
        raise InputError(f"cv must be at least 2 folds, not {cv}.")


def _part(model: Any, name: str, cls: type) -> Any:
    """An attribute that is an object of that class."""
    value = attribute(model, name)
    if type(value) is not cls:
        raise ValueError(f"{name} must be a {cls.__name__}, not {brief(value)}")
    return value


def _names(model: Any) -> list[str] | None:
    names = vars(model).get("feature_names_in_")
    return None if names is None else list(names)


def _check_shared(model: Any) -> int:
    """Check what all estimators that balance have; return the number of features."""
    p = n_features(model)
    if model.dichotomize is not None:
        cut = _part(model, "dichotomizer_", Dichotomizer)
        if attribute(cut, "n_features_in_") != p:
            raise ValueError("dichotomizer_ has another number of features than the model")
    elif "dichotomizer_" in vars(model):
        raise ValueError("dichotomizer_ must not be there where dichotomize is None")
    if not isinstance(attribute(model, "converged_"), bool):
        raise ValueError("converged_ must be True or False")
    _part(model, "balance_report_", BalanceReport)
    length, history = integer(model, "n_iter_", least=0), attribute(model, "history_")
    if not isinstance(history, dict) or "total" not in history:
        raise ValueError("history_ must be a dict with the total of each iteration")
    for name, values in history.items():
        if getattr(values, "dtype", None) != np.float64 or values.shape != (length,):
            raise ValueError(f"history_ of {name!r} must be an array of n_iter_ = {length} numbers")
    return p


def _check_row_weights(model: Any, name: str) -> None:
    """Weights of the rows, or of the distinct rows with their counts."""
    weights = numbers(model, name, (None,), low=0.0)
    if "row_count_" in vars(model):
        numbers(model, "row_count_", weights.shape, low=1.0)


def _check_effects(model: Any, p: int) -> None:
    effects, stable = attribute(model, "feature_effects_"), attribute(model, "stable_features_")
    columns = set(effects) if isinstance(effects, pd.DataFrame) else set()
    if not {"feature", "effect", "stable"} <= columns or len(effects) != p:
        raise ValueError(f"feature_effects_ must be a table with a row for each of {p} features")
    if not all(isinstance(name, str) for name in effects["feature"]):
        raise ValueError("the features of feature_effects_ must be strings")
    if not isinstance(stable, np.ndarray) or stable.dtype != bool or stable.shape != (p,):
        raise ValueError(f"stable_features_ must be {p} booleans")


def _check_pairs(model: Any, p: int) -> int:
    """The number of products that enter the encoder."""
    pairs = attribute(model, "pairs_")
    sound = isinstance(pairs, list) and all(
        isinstance(pair, tuple)
        and len(pair) == 2
        and all(type(column) is int and 0 <= column < p for column in pair)
        and pair[0] != pair[1]
        for pair in pairs
    )
    if not sound:
        raise ValueError(f"pairs_ must be a list of pairs of {p} columns")
    return len(pairs)


def _check_encoders(model: Any, inputs: int) -> int:
    """The number of coordinates of the embedding: of all encoders side by side."""
    encoders = attribute(model, "encoders_")
    if not isinstance(encoders, list):
        raise ValueError(f"encoders_ must be a list, not {brief(encoders)}")
    return sum(encoder_width(layers, inputs, k) for k, layers in enumerate(encoders))


def encoder_width(layers: Any, inputs: int, number: int = 0) -> int:
    """The number of coordinates of one encoder's embedding; its layers must fit each other."""
    if not isinstance(layers, list) or not layers:
        raise ValueError(f"encoder {number} must be a list of layers, not {brief(layers)}")
    for k, layer in enumerate(layers):
        what = f"layer {k} of encoder {number}"
        if not isinstance(layer, tuple) or len(layer) != 2:
            raise ValueError(f"{what} must be a matrix and a bias, not {brief(layer)}")
        matrix, bias = layer
        check_numbers(matrix, f"the matrix of {what}", (None, inputs))
        check_numbers(bias, f"the bias of {what}", (len(matrix),))
        check_finite_sums(what, matrix, bias)
        inputs = len(matrix)
    return inputs
