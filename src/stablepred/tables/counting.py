"""The distinct rows of a table with their counts, which is all that fits need.

One narwhals expression counts them where the table lives: in DuckDB, Dask, Spark or memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._text import count_noun
from stablepred.exceptions import InputError
from stablepred.preprocessing import Dichotomizer, halfway, tolerance_of_mean
from stablepred.tables.arrow import nw
from stablepred.tables.columns import LARGEST
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
        A Parquet file, counted by DuckDB, or a CSV file; or a frame of DuckDB, Dask, PySpark,
        pandas, polars or pyarrow; or `PatternCounts`, as they are.
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
        ends = _find_ends(frame, target, features)
        if target is not None:
            distinct = frame.select(target).unique().head(SHOWN + 1).collect()[target].to_list()
            if len(distinct) != 2:
                shown = [*map(repr, sorted(distinct)[:SHOWN]), *["..."] * (len(distinct) > SHOWN)]
                few = "only one value" if len(distinct) == 1 else "more"
                raise not_two_values(target, few, shown)
        if dichotomize is None:
            values = {name: _number(name) + 0.0 for name in ends}  # -0.0 is 0.0
            return PatternCounts(*_count_rows(frame, values, target))
        cutter = Dichotomizer(strategy=dichotomize)
        find_cuts = _find_means if dichotomize == "mean" else _find_medians
        cutter.thresholds_, cutter.tolerances_ = np.array(find_cuts(frame, ends)).T
        cutter.n_features_in_ = len(ends)
        cuts = zip(ends, cutter.thresholds_ + cutter.tolerances_, strict=True)
        bits = {name: _number(name) > float(cut) for name, cut in cuts}
        return PatternCounts(*_count_rows(frame, bits, target), cutter)


def _count_rows(frame: Any, features: dict[str, Any], target: str | None) -> tuple[Any, Any, Any]:
    """Count equal rows of expressions, and of the target if there is one: bits, outcome, counts.

    Columns of 0/1 become single bytes.
    """
    keys = {f"x{j}": feature for j, feature in enumerate(features.values())}
    keys |= {} if target is None else {"y": nw.col(target)}
    rows = frame.select(*(key.alias(name) for name, key in keys.items()))
    # All that is asked of an engine: cut the columns, and count equal rows.
    found = rows.group_by(*keys).agg(nw.len().alias("count")).collect()
    x = pd.DataFrame({name: found[f"x{j}"].to_numpy() for j, name in enumerate(features)})
    is_bit = ((x == 0) | (x == 1)).all()
    x = x.astype(dict.fromkeys(x.columns[is_bit], np.uint8))
    y = None if target is None else found["y"].to_numpy()
    ranks = [] if y is None else [np.unique(y, return_inverse=True)[1]]
    order = np.lexsort([*ranks, *x.to_numpy().T[::-1]])  # engines give the rows in any order
    count = found["count"].to_numpy()[order].astype(np.float64)
    return x.iloc[order].reset_index(drop=True), None if y is None else y[order], count


# --- what the columns hold ---

Ends = dict[str, tuple[float, float]]  # the smallest and the largest value by column
Cuts = list[tuple[float, float]]  # where each column is cut, and how far above a value must lie


def _find_ends(frame: Any, target: str | None, features: Sequence[str] | None) -> Ends:
    """The ends of each feature; other types, missing and infinite values are errors."""
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
    large = [name for name, pair in ends.items() if not np.abs(pair).max() <= LARGEST]
    if large:
        raise InputError(
            f"infinite values, or too large ones, in {listed(large)}. Replace them, or remove such "
            "rows."
        )
    return ends


def _find_means(frame: Any, ends: Ends) -> Cuts:
    """Cut at the mean, or between the ends where there is nothing else, as by `Dichotomizer`."""
    wanted = []
    for j, (name, (low, high)) in enumerate(ends.items()):
        inside = (_number(name) > low) & (_number(name) < high)
        wanted += [inside.cast(nw.Int64).sum().alias(f"inside{j}")]
        wanted += [_number(name).mean().alias(f"mean{j}")]
    found = frame.select(*wanted).collect().rows(named=True)[0]
    return [
        (float(found[f"mean{j}"]), tolerance_of_mean(max(-low, high)))
        if found[f"inside{j}"]
        else (halfway(low, high), 0.0)
        for j, (low, high) in enumerate(ends.values())
    ]


def _find_medians(frame: Any, ends: Ends) -> Cuts:
    """Cut at the median by the counts of the distinct values; engines differ in theirs."""
    cuts = []
    for name in ends:
        values = frame.select(_number(name).alias("value"))
        rows = values.group_by("value").agg(nw.len().alias("count")).collect()
        cutter = Dichotomizer(strategy="median")
        cutter.fit(rows["value"].to_numpy()[:, None], sample_weight=rows["count"].to_numpy())
        cuts.append((float(cutter.thresholds_[0]), float(cutter.tolerances_[0])))
    return cuts


def _number(name: str) -> Any:
    """A column as ``fit`` takes it: in double precision."""
    return nw.col(name).cast(nw.Float64)
