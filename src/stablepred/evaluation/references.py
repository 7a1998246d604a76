"""What every comparison is read beside: a constant, a linear model, and the oracle."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils.validation import column_or_1d

from stablepred._random import child_seed, numpy_generator
from stablepred.evaluation.penalised import Folds, fit_linear, make_folds
from stablepred.evaluation.predictions import FloatArray
from stablepred.exceptions import InputError, TableWarning
from stablepred.io.save import storable
from stablepred.io.values import check_finite_sums, check_numbers
from stablepred.tables.encoder import TableEncoder

MOST_ROWS = 20_000  # on which a penalty is chosen; more would hardly change it


@storable
@dataclass(frozen=True, eq=False)
class References:
    """The constant and the linear model that any model of the same table must beat.

    `fit_references` makes them. The linear model is logistic regression or, of a numeric outcome,
    ridge regression, on the columns as they come: numbers standardised, one column per category,
    missing values filled in. Its penalty is the best one on held-out rows.

    Attributes
    ----------
    n_classes : int
        0 for a numeric outcome.
    constant : ndarray of shape (k,)
        Share of each class, in sorted order, or the mean of a numeric outcome (k = 1).
    errors : DataFrame
        ``rmse`` by cross-validation; a row for the constant and one for the linear model. For two
        classes it is that of P(y = 1).
    columns : list of str or None
        Names of the columns in training, None of an array.
    encoder : TableEncoder or None
        Encodes the columns; None where none of them can be used: then ``note`` says why.
    coef, intercept, penalty : ndarray of shape (h, m), ndarray of shape (h,), float
        Of the linear model on the m encoded columns.
    """

    n_classes: int
    constant: FloatArray
    errors: pd.DataFrame
    columns: list[str] | None
    encoder: TableEncoder | None
    coef: FloatArray
    intercept: FloatArray
    penalty: float
    note: str = ""

    @property
    def linear_name(self) -> str:
        """What the linear model is called in tables."""
        return "LR" if self.n_classes else "ridge"

    def predictors(self) -> dict[str, Callable[[Any], FloatArray]]:
        """The linear model, where there is one, and the constant, as functions of X by name."""
        linear = {} if self.encoder is None else {self.linear_name: self.predict_linear}
        return {**linear, "constant": self.predict_constant}

    def predict_linear(self, X: Any) -> FloatArray:
        """P(y = 1) or the expected outcome, (n,); of more than two classes (n, k)."""
        assert self.encoder is not None
        z = self.encoder.encode_array(_name_columns(X, self.columns))[0]
        scores = z @ self.coef.T + self.intercept
        if self.n_classes > 2:
            return np.asarray(softmax(scores, axis=1))
        return np.asarray(expit(scores[:, 0]) if self.n_classes else scores[:, 0])

    def predict_constant(self, X: Any) -> FloatArray:
        """The same for every row: the share of the classes, or the mean."""
        predicted = np.tile(self.constant, (len(X), 1))
        return predicted if self.n_classes > 2 else predicted[:, -1]

    def check_stored(self) -> None:
        """Raise ValueError unless the parts fit each other."""
        k, h = max(self.n_classes, 1), self.n_classes if self.n_classes > 2 else 1
        if self.n_classes < 0 or self.n_classes == 1:
            raise ValueError("references need two classes, or none for a numeric outcome")
        check_numbers(self.constant, "the constant", (k,))
        width = 0 if self.encoder is None else len(self.encoder.get_feature_names_out())
        check_numbers(self.coef, "coef of the references", (h, width))
        check_numbers(self.intercept, "intercept of the references", (h,))
        check_finite_sums("coef of the references", self.coef, self.intercept)


def fit_references(
    X: Any,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    *,
    classifier: bool | None = None,
    cv: int = 3,
    random_state: int = 0,
) -> References:
    """Fit the constant and the linear model, and measure both on held-out rows.

    ``X`` is a frame or an array, its columns as they come; ``y`` holds classes of any kind, or
    numbers: more than two different ones, unless ``classifier`` says otherwise. A row of weight 0
    counts as absent. ``cv`` is the number of folds.
    """
    labels = column_or_1d(np.asarray(y))
    mass = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    mass = mass / mass.max(initial=1e-300)  # sums of enormous weights would overflow
    rows = np.flatnonzero(mass > 0)
    columns = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if columns is not None and len(set(columns)) < len(columns):
        columns = None  # told apart by their positions only
    frame, labels, mass = _name_columns(X, columns).iloc[rows], labels[rows], mass[rows]
    values, codes = np.unique(labels, return_inverse=True)
    if classifier is None:
        classifier = len(values) <= 2 or labels.dtype.kind not in "iuf"
    k = len(values) if classifier else 0
    if k == 1:
        raise InputError(f"y must have two classes or more, but is always {values[0]}.")
    target: npt.NDArray[Any] = codes if k else labels.astype(np.float64)
    few, folds = _hold_out(target, k, cv, random_state)
    own, c, h = target[few], mass[few], k if k > 2 else 1
    coef, intercept, penalty, held_out, note = np.empty((h, 0)), np.zeros(h), 0.0, None, ""
    encoder = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)  # the model's own encoder reports these
            encoder = TableEncoder(tails="keep").fit(frame)
    except InputError as error:
        note = str(error)
    else:
        z = encoder.encode_array(frame)[0]
        model, penalty, held_out = fit_linear(z[few], own, c, k, folds)
        if len(few) < len(target):
            model = fit_linear(z, target, mass, k, penalty=penalty).model
        coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    constant = np.empty((len(own), max(k, 1)))
    for train, others in folds:
        constant[others] = _constant(own[train], c[train], k)
    found = {"constant": constant if folds else None, "LR" if k else "ridge": held_out}
    errors = pd.DataFrame({"rmse": {name: _rmse(own, c, k, p) for name, p in found.items()}})
    whole = _constant(target, mass, k)
    return References(k, whole, errors, columns, encoder, coef, intercept, penalty, note)


def _hold_out(target: npt.NDArray[Any], k: int, cv: int, seed: int) -> tuple[Any, Folds]:
    """The rows on which errors are measured, and their folds."""
    few = np.arange(len(target))
    if len(few) > MOST_ROWS:
        rng = numpy_generator(seed, "references", "rows")
        few = np.sort(rng.choice(len(few), MOST_ROWS, replace=False))
    return few, make_folds(target[few], k, cv, child_seed(seed, "references"))


def cross_validate(
    estimator: Any,
    X: pd.DataFrame,
    y: npt.NDArray[Any],
    *,
    n_classes: int = 2,
    cv: int = 3,
    random_state: int = 0,
) -> float:
    """RMSE of an estimator on the held-out rows on which `fit_references` measured its own.

    NaN where no rows can be held out.
    """
    target = np.unique(y, return_inverse=True)[1] if n_classes else y
    few, folds = _hold_out(target, n_classes, cv, random_state)
    if not folds:
        return float("nan")
    model, method = clone(estimator), "predict_proba" if n_classes else "predict"
    if "checkpoint" in model.get_params(deep=False):
        model.set_params(checkpoint=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit on all rows has reported them
        predicted = cross_val_predict(model, X.iloc[few], y[few], cv=folds, method=method)
    predicted = predicted.reshape(len(few), -1)
    return _rmse(target[few], np.ones(len(few)), n_classes, predicted)


def _rmse(y: npt.NDArray[Any], c: FloatArray, k: int, predicted: FloatArray | None) -> float:
    """Root-mean-square error of held-out predictions; NaN where there are none."""
    if predicted is None:
        return float("nan")
    squared = ((predicted - (np.eye(k)[y] if k else y[:, None])) ** 2).sum(axis=1)
    # Of classes half, so that of two it is the squared error of P(y = 1).
    return float(np.average(squared / 2 if k else squared, weights=c)) ** 0.5


def _constant(target: npt.NDArray[Any], mass: FloatArray, k: int) -> FloatArray:
    """Shares of the classes, or the mean."""
    if not k:
        return np.array([np.average(target, weights=mass)])
    return np.asarray(np.bincount(target, weights=mass, minlength=k) / mass.sum())


def _name_columns(X: Any, columns: list[str] | None) -> pd.DataFrame:
    """The rows as a frame, its columns named as in training or else by position: x0, x1, ..."""
    X = X.to_pandas() if hasattr(X, "to_pandas") else X
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    if frame is X and columns is not None:
        return frame.rename(columns=str)
    return frame.set_axis(columns or [f"x{j}" for j in range(frame.shape[1])], axis=1)
