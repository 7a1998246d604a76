"""What holds for the errors of any predictions in any environments."""

import numpy as np
import pytest
from generated import environments
from hypothesis import given
from hypothesis import strategies as st

from stablepred import (
    average_error,
    environment_errors,
    error_interval,
    stability_error,
    worst_error,
)
from stablepred.evaluation.metrics import LEAST_ROWS, SUMMARIES
from stablepred.exceptions import InputError

NAMES = st.sampled_from(["rmse", "brier", "log_loss", "zero_one"])
ERRORS = st.lists(st.floats(0, 1e6), min_size=2, max_size=9)
NUMBER = st.floats(-1e100, 1e100) | st.sampled_from([np.nan, np.inf, -np.inf])
ANYTHING = (
    st.none()
    | st.booleans()
    | NUMBER
    | st.text(max_size=3)
    | st.lists(NUMBER | st.none() | st.text(max_size=2), max_size=4)
)


@given(environments(), NAMES)
def test_errors_are_finite_and_not_negative(made, error):
    tables, probabilities = made
    errors = environment_errors(probabilities, tables, error)
    assert list(errors.index) == [table.name for table in tables]
    assert np.isfinite(errors).all()
    assert (errors >= 0).all()
    if error != "log_loss":
        assert (errors <= 1).all()


@given(environments(), NAMES, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(made, error, random):
    tables, probabilities = made
    errors = environment_errors(probabilities, tables, error)
    moved = []
    for table in tables:
        order = list(range(len(table)))
        random.shuffle(order)
        moved.append(type(table)(table.name, table.X.iloc[order], table.y[order]))
        probabilities[table.name] = probabilities[table.name][order]
    np.testing.assert_allclose(
        environment_errors(probabilities, moved, error), errors, rtol=1e-12, atol=1e-15
    )


@given(environments(number=(1, 1)), NAMES)
def test_writing_every_row_twice_changes_nothing(made, error):
    (table,), probabilities = made
    twice = np.repeat(np.arange(len(table)), 2)
    doubled = type(table)(table.name, table.X.iloc[twice], table.y[twice])
    errors = environment_errors(probabilities, table, error)
    again = environment_errors(probabilities["e0"][twice], doubled, error)
    np.testing.assert_allclose(again, errors, rtol=1e-12, atol=1e-15)


@given(environments())
def test_rmse_is_the_root_of_the_brier_score(made):
    tables, probabilities = made
    rmse = environment_errors(probabilities, tables, "rmse")
    brier = environment_errors(probabilities, tables, "brier")
    np.testing.assert_allclose(rmse**2, brier, rtol=1e-12, atol=1e-15)


@given(ERRORS, st.randoms(use_true_random=False))
def test_the_order_of_the_environments_does_not_matter(errors, random):
    moved = errors.copy()
    random.shuffle(moved)
    for summary in (average_error, stability_error, worst_error):
        assert summary(moved) == pytest.approx(summary(errors), rel=1e-9, abs=1e-9)


@given(ERRORS)
def test_the_worst_error_is_at_most_average_and_spread_away(errors):
    """Samuelson: max - mean <= sd (n - 1) / sqrt(n), for any n numbers."""
    average, spread, worst = average_error(errors), stability_error(errors), worst_error(errors)
    n = len(errors)
    slack = 1e-9 * (1 + abs(worst))
    assert average <= worst + slack
    assert worst - average <= spread * (n - 1) / np.sqrt(n) + slack


@given(ERRORS, st.floats(0.01, 100), st.floats(0, 10))
def test_summaries_follow_scale_and_shift(errors, factor, shift):
    changed = [factor * error + shift for error in errors]
    slack = 1e-9 * (1 + max(changed))
    assert average_error(changed) == pytest.approx(
        factor * average_error(errors) + shift, abs=slack
    )
    assert worst_error(changed) == pytest.approx(factor * worst_error(errors) + shift, abs=slack)
    assert stability_error(changed) == pytest.approx(factor * stability_error(errors), abs=slack)


@given(ANYTHING)
def test_summaries_of_anything_are_finite_or_refused(errors):
    for summary in (average_error, stability_error, worst_error):
        try:
            value = summary(errors)
        except InputError:
            continue
        assert np.isfinite(value)


@given(environments(), st.floats(0.05, 0.99), st.integers(0, 1000))
def test_intervals_are_ordered_and_repeatable(made, level, seed):
    tables, probabilities = made
    options = {"level": level, "n_bootstrap": 20, "random_state": seed}
    table = error_interval(probabilities, tables, **options)
    assert np.isfinite(table["error"]).all()
    few = [one.name for one in tables if len(one.y) < LEAST_ROWS]
    told = table.drop(few) if len(tables) == 1 or not few else table.drop([*few, *SUMMARIES])
    assert np.isfinite(told.to_numpy()).all()
    assert table.drop(told.index)[["low", "high"]].isna().all(axis=None)
    assert (told["low"] <= told["high"]).all()
    assert len(table) == len(tables) + (3 if len(tables) > 1 else 0)
    again = error_interval(probabilities, tables, **options)
    np.testing.assert_array_equal(again.to_numpy(), table.to_numpy())


@given(environments(), st.data())
def test_predictions_that_are_no_probabilities_are_refused(made, data):
    tables, probabilities = made
    table = data.draw(st.sampled_from(tables))
    row = data.draw(st.integers(0, len(table) - 1))
    bad = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, -0.1, 1.1]))
    probabilities[table.name][row] = bad
    with pytest.raises(InputError, match=table.name):
        environment_errors(probabilities, tables)
