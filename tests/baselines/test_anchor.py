"""Anchor regression against its closed form, written out."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from stablepred.baselines import AnchorRegressor


def shifted(n=200, seed=0):
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 4, n)
    shift = np.array([-2.0, 0.0, 1.0, 5.0])[code]
    hidden = rng.normal(size=n)
    x = np.column_stack([shift + hidden + rng.normal(size=n), rng.normal(size=n)])
    return x, x[:, 0] + 2 * hidden + rng.normal(size=n) + 7, code, rng.integers(1, 4, n) * 1.0


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 5.0, 1000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_coefficients_are_the_closed_form(gamma, weighted):
    x, y, code, weight = shifted()
    weight = weight if weighted else np.ones(len(x))
    model = AnchorRegressor(gamma).fit(x, y, sample_weight=weight, environment=code)
    # Every row as often as its weight says, then the projection as a matrix.
    rows = np.repeat(np.arange(len(x)), weight.astype(int))
    xc, yc = x[rows] - x[rows].mean(axis=0), y[rows] - y[rows].mean()
    anchors = np.eye(4)[code[rows]]
    projection = anchors @ np.linalg.inv(anchors.T @ anchors) @ anchors.T
    weighting = np.eye(len(rows)) + (gamma - 1) * projection
    expected = np.linalg.solve(xc.T @ weighting @ xc, xc.T @ weighting @ yc)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-10, atol=1e-10)
    intercept = y[rows].mean() - x[rows].mean(axis=0) @ expected
    assert model.intercept_ == pytest.approx(intercept, abs=1e-9)


def test_gamma_one_and_no_environments_are_least_squares():
    x, y, code, _ = shifted()
    expected = LinearRegression().fit(x, y).predict(x)
    one = AnchorRegressor(1.0).fit(x, y, environment=code)
    np.testing.assert_allclose(one.predict(x), expected, rtol=1e-9)
    with pytest.warns(UserWarning, match="an ordinary fit"):
        none = AnchorRegressor().fit(x, y)
    np.testing.assert_allclose(none.predict(x), expected, rtol=1e-9)


def test_strong_shifts_are_predicted_better_than_by_least_squares():
    x, y, code, _ = shifted(2000)
    rng = np.random.default_rng(1)
    far = np.column_stack([np.full(500, 30.0), rng.normal(size=500)])
    outcome = far[:, 0] + 7  # what hides behind x does not move with it
    errors = [
        np.mean((model.predict(far) - outcome) ** 2)
        for model in (
            AnchorRegressor(100.0).fit(x, y, environment=code),
            LinearRegression().fit(x, y),
        )
    ]
    assert errors[0] < 0.5 * errors[1]
