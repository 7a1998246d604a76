"""What holds for every fit, on tables of a few rows that are as odd as one likes."""

import numpy as np
import pytest
from generated import BITS, NUMBERS, labelled
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from stablepred import (
    BalancedClassifier,
    DGBRClassifier,
    DLRClassifier,
    FrozenWeights,
    GBRClassifier,
    GlobalBalancer,
    StableClassifier,
)
from stablepred.exceptions import InputError

pytestmark = [
    pytest.mark.usefixtures("short_screens"),
    pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning"),
]

FEW = {"max_iter": 3, "random_state": 0}
FIXED = FEW | {"l1": 0.01, "refit": False}
CLASSIFIERS = {
    "GBR": GBRClassifier(**FIXED),
    "GBR order 2": GBRClassifier(order=2, **FIXED),
    "GBR paper": GBRClassifier.from_paper(**FEW),
    "DLR": DLRClassifier(hidden=(2,), **FEW),
    "DGBR": DGBRClassifier(hidden=(2,), **FIXED),
    "DGBR features": DGBRClassifier(hidden=(2,), head="features", **FIXED),
    "DGBR paper": DGBRClassifier.from_paper(hidden=(2,), **FEW),
    "DGBR reduced": DGBRClassifier(
        hidden=(2,), frozen=FrozenWeights(reduced=True, bias_bound=1.0), **FEW
    ),
}
MODELS = CLASSIFIERS | {
    "balancer": GlobalBalancer(max_iter=3),
    "balanced": BalancedClassifier(LogisticRegression(), GlobalBalancer(max_iter=3)),
    "StableClassifier": StableClassifier(random_state=0),
}
KINDS = st.sampled_from(sorted(MODELS))
# Without inner models: what they make of odd features and of large weights is their own.
OWN = st.sampled_from(sorted(set(MODELS) - {"balanced"}))
# A smaller example costs many whole fits; what was found first will do.
QUICK = settings(phases=[Phase.explicit, Phase.generate])


def fitted(name, x, y, weight=None):
    return clone(MODELS[name]).fit(x, y, sample_weight=weight)


def row_weights(model, rows=...):
    """The balancing weights of some rows; none where nothing is balanced."""
    weights = getattr(model, "weights_", getattr(model, "sample_weight_", None))
    return np.empty(0) if weights is None else weights[rows]


def constant(x):
    """Whether no column has two values, which no fit accepts."""
    return (x.min(axis=0) == x.max(axis=0)).all()


def checked(name, x, y, weight=None):
    """A fitted model, or None where the table is refused as it should be."""
    try:
        return fitted(name, x, y, weight)
    except InputError:
        assert constant(x if weight is None else x[weight > 0])
        return None


@QUICK
@given(OWN, labelled(NUMBERS) | labelled(BITS))
def test_weights_and_probabilities_are_what_they_should_be(name, table):
    x, y, weight = table
    model = checked(name, x, y, weight)
    if model is None:
        return
    w = row_weights(model)
    assert np.isfinite(w).all()
    assert (w >= 0).all()
    if len(w):
        assert weight @ w / weight.sum() == pytest.approx(1, abs=1e-9)
        assert 0 < model.balance_report_.effective_share <= 1 + 1e-9
    if hasattr(model, "predict_proba"):
        probability = model.predict_proba(x)
        assert ((probability >= 0) & (probability <= 1)).all()
        np.testing.assert_allclose(probability.sum(axis=1), 1)
        np.testing.assert_array_equal(model.predict(x), probability.argmax(axis=1))


def assert_same_fit(one, other, x):
    for method in ("decision_function", "predict_proba"):
        if hasattr(one, method):
            expected, found = getattr(one, method)(x), getattr(other, method)(x)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6, err_msg=method)


@QUICK
@given(KINDS, labelled(BITS), st.data())
def test_the_order_of_the_rows_does_not_matter(name, table, data):
    x, y, weight = table
    order = data.draw(st.permutations(range(len(y))))
    one = checked(name, x, y, weight)
    other = checked(name, x[order], y[order], weight[order])
    assert (one is None) == (other is None)
    if one is not None:
        np.testing.assert_allclose(row_weights(other), row_weights(one, order), atol=1e-6)
        assert_same_fit(one, other, x)


@QUICK
@given(OWN, labelled(BITS), st.data())
def test_a_row_written_twice_is_a_row_of_weight_two(name, table, data):
    x, y, _ = table
    row = data.draw(st.integers(0, len(y) - 1))
    weight = np.ones(len(y))
    weight[row] = 2
    written = np.append(np.arange(len(y)), row)
    one, other = checked(name, x, y, weight), checked(name, x[written], y[written])
    assert (one is None) == (other is None)
    if one is not None:
        np.testing.assert_allclose(row_weights(other, slice(-1)), row_weights(one), atol=1e-6)
        assert_same_fit(one, other, x)


@QUICK
@given(OWN, labelled(BITS), st.floats(1e-6, 1e6))
def test_the_scale_of_the_weights_does_not_matter(name, table, factor):
    x, y, weight = table
    one, other = checked(name, x, y, weight), checked(name, x, y, factor * weight)
    assert (one is None) == (other is None)
    if one is not None:
        np.testing.assert_allclose(row_weights(other), row_weights(one), atol=1e-6)
        assert_same_fit(one, other, x)


@QUICK
@given(st.sampled_from(sorted({*CLASSIFIERS, "StableClassifier"})), labelled(BITS), st.data())
def test_rows_of_weight_zero_are_as_if_absent(name, table, data):
    x, y, weight = table
    there = np.array(data.draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y))))
    there[[0, 1, -1]] = True
    one = checked(name, x, y, weight * there)
    other = checked(name, x[there], y[there], weight[there])
    assert (one is None) == (other is None)
    if one is not None:
        np.testing.assert_array_equal(row_weights(one, ~there), 0)
        assert_same_fit(one, other, x)


# NumPy's warning inside scikit-learn, on the way to refusing two infinities of different sign.
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce:RuntimeWarning")
@QUICK
@given(OWN, labelled(st.floats() | BITS), st.data())
def test_anything_is_fitted_or_refused(name, table, data):
    """Missing and infinite features, labels of one class, weights that are none."""
    x, y, weight = table
    labels = data.draw(st.sampled_from([y, y * 0, y + 5, y - 0.5, y.astype(str), y == 1, y[:-1]]))
    weights = data.draw(
        st.sampled_from([None, weight, -weight, weight * 0, weight[1:], weight * np.nan])
    )
    try:
        model = fitted(name, x, labels, weights)
    except ValueError:
        return
    assert np.isfinite(row_weights(model)).all()
    if hasattr(model, "predict_proba"):
        assert np.isfinite(model.predict_proba(x)).all()
