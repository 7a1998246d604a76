"""alpha, its bound g and its expectation, against counting all sets of missing patterns."""

from fractions import Fraction
from itertools import combinations, pairwise
from math import comb, lgamma, log

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from stablepred.exceptions import InputError
from stablepred.theory import (
    exact_weights,
    expected_imbalance,
    imbalance_bound,
    imbalance_mean,
    maximum_imbalance,
    missing_distribution,
    missing_patterns,
    multinomial_imbalance,
)


def patterns_of(p, numbers=None):
    numbers = range(2**p) if numbers is None else numbers
    return np.array([[number >> j & 1 for j in range(p)] for number in numbers])


def slow_alpha(x, w):
    """eqs. 9 and 10 by loops; constant treatments left out, 1 if nothing can be compared."""
    gaps = []
    for j in range(x.shape[1]):
        on, off = w[x[:, j] == 1].sum(), w[x[:, j] == 0].sum()
        if on > 0 and off > 0:
            for k in set(range(x.shape[1])) - {j}:
                treated = w[(x[:, j] == 1) & (x[:, k] == 1)].sum() / on
                control = w[(x[:, j] == 0) & (x[:, k] == 1)].sum() / off
                gaps.append(abs(treated - control))
    return max(gaps, default=1.0)


def paper_g(p, m):
    """The printed cases of eq. 12, in fractions."""
    if m <= 2 ** (p - 2):
        return Fraction(2 ** (p - 2), 2 ** (p - 1) - m) - Fraction(1, 2)
    if m < 2 ** (p - 1):
        return 1 - Fraction(2 ** (p - 1) - m, 3 * 2 ** (p - 2) - m)
    return Fraction(1)


def alphas_of_all_sets(p):
    """m and alpha of every non-empty set of observed patterns, a set being the bits of a number."""
    sets = np.arange(1, 2 ** (2**p), dtype=np.uint32)

    def count(condition):
        mask = np.uint32(sum(1 << x for x in range(2**p) if condition(x)))
        return np.bitwise_count(sets & mask).astype(float)

    alphas, comparable = np.zeros(len(sets)), np.zeros(len(sets), dtype=bool)
    for j in range(p):
        on, off = count(lambda x, j=j: x >> j & 1), count(lambda x, j=j: not x >> j & 1)
        varies = (on > 0) & (off > 0)
        comparable |= varies
        for k in set(range(p)) - {j}:
            both = count(lambda x, j=j, k=k: x >> j & x >> k & 1)
            only = count(lambda x, j=j, k=k: ~(x >> j) & x >> k & 1)
            gap = np.abs(both / np.maximum(on, 1) - only / np.maximum(off, 1))
            alphas = np.maximum(alphas, np.where(varies, gap, 0))
    alphas[~comparable] = 1
    return 2**p - np.bitwise_count(sets).astype(int), alphas


# alpha for given weights


@pytest.mark.parametrize("seed", range(20))
def test_maximum_imbalance_agrees_with_loops_over_pairs(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(2, size=(12, 4))
    w = rng.random(12) * rng.integers(2, size=12) + 1e-3
    found = maximum_imbalance(x, w)
    assert found.value == pytest.approx(slow_alpha(x, w), abs=1e-12)
    pair = x[:, [found.treatment, found.covariate]]
    treated, control = (pair[:, 0] == value for value in (1, 0))
    gap = np.average(pair[treated, 1], weights=w[treated]) - np.average(
        pair[control, 1], weights=w[control]
    )
    assert abs(gap) == pytest.approx(found.value, abs=1e-12)


def test_maximum_imbalance_names_the_columns_of_a_frame():
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": [0, 1, 0, 1]})
    found = maximum_imbalance(frame, np.ones(4))
    assert (found.value, found.treatment, found.covariate) == (1.0, "b", "c")


def test_maximum_imbalance_does_not_depend_on_scale_or_order_of_rows():
    rng = np.random.default_rng(0)
    x, w, order = rng.integers(2, size=(30, 5)), rng.random(30), rng.permutation(30)
    value = maximum_imbalance(x, w).value
    assert maximum_imbalance(x[order], 1e-9 * w[order]).value == pytest.approx(value, abs=1e-12)


def test_a_treatment_without_weight_on_one_side_is_passed_over():
    x = np.array([[0, 0, 1], [0, 1, 1], [0, 1, 0], [1, 0, 0]])
    w = np.array([1.0, 1.0, 2.0, 0.0])  # the only row with the first feature on has no weight
    assert maximum_imbalance(x, w)[1:] in {(1, 2), (2, 1)}
    assert maximum_imbalance(x, w).value == pytest.approx(slow_alpha(x[:3, 1:], w[:3]))


def test_a_single_pattern_has_imbalance_one_by_the_footnote():
    for pattern in ([0, 0], [0, 1], [1, 1]):
        assert maximum_imbalance([pattern, pattern], [1, 1]) == (1.0, None, None)


def test_imbalance_needs_two_features():
    with pytest.raises(InputError, match="one feature"):
        maximum_imbalance([[0], [1]], [1, 1])


# g(p, m)


@pytest.mark.parametrize("p", [2, 3, 4])
def test_g_is_the_largest_alpha_over_all_sets_of_missing_patterns(p):
    """lemma:alpha, with "=" read as "is at most, and for some arrangement equal to"."""
    m, alphas = alphas_of_all_sets(p)
    for missing in range(2**p):
        largest = alphas[m == missing].max()
        assert len(alphas[m == missing]) == comb(2**p, missing)
        assert largest == pytest.approx(imbalance_bound(p, missing), abs=1e-14)


def test_g_is_neither_the_mean_nor_the_smallest_alpha():
    m, alphas = alphas_of_all_sets(4)
    eight = alphas[m == 8]
    assert imbalance_bound(4, 8) == 1
    assert len(eight) == 12870
    assert eight.mean() == pytest.approx(0.5154, abs=5e-5)
    assert np.count_nonzero(eight < 1e-12) == 50


def best_alpha_with_balanced_margins(x):
    """The smallest alpha over weights under which every feature has mean 1/2, and the weights."""
    q, p = x.shape
    rows = [4 * x[:, j] * x[:, k] for j, k in combinations(range(p), 2)]
    above = np.array([[*row, -1] for row in rows] + [[*-row, -1] for row in rows])
    equal = np.array([[*np.ones(q), 0]] + [[*x[:, j], 0] for j in range(p)])
    solution = linprog(
        c=[0] * q + [1],
        A_ub=above,
        b_ub=[1] * len(rows) + [-1] * len(rows),
        A_eq=equal,
        b_eq=[1] + [0.5] * p,
    )
    return solution.fun, np.maximum(solution.x[:-1], 0)


def test_other_weights_can_balance_better_than_inverse_shares():
    x = patterns_of(4, [0, 2, 5, 6, 9, 10, 11, 15])
    assert maximum_imbalance(x, exact_weights(x)).value == pytest.approx(1 / 2)
    best, w = best_alpha_with_balanced_margins(x)
    assert best == pytest.approx(1 / 3)
    assert maximum_imbalance(x, w).value == pytest.approx(1 / 3)
    assert maximum_imbalance(x, [1, 0, 1, 1, 1, 1, 0, 1]).value == pytest.approx(1 / 3)


@pytest.mark.parametrize("p", [2, 3, 4, 7, 11])
def test_g_is_the_printed_formula(p):
    m = np.arange(2**p)
    printed = [float(paper_g(p, int(value))) for value in m]
    np.testing.assert_allclose(imbalance_bound(p, m), printed, rtol=1e-15, atol=0)
    assert [imbalance_bound(p, int(value)) for value in m[:9]] == list(imbalance_bound(p, m[:9]))
    assert (np.diff(imbalance_bound(p, m)) >= 0).all()
    assert isinstance(imbalance_bound(p, 1), float)


def test_g_keeps_its_digits_for_few_missing_patterns_of_many():
    assert imbalance_bound(80, 1) == pytest.approx(float(paper_g(80, 1)), rel=1e-15, abs=0)
    assert imbalance_bound(80, np.array([1]))[0] == imbalance_bound(80, 1)
    assert imbalance_bound(2000, 2**2000 - 1) == 1


@pytest.mark.parametrize("seed", range(25))
def test_no_sample_has_a_larger_alpha_than_g(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 7))
    x = rng.integers(2, size=(int(rng.integers(1, 80)), p))
    alpha = maximum_imbalance(x, exact_weights(x)).value
    assert alpha <= imbalance_bound(p, missing_patterns(x)) + 1e-12


# mean over arrangements


@pytest.mark.parametrize("p", [2, 3, 4])
def test_mean_over_arrangements_is_exact_for_few_features(p):
    m, alphas = alphas_of_all_sets(p)
    for missing in range(2**p):
        expected = alphas[m == missing].mean()
        assert imbalance_mean(p, missing) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("missing", [1, 2, 30])
def test_simulated_mean_is_right_where_all_arrangements_can_be_listed(missing):
    """At p = 5 the sets of one or two patterns are few enough to be listed."""
    listed = combinations(range(32), min(missing, 32 - missing))
    alphas = []
    for some in listed:
        observed = some if missing > 16 else sorted(set(range(32)) - set(some))
        x = patterns_of(5, observed)
        alphas.append(slow_alpha(x, np.ones(len(x))))
    simulated = imbalance_mean(5, missing, n_draws=400, random_state=0)
    error = np.std(alphas) / 400**0.5
    assert simulated == pytest.approx(np.mean(alphas), abs=4 * error + 1e-12)


def test_simulated_mean_is_below_g_and_repeats_with_its_seed():
    value = imbalance_mean(7, 64, n_draws=50, random_state=3)
    assert value == imbalance_mean(7, 64, n_draws=50, random_state=3)
    assert value == imbalance_mean(7, 64, n_draws=50, random_state=np.random.RandomState(3))
    assert value != imbalance_mean(7, 64, n_draws=50, random_state=4)
    assert 0 < value < 0.5 < imbalance_bound(7, 64)
    assert imbalance_mean(7, 0, n_draws=2) == 0


def test_simulation_in_chunks_is_the_same(monkeypatch):
    whole = imbalance_mean(6, 20, n_draws=20, random_state=0)
    monkeypatch.setattr("stablepred.theory.alpha.CHUNK", 7)
    assert imbalance_mean(6, 20, n_draws=20, random_state=0) == whole


# distribution of m and expectation


def compositions(n, boxes):
    """All ways to write n as an ordered sum of ``boxes`` numbers of at least zero."""
    for bars in combinations(range(n + boxes - 1), boxes - 1):
        edges = (-1, *bars, n + boxes - 1)
        yield [b - a - 1 for a, b in pairwise(edges)]


def paper_probability(n, p, m):
    top = 2**p - 1 - m
    return Fraction(comb(2**p, m) * comb(n - 1, top), comb(n + 2**p - 1, 2**p - 1))


@pytest.mark.parametrize(("n", "p"), [(1, 2), (3, 2), (8, 2), (20, 2), (1, 3), (4, 3), (7, 3)])
def test_expectation_agrees_with_enumerating_compositions(n, p):
    missing = [counts.count(0) for counts in compositions(n, 2**p)]
    mean = sum(paper_g(p, m) for m in missing) / len(missing)
    assert expected_imbalance(n, p) == pytest.approx(float(mean), rel=1e-13)
    frequencies = np.bincount(missing, minlength=2**p) / len(missing)
    np.testing.assert_allclose(missing_distribution(n, p), frequencies, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("n", "p"), [(1, 4), (15, 4), (100, 4), (37, 6), (5000, 6), (300, 8)])
def test_probabilities_are_the_printed_ones_and_sum_to_one(n, p):
    printed = [paper_probability(n, p, m) for m in range(2**p)]
    assert sum(printed) == 1
    ours = missing_distribution(n, p)
    assert ours.sum() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(ours, [float(q) for q in printed], rtol=1e-11, atol=1e-300)
    mean = sum(q * paper_g(p, m) for m, q in enumerate(printed))
    assert expected_imbalance(n, p) == pytest.approx(float(mean), rel=1e-12)


@pytest.mark.parametrize("n", [10, 10**3, 2**20, 10**6])
def test_probabilities_of_many_patterns_agree_with_log_factorials(n):
    ours = missing_distribution(n, 20)
    assert ours.sum() == pytest.approx(1, abs=1e-12)
    m = int(ours.argmax())

    def log_comb(a, b):
        return lgamma(a + 1) - lgamma(b + 1) - lgamma(a - b + 1)

    patterns = 2**20
    numerator = log_comb(patterns, m) + log_comb(n - 1, patterns - 1 - m)
    printed = numerator - log_comb(n + patterns - 1, patterns - 1)
    assert log(ours[m]) == pytest.approx(printed, abs=1e-7)


def test_expectation_does_not_overflow_at_the_largest_sizes():
    values = expected_imbalance(np.array([1, 10**3, 10**6]), 20)
    assert np.isfinite(values).all()
    assert values[0] == 1
    assert 0.99 < values[2] <= 1
    # m / 2^p is close to its mean, 2^p / (2^p + n), where there are many patterns and rows
    assert expected_imbalance(10**8, 20) == pytest.approx(
        imbalance_bound(20, round(2**40 / (2**20 + 10**8))), rel=1e-4
    )


def test_expectation_falls_with_rows_and_rises_with_features():
    """The data of the paper's figure."""
    rows = np.array([1, 3, 10, 100, 1000, 10_000, 100_000, 10**6])
    table = expected_imbalance(rows[:, None], np.arange(3, 12))
    assert table.shape == (8, 9)
    assert (np.diff(table, axis=0) <= 1e-12).all()
    assert (np.diff(table, axis=1) >= -1e-12).all()
    assert table[4, 2] == expected_imbalance(1000, 5)
    assert isinstance(expected_imbalance(1000, 5), float)


def test_rows_drawn_one_by_one_agree_with_the_occupancy_distribution():
    n, p = 9, 3
    chances = [  # inclusion and exclusion over which of the other patterns are hit
        comb(8, m)
        * sum((-1) ** i * comb(8 - m, i) * Fraction(8 - m - i, 8) ** n for i in range(9 - m))
        for m in range(8)
    ]
    assert sum(chances) == 1
    bound = float(sum(q * paper_g(p, m) for m, q in enumerate(chances)))
    alpha = sum(float(q) * imbalance_mean(p, m) for m, q in enumerate(chances))
    drawn = multinomial_imbalance(n, p, n_draws=3000, random_state=0)
    assert drawn.bound == pytest.approx(bound, abs=4 * drawn.bound_error)
    assert drawn.alpha == pytest.approx(alpha, abs=4 * drawn.alpha_error)
    assert 0 < drawn.alpha_error < 0.01
    assert drawn.alpha < drawn.bound < expected_imbalance(n, p)


def test_simulated_samples_repeat_with_their_seed():
    first, second, other = (
        multinomial_imbalance(50, 6, n_draws=10, random_state=seed) for seed in (0, 0, 1)
    )
    assert first == second != other


# input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: imbalance_bound(1, 0), "p must be between 2 and"),
        (lambda: imbalance_bound(3, 8), "m must be between 0 and 7, but is 8"),
        (lambda: imbalance_bound(3, -1), "m must be between 0 and 7"),
        (lambda: imbalance_bound(3, [0, 8]), "but is 8"),
        (lambda: imbalance_bound(3, [0.5]), "m must be an integer"),
        (lambda: imbalance_bound(3, True), "m must be an integer"),
        (lambda: imbalance_bound(2.5, 1), "p must be an integer"),
        (lambda: imbalance_mean(21, 5), r"p must be between 2 and 20 \(there are 2\*\*p"),
        (lambda: imbalance_mean(4, 16), "m must be between 0 and 15"),
        (lambda: imbalance_mean(5, 3, n_draws=0), "n_draws must be at least 1"),
        (lambda: expected_imbalance(0, 3), "n must be at least 1, but is 0"),
        (lambda: expected_imbalance([10, -1], 3), "n must be at least 1"),
        (lambda: expected_imbalance(10, 21), "p must be between 2 and 20"),
        (lambda: expected_imbalance(10, 1), "p must be between 2 and 20"),
        (lambda: expected_imbalance(10.5, 3), "n must be an integer"),
        (lambda: expected_imbalance("10", 3), "n must be an integer"),
        (lambda: missing_distribution(0, 3), "n must be at least 1"),
        (lambda: missing_distribution(5, 40), "p must be between 2 and 20"),
        (lambda: multinomial_imbalance(0, 3), "n must be at least 1"),
        (lambda: multinomial_imbalance(5, 3, n_draws=1), "n_draws must be at least 2"),
    ],
)
def test_numbers_out_of_range_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
