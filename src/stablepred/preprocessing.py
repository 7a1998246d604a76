"""Preprocessing of the paper (section 6.3): 0/1 features with enough of both values."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from stablepred._parameters import check_parameters
from stablepred._validation import (
    FloatArray,
    atomic,
    check_sample_weight,
    column_names,
    validate,
    warn_user,
)
from stablepred.exceptions import InputError, OverlapWarning
from stablepred.io.save import save_method, storable
from stablepred.io.values import is_fitted, n_features, numbers


@storable
class Dichotomizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Turn every feature into 0/1: one where it is above its training mean (or median).

    Of two values the larger one is 1. Values equal to the threshold up to rounding are 0.

    Parameters
    ----------
    strategy : {"mean", "median"}, default="mean"
        The threshold of features with more than two values, weighted by ``sample_weight``.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_features_in_,)
        A value above its threshold becomes 1.

    Examples
    --------
    >>> from stablepred import Dichotomizer
    >>> Dichotomizer().fit_transform([[1, 0], [2, 1], [9, 1]])
    array([[0., 0.],
           [0., 1.],
           [1., 1.]])
    """

    thresholds_: FloatArray
    tolerances_: FloatArray

    save = save_method

    def __init__(self, *, strategy: str = "mean") -> None:
        self.strategy = strategy

    @atomic
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the thresholds."""
        from stablepred.core.sharding import current_shards  # loads torch

        shards, x = current_shards(), validate(self, X)
        check_parameters(self)
        count = check_sample_weight(sample_weight, x)
        x, count = x[count > 0], count[count > 0]
        low, high = shards.smallest(x.min(axis=0)), shards.largest(x.max(axis=0))
        has_more = shards.total(((x > low) & (x < high)).sum(axis=0)) > 0  # than two values
        two = np.array([halfway(*ends) for ends in zip(low, high, strict=True)])
        if self.strategy == "median":
            self.thresholds_, self.tolerances_ = two, np.zeros(len(two))
            for j in np.flatnonzero(has_more):
                order = np.argsort(x[:, j], kind="stable")
                reached = np.cumsum(count[order]) >= count.sum() * (0.5 - 1e-12)
                median = float(x[order, j][np.argmax(reached)])
                # Where nothing lies above it, the split goes just below.
                ends = np.unique(x[:, j])[-2:]
                self.thresholds_[j] = halfway(*ends) if median == ends[-1] else median
            return self
        size = np.maximum(np.abs(low), np.abs(high))
        exponent = np.frexp(size)[1]  # sums of huge or tiny numbers leave the range of doubles
        sums = np.array([(values * count).sum() for values in np.ldexp(x, -exponent).T])
        sums, weight = shards.totals(sums, count.sum())
        self.thresholds_ = np.where(has_more, np.ldexp(sums / weight, exponent), two)
        self.tolerances_ = np.where(has_more, tolerance_of_mean(size), 0.0)
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """0/1 features, in the order of the training columns."""
        check_is_fitted(self)
        x = validate(self, X, reset=False)
        return np.asarray(x > self.thresholds_ + self.tolerances_, dtype=np.float64)

    def check_stored(self) -> None:
        """Raise ValueError unless it could have been fitted."""
        check_parameters(self)
        if is_fitted(self):
            numbers(self, "thresholds_", (n_features(self),))
            numbers(self, "tolerances_", (n_features(self),), low=0.0)


def tolerance_of_mean(largest: Any) -> Any:
    """How far a value must lie above the mean, which is rounded, for values up to ``largest``."""
    return 1e-9 * largest


def halfway(low: float, high: float) -> float:
    """Halfway, or the lower one where there is no number between the two."""
    middle = float(low + (high - low) / 2)
    return middle if middle < high else float(low)


@storable
class OverlapFilter(SelectorMixin, BaseEstimator):
    """Keep features whose share of ones is between ``low`` and ``high`` (paper, section 6.3).

    A feature that is nearly always 0 or nearly always 1 cannot be balanced: there is hardly a row
    to compare with. Dropped features are named in an ``OverlapWarning``.

    Parameters
    ----------
    low, high : float, default=0.2, 0.8
        The allowed range of the share of ones, ends included.
    strategy : {"mean", "median"}, default="mean"
        How features that are not 0/1 are cut for counting; what is returned is not cut.

    Attributes
    ----------
    shares_ : ndarray of shape (n_features_in_,)
        Weighted share of ones of each feature.
    """

    shares_: FloatArray

    save = save_method

    def __init__(self, *, low: float = 0.2, high: float = 0.8, strategy: str = "mean") -> None:
        self.low = low
        self.high = high
        self.strategy = strategy

    @atomic
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the shares of ones."""
        x = validate(self, X)
        self._check_range()
        count = check_sample_weight(sample_weight, x)
        binary = Dichotomizer(strategy=self.strategy).fit_transform(x, sample_weight=count)
        self.shares_ = count @ binary / count.sum()
        dropped = np.flatnonzero(~self._get_support_mask())
        if len(dropped):
            names = column_names(self, x.shape[1])
            found = ", ".join(f"{names[j]} ({self.shares_[j]:.3g})" for j in dropped)
            warn_user(
                f"dropped for want of overlap, share of ones outside [{self.low}, {self.high}]: "
                f"{found}",
                OverlapWarning,
            )
        return self

    def _check_range(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise InputError(
                f"0 <= low <= high <= 1 must hold, but low={self.low} and high={self.high}."
            )

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        slack = 1e-12  # sums of weights are rounded; a share of exactly 0.2 is inside
        return (self.shares_ >= self.low - slack) & (self.shares_ <= self.high + slack)

    def check_stored(self) -> None:
        """Raise ValueError unless it could have been fitted."""
        check_parameters(self)
        self._check_range()
        if is_fitted(self):
            numbers(self, "shares_", (n_features(self),), low=-1e-9, high=1 + 1e-9)
