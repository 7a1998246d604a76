"""Invariance: slopes that differ between environments speak against a variable."""

import numpy as np
import pytest
import torch
from scipy.stats import chi2, norm
from sklearn.linear_model import LogisticRegression, Ridge

from samples import sample_of
from stablepred.data import SyntheticWorld
from stablepred.evidence.invariance import Invariance, between_variance
from stablepred.outcomes.binary import BINARY
from stablepred.outcomes.gaussian import GAUSSIAN
from stablepred.sample import make_sample


def make_rows(kind, n=300, seed=0):
    """Three environments; the first variable acts alike in all, the second does not."""
    rng = np.random.default_rng(seed)
    environment = np.repeat([0, 1, 2], n)
    x = rng.normal(size=(3 * n, 3))
    slope = np.array([1.5, 0.2, -1.0])[environment]
    y = x[:, 0] + slope * x[:, 1] + rng.normal(size=3 * n)
    return x, (y > 0).astype(float) if kind == "binary" else y, environment


def prepare(x, y, environment):
    marks = {} if environment is None else {"environment": environment}
    return make_sample(x, y, np.ones(len(y)), [f"x{j}" for j in range(x.shape[1])], **marks)


def ask(sample, outcome):
    return Invariance(outcome)(sample, torch.ones_like(sample.mass))


OUTCOMES = {"binary": BINARY, "gaussian": GAUSSIAN}


def slopes_by_hand(x, y, kind):
    """Slopes of a ridge regression with penalty 1 and their errors, with the inverse Hessian."""
    wide = np.column_stack([x, np.ones(len(x))])
    if kind == "binary":
        model = LogisticRegression(C=1.0, tol=1e-12, max_iter=1000).fit(x, y)
        p = model.predict_proba(x)[:, 1]
        curvature, dispersion = p * (1 - p), 1.0
    else:
        model = Ridge(1.0).fit(x, y)
        curvature, dispersion = np.ones(len(x)), np.mean((y - model.predict(x)) ** 2)
    inverse = np.linalg.inv(wide.T @ (wide * curvature[:, None]) + np.eye(wide.shape[1]))
    return np.ravel(model.coef_), np.sqrt(dispersion * np.diag(inverse)[:-1])


@pytest.mark.parametrize("kind", OUTCOMES)
def test_scores_and_leaning_are_those_of_the_formula(kind):
    x, y, environment = make_rows(kind)
    sample = prepare(x, y, environment)
    found = ask(sample, OUTCOMES[kind])
    x = x[:, sample.origin.columns]
    parts = [slopes_by_hand(x[environment == e], y[environment == e], kind) for e in range(3)]
    for j in range(3):
        b, s = np.array([slopes[j] for slopes, _ in parts]), np.array([e[j] for _, e in parts])
        mean = np.sum(b / s**2) / np.sum(1 / s**2)
        q = np.sum((b - mean) ** 2 / s**2)
        assert found.score[j] == pytest.approx(-norm.isf(chi2.sf(q, 2)), rel=1e-2, abs=1e-2)
        scale = np.sum(s**-2) - np.sum(s**-4) / np.sum(s**-2)
        tau = np.sqrt(max(0, q - 2) / scale)
        assert found.high[j] - found.low[j] == pytest.approx(2 * 1.96 * tau, rel=1e-2, abs=1e-3)
        wide, narrow = (
            np.prod(norm.pdf(b, mean, np.sqrt(s**2 + (share * mean) ** 2))) for share in (0.5, 0.1)
        )
        assert found.leaning[j] == pytest.approx(wide / (wide + narrow), rel=2e-2, abs=1e-6)


@pytest.mark.parametrize("kind", OUTCOMES)
def test_what_acts_alike_is_stable_and_what_turns_round_leans_towards_noisy(kind):
    sample = prepare(*make_rows(kind))
    found = ask(sample, OUTCOMES[kind])
    first, second, third = (list(sample.origin.columns).index(j) for j in range(3))
    assert found.stable[first]
    assert found.leaning[second] > 0.9
    assert not found.stable[[second, third]].any()
    assert found.score[second] < -5


def test_the_between_variance_is_that_of_a_simulation():
    rng = np.random.default_rng(0)
    s = rng.uniform(0.5, 1.5, size=(2000, 1))
    slopes = 1 + 2.0 * rng.normal(size=(2000, 1)) + s * rng.normal(size=(2000, 1))
    precision = s**-2.0
    mean = (precision * slopes).sum(0) / precision.sum(0)
    q = (precision * (slopes - mean) ** 2).sum(0)
    assert between_variance(q, precision)[0] == pytest.approx(4.0, rel=0.15)


def test_with_one_environment_it_does_not_apply():
    x, y, environment = make_rows("binary")
    assert ask(sample_of(x, y), BINARY) is None
    assert ask(prepare(x, y, np.zeros_like(environment)), BINARY) is None


@pytest.mark.parametrize("seed", [0, 1])
def test_in_two_environments_of_the_synthetic_world_the_noisy_lean_more(seed):
    world = SyntheticWorld("s_indep_v", 10)
    parts = [world.sample(2000, bias_rate=rate, random_state=seed) for rate in (0.65, 0.85)]
    x = np.vstack([part.X.to_numpy(dtype=float) for part in parts])
    y = np.concatenate([np.asarray(part.y, dtype=float) for part in parts])
    sample = prepare(x, y, np.repeat([0, 1], 2000))
    found = ask(sample, BINARY)
    names = np.array(parts[0].X.columns)[sample.origin.columns]
    stable = np.isin(names, world.stable_features)
    assert found.leaning[stable].mean() < found.leaning[~stable].mean()
