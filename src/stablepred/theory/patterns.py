"""Distinct rows of X: exact weights, overlap, missing patterns, joint imbalance.

P^(x) is the share of the rows that equal x; a pattern is a value x in {0, 1}^p.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stablepred.theory.checks import FloatArray, Names, check_binary, check_weights


class Overlap(NamedTuple):
    """The result of :func:`overlap`, feature by feature and in total."""

    features: Names
    """Column names of a frame, else indices."""
    holds: NDArray[np.bool_]
    """Whether feature j takes both values beside every observed value of the others: (p,)."""
    twin_share: FloatArray
    """Share of the rows that are also seen with feature j flipped: (p,)."""
    observed_patterns: int
    possible_patterns: int


class JointImbalance(NamedTuple):
    """The result of :func:`joint_imbalance`."""

    patterns: FloatArray
    """The observed patterns, one per row: (q, p)."""
    epsilon: FloatArray
    """epsilon_x of each of them: (q,)."""
    unobserved: float
    """Sum of |epsilon_x| over the patterns that were not observed."""
    total: float
    """Sum of |epsilon_x| over all of {0, 1}^p."""


class _Distinct(NamedTuple):
    patterns: FloatArray  # (q, p)
    which: NDArray[np.intp]  # (n,) the pattern of each row
    counts: NDArray[np.intp]  # (q,)


def _find_distinct(x: FloatArray) -> _Distinct:
    packed = np.packbits(x.astype(np.bool_), axis=1)
    _, first, which, counts = np.unique(
        packed, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return _Distinct(x[first], which.reshape(-1), counts)


def exact_weights(X: Any) -> FloatArray:
    """Weights that balance exactly when every pattern is observed (``thm1``, ``prop:svindep``).

        W*_i = 1 / P^(x_i), scaled to mean 1:  w_i = n / (q c_i)

    with c_i the number of rows equal to row i and q the number of distinct rows. Each observed
    pattern then carries the same total weight.

    Parameters
    ----------
    X : array or frame of 0/1, shape (n, p)
        The features.

    Returns
    -------
    ndarray of shape (n,)
        The weights, mean 1.

    Notes
    -----
    If all 2^p patterns are observed, the weighted features are exactly independent, each with
    mean 1/2 (``prop:svindep``), and where Assumption 1 holds in the sample, Y is independent of
    the noisy features (``prop:yvindep``). If patterns are missing, neither follows: see
    :func:`maximum_imbalance` for what remains.
    """
    x, _ = check_binary(X)
    distinct = _find_distinct(x)
    weights: FloatArray = len(x) / (len(distinct.counts) * distinct.counts[distinct.which])
    return weights


def overlap(X: Any) -> Overlap:
    """Check of Assumption 2 in the sample, feature by feature.

        0 < P^(X_j = 1 | X_{-j} = z) < 1  for every observed value z of the other features

    Parameters
    ----------
    X : array or frame of 0/1, shape (n, p)
        The features.

    Returns
    -------
    Overlap
        For each feature whether the assumption holds and for which share of the rows it does, and
        how many of the 2^p patterns were observed.

    Notes
    -----
    If it holds for all features, all 2^p patterns are observed: flipping one feature at a time
    leads from an observed pattern to any other (``pro:population_overlap``). For a single feature
    it can hold with patterns missing. It is a statement about this sample: a pattern that was not
    drawn may still be possible.
    """
    x, names = check_binary(X)
    distinct = _find_distinct(x)
    twins = [_has_twin(distinct.patterns, j) for j in range(x.shape[1])]
    return Overlap(
        features=names,
        holds=np.array([twin.all() for twin in twins]),
        twin_share=np.array([distinct.counts[twin].sum() / len(x) for twin in twins]),
        observed_patterns=len(distinct.counts),
        possible_patterns=2 ** x.shape[1],
    )


def _has_twin(patterns: FloatArray, j: int) -> NDArray[np.bool_]:
    """Which of the distinct patterns are also observed with feature j flipped: (q,)."""
    others = patterns.copy()
    others[:, j] = 0
    shared = _find_distinct(others)
    twin: NDArray[np.bool_] = shared.counts[shared.which] == 2
    return twin


def missing_patterns(X: Any) -> int:
    """m, the number of patterns of {0, 1}^p that no row of X has (section 4.2.1).

    Parameters
    ----------
    X : array or frame of 0/1, shape (n, p)
        The features.

    Returns
    -------
    int
        m = 2^p - (number of distinct rows), exact for any p.
    """
    x, _ = check_binary(X)
    possible: int = 2 ** x.shape[1]
    return possible - len(_find_distinct(x).counts)


def joint_imbalance(X: Any, w: ArrayLike) -> JointImbalance:
    """Distance of the weighted features from independence, pattern by pattern (eq. 13).

        epsilon_x = p~_x - prod_j p~_{x_j}

    with p~_x the share of the weight on pattern x and p~_{x_j} the share of the weight on the rows
    whose feature j equals x_j.

    Parameters
    ----------
    X : array or frame of 0/1, shape (n, p)
        The features.
    w : array of shape (n,)
        Row weights of any scale: the paper's W.

    Returns
    -------
    JointImbalance
        epsilon_x on the observed patterns, and the sum of |epsilon_x| over all of {0, 1}^p.

    Notes
    -----
    A pattern that was not observed has p~_x = 0 and so |epsilon_x| = prod_j p~_{x_j}. These
    products sum to one over {0, 1}^p, so the unobserved patterns together add 1 minus what the
    observed ones have; nothing is enumerated and p may be large. The sum over all patterns lies
    between 0 and 2: epsilon_x is a difference of two distributions, and half the sum is their
    distance in total variation.
    """
    x, _ = check_binary(X)
    weights = check_weights(w, len(x))
    distinct = _find_distinct(x)
    weight = np.bincount(distinct.which, weights=weights)  # (q,)
    joint = weight / weight.sum()
    product = _product_of_marginals(distinct.patterns, joint)
    everything = len(joint) == 2 ** x.shape[1]
    unobserved = 0.0 if everything else max(0.0, 1.0 - float(product.sum()))
    epsilon = joint - product
    total = float(np.abs(epsilon).sum()) + unobserved
    return JointImbalance(distinct.patterns, epsilon, unobserved, total)


def _product_of_marginals(patterns: FloatArray, joint: FloatArray) -> FloatArray:
    """prod_j p~_{x_j} at each pattern: (q,)."""
    on, off = joint @ patterns, joint @ (1 - patterns)  # (p,)
    ones = on / (on + off)  # exactly 1 or 0 for a feature that is constant under the weights
    zeros = off / (on + off)
    product: FloatArray = np.where(patterns == 1, ones, zeros).prod(axis=1)
    return product
