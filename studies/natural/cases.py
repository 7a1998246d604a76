"""The cases of the study: a table, a training environment, at most so many rows, a method, a seed.

Every environment with at least 150 rows is the training environment in turn; the errors are those
in all others with at least 100 rows. Training is on at most 1,000 rows and, where there are more,
on all of them: those are the same for every seed, so there the first seed is the only one.
"""

import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.evaluation.metrics import rmse
from stablepred.exceptions import StablepredWarning
from studies.methods import CONSTANT, Fitted, fit
from studies.natural.methods import (
    COMPARED,
    FIRST_SEED_ONLY,
    KNOWN,
    ON_ALL_ROWS,
    make_method,
    settings,
)
from studies.natural.tables import (
    BY_AGE,
    ENVIRONMENTS,
    MADE_UP,
    NATURAL,
    NaturalTable,
    load_table,
)
from studies.records import Definition, Result
from studies.references import ConstantPredictor

NAME = "natural"
# Raised when a change of the code changes the environments or what is recorded of them.
REVISION = 1

LEAST_TRAINED, LEAST_TESTED = 150, 100
MOST_ROWS, QUICK_ROWS = 1000, 150
MOST_SEEDS = 3
CLIP = 1e-7


@dataclass(frozen=True)
class Case:
    """One method, trained once; ``most_rows`` is None where all rows are used."""

    table: str
    environment: str
    most_rows: int | None
    method: str
    seed: int

    @property
    def definition(self) -> Definition:
        """What the record is keyed by."""
        return {
            "study": NAME,
            "revision": REVISION,
            **asdict(self),
            "method revision": KNOWN[self.method].revision if self.method in KNOWN else 1,
            "settings": settings(self.method),
        }

    @classmethod
    def from_definition(cls, definition: Definition) -> Self:
        """The case that a definition came from."""
        return cls(**{name: definition[name] for name in cls.__dataclass_fields__})


def list_cases(seeds: Iterable[int], *, quick: bool = False) -> list[Case]:
    """Every method in every training environment for at most three seeds."""
    most = QUICK_ROWS if quick else MOST_ROWS
    return [
        Case(table, environment, cap, method, seed)
        for table in (MADE_UP if quick else NATURAL | BY_AGE)
        for environment, rows in ENVIRONMENTS[table].items()
        if rows >= LEAST_TRAINED
        for cap in ((most, None) if rows > most else (most,))
        for number, seed in enumerate(list(seeds)[:MOST_SEEDS])
        for method in (ON_ALL_ROWS if quick or cap is None else COMPARED)
        if number == 0 or (cap is not None and method not in FIRST_SEED_ONLY)
    ]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one environment."""

    name: str
    X: pd.DataFrame
    y: NDArray[np.int64]


def run_case(definition: Definition) -> Result:
    """Train one method in one environment and record its errors in all others."""
    case = Case.from_definition(definition)
    table = load_table(case.table)
    own = np.flatnonzero(table.environment == case.environment)
    drawn = np.random.default_rng(case.seed).permutation(own)
    trained, left = np.sort(drawn[: case.most_rows]), drawn[case.most_rows or len(own) :]
    train = take_rows(table, case.environment, trained)
    fitted = fit(lambda: make(case, train), train)
    tests = [
        name
        for name, rows in ENVIRONMENTS[case.table].items()
        if name != case.environment and rows >= LEAST_TESTED
    ]
    return measure(fitted, train, table, tests, left)


def take_rows(table: NaturalTable, name: str, rows: NDArray[np.intp]) -> Rows:
    """Some rows of a table as an environment."""
    return Rows(name, table.X.iloc[rows].reset_index(drop=True), table.y[rows])


def measure(
    fitted: Fitted,
    train: Rows,
    table: NaturalTable,
    tests: Iterable[str],
    left: NDArray[np.intp] | None = None,
) -> Result:
    """Errors in the test environments, and in the rows ``left`` of the training environment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StablepredWarning)  # values never seen in training
        probability = fitted.model.predict_proba(table.X)[:, 1]
    rows = {name: np.flatnonzero(table.environment == name) for name in tests}
    enough = left is not None and len(left) >= LEAST_TESTED
    return {
        "errors": {name: rmse(table.y[i], probability[i]) for name, i in rows.items()},
        "log-loss": {name: _log_loss(table.y[i], probability[i]) for name, i in rows.items()},
        "error at home": rmse(table.y[left], probability[left]) if enough else None,
        "rows": len(train.y),
        "rate": float(train.y.mean()),
        **_describe(fitted.model),
        "fit_seconds": round(fitted.seconds, 2),
        "warnings": fitted.warnings,
    }


def make(case: Case, train: Rows) -> Any:
    """The unfitted method, or the constant."""
    if case.method == CONSTANT:
        return ConstantPredictor(train)
    return make_method(case.method, case.seed)


def _log_loss(y: NDArray[np.int64], p: NDArray[np.float64]) -> float:
    p = np.clip(p, CLIP, 1 - CLIP)
    return float(-np.mean(np.where(y == 1, np.log(p), np.log1p(-p))))


def _describe(model: Any) -> Result:
    """What the model left out, and why."""
    variables = getattr(model, "variables_", None)
    if variables is None:
        return {}
    dropped = variables.loc[~variables["used"], "variable"].tolist()
    return {"dropped": dropped, "variables": len(variables), "reason": model.decision_.reason}
