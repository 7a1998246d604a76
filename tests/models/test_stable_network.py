"""StableClassifier without an estimator: which network it trains, on what, and how strict."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest
import torch

from stablepred import GlobalBalancer, StableClassifier
from stablepred.core.head import Head
from stablepred.data import SyntheticWorld
from stablepred.evidence.explaining_away import LEAST_SHARE_THROUGH_OUTCOME
from stablepred.heads import network
from stablepred.heads.choice import Predictor, shuffled_folds
from stablepred.models import small_network
from stablepred.models.screening import SETTINGS
from stablepred.sample import make_sample

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")


@pytest.fixture(scope="module")
def train():
    """Noisy features that follow the stable ones, not the outcome."""
    world = SyntheticWorld("s_indep_v", 10, shift="v_given_s", mediator="integer")
    return world.sample(1000, bias_rate=0.85, random_state=0)


@pytest.fixture(scope="module")
def biased():
    """Noisy features that follow the outcome."""
    return SyntheticWorld("s_indep_v", 10).sample(1000, bias_rate=0.85, random_state=0)


@pytest.fixture(scope="module")
def of_features(train):
    return StableClassifier(random_state=0).fit(train.X, train.y)


@pytest.fixture(scope="module")
def of_outcome(biased):
    return StableClassifier(random_state=0).fit(biased.X, biased.y)


# --- where features depend on each other, but not through the outcome ---


def test_no_share_of_the_dependence_goes_through_the_outcome(of_features):
    assert of_features.share_through_outcome_ <= LEAST_SHARE_THROUGH_OUTCOME


def test_the_weights_balance_the_features_themselves(train, of_features):
    report = of_features.balance_report_
    assert abs(report.worst_after.imbalance) < 0.1 * np.abs(report.before.to_numpy()).max()
    alone = GlobalBalancer(random_state=0).fit(train.X)
    np.testing.assert_allclose(of_features.sample_weight_, alone.weights_, rtol=0.05, atol=0.05)


def test_all_features_are_used_and_none_is_called_noisy(of_features):
    assert of_features.used_features_.all()
    assert of_features.decision_.chosen == "all variables"
    assert "do not depend on each other through the outcome" in of_features.decision_.reason
    assert "noisy" not in set(of_features.variables_["verdict"])


# --- where they depend on each other through the outcome ---


def test_where_the_outcome_has_a_part_the_embedding_is_balanced(biased, of_outcome):
    assert of_outcome.share_through_outcome_ > LEAST_SHARE_THROUGH_OUTCOME
    alone = GlobalBalancer(random_state=0).fit(biased.X)
    assert np.abs(of_outcome.sample_weight_ - alone.weights_).max() > 0.1


def test_there_the_network_stands_on_the_stable_variables_alone(biased, of_outcome):
    assert of_outcome.decision_.chosen == "stable variables"
    np.testing.assert_array_equal(of_outcome.used_features_, of_outcome.stable_features_)
    assert 0 < of_outcome.used_features_.sum() < 10
    changed = biased.X.copy()
    noisy = ~of_outcome.stable_features_
    changed.loc[:, noisy] = 1 - changed.loc[:, noisy]
    np.testing.assert_array_equal(
        of_outcome.predict_proba(changed), of_outcome.predict_proba(biased.X)
    )


# --- the penalty of a network that is trained again ---


def penalties(monkeypatch, data, **weights):
    """How many times the usual penalty each network that is trained again has."""
    found = []
    usual = SETTINGS.strengths.network_l2
    original = network.train_encoder

    def spy(sample, autoencoder, settings, solution, **options):
        found.append(settings.strengths.network_l2 / usual)
        return original(sample, autoencoder, settings, solution, **options)

    monkeypatch.setattr(network, "train_encoder", spy)
    StableClassifier(random_state=0).fit(data.X, data.y, **weights)
    return found


def test_on_all_features_the_penalty_goes_by_the_effective_share(train, of_features, monkeypatch):
    first, *others = penalties(monkeypatch, train)
    share = of_features.balance_report_.effective_share
    assert first == pytest.approx(1 / share, rel=1e-6)
    assert len(others) == 3
    # Folds have fewer rows, but about the same share of them is effective.
    np.testing.assert_allclose(others, first, rtol=0.2)


def test_on_stable_features_the_penalty_goes_by_features_per_row(monkeypatch):
    data = SyntheticWorld("s_indep_v", 10).sample(400, bias_rate=0.75, random_state=0)
    whole, *folds = penalties(monkeypatch, data)
    assert whole == pytest.approx(100 * 10 / 400)
    np.testing.assert_allclose(folds, 1.5 * whole, rtol=0.01)
    twice = penalties(monkeypatch, data, sample_weight=np.where(np.arange(400) < 200, 2.0, 1.0))
    assert twice[0] == pytest.approx(100 * 10 / 600)


# --- the choice between the network under the weights and the plain one ---


@dataclass
class StubHeads:
    """Networks that predict what a table says, and remember what was fitted."""

    slopes: dict[str, float]  # of the one feature, by the refit
    fitted: list[str] = field(default_factory=list)

    def fit(self, sample, w, recipes):
        self.fitted.extend(recipe.refit for recipe in recipes)
        slopes = [torch.tensor([self.slopes[recipe.refit]]).double() for recipe in recipes]
        return [Predictor(Head(slope, -slope[0] / 2, converged=True)) for slope in slopes]


def choose(heads, rows=100, cv=3):
    """Among networks for a feature that is 1 in every second row, and an outcome that follows it.

    ``rows`` of them; four in five follow.
    """
    x = np.tile([0.0, 1.0], rows // 2)
    y = np.where(np.arange(rows) % 10 < 8, x, 1 - x)
    sample = make_sample(x[:, None], y, np.ones(rows), ["x"])
    w = torch.ones_like(sample.mass)
    folds = partial(shuffled_folds, sample, cv, 0)
    return small_network._choose_among_all(heads, sample, w, SETTINGS, folds, seed=0).refit


def test_a_network_under_the_weights_that_is_of_use_is_kept():
    heads = StubHeads({"weighted": 2.0})
    assert choose(heads) == "weighted"
    assert set(heads.fitted) == {"weighted"}  # the plain one need not be fitted at all


def test_one_that_is_hardly_sure_of_itself_is_kept_all_the_same():
    assert choose(StubHeads({"weighted": 0.5})) == "weighted"


@pytest.mark.parametrize("slope", [0.0, 1e-6, -2.0])
def test_one_no_better_than_a_constant_on_held_out_rows_falls_back_to_the_plain_one(slope):
    """Flat, nearly so, or the wrong way round."""
    assert choose(StubHeads({"weighted": slope})) == "plain"


def test_without_rows_to_hold_out_the_weighted_network_is_kept():
    x, y = np.array([[0.0], [1.0], [1.0]]), np.array([0.0, 0.0, 1.0])
    sample = make_sample(x, y, np.ones(3), ["x"])
    w = torch.ones_like(sample.mass)
    folds = partial(shuffled_folds, sample, 3, 0)
    heads = StubHeads({"weighted": 0.0})
    chosen = small_network._choose_among_all(heads, sample, w, SETTINGS, folds, seed=0)
    assert chosen.refit == "weighted"
