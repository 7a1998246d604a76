"""Checks of single attributes, with errors that say which one and what was found."""

from itertools import pairwise
from typing import Any

import numpy as np


def attribute(model: Any, name: str) -> Any:
    """An attribute that must be there."""
    try:
        return vars(model)[name]
    except KeyError:
        raise ValueError(f"{name} of the {type(model).__name__} is missing") from None


def whole_number(model: Any, name: str, *, least: int) -> int:
    """A whole number of at least ``least``."""
    value = attribute(model, name)
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {brief(value)}")
    return int(value)


def numbers(
    model: Any,
    name: str,
    shape: tuple[int | None, ...],
    *,
    low: float = -np.inf,
    high: float = np.inf,
) -> np.ndarray:
    """A float64 array of this shape (None: any length), finite and within the range."""
    array = attribute(model, name)
    check_numbers(array, f"{name} of the {type(model).__name__}", shape, low=low, high=high)
    return np.asarray(array)


def check_numbers(
    array: Any,
    what: str,
    shape: tuple[int | None, ...],
    *,
    low: float = -np.inf,
    high: float = np.inf,
) -> None:
    """Refuse what is no float64 array of this shape, finite and within the range."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        raise ValueError(f"{what} must be an array of numbers, not {brief(array)}")
    fits = array.ndim == len(shape) and all(
        expected in (None, found) for expected, found in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = tuple("any" if size is None else size for size in shape)
        raise ValueError(f"{what} must have shape {wanted}, but has {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} holds numbers that are not finite")
    if array.size and (array.min() < low or array.max() > high):
        raise ValueError(f"{what} holds numbers outside [{low:g}, {high:g}]")


def check_labels(model: Any) -> np.ndarray:
    """``classes_``: numbers, truth values or texts, sorted, each once."""
    classes = attribute(model, "classes_")
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not len(classes):
        raise ValueError("classes_ must be a list of labels")
    texts = all(isinstance(label, str) for label in classes.tolist())
    finite = classes.dtype.kind in "biuf" and bool(np.isfinite(classes).all())
    if not texts and not finite:
        raise ValueError("classes_ must be numbers or texts")
    if any(not a < b for a, b in pairwise(classes)):
        raise ValueError("classes_ must be sorted and different from each other")
    return classes


def check_feature_names(model: Any, n_features: int) -> None:
    """``feature_names_in_``, if there: one text for each feature, each once."""
    names = vars(model).get("feature_names_in_")
    if names is None:
        return
    texts = isinstance(names, np.ndarray) and all(isinstance(name, str) for name in names.tolist())
    if not texts or names.shape != (n_features,) or len(set(names.tolist())) < n_features:
        raise ValueError(f"feature_names_in_ must be {n_features} different names")


def brief(value: Any) -> str:
    """A value as an error may show it."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
