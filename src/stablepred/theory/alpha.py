"""The maximum covariate imbalance alpha (paper, section 4.2; eqs. 9 to 12).

    alpha = max_j max_{k != j} | mean of x_k where x_j = 1 - mean of x_k where x_j = 0 |

``lemma:alpha`` and ``thm:mean_alpha`` are about it under the weights 1 / P^(x), where each observed
pattern carries the same weight. Both read as equalities in the paper and are upper bounds.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from stablepred._random import RandomState
from stablepred.exceptions import InputError
from stablepred.theory import checks
from stablepred.theory.checks import FloatArray, check_feature_count, check_integer

# Patterns expanded into rows at a time; bounds the memory for large p.
CHUNK = 1 << 16


class MaximumImbalance(NamedTuple):
    """The largest gap between two weighted means, and the names (else indices) of its features."""

    value: float
    treatment: Hashable  #: j, the feature whose two sides are compared.
    covariate: Hashable  #: k, the feature whose mean differs between them.


def maximum_imbalance(X: Any, w: ArrayLike) -> MaximumImbalance:
    """The maximum covariate imbalance alpha for given weights (eqs. 9 and 10).

        alpha = max_j max_{k != j} | sum_{x_ik = 1, x_ij = 1} w_i / sum_{x_ij = 1} w_i
                                   - sum_{x_ik = 1, x_ij = 0} w_i / sum_{x_ij = 0} w_i |

    Parameters
    ----------
    X : array or frame of 0/1, shape (n, p)
        At least two features.
    w : array of shape (n,)
        Row weights of any scale.

    Notes
    -----
    A feature that is constant under the weights is skipped as a treatment. Where all are, the value
    is 1 by the footnote to ``lemma:alpha``, and treatment and covariate are None.
    """
    x, names = checks.check_binary(X)
    weights = checks.check_weights(w, len(x))
    if x.shape[1] < 2:
        raise InputError("X has one feature; an imbalance needs at least two to compare.")
    share = weights / weights.sum()
    gaps = compare_means((x.T * share) @ x, share @ x, share @ (1 - x))
    j, k = divmod(int(gaps.argmax()), x.shape[1])
    if gaps[j, k] < 0:
        return MaximumImbalance(1.0, None, None)
    return MaximumImbalance(float(gaps[j, k]), names[j], names[k])


def compare_means(gram: FloatArray, on: FloatArray, off: FloatArray) -> FloatArray:
    """|mean of x_k where x_j = 1 - mean of x_k where x_j = 0| for all j, k: (..., p, p).

    From the sums x'diag(w)x (..., p, p), w'x and w'(1 - x) (..., p). It is -1 where j = k and
    where a side of j has no weight.
    """
    comparable = (np.minimum(on, off) > 1e-12 * (on + off))[..., None]
    left, right = (np.where(comparable, side[..., None], 1.0) for side in (on, off))
    gaps = np.abs(gram / left - (on[..., None, :] - gram) / right)
    return np.where(comparable & ~np.eye(gram.shape[-1], dtype=np.bool_), gaps, -1.0)


def imbalance_bound(p: int, m: ArrayLike) -> Any:
    """g(p, m), the largest alpha that m missing patterns can cause (``lemma:alpha``, eq. 12).

        g(p, m) = 2^{p-2} / (2^{p-1} - m) - 1/2                   0 <= m <= 2^{p-2}
                  1 - (2^{p-1} - m) / (3 * 2^{p-2} - m)     2^{p-2} < m <  2^{p-1}
                  1                                         2^{p-1} <= m <= 2^p - 1

    Parameters
    ----------
    p : int
        Number of features, at least 2.
    m : int or array of int
        Number of missing patterns, 0 to 2^p - 1. The result has its shape.

    Notes
    -----
    The lemma says "alpha = g(p, m)", but alpha also depends on which patterns are missing. As all
    sets of them for p = 2, 3, 4 show, g is the largest alpha under the weights 1 / P^(x), and it
    is attained. At p = 4, m = 8, g is 1, while alpha has mean 0.5154 (:func:`imbalance_mean`) and
    least value 0; nor are those weights the best ones for every X (docs/theory.md). At m = 2^p - 1
    every comparison is 0/0, and g is 1 by the paper's footnote.
    """
    patterns = 2 ** check_integer(p, "p", 2, 10_000)
    return _map_numbers(
        lambda each: bound_at_share(check_integer(each, "m", 0, patterns - 1) / patterns), m
    )


def bound_at_share(missing_share: float | FloatArray) -> FloatArray:
    """The bound g by r = m / 2^p: r / (1 - 2r) up to 1/4, then 1 / (3 - 4r) up to 1/2, then 1."""
    low = np.minimum(missing_share, 0.25)
    middle = np.minimum(missing_share, 0.5)
    return np.where(missing_share <= 0.25, low / (1 - 2 * low), 1 / (3 - 4 * middle))


def _map_numbers(function: Any, *numbers: Any) -> Any:
    found = np.vectorize(function, otypes=[np.float64])(*numbers)
    return found if found.ndim else float(found)


def missing_distribution(n: int, p: int) -> FloatArray:
    """Distribution of m = 0 ... 2^p - 1, all compositions of n being equally likely.

        P(m) = C(2^p, m) C(n - 1, 2^p - 1 - m) / C(n + 2^p - 1, 2^p - 1)      (``thm:mean_alpha``)

    Parameters
    ----------
    n, p : int
        Number of rows, at least 1, and of features, 2 to 20.

    Notes
    -----
    Of rows drawn one by one, patterns are missing far less often: :func:`multinomial_imbalance`.
    """
    return np.asarray(np.bincount(*_missing_probabilities(n, p), 2 ** int(p)), dtype=np.float64)


def _missing_probabilities(n: Any, p: Any) -> tuple[NDArray[np.int64], FloatArray]:
    """The m whose probability is not zero in floating point, and the probabilities.

    P(q + 1) / P(q) = (2^p - q) (n - q) / ((q + 1) q) for the number q = 2^p - m of observed
    patterns. Logarithms of these ratios are summed outwards from the mode, where they are close to
    zero: no digits are lost. Beyond 20 sqrt(min(n, 2^p)) probabilities are under any float
    (Hoeffding).
    """
    n, patterns = check_integer(n, "n", 1), 2 ** check_feature_count(p)
    most = min(n, patterns)
    mode = min(max((patterns + 1) * (n + 1) // (patterns + n + 1), 1), most)
    reach = int(20 * most**0.5) + 2
    lowest, highest = max(1, mode - reach), min(most, mode + reach)
    q = np.arange(lowest, highest, dtype=np.float64)
    steps = np.log((patterns - q) / (q + 1) * ((n - q) / q))
    at = mode - lowest
    down, up = -np.cumsum(steps[:at][::-1])[::-1], np.cumsum(steps[at:])
    probabilities = np.exp(np.concatenate([down, [0.0], up]))
    return patterns - np.arange(lowest, highest + 1), probabilities / probabilities.sum()


def expected_imbalance(n: ArrayLike, p: ArrayLike) -> Any:
    """E[alpha] over random samples of n rows (``thm:mean_alpha``, eq. 11).

        E[alpha] = sum_m P(m) g(p, m)

    with P(m) of :func:`missing_distribution` and g of :func:`imbalance_bound`.

    Parameters
    ----------
    n : int or array of int
        Number of rows, at least 1; a million is fine.
    p : int or array of int
        Number of features, 2 to 20. ``n`` and ``p`` are broadcast, and the result has their shape:
        the paper's figure is ``expected_imbalance(rows[:, None], np.arange(3, 12))``.

    Notes
    -----
    It falls with n and rises with p. Since g is the largest alpha, this is an upper bound on the
    expectation, under the paper's equally likely compositions; without that assumption it falls
    faster than 1 / n (:func:`multinomial_imbalance`).
    """

    def expect(rows: Any, features: Any) -> float:
        missing, probabilities = _missing_probabilities(rows, features)
        return float(probabilities @ bound_at_share(missing / 2**features))

    return _map_numbers(expect, n, p)


class MultinomialImbalance(NamedTuple):
    """Simulated means, each with its standard error."""

    alpha: float  #: Mean of alpha under 1 / P^(x).
    alpha_error: float
    bound: float  #: Mean of g(p, m), to be compared with :func:`expected_imbalance`.
    bound_error: float


def imbalance_mean(
    p: int, m: int, *, n_draws: int = 1000, random_state: RandomState = None
) -> float:
    """Mean of alpha over the arrangements of m missing patterns, under the weights 1 / P^(x).

    All C(2^p, m) sets of missing patterns count the same. Up to p = 4 the mean over them is exact;
    beyond, it is that over random sets. :func:`imbalance_bound` is the largest alpha over the same
    sets; constant features count as in :func:`maximum_imbalance`.

    Parameters
    ----------
    p, m : int
        Number of features, 2 to 20, and of missing patterns, 0 to 2^p - 1.
    n_draws : int, default=1000
        Number of random sets where p is over 4. As alpha lies in [0, 1], the standard error is at
        most 1 / (2 sqrt(n_draws)).
    random_state : int, RandomState or None
        Seed of these sets.
    """
    features = check_feature_count(p)
    missing = check_integer(m, "m", 0, 2**features - 1)
    if features <= 4:  # for p = 5 there are 2**32 sets
        return float(np.mean(enumerate_alphas(features, missing)))
    draws, rng = check_integer(n_draws, "n_draws", 1), _generator(random_state)
    left, grams = 2**features - missing, []
    for _ in range(draws):
        size = min(missing, left)
        gram = _gram(rng.choice(2**features, size, replace=False, shuffle=False), features)
        whole = 2.0 ** (features - 2) * (1 + np.eye(features))
        grams.append(gram if left <= missing else whole - gram)
    return float(_alphas(np.stack(grams), left).mean())


def multinomial_imbalance(
    n: int, p: int, *, n_draws: int = 1000, random_state: RandomState = None
) -> MultinomialImbalance:
    """E[alpha] and E[g(p, m)] for rows drawn one by one, by simulation.

    The n rows are independent and uniform on {0, 1}^p, so that the counts of the patterns are
    multinomial. ``thm:mean_alpha`` takes all compositions of n as equally likely instead.

    Parameters
    ----------
    n, p : int
        Number of rows, at least 1, and of features, 2 to 20.
    n_draws : int, default=1000
        Number of samples.
    random_state : int, RandomState or None
        Seed of the samples.
    """
    rows, features = check_integer(n, "n", 1), check_feature_count(p)
    draws, rng = check_integer(n_draws, "n_draws", 2), _generator(random_state)
    values = np.empty((2, draws))  # alpha and its bound, in every sample
    for i in range(draws):
        observed = np.flatnonzero(np.bincount(rng.integers(2**features, size=rows)))
        values[0, i] = _alphas(_gram(observed, features), len(observed))
        values[1, i] = bound_at_share(1 - len(observed) / 2**features)
    means, errors = values.mean(axis=1), values.std(axis=1, ddof=1) / draws**0.5
    return MultinomialImbalance(*np.column_stack([means, errors]).ravel().tolist())


def _generator(random_state: RandomState) -> np.random.Generator:
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def _bits(codes: NDArray[np.int64], p: int) -> FloatArray:
    """The patterns with these numbers, feature j in bit j: (len(codes), p)."""
    return ((codes[:, None] >> np.arange(p)) & 1).astype(np.float64)


def _gram(codes: NDArray[np.int64], p: int) -> FloatArray:
    """X'X of the patterns with these numbers, in bounded memory: (p, p)."""
    parts = (_bits(codes[start : start + CHUNK], p) for start in range(0, len(codes), CHUNK))
    return sum((x.T @ x for x in parts), np.zeros((p, p)))


def enumerate_alphas(p: int, m: int) -> FloatArray:
    """Compute alpha for every set of m missing patterns: (C(2^p, m),)."""
    x = _bits(np.arange(2**p), p)
    products = (x[:, :, None] * x[:, None, :]).reshape(2**p, p * p)
    subsets = _bits(np.arange(2 ** (2**p)), 2**p)  # (sets, 2^p)
    subsets = subsets[subsets.sum(axis=1) == 2**p - m]
    return _alphas((subsets @ products).reshape(-1, p, p), 2**p - m)


def _alphas(grams: FloatArray, observed: int) -> FloatArray:
    """Compute alpha under equal weight on each pattern, from X'X: (..., p, p) -> (...)."""
    on = np.diagonal(grams, axis1=-2, axis2=-1)
    largest = compare_means(grams, on, observed - on).max(axis=(-2, -1))
    return np.where(largest < 0, 1.0, largest)
