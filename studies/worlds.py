"""Studies in synthetic worlds: methods that are trained once per seed and tested at many rates."""

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from stablepred._random import child_seed
from stablepred.worlds.environment import Environment
from studies.methods import fit
from studies.records import Definition, Records, Result
from studies.study import Study, Tables
from studies.tables import ERRORS, mean_interval


def train_and_test(
    make: Callable[[], Any],
    world: Any,
    train: Environment,
    rates: Sequence[float],
    rows: int,
    seed: int,
    **options: Any,
) -> Result:
    """Errors of one method at every test rate; ``train`` has the columns that it is given."""
    fitted, names, errors = fit(make, train, **options), list(train.X.columns), []
    model = fitted.model
    for test in sample_tests(world, tuple(rates), rows, seed):
        X = test.X[names]
        found = model.predict_proba(X)[:, 1] if hasattr(model, "classes_") else model.predict(X)
        errors.append(float(np.sqrt(np.mean((found - test.y) ** 2))))
    stable = fitted.stable_features
    both = set(stable or []) & set(world.stable_features)
    size = len(stable or []) + len(world.stable_features)
    return {
        "errors": errors,
        "average": float(np.mean(errors)),
        "stability": float(np.std(errors, ddof=1)),
        "f1": None if stable is None else 2 * len(both) / size,  # of the features found stable
        "fit_seconds": round(fitted.seconds, 3),
        "warnings": fitted.warnings,
    }


@lru_cache(maxsize=1)
def sample_tests(world: Any, rates: tuple[float, ...], rows: int, seed: int) -> list[Environment]:
    """The test environments, which the methods of one world and seed share."""
    seed = child_seed(seed, "test")
    return [world.sample(rows, r, random_state=seed) for r in rates]


class WorldStudy(Study):
    """A study whose cases differ in `key` and the seed."""

    key: ClassVar[tuple[str, ...]]  # fields of a case
    numbers: ClassVar[tuple[str, ...]] = ()  # of a record, beside errors and seconds
    list_cases: ClassVar[Callable[..., list[Any]]]

    @cached_property
    def cases(self) -> list[Any]:
        """Every method in every world for every seed."""
        return type(self).list_cases(self.seeds, quick=self.quick)

    @property
    def definitions(self) -> list[Definition]:
        """What the records are keyed by."""
        return [case.definition for case in self.cases]

    def tables(self, records: Records) -> Tables:
        """One row per run; means over seeds, with half the width of their intervals.

        The seconds are the median, since a fit may have to wait for other programs.
        """
        rows = []
        for case in self.cases:
            result = records[case.definition]
            own = {name: getattr(case, name) for name in (*self.key, "seed")}
            rows.append(
                own | {name: result[name] for name in (*ERRORS, *self.numbers, "fit_seconds")}
            )
        runs, means = pd.DataFrame(rows), []
        for key, part in runs.groupby(list(self.key), sort=False):
            row = dict(zip(self.key, key, strict=True))
            for name, title in ERRORS.items():
                row[title], row[f"{title} ±"] = mean_interval(part[name])
            means.append(row | {name: part[name].mean() for name in self.numbers})
            means[-1]["seconds"] = part["fit_seconds"].median()
        return {"runs": runs, "": pd.DataFrame(means)}
