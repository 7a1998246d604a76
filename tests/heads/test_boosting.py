"""The small boosting: scikit-learn's trees as arrays, on rows as often as they occur."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from samples import sample_of
from stablepred.heads.boosting import Boosting, Trees, extract_trees, repeat_rows
from stablepred.outcomes.binary import BINARY
from stablepred.outcomes.gaussian import GAUSSIAN

OUTCOMES = {"binary": BINARY, "gaussian": GAUSSIAN}


def make_rows(kind, n=200, seed=0):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 2, n)])
    y = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 3] + 0.3 * rng.normal(size=n)
    return x, (y > 0).astype(float) if kind == "binary" else y


@pytest.mark.parametrize("leaves", [2, 6, 31])
@pytest.mark.parametrize("kind", OUTCOMES)
def test_the_trees_predict_what_scikit_learns_boosting_predicts(kind, leaves):
    x, y = make_rows(kind)
    classify = kind == "binary"
    cls = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    model = cls(max_iter=15, max_leaf_nodes=leaves, early_stopping=False).fit(x, y)
    new = np.vstack([make_rows(kind, seed=1)[0], x, 100 * x, [[0.0, -0.0, 1e300, -1e300]]])
    expected = model.predict_proba(new)[:, 1] if classify else model.predict(new)
    trees = extract_trees(model, OUTCOMES[kind])
    found = trees.predict(torch.as_tensor(new)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    trees.check_columns(4)


@pytest.mark.parametrize("kind", OUTCOMES)
def test_the_model_of_the_path_is_the_boosting_of_the_rows(kind):
    x, y = make_rows(kind)
    (trees,) = Boosting(OUTCOMES[kind], trees=10).path(sample_of(x, y))
    cls = HistGradientBoostingClassifier if kind == "binary" else HistGradientBoostingRegressor
    options = {"max_leaf_nodes": 6, "learning_rate": 0.05, "l2_regularization": 5.0}
    model = cls(max_iter=10, early_stopping=False, **options).fit(x, y)
    expected = model.predict_proba(x)[:, 1] if kind == "binary" else model.predict(x)
    np.testing.assert_allclose(trees.predict(torch.as_tensor(x)), expected, rtol=1e-12)


def test_a_row_that_stands_for_three_is_there_three_times():
    x, y = make_rows("binary", n=3)
    sample = replace(sample_of(x, y), copies=torch.tensor([1.0, 3.0, 2.0]).double())
    rows, outcome, weight = repeat_rows(sample)
    np.testing.assert_array_equal(rows, x[[0, 1, 1, 1, 2, 2]])
    np.testing.assert_array_equal(outcome, y[[0, 1, 1, 1, 2, 2]])
    np.testing.assert_array_equal(weight, 1)


def test_parts_of_rows_and_many_copies_keep_their_total_as_weights():
    x, y = make_rows("binary", n=4)
    copies = np.array([0.2, 1.4, 2.6, 1e6])
    sample = replace(sample_of(x, y), copies=torch.as_tensor(copies))
    rows, _, weight = repeat_rows(sample)
    assert len(rows) == 1 + 1 + 3 + 100
    for row, count in zip(x, copies, strict=True):
        assert weight[(rows == row).all(axis=1)].sum() == pytest.approx(count)


def broken(change):
    leaf = {name: np.zeros((1, 1), np.int64) for name in ("feature", "left", "right")}
    numbers = {"threshold": np.zeros((1, 1)), "value": np.ones((1, 1))}
    return Trees(**({"outcome": BINARY, "start": 0.0, "depth": 0} | leaf | numbers | change))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"feature": np.array([[3]])}, "not there"),
        ({"left": np.array([[1]])}, "not there"),
        ({"right": np.array([[-1]])}, "not there"),
        ({"value": np.array([[np.nan]])}, "not finite"),
        ({"start": np.inf}, "not finite"),
        ({"depth": 2}, "too deep"),
        ({"threshold": np.zeros((2, 1))}, "shape"),
    ],
)
def test_trees_that_lead_nowhere_are_refused(change, match):
    broken({}).check_columns(2)
    with pytest.raises(ValueError, match=match):
        broken(change).check_columns(2)
