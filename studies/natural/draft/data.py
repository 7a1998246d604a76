"""What every step of the draft works on: columns, outcome, weights, and whose column is whose."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

CLIP = 1e-7  # probabilities are kept this far from 0 and 1 before a logarithm


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows to learn from.

    Attributes
    ----------
    x : ndarray of shape (n, columns)
    y : ndarray of shape (n,)
        0 or 1.
    w : ndarray of shape (n,)
        Positive row weights; a row of weight 2 counts as two copies of it.
    groups : ndarray of shape (columns,)
        The variable of each column, counted from 0.
    """

    x: FloatArray
    y: FloatArray
    w: FloatArray
    groups: IntArray

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return int(self.groups.max()) + 1 if len(self.groups) else 0

    @property
    def rate(self) -> float:
        """Weighted share of ones."""
        return self.mean(self.y)

    def take(self, rows: IntArray) -> Self:
        """The data of some rows."""
        return replace(self, x=self.x[rows], y=self.y[rows], w=self.w[rows])

    def select(self, variables: BoolArray) -> Self:
        """The columns of some variables, which are numbered from 0 again."""
        columns = variables[self.groups]
        groups = np.unique(self.groups[columns], return_inverse=True)[1]
        return replace(self, x=self.x[:, columns], groups=groups)

    def mean(self, values: ArrayLike) -> float:
        """Weighted mean over the rows."""
        return float(np.average(np.asarray(values), weights=self.w))

    def standard_error(self, values: FloatArray) -> float:
        """Standard error of the weighted mean."""
        away = values - np.average(values, weights=self.w)
        return float(np.sqrt(np.sum(self.w * away**2)) / self.w.sum())

    def exceeds(self, values: FloatArray, errors: float) -> bool:
        """Whether the mean is above so many of its standard errors."""
        return self.mean(values) > errors * self.standard_error(values)

    def row_losses(self, p: FloatArray) -> FloatArray:
        """Log-loss of each row."""
        p = np.clip(p, CLIP, 1 - CLIP)
        losses: FloatArray = -(self.y * np.log(p) + (1 - self.y) * np.log1p(-p))
        return losses

    def log_loss(self, p: FloatArray) -> float:
        """Weighted mean log-loss."""
        return self.mean(self.row_losses(p))

    def rmse(self, p: Any) -> float:
        """Weighted root-mean-square error of probabilities."""
        return float(np.sqrt(self.mean((self.y - p) ** 2)))
