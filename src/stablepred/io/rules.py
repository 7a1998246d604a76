"""What makes a stored object valid, beyond the types of its parameters.

One rule per class, found by the names of the class and its bases, so that this floor knows no
estimator. A rule names every fitted attribute that may be there; a new one needs a line here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin

from stablepred.io.inner_models import INNER_MODELS, check_inner_model, inner_class
from stablepred.io.values import (
    attribute,
    brief,
    check_feature_names,
    check_labels,
    check_numbers,
    numbers,
    whole_number,
)


def check(model: Any) -> None:
    """Raise ValueError unless the object is one that could have been fitted and can be used."""
    kind = type(model)
    if kind.__name__ in INNER_MODELS and inner_class(kind.__name__) is kind:
        check_inner_model(model)
        return
    for base in kind.__mro__:
        if base.__name__ in RULES:
            RULES[base.__name__](model)
            break
    own = getattr(kind, "check_stored", None)
    if own is not None:
        own(model)


# --- what several rules share ---


def _is_fitted(model: Any) -> bool:
    return any(name.endswith("_") for name in vars(model))


def _known(model: Any, *allowed: str) -> None:
    """Refuse fitted attributes that no rule speaks about."""
    fitted = {name for name in vars(model) if name.endswith("_")}
    unknown = sorted(fitted - {"n_features_in_", "feature_names_in_", *allowed})
    if unknown:
        raise ValueError(f"{unknown[:10]} are no attributes of a {type(model).__name__}")


def _features(model: Any) -> int:
    n_features = whole_number(model, "n_features_in_", least=1)
    check_feature_names(model, n_features)
    return n_features


def _part(model: Any, name: str, kind: str) -> Any:
    """An attribute that is an object of the class with that name."""
    value = attribute(model, name)
    if type(value).__name__ != kind:
        raise ValueError(f"{name} must be a {kind}, not {brief(value)}")
    return value


def _finite_sums(what: str, matrix: np.ndarray, offset: np.ndarray) -> None:
    """Refuse rows whose sums with 0/1 features or embeddings could overflow."""
    with np.errstate(over="ignore"):
        sums = np.abs(matrix).sum(axis=1) + np.abs(offset)
    if not np.isfinite(sums).all():
        raise ValueError(f"{what} adds up to more than a number can hold")


# --- preprocessing ---


def _dichotomizer(model: Any) -> None:
    if model.strategy not in ("mean", "median"):
        raise ValueError(f"strategy must be 'mean' or 'median', not {brief(model.strategy)}")
    if _is_fitted(model):
        _known(model, "thresholds_", "tolerances_")
        n_features = _features(model)
        numbers(model, "thresholds_", (n_features,))
        numbers(model, "tolerances_", (n_features,), low=0.0)


def _overlap_filter(model: Any) -> None:
    if not 0 <= model.low <= model.high <= 1:
        raise ValueError("low and high must be within 0 and 1")
    if _is_fitted(model):
        _known(model, "shares_")
        numbers(model, "shares_", (_features(model),), low=-1e-9, high=1 + 1e-9)


# --- estimators ---


def _estimator(model: Any) -> int:
    """What all fitted estimators have; the number of features."""
    n_features = _features(model)
    if model.dichotomize is not None or "dichotomizer_" in vars(model):
        cut = _part(model, "dichotomizer_", "Dichotomizer")
        if attribute(cut, "n_features_in_") != n_features:
            raise ValueError("dichotomizer_ has another number of features than the model")
    if not isinstance(attribute(model, "converged_"), bool):
        raise ValueError("converged_ must be true or false")
    _part(model, "balance_report_", "BalanceReport")
    _check_history(model)
    return n_features


def _check_history(model: Any) -> None:
    length = whole_number(model, "n_iter_", least=0)
    history = attribute(model, "history_")
    if not isinstance(history, dict) or "total" not in history:
        raise ValueError("history_ must be a dict with the total of each iteration")
    for name, values in history.items():
        if not isinstance(values, np.ndarray) or values.dtype != np.float64:
            raise ValueError(f"history_ of {name!r} must be an array of numbers")
        if values.shape != (length,):
            raise ValueError(f"history_ of {name!r} has not n_iter_ = {length} numbers")


def _check_row_weights(model: Any, name: str) -> None:
    """Weights of the rows, or of the distinct rows with their counts."""
    weights = numbers(model, name, (None,), low=0.0)
    if "row_count_" in vars(model):
        numbers(model, "row_count_", weights.shape, low=1.0)


SHARED = ("dichotomizer_", "converged_", "balance_report_", "n_iter_", "history_", "row_count_")


def _balancer(model: Any) -> None:
    model._check_parameters()
    if _is_fitted(model):
        _known(model, "weights_", *SHARED)
        _estimator(model)
        _check_row_weights(model, "weights_")


def _classifier(model: Any) -> None:
    model._check_parameters()
    if not _is_fitted(model):
        return
    _known(
        model,
        *("classes_", "coef_", "intercept_", "encoders_", "pairs_", "recipe_", "sample_weight_"),
        *("feature_effects_", "stable_features_", "share_through_outcome_", "random_state_"),
        *SHARED,
    )
    n_features = _estimator(model)
    share = vars(model).get("share_through_outcome_", 0.0)  # not in files of earlier versions
    if not isinstance(share, float) or not np.isfinite(share) or share > 1:
        raise ValueError(f"share_through_outcome_ must be a number up to 1, not {brief(share)}")
    seed = vars(model).get("random_state_", 0)  # nor is this
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ValueError(f"random_state_ must be a whole number, not {brief(seed)}")
    if len(check_labels(model)) != 2:
        raise ValueError("classes_ must be two labels")
    _check_effects(model, n_features)
    _check_row_weights(model, "sample_weight_")
    _part(model, "recipe_", "Recipe")
    inputs = n_features + _check_pairs(model, n_features)
    width = _check_encoders(model, inputs)
    if model._head_on_features():
        width = n_features
    coef = numbers(model, "coef_", (1, width))
    _finite_sums("coef_", coef, numbers(model, "intercept_", (1,)))


def _check_pairs(model: Any, n_features: int) -> int:
    """The number of products that enter the encoder."""
    pairs = attribute(model, "pairs_")
    sound = isinstance(pairs, list) and all(
        isinstance(pair, tuple)
        and len(pair) == 2
        and all(type(column) is int and 0 <= column < n_features for column in pair)
        and pair[0] != pair[1]
        for pair in pairs
    )
    if not sound:
        raise ValueError(f"pairs_ must be a list of pairs of {n_features} columns")
    return len(pairs)


def _check_encoders(model: Any, inputs: int) -> int:
    """The number of coordinates of the embedding: of all encoders side by side."""
    encoders = attribute(model, "encoders_")
    if not isinstance(encoders, list):
        raise ValueError(f"encoders_ must be a list, not {brief(encoders)}")
    return sum(_encoder_width(layers, inputs, k) for k, layers in enumerate(encoders))


def _encoder_width(layers: Any, inputs: int, number: int) -> int:
    if not isinstance(layers, list) or not layers:
        raise ValueError(f"encoder {number} must be a list of layers, not {brief(layers)}")
    for k, layer in enumerate(layers):
        what = f"layer {k} of encoder {number}"
        if not isinstance(layer, tuple) or len(layer) != 2:
            raise ValueError(f"{what} must be a matrix and a bias, not {brief(layer)}")
        matrix, bias = layer
        check_numbers(matrix, f"the matrix of {what}", (None, inputs))
        check_numbers(bias, f"the bias of {what}", (len(matrix),))
        _finite_sums(what, matrix, bias)
        inputs = len(matrix)
    return inputs


def _check_effects(model: Any, n_features: int) -> None:
    effects, stable = attribute(model, "feature_effects_"), attribute(model, "stable_features_")
    columns = set(effects) if isinstance(effects, pd.DataFrame) else set()
    if not {"feature", "effect", "stable"} <= columns or len(effects) != n_features:
        raise ValueError(f"feature_effects_ must be a table with a row for each of {n_features}")
    if not all(isinstance(name, str) for name in effects["feature"]):
        raise ValueError("the features of feature_effects_ must be texts")
    if not isinstance(stable, np.ndarray) or stable.dtype != bool or stable.shape != (n_features,):
        raise ValueError(f"stable_features_ must be {n_features} truth values")


def _balanced(model: Any) -> None:
    if not isinstance(model.estimator, BaseEstimator):
        raise ValueError(f"estimator must be an estimator, not {brief(model.estimator)}")
    if not isinstance(model.balancer, BaseEstimator | None):
        raise ValueError(f"balancer must be an estimator, not {brief(model.balancer)}")
    if not _is_fitted(model):
        return
    _known(model, "estimator_", "balancer_", "sample_weight_")
    n_features = _features(model)
    numbers(model, "sample_weight_", (None,), low=0.0)
    own_names = _names(model)
    for name in ("estimator_", "balancer_"):
        part = attribute(model, name)
        fitted = isinstance(part, BaseEstimator) and hasattr(part, "n_features_in_")
        if not fitted or part.n_features_in_ != n_features or _names(part) != own_names:
            raise ValueError(f"{name} is not fitted on the {n_features} features of the model")
    if not {"weights_", "sample_weight_"} & vars(model.balancer_).keys():
        raise ValueError("balancer_ has no weights")
    needed = {"predict"} | ({"classes_"} if isinstance(model, ClassifierMixin) else set())
    if not all(hasattr(model.estimator_, name) for name in needed):
        raise ValueError(f"estimator_ must have {' and '.join(sorted(needed))}")


def _names(model: Any) -> list[str] | None:
    names = vars(model).get("feature_names_in_")
    return None if names is None else list(names)


# --- what the estimators hold ---


def _recipe(recipe: Any) -> None:
    if not np.isfinite(recipe.l1) or recipe.l1 < 0:
        raise ValueError(f"l1 of the recipe must be a number of at least 0, not {recipe.l1!r}")


def _balance_report(report: Any) -> None:
    size = len(report.before)
    names = [list(axis) for table in (report.before, report.after) for axis in table.axes]
    if any(other != names[0] for other in names) or not size or len(set(names[0])) != size:
        raise ValueError("the balance report must have the same names on all sides")
    for table in (report.before, report.after):
        # Differences of shares.
        check_numbers(table.to_numpy(), "the balance report", (size, size), low=-1.01, high=1.01)
    if report.n_rows < 1 or not 0 < report.effective_share <= 1 + 1e-9:
        raise ValueError("the balance report has no sensible number of rows")


RULES: dict[str, Callable[[Any], None]] = {
    "Dichotomizer": _dichotomizer,
    "OverlapFilter": _overlap_filter,
    "GlobalBalancer": _balancer,
    "BalancingClassifier": _classifier,
    "_Balanced": _balanced,
    "Recipe": _recipe,
    "BalanceReport": _balance_report,
}
