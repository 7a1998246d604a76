"""Rows by the values of a column."""

import numpy as np
import pandas as pd
import pytest

from stablepred.exceptions import InputError
from stablepred.tables.groups import group_rows


def sizes(values, bins=None):
    groups = group_rows(pd.Series(values, name="c"), bins)
    return {name: int(rows.sum()) for name, rows in groups.rows.items()}, groups.notes


def test_text_is_grouped_by_value():
    assert sizes(["b", "a", "b"]) == ({"a": 1, "b": 2}, [])


def test_missing_values_are_a_group_of_their_own():
    assert sizes(["b", "", "b"]) == ({"b": 2, "(missing)": 1}, [])


def test_bins_hold_their_lower_edge_and_not_their_upper_one():
    found, notes = sizes(["20", "29.9", "30", "40"], [20, 30, 40])
    assert found == {"[20, 30)": 2, "[30, 40)": 1}
    assert notes == ["outside the bins, left out: 1 row"]


def test_an_empty_bin_is_said():
    found, notes = sizes([1, 2], [0, 5, 9])
    assert (found, notes) == ({"[0, 5)": 2}, ["no rows in [5, 9)"])


def test_many_numbers_are_cut_at_quartiles_and_every_row_is_in_one_group():
    values = np.arange(100.0)
    found = group_rows(pd.Series(values)).rows
    assert list(found) == ["[0, 24.75)", "[24.75, 49.5)", "[49.5, 74.25)", "[74.25, 99]"]
    assert (np.sum(list(found.values()), axis=0) == 1).all()


def test_few_numbers_are_groups_by_value():
    found, _ = sizes(["10", "9", "10", ""])
    assert list(found.items()) == [("9", 1), ("10", 2), ("(missing)", 1)]


def test_booleans_are_groups():
    assert sizes([True, False, True])[0] == {"False": 1, "True": 2}


def test_missing_numbers_are_a_group_and_not_outside():
    found, notes = sizes([1.0, None, 7.0], [0, 5, 9])
    assert (found, notes) == ({"[0, 5)": 1, "[5, 9)": 1, "(missing)": 1}, [])


def test_decimal_commas_are_numbers_here_too():
    assert sizes(["1,5", "2,5"], [0, 2, 4])[0] == {"[0, 2)": 1, "[2, 4)": 1}


def test_words_among_numbers_are_said():
    found, notes = sizes([*map(str, range(30)), "unknown"], [0, 15, 30])
    assert found == {"[0, 15)": 15, "[15, 30)": 15, "(missing)": 1}
    assert notes == ["not finite numbers, in group (missing): 1 row, e.g. 'unknown'"]


def test_thousands_that_may_be_fractions_are_no_groups():
    with pytest.raises(InputError, match="'c' has numbers that can be read in two ways"):
        sizes(["1.234", "999"])


def test_a_value_named_like_the_missing_ones_is_not_lost():
    assert sizes(["(missing)", "a", ""])[0] == {"(missing)": 2, "a": 1}


def test_edges_that_agree_in_six_digits_are_told_apart():
    found = sizes([1_000_001, 1_000_003], [1_000_000, 1_000_002, 1_000_004])[0]
    assert found == {"[1000000, 1000002)": 1, "[1000002, 1000004)": 1}


@pytest.mark.parametrize(
    ("values", "bins", "message"),
    [
        (["a", "b"], [1, 2], "bins cut numbers, but column 'c' holds text"),
        ([1, 2], [1], "two or more rising numbers"),
        ([1, 2], [2, 1], "two or more rising numbers"),
        ([f"k{k}" for k in range(60)], None, "60 different values, too many"),
    ],
)
def test_what_makes_no_groups(values, bins, message):
    with pytest.raises(InputError, match=message):
        sizes(values, bins)
