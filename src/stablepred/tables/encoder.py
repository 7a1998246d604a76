"""Encode a table as it comes as the numbers that estimators need."""

from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from stablepred._parameters import Rule, check_parameters, one_of
from stablepred._validation import atomic, check_sample_weight, column_names
from stablepred.exceptions import InputError
from stablepred.io.save import save_method, storable
from stablepred.io.values import attribute, is_fitted, n_features
from stablepred.tables import messages
from stablepred.tables.columns import Column, ScaledColumn, typed
from stablepred.tables.learning import change_tails, learn_column
from stablepred.tables.messages import LEFT_OUT, Note, check_known, listed, note_lines, repeated


@storable
class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a mixed table as numbers, and new rows as the same features.

    Numbers stay numbers, standardised; beyond the range of training they grow like a logarithm, so
    that no linear model extrapolates far. Columns of 0 and 1 and booleans stay 0/1. A missing
    number is the mean, with a feature ``age is missing`` if a tenth of the rows, and at least ten,
    have none. Text and categories become one 0/1 feature per value, ``job=student``, with values in
    fewer than ten rows (of a small table, in under a twentieth of them), and all but the 30 most
    frequent, combined into ``job is rare``; of two values only the last one needs a feature. Values
    never seen in training are encoded as the average training row. Constant columns, and text that
    differs from row to row, are left out with a ``TableWarning``. Dates are refused, and so are
    infinite numbers and numbers that can be read in two ways, such as 1.234 beside 999. Columns may
    be text, as in a CSV file, or typed: the resulting features are the same.

    Parameters
    ----------
    drop : sequence of str, default=()
        Columns to leave out.
    dichotomize : {"mean", "median", None}, default=None
        Cut numbers there (as `Dichotomizer` does) into ``age>40.9``. Missing values then have a
        feature however few they are, text values down to 1 % of the rows, and those never seen
        count as rare, or as none of the known ones.
    tails : {"soft", "log", "clip", "keep"}, default="soft"
        Far numbers: growing like a logarithm beyond the range of training ("soft"); the same beyond
        the quantiles of 1 % and 99 %, and clipped to the range ("log"); only clipped; or as they
        are.

    Attributes
    ----------
    columns_ : list
        How each column is encoded.
    groups_ : ndarray of int
        For each feature the position of its column in ``columns_``.
    variables_ : list of str
        All columns that were not dropped, those without a feature among them.
    notes_ : list of str
        What was left out, missing, rare, assumed or in doubt, one line per topic.

    Examples
    --------
    >>> import pandas as pd
    >>> from stablepred.data import TableEncoder
    >>> frame = pd.DataFrame({"age": [20, 30, 70] * 10, "job": ["clerk", "cook", None] * 10})
    >>> TableEncoder().fit_transform(frame).head(3).round(2)
        age  job=clerk  job=cook  job is missing
    0 -0.93        1.0       0.0             0.0
    1 -0.46        0.0       1.0             0.0
    2  1.39        0.0       0.0             1.0
    """

    columns_: list[Column]
    notes_: list[str]
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    save = save_method
    rules: ClassVar[dict[str, Rule]] = {"tails": one_of("soft", "log", "clip", "keep")}

    def __init__(
        self, *, drop: Sequence[str] = (), dichotomize: str | None = None, tails: str = "soft"
    ) -> None:
        self.drop = drop
        self.dichotomize = dichotomize
        self.tails = tails

    @atomic
    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn how to encode each column of a frame, or of an array of numbers (x0, x1, ...).

        Columns of a frame none of which has a name that is text are named as those of an array.
        A row of weight 2 counts as two rows, one of weight 0 as none; the scale does not matter.
        """
        given: Any = X if isinstance(X, np.ndarray) else as_frame(X)
        named = any(isinstance(name, str) for name in getattr(given, "columns", ()))
        frame = given if named else name_columns(given)
        self.n_features_in_ = frame.shape[1]
        if named:
            self.feature_names_in_ = np.array(frame.columns, dtype=object)
        messages.check_columns(list(frame.columns))
        for name in self.drop:
            check_known(name, frame.columns, "column to drop")
        check_parameters(self)
        if len(frame) == 0:
            raise InputError("the table has no rows.")
        count = np.ones(len(frame))
        if sample_weight is not None:
            from stablepred.sample import count_rows  # with torch, which tables do without

            weight = check_sample_weight(sample_weight, frame)
            frame, count = frame[weight > 0], count_rows(weight[weight > 0])
        how = self.dichotomize, self.tails
        learned = [learn_column(frame[name], count, *how) for name in self.variables_]
        notes = [note for _, found in learned for note in found]
        self.columns_ = [column for column, _ in learned if column is not None]
        self._check_features(notes)
        self.notes_ = note_lines(notes)
        messages.warn_of(note for note in notes if note.topic in LEFT_OUT)
        return self

    def _check_features(self, notes: list[Note]) -> None:
        names = self.get_feature_names_out().tolist()
        if not names:
            found = "; ".join(note_lines(notes)) or "all dropped"
            raise InputError(f"no feature is left: {found}.")
        if same := repeated(names):
            same_name = f"two columns would give a feature of the same name: {listed(same)}."
            raise InputError(f"{same_name} Rename one of them.")

    def transform(self, X: Any) -> pd.DataFrame:
        """The features of new rows; warns about values not seen in training."""
        features, notes = self.encode(X)
        messages.warn_of(notes)
        return features

    def encode(self, X: Any) -> tuple[pd.DataFrame, list[Note]]:
        """The features of new rows, and notes on what was unexpected in them."""
        frame = self._named(X)
        values, notes = self.encode_array(frame)
        return pd.DataFrame(values, frame.index, self.get_feature_names_out(), copy=False), notes

    def encode_array(self, X: Any) -> tuple[NDArray[np.float64], list[Note]]:
        """The same as `encode`, as an array in row-major order."""
        frame, notes = self._named(X), list[Note]()
        values = np.empty((len(frame), len(self.groups_)))
        places = iter(values.T)
        for column in self.columns_:
            features, unexpected = column.encode(frame[column.name])
            notes += unexpected
            for feature in features:
                next(places)[:] = feature
        return values, notes

    def bend(self, X: Any, count: NDArray[np.float64]) -> Self:
        """The same encoder with logarithmic tails, learned from some training rows.

        ``count`` says how many rows each of them stands for.
        """
        frame, other = self._named(X), copy(self)
        other.columns_ = [
            change_tails(column, frame[column.name], count, "log")
            if isinstance(column, ScaledColumn)
            else column
            for column in self.columns_
        ]
        return other

    def typed(self, X: Any) -> pd.DataFrame:
        """The columns in use before they are encoded: numbers as floats, text as categories."""
        frame = self._named(X)
        found = {part.name: typed(part, frame[part.name]) for part in self.columns_}
        return pd.DataFrame(found, frame.index)

    def _named(self, X: Any) -> pd.DataFrame:
        check_is_fitted(self, "columns_")
        if hasattr(self, "feature_names_in_"):
            frame = as_frame(X)
            self.check_has_columns(list(frame.columns))
            return frame
        frame = name_columns(X if isinstance(X, np.ndarray) else as_frame(X))
        if frame.shape[1] != self.n_features_in_:
            raise InputError(
                f"the array has {frame.shape[1]} columns, but that of training had "
                f"{self.n_features_in_}."
            )
        return frame

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features, in order."""
        names = [name for column in self.columns_ for name in column.features]
        return np.array(names, dtype=object)

    @property
    def groups_(self) -> NDArray[np.intp]:
        """For each feature the position of its column in ``columns_``."""
        widths = [len(column.features) for column in self.columns_]
        return np.repeat(np.arange(len(widths)), widths)

    @property
    def variable_of(self) -> dict[str, str]:
        """The column from which each feature is made, by the name of the feature."""
        return {name: column.name for column in self.columns_ for name in column.features}

    @property
    def variables_(self) -> list[str]:
        """All columns that were not dropped."""
        return [n for n in column_names(self, self.n_features_in_) if n not in self.drop]

    @property
    def used_columns(self) -> list[str]:
        """The columns of a table from which the features are made."""
        return [column.name for column in self.columns_]

    def check_stored(self) -> None:
        """Raise ValueError unless it could have been fitted."""
        check_parameters(self)
        if not is_fitted(self):
            return
        for name in ("columns_", "notes_"):
            attribute(self, name)
        n_features(self)
        if repeated(self.used_columns) or not {*self.used_columns} <= {*self.variables_}:
            raise ValueError("columns_ must be different columns of the training table")
        self._check_features([])

    def check_has_columns(self, names: list[Any]) -> None:
        """Raise an error if a table lacks a column that was used in training."""
        present = set(names)
        if lacking := [name for name in self.used_columns if name not in present]:
            raise InputError(
                f"the table lacks {', '.join(map(repr, lacking))}, which the model was trained on. "
                f"It has: {listed(names)}. {messages.nearest(lacking[0], names)}"
                "Add the column, or fit the model again without it."
            )


def as_frame(X: Any) -> pd.DataFrame:
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        raise InputError(
            f"a table must be a DataFrame with named columns, but is {type(X).__name__}. Wrap it: "
            "pandas.DataFrame(X, columns=[...]), or read a file with read_table."
        )
    return X


def name_columns(X: Any) -> pd.DataFrame:
    """A frame whose columns are named by their position, from an array of numbers or a frame."""
    if X.ndim != 2:
        raise InputError(f"an array must have two dimensions, but has {X.ndim}.")
    names = [f"x{j}" for j in range(X.shape[1])]
    if isinstance(X, pd.DataFrame):
        return X.set_axis(names, axis=1)
    return pd.DataFrame(X, columns=names, copy=False)
