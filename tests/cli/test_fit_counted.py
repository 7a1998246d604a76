"""``stablepred fit`` on many rows of numbers: they are counted, and the model is the same."""

import numpy as np
import pandas as pd
import pytest

from stablepred import load
from stablepred.data import TableEncoder
from stablepred.tables import table_model

pytest.importorskip("duckdb", reason="the extra 'tables' is not installed")
pytest.importorskip("narwhals", reason="the extra 'tables' is not installed")

CUT = ("--set", "max_iter=10", "--set", "dichotomize=mean")
GBR = ("--method", "gbr", *CUT)


def numbers(n=600):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (n, 4)), columns=["a", "b", "c", "d"])
    frame["b"] = np.where(rng.random(n) < 0.6, frame["a"], frame["b"])
    frame["age"] = rng.integers(20, 80, n)
    frame["share"] = rng.random(n)
    frame["owner"] = rng.random(n) < 0.3
    frame["size"] = rng.choice([1.5, 2.5], n)
    frame["always"] = 7
    score = frame["a"] + frame["c"] + (frame["age"] > 50) + rng.normal(0, 0.7, n)
    frame["bought"] = np.where(score > 1.5, "yes", "no")
    return frame


@pytest.fixture
def count_all(monkeypatch):
    monkeypatch.setattr(table_model, "MANY", 1)


def written(run, path, folder, *options):
    answer = run("fit", path, "--target", "bought", "-o", folder, *options)
    assert answer.code == 0, answer.err
    return answer.out


@pytest.mark.parametrize("method", ["gbr", pytest.param("dgbr-paper", marks=pytest.mark.slow)])
def test_counted_rows_give_the_model_of_rows_that_are_read(run, tmp_path, monkeypatch, method):
    path = tmp_path / "rows.parquet"
    frame = numbers()
    frame.to_parquet(path)
    options = ("--method", method, *CUT, "--drop", "d")
    read = written(run, path, tmp_path / "read", *options)
    monkeypatch.setattr(table_model, "MANY", 1)
    counted = written(run, path, tmp_path / "counted", *options)
    assert (read.split()[0], counted.split()[0]) == ("read", "counted")
    alike = [line for line in read.splitlines() if not line.startswith("RMSE on held-out rows")]
    assert counted.splitlines()[1:-1] == alike[1:-1]
    one, other = load(tmp_path / "read"), load(tmp_path / "counted")
    texts = [(tmp_path / name / "summary.json").read_text() for name in ("read", "counted")]
    assert texts[0] == texts[1]
    np.testing.assert_array_equal(one.estimator.coef_, other.estimator.coef_)
    np.testing.assert_array_equal(one.predict_proba(frame), other.predict_proba(frame))
    for ours, theirs in zip(one.encoder.columns_, other.encoder.columns_, strict=True):
        assert ours.cut == pytest.approx(theirs.cut, rel=1e-14)
        assert (ours.name, ours.style, ours.plain) == (theirs.name, theirs.style, theirs.plain)
    assert one.target == other.target
    assert other.estimator.row_count_.sum() == len(one.estimator.sample_weight_) == len(frame)


def test_a_positive_value_can_be_named(run, tmp_path, count_all):
    numbers().to_parquet(tmp_path / "rows.parquet")
    options = (*GBR, "--positive", "no")
    out = written(run, tmp_path / "rows.parquet", tmp_path / "model", *options)
    assert out.startswith("counted ")
    assert "target bought: 'no' is 1" in out


def test_a_positive_value_that_is_not_there_is_refused_without_reading(
    run, tmp_path, count_all, monkeypatch
):
    numbers().to_parquet(tmp_path / "rows.parquet")
    monkeypatch.delattr("stablepred.tables.files.TableFile.read")
    answer = run(
        *("fit", tmp_path / "rows.parquet", "--target", "bought", *GBR),
        *("--positive", "maybe", "-o", tmp_path / "model"),
    )
    assert answer.code == 2
    assert "the positive value 'maybe' is not in target 'bought'" in answer.err


@pytest.mark.parametrize(
    "change",
    [
        {"job": ["cook", "smith"] * 300},
        {"income": [np.nan, 1.0, 2.0] * 200},
        {"share": [np.inf, 1.0, 2.0] * 200},
        {"id": range(600)},
    ],
)
def test_what_cannot_be_counted_is_read(run, tmp_path, count_all, change):
    numbers().assign(**change).to_parquet(tmp_path / "rows.parquet")
    out = written(run, tmp_path / "rows.parquet", tmp_path / "model", *GBR)
    assert out.startswith("read ")


KEPT = ("--method", "gbr", "--set", "max_iter=2")


@pytest.mark.parametrize("options", [("--method", "lr"), (*GBR, "--overlap", "0.1"), KEPT])
def test_what_needs_the_rows_reads_them(run, tmp_path, count_all, options):
    numbers().to_parquet(tmp_path / "rows.parquet")
    out = written(run, tmp_path / "rows.parquet", tmp_path / "model", *options)
    assert out.startswith("read ")


def test_zeros_and_ones_are_counted_without_being_cut(run, tmp_path, count_all):
    frame = numbers()[["a", "b", "c", "owner", "bought"]]
    frame.to_parquet(tmp_path / "rows.parquet")
    out = written(run, tmp_path / "rows.parquet", tmp_path / "model", *KEPT)
    assert out.startswith("counted ")
    read = TableEncoder().fit(frame.drop(columns="bought"))
    assert list(read.get_feature_names_out()) == ["a", "b", "c", "owner"]
    assert load(tmp_path / "model").encoder.encode(frame)[0].equals(read.encode(frame)[0])


def test_few_rows_and_csv_files_are_read(run, tmp_path, monkeypatch):
    numbers().to_parquet(tmp_path / "rows.parquet")
    out = written(run, tmp_path / "rows.parquet", tmp_path / "one", *GBR)
    assert out.startswith("read ")
    monkeypatch.setattr(table_model, "MANY", 1)
    numbers().to_csv(tmp_path / "rows.csv", index=False)
    out = written(run, tmp_path / "rows.csv", tmp_path / "two", *GBR)
    assert out.startswith("read ")


@pytest.mark.parametrize("values", [["yes"] * 600, ["a", "b", "c"] * 200, [None, "yes"] * 300])
def test_a_target_without_two_values_is_explained_as_ever(run, tmp_path, count_all, values):
    numbers().assign(bought=values).to_parquet(tmp_path / "rows.parquet")
    answer = run(
        *("fit", tmp_path / "rows.parquet", "--target", "bought", *GBR),
        *("-o", tmp_path / "model"),
    )
    assert answer.code == 2
    assert "target 'bought'" in answer.err


def test_columns_may_have_any_name(run, tmp_path, count_all):
    """A column named self once ended in a TypeError, one named like a feature in another model."""
    frame = numbers().rename(columns={"a": "self", "b": "count", "age": "bought "})
    frame["bought >49"] = frame.pop("bought")
    frame.to_parquet(tmp_path / "rows.parquet")
    answer = run(
        *("fit", tmp_path / "rows.parquet", "--target", "bought >49", *GBR),
        *("-o", tmp_path / "model"),
    )
    assert answer.code == 0, answer.err
    assert answer.out.startswith("counted ")


def test_a_column_of_single_precision_is_cut_where_doubles_are(run, tmp_path, count_all):
    frame = numbers().assign(share=[0.1, 0.2, 0.3] * 200)
    for name, type_ in {"one": "float32", "two": "float64"}.items():
        frame.astype({"share": type_}).to_parquet(tmp_path / "rows.parquet")
        written(run, tmp_path / "rows.parquet", tmp_path / name, *GBR)
    one, two = (load(tmp_path / name).encoder.encode(frame)[0] for name in ("one", "two"))
    assert one["share>0.2"].tolist() == two["share>0.2"].tolist() == [0, 0, 1] * 200
