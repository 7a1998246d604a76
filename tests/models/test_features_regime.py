"""Where features depend on each other but not through the outcome: all of them stay, balanced."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from sklearn.model_selection import StratifiedKFold

from stablepred import DGBRClassifier, GBRClassifier, GlobalBalancer
from stablepred.core.head import Head
from stablepred.core.patterns import Patterns
from stablepred.data import SyntheticWorld
from stablepred.heads.choice import HeadProblem, Predictor, Recipe, choose_recipe
from stablepred.models.balancing import LEAST_SHARE_THROUGH_OUTCOME

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")


@pytest.fixture(scope="module")
def train():
    """Noisy features that follow the stable ones, not the outcome."""
    world = SyntheticWorld("s_indep_v", 10, shift="v_given_s")
    return world.sample(1000, bias_rate=0.85, random_state=0)


@pytest.fixture(scope="module")
def dgbr(train):
    return DGBRClassifier(random_state=0).fit(train.X, train.y)


@pytest.fixture(scope="module")
def gbr(train):
    return GBRClassifier(random_state=0).fit(train.X, train.y)


def test_no_share_of_the_dependence_goes_through_the_outcome(gbr, dgbr):
    assert gbr.share_through_outcome_ == dgbr.share_through_outcome_
    assert dgbr.share_through_outcome_ <= LEAST_SHARE_THROUGH_OUTCOME


def test_the_weights_balance_the_features_themselves(train, dgbr):
    report = dgbr.balance_report_
    assert abs(report.worst_after.imbalance) < 0.1 * np.abs(report.before.to_numpy()).max()
    alone = GlobalBalancer(random_state=0).fit(train.X)
    np.testing.assert_allclose(dgbr.sample_weight_, alone.weights_, rtol=0.05, atol=0.05)


def test_all_features_are_used(train, dgbr):
    assert dgbr.used_features_.all()
    assert not dgbr.recipe_.only_stable
    assert dgbr.recipe_.refit in ("weighted", "plain")


def test_features_found_unstable_are_not_left_out_of_the_choice(gbr):
    assert not gbr.recipe_.only_stable


def test_where_the_outcome_has_a_part_the_embedding_is_balanced():
    world = SyntheticWorld("s_indep_v", 10)
    biased = world.sample(1000, bias_rate=0.85, random_state=0)
    model = DGBRClassifier(random_state=0).fit(biased.X, biased.y)
    assert model.share_through_outcome_ > LEAST_SHARE_THROUGH_OUTCOME
    alone = GlobalBalancer(random_state=0).fit(biased.X)
    assert np.abs(model.sample_weight_ - alone.weights_).max() > 0.1


# --- the penalty of a refit ---


def penalties(monkeypatch, train, cv=3, **weights):
    """How many times the usual penalty each network that is trained for a refit has."""
    found = []
    original = DGBRClassifier._train_anew

    def noted(self, rows, inputs, penalty, *others):
        found.append(penalty)
        return original(self, rows, inputs, penalty, *others)

    monkeypatch.setattr(DGBRClassifier, "_train_anew", noted)
    DGBRClassifier(random_state=0, max_iter=3, cv=cv).fit(train.X, train.y, **weights)
    return found


def test_on_all_features_the_penalty_goes_by_the_effective_share(train, dgbr, monkeypatch):
    first, *others = penalties(monkeypatch, train)
    assert 1 < first <= 1 / dgbr.min_effective_share + 1e-9
    # Folds have fewer rows, but about the same share of them is effective.
    np.testing.assert_allclose(others, first, rtol=0.2)


def test_on_stable_features_the_penalty_goes_by_features_per_row(monkeypatch):
    biased = SyntheticWorld("s_indep_v", 10).sample(400, bias_rate=0.75, random_state=0)
    whole, *folds = penalties(monkeypatch, biased)
    assert whole == pytest.approx(100 * 10 / 400)
    np.testing.assert_allclose(folds, 1.5 * whole, rtol=0.01)
    of_splitter = penalties(monkeypatch, biased, StratifiedKFold(3))
    np.testing.assert_allclose(of_splitter, [whole, *folds], rtol=0.01)
    twice = penalties(monkeypatch, biased, sample_weight=np.where(np.arange(400) < 200, 2.0, 1.0))
    assert twice[0] == pytest.approx(100 * 10 / 600)


# --- the choice between the network under the weights and the plain one ---


@dataclass(frozen=True)
class StubProblem(HeadProblem):
    """Heads that predict what a table says, and remember what was fitted."""

    slopes: dict[str, float] = field(default_factory=dict)  # by the refit
    fitted: list[str] = field(default_factory=list)

    def candidates(self, l1, refit):
        yield from (Recipe(0.0, kind, False) for kind in ("weighted", "plain"))

    def first_of_use(self, refit):
        return refit == "auto"

    def fit(self, count, recipes):
        self.fitted.extend(recipe.refit for recipe in recipes)
        slopes = [torch.tensor([self.slopes[recipe.refit]]).double() for recipe in recipes]
        return [
            Predictor(torch.as_tensor, Head(slope, -slope[0] / 2, converged=True))
            for slope in slopes
        ]


def problem(**slopes):
    """A feature that is 1 in every second row, and an outcome that mostly follows it."""
    x = np.array([[0.0], [0.0], [1.0], [1.0]])
    y = np.array([0.0, 1.0, 0.0, 1.0])
    count = np.array([40.0, 10.0, 10.0, 40.0])
    patterns = Patterns(x, y, count, np.arange(4))
    return StubProblem(patterns, np.ones(4), np.array([True]), False, 1e-4, True, slopes)


def folds():
    half = np.array([20.0, 5.0, 5.0, 20.0])
    yield half, half
    yield half, half


def chosen(stub, refit="auto"):
    return choose_recipe(stub, "auto", refit, folds, seed=0).refit


def test_a_network_under_the_weights_that_is_of_use_is_kept():
    stub = problem(weighted=2.0, plain=2.0)
    assert chosen(stub) == "weighted"
    assert set(stub.fitted) == {"weighted"}  # the other one need not be fitted at all


def test_one_less_sure_of_itself_than_the_plain_one_is_kept_all_the_same():
    assert chosen(problem(weighted=0.5, plain=2.7)) == "weighted"


@pytest.mark.parametrize("slope", [0.0, 1e-6, -2.0])
def test_one_no_better_than_a_constant_on_held_out_rows_falls_back_to_the_plain_one(slope):
    """Flat, nearly so, or the wrong way round."""
    assert chosen(problem(weighted=slope, plain=2.0)) == "plain"


def test_without_rows_to_hold_out_the_weighted_network_is_kept():
    stub = problem(weighted=0.0, plain=2.0)
    assert choose_recipe(stub, "auto", "auto", lambda: iter(()), seed=0).refit == "weighted"
