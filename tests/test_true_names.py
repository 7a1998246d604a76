"""GBR and DGBR are what their names say: the balancing weights make the prediction."""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from stablepred import DGBRClassifier, GBRClassifier
from stablepred.data import SyntheticWorld
from stablepred.exceptions import StablepredWarning

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")

SELECTIONS = {
    "outcome": ({"bias_on": "outcome"}, 0.75),
    "signal": ({"bias_on": "signal"}, 0.75),
    "v_given_s": ({"shift": "v_given_s"}, 0.85),  # as in figures 8 to 10
}
WORLDS = [
    (setting, selection)
    for setting in ("s_indep_v", "s_to_v", "v_to_s")
    for selection in SELECTIONS
]
KINDS = [GBRClassifier, DGBRClassifier]


@cache
def make_train(setting, selection):
    options, rate = SELECTIONS[selection]
    # On 10 features and 700 rows DGBR's change under P(V|S) is smaller, down to .001.
    n_features, rows = (20, 1000) if selection == "v_given_s" else (10, 700)
    return SyntheticWorld(setting, n_features, **options).sample(
        rows, bias_rate=rate, random_state=0
    )


def make_elsewhere(setting, selection):
    """Rows selected in another way: without noise, every model fits those of training."""
    options, _ = SELECTIONS[selection]
    n_features = make_train(setting, selection).X.shape[1]
    return (
        SyntheticWorld(setting, n_features, **options).sample(2000, bias_rate=0.3, random_state=1).X
    )


@cache
def fit(kind, world, **parameters):
    train = make_train(*world)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StablepredWarning)
        return kind(random_state=0, **parameters).fit(train.X, train.y)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("world", WORLDS)
def test_without_balance_the_predictions_differ(kind, world):
    x = make_elsewhere(*world)
    with_balance, without = fit(kind, world), fit(kind, world, balance=0)
    assert np.allclose(without.sample_weight_, 1, atol=1e-6)
    change = with_balance.predict_proba(x)[:, 1] - without.predict_proba(x)[:, 1]
    assert np.abs(change).mean() > 0.005


def refit(z, y, v, l2, l1):
    """min sum v log(1 + exp((1 - 2 y) s)) + l2 ||beta||^2 + l1 ||beta||_1 by L-BFGS-B.

    beta = a - b with a, b >= 0 makes the objective smooth: at the optimum one of each pair is zero.
    """
    d, v = z.shape[1], v / v.sum()

    def objective(parameters):
        a, b, intercept = parameters[:d], parameters[d : 2 * d], parameters[2 * d]
        beta = a - b
        scores = z @ beta + intercept
        value = v @ np.logaddexp(0, (1 - 2 * y) * scores) + l2 * beta @ beta + l1 * (a + b).sum()
        residual = v * (expit(scores) - y)
        slope = z.T @ residual + 2 * l2 * beta
        return value, np.concatenate([slope + l1, l1 - slope, [residual.sum()]])

    bounds = [(0, None)] * (2 * d) + [(None, None)]
    options = {"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 0, "gtol": 1e-13, "maxcor": 50}
    start = np.zeros(2 * d + 1)
    for _ in range(5):  # from where it stands, with a fresh memory
        start = minimize(
            objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        ).x
    return start[:d] - start[d : 2 * d], start[2 * d]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("world", WORLDS)
def test_an_independent_solver_finds_the_same_head_under_the_weights(kind, world):
    train, model = make_train(*world), fit(kind, world)
    recipe, y = model.recipe_, (train.y == model.classes_[1]).astype(float)
    l1 = recipe.l1
    if model.head_ == "embedding":
        z = model.transform(train.X)
    else:
        z = np.array(train.X, dtype=float) * model.used_features_
        l1 = 0.0 if recipe.refit else l1
    coef, intercept = refit(z, y, model.sample_weight_, model.l2, l1)
    np.testing.assert_allclose(coef, model.coef_[0], rtol=0, atol=1e-6)
    assert intercept == pytest.approx(model.intercept_[0], abs=1e-6)
