import types

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, zero_one_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from stablepred import explain_drop, stability_report, stress_test
from stablepred.data import Environment, SyntheticWorld
from stablepred.evaluation.metrics import (
    average_error,
    environment_errors,
    error_interval,
    stability_error,
    worst_error,
)
from stablepred.exceptions import InputError
from stablepred.plotting import EnvironmentErrorsDisplay

WORLD = SyntheticWorld("s_indep_v", 10)


@pytest.fixture(scope="module")
def train():
    return WORLD.sample(500, bias_rate=0.75, random_state=0)


@pytest.fixture(scope="module")
def tests():
    return [WORLD.sample(400, bias_rate=r, random_state=1) for r in (0.2, 0.5, 0.8)]


@pytest.fixture(scope="module")
def model(train):
    return LogisticRegression().fit(train.X, train.y)


def small(name, y):
    return Environment(name, pd.DataFrame({"a": np.zeros(len(y), int)}), y)


def test_environments_may_be_pairs_of_features_and_outcome_by_name_or_in_a_list(model, tests):
    expected = environment_errors(model, tests)
    pairs = [(one.X, one.y) for one in tests]
    named = environment_errors(model, dict(zip("abc", pairs, strict=True)))
    assert named.index.tolist() == ["a", "b", "c"]
    listed = environment_errors(model, pairs)
    assert listed.index.tolist() == ["environment 1", "environment 2", "environment 3"]
    assert named.tolist() == listed.tolist() == expected.tolist()
    assert environment_errors(model, pairs[0]).tolist() == expected.tolist()[:1]
    assert environment_errors(model, {"a": tests[0]}).index.tolist() == ["a"]
    frame = pd.DataFrame({"X": [0, 1], "y": [1, 0]})  # columns that an environment's parts recall
    assert environment_errors(lambda X: X["y"], (frame, [1, 0])).tolist() == [0.0]
    with pytest.raises(InputError, match=r"an Environment or a pair \(X, y\), but is DataFrame"):
        environment_errors(model, tests[0].X)


def test_errors_equal_numbers_computed_by_hand():
    first, second = small("first", [0, 1, 1, 0]), small("second", [1, 1])
    predictions = {"first": [0.0, 1.0, 0.5, 0.5], "second": [0.4, 0.8]}
    errors = environment_errors(predictions, [first, second])
    assert errors.index.tolist() == ["first", "second"]
    assert errors["first"] == pytest.approx(np.sqrt((0.25 + 0.25) / 4))
    assert errors["second"] == pytest.approx(np.sqrt((0.36 + 0.04) / 2))
    a, b = np.sqrt(0.125), np.sqrt(0.2)
    assert average_error(errors) == pytest.approx((a + b) / 2)
    assert stability_error(errors) == pytest.approx((b - a) / np.sqrt(2))
    assert worst_error(errors) == pytest.approx(b)


def test_stability_error_divides_by_one_less_than_the_number_of_environments():
    assert stability_error([0.1, 0.2, 0.6]) == pytest.approx(np.sqrt((0.04 + 0.01 + 0.09) / 2))


def test_named_errors_equal_those_of_scikit_learn(model, tests):
    for environment in tests:
        p = model.predict_proba(environment.X)[:, 1]
        y = environment.y
        expected = {
            "rmse": np.sqrt(brier_score_loss(y, p)),
            "brier": brier_score_loss(y, p),
            "log_loss": sklearn_log_loss(y, p),
            "zero_one": zero_one_loss(y, model.predict(environment.X)),
        }
        for name, value in expected.items():
            assert environment_errors(model, environment, name).item() == pytest.approx(value)


def test_log_loss_of_a_certain_and_wrong_prediction_is_finite():
    assert environment_errors([1.0], small("e", [0]), "log_loss").item() == pytest.approx(
        36.04, 1e-3
    )


def test_a_probability_of_one_half_predicts_one():
    errors = environment_errors([0.5, 0.5], small("e", [1, 0]), "zero_one")
    assert errors.item() == 0.5


def test_any_function_of_outcome_and_probability_is_an_error(model, tests):
    def bias(y, probability):
        return abs(np.mean(y - probability))

    errors = environment_errors(model, tests, bias)
    assert errors.name == "bias"
    p = model.predict_proba(tests[1].X)[:, 1]
    assert errors.iloc[1] == pytest.approx(abs(np.mean(tests[1].y - p)))


def test_model_function_and_predictions_give_the_same_errors(model, tests, train):
    expected = environment_errors(model, tests)
    assert expected.index.tolist() == ["r=0.2", "r=0.5", "r=0.8"]
    columns = {e.name: model.predict_proba(e.X)[:, 1] for e in tests}
    unnamed = LogisticRegression().fit(train.X.to_numpy(), train.y)
    for same in (lambda X: model.predict_proba(X)[:, 1], columns, unnamed):
        pd.testing.assert_series_equal(environment_errors(same, tests), expected)
    pd.testing.assert_series_equal(environment_errors(columns["r=0.2"], tests[0]), expected[:1])


def test_the_column_of_the_class_one_is_found_by_its_label():
    def proba(X):
        return np.tile([0.9, 0.1], (len(X), 1))

    swapped = types.SimpleNamespace(classes_=np.array([1, 0]), predict_proba=proba)
    assert environment_errors(swapped, small("e", [1, 1])).item() == pytest.approx(0.1)
    only = types.SimpleNamespace(classes_=[0], predict_proba=lambda X: np.ones((len(X), 1)))
    assert environment_errors(only, small("e", [1, 1])).item() == 1.0


def test_tables_that_are_not_binary_can_be_evaluated_too():
    table = types.SimpleNamespace(
        name="raw", X=pd.DataFrame({"age": [20.5, 60.0]}), y=pd.Series([0, 1], index=[4, 2])
    )
    errors = environment_errors(lambda X: X["age"] / 100, [table])
    assert errors["raw"] == pytest.approx(np.sqrt((0.205**2 + 0.4**2) / 2))
    assert error_interval(lambda X: X["age"] / 100, [table]).shape == (1, 3)


@pytest.mark.parametrize("container", [list, np.array, pd.Series, lambda e: dict(enumerate(e))])
def test_summaries_take_lists_arrays_series_and_mappings(container):
    errors = container([0.2, 0.4])
    assert average_error(errors) == pytest.approx(0.3)
    assert stability_error(errors) == pytest.approx(0.02**0.5)
    assert worst_error(errors) == pytest.approx(0.4)


def test_a_single_environment_has_no_stability_error():
    with pytest.raises(InputError, match="got a single one"):
        stability_error([0.3])


@pytest.mark.parametrize("errors", [[], [[0.1, 0.2]], [0.1, np.nan], [0.1, np.inf]])
def test_errors_that_are_no_list_of_finite_numbers_are_refused(errors):
    for summary in (average_error, stability_error, worst_error):
        with pytest.raises(InputError, match="errors must be"):
            summary(errors)


def test_an_environment_with_other_columns_is_refused(model, tests):
    X = tests[0].X
    changed = {
        "lacks \\['V6'\\]": X.drop(columns="V6"),
        "adds \\['new'\\]": X.assign(new=1),
        "another order": X[X.columns[::-1]],
    }
    for message, frame in changed.items():
        other = Environment("other", frame, tests[0].y)
        with pytest.raises(InputError, match=message):
            environment_errors(model, [other])
        with pytest.raises(InputError, match=message):
            environment_errors(lambda X: np.zeros(len(X)), [tests[0], other])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"environments": []}, "no environments"),
        (
            {"environments": [small("e", [0]), small("e", [1])]},
            "no distinct names",
        ),
        ({"error": "mse"}, "error must be one of"),
        ({"error": lambda y, p: np.nan}, "is nan"),
        ({"model": {"other": [0.5, 0.5]}}, "no predictions for the environments \\['e'\\]"),
        ({"model": [0.5]}, "one column of 2"),
        ({"model": [0.5, 1.5]}, "between 0 and 1"),
        ({"model": [0.5, np.nan]}, "between 0 and 1"),
        ({"model": object()}, "but is object"),
        (
            {
                "model": types.SimpleNamespace(
                    classes_=["no", "yes"], predict_proba=lambda X: np.ones((len(X), 2))
                )
            },
            r"the classes of SimpleNamespace, \['no', 'yes'\], but has 0",
        ),
        (
            {"environments": [(np.eye(2), ["a", "b"])]},
            "must be 0/1 or finite numbers, but has other values",
        ),
    ],
)
def test_bad_input_is_refused_with_a_message_that_names_it(arguments, message):
    call = {"model": lambda X: np.full(len(X), 0.5), "environments": [small("e", [0, 1])]}
    with pytest.raises(InputError, match=message):
        environment_errors(**{**call, **arguments})


CLASSES = [("no", "yes"), (-1, 1), (1, 2), ("0", "1"), (False, True), (0.0, 1.0)]


@pytest.mark.parametrize("classes", CLASSES)
def test_the_outcome_is_read_by_the_classes_of_the_model(train, tests, classes):
    def label(y):
        return np.asarray(classes)[y]

    plain = LogisticRegression().fit(train.X, train.y)
    named = LogisticRegression().fit(train.X, label(train.y))
    labelled = {one.name: (one.X, label(one.y)) for one in tests}
    pd.testing.assert_series_equal(
        environment_errors(named, labelled), environment_errors(plain, tests)
    )
    options = {"n_bootstrap": 5, "random_state": 0}
    pd.testing.assert_frame_equal(
        error_interval(named, labelled, **options), error_interval(plain, tests, **options)
    )
    trained = train.X, label(train.y)
    reported, expected = (
        stability_report(m, data, train=rows, n_bootstrap=5)
        for m, data, rows in ((named, labelled, trained), (plain, tests, train))
    )
    pd.testing.assert_frame_equal(reported.errors, expected.errors)
    pd.testing.assert_frame_equal(reported.breakers, expected.breakers)
    np.testing.assert_array_equal(reported.comparison.errors, expected.comparison.errors)
    stressed = stress_test(named, *trained, features=["S1"], n_bootstrap=5)
    expected = stress_test(plain, train.X, train.y, features=["S1"], n_bootstrap=5)
    pd.testing.assert_frame_equal(stressed.errors, expected.errors)
    dropped = explain_drop(named, trained, labelled[tests[0].name], n_bootstrap=5)
    assert dropped.losses == explain_drop(plain, train, tests[0], n_bootstrap=5).losses
    drawn = EnvironmentErrorsDisplay.from_estimator(named, labelled, n_bootstrap=5)
    np.testing.assert_array_equal(drawn.errors.iloc[0], reported.errors["error"][:-3])


def test_classes_that_do_not_go_together_are_named(train):
    X = train.X
    bits, words = (LogisticRegression().fit(X, y) for y in (train.y, np.where(train.y, "b", "a")))
    with pytest.raises(InputError, match=r"LogisticRegression, \['a', 'b'\], but has 'c'"):
        environment_errors(words, (X, np.where(train.y, "c", "a")))
    tables = [(X, np.where(train.y, "b", "a"))] * 2
    with pytest.raises(
        InputError, match=r"the same for all models, but LogisticRegression has \[0, 1\]"
    ):
        stability_report(words, tables, baselines={"other": bits})
    several = LogisticRegression().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(InputError, match=r"of two classes, .* has \[0, 1, 2\]\. Of several"):
        environment_errors(several, (X, np.arange(len(X)) % 3))


def test_one_draw_is_no_interval(model, tests):
    with pytest.raises(InputError, match="n_bootstrap must be at least 2"):
        error_interval(model, tests, n_bootstrap=1)


def test_interval_over_rows_has_the_width_of_the_standard_error(model, tests):
    table = error_interval(model, tests, "brier", n_bootstrap=2000, random_state=0)
    assert table.index.tolist() == [e.name for e in tests] + [
        "Average_Error",
        "Stability_Error",
        "Worst_Error",
    ]
    errors = environment_errors(model, tests, "brier")
    np.testing.assert_allclose(table["error"][:3], errors)
    assert table.loc["Average_Error", "error"] == pytest.approx(average_error(errors))
    assert table.loc["Stability_Error", "error"] == pytest.approx(stability_error(errors))
    for environment in tests:
        squares = (environment.y - model.predict_proba(environment.X)[:, 1]) ** 2
        width = 2 * 1.96 * squares.std() / np.sqrt(len(squares))
        low, high = table.loc[environment.name, ["low", "high"]]
        assert high - low == pytest.approx(width, rel=0.1)
        assert low < squares.mean() < high


def test_interval_over_seeds_resamples_whole_seeds():
    rng = np.random.default_rng(0)
    level = rng.normal(0.3, 0.05, 40)
    runs = pd.DataFrame({"r=0.1": level + 0.1, "r=0.9": level})
    table = error_interval(runs, n_bootstrap=4000, random_state=0)
    np.testing.assert_allclose(table.loc[["r=0.1", "r=0.9"], "error"], runs.mean())
    width = 2 * 1.96 * level.std() / np.sqrt(40)
    assert table.loc["Average_Error", "high"] - table.loc["Average_Error", "low"] == pytest.approx(
        width, rel=0.1
    )
    spread = table.loc["Stability_Error"]  # the same in every seed, so nothing to be unsure about
    assert spread["low"] == pytest.approx(0.1 / np.sqrt(2))
    assert spread["high"] == pytest.approx(0.1 / np.sqrt(2))


def test_interval_over_seeds_takes_a_list_of_errors_or_one_number_per_seed(model, tests):
    errors = environment_errors(model, tests)
    table = error_interval([errors, errors + 0.1], random_state=0)
    np.testing.assert_allclose(table["error"][:3], errors + 0.05)
    one = error_interval(pd.Series([0.1, 0.3], name="DGBR"), random_state=0)
    assert one.index.tolist() == ["DGBR"]
    assert one["error"].item() == pytest.approx(0.2)


def test_intervals_are_the_same_for_the_same_seed_and_wider_at_a_higher_level(model, tests):
    first, again = (error_interval(model, tests, random_state=3) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    wide = error_interval(model, tests, level=0.99, random_state=3)
    assert ((wide["high"] - wide["low"]) > (first["high"] - first["low"])).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": 1.0}, "level"),
        ({"n_bootstrap": 0}, "n_bootstrap"),
        ({"source": [[0.1, 0.2]]}, "two or more seeds, all finite"),
        ({"source": [[0.1, 0.2], [0.1, np.nan]]}, "finite"),
    ],
)
def test_bad_input_of_intervals_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        error_interval(**{"source": [[0.1, 0.2], [0.2, 0.3]], **arguments})
