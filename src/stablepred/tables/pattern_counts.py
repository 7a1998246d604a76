"""The distinct rows of a table with their counts, counted where the table lives.

Fits need the distinct 0/1 rows and how often each occurs, nothing else. One narwhals expression
finds them: DuckDB runs it on files, Dask and Spark on their own frames, pandas, polars and Arrow in
memory. The rows themselves never come here, so a table may be far larger than memory.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.exceptions import InputError
from stablepred.preprocessing import Dichotomizer, halfway, tolerance_of_mean
from stablepred.tables.columns import in_rows
from stablepred.tables.files import CsvFile, ParquetFile, TableFile, open_table
from stablepred.tables.table_encoder import check_columns, listed, unknown_column

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
    dichotomizer: Dichotomizer | None


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
        A Parquet or CSV file, or a glob of several (``"rows-*.parquet"``), read by DuckDB; or a
        DuckDB relation, a frame of Dask or PySpark, of pandas, polars or pyarrow.
    target : str, optional
        The outcome column, with two values.
    features : sequence of str, optional
        The columns to use: numbers, or true and false, none missing. All but the target if not
        given.
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
    with opened(table) as frame:
        types = dict(frame.collect_schema())
        names = feature_names(types, target, features)
        ranges = value_ranges(frame, types, names, target)
        if target is not None:
            two_values(frame, target)
        cuts = _cuts(ranges, means_of_several_values(frame, types, ranges), frame, dichotomize)
        return _counted(frame, target, cuts, dichotomize)


# --- opening ---


@contextmanager
def opened(table: Any) -> Iterator[Any]:
    """The table as a lazy frame of narwhals."""
    narwhals = load_narwhals()
    if isinstance(table, str | os.PathLike):
        with _duckdb_relation(os.fspath(table)) as relation:
            yield narwhals.from_native(relation).lazy()
        return
    try:
        frame = narwhals.from_native(table).lazy()
    except TypeError as error:
        raise InputError(
            "a table must be the path of a Parquet or CSV file, or a frame of pandas, polars, "
            f"pyarrow, DuckDB, Dask or PySpark, but is {type(table).__name__}."
        ) from error
    yield frame


def load_narwhals() -> Any:
    """The module, which comes with an extra."""
    try:
        import narwhals
    except ImportError as error:
        raise InputError(
            "counting the rows of a table needs narwhals, which is not installed: "
            "pip install 'stablepred[tables]'."
        ) from error
    return narwhals


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise InputError(
            "counting the rows of a file needs DuckDB, which is not installed: "
            "pip install 'stablepred[tables]'."
        ) from error
    return duckdb


@contextmanager
def _duckdb_relation(path: str) -> Iterator[Any]:
    """The rows of one or several files as DuckDB sees them."""
    duckdb = _duckdb()
    files = [path] if os.path.exists(path) else sorted(glob(path)) or [path]
    first = open_table(files[0])  # knows what is wrong with a file that cannot be used
    _check_case(first)
    with tempfile.TemporaryDirectory() as folder:
        # Nothing is fetched from the network, and what does not fit in memory goes to the folder.
        settings = {"autoinstall_known_extensions": "false", "temp_directory": folder}
        with duckdb.connect(config=settings) as connection:
            connection.execute("SET enable_progress_bar = false")  # it would be printed to a file
            try:
                yield _relation(connection, first, files)
            except duckdb.Error as error:
                raise InputError(f"{path} cannot be counted: {error}") from error


def _relation(connection: Any, first: TableFile, files: list[str]) -> Any:
    if isinstance(first, ParquetFile):
        relation = connection.read_parquet(files)
        return relation.select(*(_quoted(name) for name in first.stored))
    assert isinstance(first, CsvFile)
    if first.encoding == "cp1252":
        raise InputError(
            f"{first.path} is encoded as cp1252, which DuckDB does not read. Save it as UTF-8."
        )

    def read(texts: list[str]) -> Any:
        return connection.read_csv(
            files,
            header=True,
            sep=first.separator,
            encoding=first.encoding,
            compression="gzip" if first.packed else "none",
            sample_size=-1,  # the type of a column is that of all its values
            auto_type_candidates=["BOOLEAN", "BIGINT", "DOUBLE", "VARCHAR"],
            dtype=dict.fromkeys(texts, "VARCHAR"),
        )

    typed = read([])
    words = _other_words(typed, read)
    return read(words) if words else typed


def _other_words(typed: Any, read: Callable[[list[str]], Any]) -> list[str]:
    """Columns that DuckDB takes for true and false, but that hold other words, such as yes and no.

    pandas reads these as text, and so the classes of an outcome keep their names.
    """
    truths = [n for n, kind in zip(typed.columns, typed.types, strict=True) if kind == "BOOLEAN"]
    if not truths:
        return []
    tests = [f"bool_and(lower({_quoted(name)}) in ('true', 'false'))" for name in truths]
    (plain,) = read(truths).aggregate(", ".join(tests)).fetchall()
    return [name for name, is_plain in zip(truths, plain, strict=True) if not is_plain]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _check_case(file: TableFile) -> None:
    lower = [name.lower() for name in file.columns]
    alike = [name for name in file.columns if lower.count(name.lower()) > 1]
    if alike:
        raise InputError(
            f"{file.path}: the names of {listed(alike)} differ in upper and lower case only, which "
            "DuckDB takes as the same. Rename one of them."
        )


# --- what the columns hold ---


def feature_names(
    types: dict[str, Any], target: str | None, features: Sequence[str] | None
) -> list[str]:
    """The columns to use, which must be there and hold numbers or truth values."""
    columns = list(types)
    if target is not None and target not in columns:
        raise unknown_column(target, columns, "target")
    names = [name for name in columns if name != target] if features is None else list(features)
    for name in names:
        if name not in columns:
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
            f"features must be numbers, or true and false, but are not: {found}. Name the others "
            "with features=[...]; or make 0/1 features of the whole table with 'stablepred fit' or "
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
    _check_complete({name: int(found[f"missing{j}"]) for j, name in enumerate(checked)})
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


def _check_complete(missing: dict[str, int]) -> None:
    found = [f"{name!r} ({in_rows(rows)})" for name, rows in missing.items() if rows]
    if found:
        raise InputError(
            f"missing values in {listed(found)}. Fill them in or remove such rows; or use "
            "'stablepred fit', which makes a feature 'is missing' of them."
        )


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
    if dichotomize is None:
        _check_binary(ranges, several)
        return dict.fromkeys(ranges, (0.5, 0.0))
    cuts = {}
    for name, (low, high) in ranges.items():
        if name not in several:
            cuts[name] = (halfway(low, high), 0.0)
        elif dichotomize == "mean":
            cuts[name] = (several[name], tolerance_of_mean(max(abs(low), abs(high))))
        else:
            cuts[name] = _cut_at_median(frame, name)
    return cuts


def _is_whole(type_: Any) -> bool:
    return not (type_.is_float() or type_.is_decimal())


def means_of_several_values(
    frame: Any, types: dict[str, Any], ranges: dict[str, Range]
) -> dict[str, float]:
    """The means of those columns that have values between their least and their largest one."""
    doubtful = {
        name: (low, high)
        for name, (low, high) in ranges.items()
        if low < high and not (high - low == 1 and _is_whole(types[name]))
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


def _check_binary(ranges: dict[str, Range], several: dict[str, float]) -> None:
    for name, (low, high) in ranges.items():
        if name in several or not {low, high} <= {0.0, 1.0}:
            raise InputError(
                f"feature {name!r} must be 0/1 to be balanced, but has values from {low:g} to "
                f"{high:g}. Set dichotomize='mean'."
            )


def _cut_at_median(frame: Any, name: str) -> Cut:
    """The median by the counts of the distinct values; engines differ in theirs."""
    nw = load_narwhals()
    values = frame.select(number(name).alias("value"))
    found = values.group_by("value").agg(nw.len().alias("count")).collect()
    distinct, count = found["value"].to_numpy(), found["count"].to_numpy()
    cutter = Dichotomizer(strategy="median").fit(distinct[:, None], sample_weight=count)
    return float(cutter.thresholds_[0]), float(cutter.tolerances_[0])


# --- counting ---


def _counted(
    frame: Any, target: str | None, cuts: dict[str, Cut], dichotomize: str | None
) -> PatternCounts:
    nw = load_narwhals()
    bits = {f"x{j}": number(name) > sum(cut) for j, (name, cut) in enumerate(cuts.items())}
    outcome = {} if target is None else {"y": nw.col(target)}
    keys = bits | outcome
    # All that is asked of an engine: cut the columns, and count equal rows.
    found = frame.select(**keys).group_by(*keys).agg(nw.len().alias("count")).collect()
    x = np.column_stack([found[key].to_numpy() for key in bits]).astype(np.uint8)
    y = None if target is None else found["y"].to_numpy()
    places = [] if y is None else [np.unique(y, return_inverse=True)[1]]
    order = np.lexsort([*places, *x.T[::-1]])  # engines give the rows in any order
    return PatternCounts(
        pd.DataFrame(x[order], columns=list(cuts)),
        None if y is None else y[order],
        found["count"].to_numpy()[order].astype(np.float64),
        None if dichotomize is None else _dichotomizer(dichotomize, list(cuts.values())),
    )


def _dichotomizer(strategy: str, cuts: list[Cut]) -> Dichotomizer:
    cutter = Dichotomizer(strategy=strategy)
    cutter.thresholds_, cutter.tolerances_ = np.array(cuts).T
    cutter.n_features_in_ = len(cuts)
    return cutter
