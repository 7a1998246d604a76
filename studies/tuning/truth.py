"""What the test environments say of the candidates, and of a way to choose among them."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

from stablepred.evaluation.metrics import environment_errors
from stablepred.validation.environments import criterion_value, score
from stablepred.worlds.environment import Environment
from stablepred.worlds.synthetic import SyntheticWorld
from studies.methods import CONSTANT, LR, ORACLE
from studies.references import ConstantPredictor, Oracle
from studies.tuning.candidates import BoolArray, FloatArray, Heads

STABILITY_WEIGHT = 5.0
BEST = "best candidate"
# How the choice is made from the validation errors: label, criterion, and whether candidates that
# are no better on average than a constant come last, as in StableSearchCV.
WAYS_TO_CHOOSE = (
    ("", "score", True),
    (" unguarded", "score", False),
    (" by worst", "worst", True),
)


@dataclass(frozen=True)
class Truth:
    """Scores in the test environments."""

    errors: FloatArray  # (candidates, environments)
    constant: BoolArray
    references: dict[str, tuple[float, float]]  # Average_Error and Stability_Error
    constant_error: float  # of the base rate in validation environments, where P(y) stays

    @classmethod
    def measure(
        cls, train: Environment, tests: list[Environment], heads: Heads, world: SyntheticWorld
    ) -> Self:
        """Errors of the candidates and of the references in the test environments."""
        features = [(t.X.to_numpy(np.float64), t.y[:, None]) for t in tests]
        squares = [((y - heads.probability(x)) ** 2).mean(axis=0) for x, y in features]
        models = {
            LR: LogisticRegression().fit(train.X, train.y),
            ORACLE: Oracle(train, world.stable_features),
            CONSTANT: ConstantPredictor(train),
        }
        errors = np.sqrt(np.array(squares)).T
        references = {
            name: environment_errors(model, tests).to_numpy() for name, model in models.items()
        }
        scores = np.where(heads.constant, np.inf, score(errors, STABILITY_WEIGHT))
        references[BEST] = errors[int(np.argmin(scores))]
        both = {name: _both(values) for name, values in references.items()}
        return cls(errors, heads.constant, both, float(train.y.std()))

    def judge(self, validation: FloatArray, chosen_by_search: int | None = None) -> dict[str, Any]:
        """Rank correlation and regret of choosing by these errors: (candidates, environments)."""
        scores = score(self.errors, STABILITY_WEIGHT)
        informative = validation.mean(axis=1) < self.constant_error
        result: dict[str, Any] = {}
        for label, criterion, guarded in WAYS_TO_CHOOSE:
            values = _criterion(validation, criterion)
            allowed = ~self.constant
            if guarded and (allowed & informative).any():
                allowed &= informative
            chosen = int(np.argmin(np.where(allowed, values, np.inf)))
            if label == "" and chosen_by_search is not None:
                chosen = chosen_by_search
            result |= {
                f"regret{label}": self._regret(float(scores[chosen])),
                f"chosen{label}": _both(self.errors[chosen]),
            }
        kept = ~self.constant
        values = _criterion(validation, "score")
        return result | {"rank_correlation": _rank_correlation(values[kept], scores[kept])}

    def _regret(self, chosen: float) -> float | None:
        lr, best = (_sum(self.references[name]) for name in (LR, BEST))
        # Where LR is the best candidate there is nothing to gain, and no share of it.
        return (chosen - best) / (lr - best) if lr - best > 1e-3 * lr else None


def _both(errors: FloatArray) -> tuple[float, float]:
    return float(errors.mean()), float(errors.std(ddof=1))


def _sum(errors: tuple[float, float]) -> float:
    return errors[0] + STABILITY_WEIGHT * errors[1]


def _criterion(errors: FloatArray, criterion: str) -> FloatArray:
    """The criterion, or the error itself where there is one environment only."""
    if errors.shape[1] == 1:
        return errors[:, 0]
    return criterion_value(errors, criterion, STABILITY_WEIGHT)


def _rank_correlation(a: FloatArray, b: FloatArray) -> float | None:
    value = float(spearmanr(a, b).statistic)
    return None if np.isnan(value) else value
