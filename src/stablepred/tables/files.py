"""Table files: CSV, plain or gzip, and Parquet, read piece by piece.

The columns of a CSV file are read as text: what they are is decided over a whole column when an
encoder is fitted, and never anew for a piece of new rows.
"""

import difflib
import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from stablepred.exceptions import InputError
from stablepred.tables.dialect import check_width, detect_encoding, detect_separator
from stablepred.tables.table_encoder import check_columns, unknown_column

# Bytes of CSV text per piece; no row may be longer.
BLOCK = 16 << 20
# Rows of Parquet per piece.
ROWS = 100_000
# What Arrow raises on a damaged Parquet file.
DAMAGED = (pa.ArrowException, OSError, UnicodeDecodeError)

Report = Callable[[float], None]  # is told the share of the file that was read


class TableFile:
    """A table in a file: its columns, and its rows piece by piece.

    Attributes
    ----------
    path : Path
    columns : list of str
        Names, trimmed; an empty name becomes ``column 1``, counted from 1.
    format : str
        What was found, for people to read.
    """

    def __init__(self, path: Path, header: list[str], format: str) -> None:
        self.path = path
        self.format = format
        check_width(str(path), len(header))
        bare = [name.lstrip("\ufeff").strip() for name in header]
        named = [name or f"column {k}" for k, name in enumerate(bare, start=1)]
        _check_names(path, named)
        self.columns = named

    def pieces(
        self, columns: Sequence[str] | None = None, report: Report | None = None
    ) -> Iterator[pd.DataFrame]:
        """The rows in order, some thousands at a time, of the columns asked for."""
        for batch in self._batches(self._places(columns), report or (lambda share: None)):
            yield _to_pandas(pa.Table.from_batches([batch]))

    def read(
        self, columns: Sequence[str] | None = None, report: Report | None = None
    ) -> pd.DataFrame:
        """All rows, of the columns asked for."""
        places = self._places(columns)
        batches = list(self._batches(places, report or (lambda share: None)))
        if not sum(batch.num_rows for batch in batches):
            raise InputError(f"{self.path} has a header but no rows.")
        return _to_pandas(pa.Table.from_batches(batches))

    def _places(self, columns: Sequence[str] | None) -> list[int]:
        for name in columns or ():
            if name not in self.columns:
                raise unknown_column(name, self.columns, f"{self.path}: column")
        return [self.columns.index(name) for name in (columns or self.columns)]

    def _batches(self, places: list[int], report: Report) -> Iterator[Any]:
        """Arrow batches of the columns at the given places, under their trimmed names."""
        raise NotImplementedError


class CsvFile(TableFile):
    """A text file with a header line; every column is text."""

    def __init__(self, path: Path, packed: bool) -> None:
        self.packed = packed

        def opened() -> Any:
            return _opened(path, packed)

        self.encoding = detect_encoding(str(path), opened)
        self.separator, self.header, self.empty_lines = detect_separator(
            str(path), opened, self.encoding
        )
        shown = {"\t": "tab"}.get(self.separator, repr(self.separator))
        super().__init__(path, self.header, f"CSV, separator {shown}, {self.encoding}")

    def _batches(self, places: list[int], report: Report) -> Iterator[Any]:
        odd: list[Any] = []

        def remember(row: Any) -> str:
            odd.append(row)
            return "error"

        size = self.path.stat().st_size
        try:
            with self.path.open("rb") as raw:
                stream = gzip.GzipFile(fileobj=raw) if self.packed else raw
                for batch in self._reader(stream, remember):
                    report(raw.tell() / size)
                    chosen = [batch.column(place) for place in places]
                    yield pa.record_batch(chosen, names=[self.columns[place] for place in places])
        except pa.ArrowInvalid as error:
            raise self._broken(error, odd) from error

    def _reader(self, stream: Any, on_odd_row: Callable[[Any], str]) -> Any:
        # In a file of one column an empty line after the header is a missing value.
        wide = len(self.header) > 1
        return arrow_csv.open_csv(
            stream,
            arrow_csv.ReadOptions(
                use_threads=False,  # so that a row at fault has its number
                block_size=BLOCK,
                encoding=self.encoding,
                skip_rows=0 if wide else self.empty_lines,
            ),
            arrow_csv.ParseOptions(
                delimiter=self.separator,
                newlines_in_values=True,
                ignore_empty_lines=wide,
                invalid_row_handler=on_odd_row,
            ),
            arrow_csv.ConvertOptions(
                strings_can_be_null=False, column_types=dict.fromkeys(self.header, pa.string())
            ),
        )

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

    def __init__(self, path: Path) -> None:
        try:
            names = parquet.read_schema(path).names
        except DAMAGED as error:
            raise InputError(f"{path} is a damaged Parquet file: {error}") from error
        self.rows = parquet.read_metadata(path).num_rows
        # pandas writes its row labels as columns of such names.
        self.stored = [name for name in names if not re.match("__index_level_", name)]
        super().__init__(path, self.stored, "Parquet")
        _check_names(path, self.stored)  # columns are read by name

    def _batches(self, places: list[int], report: Report) -> Iterator[Any]:
        try:
            with parquet.ParquetFile(self.path) as file:
                done, total = 0, max(1, file.metadata.num_rows)
                wanted = [self.stored[place] for place in places]
                for batch in file.iter_batches(ROWS, columns=wanted):
                    batch.validate(full=True)  # text that is none, places that are not there
                    done += batch.num_rows
                    report(done / total)
                    chosen = [batch.column(name) for name in wanted]
                    yield pa.record_batch(chosen, names=[self.columns[place] for place in places])
                if not done:
                    raise InputError(f"{self.path} has no rows.")
        except DAMAGED as error:
            raise InputError(f"{self.path} is a damaged Parquet file: {error}") from error


def open_table(path: str | os.PathLike[str]) -> TableFile:
    """Find out what a table file is, and its columns.

    Parameters
    ----------
    path : path
        A CSV file, plain or gzip, with a header line, or a Parquet file; told apart by content.

    Returns
    -------
    TableFile
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a CSV or Parquet file.")
    if not path.exists():
        raise InputError(f"there is no file {path}. {_similar_files(path)}")
    with path.open("rb") as stream:
        start = stream.read(4)
    if start == b"PAR1":
        return ParquetFile(path)
    if start.startswith(b"PK\x03\x04"):
        raise InputError(
            f"{path} is a zip archive or an Excel workbook. Unpack it, or export the sheet as CSV."
        )
    try:
        return CsvFile(path, packed=start.startswith(b"\x1f\x8b"))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is a damaged gzip file: {error}") from error


def read_table(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a table file as the command line does.

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
    return open_table(path).read(columns)


def _check_names(path: Path, names: list[str]) -> None:
    try:
        check_columns(names)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _similar_files(path: Path) -> str:
    try:
        names = [other.name for other in path.parent.iterdir() if other.is_file()]
    except OSError:
        return f"There is no folder {path.parent} either."
    close = difflib.get_close_matches(path.name, names, n=3)
    return f"Did you mean {' or '.join(close)}?" if close else "Check the name."


@contextmanager
def _opened(path: Path, packed: bool) -> Iterator[BinaryIO]:
    with path.open("rb") as raw:
        yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw


def _to_pandas(table: Any) -> pd.DataFrame:
    """Text stays in Arrow's memory, whatever the version of pandas."""
    text = pd.StringDtype("pyarrow")
    types = {pa.string(): text, pa.large_string(): text}
    return table.to_pandas(types_mapper=types.get, ignore_metadata=True)
