"""Validation environments made from training data alone (paper, section 5.3).

In the environment of rate r each noisy feature equals the outcome with probability r given the
outcome; the base rate of the outcome stays as observed. Two ways to get there:

- *redraw*: the noisy columns are drawn again, together, whatever they were before.
- *resample* (the paper's "non-random resampling"): the rows stay as they are and are drawn with
  weights prod_j P(r) / P(observed) over the noisy features j. With many of them few rows would
  carry all the weight, so the tilt is held back where the effective number of rows meets a floor.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from sklearn.utils import _safe_indexing

from stablepred._validation import BoolArray, FloatArray
from stablepred.exceptions import InputError

IndexArray = NDArray[np.intp]

RATES = tuple(round(0.1 * k, 1) for k in range(1, 10))
KINDS = ("redraw", "resample")
CRITERIA = ("score", "worst")

# Predictions that vary by less than this share of the outcome's own deviation are constant.
CONSTANT_SPREAD = 0.01
NOT_NUMERIC, MISSING = "not numeric", "missing or infinite values"
# Effective rows that resampling must leave, as a share of the rows.
LEAST_SHARE = 0.3


def check_rates(rates: Sequence[float]) -> None:
    if len(rates) < 2 or not all(0 < rate < 1 for rate in rates):
        raise InputError(f"rates must be two or more, strictly between 0 and 1, but are {rates!r}.")


def validation_environments(
    kind: str,
    x: FloatArray,
    y: FloatArray,
    noisy: BoolArray,
    rng: np.random.Generator,
    *,
    sample_weight: FloatArray | None = None,
    rates: Sequence[float] = RATES,
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield, for each rate, features (n, p) and the weight of every row.

    In redrawn columns that are not 0/1, values above and below the mean stand for 1 and 0.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    if kind == "resample":
        for rate in rates:
            yield x, weight * resampling_weights(x[:, noisy], y, rate, weight)
        return
    uniforms, above, below = draw_values(x[:, noisy], rng)
    for rate in rates:
        changed = x.copy()
        changed[:, noisy] = np.where((uniforms < rate) == (y[:, None] == 1), above, below)
        yield changed, weight


def draw_values(x: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, ...]:
    """Uniforms, and a value from above and one from below the mean, for each entry.

    One set of uniforms serves all rates: the environments differ by their rate, not by luck.
    """
    uniforms = rng.random(x.shape)
    above, below = np.ones_like(uniforms), np.zeros_like(uniforms)
    for k, column in enumerate(np.ascontiguousarray(x.T)):
        is_above = column > column.mean()
        if ((column != 0) & (column != 1)).any() and is_above.any():
            above[:, k] = rng.choice(column[is_above], len(x))
            below[:, k] = rng.choice(column[~is_above], len(x))
    return uniforms, above, below


def resampling_weights(
    x: FloatArray,
    y: FloatArray,
    rate: float,
    sample_weight: FloatArray | None = None,
    least_share: float = LEAST_SHARE,
) -> FloatArray:
    """Weights of rows, with mean one, under which the columns of ``x`` follow ``y`` at ``rate``.

        w = (prod_j  r / P(x_j = y | y)  where x_j = y, else  (1 - r) / P(x_j != y | y)) ^ t

    scaled so that both classes keep their share. With t = 1 and one column the rate is met exactly
    in both; with several it is met as far as they are independent given y. t is the largest number
    in [0, 1] that leaves an effective share (sum c w)^2 / (sum c  sum c w^2) of ``least_share``,
    with c the sample weights.
    """
    c = np.ones(len(y)) if sample_weight is None else sample_weight
    classes = [y == value for value in np.unique(y)]
    log_weight = np.zeros(len(y))
    for rows in classes:
        agree = x[rows] == y[rows, None]  # (rows, columns)
        # Half a row keeps the weights finite where a class always, or never, agrees.
        least = 0.5 / (c[rows].sum() + 1.0)
        share = np.clip(c[rows] @ agree / c[rows].sum(), least, 1 - least)
        ratios = np.where(agree, np.log(rate / share), np.log((1 - rate) / (1 - share)))
        log_weight[rows] = ratios.sum(axis=1)

    def temper(t: float) -> tuple[FloatArray, float]:
        """The weights, and their effective share: the mean of c w is that of c."""
        w: FloatArray = np.exp(t * (log_weight - log_weight.max()))
        for rows in classes:
            w[rows] *= c[rows].sum() / (c[rows] @ w[rows])
        return w, float(c.sum() / (c @ w**2))

    w, left = temper(1.0)
    if left >= least_share:
        return w
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if temper(middle)[1] >= least_share else (low, middle)
    return temper(low)[0]


def score(errors: FloatArray, stability_weight: float) -> FloatArray:
    return np.asarray(errors.mean(axis=-1) + stability_weight * errors.std(axis=-1, ddof=1))


def criterion_value(
    errors: FloatArray, criterion: str = "score", stability_weight: float = 5.0
) -> FloatArray:
    """What a search minimises, over the last axis: `score`, or the worst environment's error."""
    worst = np.asarray(errors.max(axis=-1))
    return worst if criterion == "worst" else score(errors, stability_weight)


def is_constant(probability: FloatArray, target: FloatArray) -> bool:
    return bool(np.std(probability) <= CONSTANT_SPREAD * np.std(target))


def draw_other_side(x: FloatArray, bits: FloatArray, rng: np.random.Generator) -> FloatArray:
    """For every value one from the other side of its column's cut, if there is any."""
    others = x.copy()
    for new, old, above in zip(others.T, x.T, bits.T == 1, strict=True):
        if above.any() and not above.all():
            new[above] = rng.choice(old[~above], int(above.sum()))
            new[~above] = rng.choice(old[above], int((~above).sum()))
    return others


def find_obstacle(column: Any) -> str:
    """Why no environment can be made from a column, or nothing."""
    try:
        finite = np.isfinite(np.asarray(column, dtype=np.float64)).all()
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeError) and not pd.isna(np.asarray(column, dtype=object)).any():
            raise  # of lists, or the like
        return MISSING if is_numeric_dtype(column) else NOT_NUMERIC
    return "" if finite else MISSING


def column_values(
    X: Any, positions: Sequence[int] | IndexArray, names: Sequence[str]
) -> FloatArray:
    """Some columns of a table as finite numbers: (n, k)."""
    columns = np.empty((len(X), len(positions)))
    for values, j in zip(columns.T, positions, strict=True):
        column = _safe_indexing(X, int(j), axis=1)
        if obstacle := find_obstacle(column):
            raise InputError(
                f"feature {names[j]!r}: {obstacle}, so that no environment can be made from it. "
                "Encode or fill it first, or leave it out of the features to change."
            )
        values[:] = np.asarray(column, dtype=np.float64)
    return columns


def by_content(x: FloatArray) -> IndexArray:
    return np.array(sorted(range(x.shape[1]), key=lambda j: x[:, j].tobytes()), dtype=np.intp)


def with_columns(X: Any, positions: IndexArray, values: FloatArray) -> Any:
    """A copy of an array or a frame in which some columns are replaced."""
    changed = X.copy()
    if not hasattr(X, "columns"):
        changed[:, positions] = values
        return changed
    for j, v in zip(positions, values.T, strict=True):
        changed.isetitem(j, v.astype(X.dtypes.iloc[j]))
    return changed
