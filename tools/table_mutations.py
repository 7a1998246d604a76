"""Odd and spoiled table files: CSV, plain or gzip, and Parquet.

:func:`spoiled` is all that others need. Everything is drawn from one generator, so that a file is
known by the seed of its generator.
"""

import decimal
import gzip
import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from byte_mutations import BLIND, Generator, pick

Rows = list[list[str]]

SEPARATORS = (",", ";", "\t", "|")
ENCODINGS = (
    *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1"),
    *("cp037", "shift-jis", "utf-7", "mac-roman"),
)
WORDS = ("cook", "clerk", "smith", "naïve", "雨", "a b", "", "NA", "?", "yes", "no", "O'Neil", "€")
FIELDS = (
    *(
        "",
        " ",
        '"',
        '""',
        '"a',
        'a"b',
        '"a"b',
        "'",
        "\\",
        '\\"',
        "\n",
        "\r",
        "\r\n",
        "\0",
        "\ufeff",
    ),
    *("nan", "NaN", "-nan", "inf", "-Infinity", "1e999", "1e-999", "-0", "+1", "--1", ".", "e5"),
    *("1e", "1e5", "0x10", "1_000", "1,234.5", "1.234,5", "1.234.567", "1 000", "١٢٣", "１２", "½"),
    *("9" * 400, "0." + "0" * 400 + "1", "1e308", "-1e308", "18446744073709551616", "$5", "5%"),
    *("true", "FALSE", "null", "None", "<NA>", "#N/A", "-", "2020-01-31", "31.12.1999 25:61"),
    *(
        "12/31/1999",
        "2020-13-45T99:99",
        "1 jan 2020",
        "=1+1",
        "@x",
        "\u200f\u202e",
        "e\u0301",
        "😀",
    ),
    *("\u2028", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "x" * 3000, "\ud800", ";", ",", "\t", "|"),
)
NAMES = (
    *(
        "",
        " ",
        "a",
        "a",
        "A",
        "1",
        "2.5",
        "y",
        "x>1",
        "x=a",
        "x is missing",
        "x is rare",
        '"',
        "\n",
    ),
    *("__index_level_0__", "column 1", "\ufeffa", "\0", "n" * 2000, "雨", "\ud800", "a\tb", "a,b"),
)
WRITABLE = tuple(name for name in NAMES if "\ud800" not in name)


# --- tables of text ---


def _column(rng: Generator, n: int) -> list[str]:
    """A column as tables have them."""
    kind = int(rng.integers(9))
    if kind == 0:
        return [str(k) for k in rng.integers(-5, 100, n)]
    if kind == 1:
        return [f"{k:.3g}" for k in rng.normal(0, 1e3, n)]
    if kind == 2:
        return [f"{k:.2f}".replace(".", ",") for k in rng.normal(0, 10, n)]
    if kind == 3:
        return [pick(rng, ("true", "false", "")) for _ in range(n)]
    if kind == 4:
        return [f"id{k}" for k in range(n)]
    if kind == 5:
        return [f"20{k % 30:02}-{k % 12 + 1:02}-{k % 28 + 1:02}" for k in range(n)]
    if kind == 6:
        return [pick(rng, FIELDS) for _ in range(n)]
    words = [pick(rng, WORDS) for _ in range(3)]
    return [pick(rng, words) for _ in range(n)]


def _sound_rows(rng: Generator) -> Rows:
    n = int(pick(rng, (1, 2, 3, 10, 30, 60)))
    columns = [_column(rng, n) for _ in range(int(pick(rng, (1, 2, 3, 6))))]
    header = [f"x{j}" for j in range(len(columns))]
    return [header, *map(list, zip(*columns, strict=True))]


def _odd_field(rng: Generator, rows: Rows) -> None:
    for _ in range(int(rng.integers(1, 5))):
        row = pick(rng, rows)
        row[int(rng.integers(len(row)))] = pick(rng, FIELDS)


def _odd_column(rng: Generator, rows: Rows) -> None:
    """Two or three odd values all the way down."""
    place = int(rng.integers(len(rows[0])))
    values = [pick(rng, FIELDS) for _ in range(int(rng.integers(1, 4)))]
    for row in rows[1:]:
        row[place : place + 1] = [pick(rng, values)]


def _odd_names(rng: Generator, rows: Rows) -> None:
    for _ in range(int(rng.integers(1, 4))):
        rows[0][int(rng.integers(len(rows[0])))] = pick(rng, NAMES)


def _ragged(rng: Generator, rows: Rows) -> None:
    for _ in range(int(rng.integers(1, 4))):
        row = pick(rng, rows)
        if rng.random() < 0.5 and len(row) > 1:
            row.pop()
        else:
            row.extend(pick(rng, (["", ""], ["1"], ["a", "b"])))


def _long_field(rng: Generator, rows: Rows) -> None:
    text = pick(rng, ("x", "9", '"', "é", ", "))
    row = pick(rng, rows)
    row[int(rng.integers(len(row)))] = text * pick(rng, (5000, 50_000, 500_000))


def _many_columns(rng: Generator, rows: Rows) -> None:
    times = int(pick(rng, (10, 30, 300)))
    for number, row in enumerate(rows):
        row.extend(f"n{k}" if number == 0 else str(k % 7) for k in range(times))


def _mixed_types(rng: Generator, rows: Rows) -> None:
    """Numbers of two styles, dates and words in one column."""
    place = int(rng.integers(len(rows[0])))
    for row in rows[1:]:
        word = pick(rng, ("1.5", "1,5", "2020-01-31", "word", "", "true", "7", "1e3"))
        row[place : place + 1] = [word]


def _other_decimals(rng: Generator, rows: Rows) -> None:
    """Decimal points and commas change places, or thousands get marks, in part of a column."""
    place, share = int(rng.integers(len(rows[0]))), pick(rng, (0.1, 0.5, 1.0))
    mark, exchanged = pick(rng, (",", ".", "'", " ")), rng.random() < 0.5
    for row in rows[1:]:
        if place < len(row) and rng.random() < share:
            field = row[place]
            if exchanged:
                row[place] = field.translate(str.maketrans(".,", ",."))
            else:
                row[place] = re.sub(r"^(\d+)(\d{3})", rf"\1{mark}\2", field)


def _no_rows(rng: Generator, rows: Rows) -> None:
    del rows[int(rng.integers(2)) :]


KNOWING: tuple[Callable[[Generator, Rows], None], ...] = (
    *(_odd_field, _odd_field, _odd_column, _odd_column, _odd_names, _odd_names, _ragged),
    *(_long_field, _many_columns, _mixed_types, _no_rows, _other_decimals, _other_decimals),
)


def _written(rng: Generator, rows: Rows) -> str:
    """The rows as text; fields that need quotes mostly have them."""
    separator = pick(rng, SEPARATORS)
    end = pick(rng, ("\n", "\n", "\r\n", "\r"))
    quoting = pick(rng, ("needed", "needed", "always", "never"))

    def field(text: str) -> str:
        special = any(sign in text for sign in (separator, '"', "\n", "\r"))
        if quoting == "always" or (quoting == "needed" and special):
            return '"' + text.replace('"', '""') + '"'
        return text

    text = end.join(separator.join(map(field, row)) for row in rows)
    return text + pick(rng, ("", end, end, end * 3))


# --- changes of a text ---


def _stray_quotes(rng: Generator, text: str) -> str:
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(text) + 1))
        text = text[:place] + '"' + text[place:]
    return text


def _other_signs(rng: Generator, text: str) -> str:
    """Some separators or line ends become others."""
    signs = [*SEPARATORS, "\n", "\r", "\r\n", "\0", " "]
    old, new = pick(rng, signs[:5]), pick(rng, signs)
    return text.replace(old, new, int(pick(rng, (1, 3, -1))))


def _first_lines(rng: Generator, text: str) -> str:
    return (
        pick(rng, ("sep=;\n", "# a note\n", "\n\n", " \n", "\ufeff", "\ufeff\ufeff", "\0")) + text
    )


def _insert_field(rng: Generator, text: str) -> str:
    place = int(rng.integers(len(text) + 1))
    return text[:place] + pick(rng, FIELDS) + text[place:]


def _repeat_lines(rng: Generator, text: str) -> str:
    line = pick(rng, text.splitlines(keepends=True) or [""])
    return text + line * min(pick(rng, (1, 100, 3000)), 1 + 500_000 // max(1, len(line)))


TEXTUAL: tuple[Callable[[Generator, str], str], ...] = (
    *(_stray_quotes, _other_signs, _first_lines, _insert_field, _repeat_lines),
)


def _encoded(rng: Generator, text: str) -> bytes:
    """Mostly UTF-8; else another encoding, or two of them in one file."""
    kind = rng.random()
    if kind < 0.6:
        return text.encode("utf-8", "surrogatepass")
    if kind < 0.9:
        return text.encode(pick(rng, ENCODINGS), "replace")
    place = int(rng.integers(len(text) + 1))
    first, second = pick(rng, ENCODINGS), pick(rng, ENCODINGS)
    return text[:place].encode(first, "replace") + text[place:].encode(second, "replace")


def _packed(rng: Generator, content: bytes) -> bytes:
    """gzip, mostly damaged."""
    packed = gzip.compress(content, mtime=0)
    kind = int(rng.integers(6))
    if kind == 0:
        return packed
    if kind == 1:
        return packed[: int(rng.integers(2, len(packed)))]
    if kind == 2:
        return packed + pick(rng, (b"x" * 20, packed, packed[:15], b"\0" * 600))
    if kind == 3:
        return gzip.compress(packed, mtime=0)
    if kind == 4:
        return gzip.compress(b"", mtime=0) + packed
    spoiled = bytearray(packed)
    pick(rng, BLIND)(rng, spoiled)
    return b"\x1f\x8b" + bytes(spoiled[2:])


def _csv(rng: Generator) -> tuple[str, bytes]:
    rows = _sound_rows(rng)
    change: Any = None
    for _ in range(pick(rng, (0, 1, 1, 2))):
        change = pick(rng, KNOWING)
        change(rng, rows)
        if not rows:
            break
    text = _written(rng, rows)
    if change is None or rng.random() < 0.3:
        change = pick(rng, TEXTUAL)
        text = change(rng, text)
    content = _encoded(rng, text)
    how = change.__name__.strip("_")
    if content and rng.random() < 0.15:
        blob = bytearray(content)
        change = pick(rng, BLIND)
        change(rng, blob)
        how, content = change.__name__, bytes(blob)
    if rng.random() < 0.1:
        how, content = "gzip", _packed(rng, content)
    return f"CSV, {how}", content


# --- Parquet ---


NUMERIC = (pa.int8(), pa.uint8(), pa.int16(), pa.int64(), pa.uint64(), pa.float32(), pa.float64())
TIMES = (pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.time64("us"))
TEXTS = (pa.string(), pa.large_string(), pa.binary())


def _numbers(rng: Generator, n: int) -> Any:
    values, absent = rng.integers(0, 100, n), rng.random(n) < pick(rng, (0.0, 0.2, 1.0))
    return pa.array(values, mask=absent).cast(pick(rng, NUMERIC), safe=False)


def _extremes(rng: Generator, n: int) -> Any:
    return pa.array([pick(rng, (0.0, 1e300, -1e300, np.inf, np.nan, 5e-324)) for _ in range(n)])


def _halves(rng: Generator, n: int) -> Any:
    return pa.array(rng.random(n).astype(np.float16))


def _decimals(rng: Generator, n: int) -> Any:
    values = [decimal.Decimal(int(k)) / 8 for k in rng.integers(0, 100, n)]
    return pa.array(values, pa.decimal128(20, 6))


def _truths(rng: Generator, n: int) -> Any:
    return pa.array(rng.random(n) < 0.5, mask=rng.random(n) < 0.1)


def _times(rng: Generator, n: int) -> Any:
    absent = pick(rng, (0.1, 1.0))
    values = [None if rng.random() < absent else int(k) for k in rng.integers(0, 100, n)]
    return pa.array(values, pick(rng, (*TIMES, pa.duration("ns"))))


def _texts(rng: Generator, n: int) -> Any:
    values = [pick(rng, (*WORDS, *FIELDS[:20], None)) for _ in range(n)]
    return pa.array(values, pick(rng, TEXTS))


def _categories(rng: Generator, n: int) -> Any:
    texts = [pick(rng, (*WORDS, None)) for _ in range(n)]
    return pa.array(texts, pa.string()).dictionary_encode()


def _nested(rng: Generator, n: int) -> Any:
    values = pick(rng, ([[1, 2]], [{"a": 1, "b": "x"}], [[]], [[{"a": [1]}]]))
    return pa.array(values * n)


def _nothing(rng: Generator, n: int) -> Any:
    return pa.nulls(n)


TYPED: tuple[Callable[[Generator, int], Any], ...] = (
    *(_numbers, _numbers, _extremes, _halves, _decimals, _truths, _times, _texts, _texts),
    *(_categories, _nested, _nothing),
)


def _parquet(rng: Generator) -> tuple[str, bytes]:
    n = int(pick(rng, (0, 1, 3, 20, 60)))
    width = int(pick(rng, (0, 1, 2, 4, 6)))
    odd = rng.random() < 0.2
    names = [pick(rng, WRITABLE) if odd else f"x{j}" for j in range(width)]
    table = pa.table([pick(rng, TYPED)(rng, n) for _ in names], names=names)
    stream = io.BytesIO()
    parquet.write_table(
        table,
        stream,
        compression=pick(rng, ("snappy", "none", "gzip", "zstd", "lz4", "brotli")),
        use_dictionary=bool(rng.random() < 0.5),
        data_page_version=pick(rng, ("1.0", "2.0")),
        version=pick(rng, ("1.0", "2.6")),
        write_page_checksum=bool(rng.random() < 0.2),
        row_group_size=int(pick(rng, (1, 7, 1000))),
    )
    blob = bytearray(stream.getvalue())
    if rng.random() < 0.15:
        return "Parquet, as written", bytes(blob)
    for _ in range(pick(rng, (1, 1, 2))):
        change = pick(rng, (*BLIND, _footer, _footer, _footer_length))
        change(rng, blob)
        blob = blob or bytearray(b"PAR1")  # all of it was cut off
    # The first four bytes say that it is Parquet; without them it is a spoiled text file.
    if rng.random() < 0.9:
        blob[:4] = b"PAR1"
    return f"Parquet, {change.__name__.strip('_')}", bytes(blob)


def _footer(rng: Generator, blob: bytearray) -> None:
    """Bytes of the description of the columns, which stands at the end."""
    length = int.from_bytes(blob[-8:-4], "little")
    begin = max(4, len(blob) - 8 - length)
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(begin, max(begin + 1, len(blob) - 8)))
        blob[place % len(blob)] = int(rng.integers(256))


def _footer_length(rng: Generator, blob: bytearray) -> None:
    length = int.from_bytes(blob[-8:-4], "little") + int(rng.integers(-16, 17))
    chosen = pick(rng, (length, 0, len(blob), 1 << 31, (1 << 32) - 1))
    blob[-8:-4] = int(np.clip(chosen, 0, (1 << 32) - 1)).to_bytes(4, "little")


def spoiled(rng: Generator) -> tuple[str, bytes]:
    """A table file and how it was made odd: what it was, and the last change."""
    return _parquet(rng) if rng.random() < 0.25 else _csv(rng)
