"""What two tables share: the probability that a row at x is from the second, and weights from it.

The probability is cross-fitted by two classifiers, of which the better one is used. A logistic
regression on its log-odds and on the model's predictions has the last word: its weights balance
these exactly, so that errors of the classifier hardly matter.
"""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier

from stablepred.evaluation.penalised import Folds, fit_linear
from stablepred.evaluation.predictions import FloatArray
from stablepred.exceptions import InputError, TableWarning
from stablepred.tables.encoder import TableEncoder


def encode_variable(column: pd.Series) -> FloatArray:
    """A variable as columns: standardised with its square, or one column per category.

    There are none where the variable is constant, or an id.
    """
    if pd.api.types.is_numeric_dtype(column):
        x = column.to_numpy(dtype=np.float64, na_value=np.nan)
        missing = ~np.isfinite(x)
        x = np.where(missing, np.median(x[~missing]) if not missing.all() else 0.0, x)
        encoded = np.column_stack([x, missing])
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)
            try:
                features = TableEncoder().fit_transform(column.to_frame("x"))
            except InputError:
                return np.empty((len(column), 0))
        encoded = features.to_numpy(dtype=np.float64)
    encoded = encoded[:, encoded.std(axis=0) > 0]
    z = np.clip((encoded - encoded.mean(axis=0)) / encoded.std(axis=0), -5, 5)
    squared = [c**2 for c in z.T if len(np.unique(c)) > 2]  # so that variances can move, too
    return np.column_stack([z, *squared])


def score_tables(design: FloatArray, second: Any, folds: Folds) -> FloatArray:
    """Cross-fitted log-odds that a row is of the second table: the better of two classifiers."""
    mass = 1 / np.bincount(second)[second]
    linear = fit_linear(design, second, mass, 2, folds).held_out
    assert linear is not None
    boosted = np.empty(len(second))
    for rows, others in folds:
        model = HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=6, l2_regularization=5, random_state=0
        )
        model.fit(design[rows], second[rows], sample_weight=mass[rows] * len(second) / 2)
        boosted[others] = model.predict_proba(design[others])[:, 1]
    candidates = [np.clip(p, 1e-6, 1 - 1e-6) for p in (linear[:, 1], boosted)]
    loss = [-mass @ np.where(second == 1, np.log(p), np.log1p(-p)) for p in candidates]
    return logit(candidates[int(np.argmin(loss))])


def make_basis(score: FloatArray, f: FloatArray) -> FloatArray:
    """What the final probability depends on: the score, and the prediction whose loss is split."""
    columns = [score, score**2, f, f**2]
    z = [(c - c.mean()) / c.std() for c in columns if c.std() > 1e-9]
    return np.column_stack([np.ones(len(f)), *z])


def shared_weights(basis: FloatArray, second: Any, count: FloatArray) -> FloatArray:
    """Weights of the rows under which both tables have the distribution that they share.

    pi is a logistic regression on the basis, by Newton's steps. At its optimum the weighted tables
    have the same means of every column of the basis.
    """
    mass = count / np.bincount(second, weights=count)[second] * len(second) / 2
    beta = np.zeros(basis.shape[1])
    for _ in range(30):
        p = expit(basis @ beta)
        slope = basis.T @ (mass * (second - p)) - 1e-6 * beta
        curve = (basis * (mass * p * (1 - p))[:, None]).T @ basis + 1e-6 * np.eye(len(beta))
        step = np.linalg.solve(curve, slope)
        beta = beta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-8:
            break
    p = expit(basis @ beta)
    return np.where(second == 1, 1 - p, p)
