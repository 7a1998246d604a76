"""What breaks a model: a stress test on one table, and what differs between two environments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from stablepred._random import RandomState, numpy_generator, root_seed
from stablepred.evaluation.metrics import ErrorFunction, Metric, check_interval, percentiles
from stablepred.evaluation.predictions import (
    FloatArray,
    PlainTable,
    Table,
    check_outcome,
    is_binary,
    predict_outcomes,
    read_table,
)
from stablepred.exceptions import InputError
from stablepred.html.fragments import Report, first_lines
from stablepred.preprocessing import Dichotomizer
from stablepred.validation.environments import (
    RATES,
    check_rates,
    column_values,
    find_obstacle,
    resampling_weights,
)

IndexArray = npt.NDArray[np.intp]


@dataclass(frozen=True, repr=False)
class StressReport(Report):
    """Errors of a model when one feature at a time comes to follow the outcome, or to oppose it.

    ``errors`` has one row per feature, the worst first: ``agreement`` (share of rows where the
    feature agrees with the outcome now), the error at each rate, ``average``, ``stability``,
    ``worst`` with its interval ``low`` ... ``high`` and the ``worst_rate`` where it is met, and
    ``effective_rows``, the smallest effective number of rows at any rate.
    """

    errors: pd.DataFrame
    observed: float  # error on the table as it is
    skipped: dict[str, str]  # features that could not be tested, with the reason
    error: str
    level: float

    @property
    def verdict(self) -> str:
        top = self.errors.iloc[0]
        return (
            f"What breaks it most: {top.name} (error {top['worst']:.4f} at rate "
            f"{top['worst_rate']:g}, {top['worst'] - self.observed:+.4f})"
        )

    def __str__(self) -> str:
        shown = ["agreement", "average", "stability", "worst", "low", "high", "worst_rate"]
        lines = [
            f"Stress test: {self.error} as observed {self.observed:.4f}; when one feature at a "
            "time agrees with the outcome in another share of rows, worst first",
            *first_lines(self.errors[[*shown, "effective_rows"]]),
            *(f"not tested: {name} ({reason})" for name, reason in self.skipped.items()),
            self.verdict,
        ]
        return "\n".join(lines)


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
    the rows of both classes, for r = .1 ... .9, from opposing the outcome to following it.
    Features that depend on it change with it; P(y) stays the same. The classes of a numeric outcome
    are above and not above its median.

    Parameters
    ----------
    model, error : object, and str or callable
        As in `environment_errors`; or a column of predictions.
    X : DataFrame or array of shape (n, p)
        Features; those that are not 0/1 are cut at their mean to tell agreement. Text and columns
        with missing values are skipped.
    y : array-like of shape (n,)
        Outcome: the classes of the model, 0/1 or a number.
    features : sequence of column names, optional
        Which to test; all if not given.
    rates : sequence of float
        Shares of agreement.
    level, n_bootstrap, random_state : float, int, seed
        Of the interval of the worst error: rows are drawn again, as many as are effective.

    Returns
    -------
    StressReport
        Prints as a table; ``errors`` has one row per feature, the worst first.

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
    data, metric = check_outcome(read_table((X, y)), model), Metric.of(error)
    seed = root_seed(random_state)
    high = (data.y > (0 if is_binary(data) else np.median(data.y))).astype(np.float64)
    chosen = list(data.X.columns) if features is None else list(features)
    if unknown := [name for name in chosen if name not in data.X.columns]:
        raise InputError(f"X has no columns {unknown}, but {list(data.X.columns)}.")
    check_interval(level, n_bootstrap)
    check_rates(rates)
    predicted = predict_outcomes(model, [data])[data.name]

    def error_at(chosen: IndexArray) -> float:
        return metric(data.y[chosen], predicted[chosen])

    found, skipped = {}, {}
    for name in chosen:
        if obstacle := find_obstacle(data.X[name]):
            skipped[str(name)] = obstacle
            continue
        bits = _cut(data, name)
        shares = [bits[high == outcome].mean() for outcome in (0, 1)]
        if shares in ([0, 0], [1, 1]):
            skipped[str(name)] = "constant"
        elif fixed := [(k, "high" if r else "low") for k, r in enumerate(shares) if r in (0, 1)]:
            skipped[str(name)] = f"always {fixed[0][1]} where y = {fixed[0][0]}"
        else:
            # Evenly spread draws from sorted rows: every kind of row comes as often as it should.
            order = np.lexsort((predicted, bits, high))
            weights = [resampling_weights(bits[:, None], high, r, least_share=0.0) for r in rates]
            rng = numpy_generator(seed, "stress", str(name))
            errors, ends = _resample(error_at, weights, order, n_bootstrap, rng)
            low, high_end = percentiles(ends, level)
            found[name] = {
                "agreement": float((bits == high).mean()),
                **{f"r={rate:g}": value for rate, value in zip(rates, errors, strict=True)},
                "average": errors.mean(),
                "stability": errors.std(ddof=1),
                "worst": errors.max(),
                "low": low,
                "high": high_end,
                "worst_rate": float(rates[int(np.argmax(errors))]),
                "effective_rows": float(min(w.sum() ** 2 / (w @ w) for w in weights)),
            }
    if not found:
        raise InputError(f"no feature can be tested: {skipped}.")
    frame = pd.DataFrame.from_dict(found, orient="index").rename_axis("feature")
    return StressReport(
        errors=frame.sort_values("worst", ascending=False, kind="stable"),
        observed=metric.error(data, predicted),
        skipped=skipped,
        error=metric.name,
        level=level,
    )


def _cut(rows: Table, name: Any) -> FloatArray:
    values = column_values(rows.X[[name]], [0], [str(name)])
    return np.asarray(Dichotomizer().fit_transform(values)[:, 0])


def _resample(
    error_at: Callable[[IndexArray], float],
    weights: Sequence[FloatArray],
    order: IndexArray,
    n_bootstrap: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """The error under each of the weights, and the largest of them on rows drawn again."""
    evenly = (np.arange(len(order)) + 0.5) / len(order)
    errors = np.array([error_at(order[_rows_at(evenly, w[order])]) for w in weights])
    w = weights[int(np.argmax(errors))]
    size = max(2, round(w.sum() ** 2 / (w @ w)))
    return errors, np.array([error_at(_rows_at(rng.random(size), w)) for _ in range(n_bootstrap)])


def _rows_at(points: FloatArray, w: FloatArray) -> IndexArray:
    """Row indices at points in [0, 1), each row owning a stretch in proportion to its weight."""
    edges = np.cumsum(w)
    return np.minimum(np.searchsorted(edges, points * edges[-1], side="right"), len(w) - 1)


# --- between two environments ---


def rank_breakers(model: Any, best: Table, worst: Table, metric: Metric, seed: int) -> pd.DataFrame:
    """Harm of every feature in the worst environment, sorted."""
    rows = []
    for name in best.X.columns:
        # By name, so that a feature's draws do not depend on the other columns.
        uniforms = numpy_generator(seed, "restore", str(name)).random(len(worst.y))
        errors = []
        for source in (worst, best):
            drawn = worst.X.copy()
            drawn[name] = _draw_given_outcome(source, worst, name, uniforms)
            changed = PlainTable(worst.name, drawn, worst.y)
            errors.append(metric.error(changed, predict_outcomes(model, [changed])[worst.name]))
        rows.append((name, _association(best, name), _association(worst, name), *errors))
    columns = ["feature", "association_best", "association_worst"]
    frame = pd.DataFrame(rows, columns=[*columns, "error_redrawn", "error_restored"])
    frame["harm"] = frame["error_redrawn"] - frame["error_restored"]
    return frame.sort_values("harm", ascending=False, kind="stable", ignore_index=True)


def _draw_given_outcome(source: Table, worst: Table, name: Any, uniforms: FloatArray) -> pd.Series:
    """Values of a feature for the rows of ``worst``, drawn in ``source`` given the outcome."""
    # Both columns one below the other keep their type, be it numbers, text or categories.
    both = pd.concat([worst.X[name], source.X[name]], ignore_index=True)
    chosen = np.arange(len(worst.y))
    there, here = np.asarray(source.y), np.asarray(worst.y)
    if not is_binary(source, worst):  # tenths of both together
        edges = np.quantile(np.concatenate([there, here]), np.linspace(0.1, 0.9, 9))
        there, here = np.digitize(there, edges), np.digitize(here, edges)
    for stratum in np.unique(here):
        pool = np.flatnonzero(there == stratum) + len(worst.y)
        rows = np.flatnonzero(here == stratum)
        if len(pool):
            # Sorted, so that the same uniforms give like values from both environments.
            codes, _ = pd.factorize(both.iloc[pool], sort=True, use_na_sentinel=False)
            pool = pool[np.argsort(codes, kind="stable")]
            chosen[rows] = pool[(uniforms[rows] * len(pool)).astype(np.intp)]
    return both.iloc[chosen].set_axis(worst.X.index)


def _association(rows: Table, name: Any) -> float:
    """Mean of the outcome where the feature is high minus where it is low; NaN if it is neither."""
    if find_obstacle(rows.X[name]):  # not a number: the harm alone has to do
        return float("nan")
    y, high = pd.Series(rows.y), pd.Series(_cut(rows, name) == 1)
    return float(y[high].mean() - y[~high].mean())
