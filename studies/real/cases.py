"""The paper's real-data experiments (section 6.3) on public tables.

Its own table, an advertising campaign, is private. The two protocols are the same:

1. *Biased selection*: four features without association with the outcome are tied to it by
   selection, at r = .6 in training and at r = .1 ... .9 in the tests; then every other feature, one
   at a time.
2. *Groups*: environments by age, trained on the youngest; then again with P(Y) held at its rate in
   the whole table. Beyond the paper, groups by year, workclass and source of admission.

The claim is the paper's: of LR, DLR, GBR and DGBR, DGBR has the smallest Stability_Error and no
larger Average_Error than the best of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.evaluation.metrics import average_error, rmse, stability_error
from studies.methods import (
    BALANCED_BOOSTING,
    BOOSTING,
    COMPARED,
    CONSTANT,
    FOUR,
    LR,
    METHODS,
    ORACLE,
    fit,
)
from studies.real.environments import (
    IntArray,
    Situation,
    by_groups,
    by_selection,
    cut_into_groups,
)
from studies.real.features import ASIDE, OUTCOME, BinaryTable, binary_table
from studies.records import Definition, Result
from studies.references import ConstantPredictor, Oracle

FloatArray = NDArray[np.float64]

NAME = "real"
# Raised when a change of the code changes the environments or what is recorded of them.
REVISION = 1

AGE_BOUNDS = (20, 30, 40, 50, 100)
YOUNGEST = "[20,30)"
ADMISSION_SOURCES = {
    "1": "physician referral",
    "2": "clinic referral",
    "4": "another hospital",
    "5": "nursing facility",
    "6": "other facility",
    "7": "emergency room",
    "17": "not recorded",
}
SHRINKAGE = np.linspace(0, 1, 21)
EVERYWHERE = (*COMPARED, BOOSTING, BALANCED_BOOSTING, CONSTANT)


@dataclass(frozen=True)
class Design:
    """One table and one way to make environments of it."""

    protocol: Literal["selection", "groups"]
    dataset: str
    by: str = ""  # the column that makes the groups
    train_group: str = ""
    fix_rate: bool = False
    n_noisy: int = 4
    train_rate: float = 0.6

    @property
    def title(self) -> str:
        """Its name in tables and plots."""
        if self.protocol == "selection":
            return f"{self.dataset}, biased selection"
        column = self.by.lower().removesuffix("_id").replace("_", " ")
        return f"{self.dataset} by {column}" + (", P(Y) held" if self.fix_rate else "")

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods and references; the oracle needs to know the noisy features."""
        return (*EVERYWHERE, ORACLE) if self.protocol == "selection" else EVERYWHERE


BY_SELECTION = tuple(
    Design("selection", name)
    for name in ("bank", "bank-additional", "adult", "credit", "diabetes", "breast-cancer")
)
BY_AGE = tuple(
    Design("groups", name, ASIDE[name][0], YOUNGEST, fix_rate=fixed)
    for fixed in (False, True)
    for name in ("bank", "bank-additional", "adult", "credit")
)
BY_NATURE = (
    Design("groups", "bank", "year", "2008"),
    Design("groups", "adult", "workclass", "Private"),
    Design("groups", "diabetes", "admission_source_id", ADMISSION_SOURCES["7"]),
)
DESIGNS = (*BY_SELECTION, *BY_AGE, *BY_NATURE)
QUICK = (Design("selection", "breast-cancer"),)
QUICK_METHODS = (*FOUR, CONSTANT, ORACLE)


@dataclass(frozen=True)
class Case:
    """One method, trained once."""

    design: Design
    method: str
    seed: int

    @property
    def definition(self) -> Definition:
        """What the record is keyed by."""
        return {
            "study": NAME,
            "revision": REVISION,
            **asdict(self.design),
            "method": self.method,
            "method revision": METHODS[self.method].revision if self.method in METHODS else 1,
            "settings": METHODS[self.method].settings() if self.method in METHODS else {},
            "seed": self.seed,
        }

    @classmethod
    def from_definition(cls, definition: Definition) -> Self:
        """The case that a definition came from."""
        design = Design(**{name: definition[name] for name in Design.__dataclass_fields__})
        return cls(design, definition["method"], definition["seed"])


def list_cases(seeds: Iterable[int], *, quick: bool = False) -> list[Case]:
    """Every method in every study for every seed; ``quick`` needs no file and takes seconds."""
    return [
        Case(design, method, seed)
        for design in (QUICK if quick else DESIGNS)
        for seed in seeds
        for method in design.methods
        if not quick or method in QUICK_METHODS
    ]


@lru_cache(maxsize=1)
def situation(design: Design, seed: int) -> Situation:
    """The environments, which all methods share."""
    if design.protocol == "selection":
        table = binary_table(design.dataset)
        return by_selection(table, design.n_noisy, design.train_rate, seed)
    also = () if design.by in ASIDE[design.dataset] else (design.by,)
    table = binary_table(design.dataset, also)
    return by_groups(table, _groups(table, design.by), design.train_group, design.fix_rate, seed)


def _groups(table: BinaryTable, by: str) -> pd.Series:
    """The group of every row; rows of no group are missing."""
    column = table.aside[by]
    if by.lower() == "age":
        return cut_into_groups(column, AGE_BOUNDS)
    names = column.astype(str).where(column.notna(), "not given")
    if by == "admission_source_id":
        names = names.map(ADMISSION_SOURCES)
    return names.astype("category")


def run_case(definition: Definition) -> Result:
    """Train one method in one environment and record its errors in all others."""
    case = Case.from_definition(definition)
    where = situation(case.design, case.seed)
    fitted = fit(lambda: _make(case, where), where.train)
    probability = fitted.model.predict_proba(where.rows.drop(columns=OUTCOME))[:, 1]
    y = where.rows[OUTCOME].to_numpy()
    rate = float(where.train.y.mean())
    one_by_one = {
        name: list(_errors(probability, y, tests).values())
        for name, tests in where.one_by_one.items()
    }
    result: Result = {
        "errors": _errors(probability, y, where.tests),
        "errors at the training rate": _errors(probability, y, where.tests, rate),
        "one by one": one_by_one,
        "effective share": fitted.effective_share,
        "stable": fitted.stable_features,
        "features": list(where.train.X.columns),
        "noisy": dict(where.noisy),
        "rows": {"train": len(where.train)} | {n: len(rows) for n, rows in where.tests.items()},
        "rates": {"train": rate} | {n: float(y[rows].mean()) for n, rows in where.tests.items()},
        "fit_seconds": round(fitted.seconds, 2),
        "warnings": fitted.warnings,
    }
    if case.method == LR:
        result["shrinkage"] = [
            both_errors(_errors(a * probability + (1 - a) * rate, y, where.tests))
            for a in SHRINKAGE
        ]
    return result


def _make(case: Case, where: Situation) -> Any:
    """The unfitted method, or a reference; the oracle alone is told which features are noisy."""
    train = where.train
    if case.method == CONSTANT:
        return ConstantPredictor(train)
    if case.method == ORACLE:
        return Oracle(train, [str(column) for column in train.X if column not in where.noisy])
    return METHODS[case.method](case.seed)


def _errors(
    probability: FloatArray, y: IntArray, tests: Mapping[str, IntArray], rate: float | None = None
) -> dict[str, float]:
    """RMSE in every test environment, as it is or as if its P(Y) were ``rate``."""
    return {name: _error(probability[rows], y[rows], rate) for name, rows in tests.items()}


def _error(probability: FloatArray, y: IntArray, rate: float | None) -> float:
    if rate is None:
        return rmse(y, probability)
    squares = (y - probability) ** 2
    ones = y == 1
    return float(np.sqrt(rate * squares[ones].mean() + (1 - rate) * squares[~ones].mean()))


def both_errors(errors: Mapping[str, float] | Sequence[float]) -> tuple[float, float]:
    """Average_Error and Stability_Error."""
    return average_error(errors), stability_error(errors)
