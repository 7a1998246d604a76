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
    if not isinstance(variables, pd.DataFrame) or np.shape(X)[1] != len(variables):
        raise InputError(
            f"{type(model).__name__} must have variables_, one per column of X. Pass a fitted "
            "StableClassifier and its training rows."
        )
    doubtful = variables[variables["verdict"] != "stable"]
    order = doubtful.sort_values("probability_noisy", ascending=False, kind="stable").index
    names = variables["variable"].astype(str)
    x, target = column_values(X, range(len(names)), list(names)), np.asarray(y)
    target = (target == model.classes_[1] if is_classifier(model) else target).astype(np.float64)
    outcome = (target > target.mean()).astype(np.float64)  # 0/1 stays as it is
    bits = Dichotomizer().fit_transform(x)[:, order]
    worlds = [resampling_weights(bits, outcome, rate) for rate in RATES]
    rows, before, most = [], 0, min(len(order), len(names) - 1)
    for step in np.unique(np.linspace(0, most, min(n_steps, most + 1)).astype(int)):
        kept = np.delete(x, order[:step], axis=1)
        loss = (target - _predict_held_out(model, kept, target)) ** 2
        made = [np.sqrt(np.average(loss, weights=w)) for w in worlds]
        dropped = tuple(names[order[before:step]])
        rows.append((kept.shape[1], dropped, np.sqrt(loss.mean()), np.mean(made)))
        before = step
    return pd.DataFrame(rows, columns=["n_variables", "dropped", "error_training", "error_made"])


def _predict_held_out(model: Any, x: npt.NDArray[np.float64], target: Any) -> Any:
    """Predictions of the model's estimator on the held-out rows of three folds."""
    classifier = is_classifier(model)
    linear = LogisticRegression(max_iter=1000) if classifier else LinearRegression()
    given = getattr(model, "estimator", None)
    estimator = make_pipeline(StandardScaler(), linear) if given is None else clone(given)
    kind = StratifiedKFold if classifier else KFold
    folds = kind(3, shuffle=True, random_state=model.random_state_)
    if not classifier:
        return cross_val_predict(estimator, x, target, cv=folds)
    return cross_val_predict(estimator, x, target, cv=folds, method="predict_proba")[:, 1]
