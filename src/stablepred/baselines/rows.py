"""Distinct rows with their mass, and the labels of training environments."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from stablepred._validation import FloatArray, warn_user
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


def distinct_rows(weight: FloatArray, *columns: ArrayLike) -> Rows:
    """Group the rows that have a positive weight and are equal in all columns."""
    present = np.flatnonzero(weight > 0)
    table = np.column_stack([np.asarray(c, dtype=np.float64)[present] for c in columns])
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
    estimator: Any, environment: ArrayLike | None, x: FloatArray, weight: FloatArray
) -> IntArray | None:
    """Number of the environment of every row; None, with a warning, where none are given."""
    name = type(estimator).__name__
    if environment is None:
        warn_user(
            f"{name} needs several training environments, but fit was given no environment= "
            "labels; all rows are taken as one environment, so that it is an ordinary fit.",
            StablepredWarning,
        )
        return None
    labels = column_or_1d(environment)
    check_consistent_length(x, labels)
    missing = [k for k, label in enumerate(labels.tolist()) if label is None or label != label]
    if missing:
        raise InputError(f"environment has no label in row {missing[0]}; give one or drop the row.")
    known, code = np.unique(labels.astype(str), return_inverse=True)
    rows = np.bincount(code, weight > 0, minlength=len(known))
    if (rows > 0).sum() < 2:
        raise InputError(
            f"{name} needs several training environments, but every row with a positive weight "
            f"has the label {str(known[rows.argmax()])!r}. Pass the labels of two or more, or none."
        )
    few = [(known[k], int(rows[k])) for k in np.flatnonzero((rows > 0) & (rows < x.shape[1]))]
    if few:
        raise InputError(
            f"environment {str(few[0][0])!r} has fewer rows ({few[0][1]}) than there are variables "
            f"({x.shape[1]}). Merge it with another one or leave it out."
        )
    return code


def check_both_classes(
    code: IntArray, y: FloatArray, weight: FloatArray, environment: ArrayLike
) -> None:
    """Refuse an environment in which the outcome does not vary."""
    labels = np.asarray(environment)
    for k in np.unique(code[weight > 0]):
        own = (code == k) & (weight > 0)
        if np.ptp(y[own]) == 0:
            raise InputError(
                f"environment {str(labels[own][0])!r} has only one class of y. Merge it with "
                "another one or leave it out."
            )
