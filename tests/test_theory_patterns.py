"""Exact weights, overlap, missing patterns and joint imbalance, against slow counting."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from stablepred.exceptions import InputError
from stablepred.theory import (
    exact_weights,
    joint_imbalance,
    maximum_imbalance,
    missing_patterns,
    overlap,
)


def random_rows(n, p, seed=0, ones=0.6):
    return (np.random.default_rng(seed).random((n, p)) < ones).astype(int)


def all_patterns_with_random_counts(p, seed=0):
    """Every pattern at least once, the features far from independent, rows in random order."""
    rng = np.random.default_rng(seed)
    patterns = np.array(list(product([0, 1], repeat=p)))
    counts = 1 + rng.integers(0, 4, size=2**p) + 9 * (patterns[:, 0] == patterns[:, -1])
    return rng.permutation(np.repeat(patterns, counts, axis=0))


def slow_epsilons(x, w):
    """eq. 13 for each of the 2^p patterns, in fractions."""
    weights = [Fraction(float(value)) for value in w]
    total = sum(weights)
    epsilons = {}
    for pattern in product([0, 1], repeat=x.shape[1]):
        joint = sum(a for a, row in zip(weights, x, strict=True) if tuple(row) == pattern) / total
        independent = Fraction(1)
        for j, value in enumerate(pattern):
            on_side = zip(weights, x[:, j], strict=True)
            independent *= sum(a for a, b in on_side if b == value) / total
        epsilons[pattern] = joint - independent
    return epsilons


# exact weights


def test_exact_weights_are_inverse_pattern_shares_with_mean_one():
    x = random_rows(60, 3)
    counts = Counter(map(tuple, x))
    inverse = np.array([len(x) / counts[tuple(row)] for row in x])
    np.testing.assert_allclose(exact_weights(x), inverse / inverse.mean(), rtol=1e-14)
    assert exact_weights(x).mean() == pytest.approx(1, abs=1e-14)


def test_each_observed_pattern_carries_the_same_weight():
    x = random_rows(50, 6)
    w = exact_weights(x)
    sums = Counter()
    for row, weight in zip(x, w, strict=True):
        sums[tuple(row)] += weight
    np.testing.assert_allclose(list(sums.values()), len(x) / len(sums), rtol=1e-12)


def test_exact_weights_follow_the_rows():
    x = random_rows(40, 4)
    order = np.random.default_rng(1).permutation(len(x))
    np.testing.assert_array_equal(exact_weights(x[order]), exact_weights(x)[order])
    np.testing.assert_array_equal(exact_weights(x[:, ::-1]), exact_weights(x))
    np.testing.assert_array_equal(exact_weights(np.repeat(x, 2, axis=0))[::2], exact_weights(x))


@pytest.mark.parametrize("p", [2, 3, 5])
def test_features_are_exactly_independent_under_exact_weights(p):
    """prop:svindep."""
    x = all_patterns_with_random_counts(p)
    w = exact_weights(x)
    share = w / w.sum()
    assert maximum_imbalance(x, np.ones(len(x))).value > 0.2
    for pattern in product([0, 1], repeat=p):
        joint = share[(x == pattern).all(axis=1)].sum()
        marginals = [share[x[:, j] == value].sum() for j, value in enumerate(pattern)]
        assert joint == pytest.approx(2.0**-p, abs=1e-14)
        assert joint == pytest.approx(np.prod(marginals), abs=1e-14)
    assert maximum_imbalance(x, w).value == pytest.approx(0, abs=1e-12)
    assert joint_imbalance(x, w).total == pytest.approx(0, abs=1e-12)


def sample_with_stable_outcome(seed=0):
    """S1, S2, V1, V2, Y with P(y | s, v) = P(y | s) in the sample and V tied to S."""
    rng = np.random.default_rng(seed)
    rows, outcomes = [], []
    for s1, s2, v1, v2 in product([0, 1], repeat=4):
        fours = int(rng.integers(1, 4)) + 6 * (v1 == s1) + 3 * (v2 == s2)
        ones = [1, 2, 3, 4][s1 + 2 * s2] * fours  # a quarter to all of them: of s alone
        rows += [[s1, s2, v1, v2]] * (4 * fours)
        outcomes += [1] * ones + [0] * (4 * fours - ones)
    return np.array(rows), np.array(outcomes)


def test_outcome_is_independent_of_noisy_features_under_exact_weights():
    """prop:yvindep."""
    x, y = sample_with_stable_outcome()

    def chances_by_v(w):
        on = [(x[:, 2:] == v).all(axis=1) for v in product([0, 1], repeat=2)]
        return np.array([w[rows] @ y[rows] / w[rows].sum() for rows in on])

    plain, weighted = chances_by_v(np.ones(len(x))), chances_by_v(exact_weights(x))
    assert np.ptp(plain) > 0.1
    w = exact_weights(x)
    np.testing.assert_allclose(weighted, w @ y / w.sum(), rtol=1e-12)


def test_exact_weights_keep_the_outcome_given_the_stable_features():
    x, y = sample_with_stable_outcome()
    w = exact_weights(x)
    for s1, s2 in product([0, 1], repeat=2):
        rows = (x[:, 0] == s1) & (x[:, 1] == s2)
        chance = w[rows] @ y[rows] / w[rows].sum()
        assert chance == pytest.approx([0.25, 0.5, 0.75, 1.0][s1 + 2 * s2], abs=1e-12)


# overlap and missing patterns


def test_overlap_agrees_with_looking_for_each_rows_twin():
    x = random_rows(45, 5, seed=3)
    seen = set(map(tuple, x))
    found = overlap(x)
    for j in range(5):
        flipped = [tuple(1 - v if k == j else v for k, v in enumerate(row)) for row in x]
        twins = [row in seen for row in flipped]
        assert found.holds[j] == all(twins)
        assert found.twin_share[j] == pytest.approx(np.mean(twins))
    assert found.observed_patterns == len(seen)
    assert found.possible_patterns == 32
    assert not found.holds.all()


@pytest.mark.parametrize("seed", range(30))
def test_overlap_holds_for_all_features_only_if_no_pattern_is_missing(seed):
    """pro:population_overlap in the sample."""
    x = random_rows(12, 2 + seed % 2, seed=seed)
    assert overlap(x).holds.all() == (missing_patterns(x) == 0)


def test_overlap_can_hold_for_one_feature_with_patterns_missing():
    found = overlap([[0, 0], [1, 0]])
    assert found.holds.tolist() == [True, False]
    assert found.twin_share.tolist() == [1.0, 0.0]


def test_overlap_names_the_columns_of_a_frame():
    assert overlap(pd.DataFrame({"a": [0, 1], "b": [1, 1]})).features == ("a", "b")
    assert overlap([[0, 1]]).features == (0, 1)


def test_missing_patterns_counts_what_is_not_there():
    assert missing_patterns([[0, 0], [0, 1], [0, 1]]) == 2
    assert missing_patterns(all_patterns_with_random_counts(4)) == 0
    assert missing_patterns(np.zeros((3, 100))) == 2**100 - 1


# joint imbalance


@pytest.mark.parametrize("weights", ["ones", "random", "exact", "some zero"])
def test_joint_imbalance_agrees_with_enumeration_in_fractions(weights):
    x = random_rows(25, 4, seed=5)
    w = {
        "ones": np.ones(25),
        "random": np.random.default_rng(0).random(25),
        "exact": exact_weights(x),
        "some zero": np.arange(25.0) % 3,
    }[weights]
    slow = slow_epsilons(x, w)
    fast = joint_imbalance(x, w)
    for pattern, epsilon in zip(fast.patterns.astype(int), fast.epsilon, strict=True):
        assert epsilon == pytest.approx(float(slow[tuple(pattern)]), abs=1e-15)
    assert len(fast.patterns) == len(set(map(tuple, x))) < 16
    assert fast.total == pytest.approx(float(sum(map(abs, slow.values()))), abs=1e-14)
    hidden = {p: e for p, e in slow.items() if p not in set(map(tuple, x))}
    assert fast.unobserved == pytest.approx(float(sum(map(abs, hidden.values()))), abs=1e-14)


def test_joint_imbalance_does_not_depend_on_scale_or_order():
    x, w = random_rows(30, 5), np.random.default_rng(0).random(30)
    order = np.random.default_rng(1).permutation(30)
    total = joint_imbalance(x, w).total
    assert joint_imbalance(x, 1000 * w).total == pytest.approx(total, rel=1e-13)
    assert joint_imbalance(x[order][:, ::-1], w[order]).total == pytest.approx(total, rel=1e-12)


def test_a_doubled_row_is_a_row_of_weight_two():
    x = random_rows(20, 4)
    w = np.where(np.arange(20) < 5, 2.0, 1.0)
    doubled = np.vstack([x, x[:5]])
    a, b = joint_imbalance(x, w), joint_imbalance(doubled, np.ones(25))
    assert a.total == pytest.approx(b.total, rel=1e-13)


def test_joint_imbalance_reaches_many_features_without_enumeration():
    x = random_rows(200, 80)
    found = joint_imbalance(x, np.ones(200))
    assert found.unobserved == pytest.approx(1, abs=1e-9)
    assert found.total == pytest.approx(2, abs=1e-9)


def test_constant_features_do_not_add_to_the_joint_imbalance():
    x = random_rows(30, 3)
    wide = np.column_stack([x, np.ones(30), np.zeros(30)])
    w = np.random.default_rng(0).random(30)
    assert joint_imbalance(wide, w).total == pytest.approx(joint_imbalance(x, w).total, rel=1e-12)
    assert joint_imbalance(np.ones((4, 3)), np.ones(4)).total == 0


# input


@pytest.mark.parametrize("function", [exact_weights, overlap, missing_patterns])
def test_frames_bools_and_lists_are_the_same_as_arrays(function):
    x = random_rows(20, 3)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame["b"] = frame["b"].astype(bool)
    expected = repr(function(x)).replace("(0, 1, 2)", "('a', 'b', 'c')")
    assert repr(function(frame)) == expected
    assert repr(function(x.astype(bool))) == repr(function(x)) == repr(function(x.tolist()))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0, 1], [2, 1]], r"feature 0 must be 0/1, but holds 2\. Apply a Dichotomizer"),
        (pd.DataFrame({"a": [0, 1], "age": [31.5, 1]}), "feature 'age' must be 0/1"),
        ([[0, np.nan]], "feature 1 must be 0/1, but holds nan"),
        ([["a", "b"]], "must be a table of the numbers 0 and 1"),
        (np.array([[0, None]]), "but holds nan"),
        (np.array([[0, {}]], dtype=object), "must be a table"),
        ([0, 1], "Expected 2D array"),
        (np.empty((0, 3)), "minimum of 1 is required"),
        (csr_matrix(np.eye(2)), "Sparse"),
    ],
)
def test_tables_that_are_not_binary_are_refused_by_name(X, message):
    functions = (exact_weights, overlap, missing_patterns)
    for function in (
        *functions,
        lambda x: joint_imbalance(x, [1]),
        lambda x: maximum_imbalance(x, [1]),
    ):
        with pytest.raises(InputError, match=message):
            function(X)


@pytest.mark.parametrize(
    ("w", "message"),
    [
        ([1, 1], "each of the 3 rows"),
        ([1, -1, 1], "at least 0"),
        ([1, np.nan, 1], "finite"),
        ([0, 0, 0], "not all of them 0"),
    ],
)
def test_bad_weights_are_refused(w, message):
    for function in (joint_imbalance, maximum_imbalance):
        with pytest.raises(InputError, match=message):
            function([[0, 1], [1, 0], [1, 1]], w)
