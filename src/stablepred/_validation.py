"""Input validation: what users pass is checked here, once, and nowhere else.

This covers arrays and frames, sample weights, names, and the contract of ``fit``; parameters are
checked in ``_parameters.py``.
"""

import copy
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight, validate_data

from stablepred.exceptions import InputError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Fit = TypeVar("Fit", bound=Callable[..., Any])

# Weights above 2 to this power, or below its inverse, are scaled; the scale does not matter.
LARGE_EXPONENT = 300
LARGEST = 1e150  # squares of larger numbers leave the range of doubles


def atomic(fit: Fit) -> Fit:
    """Decorate a method ``fit``: a failed or interrupted fit leaves a fitted model as it was.

    It fits a copy without fitted attributes, whose state is taken over once it has returned.
    """

    @wraps(fit)
    def fit_copy(estimator: Any, *args: Any, **options: Any) -> Any:
        attempt = copy.copy(estimator)
        for name in [name for name in vars(attempt) if name.endswith("_")]:
            delattr(attempt, name)
        fit(attempt, *args, **options)
        vars(estimator).clear()
        vars(estimator).update(vars(attempt))
        return estimator

    return cast(Fit, fit_copy)


# --- data ---


def validate(estimator: Any, X: Any, *outcome: Any, **options: Any) -> Any:
    """scikit-learn's ``validate_data`` as float64; errors name columns of text or infinite numbers.

    The array is always row-major, because the last bits of a sum depend on the memory layout.
    """
    check_distinct_names(X)
    try:
        return validate_data(
            estimator, X, *outcome, **{"dtype": np.float64, "order": "C"} | options
        )
    except (OverflowError, ValueError, TypeError) as error:
        if advice := _advise(X, error):
            raise InputError(advice) from error
        raise


def _advise(X: Any, error: Exception) -> str:
    """What to say about columns that are no numbers of a float; nothing about other errors."""
    if isinstance(error, OverflowError):
        cells = pd.DataFrame(X)
        large = cells.map(lambda v: isinstance(v, int) and abs(v) > sys.float_info.max).any()
        return str(overflow_error(list(cells.columns[large])))
    columns = {name: np.asarray(X[name]) for name in getattr(X, "columns", ())}
    dates = [repr(name) for name, column in columns.items() if column.dtype.kind in "mM"]
    if dates:
        return (
            f"features must be numbers, but dates were found in {', '.join(dates)}. Replace such "
            "columns with numbers, for example the days since a fixed date, or leave them out."
        )
    texts = {name: [v for v in c.tolist() if isinstance(v, str)] for name, c in columns.items()}
    text = [f"{name!r} (e.g. {found[0]!r})" for name, found in texts.items() if found]
    if text and "could not convert" in str(error):
        return (
            f"features must be numbers, but text was found in {', '.join(text)}. Encode such "
            "columns first, for example with stablepred.data.TableEncoder."
        )
    if not text and "X contains infinity" in str(error):
        x = np.asarray(X, dtype=np.float64)
        row, column = np.argwhere(np.isinf(x))[0].tolist()
        name = getattr(X, "columns", [f"x{j}" for j in range(x.shape[1])])[column]
        return (
            f"column {str(name)!r} contains infinity (the first in row {row}). Replace it by a "
            "bound, or leave such rows out."
        )
    return ""


def overflow_error(names: Sequence[Any]) -> InputError:
    return InputError(
        f"integers too large for a float were found in {', '.join(map(repr, names))}. If they are "
        "codes, turn them into text; else scale the column."
    )


def check_distinct_names(X: Any) -> None:
    times = Counter(map(str, getattr(X, "columns", ())))
    if same := sorted(name for name, n in times.items() if n > 1):
        raise InputError(f"names of columns repeat: {', '.join(same)}. Rename them.")


def check_sample_weight(sample_weight: ArrayLike | None, x: Any) -> FloatArray:
    """Sample weights as an array: one per row, not negative, not all zero."""
    weight: FloatArray = _check_sample_weight(sample_weight, x, dtype=np.float64)
    if (weight < 0).any():
        row = int(np.flatnonzero(weight < 0)[0])
        raise InputError(
            f"sample_weight must not be negative, but row {row} has {weight[row]:g}. "
            "Negative values in data passed as weights have no meaning; drop such rows."
        )
    if not (weight > 0).any():
        raise InputError("sample_weight is zero for every row, so there is no row to fit on.")
    exponent = int(np.frexp(weight.max())[1])
    if abs(exponent) > LARGE_EXPONENT:  # sums or squares could leave the range of doubles
        weight = np.ldexp(weight, -exponent)
    return weight


def check_size(x: FloatArray, names: list[str]) -> None:
    size = np.abs(x).max(axis=0)
    if large := [f"{names[j]!r} ({size[j]:.3g})" for j in np.flatnonzero(size > LARGEST)]:
        raise InputError(
            f"absolute values above {LARGEST:g} were found in {', '.join(large)}. Replace them if "
            "they stand for a missing value, or scale the column."
        )


def check_row_count(n_rows: int) -> None:
    if n_rows < 3:
        raise InputError(
            f"only n_samples = {n_rows} rows have a positive sample_weight, but at least 3 are "
            "needed."
        )


def read_labels(labels: Any, name: str, n_rows: int) -> tuple[NDArray[np.intp], list[str]]:
    """Labels of rows as numbers from 0, and the label of each number."""
    found = np.asarray(labels)
    if found.shape != (n_rows,):
        raise InputError(
            f"{name} must have one label for each of the {n_rows} rows of X, but has shape "
            f"{found.shape}."
        )
    if pd.isna(found).any():
        row = int(np.argmax(pd.isna(found)))
        raise InputError(
            f"{name} has missing labels (the first in row {row}); give every row one, "
            "or leave such rows out."
        )
    values, codes = np.unique(found.astype(str), return_inverse=True)
    return codes.reshape(-1), values.tolist()


def check_two_classes(found: NDArray[Any]) -> None:
    if len(found) < 2:
        raise InputError(
            f"y must have two classes, but has only one class: {found.tolist()}. "
            "Check the outcome column and the sample_weight."
        )


def column_names(estimator: Any, n_features: int) -> list[str]:
    """The feature names seen in ``fit``, or x0, x1, ... as in scikit-learn."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(n_features)] if names is None else [str(n) for n in names]


# --- warnings ---


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that led here, the first one outside this package."""
    level, frame = 1, sys._getframe()
    while frame is not None and "stablepred" in frame.f_globals.get("__name__", ""):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level)
