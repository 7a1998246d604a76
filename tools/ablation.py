"""What each rule of StableClassifier contributes: one of them switched off at a time.

    STABLEPRED_DATA=folder python -m tools.ablation

Prints Average_Error / Stability_Error in synthetic worlds (n = 2000), the change against logistic
regression on tables with natural environments (at most 1000 rows of one environment, tested in all
others), and how often a variable with probability_noisy >= .9 is noisy. Of the worlds of 0/1
features r is .75, or .85 where it says so or P(V|S) shifts, and .1 ... .9 in the tests; of those of
numbers it is 1.7, and -3 ... 3 in the tests. Development seeds only.
"""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

from stablepred import (
    StableClassifier,
    StableRegressor,
    average_error,
    environment_errors,
    stability_error,
)
from stablepred.core.ridge import Linear
from stablepred.data import ContinuousWorld, SyntheticWorld
from stablepred.evaluation.metrics import rmse
from stablepred.evidence.explaining_away import CAUSE_Z, ExplainingAway
from stablepred.evidence.verdict import NOISY
from studies.methods import LR
from studies.natural.methods import make_method
from studies.natural.tables import NATURAL, NaturalTable, load_table

SEEDS, ROWS, TEST_ROWS = range(2), 2000, 5000
TABLE_ROWS, LEAST_TRAINED, LEAST_TESTED, MOST_TRAINED = 1000, 150, 100, 3
RATES = tuple(r / 10 for r in range(1, 10))
NUMBER_RATES = tuple(sign * r for r in (3.0, 2.0, 1.7, 1.5, 1.3) for sign in (1, -1))
WORLDS: dict[str, tuple[Any, float]] = {
    "S⊥V outcome": (SyntheticWorld("s_indep_v"), 0.75),
    "S⊥V signal .85": (SyntheticWorld("s_indep_v", bias_on="signal"), 0.85),
    "S→V outcome": (SyntheticWorld("s_to_v"), 0.75),
    "V→S outcome": (SyntheticWorld("v_to_s"), 0.75),
    "P(V|S) S⊥V": (SyntheticWorld("s_indep_v", shift="v_given_s"), 0.85),
    "P(V|S) S→V": (SyntheticWorld("s_to_v", shift="v_given_s"), 0.85),
    "P(V|S) V→S": (SyntheticWorld("v_to_s", shift="v_given_s"), 0.85),
    "numbers S⊥V": (ContinuousWorld("s_indep_v"), 1.7),
    "numbers S→V": (ContinuousWorld("s_to_v"), 1.7),
}
REFERENCE = "LR; OLS of numbers"
JUDGE = ExplainingAway.__call__


def judge_absence_as_noise(self: ExplainingAway, sample: Any, w: Any) -> Any:
    """Explaining away that takes every variable without a convincing z for noisy."""
    found = JUDGE(self, sample, w)
    if found is None or found.leaning is None:
        return found
    return replace(found, leaning=np.where(found.score > CAUSE_Z, found.leaning, 1.0))


def replaced(path: str, by: Any) -> Callable[[], AbstractContextManager[Any]]:
    """A function or number of the package replaced by another one."""
    return lambda: patch(f"stablepred.{path}", by)


@dataclass(frozen=True)
class Variant:
    """The method with one rule off."""

    off: Callable[[], AbstractContextManager[Any]] = nullcontext
    guard: bool = True


VARIANTS = {
    "full method": Variant(),
    "no pattern check": Variant(replaced("evidence.explaining_away.judge_pattern", lambda *_: 1.0)),
    "absence is noise": Variant(
        replaced("evidence.explaining_away.ExplainingAway.__call__", judge_absence_as_noise)
    ),
    "no guard": Variant(guard=False),
    "no sufficient set": Variant(replaced("heads.guard.Guard._find_sufficient", lambda *_: None)),
    "no products": Variant(
        lambda: patch.multiple(
            "stablepred.heads.default",
            choose_pairs=lambda outcome, sample, everywhere=False: Linear(outcome),
            has_triples=lambda *_: False,
        )
    ),
    "no boosting": Variant(replaced("heads.guard.add_boosting", lambda _, __, base: base)),
    "one model, no mixture": Variant(replaced("heads.default.LEAST_SHARE", 0.5)),
    "least loss, not usual": Variant(
        replaced("heads.default._move_to_usual", lambda _, __, best, ___, ____: best)
    ),
    "weak products, too": Variant(replaced("heads.default.LEAST_GAIN", -np.inf)),
    "straight beyond training": Variant(replaced("tables.learning.SOFT", 1e6)),
    "clipped to training": Variant(replaced("tables.learning.SOFT", 1e-6)),
    "no fading out": Variant(replaced("core.ridge.Support.share", lambda _, x: x.new_ones(len(x)))),
}


class Calibration:
    """How many variables are called noisy, by what they are."""

    def __init__(self) -> None:
        self.counts = np.zeros(4, dtype=int)

    def add(self, variables: Any, noisy: Any, biased: Any) -> None:
        """Count the variables of one fit."""
        called = variables["probability_noisy"] >= NOISY
        name = variables["variable"]
        is_noisy, is_biased = name.isin(noisy), name.isin(biased)
        self.counts += [
            called.sum(),
            (called & is_noisy).sum(),
            is_biased.sum(),
            (called & is_biased).sum(),
        ]


def run_worlds() -> None:
    """Print both errors of every variant in every world, then the calibration."""
    errors: dict[str, list[str]] = {name: [] for name in [REFERENCE, *VARIANTS]}
    calibration = {title: Calibration() for title in WORLDS}
    for title, (world, rate) in WORLDS.items():
        pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in errors}
        numeric = isinstance(world, ContinuousWorld)
        make: Any = StableRegressor if numeric else StableClassifier
        linear: Any = LinearRegression() if numeric else LogisticRegression()
        for seed in SEEDS:
            train = world.sample(ROWS, bias_rate=rate, random_state=seed)
            tests = [
                world.sample(TEST_ROWS, bias_rate=r, random_state=1_000_000 + seed)
                for r in (NUMBER_RATES if numeric else RATES)
            ]
            found = environment_errors(linear.fit(train.X, train.y), tests)
            pairs[REFERENCE].append((average_error(found), stability_error(found)))
            for name, variant in VARIANTS.items():
                with variant.off():
                    model = make(guard=variant.guard, random_state=seed)
                    found = environment_errors(model.fit(train.X, train.y), tests)
                pairs[name].append((average_error(found), stability_error(found)))
                if name == "full method":
                    noisy = set(train.X.columns) - set(world.stable_features)
                    calibration[title].add(model.variables_, noisy, world.biased_features)
        for name, some in pairs.items():
            average, stability = np.mean(some, axis=0)
            errors[name].append(f"{average:.3f} / {stability:.3f}")
    print_table(list(WORLDS), errors)
    print(f"\n{'':16}called noisy  of these noisy  biased  of these called noisy")
    for title, one in calibration.items():
        called, right, biased, caught = one.counts
        print(f"{title:16}{called:12}{right:16}{biased:8}{caught:23}", flush=True)


def run_tables() -> None:
    """Print the change against LR of every variant on every table, averaged over environments."""
    changes: dict[str, list[float]] = {name: [] for name in VARIANTS}
    called = variables = left_out = fits = 0
    for title in NATURAL:
        table = load_table(title)
        sums: dict[str, list[float]] = {name: [] for name in VARIANTS}
        for train, tests in splits(table):
            lr = make_method(LR, 0).fit(table.X.iloc[train], table.y[train])
            reference = mean_error(lr, table, tests)
            for name, variant in VARIANTS.items():
                with variant.off():
                    model = StableClassifier(guard=variant.guard, random_state=0)
                    model.fit(table.X.iloc[train], table.y[train])
                    sums[name].append(mean_error(model, table, tests) - reference)
                if name == "full method":
                    called += int((model.variables_["probability_noisy"] >= NOISY).sum())
                    variables += len(model.variables_)
                    left_out += not model.used_features_.all()
                    fits += 1
        for name, some in sums.items():
            changes[name].append(float(np.mean(some)))
    rows = {
        name: [f"{change:+.4f}" for change in [np.mean(some), max(some), *some]]
        for name, some in changes.items()
    }
    print()
    print_table(["mean", "worst", *NATURAL], rows, 10)
    print(
        f"\n{called} of {variables} variables have probability_noisy >= {NOISY}; "
        f"variables are left out in {left_out} of {fits} fits"
    )


def splits(table: NaturalTable) -> list[tuple[np.ndarray, list[np.ndarray]]]:
    """Rows of at most three training environments, and of all other environments, for each."""
    names, counts = np.unique(table.environment, return_counts=True)
    found = []
    for one in names[counts >= LEAST_TRAINED][:MOST_TRAINED]:
        own = np.flatnonzero(table.environment == one)
        train = np.sort(np.random.default_rng(0).permutation(own)[:TABLE_ROWS])
        others = names[(counts >= LEAST_TESTED) & (names != one)]
        found.append((train, [np.flatnonzero(table.environment == other) for other in others]))
    return found


def mean_error(model: Any, table: NaturalTable, tests: list[np.ndarray]) -> float:
    """Average_Error over the other environments."""
    p = model.predict_proba(table.X)[:, 1]
    return float(np.mean([rmse(table.y[rows], p[rows]) for rows in tests]))


def print_table(columns: list[str], rows: dict[str, list[str]], width: int = 16) -> None:
    """Aligned columns, as many side by side as a wide window holds."""
    most = 100 // width
    for part in [slice(k, k + most) for k in range(0, len(columns), most)]:
        print(" " * 22 + "".join(title.rjust(width) for title in columns[part]))
        for name, cells in rows.items():
            print(f"{name:22}" + "".join(cell.rjust(width) for cell in cells[part]), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run_worlds()
    run_tables()
