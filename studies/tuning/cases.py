"""Does tuning on validation environments (paper, section 5.3) choose well?

The candidates are weighted logistic regressions: no weights, weights that balance the features,
weights that balance embeddings, each with a path of lambda_5 and each refit. The weights depend on
neither, so that they are found once. Every *way* of tuning (how features are ranked, how many are
called noisy, how held-out rows are changed) scores all candidates from the training data; their
true scores come from test environments of the world that no way sees. Constant predictors are
excluded.

    regret = (test score of the chosen - best candidate's) / (LR's - best candidate's)

with Average_Error + 5 Stability_Error as the score.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from stablepred._random import child_seed, numpy_generator
from stablepred.evidence.effect import weighted_effects
from stablepred.evidence.explaining_away import CAUSE_Z, compete
from stablepred.exceptions import StablepredWarning
from stablepred.outcomes.binary import BINARY
from stablepred.search import StableSearchCV
from stablepred.validation.environments import (
    RATES,
    resampling_weights,
    validation_environments,
)
from stablepred.worlds.environment import Environment
from stablepred.worlds.synthetic import SyntheticWorld
from studies.methods import balance_rows
from studies.records import Definition, Result
from studies.tuning.candidates import (
    BoolArray,
    Candidate,
    FloatArray,
    Heads,
    WeightedHead,
    candidate_list,
    fit_heads,
    sample_of_rows,
)
from studies.tuning.truth import Truth

Environments = Iterator[tuple[FloatArray, FloatArray]]  # features and row weights

NAME = "tuning-study"
# Raised when a change of the code changes what a case gives, so that old records are not mixed in.
REVISION = 4
EFFECT_Z = 1.96  # an effect's 95 % interval covers zero below this

SETTINGS: tuple[Literal["s_indep_v", "s_to_v", "v_to_s"], ...] = ("s_indep_v", "s_to_v", "v_to_s")
TARGETS: tuple[Literal["signal", "outcome"], ...] = ("signal", "outcome")
# Share of stable and of biased features; at .6 one fewer, so that none is both.
SHARES = ((0.2, 0.4), (0.4, 0.4), (0.6, 0.35))

KINDS = ("redraw", "resample", "resample one by one")
COUNTS = ("lower half", "verdict")
SEARCH = "StableSearchCV"


@dataclass(frozen=True)
class Case:
    """One training environment in which every way of tuning is tried."""

    setting: Literal["s_indep_v", "s_to_v", "v_to_s"]
    bias_on: Literal["outcome", "signal"]
    stable: float
    biased: float
    seed: int
    n: int = 2000
    n_features: int = 20
    train_rate: float = 0.75
    test_rows: int = 4000
    n_encoders: int = 4
    path_length: int = 10
    n_folds: int = 5

    @property
    def definition(self) -> Definition:
        """What the record is keyed by."""
        return {"study": NAME, "revision": REVISION} | asdict(self)

    @classmethod
    def from_definition(cls, definition: Definition) -> Self:
        """The case that a definition came from."""
        return cls(**{k: v for k, v in definition.items() if k not in ("study", "revision")})

    def world(self) -> SyntheticWorld:
        """Where it takes place."""
        return SyntheticWorld(
            self.setting,
            self.n_features,
            stable=self.stable,
            biased=self.biased,
            bias_on=self.bias_on,
        )


def list_cases(seeds: Sequence[int], *, quick: bool = False) -> list[Case]:
    """All worlds for every seed; ``quick`` has few and small ones, to see that it runs."""
    if quick:
        small: dict[str, Any] = {
            "n": 300,
            "n_features": 10,
            "test_rows": 300,
            "n_encoders": 1,
            "path_length": 2,
            "n_folds": 2,
        }
        return [Case("s_indep_v", "signal", 0.4, 0.4, seed, **small) for seed in seeds]
    worlds = product(seeds, SETTINGS, TARGETS, SHARES)
    return [Case(s, b, stable, biased, seed) for seed, s, b, (stable, biased) in worlds]


# --- which features are noisy -------------------------------------------------------------------


def balancing_weights(case: Case, train: Environment) -> dict[str, FloatArray]:
    """Row weights by kind: none, raw features, one encoder, several encoders."""
    seeds = [child_seed(case.seed, "encoder", k) for k in range(case.n_encoders)]
    single = [balance_rows(train, seed, embedded=True) for seed in seeds]
    several = np.exp(np.mean(np.log(np.maximum(single, 1e-12)), axis=0))
    return {
        "none": np.ones(case.n),
        "raw": balance_rows(train, case.seed, embedded=False),
        "one encoder": single[0],
        "several encoders": several / several.mean(),
    }


def feature_evidence(
    x: FloatArray, y: FloatArray, weights: dict[str, FloatArray], rng: np.random.Generator
) -> dict[str, FloatArray]:
    """Evidence that a feature is stable, by ranking; above one it is called stable."""
    evidence = {
        f"effect, {name}": _effect_z(x, y, w, rng) / EFFECT_Z for name, w in weights.items()
    }
    sample = sample_of_rows(x, y)
    evidence["explaining away"] = compete(sample, BINARY)[0] / CAUSE_Z
    evidence["both"] = np.minimum(evidence["explaining away"], evidence["effect, several encoders"])
    return evidence


def _effect_z(x: FloatArray, y: FloatArray, w: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Size of the weighted effects over their standard errors (Bayesian bootstrap)."""
    draws = np.vstack(
        [weighted_effects(x, y, rng.exponential(size=(20, len(y))) * w) for _ in range(10)]
    )
    return np.asarray(np.abs(weighted_effects(x, y, w[None, :])[0]) / draws.std(axis=0))


def called_noisy(evidence: FloatArray, count: str) -> BoolArray:
    """The half of the features with the least evidence, or all that are not called stable."""
    noisy = evidence <= 1.0
    if count == "lower half" or not noisy.any():
        # Where every feature is called stable, at least the least convincing one is not.
        n_noisy = len(evidence) // 2 if count == "lower half" else 1
        noisy = np.zeros(len(evidence), dtype=bool)
        noisy[np.argsort(evidence)[:n_noisy]] = True
    return noisy


# --- one case -----------------------------------------------------------------------------------


def run_case(definition: Definition) -> Result:
    """Everything about one case: references, candidates, and what every way of tuning chooses."""
    case = Case.from_definition(definition)
    world = case.world()
    train = world.sample(case.n, bias_rate=case.train_rate, random_state=case.seed)
    tests = [world.sample(case.test_rows, bias_rate=r, random_state=case.seed) for r in RATES]
    x, y = np.array(train.X, dtype=np.float64), train.y.astype(np.float64)
    weights = balancing_weights(case, train)
    evidence = feature_evidence(x, y, weights, numpy_generator(case.seed, "effects"))
    used = {name: w for name, w in weights.items() if name != "one encoder"}
    candidates = candidate_list(x, y, used, case.path_length)
    heads = fit_heads(x, y, used, candidates)
    true = Truth.measure(train, tests, heads, world)
    folds = list(_fit_folds(case, x, y, used, candidates))
    stable = np.isin(world.feature_names, world.stable_features)
    ways: dict[str, Any] = {}
    for ranking, count, noisy in _noisy_sets(evidence, stable):
        for kind in KINDS:
            errors = _validation_errors(case, x, y, folds, _changes(kind, noisy))
            ways[f"{ranking} | {count} | {kind}"] = true.judge(errors) | {
                "noisy": int(noisy.sum()),
                "stable_called_noisy": int((noisy & stable).sum()),
            }
    plain = _validation_errors(case, x, y, folds, lambda x, y, rng: iter([(x, np.ones(len(y)))]))
    ways["plain cross-validation | - | -"] = true.judge(plain)
    ways[f"{SEARCH} | its own | redraw"] = true.judge(*_search(case, train, used, candidates))
    aucs = {name: float(roc_auc_score(stable, values)) for name, values in evidence.items()}
    return {"references": true.references, "auc": aucs, "ways": ways}


# --- ways of tuning -----------------------------------------------------------------------------


def _noisy_sets(
    evidence: dict[str, FloatArray], stable: BoolArray
) -> Iterator[tuple[str, str, BoolArray]]:
    for ranking, count in product(evidence, COUNTS):
        yield ranking, count, called_noisy(evidence[ranking], count)
    yield "the truth", "-", ~stable


def _changes(
    kind: str, noisy: BoolArray
) -> Callable[[FloatArray, FloatArray, np.random.Generator], Environments]:
    """Held-out rows -> environments."""

    def one_by_one(x: FloatArray, y: FloatArray, rng: np.random.Generator) -> Environments:
        for j in np.flatnonzero(noisy):
            for rate in RATES:
                yield x, resampling_weights(x[:, [j]], y, rate, least_share=0.0)

    def together(x: FloatArray, y: FloatArray, rng: np.random.Generator) -> Environments:
        return validation_environments(kind, x, y, noisy, rng)

    return one_by_one if kind == "resample one by one" else together


def _fit_folds(
    case: Case,
    x: FloatArray,
    y: FloatArray,
    weights: dict[str, FloatArray],
    candidates: Sequence[Candidate],
) -> Iterator[tuple[NDArray[np.intp], Heads]]:
    """Held-out rows with the candidates fitted on the others."""
    splitter = StratifiedKFold(
        case.n_folds, shuffle=True, random_state=child_seed(case.seed, "folds")
    )
    for train, test in splitter.split(x, y):
        part = {name: w[train] for name, w in weights.items()}
        yield test, fit_heads(x[train], y[train], part, candidates)


def _validation_errors(
    case: Case,
    x: FloatArray,
    y: FloatArray,
    folds: Sequence[tuple[NDArray[np.intp], Heads]],
    changes: Callable[[FloatArray, FloatArray, np.random.Generator], Environments],
) -> FloatArray:
    """RMSE of every candidate in every validation environment, pooled over the folds."""
    squares: Any = 0.0
    totals: Any = 0.0
    for number, (test, heads) in enumerate(folds):
        rng = numpy_generator(case.seed, "redraw", number)
        outcome = y[test]
        sums = [
            (w @ (outcome[:, None] - heads.probability(changed)) ** 2, w.sum())
            for changed, w in changes(x[test], outcome, rng)
        ]
        squares = squares + np.array([s for s, _ in sums])  # (environments, candidates)
        totals = totals + np.array([t for _, t in sums])
    return np.asarray(np.sqrt(squares / totals[:, None]).T)


def _search(
    case: Case,
    train: Environment,
    weights: dict[str, FloatArray],
    candidates: Sequence[Candidate],
) -> tuple[FloatArray, int]:
    """The errors that StableSearchCV finds for the same candidates, and the one it chooses."""
    tables = {name: pd.Series(w, index=train.X.index) for name, w in weights.items()}
    grid = [{name: [value] for name, value in c._asdict().items()} for c in candidates]
    search = StableSearchCV(
        WeightedHead(tables), grid, cv=case.n_folds, refit=False, random_state=case.seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StablepredWarning)
        search.fit(train.X, train.y)
    errors = [search.cv_results_[f"error_r={rate:g}"] for rate in RATES]
    return np.column_stack(errors), search.best_index_
