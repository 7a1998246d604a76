"""Sample-reweighted decorrelation, SRDO (Shen, Cui, Zhang, Kuang; AAAI 2020).

    w(x) = q(x) / p(x),    q(x) = prod_j p(x_j): the columns drawn independently of each other

The ratio comes from a classifier that tells rows with permuted columns from the rows as they are:
w = c / (1 - c), with c the probability of "permuted", predicted on folds left out.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import PolynomialFeatures

from stablepred._random import RandomState, child_seed, numpy_generator, root_seed
from stablepred._validation import FloatArray
from stablepred.baselines.base import RowBalancer
from stablepred.baselines.rows import standardise
from stablepred.io.save import storable

LEAST_DRAWN = 2000  # rows with permuted columns, also where few distinct rows repeat often
MOST_MULTIPLIED = 20


@storable
@dataclass(eq=False, repr=False)
class SRDOBalancer(RowBalancer):
    """Row weights under which the columns are independent; for numbers and 0/1 alike.

    Parameters
    ----------
    classifier : classifier with ``sample_weight`` in ``fit`` and ``predict_proba``, default=None
        Tells real rows from rows with permuted columns. None takes gradient boosting.
    n_folds : int, default=5
        Folds over the distinct rows; every row gets its weight from the fold that left it out.
    min_effective_share : float, default=0.3
        Floor on the effective sample size, as a share of the rows: the weights are raised to the
        largest power (at most 1) that reaches it.
    random_state : int, RandomState or None
        Seed of the permutations, the folds and the classifier.

    Attributes
    ----------
    weights_, sample_weight_ : ndarray of shape (n_samples,)
        Mean one under the sample weights.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from stablepred import BalancedRegressor
    >>> from stablepred.baselines import SRDOBalancer
    >>> model = BalancedRegressor(LinearRegression(), SRDOBalancer(random_state=0))
    """

    classifier: Any = None
    _: KW_ONLY
    n_folds: int = 5
    min_effective_share: float = 0.3
    random_state: RandomState = None

    def _weigh(self, x: FloatArray, mass: FloatArray) -> FloatArray:
        """Density of the rows with permuted columns over that of the real ones, tempered."""
        seed, z = root_seed(self.random_state), standardise(x, mass)[0]
        rng = numpy_generator(seed, "permutations")
        drawn = draw_independently(z, mass, max(len(z), LEAST_DRAWN), rng)
        w, n_folds = np.empty(len(z)), min(self.n_folds, len(z))
        fold, fold_drawn = rng.permutation(len(z)) % n_folds, np.arange(len(drawn)) % n_folds
        boosting = HistGradientBoostingClassifier(max_leaf_nodes=8, max_bins=64)
        if self.classifier is None and z.shape[1] <= MOST_MULTIPLIED:  # squares and products too
            powers = PolynomialFeatures(2, include_bias=False)
            z, drawn = powers.fit_transform(z), powers.fit_transform(drawn)
        for k in range(n_folds):
            real, permuted = fold != k, fold_drawn != k
            rows = np.concatenate([z[real], drawn[permuted]])
            label = np.repeat([0, 1], [real.sum(), permuted.sum()])
            # Both kinds of rows weigh the same in all.
            weight = np.ones(len(rows))
            weight[label == 0] = mass[real] / mass[real].sum() * permuted.sum()
            boosting.set_params(random_state=child_seed(seed, k))
            classifier = clone(boosting if self.classifier is None else self.classifier)
            classifier.fit(rows, label, sample_weight=weight)
            c = np.clip(classifier.predict_proba(z[~real])[:, 1], 1e-6, 1 - 1e-6)
            w[~real] = c / (1 - c)
        return temper(w / (mass @ w), mass, self.min_effective_share)


def draw_independently(
    z: FloatArray, mass: FloatArray, n: int, rng: np.random.Generator
) -> FloatArray:
    """Rows whose columns are permuted: n evenly spaced quantiles of each, in random order."""
    levels, columns = (np.arange(n) + 0.5) / n, []
    for column in z.T:
        order = np.argsort(column, kind="stable")
        position = np.searchsorted(np.cumsum(mass[order]), levels).clip(max=len(z) - 1)
        columns.append(rng.permutation(column[order][position]))
    return np.column_stack(columns)


def temper(w: FloatArray, mass: FloatArray, share: float) -> FloatArray:
    """The weights to the largest power, at most 1, with an effective share that is not smaller."""

    def power(a: float) -> FloatArray:
        tempered = w**a
        return np.asarray(tempered / (mass @ tempered))

    low, high = 0.0, 1.0
    if 1 / (mass @ power(high) ** 2) >= share:
        return power(high)
    while high - low > 1e-6:
        middle = (low + high) / 2
        enough = 1 / (mass @ power(middle) ** 2) >= share
        low, high = (middle, high) if enough else (low, middle)
    return power(low)
