"""Tables where their rows are: counted and scored in DuckDB, Dask, Spark or memory.

Fits need only the distinct rows of a table with their counts. One narwhals expression counts them.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from glob import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._extras import nw, require
from stablepred._text import count_noun
from stablepred.exceptions import InputError
from stablepred.preprocessing import Dichotomizer, halfway, tolerance_of_mean
from stablepred.tables import messages, types
from stablepred.tables.columns import LARGEST
from stablepred.tables.files import ParquetFile, open_table
from stablepred.tables.learning import number_style

SHOWN = 5  # values in a message


@dataclass(frozen=True, eq=False)
class PatternCounts:
    """Distinct rows of features and outcome, sorted, and how often each occurs.

    Attributes
    ----------
    X : DataFrame of shape (n_patterns, n_features)
        Features: 0/1, or numbers where these were not cut.
    y : ndarray of shape (n_patterns,) or None
        The outcome, as it is in the table, if a target was named.
    count : ndarray of shape (n_patterns,)
        How many rows of the table are equal to this one.
    dichotomizer : Dichotomizer or None
        Where the columns were cut, if they were.
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
    table : path, frame or PatternCounts
        A Parquet file, counted by DuckDB, or a CSV file; or a frame of DuckDB, Dask, PySpark,
        pandas, polars or pyarrow.
    target : str, optional
        The outcome column, with two values.
    features : sequence of str, optional
        The columns to use, of numbers or booleans, none missing; all but the target by default.
    dichotomize : {None, "mean", "median"}, default=None
        Where columns are cut into 0/1. For the median, the distinct values of each are fetched.

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
                raise messages.not_two_values(target, few, ", ".join(shown))
        if dichotomize is None:
            values = [_number(name) + 0.0 for name in ends]  # -0.0 is 0.0
            return PatternCounts(*_count_rows(frame, [*ends], values, target))
        cutter = Dichotomizer(strategy=dichotomize)
        find_cuts = _find_means if dichotomize == "mean" else _find_medians
        cutter.thresholds_, cutter.tolerances_ = np.array(find_cuts(frame, ends)).T
        cutter.n_features_in_ = len(ends)
        cuts = zip(ends, cutter.thresholds_ + cutter.tolerances_, strict=True)
        bits = [_number(name) > float(cut) for name, cut in cuts]
        return PatternCounts(*_count_rows(frame, [*ends], bits, target), cutter)


def _count_rows(
    frame: Any, names: list[str], features: list[Any], target: str | None
) -> tuple[pd.DataFrame, Any, NDArray[np.float64]]:
    """Count equal rows: features, columns of 0/1 as single bytes; outcome, if there is one; counts.

    All that is asked of an engine is to cut the columns, and to count equal rows.
    """
    keys = {f"x{j}": feature for j, feature in enumerate(features)}
    keys |= {} if target is None else {"y": nw.col(target)}
    rows = frame.select(*(key.alias(name) for name, key in keys.items()))
    found = rows.group_by(*keys).agg(nw.len().alias("count")).collect()
    x = pd.DataFrame({name: found[f"x{j}"].to_numpy() for j, name in enumerate(names)})
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
    kinds = dict(frame.collect_schema())
    names = [name for name in kinds if name != target] if features is None else list(features)
    checked = names if target is None else [target, *names]
    for name in checked:
        messages.check_known(name, kinds, "target" if name == target else "feature")
    messages.check_columns(names)
    if target in names:
        raise InputError(f"{target!r} is the target; it cannot be a feature.")
    if not names:
        raise InputError("no feature is left: the table has no column besides the target.")
    odd = [n for n in names if not (kinds[n].is_numeric() or kinds[n] == nw.Boolean)]
    if odd:
        found = messages.listed([f"{name!r} ({kinds[name]})" for name in odd])
        raise InputError(
            f"features must be numbers or booleans, but are not: {found}. Name the others with "
            "features=[...]; or encode the table with stablepred.data.TableEncoder."
        )
    wanted = {"rows": nw.len()}
    for j, name in enumerate(checked):
        column = nw.col(name)
        missing = column.is_null() | column.is_nan() if kinds[name].is_float() else column.is_null()
        wanted[f"missing{j}"] = missing.cast(nw.Int64).sum()
    for j, name in enumerate(names):
        wanted |= {f"low{j}": _number(name).min(), f"high{j}": _number(name).max()}
    facts = _ask(frame, wanted)
    if not facts["rows"]:
        raise InputError("the table has no rows.")
    empty = [(name, int(facts[f"missing{j}"])) for j, name in enumerate(checked)]
    if shown := [f"{name!r} ({count_noun(rows, 'row')})" for name, rows in empty if rows]:
        raise InputError(
            f"missing values in {messages.listed(shown)}. Fill them in or remove such rows; or use "
            "stablepred.data.TableEncoder, which makes a feature 'is missing' of them."
        )
    ends = {n: (float(facts[f"low{j}"]), float(facts[f"high{j}"])) for j, n in enumerate(names)}
    if large := [name for name, pair in ends.items() if not np.abs(pair).max() <= LARGEST]:
        raise InputError(
            f"infinite values, or too large ones, in {messages.listed(large)}. Replace them, or "
            "remove such rows."
        )
    return ends


def _find_means(frame: Any, ends: Ends) -> Cuts:
    """Cut at the mean, or between the ends where there is nothing else, as by `Dichotomizer`."""
    wanted: dict[str, Any] = {}
    for j, (name, (low, high)) in enumerate(ends.items()):
        inside = (_number(name) > low) & (_number(name) < high)
        wanted |= {f"inside{j}": inside.cast(nw.Int64).sum(), f"mean{j}": _number(name).mean()}
    found = _ask(frame, wanted)
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
        values, _, count = _count_rows(frame, [name], [_number(name)], None)
        cutter = Dichotomizer(strategy="median").fit(values.to_numpy(), sample_weight=count)
        cuts.append((float(cutter.thresholds_[0]), float(cutter.tolerances_[0])))
    return cuts


def _ask(frame: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    found = frame.select(*(value.alias(name) for name, value in wanted.items())).collect()
    return dict(found.rows(named=True)[0])


def _number(name: str) -> Any:
    """A column as ``fit`` takes it: in double precision."""
    return nw.col(name).cast(nw.Float64)


# --- files ---


@contextmanager
def open_frame(table: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The table as a lazy frame of narwhals; of a CSV file no other columns need be read."""
    if isinstance(table, str | os.PathLike):
        with _open_file(os.fspath(table), columns) as frame:
            yield frame
        return
    try:
        frame = nw.from_native(table).lazy()
    except TypeError as error:
        raise InputError(
            "a table must be the path of a Parquet or CSV file, or a frame of pandas, polars, "
            f"pyarrow, DuckDB, Dask or PySpark, but is {type(table).__name__}."
        ) from error
    yield frame


@contextmanager
def _open_file(path: str, columns: Sequence[str] | None) -> Iterator[Any]:
    """The rows of a file: Parquet by DuckDB; CSV in memory, typed as where rows are loaded."""
    file = open_table(path)
    if not isinstance(file, ParquetFile):
        wanted = [name for name in file.columns if columns is None or name in columns]
        # If none is there, the first has the number of rows.
        text = file.read(wanted or file.columns[:1])
        yield nw.from_native(pd.DataFrame({name: _type(text[name]) for name in text})).lazy()
        return
    lower = [name.lower() for name in file.columns]
    if alike := [name for name in file.columns if lower.count(name.lower()) > 1]:
        raise InputError(
            f"{path}: the names of {messages.listed(alike)} differ in upper and lower case only, "
            "which DuckDB takes as the same. Rename one of them."
        )
    duckdb = require("duckdb", "counting the rows of a file")
    names = zip(file.stored, file.columns, strict=True)
    # Nothing is fetched from the network, and what does not fit in memory goes to the folder.
    with tempfile.TemporaryDirectory() as folder:
        settings = {"autoinstall_known_extensions": "false", "temp_directory": folder}
        with duckdb.connect(config=settings) as connection:
            connection.execute("SET enable_progress_bar = false")  # it would be printed to a file
            try:
                # Its very name: DuckDB would take it for a pattern, and those of folders for data.
                literal = escape(os.path.abspath(file.source))
                rows = connection.read_parquet(literal, hive_partitioning=False)
                yield nw.from_native(rows).lazy().select(*(nw.col(s).alias(n) for s, n in names))
            except duckdb.Error as error:
                raise InputError(f"{path} cannot be counted: {error}") from error


def _type(column: pd.Series) -> Any:
    """Strings as integers, fractions or booleans if all that are not missing are such."""
    text = types.to_text(column)
    if not text.missing.any() and {value.lower() for value in text.values} <= types.BOOLEANS.keys():
        return types.parse_numbers(text, "boolean").values.astype(bool)
    try:
        style, numbers, notes = number_style(str(column.name), text)
    except InputError as error:
        raise InputError(re.sub(r"drop=\[.*?\]", "features=[...]", str(error))) from None
    if not style or numbers.strays.any():
        return column
    messages.warn_of(notes)
    exact = style == "integer" and np.abs(numbers.values).max() < 2.0**53  # not if any is missing
    return numbers.values.astype(np.int64) if exact else numbers.values


def predict_table(model: Any, table: Any) -> Any:
    """Score the rows of a Dask or Spark frame where they are, piece by piece.

    Parameters
    ----------
    model : fitted classifier of two classes, regressor or TableModel
        With Spark, this library must be installed where the rows are.
    table : frame of Dask, PySpark or pandas
        Other columns than the model's are kept.

    Returns
    -------
    frame of the same kind, lazy where ``table`` is
        With one more column, the ``probability`` of the second class or the ``prediction``.

    Examples
    --------
    >>> import pandas as pd
    >>> from stablepred import GBRClassifier
    >>> from stablepred.data import SyntheticWorld, predict_table
    >>> train = SyntheticWorld("s_indep_v").sample(200, bias_rate=0.75, random_state=0)
    >>> model = GBRClassifier(random_state=0).fit(train.X, train.y)
    >>> list(predict_table(model, train.X.assign(customer=1)).columns[-2:])
    ['customer', 'probability']
    """
    column = "probability" if hasattr(model, "predict_proba") else "prediction"
    used = getattr(model, "feature_names_in_", None)
    if column in table.columns:
        raise InputError(f"the table has a column {column!r} already. Rename or drop it.")

    def score(piece: pd.DataFrame) -> pd.DataFrame:
        rows = piece if used is None else piece[list(used)]
        if not len(piece):  # of a partition, or of what Dask tries out
            found = np.empty(0)
        elif column == "prediction":
            found = np.asarray(model.predict(rows), dtype=float)
        else:
            found = model.predict_proba(rows)[:, 1]
        return piece.assign(**{column: found})

    if isinstance(table, pd.DataFrame):
        return score(table)
    if hasattr(table, "mapInPandas"):
        schema = deepcopy(table.schema).add(column, "double")
        return table.mapInPandas(lambda pieces: map(score, pieces), schema)
    if hasattr(table, "map_partitions"):
        return table.map_partitions(score, meta=score(table._meta))
    raise InputError(
        f"predict_table takes frames of Dask, PySpark and pandas, not {type(table).__name__}. "
        "Give other rows to model.predict_proba."
    )
