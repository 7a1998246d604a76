"""Errors per environment, their average and their spread (paper, eqs. 1-2).

Average_Error   = 1/|E| sum_e Error(D^e)                                      (1)
Stability_Error = sqrt( 1/(|E|-1) sum_e (Error(D^e) - Average_Error)^2 )      (2)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from stablepred._random import RandomState, numpy_generator, root_seed
from stablepred.exceptions import InputError

FloatArray = npt.NDArray[np.float64]
ErrorFunction = Callable[[Any, FloatArray], float]
Errors = pd.Series | Mapping[str, float] | Sequence[float] | FloatArray


class Table(Protocol):
    """What an environment must have here: a name, features X and a 0/1 outcome y."""

    @property
    def name(self) -> str:
        """How it is called in the result."""

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802
        """Features, as the model takes them."""

    @property
    def y(self) -> npt.NDArray[np.int64]:
        """Outcome."""


def rmse(y: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Root of the mean squared difference between outcome and predicted probability."""
    return float(np.sqrt(brier(y, probability)))


def brier(y: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Mean squared difference between outcome and predicted probability."""
    return float(np.mean((np.asarray(y) - np.asarray(probability)) ** 2))


def log_loss(y: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Mean of -log of the probability given to what happened, probabilities cut at machine eps."""
    eps = np.finfo(np.float64).eps
    p = np.clip(np.asarray(probability, dtype=np.float64), eps, 1 - eps)
    return float(-np.mean(np.where(np.asarray(y) == 1, np.log(p), np.log1p(-p))))


def zero_one(y: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Share of rows on the wrong side of .5; a probability of exactly .5 predicts 1."""
    return float(np.mean((np.asarray(probability) >= 0.5) != (np.asarray(y) == 1)))


ERRORS: dict[str, ErrorFunction] = {
    "rmse": rmse,
    "log_loss": log_loss,
    "zero_one": zero_one,
    "brier": brier,
}


def environment_errors(
    model: Any, environments: Table | Iterable[Table], error: str | ErrorFunction = "rmse"
) -> pd.Series:
    """Error(D^e) of a fitted model in each environment.

    Parameters
    ----------
    model : object
        A fitted model with ``predict_proba``; or a function of X that gives P(y = 1); or the
        predictions themselves, a mapping from the environment's name to a column of
        probabilities (for a single environment the column alone will do).
    environments : Environment or iterable of Environment
        With distinct names and the same columns.
    error : {"rmse", "log_loss", "zero_one", "brier"} or callable(y, probability)
        RMSE is the root of the mean squared difference between outcome and probability.

    Returns
    -------
    pandas.Series
        One error per environment, indexed by the environments' names, in the order given.
    """
    label, function = _error_function(error)
    tables = listed_environments(environments)
    probabilities = predicted_probability(model, tables)
    values = {
        table.name: _evaluate(function, label, table, probabilities[table.name]) for table in tables
    }
    return pd.Series(values, name=label, dtype=np.float64)


def average_error(errors: Errors) -> float:
    """Mean of the errors over the environments (eq. 1)."""
    return float(_error_values(errors).mean())


def stability_error(errors: Errors) -> float:
    """Standard deviation of the errors over the environments, with |E| - 1 (eq. 2)."""
    values = _error_values(errors)
    if len(values) < 2:
        raise InputError(
            "stability_error compares environments (it divides by |E| - 1), but got a single "
            "one. Pass the errors of two or more environments."
        )
    return float(values.std(ddof=1))


def worst_error(errors: Errors) -> float:
    """Largest error over the environments."""
    return float(_error_values(errors).max())


def error_interval(
    source: Any,
    environments: Table | Iterable[Table] | None = None,
    error: str | ErrorFunction = "rmse",
    *,
    level: float = 0.95,
    n_bootstrap: int = 500,
    random_state: RandomState = None,
) -> pd.DataFrame:
    """Errors with bootstrap intervals, over the rows of the environments or over seeds.

    Parameters
    ----------
    source : object
        With ``environments``: whatever `environment_errors` takes as a model; the rows of each
        environment are resampled, the model stays as it is. Without: errors of repeated runs,
        one row per seed and one column per environment (a DataFrame, or a list of what
        `environment_errors` returned; a Series is one number per seed); whole seeds are
        resampled and every number is a mean over seeds.
    environments : Environment or iterable of Environment, optional
        Where to evaluate the model.
    error : str or callable
        As in `environment_errors`; used only with ``environments``.
    level : float
        Share of the bootstrap values inside the interval, which runs from percentile
        (1 - level)/2 to percentile (1 + level)/2.
    n_bootstrap : int
        Number of resamples.
    random_state : int, RandomState or None
        Seed of the resampling.

    Returns
    -------
    pandas.DataFrame
        Columns ``error``, ``low``, ``high``; one row per environment and, for two or more, rows
        ``Average_Error``, ``Stability_Error`` and ``Worst_Error``. Resampling rows adds noise to
        each error, so the interval of Stability_Error leans upward when the environments
        hardly differ.
    """
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie strictly between 0 and 1, but is {level!r}.")
    if n_bootstrap < 1:
        raise InputError(f"n_bootstrap must be at least 1, but is {n_bootstrap!r}.")
    seed = root_seed(random_state)
    if environments is None:
        names, point, draws = _resample_seeds(source, n_bootstrap, seed)
    else:
        names, point, draws = _resample_rows(source, environments, error, n_bootstrap, seed)
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(draws, tails, axis=0)
    return pd.DataFrame({"error": point, "low": low, "high": high}, index=pd.Index(names))


def _resample_rows(
    model: Any,
    environments: Table | Iterable[Table],
    error: str | ErrorFunction,
    n_bootstrap: int,
    seed: int,
) -> tuple[list[str], FloatArray, FloatArray]:
    """Names, errors and their bootstrap values when the rows of each environment are redrawn."""
    label, function = _error_function(error)
    tables = listed_environments(environments)
    probabilities = predicted_probability(model, tables)
    point = np.empty(len(tables))
    draws = np.empty((n_bootstrap, len(tables)))
    for e, table in enumerate(tables):
        y, probability = np.asarray(table.y), probabilities[table.name]
        point[e] = _evaluate(function, label, table, probability)
        rng = numpy_generator(seed, "rows", table.name)
        for b in range(n_bootstrap):
            rows = rng.integers(0, len(y), len(y))
            draws[b, e] = function(y[rows], probability[rows])
    return [table.name for table in tables] + _summary_names(point), *_with_summary(point, draws)


def _resample_seeds(
    source: Any, n_bootstrap: int, seed: int
) -> tuple[list[str], FloatArray, FloatArray]:
    """Names, means over seeds and their bootstrap values when whole seeds are redrawn."""
    runs = pd.DataFrame(source)
    values = runs.to_numpy(dtype=np.float64)
    if len(runs) < 2:
        raise InputError(
            f"an interval over seeds needs the errors of two or more seeds, but got {len(runs)}. "
            "Pass environments= for an interval over the rows of the environments."
        )
    if not np.isfinite(values).all():
        raise InputError(f"the errors per seed must be finite numbers, but are\n{runs}")
    summary = _summary_names(values[0])
    per_seed = np.hstack([values, np.array([_summary(row) for row in values])])
    rng = numpy_generator(seed, "seeds")
    rows = rng.integers(0, len(values), (n_bootstrap, len(values)))
    return [str(c) for c in runs.columns] + summary, per_seed.mean(axis=0), per_seed[rows].mean(1)


def _summary_names(errors: FloatArray) -> list[str]:
    return ["Average_Error", "Stability_Error", "Worst_Error"] if len(errors) > 1 else []


def _summary(errors: FloatArray) -> list[float]:
    if len(errors) < 2:
        return []
    return [average_error(errors), stability_error(errors), worst_error(errors)]


def _with_summary(point: FloatArray, draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Append average, stability and worst error to the errors per environment."""
    summaries = np.array([_summary(row) for row in draws])
    return np.append(point, _summary(point)), np.hstack([draws, summaries])


def _error_function(error: str | ErrorFunction) -> tuple[str, ErrorFunction]:
    if callable(error):
        return getattr(error, "__name__", "error"), error
    if error not in ERRORS:
        raise InputError(
            f"error must be one of {list(ERRORS)} or a function of (y, probability), "
            f"but is {error!r}."
        )
    return error, ERRORS[error]


def _evaluate(function: ErrorFunction, label: str, table: Table, probability: FloatArray) -> float:
    value = float(function(np.asarray(table.y), probability))
    if not np.isfinite(value):
        raise InputError(f"the error {label} in environment {table.name!r} is {value}.")
    return value


def listed_environments(environments: Table | Iterable[Table]) -> list[Table]:
    """The environments as a list, checked for names and columns (one may come without a list)."""
    one = hasattr(environments, "X") and hasattr(environments, "y")
    tables: list[Table] = [environments] if one else list(environments)  # type: ignore
    if not tables:
        raise InputError("there are no environments to evaluate in; pass at least one.")
    names = [table.name for table in tables]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"environments must have distinct names, but {repeated} repeat.")
    for table in tables[1:]:
        if not table.X.columns.equals(tables[0].X.columns):
            check_columns(table, list(tables[0].X.columns), f"environment {tables[0].name!r}")
    return tables


def check_columns(table: Table, expected: list[Any], reference: str) -> None:
    """Raise when an environment has other columns, or the same in another order."""
    columns = list(table.X.columns)
    if columns == expected:
        return
    missing = [c for c in expected if c not in columns]
    extra = [c for c in columns if c not in expected]
    found = f"lacks {missing} and adds {extra}" if missing or extra else "has them in another order"
    raise InputError(
        f"environment {table.name!r} must have the columns of {reference}, but {found}. "
        "Select the same columns in the same order."
    )


def predicted_probability(model: Any, tables: list[Table]) -> dict[str, FloatArray]:
    """P(y = 1) for every row, by environment, of whatever `environment_errors` takes as a model."""
    if hasattr(model, "predict_proba"):
        return {table.name: _checked(_class_one(model, table), table) for table in tables}
    if callable(model):
        return {table.name: _checked(model(table.X), table) for table in tables}
    if isinstance(model, Mapping):
        missing = [table.name for table in tables if table.name not in model]
        if missing:
            raise InputError(f"there are no predictions for the environments {missing}.")
        return {table.name: _checked(model[table.name], table) for table in tables}
    if np.ndim(model) == 1 and len(tables) == 1:
        return {tables[0].name: _checked(model, tables[0])}
    raise InputError(
        f"the model must be a fitted object with predict_proba, a function of X, or predictions "
        f"by environment name, but is {type(model).__name__}."
    )


def _class_one(model: Any, table: Table) -> Any:
    """The column of predict_proba that belongs to the class 1."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        check_columns(table, list(names), "the model")
    fitted_without_names = names is None and hasattr(model, "n_features_in_")
    both = np.asarray(model.predict_proba(table.X.to_numpy() if fitted_without_names else table.X))
    classes = list(getattr(model, "classes_", [0, 1]))
    if both.ndim != 2 or both.shape[1] != len(classes) or not set(classes) <= {0, 1}:
        raise InputError(
            f"predict_proba must give one column per class of a 0/1 outcome, but the classes are "
            f"{classes} and the result has shape {both.shape}."
        )
    return both[:, classes.index(1)] if 1 in classes else np.zeros(len(both))


def _checked(probability: Any, table: Table) -> FloatArray:
    """The predictions as a vector of probabilities, one per row."""
    values = np.asarray(probability, dtype=np.float64)
    if values.shape != (len(table.X),):
        raise InputError(
            f"predictions for environment {table.name!r} must be one column of {len(table.X)} "
            f"probabilities, but have shape {values.shape}."
        )
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise InputError(
            f"predictions for environment {table.name!r} must be probabilities between 0 and 1, "
            f"but run from {values.min()} to {values.max()}."
        )
    return values


def _error_values(errors: Errors) -> FloatArray:
    """The errors as a vector of finite numbers."""
    listed = list(errors.values()) if isinstance(errors, Mapping) else errors
    try:
        values = np.asarray(listed, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"errors must be one number per environment: {error}.") from error
    if values.ndim != 1 or len(values) == 0:
        raise InputError(
            f"errors must be one number per environment, but have shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise InputError(f"errors must be finite numbers, but are {values.tolist()}.")
    return values
