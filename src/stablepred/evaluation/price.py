"""The price of stability: what leaving variables out costs here, and what it saves elsewhere."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stablepred._random import numpy_generator
from stablepred.evaluation.predictions import FloatArray
from stablepred.exceptions import InputError
from stablepred.validation.environments import NoisyColumns, column_values, redrawn_environments


def stability_price(model: Any, X: Any, y: npt.ArrayLike, *, n_steps: int = 12) -> pd.DataFrame:
    """Errors on the path from all variables to the stable ones, the noisiest left out first.

    Parameters
    ----------
    model : fitted estimator with ``variables_``
        Its ``estimator`` is fitted on every set of variables; without one, a linear model is.
    X : array-like of shape (n_samples, n_features)
        The training rows; all features are numbers.
    y : array-like of shape (n_samples,)
        Their outcome.
    n_steps : int
        Largest number of steps; with more variables several are left out in one.

    Returns
    -------
    DataFrame
        One row per step: ``n_variables``, ``dropped`` (those left out in this step), and the
        root-mean-square errors on held-out rows: ``error_training`` on the rows as they are,
        ``error_made`` the mean over environments made from them, in which the variables that are
        not stable are redrawn so as to agree with the outcome at rates from .1 to .9.
    """
    variables = getattr(model, "variables_", None)
    if not isinstance(variables, pd.DataFrame) or np.shape(X)[1] != len(variables):
        raise InputError(
            f"{type(model).__name__} must have variables_, one per column of X. Pass a fitted "
            "StableClassifier and its training rows."
        )
    doubtful = variables[variables["verdict"] != "stable"]
    doubtful = doubtful.sort_values("probability_noisy", ascending=False, kind="stable")
    order = doubtful.index.to_numpy()
    names = list(variables["variable"].astype(str))
    x, target = column_values(X, range(len(names)), names), np.asarray(y)
    target = (target == model.classes_[1] if is_classifier(model) else target).astype(np.float64)
    outcome = (target > target.mean()).astype(np.float64)  # 0/1 stays as it is
    rng = numpy_generator(model.random_state_, "price")
    doubt = NoisyColumns.of(x, order, names, None, rng)
    everywhere = np.ones(len(order), dtype=bool)
    redrawn = redrawn_environments(doubt.bits, outcome, everywhere, rng)
    worlds = [x, *(doubt.changed(x, bits) for bits in redrawn)]
    rows, before, most = [], 0, min(len(order), len(names) - 1)
    for step in np.unique(np.linspace(0, most, min(n_steps, most + 1)).astype(int)):
        kept = np.delete(np.arange(len(names)), order[:step])
        training, *made = _held_out_errors(model, [world[:, kept] for world in worlds], target)
        dropped = tuple(names[j] for j in order[before:step])
        rows.append((len(kept), dropped, training, np.mean(made)))
        before = step
    return pd.DataFrame(rows, columns=["n_variables", "dropped", "error_training", "error_made"])


def _held_out_errors(model: Any, worlds: list[FloatArray], target: FloatArray) -> FloatArray:
    """Root-mean-square errors on held-out rows of each world; fits see the first one only."""
    classifier = is_classifier(model)
    linear = LogisticRegression(max_iter=1000) if classifier else LinearRegression()
    given = getattr(model, "estimator", None)
    estimator = make_pipeline(StandardScaler(), linear) if given is None else given
    folds = (StratifiedKFold if classifier else KFold)(3, shuffle=True, random_state=0)
    squares = np.zeros((len(worlds), len(target)))
    for train, test in folds.split(worlds[0], target):
        fitted = clone(estimator).fit(worlds[0][train], target[train])
        for world, losses in zip(worlds, squares, strict=True):
            rows = world[test]
            guess = fitted.predict_proba(rows)[:, 1] if classifier else fitted.predict(rows)
            losses[test] = (target[test] - guess) ** 2
    return np.sqrt(squares.mean(axis=1))
