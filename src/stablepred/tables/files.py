"""Table files: CSV, plain or gzip, and Parquet, read piece by piece.

The columns of a CSV file are read as text: what they are is decided over a whole column when an
encoder is fitted, and never again for a piece of new rows.
"""

import codecs
import gzip
import os
import re
import shutil
import tempfile
import time
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from stablepred._extras import arrow_csv, pa, parquet
from stablepred.exceptions import InputError, TableWarning
from stablepred.tables import messages

BLOCK = 16 << 20  # bytes of CSV text per piece; no row may be longer
ROWS = 100_000  # rows of Parquet per piece

# In order of preference where two would do: commas are also found inside text and numbers.
SEPARATORS = "\t;|,"
PIECE = 1 << 20  # bytes read at a time; the separator is found from the first ones
MOST_COLUMNS = 10_000

# Two or more bytes that are one character of UTF-8, and hardly ever stand side by side otherwise.
SEVERAL_BYTES = re.compile(rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}")
LINE_END = re.compile("\r\n|\r|\n")

Opener = Callable[[], Any]  # of the bytes of a file


class TableFile:
    """A table in a file: its columns, and its rows piece by piece.

    ``columns`` are the names, trimmed; an empty one becomes ``column 1``, counted from 1.
    ``format`` says what was found, and ``notes`` what was assumed on the way. The bytes are at
    ``source``, that of a pipe in a copy.
    """

    def __init__(self, path: Path, source: Path, header: list[str], format: str) -> None:
        self.path, self.source, self.stored, self.format = path, source, header, format
        self.notes: list[str] = []
        bare = [name.lstrip("\ufeff").strip() for name in header]
        self.columns = [name or f"column {k}" for k, name in enumerate(bare, start=1)]
        messages.check_columns(self.columns, f"{path}: ")

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """The rows in order, some thousands at a time, of the columns asked for."""
        return (_to_pandas([batch]) for batch in self._batches(columns))

    def read(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        batches = list(self._batches(columns))
        if not sum(batch.num_rows for batch in batches):
            raise InputError(f"{self.path} has a header but no rows.")
        return _to_pandas(batches)

    def _batches(self, columns: Sequence[str] | None) -> Iterator[Any]:
        names = self.columns if columns is None else list(columns)
        indices = {name: k for k, name in enumerate(self.columns)}
        for name in names:
            messages.check_known(name, indices, f"{self.path}: column")
        for arrays in self._read([indices[name] for name in names]):
            yield pa.record_batch(arrays, names=names)

    def _read(self, indices: list[int]) -> Iterator[list[Any]]:
        raise NotImplementedError


class CsvFile(TableFile):
    def __init__(self, path: Path, source: Path, packed: bool) -> None:
        self.packed = packed
        self.open_bytes = partial(gzip.open if packed else open, source, "rb")
        self.encoding = detect_encoding(str(path), self.open_bytes)
        found = detect_separator(str(path), self.open_bytes, self.encoding)
        self.separator, header, self.empty_lines = found
        shown = "tab" if self.separator == "\t" else repr(self.separator)
        super().__init__(path, source, header, f"CSV, separator {shown}, {self.encoding}")
        if self.encoding == "cp1252":
            self.notes.append(f"{path} is not UTF-8: read as cp1252, the encoding of Windows.")
        names, advice = self.columns, messages.FIRST_LINE
        if messages.has_data_names(names) and not all(name.isdigit() for name in names):
            self.notes.append(f"{path} has columns named {names[0]!r}, ... {advice}")

    def _read(self, indices: list[int]) -> Iterator[list[Any]]:
        odd: Any = []
        # In a file of one column an empty line after the header is a missing value.
        wide = len(self.stored) > 1
        read = arrow_csv.ReadOptions(
            use_threads=False,  # so that a row at fault has its number
            block_size=BLOCK,
            encoding=self.encoding,
            skip_rows=0 if wide else self.empty_lines,
        )
        stream, note = self.open_bytes(), lambda row: (odd.append(row), "error")[1]
        held: list[Any] = [weakref.ref(stream), weakref.ref(note)]
        parse = arrow_csv.ParseOptions(
            delimiter=self.separator,
            newlines_in_values=True,
            ignore_empty_lines=wide,
            invalid_row_handler=note,
        )
        convert = arrow_csv.ConvertOptions(
            strings_can_be_null=False,
            column_types=dict.fromkeys(self.stored, pa.large_string()),
        )
        try:
            for batch in arrow_csv.open_csv(stream, read, parse, convert):
                columns = batch.columns
                yield [columns[index] for index in indices]
        except pa.ArrowInvalid as error:
            raise self._broken(error, odd) from error
        finally:
            stream.close()
            del stream, note, parse
            _await_release(held)

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


def _await_release(held: list[Any]) -> None:
    """Wait until Arrow's threads have dropped objects, lest Python ends before, and they abort."""
    latest = time.monotonic() + 1
    while any(one() is not None for one in held) and time.monotonic() < latest:
        time.sleep(0.001)


class ParquetFile(TableFile):
    """A Parquet file; its columns have types."""

    def __init__(self, path: Path, source: Path) -> None:
        with _parquet_errors(path):
            names = parquet.read_metadata(source).schema.to_arrow_schema().names
        # pandas writes its row labels as columns of such names.
        stored = [name for name in names if not re.match("__index_level_", name)]
        super().__init__(path, source, stored, "Parquet")
        messages.check_columns(stored, f"{path}: ")  # by which they are read

    def _read(self, indices: list[int]) -> Iterator[list[Any]]:
        with _parquet_errors(self.path), parquet.ParquetFile(self.source) as file:
            if not file.metadata.num_rows:
                raise InputError(f"{self.path} has no rows.")
            names = [self.stored[index] for index in indices]
            for batch in file.iter_batches(ROWS, columns=names):
                batch.validate(full=True)  # strings that are none, offsets out of bounds
                # A dictionary is a way to store values, and says nothing about what they are.
                found = [batch.column(name) for name in names]
                coded = pa.DictionaryArray
                yield [c.dictionary_decode() if isinstance(c, coded) else c for c in found]


@contextmanager
def _parquet_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is a damaged Parquet file: {error}") from error


def open_table(path: str | os.PathLike[str], stream: Any = None) -> TableFile:
    """Find out what a table file is, CSV, gzip or Parquet, and its columns.

    A pipe is copied, and so is a ``stream`` of bytes, of which ``path`` is the name in messages.
    """
    path = Path(path)
    if stream is None and path.is_fifo():
        with path.open("rb") as stream:
            return open_table(path, stream)
    if stream is not None:
        handle, name = tempfile.mkstemp(prefix="stablepred-")
        with open(handle, "wb") as copy:
            shutil.copyfileobj(stream, copy)
        try:
            file = _open_file(path, Path(name))
        except InputError:
            os.unlink(name)
            raise
        weakref.finalize(file, os.unlink, name)  # when nothing uses the table any more
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
        advice = messages.nearest(path.name, names) or "Check the name."
    except OSError:
        advice = f"There is no folder {path.parent} either."
    raise InputError(f"there is no file {path}. {advice.strip()}")


def _open_file(path: Path, source: Path) -> TableFile:
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


def _to_pandas(batches: list[Any]) -> pd.DataFrame:
    """Text stays in Arrow's memory, whatever the version of pandas."""
    text = pd.StringDtype("pyarrow")
    types = {pa.string(): text, pa.large_string(): text}
    return pa.Table.from_batches(batches).to_pandas(types_mapper=types.get, ignore_metadata=True)


# --- how a text file is written: its encoding and its separator, found from its bytes ---


def detect_encoding(name: str, open_bytes: Opener) -> str:
    """``utf-8``, ``utf-16`` or ``cp1252``, whichever all bytes of a file are valid in.

    A byte that is not UTF-8 means cp1252, the encoding of old Windows programs, unless other
    characters of the file are plainly UTF-8: then the file is broken, and is refused.
    """
    start = next(_pieces(open_bytes), b"")
    if not start.strip():
        raise InputError(f"{name} is empty.")
    utf16 = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if utf16 and not start.startswith(codecs.BOM_UTF32_LE):
        if _first_invalid_line(open_bytes, "utf-16") is None:
            return "utf-16"
        raise InputError(f"{name} begins as UTF-16 but goes on as something else. Save it again.")
    if b"\0" in start:
        raise InputError(
            f"{name} is not a text file (it has zero bytes in it). Give a CSV or a Parquet file."
        )
    line = _first_invalid_line(open_bytes, "utf-8")
    if line is None:
        return "utf-8"
    plainly_utf8 = any(SEVERAL_BYTES.search(piece) for piece in _pieces(open_bytes))
    if not plainly_utf8 and _first_invalid_line(open_bytes, "cp1252") is None:
        return "cp1252"
    raise InputError(
        f"{name}, line {line}: a byte that is not valid in UTF-8, the encoding of the rest of the "
        "file. Save the file again as UTF-8, or repair that line."
    )


def _pieces(open_bytes: Opener) -> Iterator[bytes]:
    with open_bytes() as stream:
        while piece := stream.read(PIECE):
            yield piece


def _first_invalid_line(open_bytes: Opener, encoding: str) -> int | None:
    line = 1
    try:
        for text in codecs.iterdecode(_pieces(open_bytes), encoding):
            line += text.count("\n")
    except UnicodeDecodeError as error:
        return line + error.object[: error.start].count(b"\n")
    return None


def detect_separator(name: str, open_bytes: Opener, encoding: str) -> tuple[str, list[str], int]:
    """The separator under which most lines have as many fields as the header; and the header.

    The last is the number of empty lines before the header.
    """
    start = next(_pieces(open_bytes), b"")
    text = codecs.getincrementaldecoder(encoding)().decode(start)
    bare = text.removeprefix("\ufeff")
    rest = bare.lstrip("\r\n")
    empty = len(LINE_END.findall(bare, 0, len(bare) - len(rest)))
    first = LINE_END.split(rest, maxsplit=1)[0]
    if re.fullmatch('"?sep=.?"?', first.strip()):
        raise InputError(f"{name} begins with {first.strip()!r}, a line for Excel. Remove it.")
    width = 1 + max(first.count(separator) for separator in SEPARATORS)
    if width > MOST_COLUMNS:
        raise InputError(
            f"{name} has a header of {width:,} columns, and at most {MOST_COLUMNS:,} can be read. "
            "Leave out what is no feature, or turn the table round if its rows are the columns."
        )
    if len(start) == PIECE and "\n" in text:
        text = text[: text.rindex("\n") + 1]
    found = {separator: _fields(text.encode(), separator) for separator in SEPARATORS}
    fitting = {s: (len(header) > 1, share) for s, (header, share) in found.items() if header}
    if not fitting:
        raise InputError(f"{name} has no header line that could be read.")
    best = [s for s, fit in fitting.items() if fit == max(fitting.values())]
    widest = max(best, key=lambda separator: len(found[separator][0]))
    header = found[best[0]][0]
    if len(found[widest][0]) > len(header):
        raise InputError(
            f"{name} can be read with separator {best[0]!r} or {widest!r}, in {len(header)} or "
            f"{len(found[widest][0])} columns. Put quotes around the fields that hold one of them."
        )
    return (best[0] if len(header) > 1 else ","), header, empty


def _fields(sample: bytes, separator: str) -> tuple[list[str], float]:
    """Fields of the header, and the share of lines with as many."""
    odd: Any = []
    read = arrow_csv.ReadOptions(use_threads=False, block_size=2 * PIECE)
    parse = arrow_csv.ParseOptions(
        delimiter=separator,
        newlines_in_values=True,
        invalid_row_handler=lambda row: (odd.append(row), "skip")[1],
    )
    convert = arrow_csv.ConvertOptions(check_utf8=False)
    try:
        table = arrow_csv.read_csv(BytesIO(sample), read, parse, convert)
    except pa.ArrowInvalid:
        return [], 0.0
    lines = table.num_rows + len(odd)
    return table.column_names, table.num_rows / lines if lines else 1.0
