"""How stable is a model, and what breaks it: reports for any fitted model.

`stability_report` compares environments that are at hand. `stress_test` has one table only and
makes environments from it, one feature at a time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from stablepred.data.features import Dichotomizer
from stablepred.evaluation.metrics import (
    ERRORS,
    ErrorFunction,
    Table,
    average_error,
    environment_errors,
    error_interval,
    listed_environments,
    predicted_probability,
    stability_error,
)
from stablepred.evaluation.validation import RATES, column_values, resampling_weights
from stablepred.exceptions import InputError
from stablepred.randomness import RandomState, numpy_generator, root_seed

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

SHOWN = 10  # features in a printed report


# --- environments at hand -----------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class StabilityReport:
    """Errors of a model by environment, and what breaks it in the worst one.

    Attributes
    ----------
    errors : DataFrame
        ``error``, ``low``, ``high`` by environment; then Average_Error, Stability_Error and
        Worst_Error.
    breakers : DataFrame or None
        One row per feature, the one that does most harm first: its association with the outcome
        in the best and in the worst environment (difference of the outcome's mean between high
        and low values), the error in the worst environment when the feature is drawn anew given
        the outcome as it is there (``error_redrawn``) and as it is in the best environment
        (``error_restored``), and the ``harm``, what the error falls by from the one to the other.
        None when there were only predictions and no model to ask again.
    best, worst : str
        Names of the environments with the smallest and the largest error.
    error : str
        Name of the error.
    level : float
        Of the intervals.
    """

    errors: pd.DataFrame
    breakers: pd.DataFrame | None
    best: str
    worst: str
    error: str
    level: float

    def to_frame(self) -> pd.DataFrame:
        """Errors with intervals by environment, and their summary."""
        return self.errors.copy()

    def __str__(self) -> str:
        at = self.errors["error"]
        lines = [
            f"Errors ({self.error}) by environment, with {self.level:.0%} intervals over rows",
            self.errors.round(4).to_string(),
            f"worst in {self.worst} ({at[self.worst]:.4f}), best in {self.best} "
            f"({at[self.best]:.4f})",
        ]
        if self.breakers is not None:
            lines += [
                f"What breaks it in {self.worst}: features whose link to the outcome differs from "
                f"{self.best}, the most harmful first",
                self.breakers.head(SHOWN).round(4).to_string(index=False),
            ]
            if len(self.breakers) > SHOWN:
                lines.append(f"... and {len(self.breakers) - SHOWN} more features")
        return "\n".join(lines)

    __repr__ = __str__


def stability_report(
    model: Any,
    environments: Iterable[Table],
    error: str | ErrorFunction = "rmse",
    *,
    level: float = 0.95,
    n_bootstrap: int = 500,
    random_state: RandomState = 0,
) -> StabilityReport:
    """Compare a fitted model's errors across environments and say what breaks it.

    Parameters
    ----------
    model : object
        A fitted model with ``predict_proba``; or a function of X that gives P(y = 1); or the
        predictions by environment name (then there is no answer to what breaks it).
    environments : iterable of Environment
        Two or more, with distinct names and the same columns.
    error : str or callable
        As in `environment_errors`.
    level, n_bootstrap : float, int
        Of the intervals, as in `error_interval`.
    random_state : int, RandomState or None
        Seed of the bootstrap and of the draws that restore a feature.

    Returns
    -------
    StabilityReport
        Prints as a table; ``to_frame()`` gives the errors.

    Notes
    -----
    What breaks the model: in the worst environment one feature at a time is drawn anew, from its
    values among rows with the same outcome, once there and once in the best environment. The
    second restores its link to the outcome and leaves everything else; the first is the control,
    since either draw unties the feature from the others. The difference is the feature's harm.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from stablepred import stability_report
    >>> from stablepred.data import SyntheticWorld
    >>> world = SyntheticWorld("s_indep_v")
    >>> train = world.sample(2000, bias_rate=0.75, random_state=0)
    >>> model = LogisticRegression().fit(train.X, train.y)
    >>> tests = [world.sample(2000, bias_rate=r, random_state=1) for r in (0.1, 0.5, 0.9)]
    >>> report = stability_report(model, tests)
    >>> report.worst, report.breakers["feature"][0] in world.biased_features
    ('r=0.1', True)
    """
    tables = listed_environments(environments)
    if len(tables) < 2:
        raise InputError(
            "stability_report compares environments, but got a single one "
            f"({tables[0].name!r}). Pass two or more, or use stress_test(model, X, y)."
        )
    seed = root_seed(random_state)
    frame = error_interval(
        model, tables, error, level=level, n_bootstrap=n_bootstrap, random_state=seed
    )
    errors = environment_errors(model, tables, error)
    best, worst = str(errors.idxmin()), str(errors.idxmax())
    breakers = None
    if hasattr(model, "predict_proba") or callable(model):
        by_name = {table.name: table for table in tables}
        breakers = _breakers(model, by_name[best], by_name[worst], error, seed)
    return StabilityReport(frame, breakers, best, worst, str(errors.name), level)


@dataclass(frozen=True)
class _Plain:
    """A table that need not be 0/1."""

    name: str
    X: pd.DataFrame
    y: npt.NDArray[np.int64]


def _breakers(
    model: Any, best: Table, worst: Table, error: str | ErrorFunction, seed: int
) -> pd.DataFrame:
    """Harm of every feature in the worst environment, sorted."""
    rows = []
    for name in best.X.columns:
        # By name, so that a feature's draws do not depend on the other columns.
        uniforms = numpy_generator(seed, "restore", str(name)).random(len(worst.y))
        errors = []
        for source in (worst, best):
            drawn = worst.X.copy()
            drawn[name] = _given_outcome(source, worst, name, uniforms)
            table = _Plain(worst.name, drawn, worst.y)
            errors.append(float(environment_errors(model, table, error).iloc[0]))
        rows.append((name, _association(best, name), _association(worst, name), *errors))
    columns = ["feature", "association_best", "association_worst"]
    frame = pd.DataFrame(rows, columns=[*columns, "error_redrawn", "error_restored"])
    frame["harm"] = frame["error_redrawn"] - frame["error_restored"]
    return frame.sort_values("harm", ascending=False, kind="stable", ignore_index=True)


def _given_outcome(source: Table, worst: Table, name: Any, uniforms: FloatArray) -> Any:
    """Values of a feature for the rows of ``worst``, drawn in ``source`` given the outcome."""
    values = worst.X[name].to_numpy(copy=True)
    for outcome in (0, 1):
        # Sorted, so that the same uniforms give like values from both environments.
        pool = np.sort(source.X[name].to_numpy()[np.asarray(source.y) == outcome])
        rows = np.flatnonzero(np.asarray(worst.y) == outcome)
        if len(pool):
            values[rows] = pool[(uniforms[rows] * len(pool)).astype(np.intp)]
    return values


def _association(table: Table, name: Any) -> float:
    """Mean of the outcome where the feature is high minus where it is low; NaN if constant."""
    try:
        values = column_values(table.X[[name]], [0], [str(name)])
    except InputError:  # not a number: the harm says it all
        return float("nan")
    high = Dichotomizer().fit_transform(values)[:, 0] == 1
    y = np.asarray(table.y)
    if high.all() or not high.any():
        return float("nan")
    return float(y[high].mean() - y[~high].mean())


# --- one table ----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class StressReport:
    """Errors of a model when one feature at a time comes to follow the outcome, or to oppose it.

    Attributes
    ----------
    errors : DataFrame
        One row per feature, the worst first: ``agreement`` (share of rows where the feature agrees
        with the outcome now), the error at each rate, ``average``, ``stability``, ``worst`` with
        its interval ``low`` ... ``high`` and the ``worst_rate`` where it is met, and
        ``effective_rows``, the smallest effective number of rows at any rate.
    observed : float
        Error on the table as it is.
    skipped : dict
        Features that could not be tested, with the reason.
    error : str
        Name of the error.
    level : float
        Of the interval.
    """

    errors: pd.DataFrame
    observed: float
    skipped: dict[str, str]
    error: str
    level: float

    def to_frame(self) -> pd.DataFrame:
        """One row per feature, the worst first."""
        return self.errors.copy()

    def __str__(self) -> str:
        shown = ["agreement", "average", "stability", "worst", "low", "high", "worst_rate"]
        lines = [
            f"Stress test: {self.error} as observed {self.observed:.4f}; when one feature at a "
            "time agrees with the outcome in another share of rows, worst first",
            self.errors[[*shown, "effective_rows"]].head(SHOWN).round(4).to_string(),
        ]
        if len(self.errors) > SHOWN:
            lines.append(f"... and {len(self.errors) - SHOWN} more features")
        lines += [f"not tested: {name} ({reason})" for name, reason in self.skipped.items()]
        name = self.errors.index[0]
        top = self.errors.iloc[0]
        lines.append(
            f"What breaks it most: {name} (error {top['worst']:.4f} at rate "
            f"{top['worst_rate']:g}, {top['worst'] - self.observed:+.4f})"
        )
        return "\n".join(lines)

    __repr__ = __str__


def stress_test(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    features: Sequence[Any] | None = None,
    rates: Sequence[float] = RATES,
    error: str | ErrorFunction = "rmse",
    level: float = 0.95,
    n_bootstrap: int = 200,
    random_state: RandomState = 0,
) -> StressReport:
    """Find out which features a fitted model must be able to trust.

    For each feature in turn rows are resampled so that it agrees with the outcome in a share r of
    the rows of both classes, for r = .1 ... .9: from against the outcome to with it. Features that
    go with it in the data go with it here; P(y) stays. No training and no second table is needed.

    Parameters
    ----------
    model : object
        A fitted model with ``predict_proba``; or a function of X that gives P(y = 1); or a column
        of predicted probabilities, one per row of X.
    X : DataFrame or array of shape (n, p)
        Features; those that are not 0/1 are cut at their mean to tell agreement.
    y : array-like of shape (n,)
        Outcome, 0/1.
    features : sequence of column names, optional
        Which to test; all if not given.
    rates : sequence of float
        Shares of agreement.
    error : str or callable
        As in `environment_errors`.
    level, n_bootstrap : float, int
        Of the interval of the worst error: rows are drawn again, as many as are effective.
    random_state : int, RandomState or None
        Seed of the resampling.

    Returns
    -------
    StressReport
        Prints as a table; ``to_frame()`` gives one row per feature, the worst first.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from stablepred import stress_test
    >>> from stablepred.data import SyntheticWorld
    >>> world = SyntheticWorld("s_indep_v")
    >>> train = world.sample(2000, bias_rate=0.75, random_state=0)
    >>> model = LogisticRegression().fit(train.X[["S1", "V12"]], train.y)
    >>> stress_test(model, train.X[["S1", "V12"]], train.y).to_frame().index[0]
    'V12'
    """
    table = _one_table(X, y)
    chosen = _chosen_features(features, table.X)
    _check_rates(rates)
    probability = predicted_probability(model, [table])[table.name]
    observed = environment_errors(probability, table, error)
    function = ERRORS[error] if isinstance(error, str) else error
    seed = root_seed(random_state)
    rows, skipped = {}, {}
    for name in chosen:
        bits = _as_bits(table.X, name)
        missing = _missing_cell(bits, table.y)
        if missing:
            skipped[str(name)] = missing
        else:
            rows[name] = _stressed(
                bits, table, probability, rates, function, level, n_bootstrap, seed, str(name)
            )
    if not rows:
        raise InputError(f"no feature can be tested: {skipped}.")
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("feature")
    frame = frame.sort_values("worst", ascending=False, kind="stable")
    return StressReport(frame, float(observed.iloc[0]), skipped, str(observed.name), level)


def _one_table(X: Any, y: npt.ArrayLike) -> _Plain:
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
    return _Plain("table", frame, outcome.astype(np.int64))


def _as_frame(X: Any) -> pd.DataFrame:
    if hasattr(X, "to_pandas"):  # polars
        frame: pd.DataFrame = pd.DataFrame({name: X[name].to_numpy() for name in X.columns})
        return frame
    x = np.asarray(X)
    if x.ndim != 2 or len(x) == 0:
        raise InputError(f"X must have rows and columns, but has shape {x.shape}.")
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])


def _chosen_features(features: Sequence[Any] | None, frame: pd.DataFrame) -> list[Any]:
    chosen = list(frame.columns) if features is None else list(features)
    unknown = [name for name in chosen if name not in frame.columns]
    if unknown or not chosen:
        raise InputError(
            f"features must name columns of X, but {unknown or 'none'} was asked for; the columns "
            f"are {list(frame.columns)}."
        )
    return chosen


def _check_rates(rates: Sequence[float]) -> None:
    if len(rates) < 2 or not all(0 < rate < 1 for rate in rates):
        raise InputError(
            f"rates must be two or more numbers strictly between 0 and 1, but are {rates!r}."
        )


def _as_bits(frame: pd.DataFrame, name: Any) -> FloatArray:
    values = column_values(frame[[name]], [0], [str(name)])
    bits: FloatArray = Dichotomizer().fit_transform(values)
    return bits


def _missing_cell(bits: FloatArray, y: npt.NDArray[np.int64]) -> str:
    """Why a feature cannot be tested; nothing if it can."""
    if bits.min() == bits.max():
        return "constant"
    for outcome in (0, 1):
        values = bits[y == outcome]
        if values.min() == values.max():
            return f"always {'high' if values[0] else 'low'} where y = {outcome}"
    return ""


def _stressed(
    bits: FloatArray,
    table: _Plain,
    probability: FloatArray,
    rates: Sequence[float],
    function: ErrorFunction,
    level: float,
    n_bootstrap: int,
    seed: int,
    name: str,
) -> dict[str, float]:
    """Errors when the feature agrees with the outcome at each rate."""
    target = table.y.astype(np.float64)
    weights = [resampling_weights(bits, target, rate, least_share=0.0) for rate in rates]
    effective = [w.sum() ** 2 / (w @ w) for w in weights]
    # Evenly spread draws from sorted rows: every kind of row comes as often as it should.
    order = np.lexsort((probability, bits[:, 0], target))
    evenly = (np.arange(len(target)) + 0.5) / len(target)
    drawn = [order[_rows_at(evenly, w[order])] for w in weights]
    errors = [float(function(table.y[rows], probability[rows])) for rows in drawn]
    k = int(np.argmax(errors))
    rng = numpy_generator(seed, "stress", name)
    size = max(2, round(effective[k]))
    draws = [
        function(table.y[rows], probability[rows])
        for rows in (_rows_at(rng.random(size), weights[k]) for _ in range(n_bootstrap))
    ]
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return (
        {"agreement": float((bits[:, 0] == target).mean())}
        | {f"r={rate:g}": value for rate, value in zip(rates, errors, strict=True)}
        | {"average": average_error(errors), "stability": stability_error(errors)}
        | {"worst": errors[k], "low": float(low), "high": float(high)}
        | {"worst_rate": float(rates[k]), "effective_rows": float(min(effective))}
    )


def _rows_at(points: FloatArray, w: FloatArray) -> IndexArray:
    """Row numbers at points in [0, 1), each row owning a stretch in proportion to its weight."""
    edges = np.cumsum(w)
    return np.minimum(np.searchsorted(edges, points * edges[-1], side="right"), len(w) - 1)
