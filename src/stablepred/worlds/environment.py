"""One environment: a named table of features with an outcome (paper, section 3.1)."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_numeric_dtype

from stablepred._random import RandomState, numpy_generator, root_seed
from stablepred.exceptions import InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Environment:
    """A dataset D^e = (X^e, Y^e) drawn from one joint distribution P(X, Y).

    Parameters
    ----------
    name : str
        Name in tables and plots, for example ``"r=0.75"``.
    X : pandas.DataFrame of shape (n, p)
        Features with distinct names: 0/1, booleans or finite numbers. A copy is kept, 0/1 columns
        as integers and others in double precision.
    y : array-like of shape (n,)
        Outcome, row by row as ``X``: 0/1, booleans or finite numbers. Kept as a NumPy array.
    """

    name: str
    X: pd.DataFrame
    y: npt.NDArray[Any]

    def __post_init__(self) -> None:
        name, X, y = f"environment {str(self.name)!r}", self.X, self.y
        if not isinstance(X, pd.DataFrame):
            raise InputError(
                f"X of {name} must be a pandas DataFrame with named columns, but is "
                f"{type(X).__name__}. Wrap it: pandas.DataFrame(X, columns=[...])."
            )
        values = np.asarray(y)
        if 0 in X.shape or values.shape != (len(X),):
            raise InputError(
                f"{name} must have a row and a column or more, and a value of y for every row, but "
                f"X has {len(X)} rows and {X.shape[1]} columns, and y has shape {values.shape}."
            )
        if repeated := X.columns[X.columns.duplicated()].unique().tolist():
            raise InputError(f"{name} has repeated column names {repeated}; rename them.")
        if isinstance(y, pd.Series) and not y.index.equals(X.index):
            raise InputError(
                f"X and y of {name} have different row labels. Align them (y = y.loc[X.index]), or "
                "pass y.to_numpy() if they already match by position."
            )
        columns = {c: as_numbers(X[c], f"feature {c!r} of {name}").dtype for c in X.columns}
        object.__setattr__(self, "y", as_numbers(pd.Series(values), f"the outcome y of {name}"))
        object.__setattr__(self, "X", X.astype(columns))
        object.__setattr__(self, "name", str(self.name))

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        outcome = "share of y = 1" if self.y.dtype == np.int64 else "mean of y"
        return (
            f"Environment({self.name!r}: {rows} rows, {columns} features, "
            f"{outcome}: {self.y.mean():.3f})"
        )


class World:
    """What the synthetic worlds share: names of columns, and environments drawn by selection."""

    n_features: int
    _check_rate: Callable[[float], float]
    _select: Callable[..., tuple[Any, ...]]  # n rows of the selected population, by rate and rng

    @property
    def n_stable(self) -> int:
        """p_s, the number of columns named S."""
        return self.n_features // 2

    @property
    def n_noisy(self) -> int:
        """p_v, the number of columns named V."""
        return self.n_features - self.n_stable

    @property
    def feature_names(self) -> list[str]:
        """Names of all columns in order."""
        kinds = {"S": self.n_stable, "V": self.n_noisy}
        return [f"{kind}{j}" for kind, count in kinds.items() for j in range(1, count + 1)]

    def sample(
        self,
        n: int,
        bias_rate: float = 0.5,
        random_state: RandomState = None,
        *,
        name: str | None = None,
    ) -> Environment:
        """Draw an environment of ``n`` rows, selected at rate r = ``bias_rate``.

        Parameters
        ----------
        n : int
            Number of rows after selection.
        bias_rate : float
            r. A `SyntheticWorld` takes numbers in (0, 1), .5 for no selection; a `ContinuousWorld`
            those above 1, which tie the last V to f(S), and below -1, which tie it to -f(S).
        random_state : int, RandomState or None
            With the same seed, draws with a different ``n``, rate or world are independent.
        name : str, optional
            Name of the environment; by default ``"r=..."``.
        """
        rate, n = self._check_rate(bias_rate), check_rows(n)
        rng = numpy_generator(root_seed(random_state), self._label, n, rate)
        x, y = self._select(n, rate, rng)
        frame = pd.DataFrame(x, columns=self.feature_names)
        return Environment(name if name is not None else f"r={rate:g}", frame, y)

    @property
    def _label(self) -> str:
        """What sets the draws of this world apart from those of others with the same seed."""
        return repr(self)


def check_rows(n: float) -> int:
    if not isinstance(n, Real) or not n >= 1 or not float(n).is_integer():
        raise InputError(f"n must be an integer of at least 1, but is {n!r}.")
    return int(n)


def take_columns(X: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    if missing := [name for name in names if name not in X.columns]:
        raise InputError(f"X lacks the columns {missing} of this world.")
    return X[names]


def as_numbers(column: pd.Series, what: str) -> npt.NDArray[Any]:
    """The values as integers where all are 0/1, else as finite numbers in double precision."""
    if missing := int(column.isna().sum()):
        raise InputError(f"{what} has {missing} missing values; fill or drop them.")
    other = column[~column.isin([0, 1])]
    if other.empty:
        return column.to_numpy(dtype=np.int64)
    if not is_numeric_dtype(column):
        found = other.unique()[:3].tolist()
        raise InputError(f"{what} must be numbers, but has other values (e.g. {found}); encode it.")
    values: npt.NDArray[Any] = column.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"{what} has infinite values; drop or replace them.")
    return values
