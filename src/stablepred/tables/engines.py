"""Tables as lazy frames, wherever their rows are: files in DuckDB, frames in their own engines."""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from glob import escape, glob
from typing import Any

import numpy as np
import pandas as pd

from stablepred._extras import require
from stablepred.exceptions import InputError
from stablepred.tables.arrow import nw, pa, pc
from stablepred.tables.encoder import warn_of
from stablepred.tables.files import ParquetFile, open_table
from stablepred.tables.learning import number_style
from stablepred.tables.messages import listed
from stablepred.tables.types import BOOLEANS, NUMBER, match, to_text


@contextmanager
def open_frame(table: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The table as a lazy frame of narwhals; of a CSV file no other columns need be read."""
    if isinstance(table, str | os.PathLike):
        with _read_files(os.fspath(table), columns) as rows:
            yield nw.from_native(rows).lazy()
        return
    try:
        frame = nw.from_native(table).lazy()
    except TypeError as error:
        raise InputError(
            "a table must be the path of a Parquet or CSV file, or a frame of pandas, polars, "
            f"pyarrow, DuckDB, Dask or PySpark, but is {type(table).__name__}."
        ) from error
    yield frame


def predict_table(model: Any, table: Any) -> Any:
    """Score the rows of a Dask or Spark frame where they are, piece by piece.

    Parameters
    ----------
    model : fitted classifier of two classes, regressor or TableModel
        With Spark, this library must be installed where the rows are.
    table : frame of Dask, PySpark or pandas
        Columns that the model does not use are kept, and ignored.

    Returns
    -------
    frame of the same kind, lazy where ``table`` is
        With one more column: the ``probability`` of the second class, or a regressor's
        ``prediction``.

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


@contextmanager
def _read_files(path: str, columns: Sequence[str] | None) -> Iterator[Any]:
    """The file of this name, or else all that the name is a pattern of; Parquet by DuckDB."""
    names = [path] if os.path.exists(path) else sorted(glob(path)) or [path]
    files = [open_table(name) for name in names]
    _check_names(files)
    if not isinstance(files[0], ParquetFile):  # text, typed as it is where rows are loaded
        wanted = [name for name in files[0].columns if columns is None or name in columns]
        wanted = wanted or files[0].columns[:1]  # none is there; the first has the number of rows
        schema = pa.schema([(name, pa.large_string()) for name in wanted])
        batches = [batch for file in files for batch in file.batches(wanted)]
        rows = pa.Table.from_batches(batches, schema)
        yield pa.table({name: _type(name, rows[name].combine_chunks()) for name in wanted})
        return
    duckdb = require("duckdb", "counting the rows of a file")
    stored = zip(files[0].stored, files[0].columns, strict=True)
    select = [f"{_quote(name)} AS {_quote(trimmed)}" for name, trimmed in stored]
    # Nothing is fetched from the network, and what does not fit in memory goes to the folder.
    with tempfile.TemporaryDirectory() as folder:
        settings = {"autoinstall_known_extensions": "false", "temp_directory": folder}
        with duckdb.connect(config=settings) as connection:
            connection.execute("SET enable_progress_bar = false")  # it would be printed to a file
            try:
                # By their names: DuckDB would take these for patterns, and those of folders for
                # data; and would give all files the types of the first, or stack them by position.
                literal = [escape(os.path.abspath(file.source)) for file in files]
                options = {"hive_partitioning": False, "union_by_name": True}
                yield connection.read_parquet(literal, **options).project(", ".join(select))
            except duckdb.Error as error:
                raise InputError(f"{path} cannot be counted: {error}") from error


def _check_names(files: Sequence[Any]) -> None:
    """Raise unless all files have the same columns, under names that DuckDB tells apart."""
    first = files[0]
    lower = [name.lower() for name in first.columns]
    alike = [name for name in first.columns if lower.count(name.lower()) > 1]
    if alike:
        raise InputError(
            f"{first.path}: the names of {listed(alike)} differ in upper and lower case only, "
            "which DuckDB takes as the same. Rename one of them."
        )
    for file in files[1:]:
        if type(file) is not type(first):
            raise InputError(f"{first.path} and {file.path} must be both CSV or both Parquet.")
        missing = [name for name in first.stored if name not in file.stored]
        extra = [name for name in file.stored if name not in first.stored]
        if missing or extra:
            lacks = f"lacks {listed(missing)}" if missing else f"adds {listed(extra)}"
            raise InputError(
                f"{file.path} {lacks}: its columns must be those of {first.path}, in any order."
            )


def _type(name: str, column: Any) -> Any:
    """Strings as integers, fractions or booleans if all that are not missing are such."""
    text = to_text(column)
    strings, valid = text.dictionary_decode(), np.asarray(text.is_valid())
    if match(text, r"^[+-]?(0|[1-9]\d{0,17})$")[valid].all():
        return pc.cast(pc.utf8_ltrim(strings, "+"), pa.int64())
    if match(text, f"^(?i:{'|'.join(BOOLEANS)})$")[valid].all():
        return pc.cast(strings, pa.bool_())
    if not match(text, NUMBER["point"])[valid].all():
        return strings
    try:
        _, numbers, notes = number_style(name, text)
    except InputError as error:
        raise InputError(re.sub(r"drop=\[.*?\]", "features=[...]", str(error))) from None
    warn_of(notes)
    return pa.array(numbers.values, mask=~valid)


def _quote(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'
