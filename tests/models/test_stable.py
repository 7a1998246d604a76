"""StableClassifier: screen, decide, fit."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from stablepred import StableClassifier, StableFeatureSelector, load
from stablepred.data import SyntheticWorld
from stablepred.evidence.base import Scores
from stablepred.exceptions import ConstantPredictionWarning, ConvergenceWarning, InputError
from stablepred.models import screening
from stablepred.models.stable import _share_kept

WORLD = SyntheticWorld("s_indep_v", 10)


@pytest.fixture(scope="module")
def train():
    return WORLD.sample(1000, bias_rate=0.75, random_state=0)


@pytest.fixture(scope="module")
def linear(train):
    return StableClassifier(LogisticRegression(), random_state=0).fit(train.X, train.y)


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
    train = SyntheticWorld("s_to_v", 20, shift="v_given_s", mediator="integer").sample(
        1000, bias_rate=0.65, random_state=0
    )
    model = StableClassifier(LogisticRegression(), random_state=0).fit(train.X, train.y)
    assert model.share_through_outcome_ <= 0.1
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
        ({"evidence": "tea leaves"}, "evidence must be 'auto' or a list of .*'tea leaves'"),
        ({"guard": "no"}, "guard must be one of"),
    ],
)
def test_bad_parameters_are_refused(train, parameters, message):
    with pytest.raises(InputError, match=message):
        StableClassifier(**parameters).fit(train.X, train.y)


# --- sample weights ---


def test_an_estimator_is_fitted_under_the_sample_weights(train):
    weight = np.random.default_rng(0).integers(1, 4, 1000).astype(float)
    model = StableClassifier(LogisticRegression(), random_state=0)
    model.fit(train.X, train.y, sample_weight=weight)
    columns = train.X.loc[:, model.used_features_]
    by_hand = LogisticRegression().fit(columns, train.y, sample_weight=weight)
    np.testing.assert_allclose(model.estimator_.coef_, by_hand.coef_)
    plain = LogisticRegression().fit(columns, train.y)
    assert not np.allclose(by_hand.coef_, plain.coef_)


def test_an_estimator_that_takes_no_sample_weights_is_fitted_without_any(train):
    model = StableClassifier(KNeighborsClassifier(), random_state=0)
    assert model.fit(train.X, train.y).predict(train.X).shape == (1000,)
    with pytest.raises(InputError, match=r"KNeighborsClassifier.*sample_weight"):
        model.fit(train.X, train.y, sample_weight=np.ones(1000))


@pytest.mark.parametrize("guard", [True, False])
def test_rows_of_weight_zero_are_absent(train, guard):
    weight = (np.arange(1000) < 600).astype(float)
    labels = np.where(np.arange(1000) < 600, train.y, 7)  # a third class in the absent rows
    model = StableClassifier(LogisticRegression(), guard=guard, random_state=0)
    part = clone(model).fit(train.X[:600], train.y[:600])
    whole = clone(model).fit(train.X, labels, sample_weight=weight)
    assert whole.classes_.tolist() == [0, 1]
    assert str(part.decision_) == str(whole.decision_)
    np.testing.assert_array_equal(part.stable_features_, whole.stable_features_)
    np.testing.assert_array_equal(part.predict_proba(train.X), whole.predict_proba(train.X))
    assert (whole.sample_weight_[600:] == 0).all()


# --- the guard ---


class Memory(ClassifierMixin, BaseEstimator):
    """Probabilities by how many columns there are: good on all, useless on fewer."""

    def __init__(self, n_all=10):
        self.n_all = n_all

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        x = np.asarray(X)
        self.tree_ = DecisionTreeClassifier(max_depth=4).fit(x, y) if self.is_all(x) else None
        self.rate_ = np.mean(np.asarray(y) == self.classes_[1])
        return self

    def is_all(self, x):
        return x.shape[1] == self.n_all

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        if self.tree_ is not None:
            return self.tree_.predict_proba(np.asarray(X))
        return np.tile([1 - self.rate_, self.rate_], (len(X), 1))


def test_where_the_stable_variables_keep_too_little_none_is_left_out(train):
    guarded = StableClassifier(Memory(), random_state=0).fit(train.X, train.y)
    assert guarded.used_features_.all()
    assert guarded.decision_.chosen == "all variables"
    assert "keep 0%" in guarded.decision_.reason.replace("-0%", "0%")
    assert guarded.decision_.candidates["error"].notna().all()
    free = StableClassifier(Memory(), guard=False, random_state=0).fit(train.X, train.y)
    np.testing.assert_array_equal(free.used_features_, free.stable_features_)
    assert free.decision_.candidates["error"].isna().all()


def test_the_guard_takes_as_many_folds_as_asked_for(train, monkeypatch):
    fits = []
    original = LogisticRegression.fit
    monkeypatch.setattr(
        LogisticRegression,
        "fit",
        lambda self, *args, **kw: fits.append(1) or original(self, *args, **kw),
    )
    StableClassifier(LogisticRegression(), cv=4, random_state=0).fit(train.X, train.y)
    assert len(fits) == 2 * 4 + 1


def test_with_one_row_of_a_class_nothing_is_left_out_and_the_reason_says_so(train):
    labels = train.y.copy()
    rare = np.flatnonzero(labels == 1)
    weight = np.ones(1000)
    weight[rare[1:]] = 0
    model = StableClassifier(LogisticRegression(), evidence=[Known([0])], random_state=0)
    model.fit(train.X, labels, sample_weight=weight)
    if model.share_through_outcome_ > 0.1:
        assert "too few rows of one class" in model.decision_.reason
    assert model.used_features_.all()


# --- kinds of evidence ---


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
        return Scores(score, np.ones_like(score), score - 2, score + 2, stable)


CAUSES = [1, 3]


def test_an_object_of_ones_own_can_be_the_evidence(train):
    for kind in (StableClassifier, StableFeatureSelector):
        model = kind(evidence=[Known(CAUSES)], random_state=0).fit(train.X, train.y)
        assert np.flatnonzero(model.stable_features_).tolist() == CAUSES
        np.testing.assert_array_equal(model.used_features_, model.stable_features_)
        table = model.variables_
        assert list(table) == ["variable", "known", "probability_noisy", "verdict", "used"]
        np.testing.assert_array_equal(table["known"] > 0, model.stable_features_)
        np.testing.assert_array_equal(table["probability_noisy"] > 0.5, ~model.stable_features_)


def test_the_first_kind_that_finds_a_stable_variable_decides(train):
    def stable(*evidence):
        model = StableFeatureSelector(evidence=list(evidence), random_state=0)
        return np.flatnonzero(model.fit(train.X, train.y).stable_features_).tolist()

    one, other = Known([1]), Known([2], "other")
    assert stable(one, other) == [1]
    assert stable(other, one) == [2]
    assert stable(Known([], "none"), other) == [2]
    assert stable(Known([1], applies=False), other) == [2]


def test_names_of_evidence_choose_among_the_kinds_there_are(train):
    def table(evidence):
        return StableFeatureSelector(evidence=evidence, random_state=0).fit(train.X, train.y)

    auto, named = table("auto"), table(["explaining_away", "effect"])
    pd.testing.assert_frame_equal(auto.variables_, named.variables_)
    effect = table("effect")
    assert "explaining_away" not in effect.variables_
    low, high = effect.variables_["low"], effect.variables_["high"]
    np.testing.assert_array_equal(effect.stable_features_, (low > 0) | (high < 0))
    away = table(["explaining_away"])
    assert "effect" not in away.variables_
    np.testing.assert_array_equal(away.stable_features_, away.variables_["explaining_away"] > 2.58)


def test_where_no_evidence_applies_that_is_an_error(train):
    model = StableClassifier(evidence=[Known(CAUSES, applies=False)])
    with pytest.raises(InputError, match=r"no evidence applies.*known.*evidence='auto'"):
        model.fit(train.X, train.y)


def test_where_nothing_is_stable_nothing_is_left_out(train):
    model = StableClassifier(LogisticRegression(), evidence=[Known([])], random_state=0)
    model.fit(train.X, train.y)
    assert model.used_features_.all()
    assert set(model.variables_["verdict"]) == {"undecided"}


# --- the screen as a transformer ---


def test_the_selector_agrees_with_the_classifier(train, linear):
    selector = StableFeatureSelector(random_state=0).fit(train.X, train.y)
    np.testing.assert_array_equal(selector.stable_features_, linear.stable_features_)
    assert selector.share_through_outcome_ == linear.share_through_outcome_
    pd.testing.assert_frame_equal(
        selector.variables_.drop(columns="used"), linear.variables_.drop(columns="used")
    )


def test_the_selector_keeps_the_stable_columns_with_their_names_and_values(train):
    X = train.X.assign(S1=train.X["S1"] * 3.5 - 1)
    selector = StableFeatureSelector(random_state=0).fit(X, train.y)
    names = list(selector.get_feature_names_out())
    assert names == list(X.columns[selector.stable_features_])
    np.testing.assert_array_equal(selector.transform(X), X[names])
    kept = selector.set_output(transform="pandas").transform(X)
    pd.testing.assert_frame_equal(kept, X[names], check_dtype=False)


def test_the_selector_keeps_all_where_the_verdict_is_not_conclusive():
    train = SyntheticWorld("s_to_v", 20, shift="v_given_s", mediator="integer").sample(
        1000, bias_rate=0.65, random_state=0
    )
    selector = StableFeatureSelector(random_state=0).fit(train.X, train.y)
    assert selector.used_features_.all()
    assert selector.transform(train.X).shape == train.X.shape


def test_the_selector_serves_in_a_pipeline(train, tmp_path):
    pipeline = make_pipeline(StableFeatureSelector(random_state=0), LogisticRegression())
    pipeline.fit(train.X, train.y)
    assert pipeline[-1].n_features_in_ == pipeline[0].used_features_.sum() < 10
    pipeline[0].save(tmp_path / "selector")
    again = load(tmp_path / "selector")
    np.testing.assert_array_equal(again.transform(train.X), pipeline[0].transform(train.X))


# --- warnings ---


def test_a_screen_that_does_not_converge_is_a_warning_about_what_it_has(train, monkeypatch):
    monkeypatch.setattr(screening, "SETTINGS", replace(screening.SETTINGS, max_iter=1))
    for estimator in (None, LogisticRegression()):
        model = StableClassifier(estimator, random_state=0)
        with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations") as caught:
            model.fit(train.X, train.y)
        assert not model.converged_
        assert not any("max_iter" in str(warning.message) for warning in caught)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        StableFeatureSelector(random_state=0).fit(train.X, train.y)


def test_a_network_that_predicts_a_constant_is_a_warning(monkeypatch, train):
    strengths = replace(screening.SETTINGS.strengths, network_l2=10.0)
    settings = replace(screening.SETTINGS, strengths=strengths)
    monkeypatch.setattr(screening, "SETTINGS", settings)
    with pytest.warns(ConstantPredictionWarning, match="the same probability for every row"):
        model = StableClassifier(random_state=0).fit(train.X, train.y)
    assert np.ptp(model.predict_proba(train.X)[:, 1]) < 0.01
