"""Balancing for other methods: the weights arrive, and X arrives as it was given."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

from stablepred import (
    BalancedClassifier,
    BalancedRegressor,
    DGBRClassifier,
    Dichotomizer,
    GBRClassifier,
    GlobalBalancer,
    TableEncoder,
)
from stablepred.exceptions import InputError

# What the spies were given, by call; outside them, since scikit-learn clones estimators.
SEEN = []


class SpyClassifier(ClassifierMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        SEEN.append((X, y, sample_weight))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        SEEN.append((X,))
        return np.repeat(self.classes_[:1], len(X))


class SpyRegressor(RegressorMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        SEEN.append((X, y, sample_weight))
        return self

    def predict(self, X):
        SEEN.append((X,))
        return np.zeros(len(X))


class SpyBalancer(BaseEstimator):
    def fit(self, X, y=None, sample_weight=None):
        SEEN.append((X, y, sample_weight))
        self.weights_ = np.arange(1.0, len(X) + 1)
        return self


@pytest.fixture(autouse=True)
def _nothing_seen():
    SEEN.clear()


@pytest.fixture(scope="module")
def numbers(make_table):
    """A frame with continuous columns beside the 0/1 ones."""
    table = make_table(n=80, p=4)
    rng = np.random.default_rng(1)
    return table.X.assign(f1=table.x[:, 1] + rng.normal(0, 0.2, 80), f2=7 * table.x[:, 2]), table.y


KINDS = [(BalancedClassifier, SpyClassifier), (BalancedRegressor, SpyRegressor)]


@pytest.mark.parametrize(("balanced", "spy"), KINDS)
def test_the_inner_model_receives_the_balancing_weights(balanced, spy, table):
    model = balanced(spy()).fit(table.x, table.y)
    ((_, _, received),) = SEEN
    expected = GlobalBalancer().fit(table.x).weights_
    np.testing.assert_array_equal(received, expected)
    np.testing.assert_array_equal(model.sample_weight_, expected)
    assert received.std() > 0.1


@pytest.mark.parametrize(("balanced", "spy"), KINDS)
def test_the_inner_model_receives_sample_weight_times_balancing_weight(balanced, spy, table):
    model = balanced(spy()).fit(table.x, table.y, sample_weight=table.sample_weight)
    ((_, _, received),) = SEEN
    expected = GlobalBalancer().fit(table.x, sample_weight=table.sample_weight).weights_
    np.testing.assert_array_equal(received, table.sample_weight * expected)
    np.testing.assert_array_equal(model.sample_weight_, expected)


@pytest.mark.parametrize(("balanced", "spy"), KINDS)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, np.asarray])
def test_the_inner_model_sees_the_features_as_given(balanced, spy, kind, numbers):
    X, y = numbers
    given = kind(X) if kind is not pl.DataFrame else pl.DataFrame(X.to_dict("list"))
    model = balanced(spy()).fit(given, y)
    model.predict(given)
    (fitted_on, outcome, _), (predicted_on,) = SEEN
    assert type(fitted_on) is type(given)
    np.testing.assert_array_equal(np.asarray(fitted_on), X.to_numpy())
    np.testing.assert_array_equal(np.asarray(predicted_on), X.to_numpy())
    np.testing.assert_array_equal(outcome, y)


def test_the_weights_come_from_dichotomised_features_where_asked_for(numbers):
    X, y = numbers
    balancer = GlobalBalancer(dichotomize="mean")
    model = BalancedClassifier(LogisticRegression(), balancer).fit(X, y)
    expected = GlobalBalancer(dichotomize=None).fit(Dichotomizer().fit_transform(X)).weights_
    np.testing.assert_allclose(model.sample_weight_, expected, rtol=1e-12)


@pytest.mark.parametrize(("balanced", "spy"), KINDS)
def test_the_outcome_does_not_change_the_weights(balanced, spy, table):
    one = balanced(spy()).fit(table.x, table.y)
    other = balanced(spy()).fit(table.x, 1 - table.y)
    np.testing.assert_array_equal(one.sample_weight_, other.sample_weight_)


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
def test_a_balancer_that_uses_the_outcome_is_given_it(table):
    balancer = GBRClassifier(solver="alternating", l1=0.001, refit=False, max_iter=5)
    model = BalancedClassifier(LogisticRegression(), balancer).fit(table.x, table.y)
    alone = balancer.fit(table.x, table.y)
    np.testing.assert_array_equal(model.sample_weight_, alone.sample_weight_)


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
def test_the_weights_of_an_embedding_serve_another_model(table):
    balancer = DGBRClassifier(l1=0.001, refit=False, max_iter=3, random_state=0)
    model = BalancedClassifier(SpyClassifier(), balancer).fit(table.x, table.y)
    ((_, _, received),) = SEEN
    np.testing.assert_array_equal(received, model.balancer_.sample_weight_)


def test_a_balancer_of_ones_own_is_used_and_given_the_sample_weight(table):
    model = BalancedClassifier(SpyClassifier(), SpyBalancer())
    model.fit(table.x, table.y, sample_weight=table.sample_weight)
    (_, outcome, count), (_, _, received) = SEEN
    np.testing.assert_array_equal(outcome, table.y)
    np.testing.assert_array_equal(count, table.sample_weight)
    np.testing.assert_array_equal(received, table.sample_weight * np.arange(1, table.n + 1))


def test_neither_parameter_is_fitted_in_place(table):
    inner, balancer = LogisticRegression(), GlobalBalancer()
    BalancedClassifier(inner, balancer).fit(table.x, table.y)
    assert not hasattr(inner, "coef_")
    assert not hasattr(balancer, "weights_")


def test_predictions_are_those_of_the_inner_model_fitted_by_hand(table):
    weight = GlobalBalancer().fit(table.x).weights_
    by_hand = LogisticRegression().fit(table.x, table.y, sample_weight=weight)
    model = BalancedClassifier(LogisticRegression()).fit(table.x, table.y)
    np.testing.assert_array_equal(model.predict(table.x), by_hand.predict(table.x))
    np.testing.assert_array_equal(model.predict_proba(table.x), by_hand.predict_proba(table.x))
    np.testing.assert_array_equal(
        model.decision_function(table.x), by_hand.decision_function(table.x)
    )
    np.testing.assert_array_equal(model.classes_, by_hand.classes_)
    unweighted = LogisticRegression().fit(table.x, table.y)
    assert not np.allclose(by_hand.coef_, unweighted.coef_)


def test_balancing_removes_the_effect_of_a_feature_that_only_follows_another():
    """y depends on the first feature alone; the second follows it."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 4000)
    second = np.where(rng.random(4000) < 0.8, first, 1 - first)
    X, y = np.column_stack([first, second]).astype(float), first + rng.normal(0, 0.1, 4000)
    only_second = X[:, 1:]
    plain = LinearRegression().fit(only_second, y).coef_[0]
    weight = BalancedRegressor(LinearRegression()).fit(X, y).sample_weight_
    balanced = LinearRegression().fit(only_second, y, sample_weight=weight).coef_[0]
    assert plain > 0.5
    assert abs(balanced) < 0.05


def test_methods_are_there_exactly_where_the_inner_model_has_them():
    assert hasattr(BalancedClassifier(LogisticRegression()), "predict_proba")
    assert not hasattr(BalancedClassifier(LinearSVC()), "predict_proba")
    assert hasattr(BalancedClassifier(LinearSVC()), "decision_function")
    assert not hasattr(BalancedClassifier(HistGradientBoostingClassifier()), "transform")
    assert not hasattr(BalancedRegressor(LinearRegression()), "predict_proba")


def test_several_classes_and_real_outcomes_are_left_to_the_inner_model(table):
    y = table.y + (table.x[:, 3] > 0)
    model = BalancedClassifier(LogisticRegression()).fit(table.x, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(table.x).shape == (table.n, 3)
    outcome = table.x[:, 0] + np.random.default_rng(0).normal(size=table.n)
    forest = RandomForestRegressor(3, random_state=0)
    assert np.isfinite(BalancedRegressor(forest).fit(table.x, outcome).predict(table.x)).all()


def test_an_inner_model_without_sample_weight_is_refused_by_name(table):
    with pytest.raises(InputError, match=r"KNeighborsClassifier.*sample_weight"):
        BalancedClassifier(KNeighborsClassifier()).fit(table.x, table.y)


# --- pipelines and metadata routing ---


class SpyScaler(StandardScaler):
    def fit(self, X, y=None, sample_weight=None):
        SEEN.append(("scaler", sample_weight))
        return super().fit(X, y)


def test_dates_beside_numbers_are_refused_by_name(numbers):
    frame, y = numbers
    dated = frame.assign(since=pd.Timestamp("2020-01-31"))
    with pytest.raises(InputError, match="dates were found in 'since'"):
        BalancedClassifier(LogisticRegression()).fit(dated, y)


@pytest.mark.parametrize("routing", [False, True])
def test_in_a_pipeline_the_last_step_that_takes_weights_receives_them(table, routing):
    expected = GlobalBalancer().fit(table.x).weights_
    inner = make_pipeline(SpyScaler(), make_pipeline(SpyScaler(), LogisticRegression()))
    by_hand = LogisticRegression().fit(
        StandardScaler().fit_transform(table.x), table.y, sample_weight=expected
    )
    with config_context(enable_metadata_routing=routing):
        model = BalancedClassifier(inner).fit(table.x, table.y)
        np.testing.assert_allclose(
            model.predict_proba(table.x)[:, 1],
            by_hand.predict_proba(StandardScaler().fit_transform(table.x))[:, 1],
            atol=1e-6,
        )
    assert [weight for _, weight in SEEN] == [None, None]


def test_steps_that_request_the_weights_receive_them(table):
    with config_context(enable_metadata_routing=True):
        scaler = SpyScaler().set_fit_request(sample_weight=True)
        last = LogisticRegression().set_fit_request(sample_weight=True)
        model = BalancedClassifier(make_pipeline(scaler, last)).fit(table.x, table.y)
    ((_, received),) = SEEN
    np.testing.assert_array_equal(received, model.sample_weight_)


def test_a_pipeline_without_a_step_that_takes_weights_is_refused(table):
    inner = make_pipeline(MinMaxScaler(), KNeighborsClassifier())
    with pytest.raises(InputError, match="Pipeline does not take sample_weight"):
        BalancedClassifier(inner).fit(table.x, table.y)


def test_a_balancer_may_be_a_pipeline(table):
    balancer = make_pipeline(MinMaxScaler(), GlobalBalancer())
    model = BalancedClassifier(LogisticRegression(), balancer).fit(7 * table.x, table.y)
    np.testing.assert_array_equal(model.sample_weight_, GlobalBalancer().fit(table.x).weights_)
    assert model.balance_report_ is model.balancer_[-1].balance_report_


class Grouped(SpyClassifier):
    def fit(self, X, y, sample_weight=None, groups=None):
        SEEN.append(groups)
        return super().fit(X, y, sample_weight)


def test_what_the_inner_model_requests_is_passed_on(table):
    groups = np.arange(table.n)
    with config_context(enable_metadata_routing=True):
        inner = Grouped().set_fit_request(groups=True)
        model = BalancedClassifier(inner).set_fit_request(sample_weight=True)
        model.fit(table.x, table.y, groups=groups, sample_weight=table.sample_weight)
        np.testing.assert_array_equal(SEEN[0], groups)
        SEEN.clear()
        scores = cross_val_score(
            model,
            table.x,
            table.y,
            cv=2,
            scoring=make_scorer(accuracy_score).set_score_request(sample_weight=False),
            params={"groups": groups, "sample_weight": table.sample_weight},
        )
    assert np.isfinite(scores).all()
    assert len(SEEN[0]) == table.n // 2
    with pytest.raises(ValueError, match=r"\[groups\] are passed but are not .* requested"):
        BalancedClassifier(Grouped()).fit(table.x, table.y, groups=groups)


def test_the_report_is_the_balancers(table):
    model = BalancedClassifier(RidgeClassifier()).fit(table.x, table.y)
    assert model.balance_report_ is model.balancer_.balance_report_
    report = model.balance_report_
    assert abs(report.worst_after.imbalance) < abs(report.worst_before.imbalance)


PARTS = [
    (BalancedClassifier, LogisticRegression(), HistGradientBoostingClassifier(max_iter=5)),
    (BalancedRegressor, LinearRegression(), HistGradientBoostingRegressor(max_iter=5)),
]


@pytest.mark.parametrize(("balanced", "linear", "trees"), PARTS)
def test_missing_values_and_text_are_left_to_the_parts(balanced, linear, trees, table):
    gaps = np.where(np.eye(table.n, table.x.shape[1]) == 1, np.nan, table.x)
    impute = make_pipeline(SimpleImputer(), GlobalBalancer())
    for inner in (trees, make_pipeline(SimpleImputer(), linear)):
        model = balanced(inner, impute).fit(gaps, table.y)
        filled = SimpleImputer().fit_transform(gaps)
        expected = GlobalBalancer().fit(filled).weights_
        np.testing.assert_array_equal(model.sample_weight_, expected)
        assert np.isfinite(model.predict(gaps)).all()
    mixed = table.X.assign(city=np.tile(["Bonn", "Ulm", None], table.n)[: table.n])
    for frame in (mixed, pl.from_pandas(mixed)):
        parts = (make_pipeline(TableEncoder(), part) for part in (linear, GlobalBalancer()))
        assert np.isfinite(balanced(*parts).fit(frame, table.y).predict(frame)).all()
    for model in (balanced(linear), balanced(trees), balanced(linear, impute)):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            model.fit(gaps, table.y)


def test_parts_of_another_kind_are_refused_before_any_fit(table):
    for balancer in (LogisticRegression(), make_pipeline(StandardScaler()), GlobalBalancer, "no"):
        with pytest.raises(InputError, match="balancer must find weights"):
            BalancedClassifier(SpyClassifier(), balancer).fit(table.x, table.y)
    with pytest.raises(InputError, match="but SpyRegressor does not"):
        BalancedClassifier(SpyClassifier(), SpyRegressor()).fit(table.x, table.y)
    with pytest.raises(InputError, match="LinearRegression is a regressor; use BalancedRegressor"):
        BalancedClassifier(LinearRegression()).fit(table.x, table.y)
    with pytest.raises(InputError, match="LogisticRegression is a classifier; use Balanced"):
        BalancedRegressor(LogisticRegression()).fit(table.x, table.y)
    assert len(SEEN) == 1
