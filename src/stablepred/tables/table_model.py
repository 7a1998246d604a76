"""A fitted model of a table as it comes: raw rows in, probabilities and labels out."""

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._version import __version__
from stablepred.exceptions import InputError
from stablepred.io.atomic import check_writable, new_folder
from stablepred.io.save import MODEL_FILE, save, storable
from stablepred.preprocessing import tolerance_of_mean
from stablepred.tables import counting
from stablepred.tables.columns import NumberColumn, learn_column
from stablepred.tables.counting import PatternCounts
from stablepred.tables.encoder import TableEncoder, as_frame
from stablepred.tables.engines import load_narwhals, open_frame
from stablepred.tables.files import ParquetFile, TableFile
from stablepred.tables.messages import Note, check_columns, unknown_column
from stablepred.tables.target import Target, learn_target
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
        Makes 0/1 features of the rows.
    target : Target
        The outcome column, and which of its two values is 1.
    estimator : classifier with ``predict_proba``
        Fitted on the features, with the outcome as 0/1.
    rows : int
        Rows it was fitted on.
    base_rate : float
        Share of 1 among them: what a constant would predict.
    """

    encoder: TableEncoder
    target: Target
    estimator: Any
    rows: int
    base_rate: float

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of 0 and 1, (n, 2); columns that are not used are ignored."""
        probability: FloatArray = self.estimator.predict_proba(self.encoder.transform(X))
        return probability

    def predict(self, X: Any) -> NDArray[np.object_]:
        """The more probable value of the target, as it is written in the table."""
        return self.target.decode(self.predict_proba(X)[:, 1] > 0.5)

    def environment(self, name: str, X: Any) -> Environment:
        """0/1 features and outcome of a table, to evaluate ``model.estimator`` on."""
        frame = as_frame(X)
        if self.target.name not in frame.columns:
            raise unknown_column(self.target.name, list(frame.columns), "target")
        outcome = self.target.encode(frame[self.target.name])
        return Environment(name, self.encoder.transform(frame), outcome)

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
        names = [str(name) for name in self.encoder.get_feature_names_out()]
        stable = getattr(self.estimator, "stable_features_", None)
        if stable is not None:
            stable = [name for name, is_so in zip(names, stable, strict=True) if is_so]
        return {
            "stablepred": __version__,
            "estimator": type(self.estimator).__name__,
            "target": self.target.name,
            "positive": self.target.positive,
            "negative": self.target.negative,
            "rows": self.rows,
            "base_rate": self.base_rate,
            "columns": self.encoder.used_columns,
            "features": names,
            "stable_features": stable,
            "notes": self.encoder.notes_,
        }

    def check_stored(self) -> None:
        """Raise ValueError unless the parts go together, as those of a fitted model do."""
        names = list(getattr(self.estimator, "feature_names_in_", ()))
        if names != list(self.encoder.get_feature_names_out()):
            raise ValueError("the estimator was fitted on other features than the encoder makes")
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError("the estimator has no predict_proba")
        if list(self.estimator.classes_) != [0, 1]:
            raise ValueError("the classes of the estimator must be 0 and 1")
        if self.rows < 1 or not 0 <= self.base_rate <= 1:
            raise ValueError("rows must be at least 1, and base_rate a share")


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table as 0/1 features and outcome, with how they were made."""

    encoder: TableEncoder
    target: Target
    features: pd.DataFrame
    y: NDArray[Any]
    count: FloatArray | None = None  # rows of the table that each one stands for, None if one

    def fit(self, estimator: Any) -> TableModel:
        """Fit an estimator; of a search the best one is kept. Counted rows need ``fit_table``."""
        if self.count is None:
            fitted = estimator.fit(self.features, self.y)
        else:
            counted = PatternCounts(self.features, self.y, self.count)
            fitted = estimator.fit_table(counted, self.target.name)
        fitted = getattr(fitted, "best_estimator_", fitted)
        return TableModel(self.encoder, self.target, fitted, self.rows, self.base_rate)

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return len(self.y) if self.count is None else int(self.count.sum())

    @property
    def base_rate(self) -> float:
        """Share of 1."""
        return float(np.average(self.y, weights=self.count))


def encode_table(
    frame: pd.DataFrame,
    target: str,
    *,
    drop: Sequence[str] = (),
    positive: str | None = None,
    overlap: float | None = None,
) -> EncodedTable:
    """The first half of `fit_table`: everything but the estimator."""
    frame = as_frame(frame)
    check_columns(list(frame.columns))
    if target not in frame.columns:
        raise unknown_column(target, list(frame.columns), "target")
    if target in drop:
        raise InputError(f"{target!r} is the target; it cannot be dropped.")
    outcome = learn_target(frame[target], positive)
    rest = frame.drop(columns=target)
    encoder = TableEncoder(drop=tuple(drop), overlap=overlap, dichotomize="mean").fit(rest)
    return EncodedTable(encoder, outcome, encoder.encode(rest)[0], outcome.encode(frame[target]))


def fit_table(
    frame: pd.DataFrame,
    target: str,
    estimator: Any,
    *,
    drop: Sequence[str] = (),
    positive: str | None = None,
    overlap: float | None = None,
) -> TableModel:
    """Fit an estimator on a table as it comes.

    Parameters
    ----------
    frame : DataFrame
        Features and target; numbers, text, booleans, missing values.
    target : str
        The outcome column, with two values.
    estimator : classifier with ``predict_proba``
        It is fitted on 0/1 features and a 0/1 outcome; of a search the best estimator is kept.
    drop : sequence of str, default=()
        Columns to leave out.
    positive : str, optional
        The value of the target that is 1; the last in sorted order if not given.
    overlap : float, optional
        As in `TableEncoder`.

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
    encoded = encode_table(frame, target, drop=drop, positive=positive, overlap=overlap)
    return encoded.fit(estimator)


# --- tables whose rows are counted, not read ---


def encode_counted(
    file: TableFile, columns: Sequence[str], target: str, positive: str | None = None
) -> EncodedTable | None:
    """Encode and count a large file where it lies; None where its rows must be read.

    Counted are Parquet files of `MANY` rows whose columns are all numbers or booleans, with no
    value missing, and none with so many values that it may be an id.
    """
    if not isinstance(file, ParquetFile) or file.rows < MANY:
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
        outcome = learn_target(values, positive)
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
