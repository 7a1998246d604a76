import numpy as np
import pandas as pd
import pytest

from stablepred.data import Environment
from stablepred.exceptions import InputError

X = pd.DataFrame({"a": [0, 1, 1], "b": [True, False, True]})


def test_features_and_outcome_are_kept_as_integers():
    environment = Environment("e", X, [True, False, True])
    assert environment.X.dtypes.tolist() == [np.int64, np.int64]
    assert environment.X["b"].tolist() == [1, 0, 1]
    assert isinstance(environment.y, np.ndarray)
    assert environment.y.tolist() == [1, 0, 1]
    assert len(environment) == 3
    assert "3 rows, 2 features" in repr(environment)


def test_numbers_are_kept_in_double_precision():
    environment = Environment("e", X.assign(c=np.float32([0.5, 2, 1])), [0.25, 2.0, 1.0])
    assert environment.X.dtypes.tolist() == [np.int64, np.int64, np.float64]
    assert environment.X["c"].tolist() == [0.5, 2, 1]
    assert environment.y.tolist() == [0.25, 2.0, 1.0]
    assert "mean of y: 1.083" in repr(environment)


def test_changing_the_frame_later_does_not_change_the_environment():
    frame, y = X.copy(), np.array([0, 1, 1])
    environment = Environment("e", frame, y)
    frame.loc[0, "a"], y[0] = 1, 1
    assert environment.X["a"].tolist() == [0, 1, 1]
    assert environment.y.tolist() == [0, 1, 1]


def test_a_series_is_accepted_as_outcome_with_the_row_labels_of_the_features():
    frame = X.set_axis([7, 8, 9])
    assert Environment("e", frame, pd.Series([0, 1, 0], index=[7, 8, 9])).y.tolist() == [0, 1, 0]


def test_fields_cannot_be_assigned():
    environment = Environment("e", X, [0, 1, 1])
    with pytest.raises(AttributeError):
        environment.name = "other"


@pytest.mark.parametrize(
    ("features", "outcome", "message"),
    [
        (X.to_numpy(), [0, 1, 1], "must be a pandas DataFrame"),
        (X.iloc[:0], [], "0 rows"),
        (X[[]], [0, 1, 1], "0 columns"),
        (X.set_axis(["a", "a"], axis=1), [0, 1, 1], "repeated column names"),
        (X.assign(c=["0", "1", "1"]), [0, 1, 1], "feature 'c' .* must be numbers"),
        (X.assign(c=[0, np.inf, 1]), [0, 1, 1], "feature 'c' .* infinite"),
        (X.assign(c=[0, np.nan, 1]), [0, 1, 1], "feature 'c' .* missing"),
        (X, [0, 1], r"X has 3 rows and 2 columns, and y has shape \(2,\)"),
        (X, ["a", "b", "a"], "outcome y .* must be numbers"),
        (X, [0, 1, np.nan], "outcome y .* missing"),
        (X, [[0], [1], [1]], r"y has shape \(3, 1\)"),
        (X, pd.Series([0, 1, 1], index=[2, 1, 0]), "different row labels"),
    ],
)
def test_bad_input_is_refused_with_a_message_that_names_it(features, outcome, message):
    with pytest.raises(InputError, match=message):
        Environment("e", features, outcome)
