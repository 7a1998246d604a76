"""A fitted model of a table as it comes: raw rows in, probabilities and labels out."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._version import __version__
from stablepred.exceptions import InputError
from stablepred.io.save import MODEL_FILE, save, storable
from stablepred.tables.model_folder import SUMMARY_FILE, new_model_folder
from stablepred.tables.table_encoder import TableEncoder, as_frame, check_columns, unknown_column
from stablepred.tables.target import Target, learn_target
from stablepred.worlds.environment import Environment

FloatArray = NDArray[np.float64]


@storable
@dataclass(frozen=True, eq=False)
class TableModel:
    """An estimator with the encoder and the target that it was fitted with.

    `fit_table` makes one, ``stablepred fit`` writes one, and ``stablepred.load("model")`` reads
    it. It takes rows as they come, and so do ``environment_errors`` and ``stability_report``.

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
        """0/1 features and outcome of a table, for the functions that compare environments.

        These take ``model.estimator`` with it.
        """
        frame = as_frame(X)
        if self.target.name not in frame.columns:
            raise unknown_column(self.target.name, list(frame.columns), "target")
        outcome = self.target.encode(frame[self.target.name])
        return Environment(name, self.encoder.transform(frame), outcome)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model to a folder: the model file, and a summary for people to read.

        The folder is complete or not there at all. Read it with ``stablepred.load(path)``.

        Parameters
        ----------
        path : path
            The folder.
        force : bool, default=False
            Whether to replace an older model there.
        """
        with new_model_folder(Path(path), force=force) as folder:
            save(self, folder / MODEL_FILE)
            text = json.dumps(self.summary(), indent=2, ensure_ascii=False) + "\n"
            (folder / SUMMARY_FILE).write_text(text, encoding="utf-8")

    def summary(self) -> dict[str, Any]:
        """What the model is, in plain values."""
        names = [str(name) for name in self.encoder.get_feature_names_out()]
        stable = getattr(self.estimator, "stable_features_", None)
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
            "stable_features": (
                None
                if stable is None
                else [name for name, is_so in zip(names, stable, strict=True) if is_so]
            ),
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
    y: NDArray[np.int64]

    def fit(self, estimator: Any) -> TableModel:
        """Fit an estimator; of a search the best one is kept."""
        fitted = estimator.fit(self.features, self.y)
        fitted = getattr(fitted, "best_estimator_", fitted)
        return TableModel(self.encoder, self.target, fitted, len(self.y), self.base_rate)

    @property
    def base_rate(self) -> float:
        """Share of 1."""
        return float(self.y.mean())


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
    encoder = TableEncoder(drop=tuple(drop), overlap=overlap).fit(rest)
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
        Features and target; numbers, texts, true and false, missing values.
    target : str
        The outcome column, with two values.
    estimator : classifier with ``predict_proba``
        One of this library or of scikit-learn, or a `StableSearchCV`, of which the best estimator
        is kept. It is fitted on 0/1 features and a 0/1 outcome.
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
