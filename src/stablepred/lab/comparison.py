"""Methods side by side: errors per test environment, beside the references."""

import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from stablepred.data.environment import Environment
from stablepred.data.synthetic import SyntheticWorld
from stablepred.evaluation.metrics import average_error, environment_errors, stability_error
from stablepred.evaluation.references import (
    ConstantPredictor,
    Oracle,
    beaten_by_shrinkage,
    gaps_closed,
    shrinkage_line,
)
from stablepred.evaluation.validation import RATES
from stablepred.lab.methods import METHODS


@dataclass(frozen=True)
class Fitted:
    """A fitted method, how long it took and what it warned of."""

    name: str
    model: Any
    seconds: float
    warnings: tuple[str, ...]


def fit(name: str, model: Any, train: Environment) -> Fitted:
    """Fit a model, with its time and warnings."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(train.X, train.y)
    seconds = time.perf_counter() - started
    return Fitted(name, model, seconds, tuple(str(w.message) for w in caught))


def fit_methods(train: Environment, seed: int) -> Iterator[Fitted]:
    """Fit the methods one after the other."""
    for name, method in METHODS.items():
        yield fit(name, method(seed), train)


@dataclass(frozen=True)
class Comparison:
    """Errors of methods and references over test environments.

    Attributes
    ----------
    errors : DataFrame
        One row per method or reference, one column per test environment.
    line : DataFrame
        The shrinkage line of LR (``stablepred.evaluation.references``).
    """

    errors: pd.DataFrame
    line: pd.DataFrame

    def summary(self) -> pd.DataFrame:
        """Average_Error, Stability_Error, gaps closed, and whether shrinkage does better."""
        lr, oracle = self._errors_of("LR"), self._errors_of("oracle")
        rows = []
        for _, errors in self.errors.iterrows():
            gaps = gaps_closed(lr, errors, oracle)
            average, stability = average_error(errors), stability_error(errors)
            rows.append(
                {
                    "Average_Error": average,
                    "Stability_Error": stability,
                    "average gap": gaps.average,
                    "stability gap": gaps.stability,
                    "shrunk wins": beaten_by_shrinkage(errors, self.line),
                }
            )
        return pd.DataFrame(rows, index=self.errors.index)

    def _errors_of(self, name: str) -> pd.Series:
        return self.errors.T[name]

    def shrinkage_as_stable_as(self, name: str) -> tuple[float, float, float]:
        """The least shrunk point of the line as stable as a method: share of LR, both errors."""
        return least_shrunk(self.line, stability_error(self._errors_of(name)))


def least_shrunk(line: pd.DataFrame, stability: float) -> tuple[float, float, float]:
    """The least shrunk point of a line with at most this Stability_Error: share, both errors.

    Where no point is as stable it is the constant.
    """
    stable = line[line["Stability_Error"] <= stability]
    point = (stable if len(stable) else line.iloc[:1]).iloc[[-1]]
    average, deviation = point[["Average_Error", "Stability_Error"]].to_numpy()[0]
    return float(point.index[0]), float(average), float(deviation)


def compare(
    world: SyntheticWorld,
    train: Environment,
    tests: list[Environment],
    fitted: Iterable[Fitted],
) -> Comparison:
    """Evaluate fitted methods and the references on the test environments."""
    models = {item.name: item.model for item in fitted}
    references = {
        "constant": ConstantPredictor(train),
        "oracle": Oracle(train, world.stable_features),
    }
    errors = {name: environment_errors(m, tests) for name, m in (models | references).items()}
    return Comparison(pd.DataFrame(errors).T, shrinkage_line(models["LR"], train, tests))


def test_environments(world: SyntheticWorld, rows: int, seed: int) -> list[Environment]:
    """The nine test environments of the paper, r = .1 ... .9."""
    return [world.sample(rows, bias_rate=rate, random_state=seed) for rate in RATES]
