"""Tables as lazy frames, wherever their rows are: files in DuckDB, frames in their own engines."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import escape, glob
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from stablepred.exceptions import InputError
from stablepred.tables.files import ParquetFile, TableFile, open_table
from stablepred.tables.messages import listed
from stablepred.tables.types import BOOLEANS, NUMBER, match, to_text

# What all values of a column must look like to be of a type.
TYPES = {
    "BIGINT": r"^[+-]?(0|[1-9]\d{0,17})$",
    "DOUBLE": NUMBER["point"],
    "BOOLEAN": f"^(?i:{'|'.join(BOOLEANS)})$",
}


@contextmanager
def open_frame(table: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The table as a lazy frame of narwhals; of a CSV file no other columns need be read."""
    narwhals = load_narwhals()
    if isinstance(table, str | os.PathLike | TableFile):
        with _duckdb_relation(table, columns) as relation:
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
        raise _not_installed("counting the rows of a table needs narwhals") from error
    return narwhals


def _not_installed(what: str) -> InputError:
    return InputError(f"{what}, which is not installed: pip install 'stablepred[tables]'.")


@contextmanager
def _duckdb_relation(table: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    """The rows of one or several files as DuckDB sees them."""
    try:
        import duckdb
    except ImportError as error:
        raise _not_installed("counting the rows of a file needs DuckDB") from error
    files = [table] if isinstance(table, TableFile) else _open_files(os.fspath(table))
    _check_same_columns(files)
    _check_case(files[0])
    with tempfile.TemporaryDirectory() as folder:
        # Nothing is fetched from the network, and what does not fit in memory goes to the folder.
        settings: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "temp_directory": folder,
        }
        with duckdb.connect(config=settings) as connection:
            connection.execute("SET enable_progress_bar = false")  # it would be printed to a file
            try:
                if isinstance(files[0], ParquetFile):
                    yield _read_parquet(connection, files)
                else:
                    copy = Path(folder) / "rows.parquet"
                    select = _copy_text(files, copy, columns)
                    yield _literally(connection, [copy]).project(", ".join(select))
            except duckdb.Error as error:
                shown = table.path if isinstance(table, TableFile) else table
                raise InputError(f"{shown} cannot be counted: {error}") from error


def _open_files(path: str) -> list[TableFile]:
    """The file of this name, or else all that the name is a pattern of."""
    names = [path] if os.path.exists(path) else sorted(glob(path)) or [path]
    return [open_table(name) for name in names]


def _literally(connection: Any, sources: Sequence[Path]) -> Any:
    """Parquet files by their names: DuckDB would take these for patterns, and folders for data."""
    names = [escape(os.path.abspath(source)) for source in sources]
    return connection.read_parquet(names, hive_partitioning=False)


def _read_parquet(connection: Any, files: Sequence[Any]) -> Any:
    """Files of equal types together: DuckDB would give all of them the types of the first."""
    alike: dict[Any, list[Path]] = {}
    for file in files:
        stored = dict(zip(file.columns, zip(file.stored, file.types, strict=True), strict=True))
        columns = tuple((name, *stored[name]) for name in files[0].columns)
        alike.setdefault(columns, []).append(file.source)
    parts = [
        _literally(connection, sources).project(
            ", ".join(f"{quote(stored)} AS {quote(name)}" for name, stored, _ in columns)
        )
        for columns, sources in alike.items()
    ]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    return whole


def _check_same_columns(files: Sequence[TableFile]) -> None:
    first = files[0]
    for file in files[1:]:
        if type(file) is not type(first):
            raise InputError(f"{first.path} and {file.path} must be both CSV or both Parquet.")
        missing = [name for name in first.columns if name not in set(file.columns)]
        extra = [name for name in file.columns if name not in set(first.columns)]
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
    fits = {name: dict(TYPES) for name in names}
    schema = pa.schema([(f"c{k}", pa.large_string()) for k in range(len(names))])
    with parquet.ParquetWriter(copy, schema) as writer:
        for file in files:
            for batch in file.batches(names):
                text = [to_text(column) for column in batch.columns]
                for name, values in zip(names, text, strict=True):
                    valid = np.asarray(values.is_valid())
                    fits[name] = {
                        type_: pattern
                        for type_, pattern in fits[name].items()
                        if match(values, pattern)[valid].all()
                    }
                writer.write_table(pa.table([v.dictionary_decode() for v in text], schema))
    types = [next(iter(fits[name]), "VARCHAR") for name in names]
    return [
        f"CAST(c{k} AS {type_}) AS {quote(name)}"
        for k, (name, type_) in enumerate(zip(names, types, strict=True))
    ]


def quote(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _check_case(file: TableFile) -> None:
    lower = [name.lower() for name in file.columns]
    alike = [name for name in file.columns if lower.count(name.lower()) > 1]
    if alike:
        raise InputError(
            f"{file.path}: the names of {listed(alike)} differ in upper and lower case only, which "
            "DuckDB takes as the same. Rename one of them."
        )
