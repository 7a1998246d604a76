"""Folds of the training rows, each with the environments that its candidates are scored in."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from numbers import Integral
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, check_X_y
from sklearn.utils._indexing import _get_column_indices

from stablepred._random import child_seed, numpy_generator
from stablepred._validation import FloatArray, check_sample_weight, read_labels, warn_user
from stablepred.evaluation.predictions import check_columns, check_environments
from stablepred.exceptions import InputError, StablepredWarning
from stablepred.preprocessing import Dichotomizer
from stablepred.tables.encoder import as_frame
from stablepred.validation.environments import (
    IndexArray,
    by_content,
    column_values,
    draw_other_side,
    find_obstacle,
    validation_environments,
    with_columns,
)

# Features and weights of held-out rows -> features, outcome and weights per environment.
Environments = Callable[[Any, FloatArray | None], Iterable[tuple[Any, FloatArray, FloatArray]]]


class Rows(NamedTuple):
    """Rows to train on; features are an array or a pandas frame, and left to the estimator."""

    X: Any
    y: NDArray[Any]  # as given
    target: FloatArray  # 0/1, or a number
    side: FloatArray  # the 0/1 that noisy features agree with: of a number, above the median or not
    weight: FloatArray | None = None
    environment: NDArray[Any] | None = None

    @property
    def present(self) -> IndexArray:
        return np.arange(len(self.y)) if self.weight is None else np.flatnonzero(self.weight > 0)

    @property
    def names(self) -> list[Any]:
        """Names of the features; x0, x1, ... for an array, as scikit-learn numbers them."""
        return list(getattr(self.X, "columns", [f"x{j}" for j in range(self.X.shape[1])]))

    def take(self, rows: IndexArray) -> "Rows":
        columns: Any = (None if one is None else _safe_indexing(one, rows) for one in self)
        return Rows(*columns)


class Fold(NamedTuple):
    """Indices of the rows to fit on and of those held out, and the environments to score in."""

    train: IndexArray
    test: IndexArray
    environments: Environments


def read_rows(X: Any, y: Any, sample_weight: Any, environment: Any, *, number: bool) -> Rows:
    """Check the training table; rows of weight zero are in it."""
    from stablepred.models.entry import encode_outcome  # it imports this package

    array, labels = check_X_y(X, y, dtype=None, ensure_all_finite=False, y_numeric=number)
    weight = check_sample_weight(sample_weight, array)
    if environment is not None:
        codes, names = read_labels(environment, "environment", len(labels))
        environment = np.array(names)[codes]
    if number:
        target = labels.astype(np.float64)
        side = (target > np.median(target[weight > 0])).astype(np.float64)
    else:
        target = side = encode_outcome(SimpleNamespace(), labels, weight)
    X = as_frame(X) if hasattr(X, "columns") else array
    return Rows(X, labels, target, side, None if sample_weight is None else weight, environment)


def make_folds(
    whole: Rows, cv: Any, noisy: NDArray[np.bool_], kind: str, rates: Sequence[float], seed: int
) -> list[Fold]:
    """Split the rows; in the held-out ones, the noisy columns follow the outcome at every rate."""
    rows, positions = whole.take(whole.present), np.flatnonzero(noisy)
    values = column_values(rows.X, positions, rows.names)
    order = by_content(values)  # so that no draw depends on the order of the columns
    positions, values = positions[order], values[:, order]
    bits = others = values
    if len(positions):
        bits = Dichotomizer().fit_transform(values, sample_weight=rows.weight)
        others = draw_other_side(values, bits, numpy_generator(seed, "values"))
    every = np.ones(len(positions), dtype=bool)

    def change(test: IndexArray, number: int, X: Any, weight: FloatArray | None) -> Iterator[Any]:
        draws = np.random.default_rng(child_seed(seed, "redraw", number))
        for new, w in validation_environments(
            kind, bits[test], rows.side[test], every, draws, sample_weight=weight, rates=rates
        ):
            changed = np.where(new == bits[test], values[test], others[test])
            yield with_columns(X, positions, changed), rows.target[test], w

    splits = enumerate(split(whole, cv, seed))
    return [Fold(train, test, partial(change, test, k)) for k, (train, test) in splits]


def use_environments(environments: Any, rows: Rows, number: bool) -> tuple[list[str], Fold]:
    """Names of the user's own environments, and the fold of all rows that is scored in them."""
    given, named, classes = [], hasattr(rows.X, "columns"), np.unique(rows.y).tolist()
    tables = check_environments(environments)
    for table in tables:
        if named or table.X.shape[1] != len(rows.names):
            check_columns(table, rows.names, "X")
        target = np.asarray(table.y)
        if not number:  # with the labels of y, or 0/1 already
            fitting = [pair for pair in (classes, [0, 1]) if np.isin(target, pair).all()]
            if not fitting:
                raise InputError(
                    f"the outcome of environment {table.name!r} must have the values {classes} "
                    f"or 0 and 1, but has {np.unique(target)[:5].tolist()}."
                )
            target = target == fitting[0][1]
        X = table.X if named else table.X.to_numpy()
        given.append((X, target.astype(np.float64), np.ones(len(target))))
    every = np.arange(len(rows.y))
    return [table.name for table in tables], Fold(every, every, lambda X, weight: given)


def leave_environments_out(rows: Rows) -> tuple[list[str], list[Fold]]:
    """Names of the training environments, and for each the fold that leaves it out."""
    names, code = np.unique(np.asarray(rows.environment), return_inverse=True)
    if len(names) < 2:
        raise InputError(
            f"every row has the environment {str(names[0])!r}, so that none can be left out. Pass "
            "the labels of two or more, or none."
        )

    def score_in(k: int, target: FloatArray, X: Any, weight: FloatArray | None) -> Any:
        w = np.ones(len(target)) if weight is None else weight
        return [(X, target, w * (j == k)) for j in range(len(names))]  # all rows are of one

    folds = []
    for k in range(len(names)):
        test = np.flatnonzero(code == k)
        score = partial(score_in, k, rows.target[test])
        folds.append(Fold(np.flatnonzero(code != k), test, score))
    return names.tolist(), folds


def split(whole: Rows, cv: Any, seed: int) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Splits as indices among the rows present; a splitter, or a list of splits, has all rows."""
    present = whole.present
    if not isinstance(cv, Integral):
        among = np.full(len(whole.y), -1)
        among[present] = np.arange(len(present))
        for parts in check_cv(cv, whole.y, classifier=True).split(whole.X, whole.y):
            train, test = (among[part][among[part] >= 0] for part in parts)
            yield train, test
        return
    target = whole.side[present]
    smaller = int(min(target.sum(), (1 - target).sum()))
    n_folds = min(int(cv), smaller)
    if n_folds < 2:
        raise InputError(
            f"the search needs two folds with both classes in each, but cv={cv} and the smaller "
            f"class has n_samples={smaller}. Raise cv, pass more rows, or pass environments=."
        )
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=child_seed(seed, "folds"))
    yield from splitter.split(target, target)


def constant_error(folds: Iterable[Fold], rows: Rows) -> float:
    """Average_Error of predicting the base rate of the rows fitted on, in the same environments."""
    sums = []
    for fold in folds:
        train, test = rows.take(fold.train), rows.take(fold.test)
        base = np.average(train.target, weights=train.weight)
        scored = fold.environments(test.X, test.weight)
        sums.append([(w @ (target - base) ** 2, w.sum()) for _, target, w in scored])
    squares, totals = np.sum(sums, axis=0).T  # (environments,)
    return float(np.sqrt(squares / totals).mean())


def find_noisy(rows: Rows, seed: int) -> NDArray[np.bool_]:
    """Find the features that vary and that the library's screen does not call stable.

    Those from which no environment can be made are left out, with a warning.
    """
    from stablepred.models.stable import StableFeatureSelector  # it imports this package

    obstacles = [find_obstacle(_safe_indexing(rows.X, j, axis=1)) for j in range(len(rows.names))]
    named = zip(rows.names, obstacles, strict=True)
    if unchanged := ", ".join(f"{name!r} ({why})" for name, why in named if why):
        warn_user(
            f"no environment can be made from {unchanged}: the same in all of them.",
            StablepredWarning,
        )
    usable = np.flatnonzero([not why for why in obstacles])
    x = column_values(rows.X, usable, rows.names)
    order = by_content(x)  # so that the verdict does not depend on the columns' order
    judge = StableFeatureSelector(random_state=child_seed(seed, "noisy"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StablepredWarning)
        judge.fit(x[:, order], rows.target, sample_weight=rows.weight)
    mask = np.zeros(len(rows.names), dtype=bool)
    mask[usable[order]] = ~judge.stable_features_ & (np.ptp(x[:, order], axis=0) > 0)
    if mask.all() or not mask.any():
        warn_user(
            f"{'every' if mask.all() else 'no'} feature was found noisy, so that the validation "
            "environments say little about stability. Name the features that may change in "
            "noisy_features=, or pass environments=.",
            StablepredWarning,
        )
    return mask


def select_noisy(chosen: Any, X: Any) -> NDArray[np.bool_]:
    """Turn names, indices or booleans into a mask over the columns."""
    listed = [chosen] if isinstance(chosen, str) else list(chosen)
    try:
        mask = np.isin(np.arange(X.shape[1]), _get_column_indices(X, listed) if listed else [])
    except (ValueError, TypeError) as error:
        raise InputError(
            f"noisy_features is {listed}, but must be names, indices, or one boolean per feature: "
            f"{str(error).rstrip('.')}."
        ) from error
    if not mask.any():
        raise InputError("noisy_features is empty; name a feature, or leave it at None.")
    return mask
