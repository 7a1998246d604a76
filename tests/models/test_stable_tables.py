"""Tables as they come: numbers, text, categories, booleans and missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

from stablepred import StableClassifier, StableFeatureSelector, StableRegressor, TableEncoder
from stablepred.exceptions import InputError, TableWarning

N = 160


def make_table(seed=0):
    """People; whether they buy depends on age, job and whether they own."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, N).astype(float)
    job = rng.choice(["clerk", "cook", "smith"], N)
    own = rng.random(N) < 0.5
    score = 0.05 * (age - 48) + (job == "cook") + own - 0.8 + rng.logistic(0, 0.5, N)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(N) < 0.1, np.nan, age),
            "visits": rng.integers(0, 9, N),
            "job": pd.Series(job, dtype=object).where(rng.random(N) < 0.9),
            "city": pd.Categorical(rng.choice(["Bonn", "Ulm"], N), categories=["Bonn", "Ulm"]),
            "owns": own,
        }
    )
    return frame, np.where(score > 0, "yes", "no"), score


MODELS = {
    "classifier": StableClassifier(random_state=0),
    "classifier of LR": StableClassifier(LogisticRegression(), random_state=0),
    "regressor": StableRegressor(random_state=0),
    "regressor of a line": StableRegressor(LinearRegression(), random_state=0),
}


def fit(name, X, *, seed=0):
    _, labels, score = make_table(seed)
    return clone(MODELS[name]).fit(X, labels if "class" in name else score)


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("name", MODELS)
def test_a_mixed_table_is_fitted_and_predicted(name):
    X, labels, score = make_table()
    model = fit(name, X)
    assert model.score(X, labels if "class" in name else score) > 0.4
    assert list(model.feature_names_in_) == list(X)
    assert list(model.variables_["variable"]) == list(X)
    assert model.used_features_.shape == (5,)
    names = model.encoder_.get_feature_names_out()[model.columns_]
    for variable, used in zip(X, model.used_features_, strict=True):
        assert used == any(str(one).split("=")[0].split(" is ")[0] == variable for one in names)


def test_the_columns_of_a_category_are_used_or_left_out_together():
    X, *_ = make_table()
    model = fit("classifier of LR", X)
    own = model.encoder_.groups_
    for one in np.unique(own):
        columns = np.flatnonzero(own == one)
        assert np.isin(columns, model.columns_).all() or not np.isin(columns, model.columns_).any()


def variants():
    X, *_ = make_table()
    cities = pd.CategoricalDtype(["Aachen", "Ulm", "Bonn", "Zeitz"])
    return {
        "float32": X.astype({"age": "float32", "visits": "float32"}),
        "nullable": X.astype({"age": "Float64", "visits": "Int64", "owns": "boolean"}),
        "string": X.astype({"job": "string"}),
        "unused levels": X.astype({"city": cities}),
        "text": X.astype({"city": str}),
        "polars": pl.from_pandas(X.assign(city=X["city"].astype(str))),
        "arrow categories": pd.DataFrame(X).astype(
            {"city": pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))}
        ),
        "pyarrow": pa.Table.from_pandas(X, preserve_index=False),
    }


@pytest.mark.parametrize("kind", variants())
def test_the_type_of_a_column_does_not_matter(kind):
    X, *_ = make_table()
    other = variants()[kind]
    one = fit("classifier of LR", X)
    two = fit("classifier of LR", other)
    np.testing.assert_array_equal(answers(two, other), answers(one, X))
    np.testing.assert_array_equal(answers(one, other), answers(one, X))
    pd.testing.assert_frame_equal(two.variables_, one.variables_)


def test_levels_that_were_never_seen_are_warned_of_and_count_as_an_average_row():
    X, *_ = make_table()
    model = fit("classifier", X)
    strange = X.head(5).assign(job="pilot")
    with pytest.warns(TableWarning, match=r"never seen in training.*job"):
        found = model.predict_proba(strange)
    assert np.isfinite(found).all()


def test_a_value_that_is_missing_for_the_first_time_is_warned_of():
    X, *_ = make_table()
    model = fit("classifier", X)
    with pytest.warns(TableWarning, match="visits"):
        found = model.predict_proba(X.head(5).assign(visits=np.nan))
    assert np.isfinite(found).all()


def test_missing_values_in_an_array_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 3))
    y = (x[:, 0] + 0.5 * rng.normal(size=150) > 0).astype(int)
    x[rng.random((150, 3)) < 0.2] = np.nan
    model = StableClassifier(random_state=0).fit(x, y)
    assert model.score(x, y) > 0.7


# --- refusals ---


@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_dates_are_refused_with_advice(name):
    X, *_ = make_table()
    X["since"] = pd.date_range("2020-01-01", periods=N)
    with pytest.raises(InputError, match=r"'since' holds.*year.*X.drop\(columns=\['since'\]\)"):
        fit(name, X)
    fitted = fit(name, X.assign(since=1.0 + np.arange(N) % 7))
    with pytest.raises(InputError, match=r"'since' holds.*year.*X.drop\(columns=\['since'\]\)"):
        fitted.predict(X)
    X["since"] = X["since"].dt.strftime("%Y-%m-%d")
    with pytest.raises(InputError, match=r"'since' holds dates.*year, month"):
        fit(name, X)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e308])
def test_infinite_and_enormous_numbers_are_refused_with_their_column_and_row(value):
    X, *_ = make_table()
    X.loc[7, "age"] = value
    with pytest.raises(InputError, match=r"'age' has infinite or too large numbers.*row 8"):
        fit("classifier", X)
    good, *_ = make_table()
    with pytest.raises(InputError, match=r"'age' has infinite or too large numbers.*row 8"):
        fit("classifier", good).predict(X)


@pytest.mark.parametrize("value", [np.inf, 1e308])
def test_infinite_and_enormous_numbers_in_an_array_are_refused(value):
    x = np.random.default_rng(0).normal(size=(60, 3))
    x[3, 1] = value
    with pytest.raises(ValueError, match=r"infinity|infinite or too large"):
        StableClassifier().fit(x, np.arange(60) % 2)


def test_a_column_with_another_text_in_every_row_is_left_out_with_a_warning():
    X, *_ = make_table()
    X["name"] = [f"person {k}" for k in range(N)]
    with pytest.warns(TableWarning, match=r"id or free text.*name"):
        model = fit("classifier of LR", X)
    assert not model.used_features_[-1]
    without = fit("classifier of LR", X.drop(columns="name"))
    np.testing.assert_array_equal(answers(model, X), answers(without, X.drop(columns="name")))


def test_a_table_of_such_columns_alone_is_refused():
    X = pd.DataFrame({"name": [f"person {k}" for k in range(60)], "same": 1.0})
    with pytest.raises(InputError, match=r"no feature is left.*name"):
        StableClassifier().fit(X, np.arange(60) % 2)


X_SMALL = np.random.default_rng(0).normal(size=(120, 2))
BAD_OUTCOMES = {
    "a number": (StableClassifier(), np.linspace(0, 1, 120), "continuous.*StableRegressor"),
    "60 classes": (StableClassifier(), np.arange(120) % 60, "60 classes, more than 30.*Regressor"),
    "one class": (StableClassifier(), np.ones(120, int), "only one class"),
    "zeros": (StableRegressor(), np.zeros(120), "0 in every row"),
    "dates": (StableRegressor(), np.arange(120).astype("datetime64[D]"), "not text or dates"),
    "mixed classes": (StableClassifier(), np.array([1, "a"] * 60, dtype=object), "mixes strings"),
    "a constant": (StableRegressor(), np.full(120, 3.5), "3.5 in every row"),
    "nearly constant": (StableRegressor(), np.full(120, 1e9) + 1e-9, "in every row"),
    "words": (StableRegressor(), np.array(["a", "b"] * 60), "numbers for a regressor"),
    "infinite": (StableRegressor(), np.append(np.arange(119.0), np.inf), "infinity"),
    "1e308": (StableRegressor(), np.append(np.arange(119.0), 1e308), "too large"),
    "missing": (StableRegressor(), np.append(np.arange(119.0), np.nan), "NaN"),
    "missing classes": (StableClassifier(), np.array(["a", None] * 60, dtype=object), "NaN"),
}


@pytest.mark.parametrize("kind", BAD_OUTCOMES)
def test_an_outcome_that_cannot_be_learned_is_refused_with_the_reason(kind):
    model, y, message = BAD_OUTCOMES[kind]
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X_SMALL, y)


def test_names_of_columns_that_repeat_are_refused():
    with pytest.raises(InputError, match="names of columns repeat: a"):
        StableClassifier().fit(pd.DataFrame(X_SMALL, columns=["a", "a"]), np.arange(120) % 2)


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
def test_ten_classes_with_few_rows_each_are_learned():
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(10, 2)) * 4
    y = np.arange(100) % 10
    x = centres[y] + rng.normal(size=(100, 2))
    model = StableClassifier(LogisticRegression(), random_state=0).fit(x, y)
    assert model.predict_proba(x).shape == (100, 10)
    assert model.score(x, y) > 0.3


# --- in a pipeline ---


def test_the_selector_passes_mixed_columns_on_as_they_are():
    X, labels, _ = make_table()
    selector = StableFeatureSelector(random_state=0).set_output(transform="pandas")
    pipeline = make_pipeline(selector, TableEncoder(), LogisticRegression()).fit(X, labels)
    kept = list(X.columns[pipeline[0].used_features_])
    assert list(pipeline[0].transform(X)) == kept
    alone = make_pipeline(TableEncoder(), LogisticRegression()).fit(X[kept], labels)
    np.testing.assert_allclose(pipeline.predict_proba(X), alone.predict_proba(X[kept]))


def test_a_skewed_number_is_bent_only_where_held_out_rows_clearly_ask_for_it():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": np.exp(1.5 * rng.normal(size=600))})
    y = 3 * frame["income"].to_numpy()
    model = StableRegressor(random_state=0).fit(frame, y)
    inside = pd.DataFrame({"income": [1.0, 5.0, 0.9 * frame["income"].max()]})
    np.testing.assert_allclose(model.predict(inside), 3 * inside["income"], rtol=1e-3)

    def bends(y):
        column = StableRegressor(random_state=0).fit(frame, y).encoder_.columns_[0]
        return column.high < frame["income"].max()

    noise = rng.normal(size=600)
    assert not bends(y)
    assert not bends(noise)  # the number says nothing
    assert bends(np.log(frame["income"]) + 0.1 * noise)


def test_the_reference_is_a_straight_line_of_the_columns_as_they_are():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"income": np.exp(rng.normal(size=300))})
    model = StableRegressor(random_state=0).fit(frame, 3 * frame["income"])
    far = pd.DataFrame({"income": [1000.0]})
    assert model.references_.predict_linear(far)[0] == pytest.approx(3000, rel=0.01)


@pytest.mark.parametrize("difference", [0.0, 0.2, 0.4])
def test_the_effect_of_a_category_is_that_of_its_clearest_level(difference):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.normal(size=3000), "c": rng.choice(list("xyz"), 3000)})
    y = rng.random(3000) < 0.4 + difference * (frame["c"] == "x")
    found = StableClassifier(random_state=0).fit(frame, y).variables_.set_index("variable").loc["c"]
    assert found["low"] < difference < found["high"]
    assert found["high"] - found["low"] < 0.12


def test_effects_on_a_number_are_in_its_own_unit():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"])
    y = 10 * frame["a"] + rng.normal(size=500)
    effect = (
        StableRegressor(random_state=0).fit(frame, y).variables_.set_index("variable")["effect"]
    )
    assert effect["a"] == pytest.approx(10 * frame["a"].std(), rel=0.05)
    assert abs(effect["b"]) < 1
