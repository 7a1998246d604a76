"""From evidence to a verdict on each variable: stable, noisy or undecided."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import norm
from torch import Tensor

from stablepred.evidence.base import Evidence, Scores
from stablepred.evidence.effect import WeightedEffect
from stablepred.evidence.explaining_away import STABLE, ExplainingAway
from stablepred.evidence.invariance import Invariance
from stablepred.exceptions import InputError
from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY
from stablepred.sample import BoolArray, FloatArray, Sample

NOISY = 0.9  # least probability of a variable that is called noisy


@dataclass(frozen=True)
class Verdict:
    """What all the evidence together says about the variables of a sample."""

    scores: Mapping[str, Scores]  # by kind of evidence; only the kinds that apply
    stable: BoolArray  # (p,)
    # (p,) probability that a variable is noisy, if noisy ones exist; NaN where no kind applies
    leaning: FloatArray
    trust: float  # probability of that

    @property
    def probability_noisy(self) -> FloatArray:
        return self.trust * self.leaning

    @property
    def noisy(self) -> BoolArray:
        return (self.probability_noisy >= NOISY) & ~self.stable

    @property
    def labels(self) -> NDArray[np.str_]:
        return np.where(self.stable, "stable", np.where(self.noisy, "noisy", "undecided"))


def judge(sample: Sample, w: Tensor, evidence: Iterable[Evidence]) -> Verdict:
    """Ask every kind of evidence; the sample has one column per variable.

    The log-odds of all kinds that give a probability are added, and the first of them says how far
    the result can be trusted. Where no kind gives one, the first that finds a stable variable
    decides.
    """
    found = {kind.name: kind(sample, w) for kind in evidence}
    scores = {name: given for name, given in found.items() if given is not None}
    if not scores:
        none = np.zeros(sample.n_features, dtype=bool)
        return Verdict({}, none, np.full(len(none), np.nan), 0.0)
    given = list(scores.values())
    leanings = [one.leaning for one in given if one.leaning is not None]
    if leanings:
        first = next(one for one in given if one.leaning is not None)
        odds = [logit(np.clip(one, 1e-9, 1 - 1e-9)) for one in leanings]
        leaning = np.asarray(expit(np.sum(odds, axis=0)))
        return Verdict(scores, first.stable & (leaning < STABLE), leaning, first.trust)
    first = next((one for one in given if one.stable.any()), given[0])
    return Verdict(scores, first.stable, _lean(first), first.trust)


def judge_classes(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict from those on each class against the rest.

    A variable is stable if it is stable for one class and not noisy for another; it leans towards
    noisy as it does for the class where it leans most.
    """
    noisy = np.any([one.noisy for one in verdicts], axis=0)
    stable = np.any([one.stable for one in verdicts], axis=0) & ~noisy
    leaning = np.where(stable, 0.0, np.max([one.leaning for one in verdicts], axis=0))
    scores, parts = {}, ("score", "error", "low", "high", "stable")
    for kind in verdicts[0].scores:  # for every variable, those of the class where they are largest
        found = [one.scores[kind] for one in verdicts if kind in one.scores]
        each = np.argmax([np.abs(one.score) for one in found], axis=0), np.arange(len(stable))
        arrays = (np.array([getattr(one, part) for one in found])[each] for part in parts)
        scores[kind] = Scores(*arrays)
    return Verdict(scores, stable, leaning, min(one.trust for one in verdicts))


def _lean(scores: Scores) -> FloatArray:
    """Probability of no effect, where the effects of causes are as large as those found stable."""
    if not scores.stable.any():
        return np.full(len(scores.score), 0.5)
    size = np.mean(scores.score[scores.stable] ** 2)
    error = np.maximum(scores.error, 1e-12)
    none, some = (norm.logpdf(scores.score, 0.0, np.sqrt(error**2 + s)) for s in (0.0, size))
    return np.where(scores.stable, 0.0, expit(none - some))


def make_evidence(evidence: Any, seed: int, outcome: Outcome = BINARY) -> list[Evidence]:
    known: dict[str, Evidence] = {
        ExplainingAway.name: ExplainingAway(outcome),
        Invariance.name: Invariance(outcome),
        WeightedEffect.name: WeightedEffect(seed),
    }
    if isinstance(evidence, str):
        evidence = list(known) if evidence == "auto" else [evidence]
    evidence = evidence if isinstance(evidence, Iterable) else [evidence]
    kinds: list[Any] = [
        known.get(kind, kind) if isinstance(kind, str) else kind for kind in evidence
    ]
    for kind in kinds:
        if isinstance(kind, str) or not (callable(kind) and hasattr(kind, "name")):
            raise InputError(
                f"evidence must be 'auto' or a list of {', '.join(map(repr, known))} or objects "
                f"that have a name and can be called, but contains {kind!r}."
            )
    if not kinds:
        raise InputError("evidence is an empty list. Use evidence='auto'.")
    return kinds
