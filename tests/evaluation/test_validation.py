from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from stablepred.exceptions import InputError
from stablepred.validation.environments import (
    RATES,
    by_content,
    column_values,
    criterion_value,
    draw_other_side,
    resampling_weights,
    score,
    validation_environments,
    with_columns,
)


def table(n=4000, p=6, seed=0):
    """0/1 features, the last of which follows the outcome in three rows of four."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(float)
    x = (rng.random((n, p)) < 0.5).astype(float)
    x[:, -1] = np.where(rng.random(n) < 0.75, y, 1 - y)
    return x, y


def test_redrawn_features_agree_with_the_outcome_at_the_rate_and_others_stay():
    x, y = table()
    noisy = np.array([False, True, False, False, True, True])
    made = validation_environments("redraw", x, y, noisy, np.random.default_rng(1))
    changed = [features for features, _ in made]
    assert len(changed) == len(RATES) == 9
    for rate, environment in zip(RATES, changed, strict=True):
        np.testing.assert_array_equal(environment[:, ~noisy], x[:, ~noisy])
        agreement = (environment[:, noisy] == y[:, None]).mean(axis=0)
        np.testing.assert_allclose(agreement, rate, atol=4 * np.sqrt(0.25 / len(y)))


def test_redrawn_environments_differ_by_their_rate_and_not_by_luck():
    x, y = table(n=200)
    noisy = np.ones(6, dtype=bool)
    made = validation_environments("redraw", x, y, noisy, np.random.default_rng(1))
    agree = [changed == y[:, None] for changed, _ in made]
    for lower, higher in pairwise(agree):
        assert (higher | ~lower).all()  # what agrees at a rate agrees at every higher one


@pytest.mark.parametrize("rate", RATES)
def test_resampling_one_feature_meets_the_rate_exactly_in_both_classes(rate):
    x, y = table(n=500)
    w = resampling_weights(x[:, -1:], y, rate, least_share=0.0)
    for outcome in (0, 1):
        rows = y == outcome
        assert np.average(x[rows, -1] == outcome, weights=w[rows]) == pytest.approx(rate)
    assert w.mean() == pytest.approx(1)
    assert np.average(y, weights=w) == pytest.approx(y.mean())


def test_resampling_many_features_is_held_back_where_too_few_rows_would_be_left():
    x, y = table(p=12)
    shares = []
    for least in (0.0, 0.1, 0.5):
        w = resampling_weights(x, y, 0.1, least_share=least)
        shares.append(w.sum() ** 2 / (w @ w) / len(w))
    assert shares[0] < 0.1
    assert shares[1] == pytest.approx(0.1, rel=1e-3)
    assert shares[2] == pytest.approx(0.5, rel=1e-3)


def test_at_the_observed_rate_resampling_changes_nothing():
    x, y = table(n=400)
    agree = x[:, 0] == y
    x[:, 0] = np.where(np.arange(400) % 4 < 3, y, 1 - y)
    rate = {outcome: (x[y == outcome, 0] == outcome).mean() for outcome in (0, 1)}
    w = resampling_weights(x[:, :1], y, rate[1])
    np.testing.assert_allclose(w[y == 1], 1)
    assert agree.any()


def test_a_row_that_counts_twice_is_two_rows():
    x, y = table(n=60)
    count = np.where(np.arange(60) < 20, 2.0, 1.0)
    twice = np.r_[np.arange(60), np.arange(20)]
    w = resampling_weights(x[:, 3:], y, 0.2, count)
    np.testing.assert_allclose(resampling_weights(x[twice, 3:], y[twice], 0.2), w[twice])


def test_a_class_that_never_disagrees_gives_finite_weights():
    x, y = table(n=60)
    x[y == 1, 0] = 1.0
    assert np.isfinite(resampling_weights(x[:, :1], y, 0.1, least_share=0.0)).all()


def test_the_two_kinds_change_columns_or_weights_but_not_both():
    x, y = table(n=100)
    noisy = np.arange(6) >= 4
    count = np.arange(1.0, 101.0)
    kinds = {
        kind: list(
            validation_environments(
                kind, x, y, noisy, np.random.default_rng(0), sample_weight=count
            )
        )
        for kind in ("redraw", "resample")
    }
    for changed, weight in kinds["redraw"]:
        assert weight is count
        assert not np.array_equal(changed, x)
    for changed, weight in kinds["resample"]:
        assert changed is x
        assert weight.sum() == pytest.approx(count.sum())


def test_the_criterion_is_average_plus_weighted_stability_or_the_worst():
    errors = np.array([[0.1, 0.3, 0.2], [0.25, 0.25, 0.25]])
    expected = errors.mean(axis=1) + 5 * errors.std(axis=1, ddof=1)
    np.testing.assert_allclose(score(errors, 5.0), expected)
    np.testing.assert_allclose(criterion_value(errors), expected)
    np.testing.assert_allclose(criterion_value(errors, "worst"), [0.3, 0.25])


def test_values_come_from_the_other_side():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=50), rng.integers(0, 2, 50)])
    above = x > x.mean(axis=0)
    others = draw_other_side(x, above.astype(float), rng)
    np.testing.assert_array_equal(others[:, 1], 1 - x[:, 1])
    np.testing.assert_array_equal(others > x.mean(axis=0), ~above)
    assert set(others[:, 0]) <= set(x[:, 0])


def test_columns_are_told_apart_by_what_is_in_them_and_not_by_where_they_stand():
    x = np.random.default_rng(0).normal(size=(40, 4))
    order = np.array([2, 0, 3, 1])
    np.testing.assert_array_equal(x[:, by_content(x)], x[:, order][:, by_content(x[:, order])])


def test_a_constant_column_has_no_other_side():
    x = np.column_stack([np.ones(10), np.arange(10.0)])
    bits = np.column_stack([np.zeros(10), np.arange(10) > 4])
    np.testing.assert_array_equal(draw_other_side(x, bits, np.random.default_rng(0))[:, 0], 1)


@pytest.mark.parametrize("kind", ["numpy", "pandas"])
def test_columns_are_replaced_in_a_copy_of_the_same_kind(kind):
    values = {"a": [1, 2, 3], "b": [True, False, True], "c": [0.5, 1.5, 2.5]}
    before = np.column_stack([*values.values()]) if kind == "numpy" else pd.DataFrame(values)
    after = with_columns(before, np.array([0, 1]), np.array([[7.0, 0], [8, 1], [9, 0]]))
    assert type(after) is type(before)
    assert np.asarray(after).tolist() == [[7, 0, 0.5], [8, 1, 1.5], [9, 0, 2.5]]
    assert np.asarray(before).tolist() == [[1, 1, 0.5], [2, 0, 1.5], [3, 1, 2.5]]
    if kind != "numpy":
        assert list(after.dtypes) == list(before.dtypes)


def test_a_frame_of_one_kind_of_numbers_keeps_names_labels_and_kind():
    before = pd.DataFrame({"a": [0, 1], "b": [1, 1]}, index=[7, 9])
    after = with_columns(before, np.array([1]), np.array([[0.0], [1.0]]))
    pd.testing.assert_frame_equal(after, pd.DataFrame({"a": [0, 1], "b": [0, 1]}, index=[7, 9]))
    assert before["b"].tolist() == [1, 1]


def test_a_column_that_is_not_numeric_or_not_finite_is_named():
    frame = pd.DataFrame({"age": [1.0, np.nan], "city": ["Bonn", "Ulm"]})
    with pytest.raises(InputError, match="'city': not numeric"):
        column_values(frame, [1], ["age", "city"])
    with pytest.raises(InputError, match="'age': missing"):
        column_values(frame, [0], ["age", "city"])
