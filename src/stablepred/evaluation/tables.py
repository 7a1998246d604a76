"""Tables that need not be 0/1, with the checks that every report makes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from stablepred.exceptions import InputError


@dataclass(frozen=True)
class PlainTable:
    """Features of any kind with a 0/1 outcome, under a name."""

    name: str
    X: pd.DataFrame
    y: npt.NDArray[np.int64]


def plain_table(X: Any, y: npt.ArrayLike, name: str = "table") -> PlainTable:
    """A table from a frame of any kind or an array, and a 0/1 outcome with both classes."""
    frame = X if isinstance(X, pd.DataFrame) else _as_frame(X)
    outcome = np.asarray(y)
    if outcome.shape != (len(frame),):
        raise InputError(
            f"y must be one column with a value for each of the {len(frame)} rows of X, but has "
            f"shape {outcome.shape}."
        )
    if not np.isin(outcome, (0, 1)).all():
        raise InputError(
            f"y must be 0/1, but has other values (e.g. {np.unique(outcome)[:4].tolist()}). "
            "Recode it, the positive class as 1."
        )
    if len(np.unique(outcome)) < 2:
        raise InputError(f"y must have both classes, but is always {outcome[0]}.")
    return PlainTable(name, frame, outcome.astype(np.int64))


def _as_frame(X: Any) -> pd.DataFrame:
    if hasattr(X, "to_pandas"):  # polars
        frame: pd.DataFrame = pd.DataFrame({name: X[name].to_numpy() for name in X.columns})
        return frame
    x = np.asarray(X)
    if x.ndim != 2 or len(x) == 0:
        raise InputError(f"X must have rows and columns, but has shape {x.shape}.")
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
