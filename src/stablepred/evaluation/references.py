"""What every comparison is read beside: a constant, and a linear model with a chosen penalty.

    min over b0, b of   mean_w loss(y, b0 + X b) + penalty / 2 |b|^2

with the log-loss of classes or half the squared error of numbers. The penalty falls from strong to
weak, each fit starts at the last one, and the path ends once the held-out loss has risen twice.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.utils.validation import column_or_1d

from stablepred._random import child_seed, numpy_generator
from stablepred.exceptions import InputError, TableWarning
from stablepred.io.save import storable
from stablepred.io.values import check_finite_sums, check_numbers
from stablepred.tables.encoder import TableEncoder, as_frame, name_columns

FloatArray = NDArray[np.float64]
Folds = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]

MOST_ROWS = 20_000  # on which a penalty is chosen; more would hardly change it
PENALTIES = 10.0 ** np.arange(1.0, -8.5, -0.5)
UNTRIED = 0.01  # the penalty where no rows can be held out
# Newton's steps solve a system of the coefficients; with more of them than this L-BFGS is faster.
MANY = 500


@storable
@dataclass(frozen=True, eq=False)
class References:
    """The constant and the linear model that any model of the same table must beat.

    `fit_references` makes them. The linear model is logistic regression or, of a numeric outcome,
    ridge regression, on the columns as they come: numbers standardised, one column per category,
    missing values filled in. Its penalty is the best one on held-out rows.

    Attributes
    ----------
    errors : DataFrame
        ``rmse`` by cross-validation; a row for the constant and one for the linear model. For two
        classes it is that of P(y = 1).
    encoder : TableEncoder or None
        Encodes the columns; None where none of them can be used: then ``note`` says why.
    """

    n_classes: int  # 0 for a numeric outcome
    constant: FloatArray  # share of each class, in sorted order, or the mean: (k,)
    errors: pd.DataFrame
    columns: list[str] | None  # in training, None of an array
    encoder: TableEncoder | None
    coef: FloatArray  # (h, encoded columns)
    intercept: FloatArray
    penalty: float
    note: str = ""

    @property
    def linear_name(self) -> str:
        return "LR" if self.n_classes else "ridge"

    def predictors(self) -> dict[str, Callable[[Any], FloatArray]]:
        """The linear model, where there is one, and the constant, as functions of X by name."""
        linear = {} if self.encoder is None else {self.linear_name: self.predict_linear}
        return {**linear, "constant": self.predict_constant}

    def predict_linear(self, X: Any) -> FloatArray:
        """P(y = 1) or the expected outcome, (n,); of more than two classes (n, k)."""
        assert self.encoder is not None
        z = self.encoder.encode_array(_read_columns(X, named=self.columns is not None))[0]
        scores = z @ self.coef.T + self.intercept
        if self.n_classes > 2:
            return np.asarray(softmax(scores, axis=1))
        return np.asarray(expit(scores[:, 0]) if self.n_classes else scores[:, 0])

    def predict_constant(self, X: Any) -> FloatArray:
        predicted = np.tile(self.constant, (len(X), 1))
        return predicted if self.n_classes > 2 else predicted[:, -1]

    def check_stored(self) -> None:
        k, h = max(self.n_classes, 1), self.n_classes if self.n_classes > 2 else 1
        if self.n_classes < 0 or self.n_classes == 1:
            raise ValueError("references need two classes, or none for a numeric outcome")
        width = 0 if self.encoder is None else len(self.encoder.get_feature_names_out())
        check_numbers(self.constant, "the constant", (k,))
        check_numbers(self.coef, "coef of the references", (h, width))
        check_numbers(self.intercept, "intercept of the references", (h,))
        check_finite_sums("coef of the references", self.coef, self.intercept)


def fit_references(
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
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
    frame, labels, mass = _read_columns(X, columns is not None).iloc[rows], labels[rows], mass[rows]
    values, codes = np.unique(labels, return_inverse=True)
    if classifier is None:
        classifier = len(values) <= 2 or labels.dtype.kind not in "iuf"
    k = len(values) if classifier else 0
    if k == 1:
        raise InputError(f"y must have two classes or more, but is always {values[0]}.")
    target: NDArray[Any] = codes if k else labels.astype(np.float64)
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


def cross_validate(
    estimator: Any, X: pd.DataFrame, y: NDArray[Any], *, n_classes: int = 2, cv: int = 3
) -> float:
    """RMSE of an estimator on the held-out rows on which `fit_references` measured its own.

    NaN where no rows can be held out.
    """
    target = np.unique(y, return_inverse=True)[1] if n_classes else y
    few, folds = _hold_out(target, n_classes, cv, 0)
    if not folds:
        return float("nan")
    model, method = clone(estimator), "predict_proba" if n_classes else "predict"
    if "checkpoint" in model.get_params(deep=False):
        model.set_params(checkpoint=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit on all rows has reported them
        predicted = cross_val_predict(model, X.iloc[few], y[few], cv=folds, method=method)
    return _rmse(target[few], np.ones(len(few)), n_classes, predicted.reshape(len(few), -1))


def _hold_out(target: NDArray[Any], k: int, cv: int, seed: int) -> tuple[Any, Folds]:
    few = np.arange(len(target))
    if len(few) > MOST_ROWS:
        rng = numpy_generator(seed, "references", "rows")
        few = np.sort(rng.choice(len(few), MOST_ROWS, replace=False))
    return few, make_folds(target[few], k, cv, child_seed(seed, "references"))


def _rmse(y: NDArray[Any], c: FloatArray, k: int, predicted: FloatArray | None) -> float:
    if predicted is None:
        return float("nan")
    squared = ((predicted - (np.eye(k)[y] if k else y[:, None])) ** 2).sum(axis=1)
    # Of classes half, so that of two it is the squared error of P(y = 1).
    return float(np.average(squared / 2 if k else squared, weights=c)) ** 0.5


def _constant(target: NDArray[Any], mass: FloatArray, k: int) -> FloatArray:
    if not k:
        return np.array([np.average(target, weights=mass)])
    return np.asarray(np.bincount(target, weights=mass, minlength=k) / mass.sum())


def _read_columns(X: Any, named: bool) -> pd.DataFrame:
    """The rows as a frame, its columns named as in training or else by position: x0, x1, ..."""
    frame = as_frame(X) if hasattr(X, "columns") else name_columns(np.asarray(X))
    return frame.rename(columns=str) if named else name_columns(frame)


# --- a penalty chosen on held-out rows ---


class LinearFit(NamedTuple):
    """scikit-learn's model, its penalty, and predictions of held-out rows."""

    model: Any
    penalty: float
    held_out: FloatArray | None  # (n, k), each row by the model of the other folds


def make_folds(y: NDArray[Any], n_classes: int, cv: int, seed: int) -> Folds:
    """At most ``cv`` folds, with rows of each class in each; none where there are too few rows."""
    most = len(y) if n_classes == 0 else int(np.bincount(y, minlength=n_classes).min())
    if (cv := min(cv, most)) < 2:
        return []
    kind = KFold if n_classes == 0 else StratifiedKFold
    return list(kind(cv, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def fit_linear(
    z: FloatArray,
    y: NDArray[Any],
    weight: FloatArray,
    n_classes: int,
    folds: Folds = (),
    penalty: float = UNTRIED,
) -> LinearFit:
    """Fit on encoded columns ``z``; ``y`` holds class codes, or numbers if ``n_classes`` is 0.

    The penalty is the one with the smallest loss on the rows that the folds hold out, if any.
    """
    weight, held_out = weight * (len(weight) / weight.sum()), None
    solver = "newton-cholesky" if z.shape[1] * max(1, n_classes - 1) <= MANY else "lbfgs"
    start = LogisticRegression(solver=solver, warm_start=True, max_iter=200)

    def fit(model: Any, penalty: float, rows: Any) -> Any:
        """The model with a penalty on the mean loss, in scikit-learn's own terms."""
        strength = penalty * len(y[rows])
        own = {"C": 1 / strength} if n_classes else {"alpha": strength}
        return model.set_params(**own).fit(z[rows], y[rows], sample_weight=weight[rows])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the penalty is what the data chose, converged or not
        whole, *models = [clone(start if n_classes else Ridge()) for _ in (None, *folds)]
        best, rises = np.inf, 0
        for tried in PENALTIES if folds else ():
            predicted = np.empty((len(y), max(n_classes, 1)))
            for model, (rows, others) in zip(models, folds, strict=True):
                fit(model, tried, rows)
                ask = model.predict_proba if n_classes else model.predict
                predicted[others] = ask(z[others]).reshape(len(others), -1)
            mean_loss = log_loss if n_classes else mean_squared_error
            loss = mean_loss(y, predicted, sample_weight=weight)
            if loss < best:
                best, penalty, held_out, rises = loss, float(tried), predicted, 0
            elif (rises := rises + 1) == 2:
                break
        return LinearFit(fit(whole, penalty, slice(None)), penalty, held_out)
