import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import loguniform
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from stablepred import BalancedClassifier, DGBRClassifier, DLRClassifier, GBRClassifier, load
from stablepred.data import Environment, SyntheticWorld
from stablepred.evaluation.metrics import (
    average_error,
    environment_errors,
    stability_error,
    worst_error,
)
from stablepred.exceptions import (
    ConstantPredictionWarning,
    DegenerateWeightsWarning,
    InputError,
    StablepredWarning,
)
from stablepred.search import StableSearchCV

WORLD = SyntheticWorld("s_indep_v", 10, bias_on="signal")
NOISY = [name for name in WORLD.feature_names if name not in WORLD.stable_features]
TRAIN = WORLD.sample(600, bias_rate=0.8, random_state=0)
X, Y = TRAIN.X, TRAIN.y
GRID = {"C": [0.02, 0.2, 2.0]}


class OnColumns(ClassifierMixin, BaseEstimator):
    """Logistic regression on some columns; on none of them it is a constant."""

    def __init__(self, columns="all", share=1.0, shrink=1.0):
        self.columns = columns
        self.share = share
        self.shrink = shrink

    def fit(self, X, y):
        stable = [name for name in X.columns if name not in NOISY]
        self.used_ = {"all": list(X.columns), "stable": stable, "none": []}[self.columns]
        self.model_ = LogisticRegression() if self.used_ else DummyClassifier()
        self.model_.fit(X[self.used_] if self.used_ else X, y)
        self.classes_ = self.model_.classes_
        self.base_ = np.mean(y)
        self.balance_report_ = SimpleNamespace(effective_share=self.share)
        return self

    def predict_proba(self, X):
        both = self.model_.predict_proba(X[self.used_] if self.used_ else X)
        return self.shrink * both + (1 - self.shrink) * np.array([1 - self.base_, self.base_])


def search(estimator=None, grid=None, **options):
    """A quick search with known noisy features."""
    quick = {"cv": 3, "rates": (0.2, 0.5, 0.8), "random_state": 0, "noisy_features": NOISY}
    options = quick | options
    return StableSearchCV(estimator or LogisticRegression(), grid or GRID, **options)


def same_results(one, two, **tolerance):
    """Equal in everything but the times taken."""
    assert one.best_params_ == two.best_params_
    frames = [
        pd.DataFrame({k: v for k, v in s.cv_results_.items() if not k.endswith("_time")})
        for s in (one, two)
    ]
    pd.testing.assert_frame_equal(*frames, **tolerance)


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@parametrize_with_checks(
    [StableSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, random_state=0)]
)
def test_the_search_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


# --- what is chosen ---


@pytest.mark.parametrize("validation", ["redraw", "resample"])
@pytest.mark.parametrize("criterion", ["score", "worst"])
def test_the_candidate_that_does_not_use_noisy_features_is_chosen(validation, criterion):
    found = search(
        OnColumns(),
        {"columns": ["all", "stable"]},
        validation=validation,
        criterion=criterion,
    ).fit(X, Y)
    assert found.best_params_ == {"columns": "stable"}
    assert found.best_estimator_.columns == "stable"


def test_the_noisy_features_are_found_without_help():
    world = SyntheticWorld("s_indep_v", 10)
    train = world.sample(1500, bias_rate=0.75, random_state=1)
    found = search(noisy_features=None, cv=2).fit(train.X, train.y)
    noisy = set(found.feature_names_in_[found.noisy_features_])
    assert noisy >= set(train.X.columns) - set(world.stable_features)
    assert not noisy & {"S1", "S2", "S3"}  # those that are linear in the outcome's score


@pytest.mark.parametrize("criterion", ["score", "worst"])
def test_errors_are_those_of_the_metrics_module(criterion):
    """On environments of one's own a candidate is fitted on all rows and simply evaluated."""
    environments = [WORLD.sample(200, bias_rate=r, random_state=9) for r in (0.2, 0.5, 0.8)]
    found = search(environments=environments, criterion=criterion, stability_weight=3.0).fit(X, Y)
    results = found.cv_results_
    for k, strength in enumerate(GRID["C"]):
        errors = environment_errors(LogisticRegression(C=strength).fit(X, Y), environments)
        average, stability = average_error(errors), stability_error(errors)
        assert results["average_error"][k] == pytest.approx(average)
        assert results["stability_error"][k] == pytest.approx(stability)
        assert results["worst_error"][k] == pytest.approx(worst_error(errors))
        assert results["error_r=0.2"][k] == pytest.approx(errors["r=0.2"])
        value = worst_error(errors) if criterion == "worst" else average + 3 * stability
        assert results["criterion"][k] == pytest.approx(value)
        assert results["mean_test_score"][k] == pytest.approx(-value)
    assert found.best_index_ == np.argmin(results["criterion"])
    assert found.best_score_ == results["mean_test_score"][found.best_index_]
    assert sorted(results["rank_test_score"]) == [1, 2, 3]
    assert found.noisy_features_ is None


@pytest.mark.filterwarnings("ignore:the chosen candidate")
def test_at_the_rate_of_a_half_redrawn_features_say_nothing():
    """A model of one noisy feature is then as wrong as its predictions are extreme."""
    model = LogisticRegression().fit(X[["V5"]], Y)
    p = model.predict_proba(X[["V5"]])[:, 1]
    found = search(rates=(0.4, 0.5), cv=10, grid={"C": [1.0]}, noisy_features=["V5"]).fit(
        X[["V5"]], Y
    )
    high, low = p[X["V5"] == 1][0], p[X["V5"] == 0][0]
    expected = np.sqrt(np.mean([(Y - q) ** 2 for q in (high, low)]))
    assert found.cv_results_["error_r=0.5"][0] == pytest.approx(expected, abs=0.02)


def test_candidates_that_are_marked_come_last_and_are_chosen_only_if_nothing_else_is_left():
    grid = [
        {"columns": ["all"]},
        {"columns": ["stable"], "shrink": [-0.2]},  # worse than a constant
        {"columns": ["stable"], "share": [0.01]},  # weights on few rows
        {"columns": ["none"]},
    ]
    found = search(OnColumns(), grid).fit(X, Y)
    results = found.cv_results_
    assert found.best_params_ == {"columns": "all"}
    assert results["criterion"][0] == results["criterion"].max()
    assert results["uninformative"].tolist()[:3] == [False, True, False]
    assert results["collapsed"].tolist() == [False, False, True, False]
    assert results["constant"].tolist() == [False, False, False, True]
    assert results["rank_test_score"].tolist() == [1, 2, 3, 4]
    assert results["param_share"].mask.tolist() == [True, True, False, True]


def test_a_constant_is_never_chosen_silently():
    with pytest.warns(ConstantPredictionWarning, match="no better one was left"):
        found = search(OnColumns(), {"columns": ["none"]}).fit(X, Y)
    assert found.cv_results_["constant"].all()


def test_collapsed_weights_are_never_chosen_silently():
    with pytest.warns(DegenerateWeightsWarning, match="collapsed"):
        search(OnColumns("stable"), {"share": [0.01, 0.04]}).fit(X, Y)


def test_a_choice_no_better_than_a_constant_is_not_silent():
    class Wrong(OnColumns):
        def predict_proba(self, X):
            return super().predict_proba(X)[:, ::-1]

    with pytest.warns(StablepredWarning, match="no better than a constant predictor"):
        found = search(Wrong(), {"columns": ["all", "stable"]}).fit(X, Y)
    assert found.cv_results_["uninformative"].all()
    assert found.constant_error_ == pytest.approx(Y.std(), abs=1e-3)


# --- every estimator, every kind of table ---


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (GBRClassifier(refit=False), {"l1": [0.001, 0.01]}),
        (
            DGBRClassifier(hidden=(3,), max_iter=3, refit=False),
            {"l1": [0.001, 0.01]},
        ),
        (DLRClassifier(hidden=(3,), max_iter=3), {"reconstruction": [0.1, 1.0]}),
        (BalancedClassifier(LogisticRegression()), {"estimator__C": [0.1, 1.0]}),
        (
            make_pipeline(StandardScaler(), GBRClassifier(l1=0.0, refit=False)),
            {"gbrclassifier__balance": [0.5, 2.0]},
        ),
        (make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [1, 2]}),
        (GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}),
    ],
)
def test_it_searches_over_every_estimator(estimator, grid):
    found = search(estimator, grid, cv=2, rates=(0.2, 0.8)).fit(X[:200], Y[:200])
    probability = found.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    balanced = "GBR" in repr(estimator) or "Balanced" in repr(estimator)
    assert np.isfinite(found.cv_results_["effective_share"]).all() == (
        balanced or isinstance(estimator, DLRClassifier)
    )


def test_frames_of_pandas_and_polars_and_arrays_give_the_same():
    frame = search().fit(X, Y)
    same_results(frame, search().fit(pl.DataFrame(X.to_dict("list")), Y))
    positions = [X.columns.get_loc(name) for name in NOISY]
    mask = np.isin(X.columns, NOISY)
    same_results(frame, search(noisy_features=positions).fit(X.to_numpy(), Y))
    same_results(frame, search(noisy_features=mask).fit(X.to_numpy(), Y))


def test_labels_of_any_kind_are_taken():
    labels = np.where(Y == 1, "yes", "no")
    environments = [WORLD.sample(200, bias_rate=r, random_state=9) for r in (0.2, 0.8)]
    for options in ({}, {"environments": environments}):
        plain, named = (search(**options).fit(X, outcome) for outcome in (Y, labels))
        same_results(plain, named)
    assert set(named.predict(X)) == {"yes", "no"}
    assert named.classes_.tolist() == ["no", "yes"]
    assert 0.5 < named.score(X, labels) <= 1


def test_numbers_that_are_not_0_1_are_changed_by_side():
    rng = np.random.default_rng(0)
    wide = X.astype(float).mul(rng.gamma(2.0, size=X.shape)).add(rng.normal(size=X.shape) / 10)
    found = search(OnColumns(), {"columns": ["all", "stable"]}).fit(wide, Y)
    assert found.best_params_ == {"columns": "stable"}


def test_other_columns_need_not_be_numbers():
    class Named(OnColumns):
        def fit(self, X, y):
            return super().fit(X[TRAIN.X.columns], y)

    table = X.assign(city=np.where(Y == 1, "Bonn", "Ulm"))
    found = search(Named(), {"columns": ["all", "stable"]}).fit(table, Y)
    assert found.best_params_ == {"columns": "stable"}
    table["gap"] = np.where(Y == 1, 1.0, np.nan)
    with pytest.warns(StablepredWarning, match=r"'city' \(not numeric\), 'gap' \(missing"):
        found = search(Named(), {"columns": ["stable"]}, noisy_features=None).fit(table, Y)
    expected = search(OnColumns(), {"columns": ["stable"]}, noisy_features=None).fit(X, Y)
    same_results(found, expected)
    with pytest.raises(InputError, match="'city': not numeric"):
        search(Named(), {"columns": ["all"]}, noisy_features=["city"]).fit(table, Y)


def test_a_regressor_is_tuned_in_made_given_and_left_out_environments(tmp_path):
    number = X["S1"] + 2 * X["S2"] + np.random.default_rng(0).normal(size=600)
    grid = {"alpha": [1.0, 1e4]}
    made = StableSearchCV(Ridge(), grid, cv=2, random_state=0).fit(X, number)
    assert made.best_params_ == {"alpha": 1.0}
    assert is_regressor(made)
    assert made.score(X, number) == pytest.approx(made.best_estimator_.score(X, number))
    halves = {"a": (X[:300], number[:300]), "b": (X[300:], number[300:])}
    given = StableSearchCV(Ridge(), grid, environments=halves).fit(X, number)
    errors = environment_errors(given, halves)
    assert [given.cv_results_[f"error_{name}"][0] for name in halves] == pytest.approx(list(errors))
    label = np.repeat(["a", "b"], 300)
    left_out = StableSearchCV(Ridge(), grid).fit(X, number, environment=label)
    other = Ridge().fit(X[300:], number[300:])
    expected = environment_errors(other, halves["a"]).iloc[0]
    assert left_out.cv_results_["error_a"][0] == pytest.approx(expected)


def test_the_best_estimator_is_saved_where_it_can_be(tmp_path):
    model = BalancedClassifier(LogisticRegression())
    found = search(model, {"estimator__C": [0.2]}).fit(X, Y)
    found.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), found.predict(X))
    trees = search(DecisionTreeClassifier(), {"max_depth": [2]}).fit(X, Y)
    with pytest.raises(InputError, match="needs pickle"):
        trees.save(tmp_path / "other")


# --- deterministic ---


@pytest.mark.filterwarnings("ignore:the chosen candidate")
def test_the_result_does_not_depend_on_the_number_of_processes():
    model = DecisionTreeClassifier(max_features=2)  # its own seed is left open
    grid = {"max_depth": [2, 4]}
    one, two = (search(model, grid, n_jobs=jobs, cv=2).fit(X, Y) for jobs in (None, 2))
    same_results(one, two, check_exact=True)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert model.random_state is None


def test_another_seed_gives_other_environments():
    errors = [search(random_state=seed).fit(X, Y).cv_results_["criterion"] for seed in (0, 0, 1)]
    np.testing.assert_array_equal(errors[0], errors[1])
    assert not np.array_equal(errors[0], errors[2])


@pytest.mark.parametrize("noisy", [NOISY, None])
def test_the_result_does_not_depend_on_the_order_of_the_columns(noisy):
    order = np.random.default_rng(0).permutation(X.columns)
    one, two = (search(noisy_features=noisy, cv=2).fit(x, Y) for x in (X, X[order]))
    same_results(one, two, rtol=1e-4)
    assert set(X.columns[one.noisy_features_]) == set(order[two.noisy_features_])


def test_a_random_search_draws_the_same_candidates_for_a_seed():
    grid = {"C": loguniform(1e-2, 1e2)}
    one, two = (search(grid=grid, n_iter=3, random_state=seed).fit(X, Y) for seed in (0, 0))
    assert len(one.cv_results_["params"]) == 3
    same_results(one, two)
    with pytest.warns(UserWarning, match="is smaller than n_iter"):  # the grid has three points
        few = search(n_iter=50).fit(X, Y)
    assert sorted(p["C"] for p in few.cv_results_["params"]) == GRID["C"]


# --- what is seen ---


class Seeing(LogisticRegression):
    """Notes the labels of all rows it is fitted on and asked about."""

    fitted, asked = [], []

    def fit(self, X, y, sample_weight=None):
        self.fitted.append(list(X.index))
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        self.asked.append(list(X.index))
        return super().predict_proba(X)


@pytest.fixture
def seeing():
    Seeing.fitted.clear()
    Seeing.asked.clear()
    return Seeing()


def test_candidates_are_judged_on_rows_they_were_not_fitted_on(seeing):
    search(seeing, {"C": [1.0]}, cv=3, rates=(0.2, 0.8)).fit(X, Y)
    folds = seeing.fitted[:3]
    for k, train in enumerate(folds):
        for held_out in seeing.asked[2 * k : 2 * k + 2]:
            assert set(held_out) == set(X.index) - set(train)
    assert sorted(seeing.fitted[3]) == list(X.index)  # the refit


def test_a_poisoned_test_set_in_the_same_table_is_never_seen(seeing):
    """Rows of weight zero are as if absent, whatever is in them."""
    poison = X.astype(float).copy()
    poison.index = poison.index + 10_000
    poison.loc[:] = np.nan
    table = pd.concat([X.astype(float), poison])
    outcome = np.r_[Y, 1 - Y]
    weight = np.r_[np.ones(len(Y)), np.zeros(len(Y))]
    clean = search(cv=2).fit(X.astype(float), Y, sample_weight=np.ones(len(Y)))
    poisoned = search(seeing, cv=2).fit(table, outcome, sample_weight=weight)
    same_results(clean, poisoned)
    assert max(max(rows) for rows in seeing.fitted + seeing.asked) < 10_000


def test_test_environments_are_not_touched(monkeypatch):
    class Poisoned:
        name = "test"

        @property
        def X(self):  # noqa: N802
            raise AssertionError("a test environment was looked at")

        y = X

    def forbidden(*args, **kwargs):
        raise AssertionError("an environment was drawn from the world")

    tests = [Poisoned()]
    before = search().fit(X, Y)
    monkeypatch.setattr(SyntheticWorld, "sample", forbidden)
    same_results(before, search().fit(X, Y))
    with pytest.raises(AssertionError, match="looked at"):
        environment_errors(before, tests)


def test_environments_of_ones_own_are_never_fitted_on(seeing):
    environments = [WORLD.sample(100, bias_rate=r, random_state=9) for r in (0.2, 0.8)]
    shifted = [Environment(e.name, e.X.set_axis(e.X.index + 5000), e.y) for e in environments]
    search(seeing, {"C": [1.0, 2.0]}, environments=shifted).fit(X, Y)
    assert [sorted(rows) for rows in seeing.fitted] == [list(X.index)] * 3


def test_training_environments_are_left_out_in_turn():
    parts = [WORLD.sample(200, bias_rate=r, random_state=k) for k, r in enumerate((0.6, 0.8, 0.9))]
    x = pd.concat([part.X for part in parts], ignore_index=True)
    y, labels = np.concatenate([part.y for part in parts]), np.repeat(["b", "a", "c"], 200)
    weight = np.where(np.arange(600) % 2, 3.0, 1.0)
    found = search().fit(x, y, sample_weight=weight, environment=labels)
    for row, C in enumerate(GRID["C"]):
        errors = []
        for name in ("a", "b", "c"):
            own = labels == name
            model = LogisticRegression(C=C).fit(x[~own], y[~own], weight[~own])
            squares = (y[own] - model.predict_proba(x[own])[:, 1]) ** 2
            errors.append(np.sqrt(np.average(squares, weights=weight[own])))
            assert found.cv_results_[f"error_{name}"][row] == pytest.approx(errors[-1])
        score = np.mean(errors) + 5 * np.std(errors, ddof=1)
        assert found.cv_results_["criterion"][row] == pytest.approx(score)
    assert found.noisy_features_ is None
    constant = [np.average(y[labels != n], weights=weight[labels != n]) for n in ("a", "b", "c")]
    by_hand = [
        np.sqrt(np.average((y[own] - p) ** 2, weights=weight[own]))
        for own, p in zip((labels == n for n in "abc"), constant, strict=True)
    ]
    assert found.constant_error_ == pytest.approx(np.mean(by_hand))


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["a"] * 600, {}, "every row has the environment 'a'"),
        ([None] + ["a"] * 599, {}, "missing labels"),
        (["a", "b"] * 300, {"environments": [TRAIN, TRAIN]}, "Pass one of them"),
    ],
)
def test_environments_that_cannot_be_left_out_are_refused(labels, options, message):
    with pytest.raises(InputError, match=message):
        search(**options).fit(X, Y, environment=np.array(labels, dtype=object))


def test_a_splitter_or_a_list_of_splits_may_say_who_is_held_out():
    splitter = StratifiedKFold(3, shuffle=True, random_state=5)
    listed = list(splitter.split(X, Y))
    same_results(search(cv=splitter).fit(X, Y), search(cv=listed).fit(X, Y))
    masks = [(np.isin(np.arange(600), a), np.isin(np.arange(600), b)) for a, b in listed]
    same_results(search(cv=splitter).fit(X, Y), search(cv=masks).fit(X, Y))


def test_sample_weights_reach_every_fit_and_the_errors():
    weight = np.where(np.arange(600) % 2, 3.0, 1.0)
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), LogisticRegression())
    plain = search().fit(X, Y, sample_weight=weight)
    piped = search(pipeline, {"logisticregression__C": GRID["C"]}).fit(X, Y, sample_weight=weight)
    for name in ("average_error", "stability_error"):
        np.testing.assert_allclose(plain.cv_results_[name], piped.cv_results_[name], rtol=1e-6)
    by_hand = LogisticRegression(C=plain.best_params_["C"]).fit(X, Y, weight)
    np.testing.assert_allclose(plain.predict_proba(X), by_hand.predict_proba(X))
    assert not np.allclose(
        plain.cv_results_["criterion"], search().fit(X, Y).cv_results_["criterion"]
    )


def test_metadata_routing_hands_weights_to_the_steps_that_ask_for_them():
    weight = np.where(np.arange(600) % 2, 3.0, 1.0)
    steps = StandardScaler(with_mean=False, with_std=False), LogisticRegression()
    grid = {"logisticregression__C": GRID["C"]}
    plain = search(make_pipeline(*steps), grid).fit(X, Y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        scaler, model = steps
        scaler.set_fit_request(sample_weight=False)
        model.set_fit_request(sample_weight=True)
        routed = search(make_pipeline(scaler, model), grid).fit(X, Y, sample_weight=weight)
    same_results(plain, routed)


def test_a_search_can_be_cross_validated():
    scores = cross_val_score(search(cv=2), X, Y, cv=3, error_score="raise")
    assert ((scores > 0.5) & (scores <= 1)).all()


# --- failed, warned ---


class Failing(LogisticRegression):
    """Raises at the fits with given numbers, in ``fit`` or later in ``predict_proba``."""

    count, at, late = 0, (), False

    def fit(self, X, y, sample_weight=None):
        cls = type(self)
        cls.count += 1
        self.fails = cls.count in cls.at
        if self.fails and not cls.late:
            raise RuntimeError("now")
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        if self.fails and type(self).late:
            raise RuntimeError("now")
        return super().predict_proba(X)


@pytest.fixture
def failing(monkeypatch):
    def at(*numbers, late=False):
        monkeypatch.setattr(Failing, "count", 0)
        monkeypatch.setattr(Failing, "at", numbers)
        monkeypatch.setattr(Failing, "late", late)
        return Failing()

    return at


@pytest.mark.parametrize(
    ("late", "category"), [(False, FitFailedWarning), (True, StablepredWarning)]
)
def test_a_candidate_that_fails_is_marked_and_the_others_go_on(failing, late, category):
    with pytest.warns(category, match="RuntimeError: now"):
        found = search(failing(5, late=late)).fit(X, Y)
    assert found.cv_results_["failed"].tolist() == [False, True, False]
    assert np.isnan(found.cv_results_["criterion"][1])
    assert found.cv_results_["rank_test_score"][1] == 3
    others = search().fit(X, Y).cv_results_["criterion"][[0, 2]]
    np.testing.assert_array_equal(found.cv_results_["criterion"][[0, 2]], others)


@pytest.mark.parametrize("at", [range(1, 10), [10]], ids=["every candidate", "the refit"])
def test_a_fit_that_fails_leaves_the_search_as_it_was(failing, at):
    found = search(failing()).fit(X, Y)
    before = dict(vars(found))
    failing(*at)
    with pytest.raises((ValueError, RuntimeError), match="now"):
        found.fit(X, 1 - Y)
    assert vars(found) == before
    assert found.predict(X).shape == (600,)


def test_an_interrupt_leaves_the_search_as_it_was(monkeypatch):
    found = search().fit(X, Y)
    before = dict(vars(found))

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(LogisticRegression, "fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        found.fit(X, 1 - Y)
    assert vars(found) == before


def test_when_no_candidate_can_be_fitted_or_scored_the_cause_is_told(failing):
    with pytest.raises(ValueError, match="l1_ratio"):
        search(grid={"l1_ratio": [-1, -2]}).fit(X, Y)
    with (
        pytest.warns(StablepredWarning, match="could not be scored"),
        pytest.raises(InputError, match="no candidate could be scored"),
    ):
        search(failing(*range(1, 10), late=True)).fit(X, Y)


def test_a_fitted_search_keeps_no_training_rows():
    found = search().fit(X, Y)
    assert len(pickle.dumps(found)) < X.to_numpy().nbytes / 2


def test_without_refit_there_is_a_result_but_no_prediction():
    found = search(refit=False).fit(X, Y)
    assert found.best_params_["C"] in GRID["C"]
    assert not hasattr(found, "predict")


# --- bad input ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": {"C": []}}, "non-empty sequence"),
        ({"grid": {"C": 1.0}}, "'C' needs to be a list"),
        ({"grid": {"C": "auto"}}, "'C' needs to be a list"),
        ({"grid": "C"}, "'param_grid' parameter"),
        ({"grid": {"C": loguniform(1, 2)}}, "'C' needs to be a list"),
        ({"grid": {"D": [1]}}, "Invalid parameter 'D'"),
        ({"criterion": "mean"}, "'criterion' parameter"),
        ({"validation": "shuffle"}, "'validation' parameter"),
        ({"sampler": "random"}, "'sampler' parameter"),
        ({"refit": "score"}, "'refit' parameter"),
        ({"stability_weight": -1}, "'stability_weight' parameter"),
        ({"n_iter": 0}, "'n_iter' parameter"),
        ({"rates": (0.5,)}, "two or more"),
        ({"rates": (0.0, 0.5)}, "strictly between 0 and 1"),
        ({"cv": 1}, "'cv' parameter"),
        ({"noisy_features": []}, "noisy_features is empty"),
        ({"noisy_features": ["W"]}, r"noisy_features is \['W'\], but"),
        ({"noisy_features": [99]}, r"noisy_features is \[99\], but"),
        ({"noisy_features": [True, False]}, "one boolean per feature"),
        ({"environments": []}, "no environments"),
        ({"environments": [TRAIN]}, "a single one"),
        (
            {"environments": [TRAIN, Environment("b", X.rename(columns={"S1": "Z"}), Y)]},
            "lacks \\['S1'\\] and adds \\['Z'\\]",
        ),
        (
            {"environments": [Environment(n, X.rename(columns={"S1": "Z"}), Y) for n in "ab"]},
            "must have the columns of X",
        ),
        ({"estimator": LinearSVC()}, "no predict_proba"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        search(**options).fit(X, Y)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (np.zeros(600), "only one class"),
        (np.arange(600) % 3, "Only binary classification"),
        (np.r_[1, np.zeros(599)], "n_samples=1"),
    ],
)
def test_an_outcome_without_two_classes_is_refused(outcome, message):
    with pytest.raises(InputError, match=message):
        search().fit(X, outcome)


def test_an_environment_with_another_outcome_is_refused():
    other = SimpleNamespace(name="b", X=X, y=np.full(600, 7))
    with pytest.raises(InputError, match="outcome of environment 'b'"):
        search(environments=[TRAIN, other]).fit(X, Y)


def test_a_fold_with_one_class_is_named():
    halves = KFold(2).split(np.zeros(4))
    x, y = X[:4], np.array([0, 0, 1, 1])
    with pytest.raises(ValueError, match="class"):
        search(cv=list(halves), noisy_features=["V5"]).fit(x, y)


def test_weights_that_could_not_reach_the_estimator_are_refused():
    with pytest.raises(ValueError, match="unexpected keyword argument 'sample_weight'"):
        search(KNeighborsClassifier(), {"n_neighbors": [3]}).fit(X, Y, sample_weight=np.ones(600))


def test_when_no_feature_is_found_noisy_the_search_says_so():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.integers(0, 2, (800, 3)), columns=list("abc"))
    y = (x.sum(axis=1) + rng.normal(0, 0.3, 800) > 1.5).astype(int)
    with pytest.warns(StablepredWarning, match="no feature was found noisy") as caught:
        found = search(noisy_features=None).fit(x, y)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(found.cv_results_["stability_error"], 0, atol=1e-12)


def test_a_search_says_nothing_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search(OnColumns(), {"columns": ["all", "stable"]}).fit(X, Y)
