"""Distinct rows with their mass, and the labels of training environments."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from stablepred._parameters import check_parameters
from stablepred._validation import (
    FloatArray,
    check_sample_weight,
    check_size,
    column_names,
    read_labels,
    validate,
    warn_user,
)
from stablepred.exceptions import ConvergenceWarning, InputError, StablepredWarning
from stablepred.models.entry import encode_outcome

IntArray = NDArray[np.intp]


class Rows(NamedTuple):
    """Distinct rows in sorted order, so that sums do not depend on the order of the table."""

    x: FloatArray
    y: FloatArray  # two classes as 0 and 1
    mass: FloatArray  # sums to one
    group: IntArray  # number of the environment, from 0 without gaps


def read_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any, environment: Any = None, *, grouped: bool
) -> Rows:
    """Validate all that ``fit`` is given, and group the rows that are equal."""
    is_class = is_classifier(estimator)
    x, y = validate(estimator, X, y, y_numeric=not is_class)
    check_parameters(estimator)
    weight = check_sample_weight(sample_weight, x)
    y = encode_outcome(estimator, y, weight) if is_class else y.astype(np.float64)
    code = encode_environments(estimator, environment, x, weight, y) if grouped else 0 * weight
    mass, first, _ = distinct_rows(estimator, weight, x, y, code)
    return Rows(x[first], y[first], mass, np.unique(code[first], return_inverse=True)[1])


def distinct_rows(
    estimator: Any, weight: FloatArray, x: FloatArray, *others: ArrayLike
) -> tuple[FloatArray, IntArray, IntArray]:
    """Group the rows that have a positive weight and are equal in all columns, and in ``others``.

    Returned are the mass of each group, which sums to one; a row of the table that it stands for;
    and the number of the group of every row (-1: absent, its weight is zero).
    """
    present = np.flatnonzero(weight > 0)
    table = np.column_stack([x, *others]).astype(np.float64)[present]
    check_size(table, [*column_names(estimator, x.shape[1]), "y", "environment"])
    _, first, at = np.unique(table, axis=0, return_index=True, return_inverse=True)
    mass = np.bincount(at.ravel(), weight[present])
    everywhere = np.full(len(weight), -1)
    everywhere[present] = at.ravel()
    return mass / mass.sum(), present[first], everywhere


def warn_unless_converged(estimator: Any, advice: str) -> None:
    if not estimator.converged_:
        warn_user(
            f"{type(estimator).__name__} stopped after max_iter={estimator.max_iter} iterations. "
            f"Raise max_iter, or {advice}.",
            ConvergenceWarning,
        )


def standardise(x: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Columns with mean 0 and standard deviation 1, both; constant columns become 0."""
    mean = mass @ x
    scale = np.sqrt(mass @ (x - mean) ** 2)
    constant = (x == x[0]).all(axis=0) | (scale == 0)
    scale[constant] = 1.0
    return np.where(constant, 0.0, (x - mean) / scale), mean, scale


def encode_environments(
    estimator: Any, environment: ArrayLike | None, x: FloatArray, weight: FloatArray, y: FloatArray
) -> IntArray:
    """Number of the environment of every row; all 0, with a warning, where none are given.

    With two classes ``y`` must vary in every environment.
    """
    need = f"{type(estimator).__name__} needs several training environments, but"
    if environment is None:
        warn_user(
            f"{need} fit was given no environment= labels; all rows are taken as one environment, "
            "so that it is an ordinary fit.",
            StablepredWarning,
        )
        return np.zeros(len(x), dtype=np.intp)
    code, known = read_labels(environment, "environment", len(x))
    rows = np.bincount(code, weight > 0, minlength=len(known))
    if (rows > 0).sum() < 2:
        raise InputError(
            f"{need} every row with a positive weight has the label {known[rows.argmax()]!r}. Pass "
            "the labels of two or more, or none."
        )
    for k in np.flatnonzero(rows > 0):
        found = ""
        if rows[k] < x.shape[1]:
            found = f"fewer rows ({rows[k]:.0f}) than there are variables ({x.shape[1]})"
        elif is_classifier(estimator) and np.ptp(y[(code == k) & (weight > 0)]) == 0:
            found = "only one class of y"
        if found:
            raise InputError(
                f"environment {known[k]!r} has {found}. Merge it with another one or leave it out."
            )
    return code
