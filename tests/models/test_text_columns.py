"""Text among the features is refused by name, where a model takes numbers alone."""

import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from stablepred import (
    DGBRClassifier,
    Dichotomizer,
    GBRClassifier,
    GlobalBalancer,
    OverlapFilter,
)
from stablepred.exceptions import InputError

FRAME = {"age": [1.0, 2.0, 3.0, 4.0], "city": ["Ulm", "Bonn", "Ulm", "Bonn"]}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    "estimator",
    [
        Dichotomizer(),
        OverlapFilter(),
        GlobalBalancer(),
        GBRClassifier(),
        DGBRClassifier(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_text_column_is_named_with_an_example(estimator, kind):
    with pytest.raises(InputError, match=r"text was found in 'city' \(e\.g\. 'Ulm'\)"):
        clone(estimator).fit(kind(FRAME), [0, 1, 0, 1])


def test_numbers_written_as_text_are_read_as_numbers():
    frame = pd.DataFrame({"a": ["0", "1", "0", "1"], "b": ["0", "0", "1", "1"]})
    assert Dichotomizer().fit_transform(frame).tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
