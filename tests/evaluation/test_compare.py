"""Many methods in one table: who is compared, on what, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stablepred import average_error, compare, environment_errors, error_interval, stability_error
from stablepred.baselines import GroupDROClassifier
from stablepred.baselines.methods import CLASSIFIERS, REGRESSORS, SEVERAL, find_method
from stablepred.data import ContinuousWorld, SyntheticWorld, TableEncoder
from stablepred.evaluation import compare as module
from stablepred.exceptions import InputError, StablepredWarning

FAST = ["constant", "lr"]


@pytest.fixture(scope="module")
def environments():
    world = SyntheticWorld("s_indep_v", 10)
    return [world.sample(300, bias_rate=r, random_state=0) for r in (0.75, 0.3, 0.6)]


def mixed(n=120, seed=0, outcome=("no", "yes")):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 10, n)
    job = rng.choice(["cook", "clerk"], n)
    y = np.where(age + 10 * (job == "cook") + rng.normal(0, 8, n) > 55, *outcome[::-1])
    frame = pd.DataFrame({"age": np.where(rng.random(n) < 0.2, np.nan, age), "job": job})
    return frame, y


def test_errors_and_intervals_are_those_of_the_metrics(environments):
    train, *tests = environments
    found = compare(environments, methods=["lr"], n_bootstrap=50)
    model = make_pipeline(TableEncoder(), LogisticRegression(max_iter=1000))
    model.fit(train.X, train.y)
    predicted = {t.name: model.predict_proba(t.X)[:, 1] for t in tests}
    errors = environment_errors(predicted, tests)
    np.testing.assert_allclose(found.errors.loc["lr"], errors)
    row = found.table.loc["lr"]
    assert row["average"] == pytest.approx(average_error(errors))
    assert row["stability"] == pytest.approx(stability_error(errors))
    interval = error_interval(predicted, tests, n_bootstrap=50, random_state=0)
    assert row["worst low"] == pytest.approx(interval.loc["Worst_Error", "low"])


def test_train_and_tests_are_taken_in_every_form(environments):
    train, *tests = environments
    one_list = compare(environments, methods=FAST)
    for other in (
        compare(train, tests, methods=FAST),
        compare((train.X, train.y), {t.name: (t.X, t.y) for t in tests}, methods=FAST),
    ):
        pd.testing.assert_frame_equal(one_list.errors, other.errors)
    arrays = compare(
        (train.X.to_numpy(), train.y), (tests[0].X.to_numpy(), tests[0].y), methods=FAST
    )
    expected = one_list.errors["r=0.3"]
    np.testing.assert_allclose(arrays.errors["test"][expected.index], expected)
    assert np.isnan(arrays.table["stability"]).all()


def test_every_environment_is_left_out_in_turn(environments):
    found = compare(environments, methods=FAST, leave_one_out=True)
    assert list(found.errors) == [e.name for e in environments]
    rest = compare(environments[:2], environments[2], methods=FAST)
    np.testing.assert_allclose(found.errors["r=0.6"], rest.errors["r=0.6"])


def test_several_training_environments_reach_the_methods_that_use_them(environments):
    train, test = environments[:2], environments[2]
    found = compare(train, test, methods={"mine": GroupDROClassifier(), "theirs": "group_dro"})
    pooled = pd.concat([e.X for e in train]), np.concatenate([e.y for e in train])
    labels = np.repeat([e.name for e in train], 300)
    one = compare(pooled, test, methods=["group_dro"], environment=labels)
    assert found.errors.loc["theirs"].iloc[0] == pytest.approx(one.errors.iloc[0, 0])
    assert found.warnings == {}
    expected = GroupDROClassifier().fit(*pooled, environment=labels)
    assert environment_errors(expected, test).iloc[0] == pytest.approx(
        found.errors.loc["mine"].iloc[0]
    )


def test_tables_as_they_come_and_labels_of_any_kind():
    found = compare(mixed(), mixed(seed=1), methods=[*FAST, "boosting", "dwr"])
    assert (found.table["message"] == "").all()
    numbers = compare(mixed(outcome=(0, 1)), mixed(seed=1, outcome=(0, 1)), methods=FAST)
    np.testing.assert_allclose(numbers.errors.loc["lr"], found.errors.loc["lr"])


def test_a_number_is_predicted_by_the_regression_versions():
    world = ContinuousWorld("s_indep_v", 6)
    train, *tests = [world.sample(200, r, random_state=0) for r in (1.7, -2.0, 2.0)]
    found = compare(train, tests, methods=["constant", "lr", "anchor", "dro_kl"])
    assert set(found.table.index) == {"constant", "ols", "anchor", "dro_kl"}
    model = LinearRegression().fit(train.X, train.y)
    error = np.sqrt(np.mean((model.predict(tests[0].X) - tests[0].y) ** 2))
    assert found.errors.loc["ols", tests[0].name] == pytest.approx(error)
    assert "several training environments" in found.warnings["anchor"][0]


def test_a_method_that_fails_is_a_row_with_its_message(environments):
    class Broken(LogisticRegression):
        def fit(self, X, y):
            raise ValueError("no luck")

    found = compare(environments, methods={"broken": Broken(), "lr": "lr"})
    assert list(found.table.index) == ["lr", "broken"]
    assert found.table.loc["broken", "message"] == "ValueError: no luck"
    assert "no luck" in str(found)
    assert "no luck" in found._repr_html_()


def test_the_report_prints_and_draws(environments):
    found = compare(environments, methods=[*FAST, "dwr"])
    assert "95% intervals" in str(found)
    assert str(found).count("\n") >= 4
    averages = found.to_frame()["average"]
    assert averages.is_monotonic_increasing
    figure = found.plot()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == list(
        found.table.index
    )


def test_what_is_done_is_not_run_again(environments, tmp_path, monkeypatch):
    path = tmp_path / "done.jsonl"
    first = compare(environments, methods=FAST, checkpoint=path)
    ran, run = [], module._run
    monkeypatch.setattr(module, "_run", lambda *a: ran.append(a[0]) or run(*a))
    again = compare(environments, methods=[*FAST, "dwr"], checkpoint=path)
    assert len(ran) == 1
    assert again.errors.loc["lr"].equals(first.errors.loc["lr"])
    compare(environments, methods=["lr"], checkpoint=path, random_state=1)
    compare(environments[:2], methods=["lr"], checkpoint=path)
    assert len(ran) == 3  # another seed, other data
    path.write_text(path.read_text()[:-20])  # a torn line
    with pytest.warns(StablepredWarning, match="not a complete record"):
        compare(environments[:2], methods=["lr"], checkpoint=path)
    assert len(ran) == 4
    kept = [line for line in path.read_text().splitlines() if line.endswith("}")]
    assert all(json.loads(line)["result"]["message"] == "" for line in kept)


def test_every_method_that_the_data_allow_is_the_default():
    assert set(module.default_methods(numeric=False, several=True)) == set(CLASSIFIERS)
    assert set(module.default_methods(numeric=True, several=False)) == set(REGRESSORS) - {*SEVERAL}


@pytest.mark.slow
def test_all_methods_run_on_a_small_world():
    world = SyntheticWorld("s_indep_v", 10)
    train = [world.sample(300, bias_rate=r, random_state=0) for r in (0.65, 0.85)]
    found = compare(train, world.sample(300, bias_rate=0.3, random_state=0), n_bootstrap=20)
    assert set(found.table.index) == set(CLASSIFIERS)
    assert (found.table["message"] == "").all()
    numbers = [ContinuousWorld("s_to_v", 6).sample(200, r, random_state=0) for r in (1.7, 2, -2)]
    found = compare(numbers[:2], numbers[2], n_bootstrap=20)
    assert (found.table["message"] == "").all()
    assert set(found.table.index) == set(REGRESSORS)


@pytest.mark.parametrize(
    ("name", "numeric", "message"),
    [
        ("bosting", False, "there is no method 'bosting'. Did you mean 'boosting'"),
        ("anchor", False, "'anchor' is for a number, but the outcome is two classes"),
        ("group_dro", True, "'group_dro' is for two classes, but the outcome is a number"),
        ("xyzzy", True, "there is no method 'xyzzy'. The methods are constant, ols"),
    ],
)
def test_an_unknown_method_is_an_error_with_the_nearest_names(name, numeric, message):
    with pytest.raises(InputError, match=message):
        find_method(name, numeric=numeric)


def test_columns_of_a_table_need_no_names(environments):
    named, unnamed = (
        [(one.X.set_axis(names, axis=1), one.y) for one in environments]
        for names in (list(environments[0].X.columns), range(environments[0].X.shape[1]))
    )
    methods = ["lr", "lr_cv", "gbr"]
    one, two = (compare(data, methods=methods, n_bootstrap=5).errors for data in (named, unnamed))
    pd.testing.assert_frame_equal(one, two)


def test_data_that_do_not_go_together_are_refused(environments):
    train, test, _ = environments
    X, y = train.X, train.y
    for arguments, message in [
        (([train],), "nothing to test in"),
        ((train, (X, np.where(y == 1, 2, 0))), r"classes of training, \[0, 1\], but has 2"),
        ((train, (X[list(X.columns)[::-1]], y)), "must have the columns of training"),
        (((X, np.ones(len(X))), test), "always 1.0 in training"),
        (((X, np.array(["a", "b", "c"] * 100)), test), "3 different values"),
        (((X, y[:-1]), test), "shape"),
        (((X, np.array([0, 1, 2] * 100)), test), r"\(e.g. 0, 1, 2\)\. Combine .* pass floats"),
        ((train, ["what"]), "test 1 must be an Environment or a pair"),
        ((X, test), r"train must be an Environment or a pair \(X, y\), but is DataFrame"),
        ((train, X.to_numpy()), r"test must be an Environment .*, but is ndarray"),
        (([train, train], test), "distinct names"),
    ]:
        with pytest.raises(InputError, match=message):
            compare(*arguments, methods=FAST)
    with pytest.raises(InputError, match="label for each"):
        compare(train, test, methods=FAST, environment=["a", "b"])
    with pytest.raises(InputError, match="leave tests= out"):
        compare(train, test, methods=FAST, leave_one_out=True)
    with pytest.raises(InputError, match="must be an estimator or the name"):
        compare(train, test, methods={"mine": 3})
    with pytest.raises(InputError, match="no methods"):
        compare(train, test, methods=[])
    with pytest.raises(InputError, match="log_loss is for two classes"):
        compare((X, np.arange(300.0)), (X, np.arange(300.0)), methods=["ols"], error="log_loss")


def test_a_pipeline_of_ones_own_gets_the_columns_as_they_are(environments):
    own = make_pipeline(StandardScaler(), LogisticRegression())
    found = compare(environments, methods={"own": own})
    expected = own.fit(environments[0].X, environments[0].y)
    errors = environment_errors(expected, environments[1:])
    np.testing.assert_allclose(found.errors.loc["own"], errors)
