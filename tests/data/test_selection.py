import numpy as np
import pandas as pd
import pytest

from stablepred.data import biased_sample, deliverable_rows
from stablepred.exceptions import InputError


@pytest.fixture(scope="module")
def table():
    """A table in which the outcome depends on a, and b, c and d on nothing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (20_000, 4)), columns=["a", "b", "c", "d"])
    return frame.assign(y=frame["a"] ^ rng.binomial(1, 0.2, 20_000))


def weights_row_by_row(frame, features, target, rate):
    weights = []
    for row in frame.to_dict("records"):
        agree = [row[feature] == row[target] for feature in features]
        weights.append(np.prod([rate if same else 1 - rate for same in agree]))
    return np.array(weights)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("rate", [0.25, 0.8])
@pytest.mark.parametrize("target", [None, "a"])
def test_all_patterns_have_the_shares_of_the_weighted_table(table, replace, rate, target):
    features = ["b", "c"]
    environment = biased_sample(
        table, "y", features, rate, 4000, target=target, replace=replace, random_state=1
    )
    weights = weights_row_by_row(table, features, target or "y", rate)
    expected = pd.Series(weights / weights.sum()).groupby(list(table.to_numpy().T)).sum()
    drawn = environment.X.assign(y=environment.y)[table.columns]
    found = drawn.value_counts(normalize=True).reindex(expected.index, fill_value=0.0)
    spread = np.sqrt(expected * (1 - expected) / 4000)
    assert ((found - expected).abs() < 4.5 * spread).all()


def test_independent_features_agree_with_the_outcome_at_the_bias_rate(table):
    environment = biased_sample(table, "y", ["b", "c"], 0.7, 5000, random_state=0)
    shares = environment.X[["b", "c"]].eq(environment.y, axis=0).mean()
    assert np.abs(shares - 0.7).max() < 4.5 * np.sqrt(0.7 * 0.3 / 5000)


def test_without_replacement_no_row_comes_twice_and_labels_are_kept(table):
    environment = biased_sample(table, "y", "b", 0.7, 5000, random_state=0)
    assert environment.X.index.is_unique
    source = table.loc[environment.X.index]
    pd.testing.assert_frame_equal(environment.X, source.drop(columns="y"))
    np.testing.assert_array_equal(environment.y, source["y"])


def test_deliverable_rows_is_the_sum_of_weights_over_the_largest(table):
    weights = weights_row_by_row(table, ["b", "c"], "y", 0.9)
    expected = int(weights.sum() / weights.max())
    assert deliverable_rows(table, "y", ["b", "c"], 0.9) == expected


def test_as_many_rows_as_announced_are_delivered_and_one_more_is_refused(table):
    available = deliverable_rows(table, "y", ["b", "c"], 0.9)
    for seed in range(5):
        drawn = biased_sample(table, "y", ["b", "c"], 0.9, available, random_state=seed)
        assert len(drawn) == available
    with pytest.raises(InputError, match=f"leaves about {available}"):
        biased_sample(table, "y", ["b", "c"], 0.9, available + 1)
    drawn = biased_sample(table, "y", ["b", "c"], 0.9, 30_000, replace=True, random_state=0)
    assert len(drawn) == 30_000


def test_a_rate_of_one_half_can_deliver_the_whole_table(table):
    environment = biased_sample(table, "y", ["b"], 0.5, len(table), random_state=0)
    assert sorted(environment.X.index) == list(table.index)


def test_the_name_says_the_rate_unless_given(table):
    assert biased_sample(table, "y", ["b"], 0.8, 10).name == "r=0.8"
    assert biased_sample(table, "y", ["b"], 0.8, 10, name="north").name == "north"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": ["e"]}, "lacks \\['e'\\]; its columns are"),
        ({"outcome": "z"}, "lacks \\['z'\\]"),
        ({"target": "z"}, "lacks \\['z'\\]"),
        ({"features": []}, "features must name at least one column"),
        ({"features": ["b", "b"]}, "each once"),
        ({"features": ["y"]}, "neither 'y' nor 'y'"),
        ({"features": ["a"], "target": "a"}, "neither 'y' nor 'a'"),
        ({"bias_rate": 1.0}, "bias_rate"),
        ({"n": 0}, "n must be"),
        ({"frame": pd.DataFrame({"b": [], "y": []})}, "at least one row"),
        ({"frame": pd.DataFrame({"b": [0, 3], "y": [0, 1]})}, "column 'b' must be 0/1"),
        ({"frame": pd.DataFrame({"b": [0, 1], "y": [0, 2]})}, "column 'y' must be 0/1"),
        ({"frame": pd.DataFrame([[0, 1, 1]], columns=["b", "b", "y"])}, "repeated column"),
    ],
)
def test_bad_input_is_refused_with_a_message_that_names_it(table, arguments, message):
    call = {"frame": table, "outcome": "y", "features": ["b"], "bias_rate": 0.5, "n": 1}
    with pytest.raises(InputError, match=message):
        biased_sample(**{**call, "n": 2 if "frame" in arguments else 1, **arguments})
