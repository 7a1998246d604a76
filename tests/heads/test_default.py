"""The default estimator: what held-out rows say for, and no more."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from samples import sample_of
from stablepred.core.ridge import PENALTIES, USUAL, Linear, Regression
from stablepred.heads.boosting import Boosting
from stablepred.heads.default import (
    PRIOR,
    Classes,
    Mixture,
    add_boosting,
    fit_base,
    fit_path,
)
from stablepred.heads.folds import make_folds
from stablepred.outcomes.binary import BINARY
from stablepred.outcomes.gaussian import GAUSSIAN
from stablepred.outcomes.multinomial import MULTINOMIAL


def fit_default(sample, folds):
    return add_boosting(sample, folds, fit_base(sample, folds))


def fit(x, y, outcome, how=fit_default):
    sample = sample_of(x, y)
    folds = make_folds(sample, outcome, 3, 0)
    fitted = how(sample, folds)
    return SimpleNamespace(**vars(fitted), model=fitted.fit(sample)), sample, folds


def test_a_straight_line_is_predicted_as_by_a_linear_model():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 3))
    fitted, sample, _ = fit(x, x[:, 0] + 0.5 * rng.normal(size=1000), GAUSSIAN)
    away = fitted.model.predict(sample.x) - sample.x[:, 0]
    assert float(away.square().mean().sqrt()) < 0.05


def test_where_no_product_stands_out_the_model_is_linear():
    rng = np.random.default_rng(1)
    x = (rng.random((400, 2)) < 0.5).astype(float)
    fitted, *_ = fit(x, x[:, 0] + x[:, 1] + 0.5 * rng.normal(size=400), GAUSSIAN, fit_base)
    assert isinstance(fitted.model, Regression)
    assert fitted.model.products == ()


def test_a_product_gets_a_model_with_this_product():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 3))
    fitted, *_ = fit(x, x[:, 0] * x[:, 2] + 0.5 * rng.normal(size=300), GAUSSIAN, fit_base)
    assert (0, 2) in fitted.model.products


def test_a_step_gets_boosting_and_the_mixture_is_of_both():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 2))
    y = x[:, 1] + (np.abs(x[:, 0]) > 0.7) * 1.0 + 0.2 * rng.normal(size=400)
    fitted, sample, folds = fit(x, y, GAUSSIAN)
    assert isinstance(fitted.model, Mixture)
    assert sum(fitted.model.shares) == pytest.approx(1)
    alone = [part.predict(sample.x) for part in fitted.model.parts]
    expected = sum(s * p for s, p in zip(fitted.model.shares, alone, strict=True))
    torch.testing.assert_close(fitted.model.predict(sample.x), expected)
    linear, *_ = fit(x, y, GAUSSIAN, fit_base)
    assert folds.rmse(fitted.held_out) < 0.8 * folds.rmse(linear.held_out)


@pytest.mark.parametrize("outcome", [BINARY, GAUSSIAN])
def test_the_share_of_boosting_is_its_posterior_mean(outcome):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(150, 2))
    y = np.maximum(x[:, 0], 0) + 0.7 * rng.normal(size=150)
    y = (y > 0.4).astype(float) if outcome is BINARY else y / y.std()
    fitted, sample, folds = fit(x, y, outcome)
    base = fit_base(sample, folds).held_out.numpy()
    trees = fit_path(lambda _: Boosting(outcome), sample, folds, usual=0).held_out.numpy()
    held, shares = folds.y.numpy(), np.linspace(0, 1, 2001)
    log_likelihood = []
    for mean in (base + share * (trees - base) for share in shares):
        if outcome is BINARY:
            log_likelihood.append(np.log(np.where(held == 1, mean, 1 - mean)).sum())
        else:
            log_likelihood.append(-((held - mean) ** 2).sum() / 2)
    log_likelihood = np.array(log_likelihood)
    if outcome is GAUSSIAN:  # with the variance of the likeliest mixture
        log_likelihood /= -2 * log_likelihood.max() / len(held)
    weight = np.exp(log_likelihood - log_likelihood.max()) * (1 - shares) ** PRIOR
    assert 0.1 < fitted.model.shares[1] < 0.8
    assert fitted.model.shares[1] == pytest.approx(weight @ shares / weight.sum(), abs=0.01)


def test_what_is_held_out_is_predicted_by_a_model_that_did_not_see_it():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(90, 2))
    y = (x[:, 0] + rng.normal(size=90) > 0).astype(float)
    fitted, sample, folds = fit(x, y, BINARY)
    torch.testing.assert_close(fitted.held_out, folds.predict(fitted.on_folds, sample.x))


def test_where_no_row_can_be_held_out_the_penalty_is_the_usual_one():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 2))
    sample = sample_of(x, (np.arange(30) == 0).astype(float))
    folds = make_folds(sample, BINARY, 3, 0)
    fitted = fit_path(lambda _: Linear(BINARY), sample, folds)
    assert PENALTIES[USUAL] == 1
    expected = Linear(BINARY).fit(sample, 1.0, tol=1e-12)
    np.testing.assert_allclose(fitted.fit(sample).beta, expected.beta, atol=1e-2)


def test_noise_gets_the_usual_penalty_at_least_and_noise_free_rows_a_weak_one():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(60, 8))
    linear = partial(fit_path, lambda _: Linear(GAUSSIAN))
    noise, sample, _ = fit(x, rng.normal(size=60), GAUSSIAN, linear)
    exact, *_ = fit(x, x @ np.arange(8.0), GAUSSIAN, linear)
    usual = Linear(GAUSSIAN).fit(sample, PENALTIES[USUAL]).beta[:-1]
    assert np.linalg.norm(noise.model.beta[:-1]) <= np.linalg.norm(usual) * (1 + 1e-6)
    np.testing.assert_allclose(exact.model.beta[:-1], np.arange(8), atol=0.01)


def test_the_probabilities_of_several_classes_sum_to_one():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(150, 3))
    y = np.argmax(x + 0.5 * rng.normal(size=(150, 3)), axis=1).astype(float)
    fitted, sample, _ = fit(x, y, MULTINOMIAL, fit_base)
    assert isinstance(fitted.model, Classes)
    found = fitted.model.predict(sample.x)
    assert found.shape == (150, 3)
    torch.testing.assert_close(found.sum(1), torch.ones(150).double())
    assert float((found.argmax(1) == sample.y).double().mean()) > 0.7
    binary = [part.predict(sample.x) for part in fitted.model.parts]
    torch.testing.assert_close(found, torch.stack(binary, 1) / sum(binary)[:, None])


def test_parts_that_cannot_predict_are_refused():
    wrong = Regression(BINARY, (), np.zeros(3))
    for model in (Mixture((wrong, wrong), (0.5, 0.5)), Classes((wrong,))):
        with pytest.raises(ValueError, match="coefficients"):
            model.check_columns(3)
