"""An estimator of the user's on the folds: its seeds, its classes, its sample weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stablepred import StableClassifier, StableRegressor, stability_price
from stablepred._random import clone_seeded
from stablepred.exceptions import InputError

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 4))
    return x, (x[:, 0] + rng.logistic(size=150) > 0).astype(int)


# --- seeds ---


def forest(**options):
    return RandomForestClassifier(5, max_depth=3, **options)


@pytest.mark.parametrize("estimator", [forest(), make_pipeline(StandardScaler(), forest())])
def test_random_state_reaches_an_estimator_that_has_none(rows, estimator):
    model = StableClassifier(estimator, random_state=0)
    one, other = (clone(model).fit(*rows) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(rows[0]), other.predict_proba(rows[0]))
    assert str(one.decision_) == str(other.decision_)
    third = clone(model).set_params(random_state=1).fit(*rows)
    assert not np.array_equal(one.predict_proba(rows[0]), third.predict_proba(rows[0]))


def test_random_state_reaches_a_regressor(rows):
    model = StableRegressor(RandomForestRegressor(5), random_state=0)
    one, other = (clone(model).fit(rows[0], rows[0][:, 0]).predict(rows[0]) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_without_a_random_state_the_fits_differ_and_the_seed_of_one_repeats_it(rows):
    one, other = (StableClassifier(forest()).fit(*rows) for _ in range(2))
    assert not np.array_equal(one.predict_proba(rows[0]), other.predict_proba(rows[0]))
    again = StableClassifier(forest(), random_state=one.random_state_).fit(*rows)
    np.testing.assert_array_equal(again.predict_proba(rows[0]), one.predict_proba(rows[0]))


def test_a_seed_that_the_user_set_stays():
    parts = [("set", forest(random_state=7)), ("none", forest()), ("other", forest())]
    given = VotingClassifier(parts, voting="soft")
    seeded = clone_seeded(given, 0).get_params()
    assert seeded["set__random_state"] == 7
    drawn = seeded["none__random_state"], seeded["other__random_state"]
    assert None not in drawn
    assert drawn[0] != drawn[1]
    assert given.get_params()["none__random_state"] is None


def test_the_price_of_stability_of_a_seeded_model_is_the_same_each_time(rows):
    X = pd.DataFrame(rows[0], columns=list("abcd"))
    model = StableClassifier(forest(), random_state=0).fit(X, rows[1])
    one, other = (stability_price(model, X, rows[1]) for _ in range(2))
    assert one.equals(other)


# --- classes that a fold lacks ---

ESTIMATORS = [LogisticRegression(), forest(random_state=0), KNeighborsClassifier(), None]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_folds", [2, 3])
def test_a_class_that_a_fold_lacks_has_probability_zero(rows, estimator, n_classes, n_folds):
    y = np.array(["a", "b", "c"])[np.arange(150) * n_classes // 150]
    model = StableClassifier(estimator, cv=KFold(n_folds), random_state=0).fit(rows[0], y)
    assert np.isfinite(model.decision_.candidates["error"]).all()
    probability = model.predict_proba(rows[0])
    assert probability.shape == (150, n_classes)
    np.testing.assert_allclose(probability.sum(1), 1)


def test_a_class_of_one_environment_alone_is_no_obstacle(rows):
    environment = np.arange(150) // 50
    y = np.where((environment == 2) & (rows[0][:, 1] > 0.5), 2, rows[1])
    model = StableClassifier(LogisticRegression(), random_state=0)
    model.fit(rows[0], y, environment=environment)
    assert model.classes_.tolist() == [0, 1, 2]
    error = model.decision_.candidates["error"]
    assert error.between(0, 1).all()


def test_errors_on_folds_that_lack_a_class_are_those_computed_by_hand(rows):
    x, y = rows[0], np.arange(150) // 50
    model = StableClassifier(LogisticRegression(), cv=KFold(3), random_state=0).fit(x, y)
    z, squares = model._encode(x), []
    for train, test in KFold(3).split(z):
        found = LogisticRegression().fit(z[train], y[train])
        means = np.zeros((50, 3))
        means[:, found.classes_] = found.predict_proba(z[test])
        squares.append(((means - np.eye(3)[y[test]]) ** 2).sum(1) / 2)
    assert model.decision_.candidates["error"][0] == pytest.approx(np.mean(squares) ** 0.5)


def test_on_folds_the_estimator_sees_the_labels_of_the_user(rows):
    labels = np.where(rows[1] == 1, "yes", "no")
    weights = {"no": 1.0, "yes": 3.0}
    model = StableClassifier(LogisticRegression(class_weight=weights), random_state=0)
    assert model.fit(rows[0], labels).predict(rows[0]).dtype.kind == "U"


# --- sample weights ---


def test_in_a_pipeline_the_weights_reach_the_last_step(rows):
    weight = np.random.default_rng(1).integers(1, 5, 150).astype(float)
    model = StableClassifier(make_pipeline(StandardScaler(), LogisticRegression()), random_state=0)
    model.fit(*rows, sample_weight=weight)
    z = StandardScaler().fit_transform(model._encode(rows[0]))
    by_hand = LogisticRegression().fit(z, rows[1], sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(rows[0]), by_hand.predict_proba(z))


@pytest.mark.parametrize("last", [KNeighborsClassifier(), make_pipeline(KNeighborsClassifier())])
def test_a_pipeline_whose_last_step_takes_no_weights_is_refused(rows, last):
    model = StableClassifier(make_pipeline(StandardScaler(), last))
    with pytest.raises(InputError, match="Pipeline does not take sample_weight in fit"):
        model.fit(*rows, sample_weight=np.ones(150))
    assert model.fit(*rows).predict(rows[0]).shape == (150,)


def test_without_sample_weights_none_are_passed_on(rows):
    voting = VotingClassifier([("nearest", KNeighborsClassifier())], voting="soft")
    assert StableClassifier(voting).fit(*rows).predict(rows[0]).shape == (150,)


def test_one_weight_for_all_rows_is_as_none(rows):
    for model, y in (
        (StableClassifier(random_state=0), rows[1]),
        (StableRegressor(LinearRegression(), random_state=0), rows[0] @ [1, 2, 3, 4]),
    ):
        one = clone(model).fit(rows[0], y, sample_weight=2.0)
        other = clone(model).fit(rows[0], y, sample_weight=np.full(150, 2.0))
        np.testing.assert_array_equal(one.predict(rows[0]), other.predict(rows[0]))
