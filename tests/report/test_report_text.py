import math

import pytest

from stablepred._text import (
    count_noun,
    error_name,
    interval,
    join_words,
    label,
    labels,
    number,
    percent,
    signed,
)


def test_a_short_name_is_shown_whole():
    assert label("age") == label("age").whole == "age"
    assert label("age").__html__() == "age"


def test_a_long_name_is_cut_in_the_middle_and_kept_whole_beside():
    cut = label("household_income_in_2019_after_taxes", 16)
    assert len(cut) == 16
    assert cut.startswith("household_")
    assert cut.endswith("taxes")
    assert cut.whole == "household_income_in_2019_after_taxes"
    assert cut.__html__() == f'<span title="{cut.whole}">{cut}</span>'


def test_an_endless_name_is_cut_even_where_it_is_shown_whole():
    assert len(label("a" * 100_000).whole) == 300


def test_a_name_of_nothing_can_be_seen():
    assert label("") == "(no name)"


@pytest.mark.parametrize("bad", ["\x00", "\n", "\ud800", "\u202e", "\u2066"])
def test_characters_that_break_a_page_are_replaced(bad):
    assert label(f"a{bad}b") == "a\ufffdb"


@pytest.mark.parametrize("good", ["größe", "年齢", "🙂", "αβγ"])
def test_letters_of_all_languages_stay(good):
    assert label(good) == good


def test_names_that_differ_in_the_middle_are_told_apart_when_cut():
    names = [f"a rather long name of the feature S{k} in the table" for k in range(12)] + ["age"]
    shown = labels(names)
    assert len(set(shown)) == 13
    assert (shown[3], shown[-1]) == ("…re S3 in the table", "age")
    assert [name.whole for name in shown] == names
    assert labels(["x" * 40, "x" * 40]) == [label("x" * 40)] * 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12345, "0.123"),
        (-0.5, "−0.500"),
        (-0.0001, "0.000"),
        (1234.5, "1,234.500"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_numbers_have_three_decimals_and_a_true_minus(value, text):
    assert number(value) == text


def test_signs_percentages_and_intervals():
    assert [signed(v) for v in (0.1, -0.1, 0.0, 0.0001, math.nan)] == [
        "+0.100",
        "−0.100",
        "0.000",
        "0.000",
        "–",
    ]
    assert (percent(0.123), percent(0.0345, 1), percent(math.nan)) == ("12 %", "3.5 %", "–")
    assert interval(0.1, 0.25) == "0.100 to 0.250"


def test_counts_and_lists_read_as_language():
    assert (count_noun(1, "row"), count_noun(2000, "row")) == ("1 row", "2,000 rows")
    assert join_words(["a"]) == "a"
    assert join_words(["a", "b", "c"]) == "a, b and c"
    assert join_words(list("abcdefg"), most=5) == "a, b, c, d, e and 2 more"


def test_errors_have_names_of_their_own():
    assert error_name("rmse") == "RMSE"
    assert error_name("my_error") == "my_error"
