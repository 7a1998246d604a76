"""The price of stability: what leaving variables out costs here, and what it saves elsewhere."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stablepred.exceptions import InputError
from stablepred.preprocessing import Dichotomizer
from stablepred.validation.environments import RATES, column_values, resampling_weights

N_FOLDS = 3


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
        not stable agree with the outcome at rates from .1 to .9.
    """
    variables = getattr(model, "variables_", None)
    if not isinstance(variables, pd.DataFrame):
        raise InputError(
            f"{type(model).__name__} has no variables_. Pass a fitted StableClassifier."
        )
    doubtful = variables[variables["verdict"] != "stable"]
    order = doubtful.sort_values("probability_noisy", ascending=False, kind="stable").index
    frame = pd.DataFrame(X)
    if frame.shape[1] != len(variables):
        raise InputError(
            f"X must have the {len(variables)} variables of the model, but has {frame.shape[1]}."
        )
    values = column_values(frame, range(len(variables)), list(map(str, variables["variable"])))
    classifier = is_classifier(model)
    target = np.asarray(y) == model.classes_[1] if classifier else np.asarray(y)
    target = target.astype(np.float64)
    bits = Dichotomizer().fit_transform(values)[:, order]
    outcome = target if classifier else (target > target.mean()).astype(np.float64)
    worlds = [resampling_weights(bits, outcome, rate) for rate in RATES]
    most = min(len(order), len(variables) - 1)
    steps = np.unique(np.linspace(0, most, min(n_steps, most + 1)).astype(int))
    rows, before = [], 0
    for step in steps:
        kept = np.delete(values, order[:step], axis=1)
        loss = (target - _held_out(model, kept, target)) ** 2
        made = [np.sqrt(np.average(loss, weights=w)) for w in worlds]
        dropped = tuple(variables["variable"][order[before:step]])
        rows.append((kept.shape[1], dropped, np.sqrt(loss.mean()), np.mean(made)))
        before = step
    return pd.DataFrame(rows, columns=["n_variables", "dropped", "error_training", "error_made"])


def _held_out(model: Any, x: npt.NDArray[np.float64], target: Any) -> Any:
    """Predictions of the model's estimator on held-out rows, from these columns."""
    seed, classifier = model.random_state_, is_classifier(model)
    linear = LogisticRegression(max_iter=1000) if classifier else LinearRegression()
    given = getattr(model, "estimator", None)
    estimator = make_pipeline(StandardScaler(), linear) if given is None else clone(given)
    folds = (StratifiedKFold if classifier else KFold)(N_FOLDS, shuffle=True, random_state=seed)
    if not classifier:
        return cross_val_predict(estimator, x, target, cv=folds)
    return cross_val_predict(estimator, x, target, cv=folds, method="predict_proba")[:, 1]
