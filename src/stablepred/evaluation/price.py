"""The price of stability: what leaving variables out costs here, and what it saves elsewhere."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold

from stablepred._random import clone_seeded, numpy_generator
from stablepred._validation import BoolArray, FloatArray


def stability_price(model: Any, X: Any, y: npt.ArrayLike, *, n_steps: int = 12) -> pd.DataFrame:
    """Errors on the path from all variables to the stable ones, the noisiest left out first.

    Parameters
    ----------
    model : fitted StableClassifier or StableRegressor
        Its ``estimator`` is fitted on every set of variables; without one, a linear model is.
    X, y : array or DataFrame of shape (n_samples, n_features), array-like of shape (n_samples,)
        The training rows and their outcome.
    n_steps : int
        Largest number of steps; with more variables several are left out in one.

    Returns
    -------
    DataFrame
        One row per step: ``n_variables``, ``dropped`` (those left out in this step), and two
        root-mean-square errors on held-out rows: ``error_training`` on the rows as they are, and
        ``error_made``, the mean over these and the same rows with the noisy and the undecided
        variables taken from any row, and from a row with another outcome.
    """
    variables, encoder = model.variables_, model.encoder_
    names = list(variables["variable"])
    owners = np.array([names.index(column.name) for column in encoder.columns_])[encoder.groups_]
    doubtful = variables[variables["verdict"].isin(["noisy", "undecided"])]
    doubtful = doubtful.sort_values("probability_noisy", ascending=False, kind="stable")
    order = doubtful.index.to_numpy()
    x, _ = encoder.encode_array(X)
    labels = np.asarray(y)
    kinds = labels if is_classifier(model) else labels > labels.mean()
    worlds = [x, *_redraw(x, np.isin(owners, order), kinds, model.random_state_)]
    size = len(encoder.columns_)  # without constant variables
    rows, before, most = [], 0, min(len(order), size - 1)
    for step in np.unique(np.linspace(0, most, min(n_steps, most + 1)).astype(int)):
        kept = ~np.isin(owners, order[:step])
        errors = _held_out_errors(model, [world[:, kept] for world in worlds], labels)
        dropped = tuple(str(names[j]) for j in order[before:step])
        rows.append((size - step, dropped, errors[0], errors.mean()))
        before = step
    return pd.DataFrame(rows, columns=["n_variables", "dropped", "error_training", "error_made"])


def _redraw(
    x: FloatArray, columns: BoolArray, kinds: npt.NDArray[Any], seed: int
) -> Iterator[FloatArray]:
    """The rows with some columns taken from any row, and from a row of another kind."""
    rng = numpy_generator(seed, "price")
    anyone, other = rng.integers(0, len(x), (2, len(x)))
    for kind in np.unique(kinds):
        rows = kinds == kind
        other[rows] = rng.choice(np.flatnonzero(~rows), int(rows.sum()))
    for source in (anyone, other):
        yield np.where(columns, x[source], x)


def _held_out_errors(model: Any, worlds: list[FloatArray], labels: npt.NDArray[Any]) -> FloatArray:
    """Root-mean-square errors on held-out rows of each world; fits see the first one only."""
    target, fold, default = labels[:, None], KFold, LinearRegression()
    if is_classifier(model):
        target, fold = labels[:, None] == model.classes_, StratifiedKFold
        default = LogisticRegression(max_iter=1000)
    estimator = default if model.estimator is None else model.estimator
    squares = np.zeros((len(worlds), len(labels)))
    for train, test in fold(3, shuffle=True, random_state=0).split(worlds[0], labels):
        fitted = clone_seeded(estimator, model.random_state_).fit(worlds[0][train], labels[train])
        ask = fitted.predict_proba if is_classifier(model) else fitted.predict
        for world, losses in zip(worlds, squares, strict=True):
            guess = ask(world[test]).reshape(len(test), -1)
            # Of two classes both columns err alike; the mean is that of either.
            losses[test] = ((target[test] - guess) ** 2).sum(axis=1) / min(target.shape[1], 2)
    return np.sqrt(squares.mean(axis=1))
