"""Checks of what the functions of the theory accept."""

import math
from collections.abc import Hashable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from stablepred.exceptions import InputError

FloatArray = NDArray[np.float64]
Names = tuple[Hashable, ...]


def check_binary(X: Any) -> tuple[FloatArray, Names]:
    """X as an (n, p) array of 0.0 and 1.0, and the names of its columns (else their indices)."""
    if issparse(X):
        raise InputError("X is a sparse matrix; give a dense one, for example X.toarray().")
    raw = np.asarray(X)
    if raw.ndim != 2 or 0 in raw.shape:
        raise InputError(
            f"X must be a table with at least one row and one column, but has shape {raw.shape}."
        )
    loose = raw.flat if raw.dtype.kind == "O" else ()
    try:
        # Strings are refused even if they look like numbers.
        if raw.dtype.kind not in "biufO" or any(isinstance(v, str | bytes) for v in loose):
            raise TypeError
        numbers = raw.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"X must hold the numbers 0 and 1, but holds values of another kind (dtype {raw.dtype})"
            ". Encode strings and dates as 0/1 columns first, and fill missing values."
        ) from None
    names: Names = tuple(getattr(X, "columns", range(raw.shape[1])))
    wrong = ~np.isin(numbers, (0, 1))
    if wrong.any():
        column = int(np.flatnonzero(wrong.any(axis=0))[0])
        found = [f"{value:g}" for value in np.unique(numbers[wrong[:, column], column])[:3]]
        raise InputError(
            f"feature {names[column]!r} must be 0/1, but holds {', '.join(found)}. "
            "Apply a Dichotomizer first, or leave the feature out."
        )
    return numbers, names


def check_weights(w: ArrayLike, n: int) -> FloatArray:
    """Row weights as an (n,) array: finite, none negative, not all zero."""
    try:
        weights = np.asarray(w, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the weights must be numbers: {error}.") from error
    if weights.shape != (n,):
        raise InputError(
            f"the weights must be one number for each of the {n} rows of X, "
            f"but have shape {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError(
            f"the weights must be finite and at least 0, but the smallest is {weights.min()} "
            f"and the largest {weights.max()}."
        )
    if not weights.any():
        raise InputError("all weights are 0; at least one row needs a positive weight.")
    return weights


def check_integer(value: Any, name: str, low: int, high: int | None = None, why: str = "") -> int:
    """``value`` as an int between ``low`` and ``high``, or an error that names it."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not (isinstance(value, Integral) or float(value).is_integer()):
        raise InputError(f"{name} must be an integer, but is {value!r}.")
    if value < low or (high is not None and value > high):
        limits = f"at least {low}" if high is None else f"between {low} and {high}"
        raise InputError(f"{name} must be {limits}{why}, but is {int(value)}.")
    return int(value)


def check_feature_count(p: Any) -> int:
    """``p`` where all of {0, 1}^p is enumerated."""
    return check_integer(p, "p", 2, 20, why=" (there are 2**p patterns to enumerate)")


def check_bound(value: Any, name: str, *, finite: bool = True) -> float:
    """``value`` as a number of at least 0."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not number >= 0 or (finite and math.isinf(number)):
        kind = "a finite number" if finite else "a number"
        raise InputError(f"{name} must be {kind} of at least 0, but is {value!r}.")
    return number


def check_fraction(value: Any, name: str) -> float:
    """``value`` as a number strictly between 0 and 1."""
    number = check_bound(value, name)
    if not 0 < number < 1:
        raise InputError(f"{name} must lie strictly between 0 and 1, but is {value!r}.")
    return number
