"""The distinct rows of a table with their counts, counted where the table lives.

Fits need the distinct 0/1 rows and how often each occurs, nothing else. One narwhals expression
finds them: DuckDB runs it on files, Dask and Spark on their own frames, pandas, polars and Arrow in
memory. The rows themselves never come here, so a table may be far larger than memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.exceptions import InputError
from stablepred.preprocessing import Dichotomizer, halfway, tolerance_of_mean
from stablepred.tables.engines import load_narwhals, open_frame
from stablepred.tables.messages import check_columns, in_rows, listed, unknown_column

SHOWN = 5  # values in a message

Range = tuple[float, float]  # the least and the largest value of a column
Cut = tuple[float, float]  # a threshold, and by how much a value must lie above it


@dataclass(frozen=True, eq=False)
class PatternCounts:
    """Distinct rows of 0/1 features and outcome, sorted, and how often each occurs.

    Attributes
    ----------
    X : DataFrame of shape (n_patterns, n_features)
        0/1 features under the names of their columns.
    y : ndarray of shape (n_patterns,) or None
        The outcome, as it is in the table; None where no target was named.
    count : ndarray of shape (n_patterns,)
        Rows of the table that are like this one.
    dichotomizer : Dichotomizer or None
        Where the columns were cut; None where they are 0/1 and ``dichotomize=None``.
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
    dichotomize: str | None = "mean",
) -> PatternCounts:
    """Count the distinct rows of a table without loading it.

    Parameters
    ----------
    table : path or frame
        A Parquet or CSV file, or a glob of several (``"rows-*.parquet"``) with the same columns,
        counted by DuckDB; or a DuckDB relation, a frame of Dask or PySpark, of pandas, polars or
        pyarrow. `PatternCounts` are taken as they are.
    target : str, optional
        The outcome column, with two values.
    features : sequence of str, optional
        The columns to use: numbers or booleans, none missing. All but the target if not given.
    dichotomize : {"mean", "median", None}, default="mean"
        How columns with more than two values are cut, as `Dichotomizer` does; None refuses columns
        that are not 0/1. The mean is found by the engine, equal to that of the loaded table up to
        rounding. For the median the distinct values of a column are fetched.

    Returns
    -------
    PatternCounts

    Examples
    --------
    >>> import pandas as pd
    >>> from stablepred.data import count_patterns
    >>> frame = pd.DataFrame({"a": [0, 1, 1, 1], "b": [2, 5, 9, 8], "y": [0, 1, 1, 0]})
    >>> patterns = count_patterns(frame, "y")
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
        types = dict(frame.collect_schema())
        names = feature_names(types, target, features)
        ranges = value_ranges(frame, types, names, target)
        if target is not None:
            two_values(frame, target)
        cuts = _cuts(ranges, means_of_several_values(frame, types, ranges), frame, dichotomize)
        nw = load_narwhals()
        bits = {name: number(name) > sum(cut) for name, cut in cuts.items()}
        counted = count_rows(frame, bits, None if target is None else nw.col(target))
        if dichotomize is None:
            return counted
        cutter = Dichotomizer(strategy=dichotomize)
        cutter.thresholds_, cutter.tolerances_ = np.array(list(cuts.values())).T
        cutter.n_features_in_ = len(cuts)
        return PatternCounts(counted.X, counted.y, counted.count, cutter)


def count_rows(frame: Any, features: Mapping[str, Any], outcome: Any | None) -> PatternCounts:
    """Count equal rows of boolean expressions, and of the outcome if there is one."""
    nw = load_narwhals()
    keys = [bit.alias(f"x{j}") for j, bit in enumerate(features.values())]
    keys += [] if outcome is None else [outcome.alias("y")]
    names = [f"x{j}" for j in range(len(features))] + ["y"] * (outcome is not None)
    # All that is asked of an engine: cut the columns, and count equal rows.
    found = frame.select(*keys).group_by(*names).agg(nw.len().alias("count")).collect()
    x = np.column_stack([found[key].to_numpy() for key in names[: len(features)]])
    y = None if outcome is None else found["y"].to_numpy()
    ranks = [] if y is None else [np.unique(y, return_inverse=True)[1]]
    order = np.lexsort([*ranks, *x.T[::-1]])  # engines give the rows in any order
    return PatternCounts(
        pd.DataFrame(x[order].astype(np.uint8), columns=list(features)),
        None if y is None else y[order],
        found["count"].to_numpy()[order].astype(np.float64),
    )


# --- what the columns hold ---


def feature_names(
    types: dict[str, Any], target: str | None, features: Sequence[str] | None
) -> list[str]:
    """The columns to use, which must be there and hold numbers or booleans."""
    columns = list(types)
    if target is not None and target not in columns:
        raise unknown_column(target, columns, "target")
    names = [name for name in columns if name != target] if features is None else list(features)
    for name in names:
        if name not in types:
            raise unknown_column(name, columns, "feature")
    check_columns(names)
    if target in names:
        raise InputError(f"{target!r} is the target; it cannot be a feature.")
    if not names:
        raise InputError("no feature is left: the table has no column besides the target.")
    narwhals = load_narwhals()
    odd = [n for n in names if not (types[n].is_numeric() or types[n] == narwhals.Boolean)]
    if odd:
        found = listed([f"{name!r} ({types[name]})" for name in odd])
        raise InputError(
            f"features must be numbers or booleans, but are not: {found}. Name the others with "
            "features=[...]; or make 0/1 features of the whole table with "
            "stablepred.data.TableEncoder."
        )
    return names


def value_ranges(
    frame: Any, types: dict[str, Any], names: list[str], target: str | None
) -> dict[str, Range]:
    """The range of each feature; missing and infinite values are errors."""
    nw = load_narwhals()
    wanted = [nw.len().alias("rows")]
    for j, name in enumerate(names):
        wanted += [number(name).min().alias(f"low{j}"), number(name).max().alias(f"high{j}")]
    checked = names if target is None else [*names, target]
    for j, name in enumerate(checked):
        missing = nw.col(name).is_null()
        if types[name].is_float():
            missing = missing | nw.col(name).is_nan()
        wanted.append(missing.cast(nw.Int64).sum().alias(f"missing{j}"))
    found = one_row(frame.select(*wanted))
    if not found["rows"]:
        raise InputError("the table has no rows.")
    missing_rows = {name: int(found[f"missing{j}"]) for j, name in enumerate(checked)}
    some = [f"{name!r} ({in_rows(rows)})" for name, rows in missing_rows.items() if rows]
    if some:
        raise InputError(
            f"missing values in {listed(some)}. Fill them in or remove such rows; or use "
            "stablepred.data.TableEncoder, which makes a feature 'is missing' of them."
        )
    ranges = {
        name: (float(found[f"low{j}"]), float(found[f"high{j}"])) for j, name in enumerate(names)
    }
    infinite = [name for name, ends in ranges.items() if not np.isfinite(ends).all()]
    if infinite:
        raise InputError(
            f"infinite values in {listed(infinite)}. Replace them, or remove such rows."
        )
    return ranges


def number(name: str) -> Any:
    """A column as ``fit`` takes it: in double precision."""
    nw = load_narwhals()
    return nw.col(name).cast(nw.Float64)


def one_row(frame: Any) -> dict[str, Any]:
    """The only row of a frame, by column."""
    return {name: values[0] for name, values in frame.collect().to_dict(as_series=False).items()}


def two_values(frame: Any, target: str) -> list[Any]:
    """The values of an outcome, which must be two."""
    values = frame.select(target).unique().head(SHOWN + 1).collect()[target].to_list()
    if len(values) == 2:
        return list(values)
    shown = ", ".join(repr(value) for value in sorted(values)[:SHOWN])
    few = "only one value" if len(values) == 1 else "more"
    more = ", ..." if len(values) > SHOWN else ""
    raise InputError(
        f"target {target!r} must have two values, but has {few}: {shown}{more}. "
        + ("Check the column." if len(values) == 1 else "Recode it into two values first.")
    )


# --- where columns are cut ---


def _cuts(
    ranges: dict[str, Range], several: dict[str, float], frame: Any, dichotomize: str | None
) -> dict[str, Cut]:
    """Where each column is cut, by the rules of `Dichotomizer`."""
    cuts = {}
    for name, (low, high) in ranges.items():
        if dichotomize is None and (name in several or not {low, high} <= {0.0, 1.0}):
            raise InputError(
                f"feature {name!r} must be 0/1 to be balanced, but has values from {low:g} to "
                f"{high:g}. Set dichotomize='mean'."
            )
        if dichotomize is None or name not in several:
            cuts[name] = (0.5 if dichotomize is None else halfway(low, high), 0.0)
        elif dichotomize == "mean":
            cuts[name] = (several[name], tolerance_of_mean(max(abs(low), abs(high))))
        else:
            cuts[name] = _cut_at_median(frame, name)
    return cuts


def means_of_several_values(
    frame: Any, types: dict[str, Any], ranges: dict[str, Range]
) -> dict[str, float]:
    """The means of those columns that have values between their least and their largest one."""
    doubtful = {
        name: ends
        for name, ends in ranges.items()
        if ends[0] < ends[1]
        and (ends[1] - ends[0] != 1 or types[name].is_float() or types[name].is_decimal())
    }
    if not doubtful:
        return {}
    nw = load_narwhals()
    wanted, exponents = [], []
    for j, (name, (low, high)) in enumerate(doubtful.items()):
        value = number(name)
        exponents.append(max(-1000, int(np.frexp(max(abs(low), abs(high)))[1])))
        inside = ((value > low) & (value < high)).cast(nw.Int64).sum()
        # Sums of very large numbers leave the range of doubles.
        mean = (value * float(np.ldexp(1.0, -exponents[j]))).mean()
        wanted += [inside.alias(f"inside{j}"), mean.alias(f"mean{j}")]
    found = one_row(frame.select(*wanted))
    return {
        name: float(np.ldexp(float(found[f"mean{j}"]), exponents[j]))
        for j, name in enumerate(doubtful)
        if found[f"inside{j}"]
    }


def _cut_at_median(frame: Any, name: str) -> Cut:
    """The median by the counts of the distinct values; engines differ in theirs."""
    nw = load_narwhals()
    values = frame.select(number(name).alias("value"))
    found = values.group_by("value").agg(nw.len().alias("count")).collect()
    distinct, count = found["value"].to_numpy(), found["count"].to_numpy()
    cutter = Dichotomizer(strategy="median").fit(distinct[:, None], sample_weight=count)
    return float(cutter.thresholds_[0]), float(cutter.tolerances_[0])
