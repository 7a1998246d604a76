"""The maximum covariate imbalance alpha (paper, section 4.2; eqs. 9 to 12).

    alpha = max_j max_{k != j} | mean of x_k where x_j = 1 - mean of x_k where x_j = 0 |

with weighted means. Two statements of the paper are about it under the weights 1 / P^(x), where
each observed pattern carries the same weight: ``lemma:alpha`` and ``thm:mean_alpha``. Both read as
equalities there and are upper bounds: the docstrings say what was counted.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stablepred.exceptions import InputError
from stablepred.theory import checks
from stablepred.theory.checks import FloatArray


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
    A feature that is constant under the weights has no second side to compare with and is skipped
    as a treatment. Where all features are constant, the value is 1 by the footnote to
    ``lemma:alpha``, and treatment and covariate are None. (Taken literally, the footnote's 0/0 = 1
    would give 1 - 1 = 0 for the single pattern of all ones; the paper concludes 1 for all.)
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
    The lemma says "alpha = g(p, m)", but alpha also depends on which patterns are missing.
    Counting all sets of missing patterns for p = 2, 3, 4 shows what is true: g is the largest
    alpha under the weights 1 / P^(x), and it is attained. It is not the mean: at p = 4, m = 8, g
    is 1, while alpha has mean 0.5154 over the 12870 arrangements (:func:`imbalance_mean`). It is
    not the smallest: 50 of those arrangements have alpha = 0 (in 8 of them one feature is
    constant). And it is not the smallest over W for a given X: docs/theory.md has eight patterns
    of four features with alpha = 1/2 under 1 / P^(x) and 1/3 under other weights. (At m = 2^p - 1
    one pattern is left and every comparison is 0/0; the value is 1 by the paper's footnote.)
    """
    patterns = 2 ** checks.check_integer(p, "p", 2, 10_000)

    def bound(each: Any) -> FloatArray:
        return bound_at_share(checks.check_integer(each, "m", 0, patterns - 1) / patterns)

    return _map_numbers(bound, m)


def bound_at_share(missing_share: float | FloatArray) -> FloatArray:
    """The bound g as a function of r = m / 2^p alone, in a form without cancellation.

    Multiplied out: r / (1 - 2r) up to 1/4, then 1 / (3 - 4r) up to 1/2, then 1.
    """
    low = np.minimum(missing_share, 0.25)
    middle = np.minimum(missing_share, 0.5)
    return np.where(missing_share <= 0.25, low / (1 - 2 * low), 1 / (3 - 4 * middle))


def _map_numbers(function: Any, *numbers: Any) -> Any:
    """The float that ``function`` gives for each of the numbers, which are broadcast."""
    values = np.asarray(np.frompyfunc(function, len(numbers), 1)(*numbers), dtype=np.float64)
    return float(values) if values.ndim == 0 else values


def missing_distribution(n: int, p: int) -> FloatArray:
    """Distribution of m = 0 ... 2^p - 1, all compositions of n being equally likely.

        P(m) = C(2^p, m) C(n - 1, 2^p - 1 - m) / C(n + 2^p - 1, 2^p - 1)      (``thm:mean_alpha``)

    Parameters
    ----------
    n, p : int
        Number of rows, at least 1, and of features, 2 to 20.

    Notes
    -----
    That every way to split n rows over the 2^p patterns is equally likely is the paper's
    assumption. Rows drawn one by one make even splits far more likely and patterns are missing
    far less often: see :func:`multinomial_imbalance`.
    """
    missing, probabilities = _missing_probabilities(n, p)
    return np.asarray(np.bincount(missing, probabilities, 2 ** int(p)), dtype=np.float64)


def _missing_probabilities(n: Any, p: Any) -> tuple[NDArray[np.int64], FloatArray]:
    """The m whose probability is not zero in floating point, and the probabilities.

    The number of observed patterns q = 2^p - m is hypergeometric, with

        P(q + 1) / P(q) = (2^p - q) (n - q) / ((q + 1) q),   1 <= q <= min(n, 2^p).

    Logarithms of these ratios are summed outwards from the mode, where they are close to zero:
    unlike differences of log-factorials this loses no digits. By Hoeffding's inequality all q
    further than t from the mean have probability under 2 exp(-2 t^2 / min(n, 2^p)); at
    t = 20 sqrt(min(n, 2^p)) that is smaller than any float.
    """
    n, patterns = checks.check_integer(n, "n", 1), 2 ** checks.check_feature_count(p)
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
    It falls with n and rises with p. Since g is the largest alpha and not its mean (at p = 4,
    m = 8: 1 against 0.5154), this is an upper bound on the expectation that its name promises,
    under the paper's equally likely compositions. Its slow fall, like 1 / n, is the price of
    that assumption; see :func:`multinomial_imbalance`.
    """

    def expect(rows: Any, features: Any) -> float:
        missing, probabilities = _missing_probabilities(rows, features)
        return float(probabilities @ bound_at_share(missing / 2**features))

    return _map_numbers(expect, n, p)
