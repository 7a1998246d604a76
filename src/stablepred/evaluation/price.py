"""The price of stability: what each variable that is left out costs here, and saves elsewhere."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from stablepred._random import RandomState, child_seed, numpy_generator, root_seed
from stablepred.evaluation.overlap import encode_variables
from stablepred.evaluation.penalised import Folds, fit_linear, make_folds
from stablepred.evaluation.predictions import FloatArray, plain_table
from stablepred.exceptions import InputError
from stablepred.validation.environments import RATES


def stability_price(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    cv: int = 3,
    random_state: RandomState = 0,
) -> pd.DataFrame:
    """Errors of linear models on the path from all variables to the stable ones.

    Variables that are not called stable are dropped one by one, the most probably noisy first, and
    a linear model with its penalty chosen on held-out rows is fitted to those that are left. It is
    measured on held-out rows as they are, and in environments made from them, in which every
    variable that is dropped at some point is drawn again: given the outcome, on its high or low
    side, which agrees with the outcome with probability .1, .2, ... .9.

    Parameters
    ----------
    model : object
        With ``variables_``: columns ``variable``, ``verdict`` and ``probability_noisy``, as
        `StableClassifier` has.
    X : DataFrame or array of shape (n, p)
        The training rows, in the columns that the model was fitted on.
    y : array-like of shape (n,)
        Their outcome, 0/1 or a number.
    cv, random_state : int, seed
        Number of folds; seed of folds and draws.

    Returns
    -------
    pandas.DataFrame
        ``n_variables``, ``dropped`` (the last variable to go, "" at first), ``error_training`` and
        ``error_made``, the mean RMSE over the made environments.
    """
    table, seed = plain_table(X, y), root_seed(random_state)
    path = _order(model, [str(name) for name in table.X.columns])
    binary = table.y.dtype == np.int64
    n_classes, outcome = 2 if binary else 0, table.y
    high = outcome if binary else (outcome > np.median(outcome)).astype(np.int64)
    folds = make_folds(outcome, n_classes, cv, child_seed(seed, "price"))
    if not folds:
        raise InputError("there are too few rows of one class to hold any out.")
    columns = encode_variables(table.X)
    made = [columns | redrawn for redrawn in _redraw(columns, path, high, seed)]
    kept, rows = list(columns), []
    for dropped in ["", *path]:
        kept = [name for name in kept if name != dropped]
        if not kept:
            break
        predicted = _predict_held_out(columns, made, kept, outcome, n_classes, folds)
        errors = np.sqrt(((predicted - outcome) ** 2).mean(axis=1))
        rows.append((len(kept), dropped, float(errors[0]), float(errors[1:].mean())))
    return pd.DataFrame(rows, columns=["n_variables", "dropped", "error_training", "error_made"])


def _order(model: Any, names: list[str]) -> list[str]:
    """The variables that are not called stable, the most probably noisy first."""
    found = getattr(model, "variables_", None)
    needed = {"variable", "verdict", "probability_noisy"}
    if not isinstance(found, pd.DataFrame) or not needed <= set(found.columns):
        raise InputError(
            f"{type(model).__name__} has no variables_ with their probability of being noisy. "
            "Fit a StableClassifier or a StableRegressor."
        )
    if unknown := sorted(set(found["variable"].map(str)) - set(names)):
        raise InputError(f"X lacks the variables {unknown} on which the model was fitted.")
    noisy = found[found["verdict"] != "stable"]
    return list(
        noisy.sort_values("probability_noisy", ascending=False, kind="stable")["variable"].map(str)
    )


def _redraw(
    columns: dict[str, FloatArray], path: list[str], high: npt.NDArray[np.int64], seed: int
) -> Iterator[dict[str, FloatArray]]:
    """For each rate the columns of the variables on the path, tied to the outcome at that rate."""
    draws = {}
    for name in path:
        z = columns[name]
        fit = fit_linear(z, high, np.ones(len(z)), 2, [], penalty=1e-4) if z.shape[1] else None
        score = high if fit is None else fit.predict(z, 2)[:, 1]
        side = score > high.mean()  # whether the variable speaks for a high outcome
        if fit is not None and 0 < side.mean() < 1:
            draws[name] = (side, numpy_generator(seed, "price", name).random((2, len(z))))
    for rate in RATES:
        changed = {}
        for name, (side, (agrees, place)) in draws.items():
            wanted, rows = np.where(agrees < rate, high, 1 - high), np.arange(len(high))
            for value in (0, 1):
                pool, at = np.flatnonzero(side == value), wanted == value
                rows[at] = pool[(place[at] * len(pool)).astype(np.intp)]
            changed[name] = columns[name][rows]
        yield changed


def _predict_held_out(
    columns: dict[str, FloatArray],
    made: list[dict[str, FloatArray]],
    kept: list[str],
    outcome: npt.NDArray[Any],
    n_classes: int,
    folds: Folds,
) -> FloatArray:
    """Predictions by the linear model of the other folds: as observed, then as made."""
    observed, *others = (np.column_stack([t[name] for name in kept]) for t in (columns, *made))
    weight = np.ones(len(outcome))
    chosen = fit_linear(observed, outcome, weight, n_classes, folds)
    assert chosen.held_out is not None
    predicted = np.empty((1 + len(others), len(outcome)))
    predicted[0] = chosen.held_out[:, -1]
    for rows, test in folds:
        part = observed[rows], outcome[rows], weight[rows]
        fit = fit_linear(*part, n_classes, [], penalty=chosen.penalty)
        for found, table in zip(predicted[1:], others, strict=True):
            found[test] = fit.predict(table[test], n_classes)[:, -1]
    return predicted
