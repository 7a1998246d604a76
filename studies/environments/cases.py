"""The cases of the study: a world, two or three training environments, a method, a seed."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from stablepred._random import child_seed
from stablepred.baselines.methods import registered
from stablepred.data import Environment
from studies.methods import fit
from studies.peers.cases import ORACLE, TEST_ROWS, WORLDS, is_numeric
from studies.records import Definition, Result

NAME = "environments"
# Raised when a change of the code changes the environments or what is recorded of them.
REVISION = 1
# Raised when a change of the code changes what a method gives.
REVISIONS: dict[str, int] = {}

USED = (
    *(f"{setting} outcome" for setting in ("s_indep_v", "s_to_v", "v_to_s")),
    *("s_indep_v signal", "s_indep_v numbers", "s_to_v numbers"),
)
ROWS, QUICK_ROWS = 2000, 200  # of all training environments together
TRAIN_RATES = {2: (0.65, 0.85), 3: (0.55, 0.7, 0.85)}
WIDE_TRAIN_RATES = {2: (1.3, 2.0), 3: (1.3, 1.7, 2.5)}
LABELLED = "stable (environments)"
TAKE_LABELS = (LABELLED, "group_dro", "anchor")


def compared(world: str) -> tuple[str, ...]:
    """The methods for the outcome of a world."""
    if is_numeric(world):
        return "constant", "ols", "lasso", "boosting", "anchor", "stable", LABELLED, ORACLE
    return "constant", "lr", "lr_cv", "boosting", "group_dro", "stable", LABELLED, ORACLE


@dataclass(frozen=True)
class Case:
    """One method, trained once."""

    world: str
    environments: int
    method: str
    seed: int
    n: int = ROWS
    test_rows: int = TEST_ROWS

    @property
    def definition(self) -> Definition:
        """What the record is keyed by."""
        revision = [REVISION, REVISIONS.get(self.method, 1)]
        return {
            "study": NAME,
            "revision": revision,
            "rates": list(self.train_rates),
            **asdict(self),
        }

    @classmethod
    def from_definition(cls, definition: Definition) -> Self:
        """The case that a definition came from."""
        return cls(**{name: definition[name] for name in cls.__dataclass_fields__})

    @property
    def train_rates(self) -> tuple[float, ...]:
        """The bias rates of the training environments."""
        return (WIDE_TRAIN_RATES if is_numeric(self.world) else TRAIN_RATES)[self.environments]


def list_cases(seeds: Iterable[int], *, quick: bool = False) -> list[Case]:
    """Every method in every world, with two and with three training environments."""
    small = {"n": QUICK_ROWS, "test_rows": QUICK_ROWS} if quick else {}
    return [
        Case(world, environments, method, seed, **small)
        for environments in TRAIN_RATES
        for world in USED
        for seed in seeds
        for method in compared(world)
    ]


def run_case(definition: Definition) -> Result:
    """Train one method and record its errors in the test environments."""
    case = Case.from_definition(definition)
    (world, _, rates), numeric = WORLDS[case.world], is_numeric(case.world)
    train, labels = _sample_training_rows(case, world)
    used, name = list(train.X.columns), "stable" if case.method == LABELLED else case.method
    if case.method == ORACLE:
        used, name = world.stable_features, "ols" if numeric else "lr_cv"
    options = {"environment": labels} if case.method in TAKE_LABELS else {}
    own = Environment(train.name, train.X[used], train.y)
    fitted = fit(lambda: registered(numeric=numeric)[name](case.seed), own, **options)
    seed, errors = child_seed(case.seed, "test"), []
    for r in rates:
        test = world.sample(case.test_rows, r, random_state=seed)
        X = test.X[used]
        predicted = fitted.model.predict(X) if numeric else fitted.model.predict_proba(X)[:, 1]
        errors.append(float(np.sqrt(np.mean((predicted - test.y) ** 2))))
    return {
        "errors": errors,
        "average": float(np.mean(errors)),
        "stability": float(np.std(errors, ddof=1)),
        "f1": _score(fitted.stable_features, world.stable_features),
        "fit_seconds": round(fitted.seconds, 3),
        "warnings": fitted.warnings,
    }


def _sample_training_rows(case: Case, world: Any) -> tuple[Environment, list[str]]:
    """The rows of all training environments, about as many of each, and their labels."""
    rates = case.train_rates
    parts = [
        world.sample(case.n // len(rates), r, random_state=child_seed(case.seed, "train", k))
        for k, r in enumerate(rates)
    ]
    X = pd.concat([part.X for part in parts], ignore_index=True)
    y = np.concatenate([part.y for part in parts])
    return Environment("pooled", X, y), [part.name for part in parts for _ in range(len(part.y))]


def _score(found: list[str] | None, true: list[str]) -> float | None:
    """F1 of the features that were found stable."""
    if found is None:
        return None
    return 2 * len(set(found) & set(true)) / (len(found) + len(true))
