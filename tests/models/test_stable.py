"""StableClassifier: screen, decide, fit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from stablepred import DGBRClassifier, StableClassifier, load
from stablepred.data import SyntheticWorld
from stablepred.exceptions import InputError
from stablepred.models.stable import _share_kept

WORLD = SyntheticWorld("s_indep_v", 10)


@pytest.fixture(scope="module")
def train():
    return WORLD.sample(1000, bias_rate=0.75, random_state=0)


@pytest.fixture(scope="module")
def linear(train):
    return StableClassifier(LogisticRegression(), random_state=0).fit(train.X, train.y)


def test_without_an_estimator_it_is_the_first_versions_default(train):
    own = StableClassifier(random_state=0).fit(train.X, train.y)
    first = DGBRClassifier(random_state=0).fit(train.X, train.y)
    assert np.array_equal(own.predict_proba(train.X), first.predict_proba(train.X))
    assert np.array_equal(own.used_features_, first.used_features_)


def test_an_estimator_is_fitted_on_the_variables_in_use_alone(train, linear):
    used = linear.used_features_
    columns = train.X.loc[:, used]
    by_hand = LogisticRegression().fit(columns, train.y)
    assert 0 < used.sum() < 10
    assert np.allclose(linear.estimator_.coef_, by_hand.coef_)
    assert np.array_equal(
        linear.predict_proba(train.X), by_hand.predict_proba(train.X.loc[:, used])
    )


def test_variables_and_decision_say_what_is_used_and_why(linear):
    table = linear.variables_
    assert list(table["variable"]) == list(linear.feature_names_in_)
    assert np.array_equal(table["verdict"] == "stable", linear.stable_features_)
    assert np.array_equal(table["used"], linear.used_features_)
    assert table["probability_noisy"].between(0, 1).all()
    assert set(table["verdict"]) <= {"stable", "noisy", "undecided"}
    assert linear.decision_.chosen in set(linear.decision_.candidates["candidate"])
    assert linear.decision_.reason in str(linear.decision_)


def test_where_nothing_goes_through_the_outcome_nothing_is_left_out():
    train = SyntheticWorld("s_to_v", 20, shift="v_given_s").sample(
        1000, bias_rate=0.65, random_state=0
    )
    model = StableClassifier(LogisticRegression(), random_state=0).fit(train.X, train.y)
    assert model.screen_.share_through_outcome_ <= 0.1
    assert model.used_features_.all()
    assert "noisy" not in set(model.variables_["verdict"])


def test_the_guard_keeps_all_variables_where_the_stable_ones_keep_too_little():
    assert _share_kept(0.25, 0.3, 0.3) == pytest.approx(1.0)
    assert _share_kept(0.25, 0.3, 0.49) < 0.1
    assert _share_kept(0.25, 0.6, 0.3) == 0.0  # all variables together say nothing


def test_any_classifier_will_do_and_the_model_can_be_cloned(train):
    model = StableClassifier(HistGradientBoostingClassifier(max_iter=5), random_state=0)
    fitted = clone(model).fit(train.X, train.y)
    assert fitted.predict(train.X).shape == (1000,)


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_it_predicts_the_same_after_loading(train, estimator, tmp_path):
    model = StableClassifier(estimator, random_state=0).fit(train.X, train.y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(train.X), model.predict_proba(train.X))
    assert str(again.decision_) == str(model.decision_)


def test_a_damaged_model_is_not_stored(linear, tmp_path):
    broken = clone(linear)
    vars(broken).update(vars(linear))
    broken.used_features_ = linear.used_features_[:-1]
    with pytest.raises(InputError, match="cannot be stored"):
        broken.save(tmp_path / "model")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": SVC()}, "SVC has no predict_proba.*CalibratedClassifierCV"),
        ({"evidence": "tea leaves"}, "evidence must be one of 'auto'"),
        ({"guard": "no"}, "guard must be one of"),
    ],
)
def test_bad_parameters_are_refused(train, parameters, message):
    with pytest.raises(InputError, match=message):
        StableClassifier(**parameters).fit(train.X, train.y)


def test_rows_of_weight_zero_are_absent(train):
    weight = (np.arange(1000) < 600).astype(float)
    model = StableClassifier(LogisticRegression(), random_state=0)
    part = clone(model).fit(train.X[:600], train.y[:600])
    whole = clone(model).fit(train.X, train.y, sample_weight=weight)
    assert np.array_equal(part.stable_features_, whole.stable_features_)
