"""From evidence to a verdict on each feature."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from torch import Tensor

from stablepred.evidence.base import Evidence, FloatArray, Scores
from stablepred.evidence.effect import WeightedEffect
from stablepred.evidence.explaining_away import (
    CAUSE_Z,
    LEAST_SHARE_THROUGH_OUTCOME,
    ExplainingAway,
    share_through_outcome,
)
from stablepred.exceptions import InputError
from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY
from stablepred.sample import Sample


@dataclass(frozen=True)
class Verdict:
    """What all the evidence together says about the features of a sample.

    Attributes
    ----------
    scores : mapping of str to Scores
        By the name of the kind of evidence; only the kinds that apply.
    kind : str
        The kind of evidence that decided.
    stable : array of bool, (p,)
    share : float
        How much of the features' dependence on each other goes through the outcome.
    """

    scores: Mapping[str, Scores]
    kind: str
    stable: NDArray[np.bool_]
    share: float

    @property
    def is_conclusive(self) -> bool:
        """Whether features without evidence may be called noisy.

        Only if some are stable, and if features depend on each other through the outcome: otherwise
        there is no sign that a tie to the outcome will break.
        """
        return bool(self.share > LEAST_SHARE_THROUGH_OUTCOME and self.stable.any())

    @property
    def probability_noisy(self) -> FloatArray:
        """The normal tail of the deciding score beyond its threshold; not calibrated."""
        scores = self.scores[self.kind]
        size = np.abs(scores.score) if self.kind == WeightedEffect.name else scores.score
        z = np.divide(size, scores.error, out=np.zeros_like(size), where=scores.error > 0)
        return np.asarray(norm.sf(z - CAUSE_Z))


def judge(
    sample: Sample, w: Tensor, evidence: Iterable[Evidence], outcome: Outcome = BINARY
) -> Verdict:
    """Ask every kind of evidence; the first that finds a stable feature decides."""
    found = {kind.name: kind(sample, w) for kind in evidence}
    scores = {name: given for name, given in found.items() if given is not None}
    if not scores:
        raise InputError(
            f"no evidence applies to these rows (asked for: {', '.join(found) or 'none'}). Use "
            "evidence='auto'."
        )
    deciding = [name for name, given in scores.items() if given.stable.any()]
    kind = deciding[0] if deciding else next(iter(scores))
    return Verdict(scores, kind, scores[kind].stable, share_through_outcome(sample, outcome))


def make_evidence(evidence: Any, seed: int, outcome: Outcome = BINARY) -> list[Evidence]:
    """The requested kinds of evidence, from ``"auto"``, names or objects."""
    known: dict[str, Evidence] = {
        ExplainingAway.name: ExplainingAway(outcome),
        WeightedEffect.name: WeightedEffect(seed),
    }
    if isinstance(evidence, str):
        evidence = list(known) if evidence == "auto" else [evidence]
    if not isinstance(evidence, Iterable):
        raise _refuse(evidence, known)
    kinds = []
    for kind in evidence:
        if isinstance(kind, str) and kind not in known:
            raise _refuse(kind, known)
        if not isinstance(kind, str) and not (callable(kind) and hasattr(kind, "name")):
            raise InputError(f"{kind!r} is not evidence: it has no name or cannot be called.")
        kinds.append(known[kind] if isinstance(kind, str) else kind)
    if not kinds:
        raise InputError("evidence is an empty list. Use evidence='auto'.")
    return kinds


def _refuse(found: Any, known: Iterable[str]) -> InputError:
    return InputError(
        f"evidence must be 'auto' or a list of {', '.join(map(repr, known))} or objects, but "
        f"contains {found!r}."
    )
