"""Ridge regression by Newton steps is that of scikit-learn, with and without products."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge

from samples import sample_of
from stablepred.core.ridge import (
    PENALTIES,
    USUAL,
    Linear,
    Regression,
    choose_pairs,
    choose_triples,
    fit_ridge,
    screen_pairs,
    screen_triples,
)
from stablepred.outcomes.binary import BINARY
from stablepred.outcomes.gaussian import GAUSSIAN


def make_rows(kind, n=200, p=4, seed=0):
    """Numbers and an outcome of the first two; every row stands for another number of rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    y = x[:, 0] - 0.5 * x[:, 1] + rng.normal(size=n)
    y = (y > 0).astype(float) if kind == "binary" else y
    mass = rng.integers(1, 5, n).astype(float)
    return sample_of(x, y, mass / mass.sum())


def reference(sample, kind, penalty):
    """Coefficients of scikit-learn, the intercept last."""
    x, y, copies = (a.numpy() for a in (sample.x, sample.y, sample.copies))
    if kind == "binary":
        model = LogisticRegression(C=1 / penalty, tol=1e-12, max_iter=10_000)
    else:
        model = Ridge(alpha=penalty, tol=1e-12)
    model.fit(x, y, sample_weight=copies)
    return np.append(np.ravel(model.coef_), model.intercept_)


OUTCOMES = {"binary": BINARY, "gaussian": GAUSSIAN}


@pytest.mark.parametrize("penalty", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("kind", OUTCOMES)
def test_a_ridge_regression_is_that_of_scikit_learn_under_the_same_weights(kind, penalty):
    sample = make_rows(kind)
    beta = fit_ridge(sample.x, sample, OUTCOMES[kind], penalty, tol=1e-14)
    np.testing.assert_allclose(beta, reference(sample, kind, penalty), atol=2e-6)


@pytest.mark.parametrize("kind", OUTCOMES)
def test_the_objective_has_no_slope_where_the_fit_ends(kind):
    """The gradient by finite differences of the objective as it is written in the module."""
    sample, outcome, penalty = make_rows(kind, n=60), OUTCOMES[kind], 2.0
    beta = fit_ridge(sample.x, sample, outcome, penalty, tol=1e-14)

    def objective(b):
        losses = outcome.losses(sample.x @ b[:-1] + b[-1], sample.y)
        return float(sample.copies @ losses + penalty / 2 * b[:-1] @ b[:-1])

    for k in range(len(beta)):
        step = torch.zeros_like(beta)
        step[k] = 1e-5
        slope = (objective(beta + step) - objective(beta - step)) / 2e-5
        assert abs(slope) < 1e-5 * abs(objective(torch.zeros_like(beta)))


@pytest.mark.parametrize("kind", OUTCOMES)
def test_a_warm_start_ends_where_a_cold_one_does(kind):
    sample, outcome = make_rows(kind), OUTCOMES[kind]
    cold = fit_ridge(sample.x, sample, outcome, 1.0, tol=1e-14)
    far = torch.full_like(cold, 20.0)
    warm = fit_ridge(sample.x, sample, outcome, 1.0, far, tol=1e-14)
    np.testing.assert_allclose(warm, cold, atol=1e-6)


def test_separable_rows_with_hardly_any_penalty_have_finite_coefficients():
    x = np.linspace(-1, 1, 40)[:, None]
    sample = sample_of(x, (x[:, 0] > 0).astype(float))
    beta = fit_ridge(sample.x, sample, BINARY, 1e-6)
    assert torch.isfinite(beta).all()
    assert (Regression(BINARY, (), beta.numpy()).predict(sample.x).round() == sample.y).all()


def test_two_equal_columns_share_the_coefficient():
    sample = make_rows("binary")
    twice = torch.cat([sample.x[:, :1], sample.x[:, :1]], dim=1)
    first, second, _ = fit_ridge(twice, sample, BINARY, 1.0)
    assert float(first) == pytest.approx(float(second))


@pytest.mark.parametrize("kind", OUTCOMES)
def test_a_path_has_the_regression_of_every_penalty_from_the_strongest_on(kind):
    sample = make_rows(kind)
    models = list(Linear(OUTCOMES[kind]).path(sample))
    assert len(models) == len(PENALTIES)
    assert sorted(PENALTIES, reverse=True) == PENALTIES
    assert PENALTIES[USUAL] == pytest.approx(1.0)
    for k in (0, 3, USUAL, 9):
        expected = reference(sample, kind, PENALTIES[k])
        np.testing.assert_allclose(models[k].beta, expected, atol=5e-3)


# --- products ---


def test_a_regression_with_products_predicts_by_its_formula():
    x = torch.as_tensor(np.random.default_rng(0).normal(size=(5, 3)))
    model = Regression(BINARY, ((0, 2),), np.array([1.0, -2.0, 0.5, 3.0, 0.1]))
    a, b, c = x.T
    scores = a - 2 * b + 0.5 * c + 3 * a * c + 0.1
    torch.testing.assert_close(model.scores(x), scores)
    torch.testing.assert_close(model.predict(x), 1 / (1 + torch.exp(-scores)))


def interacting(kind, n=600, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    y = x[:, 0] + 1.5 * x[:, 1] * x[:, 3] + rng.normal(size=n)
    return sample_of(x, (y > 0).astype(float) if kind == "binary" else y)


@pytest.mark.parametrize("kind", OUTCOMES)
def test_the_product_that_acts_is_found_first(kind):
    sample, outcome = interacting(kind), OUTCOMES[kind]
    assert screen_pairs(Linear(outcome), sample)[0] == (1, 3)
    form = choose_pairs(outcome, sample, everywhere=True)
    assert form.products[0] == (1, 3)
    assert (1, 3) not in screen_pairs(form, sample)  # once in, it is explained


@pytest.mark.parametrize("kind", OUTCOMES)
def test_hardly_any_product_is_found_where_none_acts(kind):
    found = [len(choose_pairs(OUTCOMES[kind], make_rows(kind, seed=s)).products) for s in range(4)]
    assert np.mean(found) < 1


@pytest.mark.parametrize("kind", OUTCOMES)
def test_the_product_of_three_that_acts_is_found_and_else_none(kind):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(800, 5))
    y = x[:, 0] + x[:, 1] * x[:, 2] * x[:, 4] + rng.normal(size=800)
    sample = sample_of(x, (y > 0).astype(float) if kind == "binary" else y)
    assert (1, 2, 4) in choose_triples(OUTCOMES[kind], sample).products
    other = make_rows(kind, n=800)
    assert screen_triples(Linear(OUTCOMES[kind]), other) == []


def test_columns_of_one_variable_have_no_product():
    sample = interacting("gaussian")
    origin = replace(sample.origin, groups=np.array([0, 1, 2, 1, 3]))
    assert (1, 3) not in screen_pairs(Linear(GAUSSIAN), replace(sample, origin=origin))
    assert (1, 3) in screen_pairs(Linear(GAUSSIAN), sample)


def test_a_regression_that_does_not_fit_its_columns_is_refused():
    Regression(BINARY, ((0, 1),), np.zeros(4)).check_columns(2)
    for pairs, beta in ((((0, 1),), np.zeros(3)), (((0, 2),), np.zeros(4)), ((), [0, 0, np.nan])):
        with pytest.raises(ValueError, match=r"coefficients|product"):
            Regression(BINARY, pairs, np.array(beta)).check_columns(2)


@pytest.mark.parametrize("value", [1.7e308, np.nan, np.inf])
def test_stored_coefficients_whose_sums_may_overflow_are_refused(value):
    with pytest.raises(ValueError, match="coefficients do not fit"):
        Regression(GAUSSIAN, (), np.array([value, value, 0.0])).check_columns(2)
    Regression(GAUSSIAN, (), np.zeros(3)).check_columns(2)
