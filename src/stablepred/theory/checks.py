"""Checks of what the functions of the theory accept."""

from collections.abc import Hashable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from stablepred._parameters import at_least
from stablepred.exceptions import InputError

FloatArray = NDArray[np.float64]
Names = tuple[Hashable, ...]


def check_binary(X: Any) -> tuple[FloatArray, Names]:
    """X as an (n, p) array of 0.0 and 1.0, and the names of its columns (else their indices)."""
    try:
        numbers: FloatArray = check_array(X, dtype=np.float64, ensure_all_finite=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"X must be a table of the numbers 0 and 1, but: {error}") from None
    names: Names = tuple(getattr(X, "columns", range(numbers.shape[1])))
    for name, column in zip(names, numbers.T, strict=True):
        if len(wrong := np.unique(column[(column != 0) & (column != 1)])):
            raise InputError(
                f"feature {name!r} must be 0/1, but holds {', '.join(f'{v:g}' for v in wrong[:3])}."
                " Apply a Dichotomizer first, or leave the feature out."
            )
    return numbers, names


def check_weights(w: ArrayLike, n: int) -> FloatArray:
    weights: FloatArray = np.asarray(w, dtype=np.float64)
    sound = weights.shape == (n,) and np.isfinite(weights).all()
    if not sound or weights.min() < 0 or weights.max() == 0:
        raise InputError(
            f"the weights must be finite numbers of at least 0, not all of them 0, one for each of "
            f"the {n} rows of X, but have shape {weights.shape}, and the smallest is "
            f"{weights.min(initial=np.inf)}."
        )
    return weights


def check_integer(value: Any, name: str, low: int, high: int | None = None, why: str = "") -> int:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or value % 1 != 0:
        raise InputError(f"{name} must be an integer, but is {value!r}.")
    if value < low or (high is not None and value > high):
        limits = f"at least {low}" if high is None else f"between {low} and {high}"
        raise InputError(f"{name} must be {limits}{why}, but is {int(value)}.")
    return int(value)


def check_feature_count(p: Any) -> int:
    """``p`` where all of {0, 1}^p is enumerated."""
    return check_integer(p, "p", 2, 20, why=" (there are 2**p patterns to enumerate)")


def check_bound(value: Any, name: str, *, finite: bool = True) -> float:
    if finite or value != np.inf:
        at_least(0)(name, value)
    return float(value)
