"""Distinct rows of X: exact weights, overlap, missing patterns, joint imbalance.

P^(x) is the share of the rows that equal x; a pattern is a value x in {0, 1}^p.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stablepred.theory.checks import FloatArray, Names, check_binary, check_weights


class Overlap(NamedTuple):
    """The result of :func:`overlap`, feature by feature and in total."""

    features: Names  #: Column names of a frame, else indices.
    holds: NDArray[np.bool_]  #: Whether Assumption 2 holds for feature j: (p,).
    twin_share: FloatArray  #: Share of the rows that are also seen with feature j flipped: (p,).
    observed_patterns: int
    possible_patterns: int


class JointImbalance(NamedTuple):
    """The result of :func:`joint_imbalance`."""

    patterns: FloatArray  #: The observed patterns, one per row: (q, p).
    epsilon: FloatArray  #: epsilon_x of each of them: (q,).
    unobserved: float  #: Sum of |epsilon_x| over the patterns that were not observed.
    total: float  #: Sum of |epsilon_x| over all of {0, 1}^p.


def _find_distinct(x: FloatArray) -> tuple[FloatArray, NDArray[np.intp], NDArray[np.intp]]:
    """The patterns (q, p), which of them each row has (n,), and their counts (q,)."""
    packed = np.packbits(x.astype(np.bool_), axis=1)
    _, first, which, counts = np.unique(
        packed, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return x[first], which.reshape(-1), counts


def exact_weights(X: Any) -> FloatArray:
    """Weights that balance exactly when every pattern is observed (``thm1``, ``prop:svindep``).

        W*_i = 1 / P^(x_i), scaled to mean 1:  w_i = n / (q c_i),   i = 1 ... n

    with c_i the number of rows equal to row i and q the number of distinct rows. Each observed
    pattern then carries the same total weight.

    Parameters
    ----------
    X : array or frame of 0/1, shape (n, p)
        The features.

    Notes
    -----
    If all 2^p patterns are observed, the weighted features are exactly independent, each with
    mean 1/2 (``prop:svindep``), and where Assumption 1 holds in the sample, Y is independent of
    the noisy features (``prop:yvindep``). Else see :func:`maximum_imbalance`.
    """
    _, which, counts = _find_distinct(check_binary(X)[0])
    return np.divide(len(which), len(counts) * counts[which])


def overlap(X: Any) -> Overlap:
    """Check of Assumption 2 in the sample, feature by feature.

        0 < P^(X_j = 1 | X_{-j} = z) < 1  for every observed value z of the other features

    Parameters
    ----------
    X : array or frame of 0/1, shape (n, p)
        The features.

    Notes
    -----
    It holds for all features only where all 2^p patterns are observed: flipping one feature at a
    time leads from one to any other (``pro:population_overlap``). A pattern that was not drawn may
    still be possible.
    """
    x, names = check_binary(X)
    patterns, _, counts = _find_distinct(x)
    n, p = x.shape
    twins = np.empty((p, len(counts)), dtype=np.bool_)  # is it observed with feature j flipped?
    for j in range(p):
        _, which, times = _find_distinct(np.where(np.arange(p) == j, 0.0, patterns))
        twins[j] = times[which] == 2
    return Overlap(names, np.all(twins, axis=1), twins @ counts / n, len(counts), 2**p)


def missing_patterns(X: Any) -> int:
    """Count m, the patterns of {0, 1}^p that no row of X has (section 4.2.1).

    Parameters
    ----------
    X : array or frame of 0/1, shape (n, p)
        The features. m = 2^p - (number of distinct rows) is exact for any p.
    """
    x, _ = check_binary(X)
    return int(2 ** x.shape[1] - len(_find_distinct(x)[0]))


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

    Notes
    -----
    A pattern that was not observed has |epsilon_x| = prod_j p~_{x_j}. These products sum to one
    over {0, 1}^p, so that nothing is enumerated and p may be large. The sum over all patterns lies
    between 0 and 2: half of it is a distance in total variation.
    """
    x, _ = check_binary(X)
    weights = check_weights(w, len(x))
    patterns, which, _ = _find_distinct(x)
    weight = np.bincount(which, weights=weights)  # (q,)
    joint = weight / weight.sum()
    on, off = joint @ patterns, joint @ (1 - patterns)  # (p,)
    # Exactly 1 and 0 for a feature that is constant under the weights.
    product = np.where(patterns == 1, on / (on + off), off / (on + off)).prod(axis=1)
    unobserved = 0.0 if len(joint) == 2 ** x.shape[1] else max(0.0, 1.0 - float(product.sum()))
    epsilon = joint - product
    return JointImbalance(patterns, epsilon, unobserved, float(np.abs(epsilon).sum()) + unobserved)
