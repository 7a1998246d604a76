"""A fitted model of a table as it comes: raw rows in, probabilities and labels out."""

import json
import os
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags

from stablepred._validation import warn_user
from stablepred._version import __version__
from stablepred.evaluation.predictions import PlainTable
from stablepred.evaluation.references import References, fit_references
from stablepred.exceptions import InputError, TableWarning
from stablepred.io.atomic import check_writable, new_folder
from stablepred.io.save import MODEL_FILE, save, storable
from stablepred.preprocessing import tolerance_of_mean
from stablepred.tables import counting
from stablepred.tables.columns import NumberColumn
from stablepred.tables.counting import PatternCounts
from stablepred.tables.encoder import TableEncoder, as_frame, note_lines
from stablepred.tables.engines import load_narwhals, open_frame
from stablepred.tables.files import ParquetFile, TableFile
from stablepred.tables.groups import group_rows
from stablepred.tables.learning import FEW, learn_column
from stablepred.tables.messages import (
    Note,
    check_columns,
    in_rows,
    listed,
    not_two_values,
    unknown_column,
)
from stablepred.tables.target import (
    AnyTarget,
    ClassTarget,
    NumberTarget,
    Target,
    is_missing,
    learn_target,
    missing_target,
)
from stablepred.tables.types import PRECISION
from stablepred.worlds.environment import Environment

FloatArray = NDArray[np.float64]

SUMMARY_FILE = "summary.json"
# From so many rows on counting them is worth while; below, all rows are read.
MANY = 1_000_000


@storable
@dataclass(frozen=True, eq=False)
class TableModel:
    """An estimator with the encoder and the target it was fitted with: takes rows as they come.

    `fit_table` makes one, and ``stablepred.load("model")`` reads one.

    Attributes
    ----------
    encoder : TableEncoder
        Makes features of the rows.
    target : Target, ClassTarget or NumberTarget
        The outcome column; of two values which one is 1.
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
        The constant and the linear model of the same columns; None where rows were counted.
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

    def numbers(self, features: pd.DataFrame) -> pd.DataFrame:
        """Such features as numbers."""
        return self.encoder.encode(features)[0] if self.typed else features

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
        found = self._predicted(X)
        return np.column_stack([1 - found, found]) if found.ndim == 1 else found

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable value of the target, as it is written in the table, or its number."""
        return self.decide(self._predicted(X))

    def decide(self, expected: FloatArray) -> NDArray[Any]:
        """Predictions from what `expected` gives."""
        if isinstance(self.target, Target):
            return self.target.decode(expected > 0.5)
        return expected if expected.ndim == 1 else self.estimator.classes_[expected.argmax(axis=1)]

    def _predicted(self, X: Any) -> FloatArray:
        features, notes = self.features(X)
        for line in note_lines(notes):
            warn_user(line, TableWarning)
        return self.expected(features)

    def environment(self, name: str, X: Any) -> Environment | PlainTable:
        """Features and outcome of a table, to evaluate ``model.estimator`` on."""
        frame = as_frame(X)
        if self.target.name not in frame.columns:
            raise unknown_column(self.target.name, list(frame.columns), "target")
        features, notes = self.features(frame)
        for line in note_lines(notes):
            warn_user(line, TableWarning)
        kind = PlainTable if self.typed else Environment  # which holds numbers only
        return kind(name, features, self.target.encode(frame[self.target.name]))

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model and a summary to a folder, whole or not at all, for ``load`` to read.

        An older model there is replaced only with ``force=True``.
        """
        check_model_folder(Path(path), force=force)
        with new_folder(path) as folder:
            save(self, folder / MODEL_FILE)
            text = json.dumps(self.summary(), indent=2, ensure_ascii=False) + "\n"
            (folder / SUMMARY_FILE).write_text(text, encoding="utf-8")

    def summary(self) -> dict[str, Any]:
        """What the model is, in plain values."""
        names = self.feature_names
        stable = getattr(self.estimator, "stable_features_", None)
        if stable is not None:
            stable = [name for name, is_so in zip(names, stable, strict=True) if is_so]
        return {
            "stablepred": __version__,
            "estimator": type(self.estimator).__name__,
            "target": self.target.name,
            "positive": getattr(self.target, "positive", None),
            "negative": getattr(self.target, "negative", None),
            "rows": self.rows,
            "base_rate": self.base_rate,
            "columns": self.encoder.used_columns,
            "features": names,
            "stable_features": stable,
            "notes": self.encoder.notes_,
        }

    @property
    def feature_names(self) -> list[str]:
        """Names of the features that the estimator takes."""
        names = self.encoder.used_columns if self.typed else self.encoder.get_feature_names_out()
        return [str(name) for name in names]

    def check_stored(self) -> None:
        """Raise ValueError unless the parts go together, as those of a fitted model do."""
        if list(getattr(self.estimator, "feature_names_in_", ())) != self.feature_names:
            raise ValueError("the estimator was fitted on other features than the encoder makes")
        if self.rows < 1:
            raise ValueError("rows must be at least 1")
        if isinstance(self.target, NumberTarget):
            return
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError("the estimator has no predict_proba")
        known = [0, 1] if isinstance(self.target, Target) else sorted(self.target.values)
        if list(self.estimator.classes_) != known:
            raise ValueError(f"the classes of the estimator must be {known}")
        if not 0 <= self.base_rate <= 1:
            raise ValueError("base_rate must be a share")


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table as features and outcome, with how they were made."""

    encoder: TableEncoder
    target: AnyTarget
    features: pd.DataFrame
    y: NDArray[Any]
    count: FloatArray | None = None  # rows of the table that each one stands for, None if one
    raw: pd.DataFrame | None = None  # the columns as they came
    typed: bool = False  # the features are columns as they come
    environment: NDArray[Any] | None = None  # labels of the training environments

    def fit(self, estimator: Any) -> TableModel:
        """Fit an estimator; of a search the best one is kept. Counted rows need ``fit_table``."""
        if self.count is None:
            marks = {} if self.environment is None else {"environment": self.environment}
            fitted = estimator.fit(self.features, self.y, **marks)
        else:
            counted = PatternCounts(self.features, self.y, self.count)
            fitted = estimator.fit_table(counted, self.target.name)
        fitted = getattr(fitted, "best_estimator_", fitted)
        beside = None
        if self.raw is not None:
            classes = not isinstance(self.target, NumberTarget)
            beside = fit_references(self.raw, self.y, classifier=classes)
        parts = self.encoder, self.target, fitted
        return TableModel(*parts, self.rows, self.base_rate, self.typed, beside)

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return len(self.y) if self.count is None else int(self.count.sum())

    @property
    def base_rate(self) -> float:
        """Share of 1 or, of several classes, of the most frequent one; or the mean."""
        if isinstance(self.target, ClassTarget):
            return float(np.unique(self.y, return_counts=True)[1].max() / len(self.y))
        return float(np.average(self.y, weights=self.count))


def encode_table(
    frame: pd.DataFrame,
    target: str,
    *,
    estimator: Any = None,
    drop: Sequence[str] = (),
    positive: str | None = None,
    overlap: float | None = None,
    skip_missing_target: bool = False,
    environment: str | None = None,
) -> EncodedTable:
    """The first half of `fit_table`: everything but the fit of the estimator.

    If the estimator has ``takes_tables = True``, columns are only typed. If it has a parameter
    ``dichotomize``, numbers are cut as that says.
    """
    frame = as_frame(frame)
    check_columns(list(frame.columns))
    if target not in frame.columns:
        raise unknown_column(target, list(frame.columns), "target")
    if target in drop:
        raise InputError(f"{target!r} is the target; it cannot be dropped.")
    notes = []
    if (missing := is_missing(frame[target])).any():
        if not skip_missing_target:
            raise missing_target(target, missing, how=": skip_missing_target=True")
        frame = frame[~missing]
        rows, first = in_rows(int(missing.sum())), int(np.argmax(missing)) + 1
        notes.append(f"left out without a target: {rows}, first data row {first}")
    number = True if estimator is not None and is_regressor(estimator) else None
    outcome = learn_target(frame[target], positive, number=number)
    if isinstance(outcome, NumberTarget) and estimator is not None and is_classifier(estimator):
        raise InputError(
            f"target {target!r} is a number (many different ones, or fractions). Use a regressor "
            "such as StableRegressor, or recode it into two values."
        )
    if isinstance(outcome, ClassTarget) and _takes_two_classes(estimator):
        raise not_two_values(
            target,
            f"{len(outcome.values)} classes",
            [listed(outcome.values, 5)],
            "StableClassifier",
        )
    labels = None
    if environment is not None:
        if environment not in frame.columns or environment == target:
            others = [name for name in frame.columns if name != target]
            raise unknown_column(environment, others, "column of the environments")
        labels = _label_environments(frame[environment], notes)
        frame = frame.drop(columns=environment)
    rest = frame.drop(columns=target)
    encoder = TableEncoder(drop=tuple(drop), overlap=overlap, dichotomize=_cut(estimator)).fit(rest)
    typed = bool(getattr(estimator, "takes_tables", False)) and overlap is None
    features = encoder.typed(rest) if typed else encoder.encode(rest)[0]
    y = outcome.encode(frame[target])
    notes += _repeated_rows(frame[[*encoder.used_columns, target]])
    for line in notes:
        warn_user(line, TableWarning)
    encoder.notes_ = notes + encoder.notes_
    raw = rest[encoder.used_columns]
    return EncodedTable(encoder, outcome, features, y, None, raw, typed, labels)


def _label_environments(column: pd.Series, notes: list[str]) -> NDArray[Any]:
    """The environment of every row, by name; numbers with many values are cut."""
    groups = group_rows(column)
    notes += groups.notes
    labels = np.empty(len(column), dtype=object)
    for name, rows in groups.rows.items():
        labels[rows] = name
    counts = ", ".join(f"{name} ({int(rows.sum()):,} rows)" for name, rows in groups.rows.items())
    notes.append(f"training environments by {column.name}: {counts}")
    return labels


def _repeated_rows(frame: pd.DataFrame) -> list[str]:
    """Say so if every row is there several times, as after joining or stacking tables."""
    times = np.unique(pd.util.hash_pandas_object(frame, index=False), return_counts=True)[1]
    copies = int(np.gcd.reduce(times))
    if len(times) < FEW or copies == 1:
        return []
    return [
        f"every row is there {copies} times or a multiple of it: held-out rows are then known from "
        "training, and all looks more certain than it is"
    ]


def _takes_two_classes(estimator: Any) -> bool:
    tags = get_tags(estimator).classifier_tags if hasattr(estimator, "get_params") else None
    return tags is not None and not tags.multi_class


def _cut(estimator: Any) -> str | None:
    """Where an estimator, or that of a search, wants numbers cut."""
    inner = getattr(estimator, "estimator", None) or estimator
    return inner.get_params(deep=False).get("dichotomize") if hasattr(inner, "get_params") else None


def fit_table(
    frame: pd.DataFrame,
    target: str,
    estimator: Any,
    *,
    drop: Sequence[str] = (),
    positive: str | None = None,
    overlap: float | None = None,
    skip_missing_target: bool = False,
    environment: str | None = None,
) -> TableModel:
    """Fit an estimator on a table as it comes.

    Parameters
    ----------
    frame : DataFrame
        Features and target; numbers, text, booleans, missing values.
    target : str
        The outcome column: two values or several classes, or for a regressor a number.
    estimator : classifier with ``predict_proba``, or regressor
        It is fitted on what `TableEncoder` makes of the columns, or on columns of numbers and
        categories if it has ``takes_tables = True``. Two values are 0/1 for it, classes are as they
        are written. Of a search the best estimator is kept.
    drop : sequence of str, default=()
        Columns to leave out.
    positive : str, optional
        The value of the target that is 1; the last in sorted order if not given.
    overlap : float, optional
        As in `TableEncoder`.
    skip_missing_target : bool, default=False
        Leave rows out in which the target is missing, which is an error otherwise.
    environment : str, optional
        The column that tells the training environments apart, for an estimator that takes
        ``environment`` in ``fit``. It is no feature; numbers with many values are cut at their
        quartiles.

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
    encoded = encode_table(
        frame,
        target,
        estimator=estimator,
        drop=drop,
        positive=positive,
        overlap=overlap,
        skip_missing_target=skip_missing_target,
        environment=environment,
    )
    return encoded.fit(estimator)


# --- tables whose rows are counted, not read ---


def encode_counted(
    file: TableFile,
    columns: Sequence[str],
    target: str,
    positive: str | None = None,
    dichotomize: str | None = None,
) -> EncodedTable | None:
    """Encode and count a large file where it lies; None where its rows must be read.

    Counted are Parquet files of `MANY` rows whose columns are all 0/1 or, if they are cut at the
    mean, numbers and booleans, with no value missing, and none with so many values that it may be
    an id.
    """
    if not isinstance(file, ParquetFile) or file.rows < MANY or dichotomize == "median":
        return None
    with ExitStack() as stack:
        try:
            frame = stack.enter_context(open_frame(file))
            names = [name for name in columns if name != target]
            found = counting.inspect_columns(frame, target, names)
            values = pd.Series(counting.two_values(frame, target), name=target)
            learn_target(values)
        except InputError:  # for reading to deal with, or to explain
            return None
        if any(ends.high - ends.low + 1 >= file.rows for ends in found.values()):
            return None  # perhaps a different integer in every row
        binary = all(e.mean is None and {e.low, e.high} <= {0, 1} for e in found.values())
        if dichotomize is None and not binary:
            return None
        outcome = learn_target(values, positive)
        assert isinstance(outcome, Target)
        learned = [_learn_range(name, ends) for name, ends in found.items()]
        kept = [column for column, _ in learned if column is not None]
        encoder = TableEncoder.from_columns(kept, [note for _, notes in learned for note in notes])
        bits = {
            column.features[0]: counting.number(column.name) > column.cut + column.tolerance
            for column in kept
            if column.cut is not None
        }
        (one,) = values[outcome.encode(values) == 1]
        nw = load_narwhals()
        rows = counting.count_rows(frame, bits, (nw.col(target) == one).cast(nw.Int64))
        return EncodedTable(encoder, outcome, rows.X, np.asarray(rows.y), rows.count)


def _learn_range(name: str, found: counting.Values) -> tuple[NumberColumn | None, list[Note]]:
    """How to encode a column of which the ends are known, and the mean if there is more between."""
    nw = load_narwhals()
    dtype = bool if found.type == nw.Boolean else float
    column, notes = learn_column(
        pd.Series([found.low, found.high], name=name, dtype=dtype), np.ones(2), "mean"
    )
    assert column is None or isinstance(column, NumberColumn)
    if column is not None and found.mean is not None:
        precision = PRECISION["float32"] if found.type == nw.Float32 else 0.0
        tolerance = max(tolerance_of_mean(found.largest), precision * found.largest)
        column = replace(column, cut=found.mean, tolerance=tolerance, plain=False)
    return column, notes


# --- the folder of a model ---


def check_model_folder(path: Path, *, force: bool) -> None:
    """Raise early when a model folder cannot be written to ``path``, before any work is done."""
    if path.is_dir():
        found = {item.name for item in path.iterdir()}
        if found - {MODEL_FILE, SUMMARY_FILE}:
            raise InputError(
                f"{path} is a folder with other things in it ({sorted(found)[0]}, ...), which are "
                "never replaced. Name another folder."
            )
        if found and not force:
            raise InputError(f"{path} exists. Name another folder, or replace it with force=True.")
    elif path.exists():
        raise InputError(f"{path} is a file. Name a folder for the model.")
    path.parent.mkdir(parents=True, exist_ok=True)
    check_writable(path.parent)
