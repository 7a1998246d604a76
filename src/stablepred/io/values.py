"""Checks of single attributes of a stored object; the errors name the attribute and its value."""

from itertools import pairwise
from typing import Any

import numpy as np

Shape = tuple[int | None, ...]


def is_fitted(model: Any) -> bool:
    """Whether an estimator has fitted attributes, whose names end in "_"."""
    return any(name.endswith("_") for name in vars(model))


def attribute(model: Any, name: str) -> Any:
    if name not in vars(model):
        raise ValueError(f"{name} of the {type(model).__name__} is missing")
    return vars(model)[name]


def n_features(model: Any) -> int:
    """The number of features; their names, if they have any, must be as many and different."""
    number, names = attribute(model, "n_features_in_"), vars(model).get("feature_names_in_")
    if type(number) is not int or number < 1:
        raise ValueError(f"n_features_in_ must be an integer of at least 1, not {brief(number)}")
    if names is not None:
        strings = isinstance(names, np.ndarray) and all(isinstance(n, str) for n in names.tolist())
        if not strings or names.shape != (number,) or len(set(names.tolist())) < number:
            raise ValueError(f"feature_names_in_ must be {number} different names")
    return number


def numbers(model: Any, name: str, shape: Shape, **bounds: float) -> np.ndarray:
    """A float64 array of this shape (None: any length), finite and within the bounds."""
    array: np.ndarray = attribute(model, name)
    check_numbers(array, f"{name} of the {type(model).__name__}", shape, **bounds)
    return array


def check_numbers(
    array: Any, what: str, shape: Shape, low: float = -np.inf, high: float = np.inf
) -> None:
    """Refuse what is no float64 array of this shape, finite and within the range."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        raise ValueError(f"{what} must be an array of numbers, not {brief(array)}")
    fits = [wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=False)]
    if array.ndim != len(shape) or not all(fits):
        raise ValueError(f"{what} must have shape {shape}, but has {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} holds numbers that are not finite")
    if array.size and (array.min() < low or array.max() > high):
        raise ValueError(f"{what} holds numbers outside [{low:g}, {high:g}]")


def check_finite_sums(what: str, matrix: np.ndarray, offset: np.ndarray) -> None:
    """Refuse rows whose sums with numbers up to 9, a product of two features, could overflow."""
    with np.errstate(over="ignore"):
        sums = 9 * np.abs(matrix).sum(axis=-1) + np.abs(offset)
    if not np.isfinite(sums).all():
        raise ValueError(f"{what} adds up to more than a float can hold")


def labels(model: Any) -> np.ndarray:
    """``classes_``: numbers, booleans or strings, sorted and different."""
    classes = attribute(model, "classes_")
    is_list = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 0
    finite = is_list and classes.dtype.kind in "biuf" and bool(np.isfinite(classes).all())
    strings = is_list and all(isinstance(label, str) for label in classes.tolist())
    if not (finite or strings) or any(not a < b for a, b in pairwise(classes)):
        raise ValueError("classes_ must be numbers or strings, sorted and different")
    return classes


def brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
