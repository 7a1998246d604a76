import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

import stablepred
from stablepred import StableClassifier, stability_report, stress_test
from stablepred.data import Environment, SyntheticWorld
from stablepred.evaluation.metrics import environment_errors, error_interval, stability_error
from stablepred.exceptions import InputError
from stablepred.validation.environments import RATES

WORLD = SyntheticWorld("s_indep_v")


@pytest.fixture(scope="module")
def train():
    return WORLD.sample(2000, bias_rate=0.75, random_state=0)


@pytest.fixture(scope="module")
def tests():
    return [WORLD.sample(1000, bias_rate=r, random_state=1) for r in (0.1, 0.5, 0.9)]


@pytest.fixture(scope="module")
def model(train):
    return LogisticRegression().fit(train.X, train.y)


@pytest.fixture(scope="module")
def report(model, tests):
    return stability_report(model, tests, n_bootstrap=50)


def test_both_reports_are_public():
    assert stablepred.stability_report is stability_report
    assert stablepred.stress_test is stress_test


def test_the_report_has_the_errors_with_intervals_and_their_summary(model, tests, report):
    expected = error_interval(model, tests, n_bootstrap=50, random_state=0)
    frame = report.to_frame()
    pd.testing.assert_frame_equal(frame[["error", "low", "high"]], expected)
    for t in tests:  # calibration stands beside the errors
        assert frame["observed"][t.name] == pytest.approx(t.y.mean())
        assert frame["predicted"][t.name] == pytest.approx(model.predict_proba(t.X)[:, 1].mean())
    errors = environment_errors(model, tests)
    assert report.to_frame()["error"]["Stability_Error"] == pytest.approx(stability_error(errors))
    assert (report.best, report.worst) == ("r=0.9", "r=0.1")


def test_what_breaks_logistic_regression_are_the_biased_features(report):
    assert set(report.breakers["feature"][:8]) == set(WORLD.biased_features)
    harm = report.breakers["harm"]
    assert harm[7] > 5 * harm[8:].abs().max()
    changed = report.breakers["association_best"] - report.breakers["association_worst"]
    assert (changed[:8] > 1).all()


def test_a_feature_that_the_model_does_not_use_does_no_harm(train, tests):
    only = LogisticRegression().fit(train.X[["V12"]], train.y)
    table = stability_report(
        lambda X: only.predict_proba(X[["V12"]])[:, 1], tests, n_bootstrap=2
    ).breakers
    assert table["feature"][0] == "V12"
    assert table["harm"][0] > 0.1
    assert (table["harm"][1:] == 0).all()


def test_harm_does_not_depend_on_the_order_of_the_columns(train, tests):
    order = list(reversed(train.X.columns))
    shuffled = LogisticRegression().fit(train.X[order], train.y)
    turned = [Environment(t.name, t.X[order], t.y) for t in tests]
    one = stability_report(LogisticRegression().fit(train.X, train.y), tests, n_bootstrap=2)
    two = stability_report(shuffled, turned, n_bootstrap=2)
    harm = [r.breakers.set_index("feature")["harm"] for r in (one, two)]
    np.testing.assert_allclose(harm[0], harm[1][harm[0].index], atol=1e-3)


def test_predictions_alone_have_errors_but_no_answer_to_what_breaks_them(model, tests):
    predictions = {t.name: model.predict_proba(t.X)[:, 1] for t in tests}
    report = stability_report(predictions, tests, n_bootstrap=5)
    assert report.breakers is None
    assert "What breaks it" not in str(report)


def test_the_report_reads_as_text(report):
    text = str(report)
    assert text.startswith(report.verdict)
    assert f"<p>{report.verdict}</p><table" in report._repr_html_()
    assert "worst in r=0.1" in text
    assert "What breaks it in r=0.1" in text
    assert "Stability_Error" in text
    assert "and 10 more features" in text


def test_a_single_environment_has_no_stability(model, tests):
    with pytest.raises(InputError, match="got a single one"):
        stability_report(model, tests[:1])


def test_an_environment_with_other_columns_is_refused(model, tests):
    other = Environment("other", tests[0].X.rename(columns={"V1": "W1"}), tests[0].y)
    with pytest.raises(InputError, match="lacks \\['V1'\\] and adds \\['W1'\\]"):
        stability_report(model, [tests[0], other])


# --- numeric outcomes ---


def numeric_table(name, rate, seed=0):
    """y follows s everywhere, and v as far as the rate says."""
    rng = np.random.default_rng(seed)
    s, v, noise = rng.normal(size=(3, 1500))
    y = 3 * s + noise
    return Environment(name, pd.DataFrame({"s": s, "v": rate * y + v}), y)


def test_a_regressor_is_reported_like_a_classifier():
    here = numeric_table("here", 0.9)
    tables = [numeric_table(f"r={rate:g}", rate, k) for k, rate in enumerate((0.9, 0.0, -0.9))]
    model = LinearRegression().fit(here.X, here.y)
    report = stability_report(model, tables, train=here, n_bootstrap=20)
    for table in tables:
        rmse = np.sqrt(np.mean((table.y - model.predict(table.X)) ** 2))
        assert report.errors["error"][table.name] == pytest.approx(rmse)
    assert list(report.comparison.roles.values()) == ["model", "ridge", "constant"]
    assert report.worst == "r=-0.9"
    assert report.breakers["feature"][0] == "v"
    with pytest.raises(InputError, match="log_loss needs a 0/1 outcome"):
        stability_report(model, tables, "log_loss")


def test_a_regressor_is_stressed_by_the_feature_that_follows_its_outcome():
    here = numeric_table("here", 0.9)
    model = LinearRegression().fit(here.X[["v"]], here.y)
    report = stress_test(lambda X: model.predict(X[["v"]]), here.X, here.y, n_bootstrap=5)
    assert report.to_frame().index[0] == "v"
    assert report.observed == pytest.approx(
        np.sqrt(np.mean((here.y - model.predict(here.X[["v"]])) ** 2))
    )
    assert report.to_frame().loc["v", "worst_rate"] == 0.1


def test_a_classifier_without_probabilities_is_refused(tests):
    svm = LinearSVC().fit(tests[0].X, tests[0].y)
    with pytest.raises(InputError, match="has no predict_proba"):
        environment_errors(svm, tests)


# --- stress test ---


def test_the_error_of_predicting_a_feature_is_one_minus_its_rate(train):
    """The feature itself as prediction is wrong exactly where it disagrees with the outcome."""
    report = stress_test(
        train.X["V12"].to_numpy(float), train.X, train.y, features=["V12"], error="zero_one"
    )
    row = report.to_frame().loc["V12"]
    for rate in RATES:
        assert row[f"r={rate:g}"] == pytest.approx(1 - rate, abs=2 / len(train.y))
    assert row["agreement"] == pytest.approx((train.X["V12"] == train.y).mean())
    assert row["worst_rate"] == 0.1
    assert row["low"] <= row["worst"] <= row["high"]


def test_the_outcome_keeps_its_rate(train):
    def rate(y, probability):
        return float(np.mean(y))

    row = stress_test(np.full(2000, 0.5), train.X, train.y, features=["V5"], error=rate)
    values = row.to_frame().loc["V5", [f"r={r:g}" for r in RATES]]
    np.testing.assert_allclose(values.astype(float), train.y.mean(), atol=1e-3)


def test_the_features_that_break_the_model_come_first(train, model):
    frame = stress_test(model, train.X, train.y, n_bootstrap=2).to_frame()
    assert set(frame.index[:5]) <= set(WORLD.biased_features)
    assert frame["worst"].is_monotonic_decreasing
    # A feature that has no part in the outcome and none in selection does no harm.
    assert frame.loc["V3", "stability"] < 0.25 * frame["stability"].iloc[0]


def test_a_model_and_its_predictions_are_stressed_alike(train, model):
    by_model = stress_test(model, train.X, train.y, n_bootstrap=5)
    column = model.predict_proba(train.X)[:, 1]
    pd.testing.assert_frame_equal(
        by_model.to_frame(), stress_test(column, train.X, train.y, n_bootstrap=5).to_frame()
    )
    assert by_model.observed == pytest.approx(float(environment_errors(column, train).iloc[0]))


def test_arrays_and_features_of_any_numbers_are_taken(train):
    rng = np.random.default_rng(0)
    x = np.column_stack([train.y + rng.normal(size=2000), rng.normal(size=2000)])
    plain = LogisticRegression().fit(x, train.y)
    report = stress_test(plain, x, train.y, n_bootstrap=5)
    assert list(report.to_frame().index) == ["x0", "x1"]
    named = pl.DataFrame({"a": x[:, 0], "b": x[:, 1]})
    column = plain.predict_proba(x)[:, 1]
    assert list(stress_test(column, named, train.y, n_bootstrap=5).to_frame().index) == ["a", "b"]


def test_features_that_cannot_be_stressed_are_named(train):
    X = train.X[["S1", "V5"]].assign(one=1, same=train.y)
    report = stress_test(np.full(2000, 0.3), X, train.y, n_bootstrap=2)
    assert report.skipped == {"one": "constant", "same": "always low where y = 0"}
    assert list(report.to_frame().index) == ["S1", "V5"]
    assert "not tested: one (constant)" in str(report)
    with pytest.raises(InputError, match="no feature can be tested"):
        stress_test(np.full(2000, 0.3), X[["one"]], train.y)


def test_features_from_which_no_environment_can_be_made_are_skipped(train):
    rng = np.random.default_rng(0)
    table = train.X[["S1", "V12"]].assign(
        city=rng.choice(["Bonn", "Ulm"], 2000), age=np.where(rng.random(2000) < 0.3, np.nan, 1.0)
    )
    for frame in (table, table.set_axis(range(4), axis=1)):
        model = StableClassifier(LogisticRegression(), random_state=0).fit(frame, train.y)
        report = stress_test(model, frame, train.y, n_bootstrap=5)
        city, age = map(str, frame.columns[2:])
        assert report.skipped == {city: "not numeric", age: "missing or infinite values"}
        assert set(report.errors.index) == set(frame.columns[:2])
        assert f"not tested: {city} (not numeric)" in str(report)
    with pytest.raises(InputError, match=r"no feature can be tested: \{'city': 'not numeric'"):
        stress_test(lambda X: np.full(2000, 0.5), table, train.y, features=["city", "age"])


def test_the_stress_test_reads_as_text(train, model):
    text = str(stress_test(model, train.X, train.y, n_bootstrap=5))
    assert "worst first" in text
    assert "What breaks it most: V" in text
    assert "and 10 more features" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(2000)}, "both classes"),
        ({"y": np.arange(2000) % 2 + 1}, r"classes of LogisticRegression, \[0, 1\], but has 2"),
        ({"y": np.arange(2000)}, r"\[0, 1\], but has 2\. Pass a pair \(X, y\) with y as in"),
        ({"y": np.zeros(3)}, "for each of the 2000 rows"),
        ({"features": ["W"]}, "no columns \\['W'\\]"),
        ({"features": []}, "no feature can be tested"),
        ({"rates": (0.5,)}, "two or more"),
        ({"rates": (0.5, 1.0)}, "strictly between 0 and 1"),
        ({"error": "mse"}, "error must be one of"),
        ({"X": np.zeros(5)}, "two dimensions"),
    ],
)
def test_bad_input_is_refused(train, model, change, message):
    arguments = {"X": train.X, "y": train.y} | change
    with pytest.raises(InputError, match=message):
        stress_test(model, **arguments)
