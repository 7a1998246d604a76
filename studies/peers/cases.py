"""The cases of the study: a world, a method, a seed.

Seven worlds of 0/1 features and the four continuous ones; the methods are those that
``stablepred.compare`` knows, but for the ones that need several training environments, and LR or
OLS on the stable features alone.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from stablepred._random import child_seed
from stablepred.baselines.methods import SEVERAL, make_method, registered
from stablepred.data import ContinuousWorld, Environment, SyntheticWorld
from studies.methods import fit
from studies.records import Definition, Result

NAME = "peers"
# Raised when a change of the code changes the environments or what is recorded of them.
REVISION = 1
# Raised when a change of the code changes what a method gives.
REVISIONS: dict[str, int] = {}

ROWS, TEST_ROWS, QUICK_ROWS = 2000, 5000, 150
RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
WIDE_RATES = (-3.0, -2.0, -1.7, -1.5, -1.3, 1.3, 1.5, 1.7, 2.0, 3.0)
OURS, ORACLE = "stable", "oracle"


def _binary(setting: Any, **options: Any) -> tuple[Any, float, tuple[float, ...]]:
    return SyntheticWorld(setting, **options), 0.75, RATES


def _continuous(setting: Any) -> tuple[Any, float, tuple[float, ...]]:
    return ContinuousWorld(setting), 2.5 if setting == "collinear" else 1.7, WIDE_RATES


SETTINGS = ("s_indep_v", "s_to_v", "v_to_s")
# By name: the world, the training rate, the test rates.
WORLDS: dict[str, tuple[Any, float, tuple[float, ...]]] = {
    **{f"{s} outcome": _binary(s) for s in SETTINGS},
    **{f"{s} signal": _binary(s, bias_on="signal") for s in SETTINGS},
    "s_indep_v P(V|S)": _binary("s_indep_v", shift="v_given_s"),
    **{f"{s} numbers": _continuous(s) for s in (*SETTINGS, "collinear")},
}


def is_numeric(world: str) -> bool:
    """Whether the outcome is a number."""
    return isinstance(WORLDS[world][0], ContinuousWorld)


def compared(world: str) -> list[str]:
    """The methods for the outcome of a world."""
    known = registered(numeric=is_numeric(world))
    return [*(name for name in known if name not in SEVERAL), ORACLE]


@dataclass(frozen=True)
class Case:
    """One method, trained once."""

    world: str
    method: str
    seed: int
    n: int = ROWS
    test_rows: int = TEST_ROWS

    @property
    def definition(self) -> Definition:
        """What the record is keyed by."""
        revision = [REVISION, REVISIONS.get(self.method, 1)]
        return {"study": NAME, "revision": revision, **asdict(self)}

    @classmethod
    def from_definition(cls, definition: Definition) -> Self:
        """The case that a definition came from."""
        return cls(**{name: definition[name] for name in cls.__dataclass_fields__})


def list_cases(seeds: Iterable[int], *, quick: bool = False) -> list[Case]:
    """Every method in every world for every seed."""
    small = {"n": QUICK_ROWS, "test_rows": QUICK_ROWS} if quick else {}
    return [
        Case(world, method, seed, **small)
        for world in WORLDS
        for seed in seeds
        for method in compared(world)
    ]


def run_case(definition: Definition) -> Result:
    """Train one method and record its errors in the test environments."""
    case = Case.from_definition(definition)
    world, rate, rates = WORLDS[case.world]
    numeric = is_numeric(case.world)
    train = world.sample(case.n, rate, random_state=case.seed)
    used, method = list(train.X.columns), case.method
    if method == ORACLE:
        used, method = world.stable_features, "ols" if numeric else "lr_cv"
    own = Environment(train.name, train.X[used], train.y)
    fitted = fit(lambda: make_method(method, case.seed, numeric=numeric), own)
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
        "fit_seconds": round(fitted.seconds, 3),
        "warnings": fitted.warnings,
    }
