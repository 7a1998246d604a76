"""From several kinds of evidence to one verdict."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from samples import sample_of
from stablepred.evidence.base import Scores
from stablepred.evidence.effect import WeightedEffect
from stablepred.evidence.explaining_away import ExplainingAway
from stablepred.evidence.invariance import Invariance
from stablepred.evidence.verdict import Verdict, judge, judge_classes, make_evidence
from stablepred.exceptions import InputError
from stablepred.outcomes.gaussian import GAUSSIAN


@dataclass
class Told:
    """Evidence that was told what to say."""

    name: str
    stable: list | None
    leaning: list | None = None
    trust: float = 1.0

    def __call__(self, sample, w):
        if self.stable is None:
            return None
        stable = np.array(self.stable)
        zeros = np.zeros(len(stable))
        leaning = None if self.leaning is None else np.array(self.leaning)
        score = np.where(stable, 3.0, 0.5)
        return Scores(score, zeros + 1, zeros, zeros, stable, leaning, self.trust)


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.5).astype(float)
    return sample_of(np.where(rng.random((300, 3)) < 0.8, y[:, None], 1 - y[:, None]), y)


def ask(sample, *evidence):
    return judge(sample, torch.ones_like(sample.mass), evidence)


def odds(p):
    return p / (1 - p)


# --- kinds that give a probability ---


def test_the_log_odds_of_all_kinds_that_give_a_probability_are_added(sample):
    one = Told("a", [True, False, False], [0.05, 0.6, 0.5])
    two = Told("b", [True, True, True], [0.2, 0.9, 0.3])
    verdict = ask(sample, one, two)
    # Added log-odds are odds that are multiplied.
    expected = [odds(a) * odds(b) for a, b in zip(one.leaning, two.leaning, strict=True)]
    np.testing.assert_allclose(odds(verdict.leaning), expected)
    assert ask(sample, one).leaning == pytest.approx(one.leaning)


def test_a_kind_that_is_certain_can_still_be_outvoted(sample):
    certain, other = Told("a", [False] * 3, [0.0, 1.0, 0.5]), Told("b", [False] * 3, [0.5] * 3)
    assert np.isfinite(ask(sample, certain, other).leaning).all()
    against = Told("b", [False] * 3, [1.0, 0.0, 0.5])
    np.testing.assert_allclose(ask(sample, certain, against).leaning, 0.5)


def test_the_first_kind_with_a_probability_says_what_is_stable_and_how_far_to_trust(sample):
    one = Told("a", [True, True, False], [0.01, 0.01, 0.01], trust=0.7)
    two = Told("b", [True, False, True], [0.5, 0.99, 0.5], trust=0.2)
    verdict = ask(sample, Told("c", [True] * 3), one, two)
    assert verdict.trust == 0.7
    # The second variable leans towards noisy once both are heard.
    assert verdict.stable.tolist() == [True, False, False]
    np.testing.assert_allclose(verdict.probability_noisy, 0.7 * verdict.leaning)


def test_a_variable_is_called_noisy_only_if_it_probably_is(sample):
    def label(trust):
        return ask(
            sample, Told("a", [True, False, False], [0.01, 0.5, 0.99], trust)
        ).labels.tolist()

    assert label(1.0) == ["stable", "undecided", "noisy"]
    assert label(0.5) == ["stable", "undecided", "undecided"]


# --- kinds that give none ---


def test_the_first_kind_that_finds_a_stable_feature_decides(sample):
    nothing = Told("a", [False, False, False])
    one, two = Told("b", [True, False, False]), Told("c", [True, True, False])
    verdict = ask(sample, nothing, one, two)
    assert verdict.stable.tolist() == [True, False, False]
    assert list(verdict.scores) == ["a", "b", "c"]
    assert ask(sample, two, one).stable.tolist() == [True, True, False]


def test_a_stable_feature_does_not_lean_towards_noisy_and_one_without_effect_does(sample):
    verdict = ask(sample, Told("a", [True, False, False]))
    assert verdict.leaning[0] == 0
    assert (verdict.leaning[1:] > 0.5).all()


def test_a_kind_that_does_not_apply_is_left_out(sample):
    verdict = ask(sample, Told("a", None), Told("b", [False, True, False]))
    assert list(verdict.scores) == ["b"]


def test_where_no_kind_finds_any_the_first_one_that_applies_decides_nothing(sample):
    verdict = ask(sample, Told("a", None), Told("b", [False] * 3), Told("c", [False] * 3))
    assert not verdict.stable.any()
    assert verdict.labels.tolist() == ["undecided"] * 3


def test_where_none_applies_nothing_is_said_and_nothing_trusted(sample):
    verdict = ask(sample, Told("a", None))
    assert not verdict.scores
    assert verdict.trust == 0
    assert verdict.labels.tolist() == ["undecided"] * 3


# --- several classes ---


def verdict_of(stable, leaning, score, trust=1.0):
    stable, score = np.array(stable), np.array(score)
    scores = Scores(score, np.ones_like(score), score - 1, score + 1, stable)
    return Verdict({"a": scores}, stable, np.array(leaning), trust)


def test_of_several_classes_a_variable_is_stable_for_one_and_noisy_for_none():
    one = verdict_of([True, True, False, False], [0.0, 0.0, 0.2, 0.1], [3.0, 3.0, -1.0, 0.0], 0.9)
    two = verdict_of([False, False, False, False], [0.3, 1.0, 0.7, 0.1], [-4.0, 1.0, 2.0, 0.0], 1.0)
    both = judge_classes([one, two])
    assert both.stable.tolist() == [True, False, False, False]
    np.testing.assert_allclose(both.leaning, [0.0, 1.0, 0.7, 0.1])
    assert both.trust == 0.9
    np.testing.assert_allclose(both.scores["a"].score, [-4.0, 3.0, 2.0, 0.0])
    np.testing.assert_allclose(both.scores["a"].low, [-5.0, 2.0, 1.0, -1.0])


# --- which kinds ---


def test_auto_is_all_kinds_in_order():
    kinds = make_evidence("auto", seed=3)
    assert [type(kind) for kind in kinds] == [ExplainingAway, Invariance, WeightedEffect]
    assert kinds[2].seed == 3
    assert make_evidence("effect", seed=3) == [WeightedEffect(3)]
    own = Told("own", [True])
    assert make_evidence([own, "effect"], seed=3) == [own, WeightedEffect(3)]


def test_the_kinds_are_told_the_outcome():
    assert make_evidence("explaining_away", 0, GAUSSIAN)[0].outcome is GAUSSIAN
    assert make_evidence("invariance", 0, GAUSSIAN)[0].outcome is GAUSSIAN


@pytest.mark.parametrize("evidence", [[], "guess", ["guess"], [3], [lambda sample, w: None]])
def test_what_is_no_evidence_is_refused(evidence):
    with pytest.raises(InputError, match="evidence"):
        make_evidence(evidence, seed=0)
