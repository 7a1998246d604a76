"""Encode a mixed table as the 0/1 features that the estimators need."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from stablepred._validation import fit_atomically
from stablepred.exceptions import InputError, TableWarning
from stablepred.io.save import save_method, storable
from stablepred.tables.columns import Column, Note, NumberColumn, TextColumn, learn_column
from stablepred.tables.messages import check_columns, listed, nearest, repeated, unknown_column

# The text of the note on each topic, in this order.
TOPICS = {
    "constant": "left out, constant",
    "text id": "left out, an id or free text",
    "numeric id": "probably an id, drop it unless its size means something",
    "zeros": "read as numbers though some begin with 0, as codes do",
    "comma": "read with a decimal comma",
    "thousands": "read with a mark between thousands",
    "decimals": "read as fractions, all with three decimals; they may be thousands",
    "unseen": "never seen in training, taken as rare or as none of the known values",
    "stray": "not finite numbers, counted as missing",
    "missing": "missing values, each column with a feature 'is missing' of its own",
    "new missing": "missing here but never in training, taken as none of the known values",
    "rare": "values in under 1% of the rows, counted together as 'is rare'",
    "not 0/1": "only 0 and 1 in training, others taken as 1 if above 0.5",
    "overlap": "left out for want of overlap, share of ones",
}
LEFT_OUT = ("constant", "text id", "overlap")


@storable
class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a mixed table as 0/1 features, and new rows as the same features.

    Numbers are cut at their training mean (as `Dichotomizer` does) into ``age>40.9``; booleans
    become ``owner``; text becomes one feature per value, ``job=student``, with values in under 1%
    of the rows combined into ``job is rare``; missing values get a feature of their own,
    ``age is missing``. Constant columns, and text that differs from row to row, are left out with
    a ``TableWarning``. Dates are refused, and so are numbers that can be read in two ways, such as
    1.234 beside 999. Columns may be text, as in a CSV file, or typed: the
    resulting features are the same.

    Parameters
    ----------
    drop : sequence of str, default=()
        Columns to leave out.
    overlap : float or None, default=None
        Keep only features whose share of ones lies between this and one minus this (paper: 0.2).

    Attributes
    ----------
    columns_ : list
        How each column is encoded.
    kept_ : ndarray of bool
        Which of their features are kept (all, unless ``overlap`` is set).
    notes_ : list of str
        What was left out, missing, rare, assumed or in doubt, one line per topic.

    Examples
    --------
    >>> import pandas as pd
    >>> from stablepred.data import TableEncoder
    >>> frame = pd.DataFrame({"age": [20, 30, 70], "job": ["clerk", "cook", None]})
    >>> TableEncoder().fit_transform(frame)
       age>40  job=clerk  job=cook  job is missing
    0       0          1         0               0
    1       0          0         1               0
    2       1          0         0               1
    """

    columns_: list[Column]
    kept_: NDArray[np.bool_]
    notes_: list[str]

    save = save_method

    def __init__(self, *, drop: Sequence[str] = (), overlap: float | None = None) -> None:
        self.drop = drop
        self.overlap = overlap

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn how to encode each column."""
        frame = as_frame(X)
        return fit_atomically(self, lambda attempt: attempt._fit(frame))

    def _fit(self, frame: pd.DataFrame) -> None:
        check_columns(list(frame.columns))
        for name in self.drop:
            if name not in frame.columns:
                raise unknown_column(name, list(frame.columns), "column to drop")
        self._check_overlap(InputError)
        if len(frame) == 0:
            raise InputError("the table has no rows.")
        learned = [learn_column(frame[name]) for name in frame.columns if name not in self.drop]
        notes = [note for _, found in learned for note in found]
        self._take([column for column, _ in learned if column is not None], notes)
        if self.overlap is not None:
            features = self.encode(frame)[0]
            shares = features.to_numpy().mean(axis=0)
            # Shares are rounded; one of exactly the bound is inside.
            self.kept_ = np.minimum(shares, 1 - shares) >= self.overlap - 1e-12
            out = zip(features.columns[~self.kept_], shares[~self.kept_], strict=True)
            notes += [Note("overlap", name, f"{share:.3g}") for name, share in out]
            self._check_features(notes)
        self._tell(notes)

    @classmethod
    def from_columns(cls, columns: Sequence[Column], notes: list[Note]) -> Self:
        """An encoder from columns that were learned elsewhere."""
        encoder = cls()
        encoder._take(list(columns), notes)
        encoder._tell(notes)
        return encoder

    def _take(self, columns: list[Column], notes: list[Note]) -> None:
        self.columns_ = columns
        self.kept_ = np.ones(sum(len(column.features) for column in columns), dtype=bool)
        self._check_features(notes)

    def _tell(self, notes: list[Note]) -> None:
        self.notes_ = note_lines(notes)
        for line in note_lines(note for note in notes if note.topic in LEFT_OUT):
            warnings.warn(line, TableWarning, stacklevel=6)

    def _check_features(self, notes: Iterable[Note]) -> None:
        names = list(self.get_feature_names_out())
        if not names:
            raise InputError(
                f"no feature is left: {'; '.join(note_lines(notes)) or 'all dropped'}."
            )
        if same := repeated(names):
            raise InputError(
                f"two columns would give a feature of the same name: {listed(same)}. "
                "Rename one of them."
            )

    def _check_overlap(self, error: type[ValueError]) -> None:
        if self.overlap is not None and not 0 <= self.overlap < 0.5:
            raise error(f"overlap must be at least 0 and under 0.5, but is {self.overlap!r}.")

    def transform(self, X: Any) -> pd.DataFrame:
        """The 0/1 features of new rows; warns about values not seen in training."""
        features, notes = self.encode(X)
        for line in note_lines(notes):
            warnings.warn(line, TableWarning, stacklevel=3)
        return features

    def encode(self, X: Any) -> tuple[pd.DataFrame, list[Note]]:
        """The 0/1 features of new rows, and notes on what was unexpected in them."""
        check_is_fitted(self, "columns_")
        frame = as_frame(X)
        self.check_has_columns(list(frame.columns))
        kept = np.empty((len(frame), int(self.kept_.sum())), dtype=np.uint8)
        notes, k = [], 0
        for column, wanted in self._parts():
            if wanted.any():  # else left out for want of overlap
                bits, unexpected = column.encode(frame[column.name])
                notes += unexpected
                for feature in np.flatnonzero(wanted):
                    kept[:, k] = bits[feature]
                    k += 1
        names = self.get_feature_names_out()
        return pd.DataFrame(kept, columns=names, index=frame.index, copy=False), notes

    def _parts(self) -> Iterable[tuple[Column, NDArray[np.bool_]]]:
        """The columns, each with a mask of its features that are kept."""
        ends = np.cumsum([len(column.features) for column in self.columns_])
        return zip(self.columns_, np.split(self.kept_, ends[:-1]), strict=True)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features, in order."""
        names = [name for column in self.columns_ for name in column.features]
        return np.array(names, dtype=object)[self.kept_]

    @property
    def used_columns(self) -> list[str]:
        """The columns of a table from which the features are made."""
        return [column.name for column, kept in self._parts() if kept.any()]

    def check_stored(self) -> None:
        """Raise ValueError unless the parts are those of a fitted encoder."""
        self._check_overlap(ValueError)
        fitted = [hasattr(self, name) for name in ("columns_", "kept_", "notes_")]
        if not any(fitted):
            return
        if not all(fitted):
            raise ValueError("columns_, kept_ and notes_ go together")
        if not all(isinstance(column, NumberColumn | TextColumn) for column in self.columns_):
            raise ValueError("columns_ must be a list of encoded columns")
        width = sum(len(column.features) for column in self.columns_)
        if self.kept_.dtype != bool or self.kept_.shape != (width,):
            raise ValueError(f"kept_ must be {width} booleans")
        if repeated([column.name for column in self.columns_]):
            raise ValueError("names of columns repeat")
        self._check_features([])

    def check_has_columns(self, names: list[Any]) -> None:
        """Raise an error if a table lacks a column that was used in training."""
        present = set(names)
        lacking = [name for name in self.used_columns if name not in present]
        if lacking:
            raise InputError(
                f"the table lacks {', '.join(map(repr, lacking))}, which the model was trained on. "
                f"It has: {listed(names)}. {nearest(lacking[0], names)}"
                "Add the column, or fit the model again without it."
            )


def as_frame(X: Any) -> pd.DataFrame:
    """A pandas DataFrame, from a pandas or polars one."""
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        raise InputError(
            f"a table must be a DataFrame with named columns, but is {type(X).__name__}. Wrap it: "
            "pandas.DataFrame(X, columns=[...])."
        )
    return X


def note_lines(notes: Iterable[Note]) -> list[str]:
    """One line per topic, in the order of the topics, with the rows of each column added up."""
    lines: dict[str, dict[str, Note]] = {topic: {} for topic in TOPICS}
    for note in notes:
        same = lines[note.topic]
        rows = same[note.column].rows if note.column in same else 0
        same[note.column] = replace(same.get(note.column, note), rows=rows + note.rows)
    return [f"{TOPICS[t]}: {', '.join(map(str, s.values()))}" for t, s in lines.items() if s]
