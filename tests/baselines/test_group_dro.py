"""Group DRO against the exponentiated gradient of its paper, and its bad input."""

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stablepred.baselines import GroupDROClassifier
from stablepred.exceptions import InputError

L2 = 0.01


def three_environments(n=300, seed=0):
    """A cause of y, and a column that follows y by another share in each environment."""
    rng = np.random.default_rng(seed)
    code = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    y = rng.integers(0, 2, n)
    cause = y + rng.normal(0, 1.5, n)
    follows = np.where(rng.random(n) < np.array([0.95, 0.6, 0.2])[code], y, 1 - y)
    x = np.column_stack([cause, follows + rng.normal(0, 0.1, n), rng.normal(size=n)])
    return (x - x.mean(axis=0)) / x.std(axis=0), y, code


def group_losses(x, y, code, theta):
    losses = np.logaddexp(0, x @ theta[1:] + theta[0]) - y * (x @ theta[1:] + theta[0])
    return np.array([losses[code == k].mean() for k in range(3)])


def exponentiated_gradient(x, y, code, steps=20_000, rate=0.05, group_rate=0.01):
    """Algorithm 1 of Sagawa et al. with whole groups: q rises by the losses, theta descends."""
    theta, q, mean = np.zeros(x.shape[1] + 1), np.full(3, 1 / 3), np.zeros(x.shape[1] + 1)
    z = np.column_stack([np.ones(len(x)), x])
    for step in range(steps):
        q = q * np.exp(group_rate * group_losses(x, y, code, theta))
        q /= q.sum()
        weight = q[code] / np.bincount(code)[code]
        slope = weight * (1 / (1 + np.exp(-z @ theta)) - y)
        theta = theta - rate * (slope @ z + 2 * L2 * np.r_[0, theta[1:]])
        mean += (theta - mean) / (step + 1)
    return [theta, mean]


def test_the_worst_group_is_predicted_no_worse_than_by_the_exponentiated_gradient():
    x, y, code = three_environments()
    model = GroupDROClassifier(l2=L2).fit(x, y, environment=code)
    own = np.r_[model.intercept_, model.coef_[0]]

    def objective(theta):
        return group_losses(x, y, code, theta).max() + L2 * theta[1:] @ theta[1:]

    reference = min(map(objective, exponentiated_gradient(x, y, code)))
    assert model.objective_ == pytest.approx(objective(own), abs=1e-9)
    assert model.objective_ <= reference + 1e-6
    assert model.objective_ == pytest.approx(reference, abs=1e-3)
    pooled = LogisticRegression(C=1 / (2 * L2 * len(x))).fit(x, y)
    erm = np.r_[pooled.intercept_, pooled.coef_[0]]
    assert group_losses(x, y, code, own).max() < group_losses(x, y, code, erm).max() - 0.05


def test_without_environments_it_is_logistic_regression():
    x, y, _ = three_environments()
    with pytest.warns(UserWarning, match="an ordinary fit"):
        model = GroupDROClassifier(l2=L2).fit(x, y)
    expected = LogisticRegression(C=1 / (2 * L2 * len(x)), tol=1e-10).fit(x, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-4)


def test_the_adjustment_favours_the_small_environment():
    x, y, code = three_environments()
    losses = []
    for adjustment in (0.0, 0.05):
        model = GroupDROClassifier(l2=L2, adjustment=adjustment).fit(x, y, environment=code)
        theta = np.r_[model.intercept_, model.coef_[0]]
        losses.append(group_losses(x, y, code, theta)[2])
    assert losses[1] < losses[0]


def test_names_of_environments_do_not_matter_and_reach_it_through_a_pipeline():
    x, y, code = three_environments()
    expected = GroupDROClassifier().fit(x, y, environment=code).coef_
    names = np.array(["z", "a", "m"])[code]
    with sklearn.config_context(enable_metadata_routing=True):
        inner = GroupDROClassifier().set_fit_request(environment=True, sample_weight=False)
        model = make_pipeline(StandardScaler(), inner)
        model.fit(x, y, environment=names)
        np.testing.assert_allclose(model[-1].coef_, expected, atol=1e-6)
        scores = cross_validate(model, x, y, cv=3, params={"environment": names})
        assert np.isfinite(scores["test_score"]).all()


def test_an_environment_with_one_class_is_named():
    x, y, code = three_environments()
    y[code == 1] = 0
    with pytest.raises(InputError, match="environment 'b' has only one class"):
        GroupDROClassifier().fit(x, y, environment=np.array(["a", "b", "c"])[code])
