"""Tables as lazy frames, wherever their rows are: files in DuckDB, frames in their own engines."""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from glob import escape
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
from stablepred.tables.types import BOOLEANS, match, to_text


@contextmanager
def open_frame(table: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The table as a lazy frame of narwhals; of a CSV file no other columns need be read."""
    if isinstance(table, str | os.PathLike):
        with _open_file(os.fspath(table), columns) as rows:
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
def _open_file(path: str, columns: Sequence[str] | None) -> Iterator[Any]:
    """The rows of a file: Parquet by DuckDB; CSV in memory, typed as where rows are loaded."""
    file = open_table(path)
    if not isinstance(file, ParquetFile):
        wanted = [name for name in file.columns if columns is None or name in columns]
        # If none is there, the first has the number of rows.
        text = file.read(wanted or file.columns[:1])
        yield pd.DataFrame({name: _type(text[name]) for name in text})
        return
    lower = [name.lower() for name in file.columns]
    if alike := [name for name in file.columns if lower.count(name.lower()) > 1]:
        raise InputError(
            f"{path}: the names of {listed(alike)} differ in upper and lower case only, which "
            "DuckDB takes as the same. Rename one of them."
        )
    duckdb = require("duckdb", "counting the rows of a file")
    stored = zip(file.stored, file.columns, strict=True)
    select = [f"{_quote(name)} AS {_quote(trimmed)}" for name, trimmed in stored]
    # Nothing is fetched from the network, and what does not fit in memory goes to the folder.
    with tempfile.TemporaryDirectory() as folder:
        settings = {"autoinstall_known_extensions": "false", "temp_directory": folder}
        with duckdb.connect(config=settings) as connection:
            connection.execute("SET enable_progress_bar = false")  # it would be printed to a file
            try:
                # Its very name: DuckDB would take it for a pattern, and those of folders for data.
                literal = escape(os.path.abspath(file.source))
                rows = connection.read_parquet(literal, hive_partitioning=False)
                yield rows.project(", ".join(select))
            except duckdb.Error as error:
                raise InputError(f"{path} cannot be counted: {error}") from error


def _type(column: pd.Series) -> Any:
    """Strings as integers, fractions or booleans if all that are not missing are such."""
    text = to_text(column)
    strings, valid = text.dictionary_decode(), np.asarray(text.is_valid())
    if valid.all() and match(text, r"^[+-]?(0|[1-9]\d{0,17})$").all():
        return pc.cast(pc.utf8_ltrim(strings, "+"), pa.int64()).to_numpy()
    if valid.all() and match(text, f"^(?i:{'|'.join(BOOLEANS)})$").all():
        return pc.cast(strings, pa.bool_()).to_numpy(zero_copy_only=False)
    try:
        style, numbers, notes = number_style(str(column.name), text)
    except InputError as error:
        raise InputError(re.sub(r"drop=\[.*?\]", "features=[...]", str(error))) from None
    if not style or numbers.strays.any():
        return column
    warn_of(notes)
    return numbers.values


def _quote(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'
