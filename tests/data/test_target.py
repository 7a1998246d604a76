"""The outcome column of a table."""

import numpy as np
import pandas as pd
import pytest

from stablepred.exceptions import InputError
from stablepred.tables.target import ClassTarget, NumberTarget, Target, learn_target


def column(values):
    return pd.Series(values, name="y")


@pytest.mark.parametrize(
    ("values", "negative", "positive"),
    [
        (["no", "yes"], "no", "yes"),
        (["yes", " no "], "no", "yes"),
        ([0, 1], "0", "1"),
        ([1, 2], "1", "2"),
        (["2", "10"], "2", "10"),
        (["-1", "1"], "-1", "1"),
        ([0.0, 1.0], "0", "1"),
        (["0.0", "1", "1.0", "0"], "0", "1"),
        ([True, False], "False", "True"),
        (["true", "FALSE", "True"], "False", "True"),
        (pd.Series(["b", "a"], dtype="category"), "a", "b"),
    ],
)
def test_the_last_value_in_sorted_order_is_one(values, negative, positive):
    target = learn_target(column(values))
    assert (target.name, target.negative, target.positive) == ("y", negative, positive)
    y = target.encode(column(values))
    assert set(y) == {0, 1}


def test_the_positive_value_can_be_named():
    target = learn_target(column(["yes", "no"]), "no")
    assert target.positive == "no"
    assert target.encode(column(["yes", "no"])).tolist() == [0, 1]
    assert learn_target(column([0.0, 1.0]), "0").positive == "0"


def test_long_integers_are_not_rounded():
    target = learn_target(column([9007199254740992, 9007199254740993]))
    assert (target.negative, target.positive) == ("9007199254740992", "9007199254740993")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [f"r{k:04}" for k in range(1000)],
            "has 1,000 different values, more than 30 .*995 more. Combine",
        ),
        (["a", "a"], "has only one value: 'a'"),
        (["a", "", "b", "NA"], r"'y' is missing in 2 rows \(the first is data row 2\)"),
        ([1.0, np.nan, 0.0], "missing in 1 row"),
    ],
)
def test_what_is_no_outcome_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        learn_target(column(values))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (range(21), NumberTarget("y", "point")),
        ([1.5, 2, 3], NumberTarget("y", "point")),
        (["1,5", "2", "3"], NumberTarget("y", "comma")),
        ([str(k) for k in range(21)], NumberTarget("y", "integer")),
        (["a", "b", "c"], ClassTarget("y", ["a", "b", "c"])),
        ([3, 10, 2.0], ClassTarget("y", ["2", "3", "10"])),
        ([1.5, 2.5], Target("y", "1.5", "2.5")),
    ],
)
def test_many_numbers_or_fractions_are_an_amount_and_few_are_classes(values, expected):
    assert learn_target(column(values)) == expected


def test_what_is_no_number_among_those_of_a_target_is_refused():
    target = learn_target(column([*map(str, range(30)), "1.5"]))
    for value, found in (("many", "is 'many', no finite number"), ("", "is missing in 1 row")):
        with pytest.raises(InputError, match=rf"target 'y' {found}.*data row 2\)"):
            target.encode(column(["1.5", value]))
    with pytest.raises(InputError, match="'y' has infinite or too large numbers in 1 row"):
        target.encode(column([np.inf]))
    with pytest.raises(InputError, match="only one value"):
        learn_target(column([1.5] * 3), number=True)


def test_a_number_written_in_two_ways_is_refused():
    with pytest.raises(InputError, match="can be read in two ways"):
        learn_target(column(["1.234", *map(str, range(30))]))


def test_an_unknown_positive_value_is_answered_with_those_there_are():
    with pytest.raises(InputError, match="'Yes' is not in target 'y', which has 'no', 'yes'"):
        learn_target(column(["yes", "no"]), "Yes")


def test_a_third_value_in_new_rows_is_an_error():
    with pytest.raises(InputError, match="must be 'no' or 'yes' as in training, but has 'maybe'"):
        Target("y", "no", "yes").encode(column(["yes", "maybe"]))


def test_new_rows_may_have_one_value_only_or_another_type():
    assert Target("y", "no", "yes").encode(column(["yes"])).tolist() == [1]
    assert Target("y", "0", "1").encode(column([1.0, 0.0])).tolist() == [1, 0]
    assert Target("y", "False", "True").encode(column([True, False])).tolist() == [1, 0]


def test_nested_values_are_no_outcome():
    with pytest.raises(InputError, match="neither numbers nor text"):
        learn_target(column([{"a": 1}, {"a": 2}]))


def test_a_label_of_very_many_digits_is_read_at_once():
    """A pattern with two ways to share out the digits would take longer than anyone waits."""
    digits = "9" * 300_000 + "x"
    assert learn_target(column([digits, "no"])) == Target("y", digits, "no")
