"""Distinct rows counted where a table lives: the same on every engine, and what is refused."""

import gzip
import os
import sys
from collections import Counter
from threading import Thread

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stablepred import Dichotomizer
from stablepred.data import count_patterns
from stablepred.exceptions import InputError, TableWarning
from stablepred.tables.engines import open_frame

duckdb = pytest.importorskip("duckdb", reason="the extra 'tables' is not installed")
pytest.importorskip("narwhals", reason="the extra 'tables' is not installed")


@pytest.fixture(scope="module")
def frame():
    """Columns of every kind that is taken: 0/1, true and false, two values, many values."""
    rng = np.random.default_rng(0)
    n = 400
    return pd.DataFrame(
        {
            "bit": rng.integers(0, 2, n),
            "truth": rng.random(n) < 0.3,
            "one or two": rng.integers(1, 3, n),
            "count": rng.integers(0, 7, n),
            "share": rng.random(n).round(2),
            "halves": rng.choice([0.5, 2.5], n),
            "always": 3,
            "bought": np.where(rng.random(n) < 0.4, "yes", "no"),
        }
    )


def expected(frame, target, strategy="mean"):
    """Rows cut by `Dichotomizer` and counted one by one."""
    names = [name for name in frame if name != target]
    bits = Dichotomizer(strategy=strategy).fit_transform(frame[names].to_numpy(dtype=float))
    rows = zip(bits.astype(int).tolist(), frame[target].tolist(), strict=True)
    return Counter((*row, outcome) for row, outcome in rows)


def as_counter(patterns):
    rows = zip(patterns.X.to_numpy().tolist(), patterns.y.tolist(), patterns.count, strict=True)
    return Counter({(*row, outcome): int(count) for row, outcome, count in rows})


def same(one, other):
    pd.testing.assert_frame_equal(one.X, other.X)
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(one.count, other.count)
    assert (one.dichotomizer is None) == (other.dichotomizer is None)
    for name in ("thresholds_", "tolerances_") if one.dichotomizer else ():
        theirs, ours = (getattr(part.dichotomizer, name) for part in (one, other))
        np.testing.assert_allclose(theirs, ours, rtol=1e-14)


# --- what is counted ---


@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_patterns_are_the_rows_that_a_dichotomizer_makes(frame, strategy):
    patterns = count_patterns(frame, "bought", dichotomize=strategy)
    assert as_counter(patterns) == expected(frame, "bought", strategy)
    assert patterns.count.sum() == len(frame)
    names = list(patterns.X.columns)
    ours, cutter = patterns.dichotomizer, Dichotomizer(strategy=strategy)
    cutter.fit(frame[names].to_numpy(dtype=float))
    np.testing.assert_allclose(ours.thresholds_, cutter.thresholds_, rtol=1e-14)
    np.testing.assert_allclose(ours.tolerances_, cutter.tolerances_, rtol=1e-14)
    assert (ours.strategy, ours.n_features_in_) == (strategy, len(names))


def test_patterns_are_sorted(frame):
    patterns = count_patterns(frame.sample(frac=1, random_state=0), "bought")
    rows = [tuple(row) for row in patterns.X.assign(y=patterns.y).to_numpy().tolist()]
    assert rows == sorted(rows)


def test_only_the_named_features_count(frame):
    patterns = count_patterns(frame, "bought", features=["truth", "bit"])
    assert list(patterns.X.columns) == ["truth", "bit"]
    assert len(patterns.count) == 8


def test_without_a_target_the_features_alone_are_counted(frame):
    patterns = count_patterns(frame, features=["truth", "bit"])
    assert patterns.y is None
    assert len(patterns.count) == 4


def test_columns_of_0_and_1_are_taken_as_they_are_without_cuts(frame):
    patterns = count_patterns(frame, "bought", features=["bit", "truth"], dichotomize=None)
    assert patterns.dichotomizer is None
    assert patterns.count.sum() == len(frame)


def test_numbers_that_are_not_cut_are_counted_as_they_are(frame):
    patterns = count_patterns(frame, "bought")
    rows = frame[[*patterns.X.columns, "bought"]].astype(float, errors="ignore")
    assert as_counter(patterns) == Counter(map(tuple, rows.to_numpy().tolist()))
    assert patterns.dichotomizer is None


# --- engines ---


ENGINES = {
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "polars": pl.from_pandas,
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": lambda frame: duckdb.from_df(frame),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_every_engine_counts_the_same(frame, engine, strategy):
    found = count_patterns(ENGINES[engine](frame), "bought", dichotomize=strategy)
    same(found, count_patterns(frame, "bought", dichotomize=strategy))


def test_dask_counts_the_same(frame):
    dask = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
    same(
        count_patterns(dask.from_pandas(frame, npartitions=3), "bought"),
        count_patterns(frame, "bought"),
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of what Spark thinks of pandas and of this machine
def test_spark_counts_the_same(frame, spark):
    rows = spark.createDataFrame(frame.to_dict("records"))
    names = [name for name in frame if name != "bought"]
    for options in ({"features": names}, {"features": ["count"], "dichotomize": "median"}):
        same(count_patterns(rows, "bought", **options), count_patterns(frame, "bought", **options))


# --- files ---


def test_a_parquet_file_is_counted(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet")
    same(count_patterns(tmp_path / "rows.parquet", "bought"), count_patterns(frame, "bought"))


def test_row_labels_that_pandas_stores_are_no_column(frame, tmp_path):
    frame.set_axis(np.arange(len(frame)) * 2).to_parquet(tmp_path / "rows.parquet", index=True)
    same(count_patterns(tmp_path / "rows.parquet", "bought"), count_patterns(frame, "bought"))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_file_is_counted(frame, tmp_path, separator):
    frame.to_csv(tmp_path / "rows.csv", index=False, sep=separator)
    same(count_patterns(str(tmp_path / "rows.csv"), "bought"), count_patterns(frame, "bought"))


def test_a_packed_csv_file_is_counted_whatever_its_name(frame, tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    same(count_patterns(path, "bought"), count_patterns(frame, "bought"))


def test_the_type_of_a_csv_column_is_that_of_all_its_values(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("a,y\n" + "0,0\n1,1\n" * 30_000 + "0.5,1\n")
    patterns = count_patterns(path, "y", dichotomize="mean")
    assert patterns.dichotomizer.thresholds_[0] == pytest.approx(0.5)
    assert dict(zip(patterns.X["a"], patterns.count, strict=False)) == {0: 1.0, 1: 30_000.0}


@pytest.mark.parametrize(
    ("words", "classes"),
    [(("yes", "no"), ["no", "yes"]), (("t", "f"), ["f", "t"]), (("TRUE", "false"), [False, True])],
)
def test_words_in_a_csv_file_are_read_as_pandas_reads_them(tmp_path, words, classes):
    path = tmp_path / "words.csv"
    path.write_text(f"a,y\n0,{words[0]}\n1,{words[1]}\n")
    assert sorted(count_patterns(path, "y").y.tolist()) == classes
    assert sorted(pd.read_csv(path)["y"].tolist()) == classes


def test_nothing_is_printed_however_long_it_takes(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet")
    with open_frame(tmp_path / "rows.parquet") as rows:
        setting = "select current_setting('enable_progress_bar')"
        assert rows.to_native().query("rows", setting).fetchall() == [(False,)]


def test_counting_leaves_no_file_behind(frame, tmp_path, monkeypatch):
    frame.to_parquet(tmp_path / "rows.parquet")
    monkeypatch.chdir(tmp_path)
    count_patterns("rows.parquet", "bought")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


# --- what is refused ---


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"target": "bougt"}, r"target 'bougt' is not in the table. Did you mean 'bought'"),
        ({}, {"features": ["bits"]}, r"feature 'bits' is not in the table. Did you mean 'bit'\?"),
        ({}, {"features": ["bit", "bit"]}, "names of columns repeat: 'bit'"),
        ({}, {"features": ["bit", "bought"]}, "'bought' is the target; it cannot be a feature"),
        ({}, {"features": []}, "no feature is left"),
        ({"bought": "yes"}, {}, "target 'bought' must have two values, but has only one value"),
        ({"bought": ["a", "b", "c", "d"] * 100}, {}, "has more: 'a', 'b', 'c', 'd'. Recode"),
        ({"bought": range(400)}, {}, r"must have two values, but has more: .*, \.\.\.\. Recode"),
        ({"bought": [None, "yes"] * 200}, {}, r"missing values in 'bought' \(200 rows\)"),
        ({"bought": [np.nan, 1.0] * 200}, {}, r"missing values in 'bought' \(200 rows\)"),
        (
            {"share": [np.nan, 1.0] * 200, "bit": [np.nan] + [0.5] * 399},
            {},
            r"missing values in 'bit' \(1 row\), 'share' \(200 rows\). Fill them in",
        ),
        ({"share": [np.inf, 1.0] * 200}, {}, "infinite values, or too large ones, in share"),
        ({"job": "clerk"}, {}, r"must be numbers or booleans, but are not: 'job' \(String"),
    ],
)
@pytest.mark.parametrize("engine", ["pandas", "duckdb", "dask"])
def test_dirty_input_is_refused_by_name(frame, engine, change, options, message):
    table = frame.assign(**change)
    if engine == "duckdb":
        table = duckdb.from_df(table)
    elif engine == "dask":
        dask = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
        table = dask.from_pandas(table, npartitions=2)
    with pytest.raises(InputError, match=message):
        count_patterns(table, **{"target": "bought"} | options)


def test_a_table_without_rows_is_refused(frame):
    with pytest.raises(InputError, match="the table has no rows"):
        count_patterns(frame.iloc[:0], "bought")


@pytest.mark.parametrize("table", [np.zeros((3, 2)), {"a": [1]}, 7, pd.Series([1])])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(InputError, match="must be the path of a Parquet or CSV file, or a frame"):
        count_patterns(table, "y")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("a,y\n0,1\n")
    with pytest.raises(InputError, match=r"there is no file .*row.csv. Did you mean 'rows.csv'"):
        count_patterns(tmp_path / "row.csv", "y")
    with pytest.raises(InputError, match="is a folder"):
        count_patterns(tmp_path, "y")


def test_a_damaged_file_is_refused(frame, tmp_path):
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    content = bytearray(path.read_bytes())
    content[4:200] = bytes(196)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"rows.parquet cannot be counted"):
        count_patterns(path, "bought")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("name", ["data[1]", "a*", "a?", "[[]", 'é\'s "x"'])
def test_the_name_of_a_file_is_taken_literally(frame, tmp_path, kind, name):
    """A name with brackets once gave the rows of another file."""
    for stem, part in {"data1": frame[:9], "ab": frame[:9], "[": frame[:9], name: frame}.items():
        path = tmp_path / f"{stem}.{kind}"
        part.to_parquet(path) if kind == "parquet" else part.to_csv(path, index=False)
    same(count_patterns(tmp_path / f"{name}.{kind}", "bought"), count_patterns(frame, "bought"))


def test_the_names_of_folders_say_nothing_of_the_rows(frame, tmp_path):
    folder = tmp_path / "bit=1"
    folder.mkdir()
    frame.to_parquet(folder / "rows.parquet")
    same(count_patterns(folder / "rows.parquet", "bought"), count_patterns(frame, "bought"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes there")
def test_a_pipe_is_counted(frame, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=(tmp_path / "pipe").write_text, args=[frame.to_csv(index=False)])
    writer.start()
    same(count_patterns(tmp_path / "pipe", "bought"), count_patterns(frame, "bought"))
    writer.join()


def test_missing_words_in_a_csv_file_are_missing(tmp_path):
    (tmp_path / "rows.csv").write_text("a,y\n0,no\nNA,yes\n1,yes\n")
    with pytest.raises(InputError, match=r"missing values in 'a' \(1 row\)"):
        count_patterns(tmp_path / "rows.csv", "y")


def test_counted_patterns_are_taken_as_they_are(frame):
    patterns = count_patterns(frame, "bought")
    assert count_patterns(patterns, "bought") is patterns


def test_names_that_differ_in_case_only_are_refused_in_files(tmp_path):
    rows = pd.DataFrame({"a": [0, 1], "A": [1, 0], "y": [1, 0]})
    rows.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="names of a, A differ in upper and lower case only"):
        count_patterns(tmp_path / "rows.parquet", "y")


def test_a_csv_file_is_counted_whatever_its_encoding(tmp_path):
    for encoding in ("utf-8-sig", "utf-16", "cp1252"):
        (tmp_path / "rows.csv").write_bytes("a,y\n0,né\n1,ja\n".encode(encoding))
        assert sorted(count_patterns(tmp_path / "rows.csv", "y").y.tolist()) == ["ja", "né"]


@pytest.mark.parametrize("package", ["duckdb", "narwhals"])
def test_a_package_that_is_not_installed_is_named_with_its_extra(
    frame, tmp_path, monkeypatch, package
):
    frame.to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"needs {package}, .*pip install 'stablepred\[tables\]'"):
        count_patterns(tmp_path / "rows.parquet", "bought")


def test_marks_in_a_csv_file_that_can_be_read_in_two_ways_are_refused_or_said(tmp_path):
    path = tmp_path / "table.csv"

    def count(*values):
        path.write_text("a,y\n" + "".join(f"{v},{k % 2}\n" for k, v in enumerate(values * 5)))
        return sorted(set(count_patterns(path, "y").X["a"]))

    with pytest.raises(InputError, match=r"'a' has numbers that can be read in two ways.*features"):
        count("1.234", "999")
    assert count("1.234", "9.5", "7") == [1.234, 7, 9.5]  # 9.5 is no thousand
    with pytest.warns(TableWarning, match="they may be thousands: a"):
        assert count("1.234", "1.567", "2.345") == [1.234, 1.567, 2.345]
    with pytest.warns(TableWarning, match="begin with 0, as codes do: a"):
        assert count("007", "12", "008") == [7, 8, 12]


def test_columns_may_be_named_like_parameters(tmp_path):
    names = ["self", "count", "rows", "y0", "x0"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (50, 6)), columns=[*names, "y"])
    frame.to_parquet(tmp_path / "table.parquet")
    for table in (tmp_path / "table.parquet", frame):
        found = count_patterns(table, "y")
        assert list(found.X) == names
        assert found.count.sum() == 50
