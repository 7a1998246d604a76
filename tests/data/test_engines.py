"""Rows that stay where they are: frames of Spark and Dask are fitted and scored there."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from stablepred import GBRClassifier
from stablepred.data import count_patterns, fit_table, predict_table, read_table
from stablepred.exceptions import InputError

FIXED = {"l1": 0.005, "refit": False, "random_state": 0}
# What Spark thinks of pandas and of this machine.
QUIET = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    x = (rng.random((300, 3)) < 0.5).astype(int)
    table = pd.DataFrame(x, columns=["a", "b", "c"])
    table["age"] = rng.integers(20, 60, 300)
    table["bought"] = np.where(
        x[:, 0] + (table["age"] > 40) + rng.normal(0, 0.7, 300) > 1, "y", "n"
    )
    return table


@pytest.fixture(scope="module")
def model(frame):
    return GBRClassifier(**FIXED).fit(frame.drop(columns="bought"), frame["bought"])


def on_dask(frame):
    dask = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
    return dask.from_pandas(frame, npartitions=3)


# --- Spark ---


@QUIET
@pytest.mark.slow
def test_a_fit_on_a_spark_frame_is_that_on_its_rows(frame, spark):
    rows = spark.createDataFrame(frame.to_dict("records"))
    names = ["a", "b", "c", "age"]
    found = GBRClassifier(**FIXED).fit_table(rows, "bought", features=names)
    plain = GBRClassifier(**FIXED).fit(frame[names], frame["bought"])
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-9)
    x = frame[names]
    np.testing.assert_allclose(found.predict_proba(x), plain.predict_proba(x), atol=1e-9)


@QUIET
@pytest.mark.slow
def test_a_spark_frame_is_scored_where_it_is(frame, model, spark):
    rows = spark.createDataFrame(frame.to_dict("records")).repartition(2)
    scored = predict_table(model, rows).toPandas()
    assert sorted(scored.columns) == sorted([*frame.columns, "probability"])
    expected = model.predict_proba(scored[["a", "b", "c", "age"]])[:, 1]
    np.testing.assert_allclose(scored["probability"], expected, rtol=1e-12)
    assert len(scored) == len(frame)


@QUIET
@pytest.mark.slow
def test_a_model_of_a_table_scores_text_on_spark(frame, spark):
    table = frame.assign(job=np.where(frame["b"] == 1, "cook", "smith")).drop(columns="b")
    fitted = fit_table(table, "bought", LogisticRegression())
    scored = predict_table(fitted, spark.createDataFrame(table.to_dict("records"))).toPandas()
    expected = fitted.predict_proba(scored)[:, 1]
    np.testing.assert_allclose(scored["probability"], expected, rtol=1e-12)


# --- Dask and pandas ---


def test_a_dask_frame_is_scored_where_it_is(frame, model):
    scored = predict_table(model, on_dask(frame))
    assert not isinstance(scored, pd.DataFrame)  # nothing is computed yet
    assert list(scored.columns) == [*frame.columns, "probability"]
    expected = model.predict_proba(frame.drop(columns="bought"))[:, 1]
    np.testing.assert_allclose(scored.compute()["probability"], expected, rtol=1e-12)


def test_empty_partitions_are_scored_too(frame, model):
    rows = on_dask(frame)
    scored = predict_table(model, rows[rows["age"] > 1000]).compute()
    assert (len(scored), scored["probability"].dtype) == (0, float)


def test_a_regressor_gives_its_prediction(frame):
    names = ["a", "b", "c"]
    model = LinearRegression().fit(frame[names], frame["age"])
    found = predict_table(model, frame)["prediction"]
    np.testing.assert_allclose(found, model.predict(frame[names]))


def test_the_table_itself_is_not_changed(frame, model):
    before = frame.copy()
    predict_table(model, frame)
    pd.testing.assert_frame_equal(frame, before)


def test_a_column_of_the_same_name_is_not_overwritten(frame, model):
    with pytest.raises(InputError, match="has a column 'probability' already"):
        predict_table(model, frame.assign(probability=0.5))


def test_other_kinds_of_rows_are_refused(frame, model):
    class Rows:
        columns = ("a",)

    with pytest.raises(InputError, match="not Rows"):
        predict_table(model, Rows())


# --- addresses ---

ADDRESS = "postgresql://me:secret@host/sales"


@pytest.mark.parametrize("read", [read_table, lambda path: count_patterns(path, "bought")])
def test_the_address_of_a_database_is_refused_without_its_password(read):
    with pytest.raises(InputError, match=r"an address of postgresql was given.*read_sql") as caught:
        read(ADDRESS)
    assert "secret" not in str(caught.value)
