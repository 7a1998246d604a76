import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablepred import Dichotomizer, OverlapFilter
from stablepred._validation import column_names
from stablepred.exceptions import InputError, OverlapWarning

# --- cutting features into 0 and 1 ---


@given(seed=st.integers(0, 10_000))
def test_a_value_is_one_where_it_lies_above_the_mean(seed):
    x = np.random.default_rng(seed).normal(3, 2, (30, 3))
    expected = [[float(x[i, j] > sum(x[:, j]) / 30) for j in range(3)] for i in range(30)]
    np.testing.assert_array_equal(Dichotomizer().fit_transform(x), expected)


@given(seed=st.integers(0, 10_000))
def test_the_mean_is_weighted(seed):
    rng = np.random.default_rng(seed)
    x, weight = rng.normal(size=(30, 2)), rng.exponential(size=30)
    thresholds = Dichotomizer().fit(x, sample_weight=weight).thresholds_
    np.testing.assert_allclose(thresholds, np.average(x, axis=0, weights=weight))


@pytest.mark.parametrize("n", [30, 31])
def test_the_median_splits_in_halves(n):
    x = np.random.default_rng(0).permutation(n).astype(float)[:, None]
    ones = Dichotomizer(strategy="median").fit_transform(x).sum()
    assert ones == n // 2


def test_the_median_is_weighted():
    x = np.array([[1.0], [2.0], [3.0], [10.0]])
    binary = Dichotomizer(strategy="median").fit(x, sample_weight=[1, 1, 1, 10]).transform(x)
    assert binary.ravel().tolist() == [0, 0, 0, 1]
    binary = Dichotomizer(strategy="median").fit(x, sample_weight=[10, 1, 1, 1]).transform(x)
    assert binary.ravel().tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("strategy", ["mean", "median"])
@pytest.mark.parametrize(
    "values", [(0, 1), (1, 2), (-5, 3), (0.1, 0.2), (1e6, 1e6 + 1e-4), (0, 1e-12), (1e15, 1e15 + 1)]
)
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_a_feature_with_two_values_keeps_them_the_larger_as_one(strategy, values, share):
    large = np.arange(40) < 40 * share
    x = np.where(large, values[1], values[0])[:, None]
    found = Dichotomizer(strategy=strategy).fit_transform(x).ravel()
    np.testing.assert_array_equal(found, large.astype(float))


@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_zero_and_one_come_out_as_they_went_in(strategy):
    x = (np.random.default_rng(0).random((50, 4)) < [0.02, 0.3, 0.7, 0.98]).astype(float)
    x[0], x[1] = 0, 1
    np.testing.assert_array_equal(Dichotomizer(strategy=strategy).fit_transform(x), x)


@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_a_constant_feature_becomes_zero(strategy):
    assert (Dichotomizer(strategy=strategy).fit_transform(np.full((5, 1), 0.1)) == 0).all()


def test_a_value_equal_to_the_mean_is_not_above_it_whatever_the_rounding():
    x = np.array([0.1, 0.2, 0.3, 0.2])[:, None]
    assert Dichotomizer().fit_transform(x).ravel().tolist() == [0, 0, 1, 0]
    weight = np.array([3, 7, 3, 7]) * 0.1
    assert Dichotomizer().fit(x, sample_weight=weight).transform(x).ravel().tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_a_feature_that_varies_never_becomes_constant(strategy):
    """Even where more than half of the rows have the largest value."""
    for values in ([1, 2, 3, 3, 3, 3], [1, 1, 1, 1, 2, 3], [0, 5, 5, 5, 5, 9]):
        binary = Dichotomizer(strategy=strategy).fit_transform(np.array(values, float)[:, None])
        assert set(binary.ravel()) == {0.0, 1.0}


def test_new_rows_are_cut_at_the_thresholds_of_training():
    cut = Dichotomizer().fit([[0.0], [10.0], [2.0]])
    assert cut.transform([[3.9], [4.1], [-100.0]]).ravel().tolist() == [0, 1, 0]


def test_names_are_kept():
    X = pd.DataFrame({"age": [20, 30, 50], "rich": [0, 1, 0]})
    cut = Dichotomizer().set_output(transform="pandas").fit(X)
    assert cut.get_feature_names_out().tolist() == ["age", "rich"]
    assert cut.transform(X).columns.tolist() == ["age", "rich"]


def test_an_unknown_strategy_is_refused():
    with pytest.raises(InputError, match=r"'mean', 'median', but is 'mode'"):
        Dichotomizer(strategy="mode").fit([[0.0], [1.0]])


# --- overlap ---


def shares(*values, n=100):
    """A column for each share of ones."""
    return np.column_stack([(np.arange(n) < round(n * s)).astype(float) for s in values])


def test_features_inside_the_range_are_kept_ends_included():
    x = shares(0.19, 0.2, 0.5, 0.8, 0.81)
    keep = OverlapFilter()
    with pytest.warns(OverlapWarning, match=r"x0 \(0\.19\), x4 \(0\.81\)"):
        keep.fit(x)
    assert keep.get_support().tolist() == [False, True, True, True, False]
    np.testing.assert_allclose(keep.shares_, [0.19, 0.2, 0.5, 0.8, 0.81])
    np.testing.assert_array_equal(keep.transform(x), x[:, 1:4])


def test_shares_are_weighted_and_free_of_scale():
    x, weight = shares(0.1, 0.5), np.where(np.arange(100) < 10, 9.0, 1.0)
    for scale in (1.0, 0.1, 7.0):
        keep = OverlapFilter().fit(x, sample_weight=scale * weight)
        np.testing.assert_allclose(keep.shares_, [0.5, 130 / 180])


def test_a_share_at_the_end_of_the_range_is_inside_whatever_the_rounding():
    x = shares(0.2, 0.8)
    for scale in (0.1, 0.3, 1 / 7):
        keep = OverlapFilter().fit(x, sample_weight=np.full(100, scale))
        assert keep.get_support().all()


def test_features_that_are_not_binary_are_counted_after_cutting_and_returned_uncut():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=200), rng.exponential(size=200) ** 6])
    with pytest.warns(OverlapWarning, match="x1"):
        kept = OverlapFilter().fit_transform(x)
    np.testing.assert_array_equal(kept, x[:, :1])


def test_dropped_features_are_named():
    X = pd.DataFrame(shares(0.5, 0.01), columns=["fine", "rare"])
    keep = OverlapFilter().set_output(transform="pandas")
    with pytest.warns(OverlapWarning, match=r"rare \(0\.01\)"):
        kept = keep.fit_transform(X)
    assert kept.columns.tolist() == ["fine"]
    assert keep.get_feature_names_out().tolist() == ["fine"]


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.5), (0.6, 0.4), (0.2, 1.1)])
def test_a_range_that_is_none_is_refused(low, high):
    with pytest.raises(InputError, match="low <= high"):
        OverlapFilter(low=low, high=high).fit(shares(0.5))


def test_unnamed_columns_are_numbered_as_scikit_learn_numbers_them():
    assert column_names(Dichotomizer().fit(np.eye(3)), 3) == ["x0", "x1", "x2"]
