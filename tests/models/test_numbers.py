"""Numbers in the estimators: standardised, bounded, and refittable by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import stablepred
from stablepred import DGBRClassifier, DLRClassifier, GBRClassifier, GlobalBalancer
from stablepred.evaluation.diagnostics import balance_report
from stablepred.models.standardizer import Standardizer

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")

FEW = {"max_iter": 4, "random_state": 0}
OWN = {
    "GlobalBalancer": GlobalBalancer(max_iter=10),
    "GlobalBalancer order 2": GlobalBalancer(max_iter=10, order=2),
    "GBR": GBRClassifier(cv=2, **FEW),
    "GBR alternating": GBRClassifier(solver="alternating", l1=0.01, refit=False, **FEW),
    "DLR": DLRClassifier(**FEW),
    "DGBR": DGBRClassifier(cv=2, **FEW),
    "DGBR order 2": DGBRClassifier(order=2, l1=0.01, refit=False, **FEW),
    "DGBR alternating": DGBRClassifier(solver="alternating", l1=0.01, refit=False, **FEW),
}


def make_frame(n=300, seed=0):
    """Numbers of any scale, one of them skewed, that go together; 0/1 columns; an outcome."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "income": 3e4 + 1e4 * (common + rng.normal(size=n)),
            "age": 40 + 10 * (0.8 * common + rng.normal(size=n)),
            "wait": np.exp(rng.normal(size=n)),
            "owner": (rng.random(n) < 0.4).astype(float),
            "member": (common + rng.normal(size=n) > 0).astype(float),
        }
    )
    y = (frame["age"] / 10 - 4 + frame["owner"] + rng.normal(0, 0.7, n) > 0.5).astype(int)
    return frame, y.to_numpy()


def weights_of(model):
    return getattr(model, "weights_", getattr(model, "sample_weight_", None))


def predictions(model, X):
    return model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else np.zeros(len(X))


# --- standardising ---


def test_numbers_are_standardised_by_weighted_mean_and_deviation_and_bits_are_kept():
    X, _ = make_frame()
    weight = np.random.default_rng(0).exponential(size=len(X))
    found = Standardizer().fit(X, sample_weight=weight).transform(X)
    for j, name in enumerate(X):
        mean = np.average(X[name], weights=weight)
        sd = np.sqrt(np.average((X[name] - mean) ** 2, weights=weight))
        expected = X[name] if j > 2 else ((X[name] - mean) / sd).clip(-3, 3)
        np.testing.assert_allclose(found[:, j], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1e140])
def test_the_scale_of_a_number_does_not_matter(scale):
    x = np.random.default_rng(0).normal(size=(50, 2))
    one, other = Standardizer().fit_transform(x), Standardizer().fit_transform(scale * x)
    np.testing.assert_allclose(one, other, atol=1e-7)


# --- what weights and heads do with them ---


@pytest.mark.parametrize("name", OWN)
def test_neither_row_order_nor_column_order_nor_writing_rows_twice_matters(name):
    X, y = make_frame()
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    whole = clone(OWN[name]).fit(X, y, sample_weight=weight)
    rng = np.random.default_rng(2)
    rows = rng.permutation(np.repeat(np.arange(len(X)), weight.astype(int)))
    columns = rng.permutation(X.columns)
    other = clone(OWN[name]).fit(X.iloc[rows][columns], y[rows])
    np.testing.assert_allclose(weights_of(other), weights_of(whole)[rows], rtol=1e-6, atol=1e-9)
    scaled = clone(OWN[name]).fit(X, y, sample_weight=7 * weight)
    np.testing.assert_allclose(weights_of(scaled), weights_of(whole), rtol=1e-6, atol=1e-9)
    probability = predictions(whole, X)
    np.testing.assert_allclose(predictions(other, X[columns]), probability, atol=1e-6)
    np.testing.assert_allclose(predictions(scaled, X), probability, atol=1e-6)


@pytest.mark.parametrize("name", OWN)
def test_rows_of_weight_zero_are_absent(name):
    X, y = make_frame()
    wild = pd.concat([X, X.head(20) * 1e9])
    weight = np.concatenate([np.ones(len(X)), np.zeros(20)])
    labels = np.concatenate([y, 1 - y[:20]])
    one, other = clone(OWN[name]).fit(X, y), clone(OWN[name])
    other.fit(wild, labels, sample_weight=weight)
    np.testing.assert_array_equal(weights_of(other)[: len(X)], weights_of(one))
    np.testing.assert_array_equal(predictions(other, X), predictions(one, X))


def test_weights_balance_numbers_against_all_other_columns():
    X, _ = make_frame(2000)
    report = GlobalBalancer().fit(X).balance_report_
    assert abs(report.worst_before.imbalance) > 0.4
    assert abs(report.worst_after.imbalance) < 0.03


HARD = {
    "normal": lambda common, own: common + 0.5 * own,
    "heavy tails": lambda common, own: np.sinh(2 * common) + np.sinh(2 * own),
    "one skewed": lambda common, own: np.column_stack(
        [np.exp(2 * common[:, 0]), common[:, 0] + 0.3 * own[:, 0]]
    ),
    "bounded by tails": lambda common, own: np.column_stack(
        [common[:, 0], np.tanh(3 * common[:, 0]) + 0.1 * own[:, 0]]
    ),
    "outliers": lambda common, own: np.where(common > 2, 9, 0) + own,
}


@pytest.mark.parametrize("weight_l2", [0.01, 1e-6])
@pytest.mark.parametrize("kind", HARD)
def test_no_variance_more_than_doubles_under_the_weights(kind, weight_l2):
    """Weights that moved into the tails would make every slope small without balancing."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = HARD[kind](rng.normal(size=(500, 1)), rng.normal(size=(500, 3)))
        balancer = GlobalBalancer(weight_l2=weight_l2, min_effective_share=0.0).fit(x)
        z, w = balancer.standardizer_.transform(x), balancer.weights_ / balancer.weights_.sum()
        assert (w @ (z - w @ z) ** 2 <= 2 * z.var(axis=0)).all()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_head_fitted_again_on_standardised_features_has_the_same_coefficients(fit_intercept):
    X, y = make_frame(600)
    l2 = 1e-3
    model = GBRClassifier(l1=0.0, l2=l2, refit=False, fit_intercept=fit_intercept, random_state=0)
    model.fit(X, y)
    again = LogisticRegression(
        C=1 / (2 * l2 * len(X)), fit_intercept=fit_intercept, tol=1e-10, max_iter=1000
    )
    z = model.standardizer_.transform(X.to_numpy())
    again.fit(z, y, sample_weight=model.sample_weight_)
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-4, atol=1e-5)
    score = z @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), score, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in OWN if "Balancer" not in name])
def test_a_stored_model_predicts_the_same(name, tmp_path):
    X, y = make_frame()
    model = clone(OWN[name]).fit(X, y)
    model.save(tmp_path / "model")
    again = stablepred.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


# --- variables of several columns ---


def test_the_report_of_grouped_columns_has_one_line_for_each_variable():
    rng = np.random.default_rng(0)
    levels = np.eye(3)[rng.integers(0, 3, 400)]
    number = rng.normal(size=400) + levels[:, 2]
    z = Standardizer().fit_transform(np.column_stack([levels, number]))
    shares, ones = np.full(400, 1 / 400), np.ones(400)
    report = balance_report(z, shares, ones, ["job", "job", "job", "pay"], 400)
    assert list(report.before.index) == list(report.before.columns) == ["job", "pay"]
    slopes = [np.polyfit(level, z[:, 3], 1)[0] for level in levels.T]
    assert report.before.loc["job", "pay"] == pytest.approx(max(slopes, key=abs))
    assert report.before.loc["job", "job"] == 0
