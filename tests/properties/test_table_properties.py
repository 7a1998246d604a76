"""What holds for reading and encoding tables, however odd they are."""

import csv
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from stablepred.data import TableEncoder, fit_table, read_table
from stablepred.exceptions import InputError

TOOLS = Path(__file__).parents[2] / "tools"
pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
# One folder for all examples: every example writes the file anew.
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

WORDS = st.sampled_from(["1", "0", "2.5", "1,5", "", "NA", "cook", "true", "2020-01-31", "1e999"])
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=6)
SEPARATORS = st.sampled_from(",;\t|")


@st.composite
def text_tables(draw):
    """Names and rows of text, two columns or more."""
    width = draw(st.integers(2, 4))
    names = draw(
        st.lists(TEXT.map(str.strip).filter(bool), min_size=width, max_size=width, unique=True)
    )
    row = st.lists(WORDS | TEXT, min_size=width, max_size=width)
    return names, draw(st.lists(row, min_size=1, max_size=8))


def write_csv(path, names, rows, separator, encoding="utf-8"):
    with path.open("w", encoding=encoding, newline="") as stream:
        writer = csv.writer(stream, delimiter=separator, quoting=csv.QUOTE_ALL)
        writer.writerows([names, *rows])


@SAME_FOLDER
@given(text_tables(), SEPARATORS, st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_what_is_written_comes_back(tmp_path, table, separator, encoding):
    names, rows = table
    write_csv(tmp_path / "table.csv", names, rows, separator, encoding)
    frame = read_table(tmp_path / "table.csv")
    assert list(frame.columns) == names
    assert frame.to_numpy(dtype=object).tolist() == rows


@SAME_FOLDER
@given(st.binary(max_size=200))
def test_any_bytes_are_a_table_or_refused(tmp_path, blob):
    (tmp_path / "table").write_bytes(blob)
    try:
        frame = read_table(tmp_path / "table")
    except InputError:
        return
    assert len(frame) > 0
    assert frame.columns.is_unique


def encoded(frame, dichotomize=None, names=()):
    """An encoder fitted on a frame, or None where it is refused (by the name of a column)."""
    try:
        return TableEncoder(dichotomize=dichotomize).fit(frame)
    except InputError as error:
        refusal = str(error)
    assert not names or any(f"'{name}'" in refusal for name in names), refusal
    return None


# --- one table in many files ---

MODES = st.sampled_from([None, "mean", "median"])

ODD_WORDS = st.sampled_from(
    ["x", "y", "zebra", "two words", "é;,", 'quo"te', "7up", "x,y", "tab\t."]
)
ROW = st.tuples(
    st.floats(-1e6, 1e6, allow_subnormal=False) | st.none(),
    st.integers(-5, 500),
    st.decimals(-99, 99, places=2).map(float) | st.none(),
    ODD_WORDS | st.none(),
    st.booleans() | st.none(),
)


def save_as_csv(frame, path, separator, mark, encoding, quoting):
    frame.to_csv(path, sep=separator, decimal=mark, encoding=encoding, quoting=quoting, index=False)
    return read_table(path)


def save_as_parquet(frame, path, dictionary):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if dictionary:
        words = table["word"].cast(pa.string()).combine_chunks().dictionary_encode()
        table = table.set_column(table.column_names.index("word"), "word", words)
    parquet.write_table(table, path)
    return read_table(path)


def in_all_forms(frame, path):
    """The table after a way through each kind of file and frame."""
    for separator, mark in (
        (",", "."),
        (";", ","),
        (";", "."),
        ("\t", ","),
        ("\t", "."),
        (",", ","),
    ):
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
                how = separator, mark, encoding, quoting
                yield how, lambda how=how: save_as_csv(frame, path, *how)
    for dictionary in (False, True):
        yield ("parquet", dictionary), lambda d=dictionary: save_as_parquet(frame, path, d)
    yield "nullable", frame.convert_dtypes
    yield "arrow", lambda: frame.convert_dtypes(dtype_backend="pyarrow")
    yield "categories", lambda: frame.astype({"word": "category"})
    yield "polars", lambda: pytest.importorskip("polars").from_pandas(frame)
    yield "pyarrow", lambda: pa.Table.from_pandas(frame)
    yield "columns", lambda: frame[frame.columns[::-1]]


@settings(SAME_FOLDER, max_examples=15, deadline=None)
@given(st.lists(ROW, min_size=2, max_size=12), st.sampled_from([1, 11]), MODES)
def test_a_table_has_the_same_features_in_every_file_or_is_refused_by_name(
    tmp_path, rows, times, dichotomize
):
    names = ["float", "integer", "decimal", "word", "truth"]
    frame = pd.DataFrame(rows * times, columns=names)
    frame["truth"] = frame["truth"].astype(object)
    encoder = encoded(frame, dichotomize)
    assume(encoder is not None)
    expected = encoder.transform(frame)
    for how, read in in_all_forms(frame, tmp_path / "table"):
        other = read()
        own = encoded(other, dichotomize, names)
        if own is None:
            continue
        same_features(own.transform(other), expected, how)
        if ("point", "comma") not in zip_styles(encoder, own):
            same_features(encoder.transform(other), expected, how)
            same_features(own.transform(frame), expected, how)


@settings(SAME_FOLDER, max_examples=3, deadline=None)
@given(st.lists(ROW, min_size=2, max_size=8))
def test_a_table_gives_the_same_model_and_predictions_in_every_file_or_is_refused(tmp_path, rows):
    frame = pd.DataFrame(rows * 12, columns=["float", "integer", "decimal", "word", "truth"])
    frame["truth"] = frame["truth"].astype(object)
    frame["y"] = ["no", "no", "yes"] * (len(frame) // 3)

    def fitted(table):
        try:
            return fit_table(table, "y", LogisticRegression())
        except InputError:
            return None

    model = fitted(frame)
    assume(model is not None)
    expected = model.predict_proba(frame)
    for how, read in in_all_forms(frame, tmp_path / "table"):
        other = read()
        if (again := fitted(other)) is not None:
            found = again.predict_proba(other)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9, err_msg=str(how))
            assert again.target == model.target


def same_features(found, expected, how):
    found = found[expected.columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected, obj=str(how), check_exact=True)


def zip_styles(encoder, other):
    """How each column of numbers was written for one encoder and for another."""
    styles = {column.name: getattr(column, "style", "") for column in other.columns_}
    return [(getattr(column, "style", ""), styles[column.name]) for column in encoder.columns_]


@given(text_tables(), st.data(), MODES, st.sampled_from([1, 12]))
def test_features_are_the_same_whatever_the_order_of_the_rows(table, data, dichotomize, times):
    """Finite numbers, and only 0 and 1 where they are cut."""
    names, rows = table
    frame = pd.DataFrame(rows * times, columns=names)
    encoder = encoded(frame, dichotomize)
    assume(encoder is not None)
    features = encoder.transform(frame)
    assert np.isfinite(features.to_numpy()).all()
    if dichotomize is not None:
        assert np.isin(features.to_numpy(), (0, 1)).all()
    order = data.draw(st.permutations(range(len(frame))))
    again = encoded(frame.iloc[order], dichotomize).transform(frame)
    pd.testing.assert_frame_equal(again, features)


DECIMALS = st.decimals(-9_999_999, 9_999_999, places=2) | st.decimals(0, 9_999, places=3)


@given(
    st.lists(DECIMALS | st.integers(-9_999_999, 9_999_999), min_size=2, max_size=8),
    st.sampled_from([".", ","]),
    st.booleans(),
    st.booleans(),
)
def test_numbers_are_read_as_they_were_written_or_refused(values, mark, grouped, shortest):
    """Or all of them are scaled alike, which the notes tell and the features do not."""
    other = {".": ",", ",": "."}[mark]
    swap = str.maketrans({",": other, ".": mark})
    texts = [f"{value:{',' * grouped}}" for value in values]
    texts = [text.rstrip("0").rstrip(".") if shortest and "." in text else text for text in texts]
    written = pd.DataFrame({"a": [text.translate(swap) for text in texts]}, dtype="str")
    typed = pd.DataFrame({"a": np.array(values, dtype=float)})
    encoder, expected = encoded(written, "mean"), encoded(typed, "mean")
    assume(encoder is not None and expected is not None)
    np.testing.assert_array_equal(
        encoder.transform(written).to_numpy(), expected.transform(typed).to_numpy()
    )
    if "they may be thousands" not in str(encoder.notes_):
        cut = expected.columns_[0].cut
        assert encoder.columns_[0].cut == pytest.approx(cut, rel=1e-9, abs=1e-9)


@given(text_tables(), MODES, st.sampled_from([1, 12]))
def test_rows_are_encoded_one_by_one_as_together(table, dichotomize, times):
    names, rows = table
    frame = pd.DataFrame(rows * times, columns=names)[: 2 * len(rows)]
    encoder = encoded(pd.DataFrame(rows * times, columns=names), dichotomize)
    assume(encoder is not None)
    single = pd.concat([encoder.transform(frame[k : k + 1]) for k in range(len(frame))])
    pd.testing.assert_frame_equal(single, encoder.transform(frame))


# --- the tool that spoils tables ---


@pytest.fixture(scope="module")
def fuzz():
    """The tool that spoils tables."""
    if not (TOOLS.is_dir() and Path("/proc/self/clear_refs").exists()):
        pytest.skip("needs the folder tools, and Linux to count memory")
    sys.path.insert(0, str(TOOLS))
    try:
        spec = importlib.util.spec_from_file_location("fuzz_tables", TOOLS / "fuzz_tables.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules["fuzz_tables"] = module
        spec.loader.exec_module(module)
        module.SECONDS = float("inf")  # nothing is timed in a test
        yield module
    finally:
        sys.path.remove(str(TOOLS))
        sys.modules.pop("fuzz_tables", None)


@SAME_FOLDER
@given(number=st.integers(0, 1 << 32))
def test_a_spoiled_table_is_refused_or_sound(fuzz, number):
    assert fuzz.tally_of(range(number, number + 1), seed=0).findings == []


def test_a_small_run_of_the_fuzz_tool_finds_nothing(fuzz):
    tally = fuzz.tally_of(range(200), seed=2)
    assert tally.findings == []
    assert sum(tally.counts.values()) == 200
    assert {"refused, CSV", "loaded, CSV", "refused, Parquet"} <= set(tally.counts)
    assert "| **findings** | 0 |" in fuzz.as_markdown(fuzz.record(tally, 200, 2))


def test_the_fuzz_tool_notices_what_it_looks_for(fuzz, monkeypatch, tmp_path):
    """A reader that breaks, that reads other fields, or takes too much would not go unseen."""
    path = tmp_path / "table"
    path.write_text("a,b\n1,2\n3,4\n")
    assert fuzz.observed(path, encode=True).verdict == "loaded"
    read = fuzz.CsvFile.read
    monkeypatch.setattr(fuzz.CsvFile, "read", lambda self: read(self)[:1])
    assert "pieces" in fuzz.observed(path, encode=False).detail
    monkeypatch.setattr(fuzz.CsvFile, "read", lambda self: 1 / 0)
    assert fuzz.observed(path, encode=False).verdict == "failed"
    monkeypatch.setattr(fuzz.CsvFile, "read", lambda self: bytearray(1 << 29) and 1 / 0)
    seen = fuzz.observed(path, encode=False)
    assert seen.peak > 1 << 28
    tally = fuzz.tally_of(range(0), seed=0)
    seen.verdict = "refused"
    tally.add(0, "CSV", "change", 12, seen)
    assert len(tally.findings) == 1
