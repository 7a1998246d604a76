"""From a table as it comes to 0/1 features, with numbers cut at their mean."""

import datetime
import decimal
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from stablepred import load
from stablepred.data import TableEncoder, read_table
from stablepred.exceptions import InputError, TableWarning

Cutter = partial(TableEncoder, dichotomize="mean")


def encoded(values, other=None):
    """Features of a column called a, fitted on it and applied to it or to another."""
    encoder = Cutter().fit(pd.DataFrame({"a": values}))
    frame = pd.DataFrame({"a": values if other is None else other})
    return encoder.encode(frame)[0].to_dict("list"), encoder.notes_


# --- numbers ---


def test_numbers_are_cut_at_their_mean():
    features, notes = encoded(["1", "2", "9"])
    assert features == {"a>4": [0, 0, 1]}
    assert notes == []


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 9],
        [1.0, 2.0, 9.0],
        ["1", "2", "9"],
        [" 1", "2.0 ", "+9"],
        pd.Series([1, 2, 9], dtype="Int64"),
        pd.Series([1, 2, 9], dtype="float32"),
        pd.Series(["1", "2", "9"], dtype="string"),
        [decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(9)],
    ],
)
def test_the_same_numbers_give_the_same_features_whatever_their_type(values):
    assert encoded(values)[0] == {"a>4": [0, 0, 1]}


def test_zeros_and_ones_stay_as_they_are_under_their_own_name():
    assert encoded(["0", "1", "1"])[0] == {"a": [0, 1, 1]}


def test_two_other_numbers_are_cut_between():
    assert encoded([1, 2, 2])[0] == {"a>1.5": [0, 1, 1]}


def test_large_cuts_are_named_without_an_exponent():
    assert list(encoded([1_000_000, 2_000_000, 4_000_001])[0]) == ["a>2333333.7"]


def test_decimal_commas_are_read_and_said():
    features, notes = encoded(["1,5", "2,5", "1.000,5"])
    assert features == {"a>334.833": [0, 0, 1]}
    assert notes == ["read with a mark between thousands: a (1.234,5)"]
    assert encoded(["1,5", "2,5", "3"])[1] == ["read with a decimal comma: a"]


def test_new_rows_are_cut_where_training_was():
    assert encoded([1, 2, 9], ["3.9", "4.1", ""])[0] == {"a>4": [0, 1, 0]}


@pytest.mark.parametrize("missing", ["", "NA", "n/a", "NaN", "null", "?", " ", None, np.nan])
def test_missing_numbers_have_a_feature_of_their_own(missing):
    features, notes = encoded(["1", missing, "9"])
    assert features == {"a>5": [0, 0, 1], "a is missing": [0, 1, 0]}
    assert notes == [
        "missing values, each column with a feature 'is missing' of its own: a (1 row)"
    ]


def test_infinite_numbers_count_as_missing():
    for values in (["1", "2", "inf"], [1.0, 2.0, np.inf]):
        features, notes = encoded(values)
        assert features == {"a>1.5": [0, 1, 0], "a is missing": [0, 0, 1]}
        assert notes[0] == "not finite numbers, counted as missing: a (1 row, e.g. 'inf')"


def test_a_word_among_many_numbers_counts_as_missing():
    features, notes = encoded([*map(str, range(15)), "unknown"])
    assert list(features) == ["a>7", "a is missing"]
    assert features["a is missing"] == [0] * 15 + [1]
    assert "counted as missing: a (1 row, e.g. 'unknown')" in notes[0]


def test_words_among_few_numbers_are_codes():
    features, _ = encoded(["1", "2", "A", "1", "2"])
    assert list(features) == ["a=1", "a=2", "a=A"]


def test_one_number_besides_missing_ones_gives_the_missing_feature_alone():
    assert encoded([5.0, None, 5.0])[0] == {"a is missing": [0, 1, 0]}


def test_an_id_in_numbers_is_warned_of_and_kept():
    features, notes = encoded(range(30))
    assert list(features) == ["a>14.5"]
    assert notes == [
        "probably an id, drop it unless its size means something: a (30 different integers)"
    ]


def test_measurements_that_all_differ_are_no_ids():
    assert encoded([k + 0.5 for k in range(30)])[1] == []


# --- true and false ---


@pytest.mark.parametrize("values", [[True, False, True], ["True", "False", "TRUE"]])
def test_true_and_false_are_one_feature(values):
    assert encoded(values)[0] == {"a": [1, 0, 1]}


def test_booleans_with_missing_values():
    expected = {"a": [1, 0, 0], "a is missing": [0, 1, 0]}
    assert encoded([True, None, False])[0] == expected
    assert encoded(["true", "", "false"])[0] == expected


def test_types_may_differ_between_training_and_new_rows():
    assert encoded([True, False], ["false", "true"])[0] == {"a": [0, 1]}
    assert encoded(["1", "2", "9"], [5.0, 3.0])[0] == {"a>4": [1, 0]}
    assert encoded(["1", "B", "2"], [1, 2])[0] == {"a=1": [1, 0], "a=2": [0, 1], "a=B": [0, 0]}


# --- text ---


def test_text_becomes_one_feature_per_value():
    features, _ = encoded(["x", " y ", "z", "x"])
    assert features == {"a=x": [1, 0, 0, 1], "a=y": [0, 1, 0, 0], "a=z": [0, 0, 1, 0]}


def test_two_values_need_one_feature():
    assert encoded(["no", "yes", "no"])[0] == {"a=yes": [0, 1, 0]}


def test_one_text_besides_missing_ones_gives_the_missing_feature_alone():
    assert encoded(["yes", "", "yes"])[0] == {"a is missing": [0, 1, 0]}


def test_categories_of_pandas_are_text_even_when_they_are_numbers():
    features, _ = encoded(pd.Series([1, 2, 3], dtype="category"))
    assert list(features) == ["a=1", "a=2", "a=3"]


def test_rare_values_are_counted_together():
    values = ["x"] * 500 + ["y"] * 500 + ["p", "q", "r"]
    features, notes = encoded(values)
    assert list(features) == ["a=x", "a=y", "a is rare"]
    assert sum(features["a is rare"]) == 3
    assert notes == ["values in few rows, counted together as 'is rare': a (3 of 5 values)"]


def test_a_single_rare_value_keeps_its_name():
    assert list(encoded(["x"] * 500 + ["y"] * 500 + ["p"])[0]) == ["a=p", "a=x", "a=y"]


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.TableWarning")
def test_text_that_names_the_row_is_left_out():
    frame = pd.DataFrame({"a": [f"K{k}" for k in range(40)], "b": [0, 1] * 20})
    encoder = Cutter().fit(frame)
    assert list(encoder.get_feature_names_out()) == ["b"]
    assert encoder.notes_ == [
        "left out, an id or free text: a (40 different values in 40 rows)",
    ]


NUMBERS = st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-5, 5))
WORDS = st.one_of(st.none(), st.sampled_from(["x", "y", "zebra", "two words", "é;,"]))
TRUTHS = st.one_of(st.none(), st.booleans())


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.TableWarning")
@settings(max_examples=40)
@given(st.lists(st.tuples(NUMBERS, WORDS, TRUTHS), min_size=2, max_size=40))
def test_a_csv_file_gives_the_features_of_the_frame_it_was_written_from(rows):
    frame = pd.DataFrame(rows, columns=["n", "w", "t"]).assign(other=[0, 1] + [0] * (len(rows) - 2))
    with tempfile.TemporaryDirectory() as folder:
        frame.to_csv(Path(folder) / "table.csv", index=False)
        text = read_table(Path(folder) / "table.csv")
    expected = Cutter().fit(frame)
    encoder = Cutter().fit(text)
    assert encoder.notes_ == expected.notes_
    pd.testing.assert_frame_equal(encoder.transform(text), expected.transform(frame))
    pd.testing.assert_frame_equal(encoder.transform(frame), expected.transform(text))


# --- what was not there in training ---


@pytest.mark.parametrize(
    ("training", "new", "expected", "warning"),
    [
        (["x", "y", "z"], ["w"], [0, 0, 0], r"never seen in training.*: a \(1 row, e.g. 'w'\)"),
        (["x"] * 500 + ["y"] * 500 + ["p", "q"], ["w"], [0, 0, 1], "never seen in training"),
        (["x", "y", "z"], [""], [0, 0, 0], r"missing here but never in training.*: a \(1 row\)"),
        (["1", "2", "9"], ["?"], [0], r"missing here but never in training"),
        (["1", "2", "9"], ["ten"], [0], r"not finite numbers.*: a \(1 row, e.g. 'ten'\)"),
    ],
)
def test_a_surprise_is_warned_of(training, new, expected, warning):
    encoder = Cutter().fit(pd.DataFrame({"a": training}))
    with pytest.warns(TableWarning, match=warning):
        features = encoder.transform(pd.DataFrame({"a": new}))
    assert features.iloc[0].tolist() == expected


@pytest.mark.filterwarnings("error")
def test_a_rare_value_of_training_is_no_surprise():
    encoder = Cutter().fit(pd.DataFrame({"a": ["x"] * 500 + ["y"] * 500 + ["p", "q"]}))
    assert encoder.transform(pd.DataFrame({"a": ["p"]})).iloc[0].tolist() == [0, 0, 1]


def test_the_order_of_columns_and_further_columns_do_not_matter():
    frame = pd.DataFrame({"a": [1, 2, 9], "b": ["x", "y", "x"]})
    encoder = Cutter().fit(frame)
    other = frame.assign(c=1)[["c", "b", "a"]]
    pd.testing.assert_frame_equal(encoder.transform(frame), encoder.transform(other))


def test_a_training_column_that_is_missing_is_an_error():
    encoder = Cutter().fit(pd.DataFrame({"income": [1, 2, 9], "b": [0, 1, 0]}))
    with pytest.raises(InputError, match=r"lacks 'income'.*It has: Income, b. Did you mean 'Inc"):
        encoder.transform(pd.DataFrame({"Income": [1], "b": [0]}))


# --- refused ---


@pytest.mark.parametrize(
    "values",
    [
        ["2020-01-31", "2021-02-28", "2022-03-31"],
        ["31.1.2020", "28.2.2021", "31.3.2022"],
        ["1/31/20 10:00", "2/28/21 11:30", "3/31/22 12:00"],
        ["31 Jan 2020", "28 Feb 2021", "31 March 2022"],
        ["2020-01", "2021-02", "2022-03"],
        pd.to_datetime(["2020-01-31", "2021-02-28"]),
        [datetime.date(2020, 1, 31), datetime.date(2021, 2, 28)],
        pd.to_timedelta([1, 2], unit="D"),
    ],
)
def test_dates_are_refused_with_advice(values):
    with pytest.raises(InputError, match=r"column 'a' holds dates .*year, month.*drop=\['a'\]"):
        Cutter().fit(pd.DataFrame({"a": values}))


@pytest.mark.parametrize("values", [["1.2.3", "1.2.4"], ["10-20", "20-30"], ["[0-10)", "[10-20)"]])
def test_what_only_resembles_dates_is_text(values):
    assert len(encoded(values)[0]) == 1


def test_lists_are_refused():
    with pytest.raises(
        InputError, match="column 'a' holds values that are neither numbers nor text"
    ):
        Cutter().fit(pd.DataFrame({"a": [[1], [2]]}))


def test_constant_and_empty_columns_are_left_out_by_name():
    frame = pd.DataFrame({"c": ["x"] * 3, "n": [7] * 3, "e": [None] * 3, "b": [0, 1, 0]})
    with pytest.warns(TableWarning, match="left out, constant: c"):
        encoder = Cutter().fit(frame)
    assert encoder.notes_ == ["left out, constant: c (always 'x'), n (always '7'), e (empty)"]
    assert list(encoder.get_feature_names_out()) == ["b"]


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.TableWarning")
@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [1, 1]}), "no feature is left: left out, constant: a"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "names of columns repeat: 'a'"),
        (pd.DataFrame({0: [1, 2], "a": [1, 2]}), r"must be text, but \[0\]"),
        ([[1, 0], [0, 1]], "must be a DataFrame"),
        (np.ones(2), "must have two dimensions"),
        (
            pd.DataFrame({"a": ["x", "y", "z"], "a=x": [0, 1, 0]}),
            "a feature of the same name: a=x",
        ),
    ],
)
def test_tables_that_cannot_be_encoded(frame, message):
    with pytest.raises(InputError, match=message):
        Cutter().fit(frame)


def test_a_column_to_drop_must_be_there():
    with pytest.raises(InputError, match="column to drop 'b' is not in the table"):
        Cutter(drop=["b"]).fit(pd.DataFrame({"a": [0, 1]}))


# --- as a part of scikit-learn, and in a file ---


MIXED = pd.DataFrame(
    {
        "age": ["20", "", "60", "70"],
        "owner": ["true", "false", "true", "false"],
        "job": ["cook", "clerk", "", "smith"],
        "price": ["1,5", "2,5", "9,25", "3"],
    }
)


def test_a_column_of_dates_that_are_all_missing_is_left_out_as_empty():
    frame = pd.DataFrame({"a": [1, 2, 9], "d": pd.Series([pd.NaT] * 3)})
    with pytest.warns(TableWarning, match="constant: d"):
        assert list(Cutter().fit_transform(frame)) == ["a>4"]


def test_nested_values_in_new_rows_are_refused():
    encoder = Cutter().fit(pd.DataFrame({"a": ["x", "y", "z"]}))
    with pytest.raises(InputError, match="neither numbers nor"):
        encoder.transform(pd.DataFrame({"a": [[1], [2]]}))


def test_an_encoder_comes_back_from_a_file_as_it_was(tmp_path):
    encoder = Cutter(drop=["owner"]).fit(MIXED)
    encoder.save(tmp_path / "encoder")
    read = load(tmp_path / "encoder")
    assert read.notes_ == encoder.notes_
    pd.testing.assert_frame_equal(read.transform(MIXED), encoder.transform(MIXED))
    read.check_stored()


def test_a_damaged_encoder_is_refused(tmp_path):
    encoder = Cutter().fit(MIXED)
    encoder.columns_ = ["age"]
    with pytest.raises(InputError, match="columns_ of a TableEncoder cannot be"):
        encoder.save(tmp_path / "encoder")
    del encoder.notes_
    with pytest.raises(ValueError, match="is missing"):
        encoder.check_stored()


@pytest.mark.parametrize(
    ("place", "changes", "match"),
    [
        (0, {"style": "roman"}, "style of column 'age'"),
        (0, {"cut": np.inf}, "finite"),
        (0, {"tolerance": -1.0}, "finite"),
        (1, {"cut": None}, "must make a feature"),
        (2, {"levels": ["cook", "cook"]}, "must be different"),
        (2, {"levels": [], "missing": True}, "two or more"),
        (2, {"rare": ["baker"]}, "two or more"),
        (2, {"name": "age"}, "must be different columns"),
    ],
)
def test_a_column_that_no_fit_would_learn_is_not_stored(place, changes, match, tmp_path):
    encoder = Cutter().fit(MIXED)
    encoder.columns_[place] = replace(encoder.columns_[place], **changes)
    with pytest.raises(InputError, match=match):
        encoder.save(tmp_path / "encoder")


def test_an_encoder_is_a_step_of_a_pipeline():
    pipeline = make_pipeline(Cutter(), LogisticRegression())
    assert clone(pipeline).fit(MIXED, [0, 0, 1, 1]).predict(MIXED).shape == (4,)


def test_a_failed_fit_leaves_the_encoder_as_it_was():
    encoder = Cutter().fit(MIXED)
    with pytest.raises(InputError):
        encoder.fit(pd.DataFrame({"a": ["2020-01-31", "2020-02-01"]}))
    assert encoder.used_columns == list(MIXED.columns)


def test_columns_without_names_are_numbered_as_those_of_an_array():
    frame = pd.DataFrame([[1.0, "x"], [2.0, "y"], [9.0, "x"]])
    encoder = Cutter().fit(frame)
    assert list(encoder.get_feature_names_out()) == ["x0>4", "x1=y"]
    for other in (frame, frame.to_numpy(), frame.set_axis([7, 8], axis=1)):
        pd.testing.assert_frame_equal(encoder.transform(other), encoder.transform(frame))


def test_polars_frames_are_taken_too():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 2, 9], "b": ["x", "y", None]})
    assert list(Cutter().fit_transform(frame)) == [
        "a>4",
        "b=x",
        "b=y",
        "b is missing",
    ]


def test_rows_keep_their_labels():
    frame = MIXED.set_index(pd.Index([5, 6, 7, 8]))
    assert list(Cutter().fit_transform(frame).index) == [5, 6, 7, 8]
