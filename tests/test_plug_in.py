"""A balancing loss, an evidence and an outcome are one class each, and a whole fit takes them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import ElasticNet, PoissonRegressor

from samples import dependent_sample, largest_rise, random_network
from stablepred import StableClassifier
from stablepred.core.algorithm1 import algorithm1
from stablepred.core.head import fit_head
from stablepred.core.loop import Settings
from stablepred.core.networks import value_and_gradients
from stablepred.core.objective import Strengths
from stablepred.core.sequential import learn_weights, start_solution, train_encoder
from stablepred.data import SyntheticWorld
from stablepred.evidence.base import Scores
from stablepred.evidence.verdict import judge, make_evidence
from stablepred.heads.choice import judge_recipes, shuffled_folds
from stablepred.heads.linear import LinearHeads
from stablepred.heads.network import NetworkHeads
from stablepred.sample import make_sample
from stablepred.weights.raw import RawBalance

STRENGTHS = Strengths(1.0, 0.1, 0.05, 1e-3, 0.0, 1.0, 1e-4)
SETTINGS = Settings(STRENGTHS, max_iter=30, tol=1e-6)


# --- a balancing loss ---


class Decorrelation:
    """The sum of squared weighted covariances of all pairs of columns, or of coordinates."""

    def prepare(self, sample, network):
        z = sample.x if network is None else network.encode(sample.x)
        return lambda v: self._with_gradient(z, v)

    def of_network(self, sample, w, network):
        return self._loss(network.encode(sample.x), sample.mass * w)

    def _with_gradient(self, z, v):
        value, (gradient,) = value_and_gradients(lambda leaves: self._loss(z, *leaves), [v])
        return value, gradient

    def _loss(self, z, v):
        mass = v / v.sum()
        centred = z - mass @ z
        covariance = centred.T @ (mass[:, None] * centred)
        return torch.triu(covariance, 1).square().sum()


def test_weights_can_be_learned_by_another_balance_and_carry_a_head():
    sample = dependent_sample(n=300)
    solution = start_solution(sample)
    learn_weights(sample, Decorrelation(), None, SETTINGS, solution)
    loss = Decorrelation().prepare(sample, None)
    assert float(loss(sample.mass * solution.w)[0]) < 0.2 * float(loss(sample.mass)[0])
    seen = ("balance", "weight_l2", "weight_sum")
    own = sum(getattr(STRENGTHS, name) * np.array(solution.history[name]) for name in seen)
    assert largest_rise(own) <= 1e-9
    heads = LinearHeads(SETTINGS, torch.tensor([True, False, False, True]))
    recipes = list(heads.recipes(sample, solution.w, "auto", "auto"))
    judged = judge_recipes(
        heads, recipes, sample, solution.w, ~heads.stable, lambda: shuffled_folds(sample, 3, 0), 0
    )
    (predictor,) = heads.fit(sample, solution.w, [recipes[judged.best]])
    assert float(predictor.probability(sample, sample.features).std()) > 0.1


@pytest.mark.parametrize("deep", [False, True])
def test_algorithm1_never_rises_with_another_balance(deep):
    sample, network = dependent_sample(n=100), random_network() if deep else None
    settings = replace(SETTINGS, strengths=replace(STRENGTHS, balance=200.0), max_iter=10)
    start = float(Decorrelation().prepare(sample, network)(sample.mass)[0])
    history = algorithm1(sample, network, Decorrelation(), settings).history
    assert largest_rise(history["total"]) <= 1e-9
    assert history["balance"][-1] < 0.1 * start


# --- an evidence ---


class MarginalCorrelation:
    """A feature is stable if its plain correlation with the outcome is large."""

    name = "correlation"

    def __call__(self, sample, w):
        x, y, mass = (a.numpy() for a in (sample.features, sample.y, sample.mass))
        x, y = x - mass @ x, y - mass @ y
        found = mass @ (x * y[:, None]) / np.sqrt(mass @ x**2 * (mass @ y**2))
        error = (1 - found**2) / np.sqrt(float(sample.copies.sum()))
        low, high = found - 1.96 * error, found + 1.96 * error
        return Scores(found, error, low, high, np.abs(found) > 0.2)


def test_another_evidence_can_be_asked_beside_the_known_ones():
    sample = dependent_sample(n=500)
    kinds = make_evidence([MarginalCorrelation(), "effect"], seed=0)
    verdict = judge(sample, torch.ones_like(sample.mass), kinds)
    assert list(verdict.scores) == ["correlation", "effect"]
    both = np.vstack([sample.x.T, sample.y])
    covariance = np.cov(both, aweights=sample.mass)
    deviation = np.sqrt(np.diag(covariance))
    expected = covariance[-1, :-1] / deviation[-1] / deviation[:-1]
    np.testing.assert_allclose(verdict.scores["correlation"].score, expected, rtol=1e-9)


def test_another_evidence_can_decide_a_whole_fit():
    world = SyntheticWorld("s_indep_v", 10)
    train = world.sample(500, bias_rate=0.75, random_state=0)
    model = StableClassifier(evidence=[MarginalCorrelation()], random_state=0)
    model.fit(train.X, train.y)
    expected = np.array([abs(np.corrcoef(train.X[name], train.y)[0, 1]) for name in train.X])
    np.testing.assert_array_equal(model.stable_features_, expected > 0.2)
    np.testing.assert_allclose(model.variables_["correlation"].abs(), expected)
    assert model.predict_proba(train.X).shape == (500, 2)


# --- an outcome ---


class SquaredError:
    """A number, with the loss (score - y)^2 / 2."""

    bound = 1.0

    def losses(self, scores, y):
        return (scores - y).square() / 2

    def slopes(self, scores, y):
        return scores - y

    def curvature(self, scores, y):
        return torch.ones_like(scores)

    def inverse_link(self, scores):
        return scores

    def is_certain(self, scores, y):
        return torch.zeros_like(y, dtype=torch.bool)

    def strata(self, y):
        cuts = torch.quantile(y, torch.tensor([0.25, 0.5, 0.75], dtype=y.dtype))
        group = torch.bucketize(y, cuts)
        return [group == k for k in range(4)]


class Poisson:
    """A count, with the loss exp(score) - y score."""

    bound = 50.0  # where scores stay below 3.9

    def losses(self, scores, y):
        return scores.exp() - y * scores

    def slopes(self, scores, y):
        return scores.exp() - y

    def curvature(self, scores, y):
        return scores.exp()

    def inverse_link(self, scores):
        return scores.exp()

    def is_certain(self, scores, y):
        return torch.zeros_like(y, dtype=torch.bool)

    def strata(self, y):
        return [y == k for k in y.unique()]


OUTCOMES = {"number": SquaredError(), "count": Poisson()}


def make_outcome(kind, n=400, seed=0):
    """Distinct rows whose outcome depends on the first and the last of four features."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, 4)) < 0.5).astype(float)
    x[:, 1] = np.where(rng.random(n) < 0.6, x[:, 0], x[:, 1])
    signal = x[:, 0] + x[:, 3] - 0.5
    y = rng.poisson(np.exp(signal)) if kind == "count" else signal + rng.normal(0, 0.5, n)
    return make_sample(x, y.astype(float), np.ones(n), [f"x{j}" for j in range(4)])


@pytest.mark.parametrize(("l2", "l1"), [(0.05, 0.0), (0.01, 0.02)])
def test_the_head_of_a_number_is_the_elastic_net_of_scikit_learn(l2, l1):
    sample = make_outcome("number")
    v = sample.mass * torch.rand(len(sample.y), generator=torch.Generator().manual_seed(0))
    v = v / v.sum()
    head = fit_head(sample, sample.x, v, l2=l2, l1=l1, outcome=SquaredError())
    # scikit-learn: 1/2 sum v (y - z beta)^2 + a r ||beta||_1 + a (1 - r) / 2 ||beta||^2.
    reference = ElasticNet(l1 + 2 * l2, l1_ratio=l1 / (l1 + 2 * l2), tol=1e-12, max_iter=10**6)
    reference.fit(sample.x.numpy(), sample.y.numpy(), sample_weight=v.numpy())
    np.testing.assert_allclose(head.beta.numpy(), reference.coef_, atol=1e-7)
    assert float(head.intercept) == pytest.approx(reference.intercept_, abs=1e-7)
    assert head.converged


def test_the_head_of_a_count_is_the_poisson_regression_of_scikit_learn():
    sample = make_outcome("count")
    head = fit_head(sample, sample.x, sample.mass, l2=0.01, l1=0.0, outcome=Poisson())
    reference = PoissonRegressor(alpha=0.02, tol=1e-10, max_iter=10**4)
    reference.fit(sample.x.numpy(), sample.y.numpy(), sample_weight=sample.mass.numpy())
    np.testing.assert_allclose(head.beta.numpy(), reference.coef_, atol=1e-5)
    assert float(head.intercept) == pytest.approx(reference.intercept_, abs=1e-5)


@pytest.mark.parametrize("kind", OUTCOMES)
@pytest.mark.parametrize("deep", [False, True])
def test_algorithm1_never_rises_with_another_outcome(kind, deep):
    sample, outcome = make_outcome(kind), OUTCOMES[kind]
    network = random_network() if deep else None
    balance = Decorrelation() if deep else RawBalance()
    settings = replace(SETTINGS, outcome=outcome, max_iter=20)
    solution = algorithm1(sample, network, balance, settings)
    assert largest_rise(solution.history["total"]) <= 1e-9
    scores = solution.head.scores(sample.features if network is None else network.encode(sample.x))
    loss = (sample.mass * solution.w) @ outcome.losses(scores, sample.y)
    assert solution.history["prediction"][-1] == pytest.approx(float(loss), rel=1e-10)


@pytest.mark.parametrize("kind", OUTCOMES)
def test_an_encoder_trained_on_another_outcome_carries_heads_that_predict_its_mean(kind):
    sample, settings = make_outcome(kind), replace(SETTINGS, outcome=OUTCOMES[kind])
    network, solution = random_network(), start_solution(sample)
    train_encoder(sample, network, settings, solution)
    learn_weights(sample, RawBalance(), None, settings, solution)
    stable = torch.ones(4, dtype=torch.bool)
    linear = LinearHeads(settings, stable)
    deep = NetworkHeads(settings, stable, network, random_network)
    for heads in (linear, deep):
        recipes = list(linear.recipes(sample, solution.w, 1e-4, "auto"))
        for predictor in heads.fit(sample, solution.w, recipes):
            predicted = predictor.probability(sample, sample.features)
            v = sample.mass * solution.w
            v = v / v.sum()
            explained = 1 - v @ (sample.y - predicted) ** 2 / (v @ (sample.y - v @ sample.y) ** 2)
            assert float(v @ predicted) == pytest.approx(float(v @ sample.y), abs=0.02)
            assert float(explained) > 0.2
