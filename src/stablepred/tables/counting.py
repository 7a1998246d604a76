"""The distinct rows of a table with their counts, which is all that fits need.

One narwhals expression counts them where the table lives: in DuckDB, Dask, Spark or memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._text import count_noun
from stablepred.exceptions import InputError
from stablepred.preprocessing import Dichotomizer, halfway, tolerance_of_mean
from stablepred.tables.arrow import nw
from stablepred.tables.engines import open_frame
from stablepred.tables.messages import check_columns, check_known, listed, not_two_values

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
        How many rows of the table are equal to this one.
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
        Where columns are cut into 0/1, as by `Dichotomizer`; None keeps them. For the median, the
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
        columns = _inspect_columns(frame, target, features)
        outcome = None
        if target is not None:
            outcome = nw.col(target)
            distinct = frame.select(target).unique().head(SHOWN + 1).collect()[target].to_list()
            if len(distinct) != 2:
                shown = [*map(repr, sorted(distinct)[:SHOWN]), *["..."] * (len(distinct) > SHOWN)]
                few = "only one value" if len(distinct) == 1 else "more"
                raise not_two_values(target, few, shown)
        if dichotomize is None:
            values = {name: _number(name) + 0.0 for name in columns}  # -0.0 is 0.0
            return PatternCounts(*_count_rows(frame, values, outcome))
        cuts = {name: _cut(frame, name, found, dichotomize) for name, found in columns.items()}
        bits = {name: _number(name) > sum(cut) for name, cut in cuts.items()}
        cutter = Dichotomizer(strategy=dichotomize)
        cutter.thresholds_, cutter.tolerances_ = np.array(list(cuts.values())).T
        cutter.n_features_in_ = len(cuts)
        return PatternCounts(*_count_rows(frame, bits, outcome), cutter)


def _count_rows(frame: Any, features: dict[str, Any], outcome: Any | None) -> tuple[Any, Any, Any]:
    """Count equal rows of expressions, and of the outcome if there is one: bits, outcome, counts.

    Columns of 0/1 become single bytes.
    """
    keys = {f"x{j}": feature for j, feature in enumerate(features.values())}
    keys |= {} if outcome is None else {"y": outcome}
    rows = frame.select(*(key.alias(name) for name, key in keys.items()))
    # All that is asked of an engine: cut the columns, and count equal rows.
    found = rows.group_by(*keys).agg(nw.len().alias("count")).collect()
    x = pd.DataFrame({name: found[f"x{j}"].to_numpy() for j, name in enumerate(features)})
    is_bit = ((x == 0) | (x == 1)).all()
    x = x.astype(dict.fromkeys(x.columns[is_bit], np.uint8))
    y = None if outcome is None else found["y"].to_numpy()
    ranks = [] if y is None else [np.unique(y, return_inverse=True)[1]]
    order = np.lexsort([*ranks, *x.to_numpy().T[::-1]])  # engines give the rows in any order
    count = found["count"].to_numpy()[order].astype(np.float64)
    return x.iloc[order].reset_index(drop=True), None if y is None else y[order], count


# --- what the columns hold ---


class Values(NamedTuple):
    """What a column holds: its ends, and its mean if there are values between these."""

    low: float
    high: float
    largest: float  # absolute value
    mean: float | None = None


def _inspect_columns(
    frame: Any, target: str | None, features: Sequence[str] | None
) -> dict[str, Values]:
    """What each feature holds; other types, missing and infinite values are errors."""
    types = dict(frame.collect_schema())
    names = [name for name in types if name != target] if features is None else list(features)
    checked = names if target is None else [target, *names]
    for name in checked:
        check_known(name, types, "target" if name == target else "feature")
    check_columns(names)
    if target in names:
        raise InputError(f"{target!r} is the target; it cannot be a feature.")
    if not names:
        raise InputError("no feature is left: the table has no column besides the target.")
    odd = [n for n in names if not (types[n].is_numeric() or types[n] == nw.Boolean)]
    if odd:
        found = listed([f"{name!r} ({types[name]})" for name in odd])
        raise InputError(
            f"features must be numbers or booleans, but are not: {found}. Name the others with "
            "features=[...]; or make 0/1 features of the whole table with "
            "stablepred.data.TableEncoder."
        )
    wanted = [nw.len().alias("rows")]
    for j, name in enumerate(checked):
        missing = nw.col(name).is_null()
        if types[name].is_float():
            missing = missing | nw.col(name).is_nan()
        wanted.append(missing.cast(nw.Int64).sum().alias(f"missing{j}"))
    for j, name in enumerate(names):
        wanted += [_number(name).min().alias(f"low{j}"), _number(name).max().alias(f"high{j}")]
    found = frame.select(*wanted).collect().rows(named=True)[0]
    if not found["rows"]:
        raise InputError("the table has no rows.")
    empty = {name: int(found[f"missing{j}"]) for j, name in enumerate(checked)}
    if any(empty.values()):
        shown = [f"{name!r} ({count_noun(rows, 'row')})" for name, rows in empty.items() if rows]
        raise InputError(
            f"missing values in {listed(shown)}. Fill them in or remove such rows; or use "
            "stablepred.data.TableEncoder, which makes a feature 'is missing' of them."
        )
    ends = {n: (float(found[f"low{j}"]), float(found[f"high{j}"])) for j, n in enumerate(names)}
    infinite = [name for name in names if not np.isfinite(ends[name]).all()]
    if infinite:
        raise InputError(
            f"infinite values in {listed(infinite)}. Replace them, or remove such rows."
        )
    columns = {n: Values(low, high, max(abs(low), abs(high))) for n, (low, high) in ends.items()}
    return columns | _find_means(frame, columns)


def _find_means(frame: Any, columns: dict[str, Values]) -> dict[str, Values]:
    """Those columns that have values between their ends, with their means."""
    wanted: list[Any] = []
    # Sums of very large numbers leave the range of doubles.
    exponents = {
        name: max(-1000, int(np.frexp(ends.largest)[1]))
        for name, ends in columns.items()
        if ends.low < ends.high
    }
    for j, (name, exponent) in enumerate(exponents.items()):
        value, (low, high, *_) = _number(name), columns[name]
        inside = ((value > low) & (value < high)).cast(nw.Int64).sum()
        mean = (value * float(np.ldexp(1.0, -exponent))).mean()
        wanted += [inside.alias(f"inside{j}"), mean.alias(f"mean{j}")]
    found = frame.select(*wanted).collect().rows(named=True)[0] if wanted else {}
    return {
        name: columns[name]._replace(mean=float(np.ldexp(float(found[f"mean{j}"]), exponent)))
        for j, (name, exponent) in enumerate(exponents.items())
        if found[f"inside{j}"]
    }


def _number(name: str) -> Any:
    """A column as ``fit`` takes it: in double precision."""
    return nw.col(name).cast(nw.Float64)


def _cut(frame: Any, name: str, found: Values, dichotomize: str) -> tuple[float, float]:
    """Where a column is cut, and by how much a value must lie above, as by `Dichotomizer`."""
    if found.mean is None:
        return halfway(found.low, found.high), 0.0
    if dichotomize == "mean":
        return found.mean, tolerance_of_mean(found.largest)
    # The median by the counts of the distinct values; engines differ in theirs.
    values = frame.select(_number(name).alias("value"))
    rows = values.group_by("value").agg(nw.len().alias("count")).collect()
    cutter = Dichotomizer(strategy="median")
    cutter.fit(rows["value"].to_numpy()[:, None], sample_weight=rows["count"].to_numpy())
    return float(cutter.thresholds_[0]), float(cutter.tolerances_[0])
