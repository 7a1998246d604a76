"""Checks of what the functions of the theory accept."""

from collections.abc import Hashable
from numbers import Real
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
    try:
        # Strings are refused even if they look like numbers.
        loose = raw.flat if raw.dtype.kind == "O" else ()
        if raw.dtype.kind not in "biufO" or any(isinstance(v, str | bytes) for v in loose):
            raise TypeError
        numbers = raw.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"X must hold the numbers 0 and 1, but holds values of another kind (dtype {raw.dtype})"
            ". Encode strings and dates as 0/1 columns first, and fill missing values."
        ) from None
    names: Names = tuple(getattr(X, "columns", range(raw.shape[1])))
    for name, column in zip(names, numbers.T, strict=True):
        if len(wrong := np.unique(column[(column != 0) & (column != 1)])):
            raise InputError(
                f"feature {name!r} must be 0/1, but holds {', '.join(f'{v:g}' for v in wrong[:3])}."
                " Apply a Dichotomizer first, or leave the feature out."
            )
    return numbers, names


def check_weights(w: ArrayLike, n: int) -> FloatArray:
    """Row weights as an (n,) array: finite, none negative, not all zero."""
    try:
        weights = np.asarray(w, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the weights must be numbers: {error}.") from error
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError(
            f"the weights must be finite numbers of at least 0, one for each of the {n} rows of X, "
            f"but have shape {weights.shape}, and the smallest is {weights.min(initial=np.inf)}."
        )
    if not weights.any():
        raise InputError("all weights are 0; at least one row needs a positive weight.")
    return weights


def check_integer(value: Any, name: str, low: int, high: int | None = None, why: str = "") -> int:
    """``value`` as an int between ``low`` and ``high``, or an error that names it."""
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
    """``value`` as a number of at least 0."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not number >= 0 or (finite and number == np.inf):
        kind = "a finite number" if finite else "a number"
        raise InputError(f"{name} must be {kind} of at least 0, but is {value!r}.")
    return number
