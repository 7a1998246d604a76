"""The constant and the linear model that every model is read beside."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_predict

from stablepred import load
from stablepred.evaluation.references import (
    PENALTIES,
    cross_validate,
    fit_linear,
    fit_references,
    make_folds,
)
from stablepred.exceptions import InputError
from stablepred.io.save import save


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = (rng.random((n, 4)) < 0.5).astype(float)
    y = (rng.random(n) < 1 / (1 + np.exp(2 - 4 * x[:, 0]))).astype(int)
    return pd.DataFrame(x, columns=list("abcd")), y


def mean_loss(model, x, y):
    return -np.log(model.predict_proba(x)[np.arange(len(y)), y]).mean()


def test_the_penalty_has_the_smallest_held_out_loss_of_all_on_the_path():
    """Slowly: every penalty on every fold, from a fresh start."""
    X, y = rows()
    x, folds = X.to_numpy(), make_folds(y, 2, 3, 0)
    found = []
    for penalty in PENALTIES[:12]:
        held_out = np.empty(len(y))
        for train, test in folds:
            model = LogisticRegression(C=1 / (penalty * len(train)), tol=1e-8, max_iter=1000)
            p = model.fit(x[train], y[train]).predict_proba(x[test])
            held_out[test] = -np.log(p[np.arange(len(test)), y[test]])
        found.append(held_out.mean())
    fit = fit_linear(x, y, np.ones(len(y)), 2, folds)
    assert fit.penalty == PENALTIES[int(np.argmin(found))]
    best = LogisticRegression(C=1 / (fit.penalty * len(y)), tol=1e-8, max_iter=1000).fit(x, y)
    np.testing.assert_allclose(fit.model.coef_, best.coef_, atol=1e-3)


def test_held_out_errors_are_those_of_predictions_by_the_other_folds():
    X, y = rows()
    found = fit_references(X, y)
    p = np.full(len(y), y.mean())  # folds are stratified, so that their shares hardly differ
    assert found.errors["rmse"]["constant"] == pytest.approx(
        np.sqrt(np.mean((y - p) ** 2)), rel=1e-3
    )
    linear = cross_val_predict(LogisticRegression(), X, y, cv=3, method="predict_proba")[:, 1]
    assert found.errors["rmse"]["LR"] == pytest.approx(
        np.sqrt(np.mean((y - linear) ** 2)), rel=0.02
    )
    own = cross_validate(LogisticRegression(), X, y)
    assert own == pytest.approx(found.errors["rmse"]["LR"], rel=0.02)


def test_where_classes_separate_the_penalty_vanishes_and_where_nothing_is_said_it_is_strong():
    X, _ = rows()
    assert fit_references(X, (X["a"] > 0).astype(int)).penalty <= 1e-6
    noise = np.random.default_rng(1).integers(0, 2, len(X))
    found = fit_references(X, noise)
    assert found.penalty >= 0.1
    assert found.errors["rmse"]["LR"] == pytest.approx(found.errors["rmse"]["constant"], abs=0.01)


def test_numbers_are_predicted_by_ridge_regression():
    X, _ = rows()
    y = 3 * X["a"] - X["b"] + np.random.default_rng(0).normal(0, 0.5, len(X))
    found = fit_references(X, y)
    assert (found.linear_name, found.n_classes) == ("ridge", 0)
    plain = LinearRegression().fit(X, y).predict(X)
    np.testing.assert_allclose(found.predict_linear(X), plain, atol=0.1)
    assert found.predict_constant(X) == pytest.approx(y.mean())
    assert found.errors["rmse"]["ridge"] == pytest.approx(0.5, abs=0.05)
    assert list(found.errors) == ["rmse"]


def test_several_classes_have_a_probability_each():
    X, _ = rows()
    y = np.where(X["a"] > 0, "one", np.where(X["b"] > 0, "three", "two"))
    found = fit_references(X, y)
    assert found.predict_linear(X).shape == found.predict_constant(X).shape == (len(X), 3)
    np.testing.assert_allclose(found.predict_linear(X).sum(axis=1), 1)
    counts = fit_references(X, np.arange(len(X)) % 3, classifier=True)
    np.testing.assert_allclose(counts.constant, 1 / 3)


def test_columns_come_as_they_are_and_in_any_order():
    X, y = rows()
    X = X.assign(job=np.where(X["a"] > 0, "cook", "smith"), b=X["b"].where(X["c"] > 0))
    found = fit_references(X, y)
    p = found.predict_linear(X)
    mixed = X.assign(more=1)[["job", "more", *"dcba"]]
    np.testing.assert_array_equal(found.predict_linear(mixed), p)
    np.testing.assert_array_equal(found.predict_linear(pl.from_pandas(X)), p)
    with pytest.raises(InputError, match="the table lacks 'job', which the model was trained on"):
        found.predict_linear(X.drop(columns="job"))


def test_a_row_of_weight_zero_is_absent_and_the_scale_of_weights_says_nothing():
    X, y = rows()
    weight = np.where(np.arange(len(y)) < 200, 1.0, 0.0)
    few = fit_references(X[:200], y[:200])
    for scale in (1.0, 7.0):
        same = fit_references(X, y, scale * weight)
        np.testing.assert_allclose(same.coef, few.coef)
        np.testing.assert_allclose(same.constant, few.constant)
    tripled = fit_references(X, y, np.where(y == 1, 3.0, 1.0))
    assert tripled.constant[1] == pytest.approx(3 * y.sum() / (3 * y.sum() + (1 - y).sum()))


def test_references_are_stored_and_read_again(tmp_path):
    X, y = rows()
    for target in (y, y + X["b"].to_numpy() / 3):
        found = fit_references(X, target)
        save(found, tmp_path / "references")
        again = load(tmp_path / "references")
        np.testing.assert_array_equal(again.predict_linear(X), found.predict_linear(X))
        pd.testing.assert_frame_equal(again.errors, found.errors)
    object.__setattr__(found, "coef", found.coef[:, 1:])
    with pytest.raises(InputError, match="coef of the references"):
        save(found, tmp_path / "references")


def test_one_class_and_too_few_rows():
    X, _ = rows(20)
    with pytest.raises(InputError, match="two classes or more, but is always 1"):
        fit_references(X, np.ones(20))
    lonely = fit_references(X, np.arange(20) == 0)
    assert lonely.errors.isna().all(axis=None)
    assert np.isfinite(lonely.predict_linear(X)).all()
    assert np.isnan(cross_validate(LogisticRegression(), X, (np.arange(20) == 0).astype(int)))
