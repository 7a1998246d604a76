"""Numbers in standard deviations: how columns that are not cut into 0/1 enter a fit."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from stablepred._validation import FloatArray, atomic, check_sample_weight, validate
from stablepred.core.sharding import current_shards
from stablepred.io.save import storable
from stablepred.io.values import is_fitted, n_features, numbers
from stablepred.sample import sum_exactly

# Numbers enter a fit within so many standard deviations of their mean.
CLIP = 3.0


@storable
class Standardizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Put numbers into standard deviations from their mean; leave 0/1 columns as they are.

    Values are clipped to the training range and to three standard deviations: no linear model
    extrapolates, and no balancing weights gain by moving into the tails. Two values become 0 and 1,
    the larger one 1.
    """

    means_: FloatArray  # what is subtracted; 0 for a 0/1 column
    scales_: FloatArray  # what that is divided by; 1 for a 0/1 column
    low_: FloatArray  # the range to which values are clipped before
    high_: FloatArray

    @atomic
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        shards = current_shards()
        x = validate(self, X)
        weight = check_sample_weight(sample_weight, x)
        x, weight = x[weight > 0], weight[weight > 0, None]
        weight = weight / shards.largest(weight.max())
        low, high = shards.smallest(x.min(axis=0)), shards.largest(x.max(axis=0))
        # In units of the range, where sums of squares neither overflow nor vanish.
        exponent = np.frexp(high - low)[1]
        mean, deviation = np.zeros((2, x.shape[1]))
        inside, total = shards.totals(((x > low) & (x < high)).sum(axis=0), sum_exactly(weight))
        if len(numbers := np.flatnonzero(inside)):
            z = np.ldexp(x[:, numbers] - low[numbers], -exponent[numbers])
            mean[numbers] = shards.total(sum_exactly(z, weight)) / total
            squares = (z - mean[numbers]) ** 2
            deviation[numbers] = np.sqrt(shards.total(sum_exactly(squares, weight)) / total)
        # Rounded, so that a row written twice and a row of twice the weight give the same bits.
        unit = np.ldexp(1.0, np.frexp(deviation)[1] - 30)
        mean, deviation = np.rint(mean / unit) * unit, np.rint(deviation / unit) * unit
        is_number = deviation > 0
        self.means_ = low + np.where(is_number, np.ldexp(mean, exponent), 0.0)
        self.scales_ = np.where(is_number, np.ldexp(deviation, exponent), high - low)
        self.scales_[self.scales_ == 0] = 1.0  # a constant column
        far = CLIP * self.scales_
        self.low_ = np.maximum(low, self.means_ - far)
        self.high_ = np.minimum(high, self.means_ + far)
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        x = np.clip(validate(self, X, reset=False), self.low_, self.high_)
        return np.asarray((x - self.means_) / self.scales_)

    def check_stored(self) -> None:
        if not is_fitted(self):
            return
        names = ("means_", "scales_", "low_", "high_")
        mean, scale, low, high = (numbers(self, name, (n_features(self),)) for name in names)
        with np.errstate(all="ignore"):
            ends = np.abs(np.array([low - mean, high - mean]) / scale)
        if (scale <= 0).any() or (low > high).any() or not (ends <= CLIP + 1e-6).all():
            raise ValueError("means_, scales_, low_ and high_ of the Standardizer do not fit")
