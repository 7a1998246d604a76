"""Tables as lazy frames, wherever their rows are: files in DuckDB, frames in their own engines."""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from glob import escape, glob
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stablepred._extras import require
from stablepred._validation import warn_user
from stablepred.exceptions import InputError, TableWarning
from stablepred.tables.arrow import pa, parquet
from stablepred.tables.encoder import note_lines
from stablepred.tables.files import ParquetFile, TableFile, open_table
from stablepred.tables.learning import number_style
from stablepred.tables.messages import listed
from stablepred.tables.types import BOOLEANS, DOUBTFUL, LEADING_ZERO, NUMBER, match, to_text

# What all values of a column must look like to be of a type.
TYPES = {
    "BIGINT": r"^[+-]?(0|[1-9]\d{0,17})$",
    "DOUBLE": NUMBER["point"],
    "BOOLEAN": f"^(?i:{'|'.join(BOOLEANS)})$",
}


@contextmanager
def open_frame(table: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The table as a lazy frame of narwhals; of a CSV file no other columns need be read."""
    nw = load_narwhals()
    if isinstance(table, str | os.PathLike | TableFile):
        with _duckdb_relation(table, columns) as relation:
            yield nw.from_native(relation).lazy()
        return
    try:
        frame = nw.from_native(table).lazy()
    except TypeError as error:
        raise InputError(
            "a table must be the path of a Parquet or CSV file, or a frame of pandas, polars, "
            f"pyarrow, DuckDB, Dask or PySpark, but is {type(table).__name__}."
        ) from error
    yield frame


def load_narwhals() -> Any:
    """The module, which comes with an extra."""
    return require("narwhals", "counting the rows of a table")


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
def _duckdb_relation(table: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    """The rows of one or several files as DuckDB sees them."""
    duckdb = require("duckdb", "counting the rows of a file")
    files = [table] if isinstance(table, TableFile) else _open_files(os.fspath(table))
    _check_names(files)
    # Nothing is fetched from the network, and what does not fit in memory goes to the folder.
    with tempfile.TemporaryDirectory() as folder:
        settings = {"autoinstall_known_extensions": "false", "temp_directory": folder}
        with duckdb.connect(config=settings) as connection:
            connection.execute("SET enable_progress_bar = false")  # it would be printed to a file
            try:
                yield _relation(connection, files, Path(folder) / "rows.parquet", columns)
            except duckdb.Error as error:
                shown = table.path if isinstance(table, TableFile) else table
                raise InputError(f"{shown} cannot be counted: {error}") from error


def _open_files(path: str) -> list[TableFile]:
    """The file of this name, or else all that the name is a pattern of."""
    names = [path] if os.path.exists(path) else sorted(glob(path)) or [path]
    return [open_table(name) for name in names]


def _relation(connection: Any, files: Any, copy: Path, columns: Sequence[str] | None) -> Any:
    if isinstance(files[0], ParquetFile):
        paths = [file.source for file in files]
        names = zip(files[0].stored, files[0].columns, strict=True)
        select = [f"{quote(stored)} AS {quote(name)}" for stored, name in names]
    else:
        paths, select = [copy], _copy_text(files, copy, columns)
    # By their names: DuckDB would take these for patterns, and those of folders for data; and
    # would give all files the types of the first, or stack them by position.
    literal = [escape(os.path.abspath(path)) for path in paths]
    rows = connection.read_parquet(literal, hive_partitioning=False, union_by_name=True)
    return rows.project(", ".join(select))


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


def _copy_text(files: Sequence[TableFile], copy: Path, columns: Sequence[str] | None) -> list[str]:
    """Write the rows of CSV files to one Parquet file, and say how SQL types its columns.

    They are read, trimmed and typed here and not by DuckDB, so that a file has the same values
    whether its rows are counted or loaded.
    """
    names = [name for name in files[0].columns if columns is None or name in columns]
    names = names or files[0].columns[:1]  # none is there; the first has the number of rows
    types = [list(TYPES) for _ in names]
    examples: list[dict[int, str]] = [{} for _ in names]
    schema = pa.schema([(f"c{k}", pa.large_string()) for k in range(len(names))])
    with parquet.ParquetWriter(copy, schema) as writer:
        for batch in chain.from_iterable(file.batches(names) for file in files):
            text = [to_text(column) for column in batch.columns]
            for k, values in enumerate(text):
                valid = np.asarray(values.is_valid())
                types[k] = [t for t in types[k] if match(values, TYPES[t])[valid].all()]
                examples[k] = _find_examples(values) | examples[k]
            writer.write_table(pa.table([v.dictionary_decode() for v in text], schema))
    for name, found, fitting in zip(names, examples, types, strict=True):
        if fitting[:1] == ["DOUBLE"]:
            _check_doubles(pd.Series(list(found.values()), name=name))
    return [
        f"CAST(c{k} AS {next(iter(types[k]), 'VARCHAR')}) AS {quote(name)}"
        for k, name in enumerate(names)
    ]


def _find_examples(text: Any) -> dict[int, str]:
    """One string of each way in which a number may be written, by the number of the way."""
    point, doubtful = match(text, r"\."), match(text, DOUBTFUL["."])
    ways = [match(text, r"\d") & ~point, doubtful, point & ~doubtful, match(text, LEADING_ZERO)]
    return {k: text[int(np.argmax(way))].as_py() for k, way in enumerate(ways) if way.any()}


def _check_doubles(examples: pd.Series) -> None:
    """Refuse numbers that can be read in two ways, and say what is assumed of others."""
    try:
        _, _, notes = number_style(examples, to_text(examples))
    except InputError as error:
        raise InputError(re.sub(r"drop=\[.*?\]", "features=[...]", str(error))) from None
    for line in note_lines(notes):
        warn_user(line, TableWarning)


def quote(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'
