"""The distinct rows of a table with their counts, which is all that fits need.

One narwhals expression counts them where the table lives: in DuckDB, Dask, Spark or memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.exceptions import InputError
from stablepred.preprocessing import Dichotomizer, halfway, tolerance_of_mean
from stablepred.tables.engines import load_narwhals, open_frame
from stablepred.tables.messages import (
    check_columns,
    in_rows,
    listed,
    not_two_values,
    unknown_column,
)

SHOWN = 5  # values in a message


@dataclass(frozen=True, eq=False)
class PatternCounts:
    """Distinct rows of features and outcome, sorted, and how often each occurs.

    Attributes
    ----------
    X : DataFrame of shape (n_patterns, n_features)
        Features under the names of their columns: 0/1, or numbers where these were not cut.
    y : ndarray of shape (n_patterns,) or None
        The outcome, as it is in the table; None where no target was named.
    count : ndarray of shape (n_patterns,)
        Rows of the table that are like this one.
    dichotomizer : Dichotomizer or None
        Where the columns were cut; None where they were not.
    """

    X: pd.DataFrame
    y: NDArray[Any] | None
    count: NDArray[np.float64]
    dichotomizer: Dichotomizer | None = None


def count_patterns(
    table: Any,
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    dichotomize: str | None = None,
) -> PatternCounts:
    """Count the distinct rows of a table without loading it.

    Parameters
    ----------
    table : path or frame
        A Parquet or CSV file, or a glob of several (``"rows-*.parquet"``), counted by DuckDB; or a
        frame of DuckDB, Dask, PySpark, pandas, polars or pyarrow; or `PatternCounts`, as they are.
    target : str, optional
        The outcome column, with two values.
    features : sequence of str, optional
        The columns to use, of numbers or booleans, none missing; all but the target by default.
    dichotomize : {None, "mean", "median"}, default=None
        Where columns are cut into 0/1, as by `Dichotomizer`; None keeps them. For the median the
        distinct values of a column are fetched.

    Returns
    -------
    PatternCounts

    Examples
    --------
    >>> import pandas as pd
    >>> from stablepred.data import count_patterns
    >>> frame = pd.DataFrame({"a": [0, 1, 1, 1], "b": [2, 5, 9, 8], "y": [0, 1, 1, 0]})
    >>> patterns = count_patterns(frame, "y", dichotomize="mean")
    >>> patterns.X.assign(y=patterns.y, count=patterns.count)
       a  b  y  count
    0  0  0  0    1.0
    1  1  0  1    1.0
    2  1  1  0    1.0
    3  1  1  1    1.0
    """
    if isinstance(table, PatternCounts):
        return table
    wanted = None if features is None else [*features, *([] if target is None else [target])]
    with open_frame(table, wanted) as frame:
        columns = inspect_columns(frame, target, features)
        outcome = None
        if target is not None:
            two_values(frame, target)
            outcome = load_narwhals().col(target)
        if dichotomize is None:
            values = {name: number(name) + 0.0 for name in columns}  # -0.0 is 0.0
            return count_rows(frame, values, outcome)
        cuts = {name: _cut(frame, name, found, dichotomize) for name, found in columns.items()}
        bits = {name: number(name) > sum(cut) for name, cut in cuts.items()}
        counted = count_rows(frame, bits, outcome)
        cutter = Dichotomizer(strategy=dichotomize)
        cutter.thresholds_, cutter.tolerances_ = np.array(list(cuts.values())).T
        cutter.n_features_in_ = len(cuts)
        return PatternCounts(counted.X, counted.y, counted.count, cutter)


def count_rows(frame: Any, features: Mapping[str, Any], outcome: Any | None) -> PatternCounts:
    """Count equal rows of expressions, and of the outcome if there is one.

    Columns of 0/1 become single bytes.
    """
    keys = {f"x{j}": bit for j, bit in enumerate(features.values())}
    ours = [*keys]
    if outcome is not None:
        keys["y"] = outcome
    rows = frame.select(*(key.alias(name) for name, key in keys.items()))
    # All that is asked of an engine: cut the columns, and count equal rows.
    found = rows.group_by(*keys).agg(load_narwhals().len().alias("count")).collect()
    x = np.column_stack([found[name].to_numpy() for name in ours])
    is_bit = ((x == 0) | (x == 1)).all(axis=0)
    y = None if outcome is None else found["y"].to_numpy()
    ranks = [] if y is None else [np.unique(y, return_inverse=True)[1]]
    order = np.lexsort([*ranks, *x.T[::-1]])  # engines give the rows in any order
    return PatternCounts(
        pd.DataFrame(x[order], columns=list(features)).astype(
            {name: np.uint8 for name, bit in zip(features, is_bit, strict=True) if bit}
        ),
        None if y is None else y[order],
        found["count"].to_numpy()[order].astype(np.float64),
    )


# --- what the columns hold ---


class Values(NamedTuple):
    """What a column holds: its type, its ends, and its mean if there are values between these."""

    type: Any
    low: float
    high: float
    largest: float  # absolute value
    mean: float | None = None


def inspect_columns(
    frame: Any, target: str | None, features: Sequence[str] | None
) -> dict[str, Values]:
    """What each feature holds; other types, missing and infinite values are errors."""
    nw = load_narwhals()
    types = dict(frame.collect_schema())
    names = _feature_names(types, target, features)
    checked = names if target is None else [*names, target]
    wanted = [nw.len().alias("rows")]
    for j, name in enumerate(checked):
        missing = nw.col(name).is_null()
        if types[name].is_float():
            missing = missing | nw.col(name).is_nan()
        wanted.append(missing.cast(nw.Int64).sum().alias(f"missing{j}"))
    for j, name in enumerate(names):
        wanted += [number(name).min().alias(f"low{j}"), number(name).max().alias(f"high{j}")]
    found = frame.select(*wanted).collect().rows(named=True)[0]
    if not found["rows"]:
        raise InputError("the table has no rows.")
    empty = {name: int(found[f"missing{j}"]) for j, name in enumerate(checked)}
    if any(empty.values()):
        shown = listed([f"{name!r} ({in_rows(rows)})" for name, rows in empty.items() if rows])
        raise InputError(
            f"missing values in {shown}. Fill them in or remove such rows; or use "
            "stablepred.data.TableEncoder, which makes a feature 'is missing' of them."
        )
    columns = {}
    for j, name in enumerate(names):
        low, high = float(found[f"low{j}"]), float(found[f"high{j}"])
        columns[name] = Values(types[name], low, high, max(abs(low), abs(high)))
    infinite = [name for name, ends in columns.items() if not np.isfinite(ends.largest)]
    if infinite:
        raise InputError(
            f"infinite values in {listed(infinite)}. Replace them, or remove such rows."
        )
    return columns | _with_means(frame, columns)


def _feature_names(
    types: dict[str, Any], target: str | None, features: Sequence[str] | None
) -> list[str]:
    """The columns to use, which must be there and hold numbers or booleans."""
    names = [name for name in types if name != target] if features is None else list(features)
    given = [] if target is None else [("target", target)]
    for what, name in [*given, *(("feature", name) for name in names)]:
        if name not in types:
            raise unknown_column(name, list(types), what)
    check_columns(names)
    if target in names:
        raise InputError(f"{target!r} is the target; it cannot be a feature.")
    if not names:
        raise InputError("no feature is left: the table has no column besides the target.")
    boolean = load_narwhals().Boolean
    odd = [n for n in names if not (types[n].is_numeric() or types[n] == boolean)]
    if odd:
        found = listed([f"{name!r} ({types[name]})" for name in odd])
        raise InputError(
            f"features must be numbers or booleans, but are not: {found}. Name the others with "
            "features=[...]; or make 0/1 features of the whole table with "
            "stablepred.data.TableEncoder."
        )
    return names


def _with_means(frame: Any, columns: dict[str, Values]) -> dict[str, Values]:
    """Those columns that have values between their ends, with their means."""
    nw = load_narwhals()
    wanted: list[Any] = []
    exponents: dict[str, int] = {}
    for name, ends in columns.items():
        unit_step = ends.high - ends.low == 1 and not (
            ends.type.is_float() or ends.type.is_decimal()
        )
        if ends.low == ends.high or unit_step:
            continue
        value, j = number(name), len(exponents)
        # Sums of very large numbers leave the range of doubles.
        exponents[name] = max(-1000, int(np.frexp(ends.largest)[1]))
        mean = (value * float(np.ldexp(1.0, -exponents[name]))).mean()
        inside = ((value > ends.low) & (value < ends.high)).cast(nw.Int64).sum()
        wanted += [inside.alias(f"inside{j}"), mean.alias(f"mean{j}")]
    found = frame.select(*wanted).collect().rows(named=True)[0] if wanted else {}
    return {
        name: columns[name]._replace(mean=float(np.ldexp(float(found[f"mean{j}"]), exponent)))
        for j, (name, exponent) in enumerate(exponents.items())
        if found[f"inside{j}"]
    }


def number(name: str) -> Any:
    """A column as ``fit`` takes it: in double precision."""
    nw = load_narwhals()
    return nw.col(name).cast(nw.Float64)


def two_values(frame: Any, target: str) -> list[Any]:
    """The values of an outcome, which must be two."""
    values: list[Any] = frame.select(target).unique().head(SHOWN + 1).collect()[target].to_list()
    if len(values) != 2:
        shown = [*map(repr, sorted(values)[:SHOWN]), *["..."] * (len(values) > SHOWN)]
        raise not_two_values(target, "only one value" if len(values) == 1 else "more", shown)
    return values


def _cut(frame: Any, name: str, found: Values, dichotomize: str) -> tuple[float, float]:
    """Where a column is cut, and by how much a value must lie above, as by `Dichotomizer`."""
    if found.mean is None:
        return halfway(found.low, found.high), 0.0
    if dichotomize == "mean":
        return found.mean, tolerance_of_mean(found.largest)
    # The median by the counts of the distinct values; engines differ in theirs.
    nw = load_narwhals()
    values = frame.select(number(name).alias("value"))
    rows = values.group_by("value").agg(nw.len().alias("count")).collect()
    cutter = Dichotomizer(strategy="median")
    cutter.fit(rows["value"].to_numpy()[:, None], sample_weight=rows["count"].to_numpy())
    return float(cutter.thresholds_[0]), float(cutter.tolerances_[0])
