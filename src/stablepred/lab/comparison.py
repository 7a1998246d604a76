"""The methods fitted in one environment, and the environments that they are compared in."""

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from stablepred.lab.methods import METHODS
from stablepred.validation.environments import RATES
from stablepred.worlds.environment import Environment
from stablepred.worlds.synthetic import SyntheticWorld


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


def least_shrunk(line: pd.DataFrame, stability: float) -> tuple[float, float, float]:
    """The least shrunk point of a line with at most this Stability_Error: share, both errors.

    Where no point is as stable it is the constant.
    """
    stable = line[line["Stability_Error"] <= stability]
    point = (stable if len(stable) else line.iloc[:1]).iloc[[-1]]
    average, deviation = point[["Average_Error", "Stability_Error"]].to_numpy()[0]
    return float(point.index[0]), float(average), float(deviation)


def test_environments(world: SyntheticWorld, rows: int, seed: int) -> list[Environment]:
    """The nine test environments of the paper, r = .1 ... .9."""
    return [world.sample(rows, bias_rate=rate, random_state=seed) for rate in RATES]
