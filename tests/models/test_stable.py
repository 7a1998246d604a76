"""StableClassifier, StableRegressor and StableFeatureSelector: screen, decide, fit."""

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from stablepred import StableClassifier, StableFeatureSelector, StableRegressor, load
from stablepred.data import SyntheticWorld
from stablepred.evidence.base import Scores
from stablepred.exceptions import ConstantPredictionWarning, InputError, StablepredWarning

WORLD = SyntheticWorld("s_indep_v", 10)


@pytest.fixture(scope="module")
def train():
    return WORLD.sample(600, bias_rate=0.75, random_state=0)


@pytest.fixture(scope="module")
def linear(train):
    return StableClassifier(LogisticRegression(), random_state=0).fit(train.X, train.y)


@dataclass
class Known:
    """Evidence that knows which of the user's columns are causes."""

    causes: list
    name: str = "known"
    applies: bool = True

    def __call__(self, sample, w):
        if not self.applies:
            return None
        stable = np.isin(sample.origin.columns, self.causes)
        score = np.where(stable, 9.0, -9.0)
        leaning = np.where(stable, 0.01, 0.99)
        return Scores(score, np.ones_like(score), score - 2, score + 2, stable, leaning)


# --- an estimator of one's own ---


def test_an_estimator_is_fitted_on_the_variables_in_use_alone(train, linear):
    used = linear.used_features_
    columns = train.X.loc[:, used]
    by_hand = LogisticRegression().fit(columns, train.y)
    assert 0 < used.sum() < 10
    np.testing.assert_allclose(linear.estimator_.coef_, by_hand.coef_)
    assert list(linear.estimator_.feature_names_in_) == list(columns)
    np.testing.assert_allclose(linear.predict_proba(train.X), by_hand.predict_proba(columns))


def test_variables_and_decision_say_what_is_used_and_why(linear):
    table = linear.variables_
    assert list(table["variable"]) == list(linear.feature_names_in_)
    np.testing.assert_array_equal(table["verdict"] == "stable", linear.stable_features_)
    np.testing.assert_array_equal(table["used"], linear.used_features_)
    assert table["probability_noisy"].between(0, 1).all()
    assert set(table["verdict"]) <= {"stable", "noisy", "undecided"}
    assert linear.decision_.chosen in set(linear.decision_.candidates["candidate"])
    assert linear.decision_.reason in str(linear.decision_)


def test_any_classifier_will_do_and_the_model_can_be_cloned(train):
    model = StableClassifier(HistGradientBoostingClassifier(max_iter=5), random_state=0)
    fitted = clone(model).fit(train.X, train.y)
    assert fitted.predict(train.X).shape == (600,)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (StableClassifier(SVC()), "SVC has no predict_proba.*CalibratedClassifierCV"),
        (StableRegressor(LogisticRegression()), "LogisticRegression is a classifier; use StableC"),
        (StableClassifier(LinearRegression()), "LinearRegression is a regressor; use Stable"),
        (StableClassifier("lr"), "estimator must be an estimator or None, but is 'lr'"),
        (StableClassifier(evidence="tea leaves"), "evidence must be 'auto' or.*'tea leaves'"),
        (StableClassifier(guard="no"), "guard must be one of"),
        (StableRegressor(cv=1), "cv must be.*at least 2"),
        (StableFeatureSelector(device="tpu"), "device must be one of"),
    ],
)
def test_bad_parameters_are_refused(train, model, message):
    with pytest.raises(InputError, match=message):
        model.fit(train.X, train.y)


def test_an_estimator_is_fitted_under_the_sample_weights(train):
    weight = np.random.default_rng(0).integers(1, 4, 600).astype(float)
    model = StableClassifier(LogisticRegression(), random_state=0)
    model.fit(train.X, train.y, sample_weight=weight)
    columns = train.X.loc[:, model.used_features_]
    by_hand = LogisticRegression().fit(columns, train.y, sample_weight=weight)
    np.testing.assert_allclose(model.estimator_.coef_, by_hand.coef_)
    plain = LogisticRegression().fit(columns, train.y)
    assert not np.allclose(by_hand.coef_, plain.coef_)


def test_an_estimator_that_takes_no_sample_weights_is_fitted_without_any(train):
    model = StableClassifier(KNeighborsClassifier(), random_state=0)
    assert model.fit(train.X, train.y).predict(train.X).shape == (600,)
    with pytest.raises(InputError, match=r"KNeighborsClassifier.*sample_weight"):
        model.fit(train.X, train.y, sample_weight=np.ones(600))


def test_the_estimator_is_fitted_once_per_fold_and_candidate(train):
    fits = []

    class Counted(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            fits.append(1)
            return super().fit(X, y, sample_weight)

    model = StableClassifier(Counted(), cv=4, guard=False, random_state=0)
    model.fit(train.X, train.y)
    assert len(fits) == 4 + 1


@pytest.mark.parametrize("guard", [True, False])
def test_rows_of_weight_zero_are_absent(train, guard):
    weight = (np.arange(600) < 400).astype(float)
    labels = np.where(np.arange(600) < 400, train.y, 7)  # a third class in the absent rows
    model = StableClassifier(LogisticRegression(), guard=guard, random_state=0)
    part = clone(model).fit(train.X[:400], train.y[:400])
    whole = clone(model).fit(train.X, labels, sample_weight=weight)
    assert whole.classes_.tolist() == [0, 1]
    assert str(part.decision_) == str(whole.decision_)
    np.testing.assert_array_equal(part.stable_features_, whole.stable_features_)
    np.testing.assert_array_equal(part.predict_proba(train.X), whole.predict_proba(train.X))


# --- kinds of evidence ---

CAUSES = [1, 3]


def test_an_object_of_ones_own_can_be_the_evidence(train):
    for kind in (StableClassifier, StableFeatureSelector):
        model = kind(evidence=[Known(CAUSES)], guard=False, random_state=0)
        model.fit(train.X, train.y)
        assert np.flatnonzero(model.stable_features_).tolist() == CAUSES
        np.testing.assert_array_equal(model.used_features_, model.stable_features_)
        table = model.variables_
        assert list(table) == ["variable", "known", "probability_noisy", "verdict", "used"]
        np.testing.assert_array_equal(table["known"] > 0, model.stable_features_)
        np.testing.assert_array_equal(table["probability_noisy"] > 0.5, ~model.stable_features_)


def test_where_no_evidence_applies_nothing_is_left_out(train):
    model = StableClassifier(LogisticRegression(), evidence=[Known([], applies=False)])
    with pytest.warns(StablepredWarning, match="no evidence that was asked for applies"):
        model.fit(train.X, train.y)
    assert model.used_features_.all()
    assert set(model.variables_["verdict"]) == {"undecided"}


def test_names_of_evidence_choose_among_the_kinds_there_are(train):
    def table(evidence):
        return StableFeatureSelector(evidence=evidence, random_state=0).fit(train.X, train.y)

    auto, named = table("auto"), table(["explaining_away", "invariance", "effect"])
    pd.testing.assert_frame_equal(auto.variables_, named.variables_)
    effect = table("effect")
    assert "explaining_away" not in effect.variables_
    low, high = effect.variables_["low"], effect.variables_["high"]
    np.testing.assert_array_equal(effect.stable_features_, (low > 0) | (high < 0))
    assert "effect" not in table(["explaining_away"]).variables_


def test_environments_bring_invariance_into_play():
    parts = [WORLD.sample(400, bias_rate=rate, random_state=2) for rate in (0.65, 0.85)]
    X = pd.concat([part.X for part in parts], ignore_index=True)
    y = np.concatenate([part.y for part in parts])
    environment = np.repeat(["spring", "autumn"], 400)
    model = StableClassifier(LogisticRegression(), random_state=0)
    model.fit(X, y, environment=environment)
    assert "invariance" in model.variables_
    again = clone(model).fit(X, y, environment=np.repeat([7, 3], 400))
    pd.testing.assert_frame_equal(again.variables_, model.variables_)
    assert "invariance" not in clone(model).fit(X, y).variables_


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ({"environment": np.zeros(5)}, "one label for each of the 600 rows of X"),
        ({"groups": [None] * 600}, "groups has missing labels"),
        ({"environment": np.repeat([0, 1], [598, 2])}, "environment '1' has fewer than 3 distinct"),
        (
            {"environment": np.repeat([0, 1], [596, 4])},
            "environment .1. has 4 rows, fewer than there are variables",
        ),
    ],
)
def test_labels_of_rows_that_do_not_fit_are_refused(train, marks, message):
    with pytest.raises(InputError, match=message):
        StableClassifier(random_state=0).fit(train.X, train.y, **marks)


def test_a_single_environment_is_warned_of(train):
    with pytest.warns(StablepredWarning, match="every row has the same environment, 'here'"):
        StableClassifier(random_state=0).fit(train.X, train.y, environment=["here"] * 600)


# --- the regressor, and several classes ---


def number_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    return X, X["a"] - 2 * X["b"] + rng.normal(size=n)


def test_the_regressor_predicts_a_number_in_its_own_unit():
    X, y = number_rows()
    model = StableRegressor(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.75
    moved = StableRegressor(random_state=0).fit(X, 1e6 + 1e3 * y)
    np.testing.assert_allclose(moved.predict(X), 1e6 + 1e3 * model.predict(X), rtol=1e-5)


def test_a_regressor_of_ones_own_gets_the_outcome_as_it_is():
    X, y = number_rows()
    model = StableRegressor(Ridge(), guard=False, random_state=0).fit(X, 50 + y)
    columns = model.encoder_.transform(X).to_numpy()[:, model.columns_]
    by_hand = Ridge().fit(columns, 50 + y)
    np.testing.assert_allclose(model.predict(X), by_hand.predict(columns))


def test_three_classes_have_three_probabilities():
    X, y = number_rows()
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-1, 1])]
    model = StableClassifier(random_state=0).fit(X, labels)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    probability = model.predict_proba(X)
    assert probability.shape == (300, 3)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert model.score(X, labels) > 0.6
    np.testing.assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])


# --- weights, copies and order ---


def mixed_columns(n, rng):
    return {
        "numbers": pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc")),
        "0/1": pd.DataFrame(rng.integers(0, 2, (n, 4)).astype(float), columns=list("abcd")),
        "categories": pd.DataFrame(
            {
                "a": rng.normal(size=n),
                "b": rng.choice(["x", "y", "z"], n),
                "c": pd.Categorical(rng.choice(["u", "v"], n)),
            }
        ),
    }


OUTCOMES = {
    "binary": (StableClassifier, lambda score: (score > 0).astype(int)),
    "three classes": (StableClassifier, lambda score: np.digitize(score, [-0.5, 0.5])),
    "number": (StableRegressor, lambda score: score),
}


def make_case(columns, outcome, n=100):
    rng = np.random.default_rng(5)
    X = mixed_columns(n, rng)[columns]
    first = X["a"] + (X["b"] == "x") if columns == "categories" else X["a"] - X["b"]
    kind, make = OUTCOMES[outcome]
    y = make(np.asarray(first - first.mean()) + 0.5 * rng.normal(size=n))
    return kind(random_state=0), X, y, rng


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


CASES = [
    ("numbers", "binary"),
    ("0/1", "binary"),
    ("categories", "binary"),
    ("numbers", "three classes"),
    ("numbers", "number"),
    ("categories", "number"),
]


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
@pytest.mark.parametrize(("columns", "outcome"), CASES)
def test_a_row_of_weight_two_is_two_rows_in_any_order(columns, outcome):
    model, X, y, rng = make_case(columns, outcome)
    weight = rng.integers(1, 4, len(y))
    weighted = clone(model).fit(X, y, sample_weight=weight.astype(float))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    repeated = clone(model).fit(X.iloc[rows], y[rows])
    np.testing.assert_allclose(answers(repeated, X), answers(weighted, X), rtol=0, atol=1e-9)
    pd.testing.assert_frame_equal(repeated.variables_, weighted.variables_, rtol=1e-6, atol=1e-6)
    scaled = clone(model).fit(X, y, sample_weight=0.1 * weight)
    np.testing.assert_allclose(answers(scaled, X), answers(weighted, X), rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
@pytest.mark.parametrize(("columns", "outcome"), CASES)
def test_the_order_of_columns_and_rows_does_not_matter(columns, outcome):
    model, X, y, rng = make_case(columns, outcome)
    one = clone(model).fit(X, y)
    rows, names = rng.permutation(len(y)), list(X)[::-1]
    other = clone(model).fit(X.iloc[rows][names], y[rows])
    np.testing.assert_allclose(answers(other, X[names]), answers(one, X), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(other.used_features_[::-1], one.used_features_)


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
def test_labels_of_groups_may_be_numbers_or_names():
    model, X, y, rng = make_case("numbers", "binary")
    groups = rng.integers(0, 12, len(y))
    names = np.array([f"patient {k}" for k in range(12)])
    one = clone(model).fit(X, y, groups=groups)
    other = clone(model).fit(X, y, groups=names[groups])
    np.testing.assert_array_equal(answers(one, X), answers(other, X))
    pd.testing.assert_frame_equal(one.decision_.candidates, other.decision_.candidates)


# --- metadata ---


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
@pytest.mark.usefixtures("routing")
def test_environment_groups_and_weights_reach_a_model_in_a_pipeline():
    _, X, y, rng = make_case("numbers", "binary", n=150)
    marks = {
        "environment": rng.integers(0, 2, 150),
        "groups": rng.integers(0, 30, 150),
        "sample_weight": rng.integers(1, 3, 150).astype(float),
    }
    model = StableClassifier(LogisticRegression(), random_state=0)
    model.set_fit_request(environment=True, groups=True, sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False).set_output(transform="pandas")
    pipeline = make_pipeline(scaler, model).fit(X, y, **marks)
    assert "invariance" in pipeline[-1].variables_
    Z = pipeline[0].transform(X)
    alone = clone(model).fit(Z, y, **marks)
    np.testing.assert_array_equal(pipeline.predict_proba(X), alone.predict_proba(Z))


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("kind", [StableClassifier, StableRegressor])
def test_environment_and_groups_reach_every_fit_of_a_grid_search(kind):
    _, X, y, rng = make_case("numbers", "binary" if kind is StableClassifier else "number", 150)
    marks = {"environment": rng.integers(0, 2, 150), "groups": rng.integers(0, 30, 150)}
    inner = LogisticRegression() if kind is StableClassifier else LinearRegression()
    model = kind(inner, random_state=0).set_fit_request(environment=True, groups=True)
    search = GridSearchCV(model, {"guard": [True, False]}, cv=KFold(2), error_score="raise")
    search.fit(X, y, **marks)
    assert "invariance" in search.best_estimator_.variables_
    alone = clone(model).set_params(**search.best_params_).fit(X, y, **marks)
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))


# --- files ---


MODELS = {
    "classifier": StableClassifier(random_state=0),
    "classifier of LR": StableClassifier(LogisticRegression(), random_state=0),
    "regressor": StableRegressor(random_state=0),
    "regressor of a line": StableRegressor(LinearRegression(), random_state=0),
    "selector": StableFeatureSelector(random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_it_answers_the_same_after_loading(name, tmp_path):
    X, y = number_rows()
    model = clone(MODELS[name]).fit(X, y > 0 if "classifier" in name else y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    for method in ("predict", "predict_proba", "transform"):
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    assert str(again.decision_) == str(model.decision_)
    pd.testing.assert_frame_equal(again.variables_, model.variables_)
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
def test_mixtures_products_and_several_classes_answer_the_same_after_loading(tmp_path):
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    y = (X["a"].abs() > 0.7) * 2.0 + X["a"] * X["b"] + 0.2 * rng.normal(size=300)
    for model, outcome in (
        (StableRegressor(random_state=0), y),
        (StableClassifier(random_state=0), np.digitize(y, [0, 2])),
    ):
        model.fit(X, outcome).save(tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_a_damaged_model_is_not_stored(linear, tmp_path):
    broken = clone(linear)
    vars(broken).update(vars(linear))
    broken.used_features_ = linear.used_features_[:-1]
    with pytest.raises(InputError, match="cannot be stored"):
        broken.save(tmp_path / "model")


# --- the screen as a transformer ---


def test_the_selector_agrees_with_the_classifier_on_the_verdict(train, linear):
    selector = StableFeatureSelector(random_state=0).fit(train.X, train.y)
    np.testing.assert_array_equal(selector.stable_features_, linear.stable_features_)
    pd.testing.assert_frame_equal(
        selector.variables_.drop(columns="used"), linear.variables_.drop(columns="used")
    )


def test_the_selector_keeps_the_columns_in_use_with_their_names_and_values(train):
    X = train.X.assign(S1=train.X["S1"] * 3.5 - 1)
    selector = StableFeatureSelector(random_state=0).fit(X, train.y)
    names = list(selector.get_feature_names_out())
    assert names == list(X.columns[selector.used_features_])
    np.testing.assert_array_equal(selector.transform(X), X[names])
    kept = selector.set_output(transform="pandas").transform(X)
    pd.testing.assert_frame_equal(kept, X[names], check_dtype=False)


def test_the_selector_serves_in_a_pipeline_with_frames(train):
    selector = StableFeatureSelector(random_state=0).set_output(transform="pandas")
    pipeline = make_pipeline(selector, LogisticRegression()).fit(train.X, train.y)
    assert pipeline[-1].n_features_in_ == pipeline[0].used_features_.sum() < 10
    names = train.X.columns[pipeline[0].used_features_]
    assert list(pipeline[-1].feature_names_in_) == list(names)
    alone = LogisticRegression().fit(train.X[names], train.y)
    np.testing.assert_allclose(pipeline.predict_proba(train.X), alone.predict_proba(train.X[names]))


def test_the_selector_takes_classes_and_numbers():
    X, y = number_rows()
    selector = StableFeatureSelector(random_state=0)
    number = clone(selector).fit(X, y).variables_
    regressor = StableRegressor(LinearRegression(), random_state=0).fit(X, y).variables_
    pd.testing.assert_frame_equal(number.drop(columns="used"), regressor.drop(columns="used"))
    classes = clone(selector).fit(X, y > 0).variables_
    classifier = StableClassifier(LogisticRegression(), random_state=0).fit(X, y > 0).variables_
    pd.testing.assert_frame_equal(classes.drop(columns="used"), classifier.drop(columns="used"))


# --- warnings ---


def test_a_constant_prediction_is_a_warning():
    X, _ = number_rows(n=40)
    y = np.where(np.arange(40) == 0, 1, 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = StableClassifier(random_state=0).fit(X, y)
    constant = np.ptp(model.predict_proba(X)[:, 1]) < 1e-9
    warned = [w for w in caught if issubclass(w.category, ConstantPredictionWarning)]
    assert constant == bool(warned)
