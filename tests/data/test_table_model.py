"""A fitted model of a table, and the folder it is kept in."""

import errno
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from stablepred import GBRClassifier, StableClassifier, environment_errors, load
from stablepred.data import Environment, TableEncoder, TableModel, fit_table
from stablepred.exceptions import InputError, ModelFileError
from stablepred.search import StableSearchCV
from stablepred.tables.table_model import encode_table
from stablepred.tables.target import NumberTarget


def make_frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    age, job = rng.integers(18, 80, n), rng.choice(["cook", "clerk", "smith"], n)
    bought = np.where(age / 40 + (job == "cook") + rng.normal(0, 0.5, n) > 1.5, "yes", "no")
    return pd.DataFrame({"age": age, "job": job, "bought": bought})


pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.TableWarning")


@pytest.fixture(scope="module")
def frame():
    return make_frame()


@pytest.fixture(scope="module")
def model(frame):
    return fit_table(frame, "bought", LogisticRegression())


def test_predictions_are_in_the_words_of_the_target(model, frame):
    predicted = model.predict(frame.drop(columns="bought"))
    assert set(predicted) == {"no", "yes"}
    assert ((model.predict_proba(frame)[:, 1] > 0.5) == (predicted == "yes")).all()
    assert (predicted == frame["bought"]).mean() > 0.7


def test_a_model_of_raw_rows_can_be_judged_across_environments(model, frame):
    class Raw:
        name, X, y = "raw", frame[["job", "age"]], (frame["bought"] == "yes").to_numpy().astype(int)

    encoded = model.environment("encoded", frame)
    assert isinstance(encoded, Environment)
    raw = environment_errors(model, Raw)["raw"]
    assert raw == environment_errors(model.estimator, encoded)["encoded"]


def test_a_model_that_encodes_the_columns_itself_is_judged_on_strings_and_missing_values(frame):
    rows = frame.assign(age=frame["age"].where(frame["age"] < 70))
    model = fit_table(rows, "bought", StableClassifier(random_state=0))
    environment = model.environment("raw", rows)
    assert environment.X["job"].tolist() == frame["job"].tolist()
    error = environment_errors(model.estimator, environment)["raw"]
    gap = model.predict_proba(rows)[:, 1] - (frame["bought"] == "yes")
    assert error == pytest.approx(np.sqrt(np.mean(gap**2)))


def test_base_rate_and_rows_are_those_of_training(model, frame):
    assert model.rows == len(frame)
    assert model.base_rate == (frame["bought"] == "yes").mean()


def test_an_environment_needs_the_target(model, frame):
    with pytest.raises(InputError, match="target 'bought' is not in the table"):
        model.environment("new", frame[["age", "job"]])


def test_of_a_search_the_best_estimator_is_kept(frame):
    search = StableSearchCV(
        LogisticRegression(), {"C": [0.1, 1.0]}, noisy_features=[0], cv=2, random_state=0
    )
    assert isinstance(fit_table(frame, "bought", search).estimator, LogisticRegression)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "Bought"}, "target 'Bought' is not in the table. Did you mean 'bought'"),
        ({"target": "bought", "drop": ["bought"]}, "is the target; it cannot be dropped"),
        ({"target": "job", "positive": "cook"}, "must have two values, but has 3"),
    ],
)
def test_a_target_that_cannot_be_used(frame, options, message):
    with pytest.raises(InputError, match=message):
        fit_table(frame, estimator=LogisticRegression(), **options)


# --- other outcomes, and estimators that take tables ---


def with_number(n=200, seed=0):
    frame = make_frame(n, seed)
    rng = np.random.default_rng(seed)
    price = frame["age"] * 0.5 + (frame["job"] == "cook") * 9 + rng.normal(0, 1, n)
    return frame.assign(price=price.round(2))


def test_a_regressor_takes_the_target_as_a_number(tmp_path):
    frame = with_number()
    model = fit_table(frame, "price", LinearRegression(), drop=["bought"])
    error = model.predict(frame) - frame["price"]
    assert np.sqrt((error**2).mean()) < 1.2
    assert model.base_rate == pytest.approx(frame["price"].mean())
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(frame), model.predict(frame))
    with pytest.raises(InputError, match="'price' is a number; use predict"):
        model.predict_proba(frame)
    decimal_comma = frame.assign(price=frame["price"].astype(str).str.replace(".", ","))
    other = fit_table(decimal_comma, "price", LinearRegression(), drop=["bought"])
    np.testing.assert_array_equal(other.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(model.environment("e", frame).y, frame["price"])


def test_a_number_is_refused_by_a_classifier():
    with pytest.raises(InputError, match=r"'price' is a number .*StableRegressor"):
        fit_table(with_number(), "price", LogisticRegression())
    assert isinstance(encode_table(with_number(), "price").target, NumberTarget)


def test_several_classes_keep_their_names(frame, tmp_path):
    model = fit_table(frame, "job", LogisticRegression(), drop=[])
    assert model.predict_proba(frame).shape == (200, 3)
    assert set(model.predict(frame)) <= {"cook", "clerk", "smith"}
    assert model.base_rate == frame["job"].value_counts(normalize=True).max()
    model.save(tmp_path / "model")
    assert list(load(tmp_path / "model").predict(frame)) == list(model.predict(frame))
    with pytest.raises(InputError, match=r"'job' must have two values.*3 classes.*StableClassif"):
        fit_table(frame, "job", GBRClassifier())
    with pytest.raises(InputError, match="as in training, but has 'judge'"):
        model.environment("e", frame.assign(job="judge"))


@pytest.mark.parametrize("target", ["bought", "price"])
def test_rows_without_a_target_are_left_out_if_asked(target):
    frame = with_number()
    frame.loc[[3, 8], target] = None
    estimator = LogisticRegression() if target == "bought" else LinearRegression()
    with pytest.raises(InputError, match=r"in 2 rows .*data row 4\).*skip_missing_target=True"):
        fit_table(frame, target, estimator)
    encoded = encode_table(frame, target, estimator=estimator, skip_missing_target=True)
    assert encoded.encoder.notes_[0] == "left out without a target: 2 rows, first data row 4"
    model = fit_table(frame, target, estimator, skip_missing_target=True)
    expected = fit_table(frame.dropna(subset=target), target, estimator)
    assert model.rows == 198
    np.testing.assert_array_equal(model.predict(frame), expected.predict(frame))


class TakesTables(LogisticRegression):
    """Encodes the columns itself."""

    takes_tables = True

    def fit(self, X, y, sample_weight=None):
        self.seen_ = X
        self.own_ = TableEncoder().fit(X)
        super().fit(self.own_.encode(X)[0], y, sample_weight)
        self.feature_names_in_ = np.array(list(X), dtype=object)
        return self

    def predict_proba(self, X):
        inner = LogisticRegression()
        vars(inner).update({k: v for k, v in vars(self).items() if k != "feature_names_in_"})
        return inner.predict_proba(self.own_.encode(X)[0].to_numpy())


def test_an_estimator_that_takes_tables_gets_numbers_and_categories(frame):
    frame = frame.assign(here="here", code=np.where(frame["age"] % 2, "1", "A"))
    text = frame.astype(str)
    expected = fit_table(frame, "bought", LogisticRegression())
    for table in (frame, text):
        model = fit_table(table, "bought", TakesTables())
        assert model.typed
        types = model.estimator.seen_.dtypes
        assert list(types.index) == ["age", "job", "code"]
        assert types["age"] == np.float64
        assert all(isinstance(types[name], pd.CategoricalDtype) for name in ("job", "code"))
        np.testing.assert_allclose(model.predict_proba(text), expected.predict_proba(frame))
        assert model.feature_names == ["age", "job", "code"]
        model.check_stored()


def test_numbers_are_kept_unless_the_estimator_cuts_them(frame):
    def names(estimator):
        return list(encode_table(frame, "bought", estimator=estimator).features)

    kept = ["age", "job=clerk", "job=cook", "job=smith"]
    assert names(LogisticRegression()) == names(None) == kept
    cut = names(GBRClassifier(dichotomize="mean"))
    assert cut == names(StableSearchCV(GBRClassifier(dichotomize="mean"), {})) != kept
    assert cut[0].startswith("age>")
    assert names(GBRClassifier(dichotomize=None)) == kept


# --- the folder ---


def test_a_model_comes_back_from_its_folder(model, frame, tmp_path):
    model.save(tmp_path / "model")
    read = load(tmp_path / "model")
    assert isinstance(read, TableModel)
    np.testing.assert_array_equal(read.predict_proba(frame), model.predict_proba(frame))
    assert read.target == model.target
    read.check_stored()


def test_a_balanced_model_comes_back_too(frame, tmp_path):
    fitted = fit_table(frame, "bought", GBRClassifier(random_state=0))
    fitted.save(tmp_path / "model")
    read = load(tmp_path / "model")
    np.testing.assert_array_equal(read.predict_proba(frame), fitted.predict_proba(frame))
    assert (read.estimator.stable_features_ == fitted.estimator.stable_features_).all()


def test_an_older_model_is_replaced_only_with_force(model, tmp_path):
    path = tmp_path / "model"
    model.save(path)
    with pytest.raises(InputError, match=r"exists. .*force=True"):
        model.save(path)
    model.save(path, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model"]


def test_an_empty_folder_is_taken(model, tmp_path):
    (tmp_path / "model").mkdir()
    model.save(tmp_path / "model")
    assert (tmp_path / "model" / "model.safetensors").exists()


def test_a_file_is_no_place_for_a_folder(model, tmp_path):
    (tmp_path / "model").write_text("")
    with pytest.raises(InputError, match="is a file"):
        model.save(tmp_path / "model", force=True)


def test_a_link_to_a_model_folder_stays_a_link(model, tmp_path):
    model.save(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    model.save(tmp_path / "link", force=True)
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "link").rows == model.rows


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failed_write_leaves_everything_as_it_was(
    model, tmp_path, monkeypatch, error, older, call
):
    path = tmp_path / "model"
    if older:
        model.save(path)
    before = sorted(tmp_path.rglob("*"))

    def failing(*arguments):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        with pytest.raises(type(error)):
            model.save(path, force=True)
    assert sorted(tmp_path.rglob("*")) == before
    if older:
        assert load(path).rows == model.rows


def test_a_damaged_model_is_refused(model, tmp_path):
    model.save(tmp_path / "model")
    file = tmp_path / "model" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")


def test_parts_that_do_not_go_together_are_refused(model, frame):
    other = fit_table(frame, "bought", LogisticRegression(), drop=["job"])
    mixed = TableModel(model.encoder, model.target, other.estimator, model.rows, model.base_rate)
    with pytest.raises(ValueError, match="other features"):
        mixed.check_stored()


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"rows": 0}, "rows"),
        ({"base_rate": 1.5}, "base_rate"),
        ({"base_rate": np.nan}, "base_rate"),
    ],
)
def test_numbers_that_no_fit_gives_are_refused(model, changes, match):
    with pytest.raises(ValueError, match=match):
        replace(model, **changes).check_stored()


def test_a_target_of_one_value_is_refused(model, tmp_path):
    same = replace(model, target=replace(model.target, negative=model.target.positive))
    with pytest.raises(InputError, match="must differ"):
        same.save(tmp_path / "model")


def test_a_folder_without_a_model_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors"):
        load(tmp_path)
