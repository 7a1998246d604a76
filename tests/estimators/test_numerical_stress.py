"""Numerical stress: what every estimator makes of data at the edge, as docs/stress.md says.

``python tests/estimators/test_numerical_stress.py`` writes the page anew from the table here.
"""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from stablepred import DGBRClassifier, DLRClassifier, GBRClassifier, GlobalBalancer
from stablepred.exceptions import StablepredWarning

PAGE = Path(__file__).parents[2] / "docs" / "stress.md"
MODELS = {
    "GBR": GBRClassifier,
    "DLR": DLRClassifier,
    "DGBR": DGBRClassifier,
    "from_paper": DGBRClassifier.from_paper,
    "GlobalBalancer": GlobalBalancer,
}
ABSENT = "–"  # the estimator has no such parameter, or does not look at the outcome


class Data(NamedTuple):
    """What a fit is given."""

    X: Any
    y: Any
    weight: Any = None


def ordinary(n=60, p=4, seed=0):
    """0/1 features of which the second follows the first, and an outcome of two of them."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, p)) < 0.5).astype(float)
    x[:, 1] = np.where(rng.random(n) < 0.6, x[:, 0], x[:, 1])
    return Data(x, (x[:, 0] + x[:, 2] + rng.normal(0, 0.7, n) > 1).astype(int))


def with_column(make):
    """The ordinary table with one more column, made of its features."""
    x, y, _ = ordinary()
    return Data(np.column_stack([x, make(x)]), y)


def separable():
    x, _, _ = ordinary()
    return Data(x, x[:, 2].astype(int))


def one_positive():
    x, y, _ = ordinary()
    return Data(x, (np.arange(len(y)) == 7).astype(int))


def nearly_empty():
    """99.9 % zeros: every feature is 1 in two rows of two thousand."""
    rng = np.random.default_rng(1)
    x = np.zeros((2000, 4))
    for column in x.T:
        column[rng.choice(2000, 2, replace=False)] = 1
    return Data(x, (rng.random(2000) < 0.3).astype(int))


def numbers():
    """Whole numbers that every small type can hold."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 9, (60, 3))
    return Data(x.astype(float), (x[:, 0] + rng.normal(0, 2, 60) > 4).astype(int))


def weighted(change):
    """The ordinary table with weights 1, 2 and 3, changed."""
    x, y, _ = ordinary()
    return Data(x, y, change(np.random.default_rng(2).integers(1, 4, len(y)).astype(float)))


def one_row_of_weight(value):
    def change(weight):
        weight[0] = value
        return weight

    return weighted(change)


def read_only(array):
    array = array.copy()
    array.setflags(write=False)
    return array


def typed(make):
    x, y, _ = numbers()
    return Data(make(x), y)


def truth_values():
    x, y, _ = ordinary()
    return Data(x.astype(bool), y)


def strided():
    """Every second row and column of a larger array."""
    x, y, _ = ordinary()
    larger = np.zeros((2 * len(x), 2 * x.shape[1]))
    larger[::2, ::2] = x
    return Data(larger[::2, ::2], y)


def fit_once(model, data):
    return model.fit(data.X, data.y, sample_weight=data.weight)


def fit_in_threads(model, data):
    """Four fits at once; they must be the same to the last bit."""
    with ThreadPoolExecutor(4) as pool:
        fits = list(pool.map(lambda copy: fit_once(copy, data), [clone(model) for _ in range(4)]))
    for other in fits[1:]:
        assert_same_fit(other, fits[0], data.X)
    return fits[0]


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    why: str  # what happens is right
    data: Callable[[], Data] = ordinary
    params: dict[str, float] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)  # of the models that do more than fit
    same_as: Callable[[], Data] | None = None  # plain data that give the same fit, bit by bit
    fit: Callable[[Any, Data], Any] = fit_once

    def model(self, name):
        """The estimator, or None where it lacks the parameter."""
        model = MODELS[name](random_state=0)
        if not self.params.keys() <= model.get_params().keys():
            return None
        return model.set_params(**self.params)

    def outcome(self, name):
        """What the page says."""
        return ABSENT if self.model(name) is None else self.others.get(name, "fits")


def everywhere(outcome, **others):
    return dict.fromkeys(MODELS, outcome) | others


CASES: list[Case] = []


def weights_of(model):
    return getattr(model, "weights_", getattr(model, "sample_weight_", None))


def assert_same_fit(one, other, X):
    np.testing.assert_array_equal(weights_of(one), weights_of(other))
    if hasattr(one, "predict_proba"):
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
        np.testing.assert_array_equal(one.coef_, other.coef_)


def assert_sound(model, data, silent):
    """What every fit must be, and a silent one above all."""
    mass = np.ones(len(data.y)) if data.weight is None else data.weight / np.max(data.weight)
    w = weights_of(model)
    assert np.isfinite(w).all()
    assert (w >= 0).all()
    assert mass @ w / mass.sum() == pytest.approx(1, abs=1e-6)
    assert 0 < model.balance_report_.effective_share <= 1 + 1e-9
    if not hasattr(model, "predict_proba"):
        return
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    probability = model.predict_proba(data.X)
    assert ((probability >= 0) & (probability <= 1)).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(data.X), model.classes_[probability.argmax(axis=1)])
    if silent:
        rate = np.average(data.y, weights=mass)
        error = np.average((data.y - probability[:, 1]) ** 2, weights=mass)
        assert error <= 1.05 * rate * (1 - rate), "no better than a constant, and nothing was said"


def observed(case, name):
    """Fit, check, and say what happened."""
    model, data = case.model(name), case.data()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = case.fit(model, data)
        except (TypeError, ValueError) as error:
            return f"refused: {type(error).__name__}"
    # What is not a warning of this library would be noise from inside.
    assert [w for w in caught if not issubclass(w.category, StablepredWarning)] == []
    said = sorted({w.category.__name__.removesuffix("Warning") for w in caught})
    assert_sound(model, data, silent=not said)
    if case.same_as is not None:
        plain = case.same_as()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StablepredWarning)
            assert_same_fit(model, fit_once(case.model(name), plain), plain.X)
            assert_same_fit(model, model, data.X)
    return f"warns: {', '.join(said)}" if said else "fits"


if __name__ == "__main__":
    import sys
    for case in CASES:
        if sys.argv[2:] and not any(a in case.name for a in sys.argv[2:]): continue
        out = {}
        for name in MODELS:
            if case.model(name) is not None:
                try: out[name] = observed(case, name)
                except AssertionError as e: out[name] = "ASSERT "+str(e)[:200].replace("\n"," ")
        print(case.name, {k: v for k, v in out.items() if v != "fits"}, flush=True)
