"""Alpha over random arrangements of missing patterns, under the weights 1 / P^(x).

Every observed pattern then carries the same weight, so that alpha depends on their set alone.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from stablepred.theory.alpha import bound_at_share, compare_means
from stablepred.theory.checks import FloatArray, check_feature_count, check_integer

# Patterns expanded into rows at a time; bounds the memory for large p.
CHUNK = 1 << 16

RandomState = int | np.random.RandomState | None


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

    All C(2^p, m) sets of missing patterns count the same. Up to p = 4 they are all enumerated and
    the mean is exact; beyond, it is the mean over random sets. :func:`imbalance_bound` is the
    largest alpha over the same sets; constant features count as in :func:`maximum_imbalance`.

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
    draws = check_integer(n_draws, "n_draws", 1)
    rng = _generator(random_state)
    grams = np.stack([_random_gram(features, missing, rng) for _ in range(draws)])
    return float(_alphas(grams, 2**features - missing).mean())


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


def _random_gram(p: int, m: int, rng: np.random.Generator) -> FloatArray:
    """X'X of the patterns that are left when m random ones are missing: (p, p)."""
    left = 2**p - m
    drawn = _gram(rng.choice(2**p, size=min(m, left), replace=False, shuffle=False), p)
    if left <= m:
        return drawn
    return 2.0 ** (p - 2) * (1 + np.eye(p)) - drawn


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
