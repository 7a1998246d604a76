"""From several kinds of evidence to one verdict."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy.stats import norm

from samples import sample_of
from stablepred.evidence.base import Scores
from stablepred.evidence.effect import WeightedEffect
from stablepred.evidence.explaining_away import CAUSE_Z, ExplainingAway, share_through_outcome
from stablepred.evidence.verdict import Verdict, judge, make_evidence
from stablepred.exceptions import InputError


@dataclass
class Told:
    """Evidence that was told what to say."""

    name: str
    stable: list | None

    def __call__(self, sample, w):
        if self.stable is None:
            return None
        stable = np.array(self.stable)
        zeros = np.zeros(len(stable))
        return Scores(np.where(stable, 3.0, 0.5), zeros + 1, zeros, zeros, stable)


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.5).astype(float)
    return sample_of(np.where(rng.random((300, 3)) < 0.8, y[:, None], 1 - y[:, None]), y)


def ask(sample, *evidence):
    return judge(sample, torch.ones_like(sample.mass), evidence)


def test_the_first_kind_that_finds_a_stable_feature_decides(sample):
    nothing = Told("a", [False, False, False])
    one, two = Told("b", [True, False, False]), Told("c", [True, True, False])
    verdict = ask(sample, nothing, one, two)
    assert verdict.kind == "b"
    assert verdict.stable.tolist() == [True, False, False]
    assert list(verdict.scores) == ["a", "b", "c"]
    assert ask(sample, two, one).kind == "c"


def test_a_kind_that_does_not_apply_is_left_out(sample):
    verdict = ask(sample, Told("a", None), Told("b", [False, True, False]))
    assert list(verdict.scores) == ["b"]
    assert verdict.kind == "b"


def test_where_no_kind_finds_any_the_first_one_that_applies_decides(sample):
    verdict = ask(sample, Told("a", None), Told("b", [False] * 3), Told("c", [False] * 3))
    assert verdict.kind == "b"
    assert not verdict.stable.any()
    assert not verdict.is_conclusive


def test_where_none_applies_it_is_refused(sample):
    with pytest.raises(InputError, match=r"no evidence applies.*asked for: a"):
        ask(sample, Told("a", None))


def test_the_share_is_that_of_the_sample(sample):
    verdict = ask(sample, Told("a", [True, False, False]))
    assert verdict.share == share_through_outcome(sample)


@pytest.mark.parametrize(
    ("share", "stable", "conclusive"),
    [(0.5, [True, False], True), (0.05, [True, False], False), (0.5, [False, False], False)],
)
def test_a_verdict_is_conclusive_only_with_stable_features_and_a_share_through_the_outcome(
    share, stable, conclusive
):
    assert Verdict({}, "a", np.array(stable), share).is_conclusive is conclusive


def test_the_probability_of_being_noisy_is_the_tail_beyond_the_threshold():
    stable = np.array([True, False, False])
    scores = Scores(np.array([4.0, -4.0, 1.0]), np.array([1.0, 1.0, 0.0]), *[stable] * 3)
    of_z = Verdict({"explaining_away": scores}, "explaining_away", stable, 1.0).probability_noisy
    np.testing.assert_allclose(of_z, norm.cdf([CAUSE_Z - 4, CAUSE_Z + 4, CAUSE_Z]))
    # An effect counts by its size; explaining away by its sign.
    of_effect = Verdict({"effect": scores}, "effect", stable, 1.0).probability_noisy
    assert of_effect[0] == of_effect[1] == of_z[0]


def test_auto_is_explaining_away_and_then_the_effect():
    kinds = make_evidence("auto", seed=3)
    assert [type(kind) for kind in kinds] == [ExplainingAway, WeightedEffect]
    assert kinds[1].seed == 3
    assert make_evidence("effect", seed=3) == [WeightedEffect(3)]
    own = Told("own", [True])
    assert make_evidence([own, "effect"], seed=3) == [own, WeightedEffect(3)]


@pytest.mark.parametrize("evidence", [[], "guess", ["guess"], [3], [lambda sample, w: None]])
def test_what_is_no_evidence_is_refused(evidence):
    with pytest.raises(InputError, match="evidence"):
        make_evidence(evidence, seed=0)
