"""The maximum covariate imbalance alpha (paper, section 4.2; eqs. 9 to 12).

    alpha = max_j max_{k != j} | mean of x_k where x_j = 1 - mean of x_k where x_j = 0 |

with weighted means. Two statements of the paper are about it under the weights 1 / P^(x), where
each observed pattern carries the same weight: ``lemma:alpha`` and ``thm:mean_alpha``. Both read as
equalities there and are upper bounds: the docstrings say what was counted.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple, overload

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from stablepred.exceptions import InputError
from stablepred.theory.checks import (
    FloatArray,
    binary_matrix,
    feature_count,
    row_weights,
    whole_number,
)
from stablepred.weights.raw import imbalance


class MaximumImbalance(NamedTuple):
    """The largest gap between two weighted means, and where it is."""

    value: float
    treatment: Hashable
    """The feature whose two sides are compared: its name in a frame, else its position."""
    covariate: Hashable
    """The feature whose mean differs between them."""


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

    Returns
    -------
    MaximumImbalance
        ``value``, ``treatment`` (j) and ``covariate`` (k).

    Notes
    -----
    A feature that is constant under the weights has no second side to compare with; as a
    treatment it is passed over. Only where all features are constant, so that nothing can be
    compared at all, the value is 1 by the footnote to ``lemma:alpha``, and treatment and covariate
    are None. (Read to the letter, the footnote's 0/0 = 1 would give 1 - 1 = 0 for the single
    pattern of all ones and 1 for the others; the paper concludes 1 for all, as is done here.)
    """
    x, names = binary_matrix(X)
    weights = row_weights(w, len(x))
    if x.shape[1] < 2:
        raise InputError("X has one feature; an imbalance needs at least two to compare.")
    weights = weights / weights.sum()
    # The same tolerance as in core.balancing, whose rows are zero for constant treatments.
    varies = np.minimum(weights @ x, weights @ (1 - x)) > 1e-12
    if not varies.any():
        return MaximumImbalance(1.0, None, None)
    gaps = np.abs(imbalance(torch.from_numpy(x), torch.from_numpy(weights)).numpy())
    np.fill_diagonal(gaps, -1.0)
    gaps[~varies] = -1.0  # a true gap of zero goes before a pair that cannot be compared
    j, k = divmod(int(gaps.argmax()), x.shape[1])
    return MaximumImbalance(float(gaps[j, k]), names[j], names[k])


@overload
def imbalance_bound(p: int, m: int) -> float: ...
@overload
def imbalance_bound(p: int, m: ArrayLike) -> float | FloatArray: ...
def imbalance_bound(p: int, m: Any) -> float | FloatArray:
    """g(p, m), the largest alpha that m missing patterns can cause (``lemma:alpha``, eq. 12).

        g(p, m) = 2^{p-2} / (2^{p-1} - m) - 1/2                   0 <= m <= 2^{p-2}
                  1 - (2^{p-1} - m) / (3 * 2^{p-2} - m)     2^{p-2} < m <  2^{p-1}
                  1                                         2^{p-1} <= m <= 2^p - 1

    Parameters
    ----------
    p : int
        Number of features, at least 2.
    m : int or array of int
        Number of missing patterns, 0 to 2^p - 1.

    Returns
    -------
    float, or ndarray of the shape of ``m``

    Notes
    -----
    The lemma says "alpha = g(p, m)", but alpha also depends on which patterns are missing.
    Counting all sets of missing patterns for p = 2, 3, 4 shows what is true: g is the largest
    alpha under the weights 1 / P^(x), and it is attained. It is not the mean: at p = 4, m = 8, g
    is 1, while alpha has mean 0.5154 over the 12870 arrangements (:func:`imbalance_mean`). It is
    not the smallest: 50 of those arrangements have alpha = 0 (in 8 of them one feature is
    constant). And it is not the smallest over W for a given X: docs/theory.md has eight patterns
    of four features with alpha = 1/2 under 1 / P^(x) and 1/3 under other weights.

    At m = 2^p - 1 one pattern is left and every comparison is 0/0; the value is 1 by the paper's
    footnote.
    """
    features = whole_number(p, "p", 2, 10_000)
    patterns = 2**features
    if np.ndim(m) == 0:
        missing = whole_number(m[()] if isinstance(m, np.ndarray) else m, "m", 0, patterns - 1)
        return float(bound_at_share(np.array([missing / patterns]))[0])
    several = _whole_numbers(m, "m")
    if several.size and not (several.min() >= 0 and int(several.max()) < patterns):
        raise InputError(
            f"m must be between 0 and 2**p - 1 = {patterns - 1}, "
            f"but goes from {several.min()} to {several.max()}."
        )
    return bound_at_share(np.ldexp(several.astype(np.float64), -features))


def bound_at_share(missing_share: FloatArray) -> FloatArray:
    """The bound g as a function of r = m / 2^p alone, in a form without cancellation.

    Multiplied out: r / (1 - 2r) up to 1/4, then 1 / (3 - 4r) up to 1/2, then 1.
    """
    low = np.minimum(missing_share, 0.25)
    middle = np.minimum(missing_share, 0.5)
    return np.where(missing_share <= 0.25, low / (1 - 2 * low), 1 / (3 - 4 * middle))


def _whole_numbers(values: Any, name: str) -> NDArray[Any]:
    """An array of whole numbers, or an error that names it."""
    array = np.asarray(values)
    whole = array.dtype.kind in "iu" or (
        array.dtype.kind == "f" and bool((np.isfinite(array) & (array == np.round(array))).all())
    )
    if not whole and array.size:
        raise InputError(f"{name} must be whole numbers, but is {values!r}.")
    return array


def missing_distribution(n: int, p: int) -> FloatArray:
    """Distribution of m, all compositions of n being equally likely (``thm:mean_alpha``).

        P(m) = C(2^p, m) C(n - 1, 2^p - 1 - m) / C(n + 2^p - 1, 2^p - 1),   m = 0 ... 2^p - 1

    Parameters
    ----------
    n : int
        Number of rows, at least 1.
    p : int
        Number of features, 2 to 20.

    Returns
    -------
    ndarray of shape (2^p,)
        P(m); it sums to one.

    Notes
    -----
    That every way to split n rows over the 2^p patterns is equally likely is the paper's
    assumption. Rows drawn one by one make even splits far more likely and patterns are missing
    far less often: see :func:`multinomial_imbalance`.
    """
    rows, features = whole_number(n, "n", 1), feature_count(p)
    missing, probabilities = _likely_missing(rows, features)
    everywhere = np.zeros(2**features)
    everywhere[missing] = probabilities
    return everywhere


def _likely_missing(n: int, p: int) -> tuple[NDArray[np.int64], FloatArray]:
    """The m whose probability is not zero in floating point, and the probabilities.

    The number of observed patterns q = 2^p - m is hypergeometric, with

        P(q + 1) / P(q) = (2^p - q) (n - q) / ((q + 1) q),   1 <= q <= min(n, 2^p).

    Logarithms of these ratios are summed outwards from the mode, where they are close to zero:
    unlike differences of log-factorials this loses no digits. By Hoeffding's inequality all q
    further than t from the mean have probability under 2 exp(-2 t^2 / min(n, 2^p)); at
    t = 20 sqrt(min(n, 2^p)) that is smaller than any float.
    """
    patterns = 2**p
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


@overload
def expected_imbalance(n: int, p: int) -> float: ...
@overload
def expected_imbalance(n: ArrayLike, p: ArrayLike) -> float | FloatArray: ...
def expected_imbalance(n: Any, p: Any) -> float | FloatArray:
    """E[alpha] over random samples of n rows (``thm:mean_alpha``, eq. 11).

        E[alpha] = sum_m P(m) g(p, m)

    with P(m) of :func:`missing_distribution` and g of :func:`imbalance_bound`.

    Parameters
    ----------
    n : int or array of int
        Number of rows, at least 1; a million is no problem.
    p : int or array of int
        Number of features, 2 to 20. ``n`` and ``p`` are broadcast: the paper's figure is
        ``expected_imbalance(rows[:, None], np.arange(3, 12))``.

    Returns
    -------
    float, or ndarray of the broadcast shape

    Notes
    -----
    It falls with n and rises with p. Since g is the largest alpha and not its mean (at p = 4,
    m = 8: 1 against 0.5154), this is an upper bound on the expectation that its name promises,
    under the paper's equally likely compositions. Its slow fall, like 1 / n, is the price of
    that assumption; see :func:`multinomial_imbalance`.
    """
    rows, features = np.broadcast_arrays(_whole_numbers(n, "n"), _whole_numbers(p, "p"))
    values = np.array(
        [
            _expected(whole_number(a, "n", 1), feature_count(b))
            for a, b in zip(rows.flat, features.flat, strict=True)
        ]
    ).reshape(rows.shape)
    return float(values) if values.ndim == 0 else values


def _expected(n: int, p: int) -> float:
    missing, probabilities = _likely_missing(n, p)
    return float(probabilities @ bound_at_share(missing / 2**p))
