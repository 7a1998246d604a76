"""How a text file is written: its encoding and its separator, found from its bytes."""

import codecs
import re
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import chain
from typing import Any

from stablepred.exceptions import InputError
from stablepred.tables.arrow import arrow_csv, pa

# In order of preference where two would do: commas are also found inside text and numbers.
SEPARATORS = "\t;|,"
PIECE = 1 << 20  # bytes read at a time; the separator is found from the first ones
MOST_COLUMNS = 10_000

# Two or more bytes that are one character of UTF-8, and hardly ever stand side by side otherwise.
SEVERAL_BYTES = re.compile(rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}")

LINE_END = re.compile("\r\n|\r|\n")

Opener = Callable[[], Any]  # of the bytes of a file


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
    """Number of the first line that cannot be decoded."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    for piece in chain(_pieces(open_bytes), [b""]):
        try:
            decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            return line + error.object[: error.start].count(b"\n")
        line += piece.count(b"\n")
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
    check_width(name, 1 + max(first.count(separator) for separator in SEPARATORS))
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


def check_width(name: str, columns: int) -> None:
    """Raise when a table has more columns than can be meant."""
    if columns > MOST_COLUMNS:
        raise InputError(
            f"{name} has a header of {columns:,} columns, and no more than {MOST_COLUMNS:,} can be "
            "read. Leave out those that are not features, or turn the table round if its rows are "
            "the columns."
        )


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
