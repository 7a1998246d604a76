"""What breaks a model: features whose link to the outcome differs between two environments."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from stablepred._random import numpy_generator
from stablepred.evaluation.metrics import Metric
from stablepred.evaluation.predictions import (
    FloatArray,
    PlainTable,
    Table,
    is_binary,
    predict_outcomes,
)
from stablepred.exceptions import InputError
from stablepred.preprocessing import Dichotomizer
from stablepred.validation.environments import column_values


def rank_breakers(model: Any, best: Table, worst: Table, metric: Metric, seed: int) -> pd.DataFrame:
    """Harm of every feature in the worst environment, sorted."""
    rows = []
    for name in best.X.columns:
        # By name, so that a feature's draws do not depend on the other columns.
        uniforms = numpy_generator(seed, "restore", str(name)).random(len(worst.y))
        errors = []
        for source in (worst, best):
            drawn = worst.X.copy()
            drawn[name] = _draw_given_outcome(source, worst, name, uniforms)
            table = PlainTable(worst.name, drawn, worst.y)
            errors.append(metric.error(table, predict_outcomes(model, [table])[worst.name]))
        rows.append((name, _association(best, name), _association(worst, name), *errors))
    columns = ["feature", "association_best", "association_worst"]
    frame = pd.DataFrame(rows, columns=[*columns, "error_redrawn", "error_restored"])
    frame["harm"] = frame["error_redrawn"] - frame["error_restored"]
    return frame.sort_values("harm", ascending=False, kind="stable", ignore_index=True)


def _draw_given_outcome(source: Table, worst: Table, name: Any, uniforms: FloatArray) -> pd.Series:
    """Values of a feature for the rows of ``worst``, drawn in ``source`` given the outcome."""
    # Both columns one below the other keep their type, be it numbers, text or categories.
    both = pd.concat([worst.X[name], source.X[name]], ignore_index=True)
    chosen = np.arange(len(worst.y))
    there, here = _strata(source, worst)
    for stratum in np.unique(here):
        pool = np.flatnonzero(there == stratum) + len(worst.y)
        rows = np.flatnonzero(here == stratum)
        if len(pool):
            # Sorted, so that the same uniforms give like values from both environments.
            codes, _ = pd.factorize(both.iloc[pool], sort=True, use_na_sentinel=False)
            pool = pool[np.argsort(codes, kind="stable")]
            chosen[rows] = pool[(uniforms[rows] * len(pool)).astype(np.intp)]
    return both.iloc[chosen].set_axis(worst.X.index)


def _strata(source: Table, worst: Table) -> list[npt.NDArray[Any]]:
    """The outcome of both tables: as it is if 0/1, else its tenths of both together."""
    outcomes = [np.asarray(source.y), np.asarray(worst.y)]
    if is_binary([source, worst]):
        return outcomes
    edges = np.quantile(np.concatenate(outcomes), np.linspace(0.1, 0.9, 9))
    return [np.digitize(y, edges) for y in outcomes]


def _association(table: Table, name: Any) -> float:
    """Mean of the outcome where the feature is high minus where it is low; NaN if constant."""
    try:
        values = column_values(table.X[[name]], [0], [str(name)])
    except (InputError, TypeError):  # not a number: the harm alone has to do
        return float("nan")
    high = Dichotomizer().fit_transform(values)[:, 0] == 1
    y = np.asarray(table.y)
    if high.all() or not high.any():
        return float("nan")
    return float(y[high].mean() - y[~high].mean())
