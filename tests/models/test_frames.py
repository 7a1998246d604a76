"""Frames in, names kept; pipelines, clones and searches."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stablepred import (
    BalancedClassifier,
    BalancedRegressor,
    DGBRClassifier,
    Dichotomizer,
    DLRClassifier,
    FrozenWeights,
    GBRClassifier,
    GlobalBalancer,
    OverlapFilter,
    StableClassifier,
    StableFeatureSelector,
    StableRegressor,
)

pytestmark = [
    pytest.mark.usefixtures("short_screens"),
    pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning"),
]

CLASSIFIERS = {
    "GBR": GBRClassifier(l1=0.01, refit=False, max_iter=5, random_state=0),
    "DLR": DLRClassifier(max_iter=3, random_state=0),
    "DGBR": DGBRClassifier(l1=0.01, refit=False, max_iter=3, random_state=0),
    "DGBR features": DGBRClassifier(
        head="features", l1=0.01, refit=False, max_iter=3, random_state=0
    ),
    "BalancedClassifier": BalancedClassifier(LogisticRegression(), GlobalBalancer(max_iter=5)),
    "StableClassifier": StableClassifier(random_state=0),
    "StableClassifier of LR": StableClassifier(LogisticRegression(), random_state=0),
}
PREDICTORS = CLASSIFIERS | {
    "BalancedRegressor": BalancedRegressor(LinearRegression(), GlobalBalancer(max_iter=5)),
    "StableRegressor": StableRegressor(random_state=0),
}
TRANSFORMERS = {
    "Dichotomizer": Dichotomizer(),
    "OverlapFilter": OverlapFilter(),
    "StableFeatureSelector": StableFeatureSelector(random_state=0),
}
ALL = PREDICTORS | TRANSFORMERS | {"GlobalBalancer": GlobalBalancer(max_iter=5)}


def apply(model, X):
    return model.predict(X) if hasattr(model, "predict") else model.transform(X)


def frames(table):
    columns = {name: table.x[:, j] for j, name in enumerate(table.X.columns)}
    return {"pandas": table.X, "polars": pl.DataFrame(columns)}


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("name", ALL)
def test_a_frame_gives_the_fit_of_its_array_and_keeps_the_names(name, kind, table):
    X = frames(table)[kind]
    model = clone(ALL[name]).fit(X, table.y)
    assert list(model.feature_names_in_) == list(table.X.columns)
    assert model.n_features_in_ == table.p
    plain = clone(ALL[name]).fit(table.x, table.y)
    assert not hasattr(plain, "feature_names_in_")
    if name != "GlobalBalancer":
        np.testing.assert_allclose(apply(model, X), apply(plain, table.x), rtol=1e-9)
    else:
        np.testing.assert_array_equal(model.weights_, plain.weights_)


@pytest.mark.parametrize("name", PREDICTORS | TRANSFORMERS)
def test_pandas_and_polars_frames_can_be_mixed(name, table):
    X = frames(table)
    model = clone(ALL[name]).fit(X["polars"], table.y)
    np.testing.assert_array_equal(apply(model, X["pandas"]), apply(model, X["polars"]))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("name", PREDICTORS | TRANSFORMERS)
def test_reordered_columns_are_refused(name, kind, table):
    X = frames(table)[kind]
    model = clone(ALL[name]).fit(X, table.y)
    with pytest.raises(ValueError, match="same order"):
        apply(model, X[["f1", "f0", "f2", "f3", "f4"]])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("name", PREDICTORS | TRANSFORMERS)
def test_a_missing_column_is_refused_by_name(name, kind, table):
    X = frames(table)[kind]
    model = clone(ALL[name]).fit(X, table.y)
    with pytest.raises(ValueError, match="f3"):
        apply(model, X[["f0", "f1", "f2", "f4"]])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("name", PREDICTORS | TRANSFORMERS)
def test_an_unknown_column_is_refused_by_name(name, kind, table):
    model = clone(ALL[name]).fit(frames(table)[kind], table.y)
    other = frames(table)["pandas"].rename(columns={"f3": "stranger"})
    with pytest.raises(ValueError, match="stranger"):
        apply(model, other)


@pytest.mark.parametrize("name", PREDICTORS | TRANSFORMERS)
def test_another_number_of_columns_is_refused(name, table):
    model = clone(ALL[name]).fit(table.x, table.y)
    with pytest.raises(ValueError, match=r"4 features.*expecting 5"):
        apply(model, table.x[:, :4])


@pytest.mark.parametrize("name", ["GBR", "DGBR"])
def test_names_appear_in_effects_and_report(name, table):
    model = clone(ALL[name]).fit(table.X, table.y)
    assert model.feature_effects_["feature"].tolist() == list(table.X.columns)
    assert list(model.balance_report_.after.index) == list(table.X.columns)
    assert "f1" in str(model.balance_report_)
    unnamed = clone(ALL[name]).fit(table.x, table.y)
    assert unnamed.feature_effects_["feature"].tolist() == ["x0", "x1", "x2", "x3", "x4"]


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(
    ("labels", "classes"),
    [(["no", "yes"], ["no", "yes"]), ([-1, 1], [-1, 1]), ([False, True], [False, True])],
)
def test_labels_may_be_any_two_values(name, labels, classes, table):
    y = np.array(labels)[table.y]
    model = clone(ALL[name]).fit(table.x, y)
    assert model.classes_.tolist() == classes
    assert set(model.predict(table.x)) <= set(y)
    plain = clone(ALL[name]).fit(table.x, table.y)
    np.testing.assert_array_equal(model.predict_proba(table.x), plain.predict_proba(table.x))


def test_a_series_of_strings_is_taken_as_outcome(table):
    y = pd.Series(np.where(table.y == 1, "yes", "no"), index=table.X.index)
    model = clone(ALL["GBR"]).fit(table.X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(table.X)) <= {"no", "yes"}


def test_boolean_and_integer_columns_are_taken_as_they_are(table):
    X = table.X.astype({"f0": bool, "f1": int, "f2": "int8"})
    one, other = clone(ALL["GBR"]).fit(X, table.y), clone(ALL["GBR"]).fit(table.X, table.y)
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("name", ALL)
def test_sparse_features_are_refused_with_the_way_out(name, table):
    with pytest.raises(TypeError, match=r"toarray"):
        clone(ALL[name]).fit(sparse.csr_matrix(table.x), table.y)


# --- probabilities ---


@pytest.mark.parametrize("name", ["GBR", "DLR", "DGBR", "DGBR features"])
def test_probabilities_labels_and_log_odds_agree(name, table):
    model = clone(ALL[name]).fit(table.x, table.y)
    probability, decision = model.predict_proba(table.x), model.decision_function(table.x)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_allclose(probability[:, 1], 1 / (1 + np.exp(-decision)))
    np.testing.assert_array_equal(model.predict(table.x), (probability[:, 1] > 0.5).astype(int))


def test_predictions_of_the_features_head_are_a_logistic_model_by_hand(table):
    for name in ("GBR", "DGBR features"):
        model = clone(ALL[name]).fit(table.x, table.y)
        assert model.coef_.shape == (1, table.p)
        np.testing.assert_allclose(
            model.decision_function(table.x), table.x @ model.coef_[0] + model.intercept_[0]
        )


def test_predictions_of_the_embedding_head_are_the_network_by_hand(table):
    for model in (clone(ALL["DLR"]), clone(ALL["DGBR"]).set_params(head="embedding")):
        model.set_params(hidden=(4, 3)).fit(table.x, table.y)
        assert model.coef_.shape == (1, 3)
        hidden = table.x
        for weight, bias in model.encoders_[0]:
            hidden = 1 / (1 + np.exp(-(hidden @ weight.T + bias)))
        np.testing.assert_allclose(
            model.decision_function(table.x), hidden @ model.coef_[0] + model.intercept_[0]
        )


def test_new_rows_are_cut_at_the_thresholds_of_training(table):
    gbr = clone(ALL["GBR"]).set_params(dichotomize="mean")
    X = table.X.copy()
    X["f3"] = np.random.default_rng(0).normal(10, 2, table.n)
    model = clone(gbr).fit(X, table.y)
    cut = X.assign(f3=(X["f3"] > X["f3"].mean()).astype(float))
    np.testing.assert_array_equal(model.predict_proba(X.head(5)), model.predict_proba(X)[:5])
    by_hand = clone(gbr).fit(cut, table.y)
    np.testing.assert_allclose(model.coef_, by_hand.coef_)
    np.testing.assert_allclose(model.predict_proba(X), by_hand.predict_proba(cut))


# --- scikit-learn's tools ---


@pytest.mark.parametrize("name", ALL)
def test_a_clone_has_the_parameters_and_nothing_fitted(name, table):
    model = clone(ALL[name]).fit(table.x, table.y)
    copy = clone(model)
    assert repr(copy.get_params()) == repr(model.get_params())
    assert not [attribute for attribute in vars(copy) if attribute.endswith("_")]


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_pipeline_gives_what_its_steps_give(name, table):
    rng = np.random.default_rng(0)
    X = table.X + rng.normal(0, 0.1, table.X.shape)
    pipeline = make_pipeline(Dichotomizer(), clone(ALL[name])).fit(X, table.y)
    binary = Dichotomizer().fit_transform(X)
    alone = clone(ALL[name]).fit(binary, table.y)
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(binary))


def test_names_pass_through_a_pipeline(table):
    pipeline = make_pipeline(Dichotomizer(), OverlapFilter(), clone(ALL["GBR"]))
    pipeline.set_output(transform="pandas").fit(table.X, table.y)
    assert list(pipeline[-1].feature_names_in_) == list(table.X.columns)


def test_a_scaler_before_the_estimator_changes_nothing(table):
    scaled = make_pipeline(StandardScaler(), clone(ALL["GBR"])).fit(table.X, table.y)
    plain = clone(ALL["GBR"]).fit(table.X, table.y)
    np.testing.assert_allclose(scaled.predict_proba(table.X), plain.predict_proba(table.X))


@pytest.mark.parametrize(
    ("name", "grid"),
    [
        ("GBR", {"l1": [0.001, 0.1], "balance": [0.1, 1.0]}),
        ("GBR", {"l1": np.array([0.001, 0.1]), "order": np.array([1, 2])}),
        ("GBR", {"solver": np.array(["sequential", "alternating"])}),
        ("GBR", {"fit_intercept": np.array([True, False])}),
        ("DLR", {"hidden": [(2,), (3, 2)]}),
        ("DGBR", {"weight_l2": [0.01, 1.0], "hidden": [[2], (2, 2)]}),
        ("DGBR", {"frozen": [None, {"after": 2}, FrozenWeights(reduced=True)]}),
        ("StableClassifier", {"evidence": ["auto", ["effect"]], "estimator": [None]}),
        ("StableRegressor", {"estimator": [None, LinearRegression()], "cv": [2, 3]}),
        ("StableClassifier of LR", {"estimator__C": [0.1, 1.0], "guard": np.array([True, False])}),
        ("BalancedClassifier", {"estimator__C": [0.1, 1.0], "balancer__weight_l2": [0.01, 1.0]}),
        ("BalancedRegressor", {"balancer": [None, GlobalBalancer(order=2, max_iter=3)]}),
    ],
)
def test_grid_search_runs_over_every_kind_of_parameter(name, grid, table):
    search = GridSearchCV(clone(ALL[name]), grid, cv=2, error_score="raise")
    search.fit(table.X, table.y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(table.X).shape == (table.n,)


@pytest.mark.parametrize("name", ["GBR", "DGBR", "BalancedClassifier"])
def test_grid_search_hands_sample_weights_on(name, table):
    grid = {"max_iter": [3]} if name != "BalancedClassifier" else {"estimator__C": [1.0]}
    search = GridSearchCV(clone(ALL[name]), grid, cv=2, error_score="raise")
    search.fit(table.X, table.y, sample_weight=table.sample_weight)
    alone = clone(ALL[name]).set_params(**search.best_params_)
    alone.fit(table.X, table.y, sample_weight=table.sample_weight)
    np.testing.assert_array_equal(search.predict_proba(table.X), alone.predict_proba(table.X))


def test_cross_validation_scores_are_accuracies(table):
    scores = cross_val_score(clone(ALL["GBR"]), table.X, table.y, cv=3, error_score="raise")
    assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.parametrize("cv", [2, KFold(2), StratifiedKFold(3, shuffle=True, random_state=0)])
def test_inner_folds_come_from_cv(cv, table):
    model = GBRClassifier(cv=cv, random_state=0).fit(table.X, table.y)
    assert model.recipe_.l1 > 0
    assert model.recipe_.refit in (False, "weighted")
    assert np.isfinite(model.predict_proba(table.X)).all()


def test_inner_folds_may_be_given_row_by_row(table):
    rows = np.arange(table.n)
    folds = [(rows[rows % 2 == k], rows[rows % 2 != k]) for k in (0, 1)]
    model = GBRClassifier(cv=folds, random_state=0).fit(table.X, table.y)
    assert np.isfinite(model.coef_).all()
