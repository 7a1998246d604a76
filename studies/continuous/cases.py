"""The cases of the study: a setting, a number of rows, a method, a seed."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import stablepred
from stablepred.worlds.continuous import SETTINGS, ContinuousWorld
from stablepred.worlds.environment import Environment
from studies.methods import BOOSTING, CONSTANT
from studies.records import Definition, Result
from studies.worlds import train_and_test

NAME = "continuous"
# Raised when a change of the code changes the environments or what is recorded of them.
REVISION = 1
SIZES = (1000, 2000, 5000)
RATES = (-3.0, -2.0, -1.7, -1.5, -1.3, 1.3, 1.5, 1.7, 2.0, 3.0)
TEST_ROWS = 5000

OLS, LASSO, BALANCED = "OLS", "lasso", "OLS + weights"
OURS, OURS_BOOSTING = "Stable", "Stable + boosting"
ORACLE_OLS, ORACLE_BOOSTING = "oracle OLS", "oracle boosting"


def _stable(seed: int, estimator: Any = None) -> Any:
    return stablepred.StableRegressor(estimator, random_state=seed)


# Seed -> unfitted estimator; the oracles are given the stable features alone.
METHODS: dict[str, Callable[[int], Any]] = {
    CONSTANT: lambda seed: DummyRegressor(),
    OLS: lambda seed: LinearRegression(),
    LASSO: lambda seed: make_pipeline(StandardScaler(), LassoCV(cv=5, random_state=seed)),
    BOOSTING: lambda seed: HistGradientBoostingRegressor(random_state=seed),
    BALANCED: lambda seed: stablepred.BalancedRegressor(LinearRegression()),
    OURS: _stable,
    OURS_BOOSTING: lambda seed: _stable(seed, HistGradientBoostingRegressor(random_state=seed)),
    ORACLE_OLS: lambda seed: LinearRegression(),
    ORACLE_BOOSTING: lambda seed: HistGradientBoostingRegressor(random_state=seed),
}
ORACLES = (ORACLE_OLS, ORACLE_BOOSTING)
WORLDS = {setting: ContinuousWorld(setting) for setting in SETTINGS}  # type: ignore[arg-type]
# Raised when a change of the code changes what a method gives.
REVISIONS = {OURS: 4, OURS_BOOSTING: 3}


@dataclass(frozen=True)
class Case:
    """One method, trained once."""

    setting: str
    n: int
    method: str
    seed: int
    test_rows: int = TEST_ROWS
    rates: tuple[float, ...] = RATES

    @property
    def definition(self) -> Definition:
        """What the record is keyed by."""
        return {
            "study": NAME,
            "revision": [REVISION, REVISIONS.get(self.method, 1)],
            **asdict(self),
            "rates": list(self.rates),
        }

    @classmethod
    def from_definition(cls, definition: Definition) -> Self:
        """The case that a definition came from."""
        values = {name: definition[name] for name in cls.__dataclass_fields__}
        return cls(**values | {"rates": tuple(values["rates"])})

    @property
    def train_rate(self) -> float:
        """The bias rate of the training environment."""
        return 2.5 if self.setting == "collinear" else 1.7


def list_cases(seeds: Iterable[int], *, quick: bool = False) -> list[Case]:
    """Every method in every world for every seed."""
    small = {"test_rows": 200, "rates": (-2.0, 2.0)} if quick else {}
    return [
        Case(setting, n, method, seed, **small)  # type: ignore[arg-type]
        for setting in SETTINGS
        for n in ((300,) if quick else SIZES)
        for seed in seeds
        for method in METHODS
    ]


def run_case(definition: Definition) -> Result:
    """Train one method and record its errors in the test environments."""
    case = Case.from_definition(definition)
    world = WORLDS[case.setting]
    train = world.sample(case.n, case.train_rate, random_state=case.seed)
    used = world.stable_features if case.method in ORACLES else world.feature_names
    own = Environment(train.name, train.X[used], train.y)
    make = partial(METHODS[case.method], case.seed)
    return train_and_test(make, world, own, case.rates, case.test_rows, case.seed)
