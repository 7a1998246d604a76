"""How values are written: what is certain, what is reported, what is refused."""

import numpy as np
import pandas as pd
import pytest

from stablepred import GBRClassifier
from stablepred.data import TableEncoder
from stablepred.exceptions import InputError, TableWarning
from stablepred.tables.types import NUMBER, find_style, format_value, parse_numbers, to_text


def numbers(values):
    """The style of a column of strings, and its numbers in that style."""
    text = to_text(pd.Series(values, name="a", dtype="str"))
    style = find_style(text)
    return style, parse_numbers(text, style).values.tolist()


def encode(training, new=None):
    """Features of a column, cut at the mean, learned from one and applied to another."""
    encoder = TableEncoder(dichotomize="mean").fit(pd.DataFrame({"a": training}))
    frame = pd.DataFrame({"a": training if new is None else new})
    return encoder.encode(frame)[0].to_dict("list"), encoder.notes_


# --- decimal marks and thousands ---


@pytest.mark.parametrize(
    ("values", "style", "expected"),
    [
        (["1", "-20", "+300"], "integer", [1, -20, 300]),
        (["1", "2.5"], "point", [1, 2.5]),
        (["1", "2,5", ",5"], "comma", [1, 2.5, 0.5]),
        (["999", "1,234.5", ".5"], "1,234.5", [999, 1234.5, 0.5]),
        (["999", "1.234,5", ",5"], "1.234,5", [999, 1234.5, 0.5]),
        (["999", "1.234.567"], "1.234,5", [999, 1234567]),
        (["1.234", "1.234.567"], "1.234,5", [1234, 1234567]),
        (["1.5", "1,234"], "1,234.5", [1.5, 1234]),
        (["1,234", "1,234.5"], "1,234.5", [1234, 1234.5]),
        (["1e3", "2.5E-1", "0.125"], "point", [1000, 0.25, 0.125]),
    ],
)
def test_the_marks_of_numbers_are_found_from_all_of_them(values, style, expected):
    assert numbers(values) == (style, expected)


@pytest.mark.parametrize("mark", [".", ","])
@pytest.mark.parametrize("values", [["1M234", "999"], ["1M234", "12M345", "0"], ["-1M234", "7"]])
def test_thousands_that_may_be_fractions_are_refused(values, mark):
    """They were once read as 1.234 and 999."""
    values = [value.replace("M", mark) for value in values]
    with pytest.raises(InputError, match=rf"'a' has .* two ways: '-?1\{mark}234' may be -?1.234"):
        encode(values)


def test_two_marks_that_may_be_either_are_refused():
    with pytest.raises(InputError, match="'a' has numbers that can be read in two ways"):
        encode(["1,000", "-2.000", "7"])


@pytest.mark.parametrize("other", ["0.5", "1.25", "1234.5", "0.125", "2.0", ".5"])
def test_another_fraction_tells_that_a_mark_is_no_thousand(other):
    assert numbers(["1.234", "999", other])[0] == "point"
    assert len(encode(["1.234", "999", other])[0]) == 1


@pytest.mark.parametrize("mark", [".", ","])
def test_values_that_all_have_three_decimals_are_read_as_fractions_and_said(mark):
    """Thousands would have the same order, and so the same features."""
    features, notes = encode([f"1{mark}250", f"2{mark}500", f"9{mark}125"])
    assert list(features.values()) == [[0, 0, 1]]
    assert f"all with three decimals; they may be thousands: a (e.g. 1{mark}250 as 1.250)" in str(
        notes
    )


@pytest.mark.parametrize(
    ("training", "new", "style"),
    [
        (["1,5", "2,25", "9"], "1.234", "with a decimal comma"),
        (["1,5", "2,25", "9"], "1.5", "with a decimal comma"),
        (["1.5", "2.25", "9"], "1,5", "with a decimal point"),
        (["1.5", "2.25", "9"], "1,234", "with a decimal point"),
        (["1", "2", "9"], "1.234", "as integers"),
        (["1", "2", "9"], "1,5", "as integers"),
        (["1.234,5", "2", "9"], "1,234.5", "as in 1.234,5"),
    ],
)
def test_new_numbers_in_another_writing_are_refused_by_column(training, new, style):
    """1.234 was once 1234 where training had decimal commas."""
    with pytest.raises(InputError, match=f"column 'a' is written {style}.* but has '{new}'"):
        encode(training, ["1", new])


def test_new_numbers_whose_writing_is_certain_are_read():
    assert encode(["1.234,5", "2", "9"], ["1.234", "3"])[0] == {"a>415.167": [1, 0]}
    assert encode(["1", "2", "9"], ["4.5", "3.5"])[0] == {"a>4": [1, 0]}
    assert encode([1.0, 2.0, 9.0], ["4.125", "3.5"])[0] == {"a>4": [1, 0]}


def test_numbers_in_two_writings_are_refused():
    values = [*map(str, np.arange(20) + 0.5), "1,5"]
    with pytest.raises(InputError, match=r"'a' is written with a decimal point .* has '1,5'"):
        encode(values)


def test_numbers_with_leading_zeros_are_said():
    _, notes = encode(["007", "10", "20"])
    assert notes == ["read as numbers though some begin with 0, as codes do: a (e.g. '007')"]


# --- types that hold the same values ---


@pytest.mark.parametrize("values", [[0.1, 0.2, 0.3], [1 / 3, 2 / 3, 1.0], [1e6, 2e6, 3e6]])
@pytest.mark.parametrize("types", [("float64", "float32"), ("float32", "float64")])
def test_a_value_at_the_cut_stays_there_in_single_precision(values, types):
    for copies in (1, 7):
        training, new = (np.array(values * copies, dtype=type_) for type_ in types)
        assert next(iter(encode(training, new)[0].values())) == [0, 0, 1] * copies


def test_two_neighbours_in_single_precision_are_told_apart():
    values = np.array([1, np.nextafter(np.float32(1), np.float32(2))], dtype=np.float32)
    assert next(iter(encode(values)[0].values())) == [0, 1]


def test_true_and_1_in_one_column_are_two_values_in_any_order():
    """The first of them once gave its name to both."""
    for values in ([True, 1, "x"], [1, True, "x"], ["x", 1.0, True]):
        features, _ = encode(pd.Series(values, dtype=object))
        assert list(features) == ["a=1", "a=True", "a=x"]
        assert [sum(bits) for bits in features.values()] == [1, 1, 1]
        kept = TableEncoder().fit_transform(
            pd.DataFrame({"a": pd.Series(values * 10, dtype=object)})
        )
        assert kept.sum().to_dict() == {"a=1": 10, "a=True": 10, "a=x": 10}


def test_booleans_may_come_as_0_and_1_and_the_other_way_round():
    assert encode([True, False], ["1", "0"])[0] == {"a": [1, 0]}
    assert encode(["0", "1"], [True, False])[0] == {"a": [1, 0]}
    mixed = pd.Series([1, True, False, 0], dtype=object)
    assert encode(mixed)[0] == {"a": [1, 1, 0, 0]}


def test_other_numbers_in_a_column_of_0_and_1_are_warned_of():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [0, 1, 1]}))
    with pytest.warns(TableWarning, match=r"only 0 and 1 in training.*: a \(1 row, e.g. '5'\)"):
        assert encoder.transform(pd.DataFrame({"a": [5, 0]}))["a"].tolist() == [1, 0]


@pytest.mark.parametrize("training", [[1, 2, 9], ["x", "y", "z"]])
def test_dates_in_new_rows_are_refused(training):
    with pytest.raises(InputError, match="column 'a' holds dates"):
        encode(training, pd.to_datetime(["2020-01-31", "2021-02-28"]))


def test_dates_and_text_in_an_estimator_are_refused_with_advice():
    frame = pd.DataFrame({"a": [0.0, 1.0] * 3, "since": pd.to_datetime(["2020-01-31"] * 6)})
    with pytest.raises(InputError, match=r"dates were found in 'since'.*fixed date"):
        GBRClassifier().fit(frame, [0, 1] * 3)
    with pytest.raises(InputError, match=r"text was found in 'job' .*stablepred.data.TableEncoder"):
        GBRClassifier().fit(frame.drop(columns="since").assign(job="cook"), [0, 1] * 3)


def test_numbers_are_formatted_as_shortly_as_their_type_allows():
    found = [format_value(v) for v in (1.0, 0.1, np.float32(0.1), 10**20, None, np.nan, True)]
    assert found == ["1", "0.1", "0.1", "100000000000000000000", None, None, "True"]


def test_a_long_string_of_digits_is_matched_at_once():
    text = to_text(pd.Series(["1" * 100_000 + "x"]))
    assert not any(find_style(text) == style for style in list(NUMBER)[1:])
