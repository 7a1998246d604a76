"""Which features must a fitted model be able to trust: a stress test on one table."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from stablepred._random import RandomState, numpy_generator, root_seed
from stablepred.evaluation.facts import ModelFacts, RunFacts, model_facts, run_facts
from stablepred.evaluation.metrics import (
    ErrorFunction,
    Metric,
    average_error,
    check_interval,
    percentiles,
    stability_error,
)
from stablepred.evaluation.predictions import (
    FloatArray,
    PlainTable,
    plain_table,
    predict_probabilities,
)
from stablepred.exceptions import InputError
from stablepred.preprocessing import Dichotomizer
from stablepred.validation.environments import RATES, column_values, resampling_weights

IndexArray = npt.NDArray[np.intp]

SHOWN = 10  # features in a printed report


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
    facts : ModelFacts
        What the model tells about itself.
    run : RunFacts
        Data, seed, versions and time.
    """

    errors: pd.DataFrame
    observed: float
    skipped: dict[str, str]
    error: str
    level: float
    facts: ModelFacts
    run: RunFacts

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one HTML file that needs nothing but itself.

        The file is complete or not there at all. It holds aggregates only, no rows of the data.
        """
        from stablepred.html.page import write_page
        from stablepred.html.stress import stress_page

        write_page(stress_page(self), path)

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
        Prints as a table; ``to_frame()`` gives one row per feature, the worst first;
        ``to_html(path)`` writes the page.

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
    started = time.perf_counter()
    table, metric, seed = plain_table(X, y), Metric.of(error), root_seed(random_state)
    chosen = _choose_features(features, table.X)
    check_interval(level, n_bootstrap)
    if len(rates) < 2 or not all(0 < rate < 1 for rate in rates):
        raise InputError(
            f"rates must be two or more numbers strictly between 0 and 1, but are {rates!r}."
        )
    probability = predict_probabilities(model, [table])[table.name]
    observed = metric.error(table, probability)
    rows, skipped = {}, {}
    for name in chosen:
        values = column_values(table.X[[name]], [0], [str(name)])
        bits: FloatArray = Dichotomizer().fit_transform(values)[:, 0]
        missing = _missing_cell(bits, table.y)
        if missing:
            skipped[str(name)] = missing
        else:
            rng = numpy_generator(seed, "stress", str(name))
            rows[name] = _stress(
                bits, table, probability, rates, metric.function, level, n_bootstrap, rng
            )
    if not rows:
        raise InputError(f"no feature can be tested: {skipped}.")
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("feature")
    return StressReport(
        errors=frame.sort_values("worst", ascending=False, kind="stable"),
        observed=observed,
        skipped=skipped,
        error=metric.name,
        level=level,
        facts=model_facts(model),
        run=run_facts([table], None, seed, n_bootstrap, started),
    )


def _choose_features(features: Sequence[Any] | None, frame: pd.DataFrame) -> list[Any]:
    chosen = list(frame.columns) if features is None else list(features)
    unknown = [name for name in chosen if name not in frame.columns]
    if unknown or not chosen:
        raise InputError(
            f"features must name columns of X, but {unknown or 'none'} was asked for; the columns "
            f"are {list(frame.columns)}."
        )
    return chosen


def _missing_cell(bits: FloatArray, y: npt.NDArray[np.int64]) -> str:
    """Why a feature cannot be tested; empty if it can."""
    if bits.min() == bits.max():
        return "constant"
    for outcome in (0, 1):
        values = bits[y == outcome]
        if values.min() == values.max():
            return f"always {'high' if values[0] else 'low'} where y = {outcome}"
    return ""


def _stress(
    bits: FloatArray,
    table: PlainTable,
    probability: FloatArray,
    rates: Sequence[float],
    error: ErrorFunction,
    level: float,
    n_bootstrap: int,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Errors when the feature agrees with the outcome at each rate."""
    target = table.y.astype(np.float64)
    weights = [resampling_weights(bits[:, None], target, r, least_share=0.0) for r in rates]
    effective = [w.sum() ** 2 / (w @ w) for w in weights]
    # Evenly spread draws from sorted rows: every kind of row comes as often as it should.
    order = np.lexsort((probability, bits, target))
    evenly = (np.arange(len(target)) + 0.5) / len(target)

    def error_at(rows: IndexArray) -> float:
        return float(error(table.y[rows], probability[rows]))

    errors = [error_at(order[_rows_at(evenly, w[order])]) for w in weights]
    k = int(np.argmax(errors))
    size = max(2, round(effective[k]))
    draws = [error_at(_rows_at(rng.random(size), weights[k])) for _ in range(n_bootstrap)]
    low, high = percentiles(np.array(draws), level)
    return (
        {"agreement": float((bits == target).mean())}
        | {f"r={rate:g}": value for rate, value in zip(rates, errors, strict=True)}
        | {"average": average_error(errors), "stability": stability_error(errors)}
        | {"worst": errors[k], "low": float(low), "high": float(high)}
        | {"worst_rate": float(rates[k]), "effective_rows": float(min(effective))}
    )


def _rows_at(points: FloatArray, w: FloatArray) -> IndexArray:
    """Row indices at points in [0, 1), each row owning a stretch in proportion to its weight."""
    edges = np.cumsum(w)
    return np.minimum(np.searchsorted(edges, points * edges[-1], side="right"), len(w) - 1)
