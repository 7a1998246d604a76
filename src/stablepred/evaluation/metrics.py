"""Errors per environment, their average and their spread (paper, eqs. 1-2).

Average_Error   = 1/|E| sum_e Error(D^e)                                      (1)
Stability_Error = sqrt( 1/(|E|-1) sum_e (Error(D^e) - Average_Error)^2 )      (2)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from stablepred._random import RandomState, numpy_generator, root_seed
from stablepred.evaluation.predictions import (
    Environments,
    FloatArray,
    Predictions,
    Table,
    check_environments,
    is_binary,
    predict_outcomes,
)
from stablepred.exceptions import InputError

ErrorFunction = Callable[[Any, FloatArray], float]
Errors = pd.Series | Mapping[str, float] | Sequence[float] | FloatArray

LEAST_ROWS = 5
SUMMARIES = ("Average_Error", "Stability_Error", "Worst_Error")


def _squared(y: npt.NDArray[Any], p: FloatArray) -> FloatArray:
    return np.asarray((y - p) ** 2)


def _minus_log(y: npt.NDArray[Any], p: FloatArray) -> FloatArray:
    """-log of the probability given to what happened, probabilities cut at machine eps."""
    p = np.clip(p, eps := np.finfo(np.float64).eps, 1 - eps)
    return -np.where(y == 1, np.log(p), np.log1p(-p))


def _wrong(y: npt.NDArray[Any], p: FloatArray) -> FloatArray:
    return ((p >= 0.5) != (y == 1)).astype(np.float64)


LOSSES = {"rmse": _squared, "log_loss": _minus_log, "zero_one": _wrong, "brier": _squared}


@dataclass(frozen=True)
class Metric:
    """An error of a column of predictions: the mean of a loss per row, of "rmse" the root of it.

    In place of the loss a user may have passed a ``function`` of outcome and prediction.
    """

    name: str
    loss: Callable[[npt.NDArray[Any], FloatArray], FloatArray] | None
    function: ErrorFunction | None = None

    @classmethod
    def of(cls, error: str | ErrorFunction) -> "Metric":
        if callable(error):
            return cls(getattr(error, "__name__", "error"), None, error)
        if error in LOSSES:
            return cls(error, LOSSES[error])
        allowed = f"one of {list(LOSSES)} or a function of (y, prediction)"
        raise InputError(f"error must be {allowed}, but is {error!r}.")

    def __call__(self, y: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
        y, p = np.asarray(y), np.asarray(predicted)
        if self.loss is None:
            assert self.function is not None
            return float(self.function(y, p))
        return float(self._finish(self.loss(y, p).mean()))

    def _finish(self, mean: Any) -> Any:
        return np.sqrt(mean) if self.name == "rmse" else mean

    def error(self, table: Table, p: FloatArray) -> float:
        classes = self.loss is not None and self.name != "rmse"
        if classes and not (is_binary(table) and ((p >= 0) & (p <= 1)).all()):
            raise InputError(
                f"the error {self.name} needs a 0/1 outcome and probabilities. Take 'rmse', or a "
                "function of (y, prediction)."
            )
        value = self(table.y, p)
        if not np.isfinite(value):
            raise InputError(f"the error {self.name} in environment {table.name!r} is {value}.")
        return value

    def errors(self, tables: Iterable[Table], predicted: Predictions) -> pd.Series:
        values = {table.name: self.error(table, predicted[table.name]) for table in tables}
        return pd.Series(values, name=self.name, dtype=np.float64)

    def resample(
        self, tables: Sequence[Table], methods: Sequence[Predictions], n_bootstrap: int, seed: int
    ) -> FloatArray:
        """Errors on bootstrap samples of the rows within each environment: (methods, draws, E).

        All methods meet the same rows, so that differences between them are paired. Samples of
        fewer than `LEAST_ROWS` rows say nothing of how much errors vary, and are NaN.
        """
        errors = np.full((len(methods), n_bootstrap, len(tables)), np.nan)
        for e, table in enumerate(tables):
            if len(table.y) < LEAST_ROWS:
                continue
            rng = numpy_generator(seed, "rows", table.name)
            y, columns = np.asarray(table.y), np.stack([m[table.name] for m in methods])
            draws = (rng.integers(0, len(y), len(y)) for _ in range(n_bootstrap))
            if self.loss is None:
                for b, rows in enumerate(draws):
                    errors[:, b, e] = [self(y[rows], p[rows]) for p in columns]
                continue
            losses = self.loss(y, columns)
            for b, rows in enumerate(draws):
                count = np.bincount(rows, minlength=len(y)).astype(np.float64)
                # Not a matrix product, whose last bits depend on the number of threads.
                mean = np.einsum("mi,i->m", losses, count) / len(y)
                errors[:, b, e] = self._finish(mean)
        return errors


rmse = Metric.of("rmse")


def environment_errors(
    model: Any, environments: Environments, error: str | ErrorFunction = "rmse"
) -> pd.Series:
    """Error(D^e) of a fitted model in each environment.

    Parameters
    ----------
    model : object
        A fitted model with ``predict_proba``, or with ``predict`` for a numeric outcome; or a
        function of X that gives P(y = 1) or the expected outcome; or a mapping from the
        environment's name to a column of such predictions (of a single one, the column).
    environments : Environment, (X, y), or a list or mapping of them
        With distinct names and the same columns. Of a classifier y is written as in training, and
        the second of its ``classes_`` counts as 1.
    error : {"rmse", "log_loss", "zero_one", "brier"} or callable(y, prediction)
        RMSE is the root of the mean squared difference between outcome and prediction. The
        others are for a 0/1 outcome.

    Returns
    -------
    pandas.Series
        One error per environment, by name, in the order given.
    """
    metric, tables = Metric.of(error), check_environments(environments, model)
    return metric.errors(tables, predict_outcomes(model, tables))


def average_error(errors: Errors) -> float:
    """Mean of the errors over the environments (eq. 1): of what `environment_errors` returns."""
    return float(_error_values(errors).mean())


def stability_error(errors: Errors) -> float:
    """Standard deviation of the errors over the environments, with |E| - 1 (eq. 2)."""
    values = _error_values(errors)
    if len(values) < 2:
        raise InputError(
            "stability_error compares environments (it divides by |E| - 1), but got a single one. "
            "Pass the errors of two or more environments."
        )
    return float(values.std(ddof=1))


def worst_error(errors: Errors) -> float:
    """Largest error over the environments."""
    return float(_error_values(errors).max())


def _error_values(errors: Errors) -> FloatArray:
    try:
        given = list(errors.values()) if isinstance(errors, Mapping) else errors
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all():
        raise InputError(f"errors must be one finite number per environment, but are {errors!r}.")
    return values


def summarise(errors: FloatArray) -> FloatArray:
    """Average, stability and worst error over the last axis: (..., E) -> (..., 3)."""
    return np.stack([errors.mean(-1), errors.std(-1, ddof=1), errors.max(-1)], axis=-1)


def add_summaries(errors: FloatArray) -> FloatArray:
    """Average, stability and worst error after those of the environments, if there are several."""
    several = errors.shape[-1] > 1
    return np.concatenate([errors, summarise(errors)], axis=-1) if several else errors


def error_interval(
    source: Any,
    environments: Environments | None = None,
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
        With ``environments``: whatever `environment_errors` takes as a model; rows are resampled
        within each. Without: errors of repeated runs, one row per seed and one column per
        environment (a DataFrame, or a list of what `environment_errors` returned; a Series is one
        number per seed); whole seeds are resampled and every number is a mean over seeds.
    environments, error : optional
        As in `environment_errors`.
    level, n_bootstrap, random_state : float, int, and int, RandomState or None
        Share of the bootstrap values inside the percentile interval, their number and seed.

    Returns
    -------
    pandas.DataFrame
        Columns ``error``, ``low``, ``high``; one row per environment and, for two or more, rows
        ``Average_Error``, ``Stability_Error`` and ``Worst_Error``. Resampling rows adds noise, so
        the interval of Stability_Error leans upward when the environments hardly differ.
    """
    check_interval(level, n_bootstrap)
    seed = root_seed(random_state)
    if environments is not None:
        metric, tables = Metric.of(error), check_environments(environments, source)
        predicted = predict_outcomes(source, tables)
        draws = metric.resample(tables, [predicted], n_bootstrap, seed)[0]
        return interval_frame(metric.errors(tables, predicted), draws, level)
    runs = pd.DataFrame(source)
    values = add_summaries(runs.to_numpy(dtype=np.float64))
    if len(runs) < 2 or not np.isfinite(values).all():
        raise InputError(
            "an interval over seeds needs the errors of two or more seeds, all finite, but got\n"
            f"{runs}\nPass environments= for an interval over the rows of the environments."
        )
    rows = numpy_generator(seed, "seeds").integers(0, len(values), (n_bootstrap, len(values)))
    return _frame(runs.columns, values.mean(axis=0), values[rows].mean(axis=1), level)


def check_interval(level: float, n_bootstrap: int) -> None:
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie strictly between 0 and 1, but is {level!r}.")
    if n_bootstrap < 2:
        raise InputError(f"n_bootstrap must be at least 2, better 200, but is {n_bootstrap!r}.")


def interval_frame(errors: pd.Series, draws: FloatArray, level: float) -> pd.DataFrame:
    """Errors and their summaries with percentile intervals; ``draws`` is (draws, E)."""
    point = add_summaries(errors.to_numpy(dtype=np.float64))
    return _frame(errors.index, point, add_summaries(draws), level)


def _frame(names: Iterable[Any], point: FloatArray, draws: FloatArray, level: float) -> Any:
    low, high = percentiles(draws, level)
    index = [*map(str, names), *SUMMARIES][: len(point)]
    return pd.DataFrame({"error": point, "low": low, "high": high}, index=index)


def percentiles(draws: FloatArray, level: float) -> FloatArray:
    """Both ends of the percentile interval, over the first axis."""
    return np.asarray(np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0))
