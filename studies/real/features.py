"""Real tables as the studies use them (paper, section 6.3): 0/1 features with enough overlap."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.preprocessing import Dichotomizer
from stablepred.tables.datasets import load_dataset

LEAST_SHARE, LARGEST_SHARE = 0.2, 0.8
OUTCOME = "outcome"

# Kept out of the features: age, which makes the environments of one protocol, and the year.
ASIDE = {
    "bank": ("age", "year"),
    "bank-additional": ("age", "year"),
    "adult": ("age",),
    "diabetes": ("age",),
    "credit": ("AGE",),
    "breast-cancer": (),
}


@dataclass(frozen=True, eq=False)
class BinaryTable:
    """A whole table: 0/1 features with the outcome as the last column, and what was kept out."""

    rows: pd.DataFrame
    aside: pd.DataFrame

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [str(name) for name in self.rows.columns if name != OUTCOME]

    @property
    def y(self) -> NDArray[np.int64]:
        """The outcome."""
        return self.rows[OUTCOME].to_numpy()


@lru_cache(maxsize=2)
def binary_table(name: str, also_aside: tuple[str, ...] = ()) -> BinaryTable:
    """A data set by name, without the columns aside and ``also_aside`` among its features."""
    dataset = load_dataset(name)
    aside = [*ASIDE[name], *also_aside]
    features = binary_features(dataset.frame.drop(columns=[*aside, dataset.outcome]))
    rows = features.assign(**{OUTCOME: dataset.frame[dataset.outcome]})
    return BinaryTable(rows, dataset.frame[aside])


def binary_features(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers cut at their mean, categories one column per value, a share of ones in [.2, .8].

    A category of two values is one column; missing values are a value of their own.
    """
    parts: list[pd.DataFrame | pd.Series] = []
    for name in frame.columns:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            parts.append(_one_hot(column))
        elif column.dtype == bool:
            parts.append(column.astype(np.int64))
        else:
            cut = Dichotomizer().fit_transform(column.to_frame())[:, 0]
            parts.append(pd.Series(cut.astype(np.int64), index=frame.index, name=name))
    binary = pd.concat(parts, axis=1)
    return binary.loc[:, binary.mean().between(LEAST_SHARE, LARGEST_SHARE)]


def _one_hot(column: pd.Series) -> pd.DataFrame:
    values = column.astype(str).where(column.notna(), "missing")
    shares = values.value_counts(normalize=True)
    if len(shares) == 2:
        shares = shares[[max(shares.index)]]
    common = sorted(shares.index[shares >= LEAST_SHARE])
    ones = {f"{column.name}={value}": (values == value).astype(np.int64) for value in common}
    return pd.DataFrame(ones, index=column.index)
