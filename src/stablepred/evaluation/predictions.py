"""What a model predicts in each environment: tables and predictions, checked once.

Behind this file everything works on arrays: ``table.y`` and one column of predictions per table,
which are probabilities where the outcome is 0/1.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import is_classifier

from stablepred.exceptions import InputError
from stablepred.tables.encoder import as_frame, name_columns
from stablepred.worlds.environment import Environment

FloatArray = npt.NDArray[np.float64]
Predictions = dict[str, FloatArray]  # P(y = 1) or E(y) per row, by name of the environment


@dataclass(frozen=True)
class PlainTable:
    """Features of any kind with a 0/1 or numeric outcome, under a name."""

    name: str
    X: pd.DataFrame
    y: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.y)


Table = PlainTable | Environment  # or anything with a name, features X and an outcome y
# One or several: each an Environment or a pair (X, y), alone, in a list, or by name.
Environments = Table | Sequence[Any] | Iterator[Any] | Mapping[str, Any]


def list_tables(data: Any, name: str) -> list[PlainTable]:
    """The environments that were passed, with their names: pairs of X and y are numbered."""
    if isinstance(data, Mapping):
        return [replace(read_table(one, str(key)), name=str(key)) for key, one in data.items()]
    pair = isinstance(data, tuple) and len(data) == 2 and not _is_environment(data[0])
    if pair or not isinstance(data, list | tuple | Iterator):
        return [read_table(data, name)]
    return [read_table(one, f"{name} {k}") for k, one in enumerate(data, start=1)]


def _is_environment(data: Any) -> bool:
    """Whether it has X and y, which are no columns of a frame."""
    return hasattr(data, "X") and hasattr(data, "y") and not hasattr(data, "columns")


def read_table(data: Any, name: str = "table") -> PlainTable:
    """An environment, or a pair of X and y, as a table."""
    if _is_environment(data):
        data, name = (data.X, data.y), str(getattr(data, "name", name))
    if not (isinstance(data, tuple) and len(data) == 2):
        raise InputError(
            f"{name} must be an Environment or a pair (X, y), but is {type(data).__name__}."
        )
    X, y = data[0], np.asarray(data[1])
    frame = as_frame(X) if hasattr(X, "columns") else name_columns(np.asarray(X))
    if y.shape != (len(frame),) or len(frame) == 0:
        raise InputError(
            f"{name} must have a row or more, and y a value for each of the {len(frame)} rows of "
            f"X, but y has shape {y.shape}."
        )
    if missing := int(pd.isna(y).sum()):
        raise InputError(f"y of {name} is missing in {missing} rows; drop them.")
    return PlainTable(name, frame.reset_index(drop=True), y)


def read_outcomes(tables: list[PlainTable], models: Iterable[Any]) -> list[PlainTable]:
    """The tables with y as numbers: 0/1, with 1 for the second class, where models have two."""
    known = [(type(m).__name__, np.asarray(getattr(m, "classes_", ())).tolist()) for m in models]
    known = [(kind, classes) for kind, classes in known if len(classes) > 1]
    for kind, classes in known:
        if len(classes) > 2 or classes != known[0][1]:
            raise InputError(
                "errors by environment are of a number or of two classes, the same for all models, "
                f"but {kind} has {classes}. Of several classes pass a function of X that gives the "
                "probability of one of them, with y as 1 for this class and 0 for all others."
            )
    if known:
        return [encode_classes(table, *known[0]) for table in tables]
    for table in tables:
        number = table.y.dtype.kind in "iuf" and np.isfinite(table.y).all()
        if not (number or is_binary(table)):
            raise InputError(
                f"y of {table.name} must be 0/1 or finite numbers, but has other values (e.g. "
                f"{pd.unique(table.y)[:3].tolist()}). Recode it, or pass a classifier, which knows "
                "its classes."
            )
    return [replace(t, y=t.y.astype("int64" if is_binary(t) else "float64")) for t in tables]


def encode_classes(table: PlainTable, kind: str, classes: list[Any]) -> PlainTable:
    if unknown := [value for value in pd.unique(table.y).tolist() if value not in classes]:
        raise InputError(
            f"y of {table.name} must have the classes of {kind}, {classes}, but has "
            f"{unknown[0]!r}. Pass a pair (X, y) with y as in training."
        )
    positive = 1 if set(classes) <= {0, 1} else classes[1]
    return replace(table, y=(table.y == positive).astype(np.int64))


def check_outcome(table: PlainTable, model: Any = None) -> PlainTable:
    """The table with its outcome as 0/1 or numbers: both classes, or more than two numbers."""
    found, values = read_outcomes([table], [model])[0], pd.unique(table.y)
    if len(values) < 2 or (len(values) == 2 and not is_binary(found)):
        raise InputError(
            f"y of {table.name} must have both classes, 0 and 1, or more than two numbers, but is "
            f"always {' or '.join(map(str, values))}."
        )
    return found


def is_binary(*tables: Table) -> bool:
    return all(bool(np.isin(table.y, (0, 1)).all()) for table in tables)


def check_environments(environments: Environments, *models: Any) -> list[PlainTable]:
    """List the environments, with distinct names and the same columns; one may come alone.

    With models their outcomes are read, else they stay as they came.
    """
    tables = list_tables(environments, "environment")
    names = [table.name for table in tables]
    if not names or len(set(names)) < len(names):
        raise InputError(f"there are no environments, or no distinct names of them: {names}.")
    for table in tables[1:]:
        check_columns(table, tables[0].X.columns, f"environment {names[0]!r}")
    return read_outcomes(tables, models) if models else tables


def check_columns(table: Table, expected: Iterable[Any], reference: str) -> None:
    columns, expected = list(table.X.columns), list(expected)
    if columns == expected:
        return
    missing = [c for c in expected if c not in columns]
    extra = [c for c in columns if c not in expected]
    found = f"lacks {missing} and adds {extra}" if missing or extra else "has them in another order"
    raise InputError(
        f"environment {table.name!r} must have the columns of {reference}, but {found}. "
        "Select the same columns in the same order."
    )


def predict_outcomes(model: Any, tables: Sequence[Table]) -> Predictions:
    """P(y = 1), or the expected outcome, of every row by environment.

    ``model`` is whatever `environment_errors` takes. What ``predict`` of a regressor returns is
    taken as it is; all other predictions of a 0/1 outcome must be probabilities. The outcome has
    been read by `check_environments` or `check_outcome`.
    """
    binary, kind = is_binary(*tables), type(model).__name__
    if hasattr(model, "predict_proba"):
        found = {table.name: _positive_class(model, table) for table in tables}
    elif hasattr(model, "predict"):
        if is_classifier(model):
            raise InputError(
                f"{kind} has no predict_proba. Wrap it in scikit-learn's CalibratedClassifierCV."
            )
        found, binary = {t.name: model.predict(_columns_of(model, t)) for t in tables}, False
    elif callable(model):
        found = {table.name: model(table.X) for table in tables}
    elif isinstance(model, Mapping) or np.ndim(model) == 1:
        found = dict(model) if isinstance(model, Mapping) else {tables[0].name: model}
        if missing := [table.name for table in tables if table.name not in found]:
            raise InputError(f"there are no predictions for the environments {missing}.")
    else:
        raise InputError(
            "the model must be a fitted object with predict_proba or predict, a function of X, or "
            f"predictions by environment name, but is {kind}."
        )
    return {t.name: _check_predictions(found[t.name], t, bounded=binary) for t in tables}


def _columns_of(model: Any, table: Table) -> Any:
    """The features of a table as the model was fitted on them: with names or without."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        check_columns(table, names, "the model")
    unnamed = names is None and hasattr(model, "n_features_in_")
    # A frame whose columns are numbered stays as it came: they may differ in type.
    named = any(isinstance(column, str) for column in table.X.columns)
    return table.X.to_numpy() if unnamed and named else table.X


def _positive_class(model: Any, table: Table) -> Any:
    """The column of predict_proba that belongs to the class 1, of others to the second one."""
    both = np.asarray(model.predict_proba(_columns_of(model, table)))
    classes = list(getattr(model, "classes_", [0, 1]))
    positive = 1 if set(classes) <= {0, 1} else classes[1]
    return both[:, classes.index(positive)] if positive in classes else np.zeros(len(both))


def _check_predictions(predicted: Any, table: Table, *, bounded: bool) -> FloatArray:
    values, name = np.asarray(predicted, dtype=np.float64), f"environment {table.name!r}"
    what = "probabilities between 0 and 1" if bounded else "finite numbers"
    if values.shape != (len(table.X),):
        raise InputError(
            f"predictions for {name} must be one column of {len(table.X)} {what}, but have shape "
            f"{values.shape}."
        )
    if not (((values >= 0) & (values <= 1)) if bounded else np.isfinite(values)).all():
        raise InputError(
            f"predictions for {name} must be {what}, but run from {values.min()} to {values.max()}."
        )
    return values
