"""Table files: CSV, plain or gzip, and Parquet, read piece by piece.

The columns of a CSV file are read as text: what they are is decided over a whole column when an
encoder is fitted, and never again for a piece of new rows.
"""

import gzip
import os
import re
import shutil
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from stablepred.exceptions import InputError, TableWarning
from stablepred.tables.arrow import arrow_csv, pa, parquet
from stablepred.tables.dialect import check_width, detect_encoding, detect_separator
from stablepred.tables.messages import (
    FIRST_LINE,
    check_columns,
    has_data_names,
    nearest,
    unknown_column,
)

# Bytes of CSV text per piece; no row may be longer.
BLOCK = 16 << 20
# Rows of Parquet per piece.
ROWS = 100_000

Report = Callable[[float], None]  # called with the share of the file that was read


class TableFile:
    """A table in a file: its columns, and its rows piece by piece.

    ``columns`` are the names, trimmed; an empty one becomes ``column 1``, counted from 1.
    ``format`` says what was found, and ``notes`` what was assumed on the way.
    """

    source: Path  # where its bytes are
    copy: Any = None  # of a pipe, which can be read only once

    def __init__(self, path: Path, header: list[str], format: str) -> None:
        self.path, self.format = path, format
        self.notes: list[str] = []
        check_width(str(path), len(header))
        bare = [name.lstrip("\ufeff").strip() for name in header]
        self.columns = [name or f"column {k}" for k, name in enumerate(bare, start=1)]
        check_columns(self.columns, f"{path}: ")
        self.stored = self.columns

    def pieces(
        self, columns: Sequence[str] | None = None, report: Report | None = None
    ) -> Iterator[pd.DataFrame]:
        """The rows in order, some thousands at a time, of the columns asked for."""
        return map(_to_pandas, self.batches(columns, report))

    def read(
        self, columns: Sequence[str] | None = None, report: Report | None = None
    ) -> pd.DataFrame:
        """All rows, of the columns asked for."""
        batches = list(self.batches(columns, report))
        if not sum(batch.num_rows for batch in batches):
            raise InputError(f"{self.path} has a header but no rows.")
        return _to_pandas(pa.Table.from_batches(batches))

    def batches(
        self, columns: Sequence[str] | None = None, report: Report | None = None
    ) -> Iterator[Any]:
        """The rows as Arrow batches."""
        names = list(self.columns if columns is None else columns)
        for name in names:
            if name not in self.columns:
                raise unknown_column(name, self.columns, f"{self.path}: column")
        chosen = [self.columns.index(name) for name in names]
        for arrays in self._read(chosen, report or (lambda share: None)):
            yield pa.record_batch(arrays, names=names)

    def _read(self, indices: list[int], report: Report) -> Iterator[list[Any]]:
        """The columns at the given indices, piece by piece."""
        raise NotImplementedError


class CsvFile(TableFile):
    """A text file with a header line; every column is text."""

    def __init__(self, path: Path, source: Path, packed: bool) -> None:
        self.source, self.packed = source, packed
        open_bytes = partial(gzip.open if packed else open, source, "rb")
        self.encoding = detect_encoding(str(path), open_bytes)
        found = detect_separator(str(path), open_bytes, self.encoding)
        self.separator, self.header, self.empty_lines = found
        shown = {"\t": "tab"}.get(self.separator, repr(self.separator))
        super().__init__(path, self.header, f"CSV, separator {shown}, {self.encoding}")
        if self.encoding == "cp1252":
            self.notes.append(f"{path} is not UTF-8: read as cp1252, the encoding of Windows.")
        if has_data_names(self.columns) and not all(name.isdigit() for name in self.columns):
            self.notes.append(f"{path} has columns named {self.columns[0]!r}, ... {FIRST_LINE}")

    def _read(self, indices: list[int], report: Report) -> Iterator[list[Any]]:
        odd: Any = []
        # In a file of one column an empty line after the header is a missing value.
        wide = len(self.header) > 1
        read = arrow_csv.ReadOptions(
            use_threads=False,  # so that a row at fault has its number
            block_size=BLOCK,
            encoding=self.encoding,
            skip_rows=0 if wide else self.empty_lines,
        )
        parse = arrow_csv.ParseOptions(
            delimiter=self.separator,
            newlines_in_values=True,
            ignore_empty_lines=wide,
            invalid_row_handler=lambda row: (odd.append(row), "error")[1],
        )
        convert = arrow_csv.ConvertOptions(
            strings_can_be_null=False,
            column_types=dict.fromkeys(self.header, pa.large_string()),
        )
        size = self.source.stat().st_size
        try:
            with self.source.open("rb") as raw:
                stream = gzip.GzipFile(fileobj=raw) if self.packed else raw
                for batch in arrow_csv.open_csv(stream, read, parse, convert):
                    report(raw.tell() / size)
                    columns = batch.columns
                    yield [columns[index] for index in indices]
        except pa.ArrowInvalid as error:
            raise self._broken(error, odd) from error

    def _broken(self, error: Exception, odd: list[Any]) -> InputError:
        if odd:
            row = odd[0]
            quote = " A quote is opened there and never closed." if row.text.count('"') % 2 else ""
            return InputError(
                f"{self.path}, row {row.number} (the header is row 1) has {row.actual_columns} "
                f"fields where the header has {row.expected_columns}: "
                f"{row.text[:60].strip()!r}.{quote} Repair that row."
            )
        if "straddling" in str(error):
            return InputError(
                f"{self.path} has a row of more than {BLOCK >> 20} MiB. Look for a quote that is "
                "never closed, or remove the column with the enormous values."
            )
        return InputError(f"{self.path} cannot be read as {self.format}: {error}")


class ParquetFile(TableFile):
    """A Parquet file; its columns have types, and it knows how many rows it has."""

    def __init__(self, path: Path, source: Path) -> None:
        self.source = source
        try:
            names = parquet.read_metadata(source).schema.to_arrow_schema().names
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} is a damaged Parquet file: {error}") from error
        # pandas writes its row labels as columns of such names.
        stored = [name for name in names if not re.match("__index_level_", name)]
        super().__init__(path, stored, "Parquet")
        check_columns(stored, f"{path}: ")
        self.stored = stored  # by which columns are read

    def _read(self, indices: list[int], report: Report) -> Iterator[list[Any]]:
        try:
            with parquet.ParquetFile(self.source) as file:
                done, total = 0, max(1, file.metadata.num_rows)
                names = [self.stored[index] for index in indices]
                for batch in file.iter_batches(ROWS, columns=names):
                    batch.validate(full=True)  # strings that are none, offsets out of bounds
                    done += batch.num_rows
                    report(done / total)
                    # A dictionary is a way to store values, and says nothing about what they are.
                    found = [batch.column(name) for name in names]
                    coded = pa.DictionaryArray
                    yield [c.dictionary_decode() if isinstance(c, coded) else c for c in found]
                if not done:
                    raise InputError(f"{self.path} has no rows.")
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path} is a damaged Parquet file: {error}") from error


def open_table(path: str | os.PathLike[str], stream: Any = None) -> TableFile:
    """Find out what a table file is, CSV, gzip or Parquet, and its columns.

    A pipe is copied, and so is a ``stream`` of bytes, of which ``path`` is the name in messages.
    """
    path = Path(path)
    if stream is None and path.is_fifo():
        with path.open("rb") as stream:
            return open_table(path, stream)
    if stream is not None:
        copy = tempfile.NamedTemporaryFile(prefix="stablepred-")  # noqa: SIM115
        shutil.copyfileobj(stream, copy)
        copy.flush()
        file = _open_file(path, Path(copy.name))
        file.copy = copy  # lives as long as the table
        return file
    if path.is_file():
        return _open_file(path, path)
    if path.exists():
        what = "a folder" if path.is_dir() else "a device, not a file"
        raise InputError(f"{path} is {what}; give a CSV or Parquet file.")
    if address := re.match(r"([a-z][\w+.-]+):/", os.fspath(path)):  # may hold a password
        raise InputError(
            f"a table must be a file, but an address of {address[1]} was given. Read its rows "
            "first, for instance by pandas.read_sql, or store them in a Parquet file."
        )
    try:
        names = [other.name for other in path.parent.iterdir() if other.is_file()]
        advice = nearest(path.name, names) or "Check the name."
    except OSError:
        advice = f"There is no folder {path.parent} either."
    raise InputError(f"there is no file {path}. {advice.strip()}")


def _open_file(path: Path, source: Path) -> TableFile:
    """The table that users call ``path`` and whose bytes are at ``source``."""
    with source.open("rb") as stream:
        start = stream.read(4)
    if start == b"PAR1":
        return ParquetFile(path, source)
    if start.startswith(b"PK\x03\x04"):
        raise InputError(
            f"{path} is a zip archive or an Excel workbook. Unpack it, or export the sheet as CSV."
        )
    try:
        return CsvFile(path, source, packed=start.startswith(b"\x1f\x8b"))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is a damaged gzip file: {error}") from error


def read_table(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a table file, whatever its separator and encoding.

    Parameters
    ----------
    path : path
        A CSV file (separator and encoding are found out; gzip too) or a Parquet file.
    columns : sequence of str, optional
        Which columns to read; all if not given.

    Returns
    -------
    DataFrame
        The columns of a CSV file as text, for a `TableEncoder` to make features from; those of a
        Parquet file with their types.
    """
    file = open_table(path)
    for note in file.notes:
        warnings.warn(note, TableWarning, stacklevel=2)
    return file.read(columns)


def _to_pandas(rows: Any) -> pd.DataFrame:
    """Text stays in Arrow's memory, whatever the version of pandas."""
    table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
    text = pd.StringDtype("pyarrow")
    types = {pa.string(): text, pa.large_string(): text}
    return table.to_pandas(types_mapper=types.get, ignore_metadata=True)
