"""The cases of the studies `peers` and `environments`: worlds, methods, training environments.

Seven worlds of 0/1 features and the four continuous ones. The methods are those that
``stablepred.compare`` knows, and LR or OLS on the stable features alone. With one training
environment all of them are run that can do with one; with several, a few methods on pooled rows,
and those that take the labels of the environments.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd

from stablepred._random import child_seed
from stablepred.baselines.methods import SEVERAL, make_method, registered
from stablepred.data import ContinuousWorld, Environment, SyntheticWorld
from studies.records import Definition, Result
from studies.worlds import train_and_test

# Raised when a change of the code changes the environments or what is recorded of them.
REVISION = 2
# Raised when a change of the code changes what a method gives.
REVISIONS = {"stable": 2, "stable (environments)": 2}  # beside the first one

ROWS, TEST_ROWS, QUICK_ROWS = 2000, 5000, 150  # ROWS of all training environments together
RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
WIDE_RATES = (-3.0, -2.0, -1.7, -1.5, -1.3, 1.3, 1.5, 1.7, 2.0, 3.0)
# Bias rates of training, by the number of environments; those of numbers, and of one world alone.
TRAIN_RATES = {1: (0.75,), 2: (0.65, 0.85), 3: (0.55, 0.7, 0.85)}
WIDE_TRAIN_RATES = {1: (1.7,), 2: (1.3, 2.0), 3: (1.3, 1.7, 2.5)}
COLLINEAR_RATE = 2.5
OURS, ORACLE, LABELLED = "stable", "oracle", "stable (environments)"
# Methods that are given the labels of the training environments, under which name.
TAKE_LABELS = {
    LABELLED: "environment",
    "group_dro": "groupdroclassifier__environment",
    "anchor": "anchorregressor__environment",
}

SETTINGS = ("s_indep_v", "s_to_v", "v_to_s")
WORLDS: dict[str, Any] = {
    **{f"{s} outcome": SyntheticWorld(s) for s in SETTINGS},  # type: ignore[arg-type]
    **{f"{s} signal": SyntheticWorld(s, bias_on="signal") for s in SETTINGS},  # type: ignore[arg-type]
    "s_indep_v P(V|S)": SyntheticWorld("s_indep_v", shift="v_given_s"),
    **{f"{s} numbers": ContinuousWorld(s) for s in (*SETTINGS, "collinear")},  # type: ignore[arg-type]
}
IN_SEVERAL = (
    *(f"{setting} outcome" for setting in SETTINGS),
    *("s_indep_v signal", "s_indep_v numbers", "s_to_v numbers"),
)


def is_numeric(world: str) -> bool:
    """Whether the outcome is a number."""
    return isinstance(WORLDS[world], ContinuousWorld)


def compared(world: str, environments: int = 1) -> list[str]:
    """The methods for the outcome of a world and so many training environments."""
    if environments == 1:
        known = registered(numeric=is_numeric(world))
        return [*(name for name in known if name not in SEVERAL), ORACLE]
    few = ("ols", "lasso", "anchor") if is_numeric(world) else ("lr", "lr_cv", "group_dro")
    return ["constant", *few, "boosting", OURS, LABELLED, ORACLE]


@dataclass(frozen=True)
class Case:
    """One method, trained once."""

    world: str
    method: str
    seed: int
    environments: int = 1
    n: int = ROWS
    test_rows: int = TEST_ROWS

    @property
    def definition(self) -> Definition:
        """What the record is keyed by."""
        revision = [REVISION, REVISIONS.get(self.method, 1)]
        return {
            "study": "peers" if self.environments == 1 else "environments",
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
        if self.world.startswith("collinear"):
            return (COLLINEAR_RATE,)
        return (WIDE_TRAIN_RATES if is_numeric(self.world) else TRAIN_RATES)[self.environments]


def list_cases(
    seeds: Iterable[int], *, quick: bool = False, environments: Iterable[int] = (1,)
) -> list[Case]:
    """Every method in every world for every seed."""
    small = {"n": QUICK_ROWS, "test_rows": QUICK_ROWS} if quick else {}
    return [
        Case(world, method, seed, number, **small)
        for number in environments
        for world in (WORLDS if number == 1 else IN_SEVERAL)
        for seed in seeds
        for method in compared(world, number)
    ]


def run_case(definition: Definition) -> Result:
    """Train one method and record its errors in the test environments."""
    case = Case.from_definition(definition)
    world, numeric, method = WORLDS[case.world], is_numeric(case.world), case.method
    train, labels = _sample_training_rows(case, world)
    if method == ORACLE:
        method = "ols" if numeric else "lr_cv"
        train = Environment(train.name, train.X[world.stable_features], train.y)
    options = {TAKE_LABELS[method]: labels} if method in TAKE_LABELS else {}
    method = OURS if method == LABELLED else method
    make = partial(make_method, method, case.seed, numeric=numeric)
    rates = WIDE_RATES if numeric else RATES
    return train_and_test(make, world, train, rates, case.test_rows, case.seed, **options)


def _sample_training_rows(case: Case, world: Any) -> tuple[Environment, list[str]]:
    """The rows of all training environments, about as many of each, and their labels."""
    rates = case.train_rates
    if len(rates) == 1:
        return world.sample(case.n, rates[0], random_state=case.seed), []
    parts = [
        world.sample(case.n // len(rates), r, random_state=child_seed(case.seed, "train", k))
        for k, r in enumerate(rates)
    ]
    X = pd.concat([part.X for part in parts], ignore_index=True)
    y = np.concatenate([part.y for part in parts])
    return Environment("pooled", X, y), [part.name for part in parts for _ in range(len(part.y))]
