"""What holds for cutting and filtering any table of numbers."""

import warnings

import numpy as np
import pytest
from generated import NUMBERS, matrices, weighted_matrices
from hypothesis import given
from hypothesis import strategies as st

from stablepred import Dichotomizer, OverlapFilter

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
STRATEGIES = st.sampled_from(["mean", "median"])


def cut(strategy, x, weight=None):
    return Dichotomizer(strategy=strategy).fit(x, sample_weight=weight)


@given(weighted_matrices(NUMBERS), STRATEGIES)
def test_cut_features_are_0_or_1_and_follow_the_order_of_the_values(table, strategy):
    x, weight = table
    model = cut(strategy, x, weight)
    bits = model.transform(x)
    assert np.isin(bits, (0, 1)).all()
    assert np.isfinite(model.thresholds_).all()
    for values, cuts in zip(x.T, bits.T, strict=True):
        assert (np.diff(cuts[np.argsort(values, kind="stable")]) >= 0).all()
        for value in np.unique(values):
            assert len(np.unique(cuts[values == value])) == 1


@given(matrices(NUMBERS), STRATEGIES)
def test_two_values_keep_apart(x, strategy):
    """Whatever two values a column has, the smaller becomes 0 and the larger 1."""
    bits = cut(strategy, x).transform(x)
    for values, cuts in zip(x.T, bits.T, strict=True):
        if len(np.unique(values)) == 2:
            np.testing.assert_array_equal(cuts, values == values.max())


@given(weighted_matrices(NUMBERS), STRATEGIES, st.data())
def test_the_order_of_rows_and_columns_does_not_matter(table, strategy, data):
    x, weight = table
    rows = data.draw(st.permutations(range(len(x))))
    columns = data.draw(st.permutations(range(x.shape[1])))
    one = cut(strategy, x, weight).transform(x)
    other = cut(strategy, x[rows][:, columns], weight[rows]).transform(x[rows][:, columns])
    np.testing.assert_array_equal(other, one[rows][:, columns])


@given(matrices(NUMBERS), STRATEGIES, st.data())
def test_a_row_written_twice_is_a_row_of_weight_two(x, strategy, data):
    row = data.draw(st.integers(0, len(x) - 1))
    weight = np.ones(len(x))
    weight[row] = 2
    one = cut(strategy, x, weight).transform(x)
    other = cut(strategy, np.vstack([x, x[row]])).transform(x)
    np.testing.assert_array_equal(other, one)


@given(weighted_matrices(NUMBERS), STRATEGIES, st.floats(1e-6, 1e6))
def test_the_scale_of_the_weights_does_not_matter(table, strategy, factor):
    x, weight = table
    one = cut(strategy, x, weight).transform(x)
    np.testing.assert_array_equal(cut(strategy, x, factor * weight).transform(x), one)


@given(weighted_matrices(NUMBERS), STRATEGIES)
def test_rows_of_weight_zero_are_as_if_absent(table, strategy):
    x, weight = table
    there = weight > 0
    one = cut(strategy, x, weight).transform(x)
    np.testing.assert_array_equal(cut(strategy, x[there], weight[there]).transform(x), one)


@given(weighted_matrices(NUMBERS), st.floats(0, 1), st.floats(0, 1))
def test_the_filter_keeps_what_is_within_its_range(table, one_end, other_end):
    x, weight = table
    low, high = sorted((one_end, other_end))
    model = OverlapFilter(low=low, high=high).fit(x, sample_weight=weight)
    assert ((model.shares_ >= -1e-9) & (model.shares_ <= 1 + 1e-9)).all()
    kept = model.get_support()
    inside = (model.shares_ > low + 1e-9) & (model.shares_ < high - 1e-9)
    outside = (model.shares_ < low - 1e-9) | (model.shares_ > high + 1e-9)
    assert kept[inside].all()
    assert not kept[outside].any()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No features were selected")
        np.testing.assert_array_equal(model.transform(x), x[:, kept])


@given(weighted_matrices(NUMBERS), st.data(), st.floats(1e-6, 1e6))
def test_shares_depend_on_neither_row_order_nor_scale(table, data, factor):
    x, weight = table
    rows = data.draw(st.permutations(range(len(x))))
    one = OverlapFilter().fit(x, sample_weight=weight).shares_
    other = OverlapFilter().fit(x[rows], sample_weight=factor * weight[rows]).shares_
    np.testing.assert_allclose(other, one, rtol=0, atol=1e-9)


# NumPy's warning inside scikit-learn, on the way to refusing two infinities of different sign.
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce:RuntimeWarning")
@given(matrices(st.floats()), STRATEGIES)
def test_any_floats_are_cut_or_refused(x, strategy):
    """Missing and infinite values, and numbers near the end of the range."""
    for model in (Dichotomizer(strategy=strategy), OverlapFilter(strategy=strategy)):
        try:
            model.fit(x)
        except ValueError:
            assert not np.isfinite(x).all()
