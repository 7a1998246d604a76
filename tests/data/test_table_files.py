"""Table files: what is found out about them, and what is refused."""

import gzip
import os
import time
from pathlib import Path
from threading import Thread

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from stablepred.data import TableEncoder, read_table
from stablepred.exceptions import InputError, TableWarning
from stablepred.tables import files as tables
from stablepred.tables.files import open_table


@pytest.fixture
def written(tmp_path):
    """Write text or bytes to a file and give its path."""

    def write(content, name="table.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


def rows(path):
    return read_table(path).to_numpy(dtype=object).tolist()


# --- what is found out ---


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(written, separator):
    path = written(f"a{separator}b\n1{separator}x\n2{separator}y\n")
    assert open_table(path).separator == separator
    assert rows(path) == [["1", "x"], ["2", "y"]]


def test_commas_inside_numbers_do_not_make_a_comma_the_separator(written):
    path = written("price;weight\n1,5;2,5\n3,5;4,5\n")
    assert open_table(path).columns == ["price", "weight"]


def test_commas_inside_quotes_do_not_count(written):
    path = written('name;n\n"a,b";1\n"c,d";2\n')
    assert rows(path) == [["a,b", "1"], ["c,d", "2"]]


def test_a_file_of_one_column_keeps_its_empty_lines_as_missing_values(written):
    assert rows(written("a\n1\n\n3\n")) == [["1"], [""], ["3"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_empty_lines_before_the_header_of_one_column_are_no_rows(written, end, encoding):
    """They once made the header a row of data."""
    path = written(f"{end}{end}a{end}1{end}{end}3{end}", encoding=encoding)
    assert open_table(path).columns == ["a"]
    assert rows(path) == [["1"], [""], ["3"]]


def test_a_second_byte_order_mark_changes_neither_names_nor_types(written):
    """It once made Arrow guess the types of the first column."""
    path = written("\ufeff\ufeffa,b\n007,true\n")
    assert open_table(path).columns == ["a", "b"]
    assert rows(path) == [["007", "true"]]


def test_empty_lines_of_wider_files_are_no_rows(written):
    assert rows(written("a,b\n1,2\n\n3,4\n\n")) == [["1", "2"], ["3", "4"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_encoding_is_found(written, encoding):
    path = written("naïve,b\né,1\n€,2\n", encoding=encoding)
    frame = open_table(path).read()
    assert list(frame.columns) == ["naïve", "b"]
    assert frame["naïve"].tolist() == ["é", "€"]


def test_the_format_is_said_in_words(written):
    path = written("a;b\né;1\n", encoding="cp1252")
    assert open_table(path).format == "CSV, separator ';', cp1252"


def test_lines_may_end_as_on_windows(written):
    assert rows(written("a,b\r\n1,2\r\n")) == [["1", "2"]]


def test_a_quoted_field_may_hold_line_ends(written):
    assert rows(written('a,b\n"x\ny",2\n')) == [["x\ny", "2"]]


def test_gzip_is_recognised_by_content(written):
    path = written(gzip.compress(b"a,b\n1,2\n"), name="no-suffix")
    assert rows(path) == [["1", "2"]]


def test_names_are_trimmed_and_an_empty_one_is_numbered(written):
    assert open_table(written(",b , c\n1,2,3\n")).columns == ["column 1", "b", "c"]


def test_the_columns_of_a_csv_file_are_text(written):
    frame = read_table(written("a,b\n007,1.50\n"))
    assert frame.to_numpy(dtype=object).tolist() == [["007", "1.50"]]


def test_only_the_columns_asked_for_are_read_in_the_order_asked(written):
    frame = read_table(written("a,b,c\n1,2,3\n"), ["c", "a"])
    assert list(frame.columns) == ["c", "a"]
    assert frame.iloc[0].tolist() == ["3", "1"]


def test_pieces_put_together_are_the_table(tmp_path, monkeypatch):
    path = tmp_path / "long.csv"
    frame = pd.DataFrame({"n": np.arange(5000).astype(str), "t": "some text"})
    frame.to_csv(path, index=False)
    monkeypatch.setattr(tables, "BLOCK", 10_000)
    pieces = list(open_table(path).pieces())
    assert len(pieces) > 3
    assert pd.concat(pieces)["n"].tolist() == frame["n"].tolist()


def test_parquet_is_read_with_its_types(tmp_path):
    path = tmp_path / "table.data"
    frame = pd.DataFrame(
        {"n": [1, 2], "x": [0.5, None], "t": ["a", None], "f": [True, False]}, index=[7, 9]
    )
    frame.to_parquet(path)
    file = open_table(path)
    assert (file.format, file.columns) == ("Parquet", ["n", "x", "t", "f"])
    read = file.read()
    assert read["n"].tolist() == [1, 2]
    assert read["f"].tolist() == [True, False]
    assert read["t"].isna().tolist() == [False, True]
    assert list(file.read(["f", "n"]).columns) == ["f", "n"]


# --- what is refused ---

REFUSED = {
    "an empty file": ("", "is empty"),
    "a file of blanks": (" \n\n", "is empty"),
    "a header alone": ("a,b\n", "has a header but no rows"),
    "a short row": ("a,b\n1,2\n3\n", r"row 3 \(the header is row 1\) has 1 fields .* header has 2"),
    "a long row": ("a,b\n1,2\n3,4,5\n", r"row 3 .* has 3 fields"),
    "an open quote": ('a,b\n"x,2\n3,4\n', "quote is opened there and never closed"),
    "repeated names": ("a,b,a\n1,2,3\n", "names of columns repeat: 'a'"),
    "names repeated up to blanks": ("a,b, a\n1,2,3\n", "names of columns repeat: 'a'"),
    "zero bytes": (b"a,b\n\0\1\2,3\n", "not a text file"),
    "UTF-32": ("a,b\n1,2\n".encode("utf-32"), "not a text file"),
    "a workbook": (b"PK\x03\x04rest", "Excel"),
    "a damaged Parquet file": (b"PAR1 and no more", "damaged Parquet"),
    "a damaged gzip file": (gzip.compress(b"a,b\n1,2\n")[:-9], "damaged gzip"),
    "half UTF-16": ("a,b\n1,2\n".encode("utf-16") + b"\x01", "UTF-16"),
}


REFUSED["a header without end"] = (", " * 20_000 + "\n1\n", "header of 20,001 columns")
REFUSED["too many columns"] = (",".join(f"n{k}" for k in range(10_001)) + "\n", "10,001 columns")


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_reason(written, case):
    content, reason = REFUSED[case]
    with pytest.raises(InputError, match=reason):
        read_table(written(content))


def test_a_byte_that_breaks_utf_8_is_named_by_its_line(written):
    content = "a,b\né,1\nü,2\n".encode() + b"\xe9,3\n"
    with pytest.raises(InputError, match="line 4: a byte that is not valid in UTF-8"):
        read_table(written(content))


def test_a_missing_file_is_named_with_the_nearest_one(written):
    path = written("a\n1\n", name="customers.csv")
    with pytest.raises(InputError, match=r"no file .*custmers.csv. Did you mean 'customers.csv'"):
        read_table(path.with_name("custmers.csv"))


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no folder .*nowhere"):
        read_table(tmp_path / "nowhere" / "table.csv")


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path)


def test_an_enormous_field_is_refused(written, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK", 10_000)
    with pytest.raises(InputError, match="quote that is never closed"):
        read_table(written('a,b\n1,2\n3,"' + "x" * 50_000 + '"\n'))


def test_a_long_field_is_no_problem(written):
    long = "x" * 500_000
    assert rows(written(f"a,b\n1,{long}\n")) == [["1", long]]


def test_an_unknown_column_is_answered_with_the_nearest_names(written):
    with pytest.raises(InputError, match=r"'Income' is not in the table. Did you mean 'income'"):
        read_table(written("income,age\n1,2\n"), ["Income"])


def test_a_parquet_file_without_rows_is_refused(tmp_path):
    path = tmp_path / "none.parquet"
    pd.DataFrame({"a": np.array([], dtype=float)}).to_parquet(path)
    with pytest.raises(InputError, match="no rows"):
        read_table(path)


def test_damage_in_the_pages_of_a_parquet_file_is_said(tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": np.arange(200.0)}).to_parquet(path)
    blob = bytearray(path.read_bytes())
    blob[4:60] = bytes(56)
    path.write_bytes(blob)
    with pytest.raises(InputError, match="damaged Parquet"):
        read_table(path)


def test_two_columns_without_a_name_in_a_parquet_file_are_refused(tmp_path):
    path = tmp_path / "table.parquet"
    pa_parquet.write_table(pa.table([pa.array([1]), pa.array([2])], names=["", ""]), path)
    with pytest.raises(InputError, match="names of columns repeat: ''"):
        read_table(path)


@pytest.mark.parametrize("text", [b"name", b"value"])
def test_text_in_a_parquet_file_that_is_not_utf_8_is_said(tmp_path, text):
    path = tmp_path / "table.parquet"
    table = pa.table({"name": ["value", "other"]})
    pa_parquet.write_table(table, path, compression="none", store_schema=False)
    path.write_bytes(path.read_bytes().replace(text, b"\xff" * len(text)))
    with pytest.raises(InputError, match="damaged Parquet"):
        read_table(path)


# --- what was once silent ---


@pytest.mark.parametrize("categorical", [False, True])
def test_a_dictionary_of_a_parquet_file_gives_the_features_of_its_values(tmp_path, categorical):
    values = pa.array(["1", "2", "3", None] * 3)
    table = pa.table({"a": values.dictionary_encode(), "b": values})
    if categorical:
        table = pd.DataFrame({"a": pd.Categorical(values.to_pylist()), "b": values.to_pylist()})
        table.to_parquet(tmp_path / "table.parquet")
    else:
        pa_parquet.write_table(table, tmp_path / "table.parquet")
    frame = read_table(tmp_path / "table.parquet")
    assert frame["a"].dtype == frame["b"].dtype
    features = TableEncoder(dichotomize="mean").fit_transform(frame[["a"]])
    assert list(features) == ["a>2", "a is missing"]
    both = TableEncoder().fit_transform(frame)
    assert both["a"].tolist() == both["b"].tolist()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes there")
@pytest.mark.parametrize("kind", ["csv", "gzip", "parquet"])
def test_a_pipe_is_read_like_a_file(tmp_path, kind):
    """It was once called empty, since it can be read only once."""
    frame = pd.DataFrame({"a": ["1", "2"], "b": ["x", "y"]})
    text = frame.to_csv(index=False).encode()
    content = {"csv": text, "gzip": gzip.compress(text), "parquet": frame.to_parquet()}[kind]
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=(tmp_path / "pipe").write_bytes, args=[content])
    writer.start()
    assert rows(tmp_path / "pipe") == [["1", "x"], ["2", "y"]]
    writer.join()


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="no such device")
def test_a_device_is_no_table():
    with pytest.raises(InputError, match="is a device, not a file"):
        read_table("/dev/null")


@pytest.mark.skipif(
    pd.__version__ < "3", reason="pandas 2 itself takes seconds for thousands of Arrow columns"
)
def test_thousands_of_columns_are_found_by_name_at_once(written):
    """Each name was once looked for among all others."""
    names = [f"n{k}" for k in range(9_900)]
    path = written(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    file = open_table(path)
    started = time.process_time()
    assert file.read().shape == (1, 9_900)
    assert time.process_time() - started < 2  # some tenths of a second


@pytest.mark.parametrize("header", ["a,b|c", "a|b,c,d"])
def test_a_header_with_two_separators_is_refused_unless_one_is_preferred(written, header):
    path = written(f"{header}\n" + header.replace("a", "1") + "\n")
    if header.count(",") > 1:
        with pytest.raises(InputError, match=r"with separator '\|' or ',', in 2 or 3 columns"):
            read_table(path)
    else:
        assert open_table(path).separator == "|"


def test_the_first_line_that_excel_writes_is_refused(written):
    with pytest.raises(InputError, match="begins with 'sep=;', a line for Excel"):
        read_table(written("sep=;\na;b\n1;2\n"))


def test_an_encoding_that_is_assumed_is_warned_of(written):
    with pytest.warns(TableWarning, match="is not UTF-8: read as cp1252"):
        read_table(written("a,b\né,1\n", encoding="cp1252"))


def test_a_first_line_that_seems_to_hold_data_is_warned_of(written):
    with pytest.warns(TableWarning, match="columns named '1.5', ... The first line seems to hold"):
        read_table(written("1.5,2\n3,4\n"))
    assert open_table(written("2019,2020\n3,4\n")).notes == []


def test_a_name_of_very_many_digits_is_read_at_once(tmp_path):
    """A pattern with two ways to share out the digits would take longer than anyone waits."""
    name = "9" * 500_000 + "x"
    (tmp_path / "table.csv").write_text(f"{name},b\n1,2\n")
    assert list(read_table(tmp_path / "table.csv").columns) == [name, "b"]
