from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablepred.core.patterns import distinct_patterns


def rows(seed, n=40, p=3):
    rng = np.random.default_rng(seed)
    x, y = (rng.random((n, p)) < 0.5).astype(float), (rng.random(n) < 0.5).astype(float)
    return x, y, rng.integers(1, 5, n).astype(float)


@pytest.mark.parametrize("p", [1, 3, 7, 8, 9, 20])
def test_patterns_are_the_distinct_rows_with_their_relative_weight(p):
    x, y, count = rows(0, n=300, p=p)
    patterns = distinct_patterns(x, y, count)
    expected = Counter()
    for row, outcome, weight in zip(x, y, count, strict=True):
        expected[(*row, outcome)] += weight
    found = {
        (*row, outcome): weight
        for row, outcome, weight in zip(patterns.x, patterns.y, patterns.count, strict=True)
    }
    largest = max(expected.values())
    assert found.keys() == expected.keys()
    for row, weight in found.items():
        assert weight == pytest.approx(expected[row] / largest, rel=1e-11)
    assert patterns.mass.sum() == pytest.approx(1)


def test_the_index_leads_from_each_row_to_its_pattern():
    x, y, count = rows(1)
    patterns = distinct_patterns(x, y, count)
    np.testing.assert_array_equal(patterns.x[patterns.index], x)
    np.testing.assert_array_equal(patterns.y[patterns.index], y)


@given(seed=st.integers(0, 10_000), order=st.permutations(range(40)))
def test_the_order_of_rows_does_not_change_the_patterns(seed, order):
    x, y, count = rows(seed)
    one, other = distinct_patterns(x, y, count), distinct_patterns(x[order], y[order], count[order])
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(one.count, other.count)


@given(seed=st.integers(0, 10_000), row=st.integers(0, 39))
def test_a_row_written_twice_is_a_row_of_weight_two(seed, row):
    x, y, _ = rows(seed)
    weight = np.ones(40)
    written = distinct_patterns(np.vstack([x, x[row]]), np.append(y, y[row]), np.ones(41))
    weight[row] = 2
    weighted = distinct_patterns(x, y, weight)
    np.testing.assert_array_equal(written.x, weighted.x)
    np.testing.assert_array_equal(written.count, weighted.count)
