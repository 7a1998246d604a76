"""The worst case against plain solvers of its primal and dual forms."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import expit

from stablepred.baselines import DROClassifier, DRORegressor
from stablepred.baselines.minimax import capped, chi_squared, kullback_leibler
from stablepred.data import SyntheticWorld
from stablepred.exceptions import ConvergenceWarning

L2, RADIUS, LEVEL = 0.01, 0.5, 0.2


def standard_table(n=40, p=3, seed=0):
    """Standardised columns, an outcome of two classes and a number."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    signal = x[:, 0] - 0.5 * x[:, 1]
    number = signal + rng.standard_t(3, size=n) * 0.5
    return x, rng.random(n) < expit(3 * signal), (number - number.mean()) / number.std()


def log_losses(scores, y):
    return np.logaddexp(0, scores) - y * scores


def squares(scores, y):
    return (y - scores) ** 2


def dual_minimum(divergence, x, y, losses):
    """The dual problem with slack variables, by SLSQP: theta, then eta or log t, then slacks."""
    n, p = x.shape

    def at(v):
        return losses(x @ v[1 : p + 1] + v[0], y)

    def penalty(v):
        return L2 * v[1 : p + 1] @ v[1 : p + 1]

    if divergence == "kl":

        def value(v):
            t = np.exp(v[p + 1])
            exponent = t * at(v)
            top = exponent.max()
            return (top + np.log(np.exp(exponent - top).mean()) + RADIUS) / t + penalty(v)

        return minimize(value, np.zeros(p + 2), method="BFGS", options={"gtol": 1e-9}).fun

    def value(v):
        eta, slack = v[p + 1], v[p + 2 :]
        if divergence == "cvar":
            return eta + slack.mean() / LEVEL + penalty(v)
        return eta + np.sqrt((1 + RADIUS) * (slack**2).mean()) + penalty(v)

    # A start that is feasible and, for chi2, away from the root's kink.
    start = np.concatenate([np.zeros(p + 1), [0.0], np.full(n, 2.0)])
    constraint = {"type": "ineq", "fun": lambda v: v[p + 2 :] - (at(v) - v[p + 1])}
    bounds = [(None, None)] * (p + 2) + [(0, None)] * n
    return minimize(
        value,
        start,
        method="SLSQP",
        bounds=bounds,
        constraints=[constraint],
        options={"maxiter": 1000, "ftol": 1e-11},
    ).fun


@pytest.mark.parametrize("divergence", ["chi2", "cvar", "kl"])
@pytest.mark.parametrize("numeric", [False, True], ids=["classes", "number"])
def test_the_objective_is_that_of_a_plain_convex_solver(divergence, numeric):
    x, classes, number = standard_table()
    kind = DRORegressor if numeric else DROClassifier
    model = kind(divergence, radius=RADIUS, level=LEVEL, l2=L2)
    model.fit(x, number if numeric else classes)
    y, losses = (number, squares) if numeric else (classes, log_losses)
    expected = dual_minimum(divergence, x, y, losses)
    assert model.objective_ == pytest.approx(expected, abs=1e-5)
    assert model.converged_


def uneven(n=30, seed=0):
    rng = np.random.default_rng(seed)
    mass = rng.random(n)
    return rng.exponential(size=n), mass / mass.sum()


def test_the_worst_case_of_capped_weights_is_a_linear_program():
    losses, mass = uneven()
    found = linprog(-losses, A_eq=np.ones((1, 30)), b_eq=[1], bounds=[(0, m / LEVEL) for m in mass])
    q, _ = capped(mass, np.full(30, 1 / LEVEL), losses, mass, 0.0)
    assert q @ losses == pytest.approx(-found.fun, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "divergence"),
    [
        (chi_squared, lambda q, m: ((q - m) ** 2 / m).sum()),
        (kullback_leibler, lambda q, m: (q * np.log(np.maximum(q, 1e-300) / m)).sum()),
    ],
)
@pytest.mark.parametrize("radius", [0.01, 0.5, 3.0, 100.0])
def test_the_worst_weights_lie_in_the_ball_and_meet_the_dual_bound(kind, divergence, radius):
    losses, mass = uneven()
    q, _ = kind(mass, radius, losses)
    assert q.min() >= 0
    assert q.sum() == pytest.approx(1)
    assert divergence(q, mass) <= radius + 1e-8

    def dual(v):
        if kind is chi_squared:
            return v + np.sqrt((1 + radius) * (mass @ np.maximum(losses - v, 0) ** 2))
        t = np.exp(v)
        top = losses.max()
        return top + (np.log(mass @ np.exp(t * (losses - top))) + radius) / t

    # Any point of the dual bounds the maximum from above; on a fine grid it is met.
    bounds = [dual(v) for v in np.linspace(-12, 25, 200_001)]
    assert q @ losses == pytest.approx(min(bounds), abs=1e-4)


@pytest.mark.parametrize("kind", [chi_squared, kullback_leibler])
def test_rows_that_are_predicted_alike_keep_their_masses(kind):
    mass = uneven()[1]
    np.testing.assert_allclose(kind(mass, 0.5, np.ones(30))[0], mass)


def test_units_and_origins_of_the_columns_do_not_matter():
    x, classes, number = standard_table()
    moved = x * [1e6, 1e-3, 2] + [5, -1e3, 7]
    for kind, y in ((DROClassifier, classes), (DRORegressor, 100 * number + 3)):
        predicted = [kind().fit(z, y).predict(z) for z in (x, moved)]
        np.testing.assert_allclose(*predicted, rtol=1e-4)


def test_the_worst_share_is_predicted_better_than_by_ordinary_regression():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 1))
    y = np.where(rng.random(500) < 0.9, x[:, 0], -3 * x[:, 0])
    robust = DRORegressor("cvar", level=0.1, l2=0).fit(x, y)
    slope = float(x[:, 0] @ y / (x[:, 0] @ x[:, 0]))
    worst = [np.sort((y - f) ** 2)[-50:].mean() for f in (robust.predict(x), slope * x[:, 0])]
    assert worst[0] < worst[1] - 0.5


def test_a_search_that_is_cut_short_says_so():
    x, classes, _ = standard_table()
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        model = DROClassifier("cvar", max_iter=1).fit(x, classes)
    assert not model.converged_


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "reached"), [("s_indep_v", 0.262), ("s_to_v", 0.285)])
def test_without_noise_it_is_as_good_as_an_unpenalised_regression(setting, reached):
    world, errors = SyntheticWorld(setting, shift="v_given_s", mediator="integer"), []
    for seed in range(3):
        train = world.sample(2000, 0.85, random_state=seed)
        model = DROClassifier().fit(train.X, train.y)
        for rate in np.arange(1, 10) / 10:
            test = world.sample(2000, rate, random_state=50 + seed)
            found = model.predict_proba(test.X)[:, 1]
            errors.append(np.sqrt(np.mean((found - test.y) ** 2)))
    assert np.mean(errors) == pytest.approx(reached, abs=0.015)
