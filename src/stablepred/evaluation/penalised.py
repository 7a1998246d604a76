"""A linear model whose penalty is chosen on held-out rows.

    min over b0, b of   mean_w loss(y, b0 + X b) + penalty / 2 |b|^2

with the log-loss of classes or half the squared error of numbers. The penalty falls from strong to
weak, each fit starts at the last one, and the path ends once the held-out loss has risen twice.
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold

FloatArray = NDArray[np.float64]
Folds = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]

PENALTIES = 10.0 ** np.arange(1.0, -8.5, -0.5)
UNTRIED = 0.01  # the penalty where no rows can be held out
# Newton's steps solve a system of the coefficients; with more of them than this L-BFGS is faster.
MANY = 500


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


def losses(y: NDArray[Any], predicted: FloatArray, n_classes: int) -> FloatArray:
    """Per row: -log of the probability of its class (at least machine eps), or squared error."""
    if n_classes == 0:
        return np.asarray((y - predicted[:, 0]) ** 2)
    p = predicted[np.arange(len(y)), y.astype(np.intp)]
    return np.asarray(-np.log(np.maximum(p, np.finfo(np.float64).eps)))


def fit_linear(
    z: FloatArray,
    y: NDArray[Any],
    weight: FloatArray,
    n_classes: int,
    folds: Folds = (),
    penalty: float | None = None,
) -> LinearFit:
    """Fit on encoded columns ``z``; ``y`` holds class codes, or numbers if ``n_classes`` is 0."""
    weight = weight * (len(weight) / weight.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the penalty is what the data chose, converged or not
        chosen, held_out = _choose_penalty(
            z, y, weight, n_classes, folds if penalty is None else ()
        )
        penalty = chosen if penalty is None else penalty
        model = _fit(_make_model(n_classes, z.shape[1]), penalty, z, y, weight)
    return LinearFit(model, penalty, held_out)


def _choose_penalty(
    z: FloatArray, y: NDArray[Any], weight: FloatArray, n_classes: int, folds: Folds
) -> tuple[float, FloatArray | None]:
    """The penalty with the smallest held-out loss, and its held-out predictions."""
    models = [_make_model(n_classes, z.shape[1]) for _ in folds]
    best, chosen, held_out, rises = np.inf, UNTRIED, None, 0
    for penalty in PENALTIES if folds else ():
        predicted = np.empty((len(y), max(n_classes, 1)))
        for model, (rows, others) in zip(models, folds, strict=True):
            _fit(model, penalty, z[rows], y[rows], weight[rows])
            ask = model.predict_proba if n_classes else model.predict
            predicted[others] = ask(z[others]).reshape(len(others), -1)
        loss = float(weight @ losses(y, predicted, n_classes))
        if loss < best:
            best, chosen, held_out, rises = loss, float(penalty), predicted, 0
        elif (rises := rises + 1) == 2:
            break
    return chosen, held_out


def _make_model(n_classes: int, p: int) -> Any:
    if n_classes == 0:
        return Ridge()
    few = p * max(1, n_classes - 1) <= MANY
    solver = "newton-cholesky" if few else "lbfgs"
    return LogisticRegression(solver=solver, warm_start=True, max_iter=200)


def _fit(model: Any, penalty: float, z: FloatArray, y: NDArray[Any], weight: FloatArray) -> Any:
    """The model with a penalty on the mean loss, in scikit-learn's own terms."""
    strength = penalty * len(y)
    own = {"alpha": strength} if isinstance(model, Ridge) else {"C": 1 / strength}
    return model.set_params(**own).fit(z, y, sample_weight=weight)
