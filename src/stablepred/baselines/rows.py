"""Distinct rows with their mass, and the labels of training environments."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from stablepred._validation import FloatArray, check_size, column_names, read_labels, warn_user
from stablepred.exceptions import InputError, StablepredWarning

IntArray = NDArray[np.intp]


class Rows(NamedTuple):
    """Distinct rows in sorted order, so that sums do not depend on the order of the table.

    ``mass`` sums to one, ``first`` is a row of the table that each stands for, and ``at`` the
    position of every row of the table among them (-1: absent, its weight is zero).
    """

    mass: FloatArray
    first: IntArray
    at: IntArray


def distinct_rows(estimator: Any, weight: FloatArray, x: FloatArray, *others: ArrayLike) -> Rows:
    """Group the rows that have a positive weight and are equal in all columns.

    ``others`` are the outcome and the number of the environment, where there are any.
    """
    present = np.flatnonzero(weight > 0)
    columns = [np.asarray(c, dtype=np.float64) for c in (x, *others)]
    table = np.column_stack([c[present] for c in columns])
    check_size(table, [*column_names(estimator, x.shape[1]), "y", "environment"])
    _, first, at = np.unique(table, axis=0, return_index=True, return_inverse=True)
    mass = np.bincount(at.ravel(), weight[present])
    everywhere = np.full(len(weight), -1)
    everywhere[present] = at.ravel()
    return Rows(mass / mass.sum(), present[first], everywhere)


def standardise(x: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Columns with mean 0 and standard deviation 1, both; constant columns become 0."""
    mean = mass @ x
    scale = np.sqrt(mass @ (x - mean) ** 2)
    constant = (x == x[0]).all(axis=0) | (scale == 0)
    z = (x - mean) / np.where(constant, 1.0, scale)
    z[:, constant] = 0.0
    return z, mean, np.where(constant, 1.0, scale)


def encode_environments(
    estimator: Any, environment: ArrayLike | None, x: FloatArray, weight: FloatArray, y: FloatArray
) -> IntArray:
    """Number of the environment of every row; all 0, with a warning, where none are given.

    With two classes ``y`` must vary in every environment.
    """
    name = type(estimator).__name__
    if environment is None:
        warn_user(
            f"{name} needs several training environments, but fit was given no environment= "
            "labels; all rows are taken as one environment, so that it is an ordinary fit.",
            StablepredWarning,
        )
        return np.zeros(len(x), dtype=np.intp)
    code, known = read_labels(environment, "environment", len(x))
    rows = np.bincount(code, weight > 0, minlength=len(known))
    if (rows > 0).sum() < 2:
        raise InputError(
            f"{name} needs several training environments, but every row with a positive weight "
            f"has the label {known[rows.argmax()]!r}. Pass the labels of two or more, or none."
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
