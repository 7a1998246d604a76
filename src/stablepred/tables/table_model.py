"""A fitted model of a table as it comes: raw rows in, probabilities and labels out."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags

from stablepred._text import count_noun
from stablepred._validation import warn_user
from stablepred.evaluation.predictions import PlainTable
from stablepred.evaluation.references import References, fit_references
from stablepred.exceptions import InputError, TableWarning
from stablepred.io.atomic import check_writable
from stablepred.io.save import MODEL_FILE, save, storable
from stablepred.tables import messages
from stablepred.tables import target as outcomes
from stablepred.tables.encoder import TableEncoder, as_frame
from stablepred.tables.groups import group_rows
from stablepred.tables.messages import Note, check_known, warn_of
from stablepred.tables.target import AnyTarget, ClassTarget, NumberTarget, Target
from stablepred.worlds.environment import Environment

FloatArray = NDArray[np.float64]


@storable
@dataclass(frozen=True, eq=False)
class TableModel:
    """An estimator with the encoder and the target it was fitted with: takes rows as they come.

    `fit_table` makes one, and ``stablepred.load("model")`` reads one.

    Attributes
    ----------
    encoder : TableEncoder
    target : Target, ClassTarget or NumberTarget
        The outcome column, and which of two values is 1.
    estimator : classifier or regressor
        Fitted on the features, with the outcome as 0/1, as classes or as a number.
    rows : int
        Rows it was fitted on.
    base_rate : float
        What a constant would predict: the share of 1 among them or, of several classes, of the
        most frequent one, or the mean.
    typed : bool
        Whether the estimator encodes the columns itself, and takes them as numbers and categories.
    references : References or None
        The constant and the linear model of the same columns.
    """

    encoder: TableEncoder
    target: AnyTarget
    estimator: Any
    rows: int
    base_rate: float
    typed: bool = False
    references: References | None = None

    def features(self, X: Any) -> tuple[pd.DataFrame, list[Note]]:
        """New rows as the estimator takes them, and what was not expected in them."""
        if self.typed:
            return self.encoder.typed(X), self.encoder.encode_array(X)[1]
        return self.encoder.encode(X)

    def expected(self, features: pd.DataFrame) -> FloatArray:
        """Of such features the probability of 1, those of all classes, or the expected number."""
        with warnings.catch_warnings():
            if self.typed:  # what is unexpected was told with the features
                warnings.simplefilter("ignore", TableWarning)
            if isinstance(self.target, NumberTarget):
                return np.asarray(self.estimator.predict(features), dtype=np.float64)
            found = np.asarray(self.estimator.predict_proba(features), dtype=np.float64)
        return found[:, 1] if isinstance(self.target, Target) else found

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of 0 and 1, (n, 2), or of each class; unused columns are ignored."""
        if isinstance(self.target, NumberTarget):
            raise InputError(f"target {self.target.name!r} is a number; use predict.")
        found = self.expected(self._read(X))
        return np.column_stack([1 - found, found]) if found.ndim == 1 else found

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable value of the target, as it is written in the table, or its number."""
        return self.decide(self.expected(self._read(X)))

    def decide(self, expected: FloatArray) -> NDArray[Any]:
        """Predictions from what `expected` gives."""
        if isinstance(self.target, Target):
            values = np.array([self.target.negative, self.target.positive], dtype=object)
            return values[(expected > 0.5).astype(np.intp)]
        return expected if expected.ndim == 1 else self.estimator.classes_[expected.argmax(axis=1)]

    def _read(self, X: Any) -> pd.DataFrame:
        features, notes = self.features(X)
        warn_of(notes)
        return features

    def environment(self, name: str, X: Any) -> Environment | PlainTable:
        """Features and outcome of a table, to evaluate ``model.estimator`` on."""
        frame = as_frame(X)
        check_known(self.target.name, frame.columns, "target")
        kind = PlainTable if self.typed else Environment  # which holds numbers only
        return kind(name, self._read(frame), self.target.encode(frame[self.target.name]))

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model to a folder, whole or not at all, for ``load`` to read.

        An older model there is replaced only with ``force=True``.
        """
        folder = Path(path)
        check_model_folder(folder, force=force)
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        try:
            save(self, folder / MODEL_FILE)
        except BaseException:
            if is_new:
                folder.rmdir()
            raise

    @property
    def feature_names(self) -> list[str]:
        """Names of the features that the estimator takes."""
        names = self.encoder.used_columns if self.typed else self.encoder.get_feature_names_out()
        return [str(name) for name in names]

    def check_stored(self) -> None:
        """Raise ValueError unless it could have been fitted."""
        if list(getattr(self.estimator, "feature_names_in_", ())) != self.feature_names:
            raise ValueError("the estimator was fitted on other features than the encoder makes")
        if isinstance(self.target, NumberTarget):
            return
        known = [0, 1] if isinstance(self.target, Target) else sorted(self.target.values)
        if list(self.estimator.classes_) != known or not hasattr(self.estimator, "predict_proba"):
            raise ValueError(f"the estimator must have predict_proba and the classes {known}")
        if self.rows < 1 or not 0 <= self.base_rate <= 1:
            raise ValueError("rows must be at least 1, and base_rate a share")


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table as features and outcome, with how they were made."""

    encoder: TableEncoder
    target: AnyTarget
    features: pd.DataFrame
    y: NDArray[Any]
    raw: pd.DataFrame  # the columns as they came
    typed: bool  # the features are columns as they come
    environment: NDArray[Any] | None  # labels of the training environments

    def fit(self, estimator: Any) -> TableModel:
        """Fit an estimator; of a search the best one is kept."""
        marks = {} if self.environment is None else {"environment": self.environment}
        fitted = estimator.fit(self.features, self.y, **marks)
        fitted = getattr(fitted, "best_estimator_", fitted)
        if hasattr(fitted, "balance_report_") and not self.typed:
            fitted.balance_report_ = fitted.balance_report_.between(self.encoder.variable_of)
        classes = not isinstance(self.target, NumberTarget)
        beside = fit_references(self.raw, self.y, classifier=classes)
        parts = self.encoder, self.target, fitted
        return TableModel(*parts, len(self.y), self.base_rate, self.typed, beside)

    @property
    def base_rate(self) -> float:
        if isinstance(self.target, ClassTarget):
            return float(np.unique(self.y, return_counts=True)[1].max() / len(self.y))
        return float(self.y.mean())


def encode_table(
    frame: pd.DataFrame,
    target: str,
    estimator: Any = None,
    drop: Sequence[str] = (),
    positive: str | None = None,
    skip_missing_target: bool = False,
    environment: str | None = None,
) -> EncodedTable:
    """The first half of `fit_table`: everything but the fit of the estimator.

    If the estimator has ``takes_tables = True``, columns are only typed. If it has a parameter
    ``dichotomize``, numbers are cut as that says.
    """
    frame = as_frame(frame)
    messages.check_columns(list(frame.columns))
    check_known(target, frame.columns, "target")
    if target in drop:
        raise InputError(f"{target!r} is the target; it cannot be dropped.")
    notes = []
    if (missing := outcomes.is_missing(frame[target])).any():
        if not skip_missing_target:
            raise outcomes.missing_target(target, missing, how=": skip_missing_target=True")
        frame = frame[~missing]
        rows, first = count_noun(int(missing.sum()), "row"), int(np.argmax(missing)) + 1
        notes.append(f"left out without a target: {rows}, first data row {first}")
    outcome, y = _learn_outcome(frame[target], positive, estimator)
    frame, labels = frame.drop(columns=target), None
    if environment is not None:
        check_known(environment, frame.columns, "column of the environments")
        groups = group_rows(frame.pop(environment))
        labels = groups.labels
        counts = [f"{name} ({int(rows.sum()):,} rows)" for name, rows in groups.rows.items()]
        notes += [*groups.notes, f"training environments by {environment}: {', '.join(counts)}"]
    inner = getattr(estimator, "estimator", None) or estimator  # that of a search
    cut = getattr(inner, "dichotomize", None)
    encoder = TableEncoder(drop=tuple(drop), dichotomize=cut).fit(frame)
    typed = bool(getattr(estimator, "takes_tables", False))
    features = encoder.typed(frame) if typed else encoder.encode(frame)[0]
    for line in notes:
        warn_user(line, TableWarning)
    encoder.notes_ = notes + encoder.notes_
    return EncodedTable(encoder, outcome, features, y, frame[encoder.used_columns], typed, labels)


def _learn_outcome(
    column: pd.Series, positive: str | None, estimator: Any
) -> tuple[AnyTarget, NDArray[Any]]:
    number = None if estimator is None else is_regressor(estimator) or None
    outcome = outcomes.learn_target(column, positive, number=number)
    if estimator is not None and isinstance(outcome, NumberTarget) and is_classifier(estimator):
        raise InputError(
            f"target {outcome.name!r} is a number (many different ones, or fractions). Use a "
            "regressor such as StableRegressor, or recode it into two values."
        )
    if estimator is not None and isinstance(outcome, ClassTarget):
        tags = get_tags(estimator).classifier_tags
        if tags is not None and not tags.multi_class:
            found, shown = f"{len(outcome.values)} classes", messages.listed(outcome.values, 5)
            raise messages.not_two_values(outcome.name, found, shown, "StableClassifier")
    return outcome, outcome.encode(column)


def fit_table(
    frame: pd.DataFrame,
    target: str,
    estimator: Any,
    *,
    drop: Sequence[str] = (),
    positive: str | None = None,
    skip_missing_target: bool = False,
    environment: str | None = None,
) -> TableModel:
    """Fit an estimator on a table as it comes.

    Parameters
    ----------
    frame : DataFrame
        Features and target as they come.
    target : str
        The outcome column: two values or several classes, or for a regressor a number.
    estimator : classifier with ``predict_proba``, or regressor
        Fitted on the columns as `TableEncoder` encodes them, or as numbers and categories if it
        has ``takes_tables = True``; on two values as 0/1. Of a search, the best is kept.
    drop : sequence of str, default=()
        Columns to leave out.
    positive : str, optional
        The value of the target to predict (1); by default the last in sorted order.
    skip_missing_target : bool, default=False
        Leave out rows in which the target is missing; otherwise they are an error.
    environment : str, optional
        The column that tells the training environments apart, for an estimator that takes
        ``environment`` in ``fit``; no feature. Numbers with many values are cut at their quartiles.

    Returns
    -------
    TableModel

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from stablepred.data import fit_table
    >>> frame = pd.DataFrame({"age": [20, 30, 60, 70], "buys": ["no", "no", "yes", "yes"]})
    >>> fit_table(frame, "buys", LogisticRegression()).predict(pd.DataFrame({"age": [25, 65]}))
    array(['no', 'yes'], dtype=object)
    """
    parts = frame, target, estimator, drop, positive, skip_missing_target, environment
    return encode_table(*parts).fit(estimator)


def check_model_folder(folder: Path, *, force: bool) -> None:
    """Raise early when a model cannot be written to a folder, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file. Name a folder for the model.")
    if (folder / MODEL_FILE).exists() and not force:
        raise InputError(f"{folder} exists. Name another folder, or replace it with force=True.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    check_writable(folder if folder.is_dir() else folder.parent)
