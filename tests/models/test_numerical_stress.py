"""Numerical stress: how every estimator handles extreme data, as docs/stress.md says.

``python tests/models/test_numerical_stress.py`` writes the page from the table here.
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
from sklearn.exceptions import ConvergenceWarning

from stablepred import (
    DGBRClassifier,
    DLRClassifier,
    GBRClassifier,
    GlobalBalancer,
    StableClassifier,
)
from stablepred.exceptions import StablepredWarning

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "stress.md"
MODELS = {
    "GBR": GBRClassifier,
    "DLR": DLRClassifier,
    "DGBR": DGBRClassifier,
    "from_paper": DGBRClassifier.from_paper,
    "Stable": StableClassifier,
    "GlobalBalancer": GlobalBalancer,
}
ABSENT = "–"  # the estimator has no such parameter


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
    """Integers that every small type can hold."""
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


def half_of_no_weight():
    def change(weight):
        weight[::2] = 1e-300
        return weight

    return weighted(change)


def read_only(array):
    array = array.copy()
    array.setflags(write=False)
    return array


def typed(make):
    x, y, _ = numbers()
    return Data(make(x), y)


def unchanged(weight):
    return weight


def locked():
    return Data(*map(read_only, weighted(unchanged)))


def fortran():
    x, y, _ = ordinary()
    return Data(np.asfortranarray(x), y)


def framed(x):
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])


TYPES = {
    "float16": lambda: typed(lambda x: x.astype(np.float16)),
    "int8": lambda: typed(lambda x: x.astype(np.int8)),
    "object": lambda: typed(lambda x: x.astype(object)),
    "frame of nullable integers": lambda: typed(lambda x: framed(x).astype("Int64")),
}


def booleans():
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
        assert_same_fit(other, data.X, fits[0], data.X)
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


DEGENERATE = "warns: DegenerateWeights"
CONSTANT = "warns: ConstantPrediction"
COLLAPSED = "warns: CollapsedEmbedding, ConstantPrediction"
ALL_THREE = "warns: CollapsedEmbedding, ConstantPrediction, DegenerateWeights"
REDUNDANT = everywhere("warns: RedundantFeature", DLR="fits", Stable="fits")
HUGE = 1e12

CASES = [
    Case("ordinary data", "60 rows, 4 features; the other cases are changes of it"),
    # --- extreme strengths ---
    Case(
        "`balance=0`",
        "nothing is asked of the weights, and a warning says that they are all equal; in the "
        "paper's objective the loss still moves them",
        params={"balance": 0.0},
        others={"GBR": DEGENERATE, "DGBR": DEGENERATE},
    ),
    Case(
        "`balance=1e12`",
        "the features are balanced; in the paper's objective the encoder escapes into a constant",
        params={"balance": HUGE},
        others={"from_paper": CONSTANT},
    ),
    Case(
        "`weight_l2=0`",
        "balance alone; in the paper's objective the weights then end at a constant",
        params={"weight_l2": 0.0},
        others={"from_paper": ALL_THREE},
    ),
    Case(
        "`weight_l2=1e12`",
        "stronger than `weight_sum`, it shrinks all weights and no longer limits their variance",
        params={"weight_l2": HUGE},
        others=everywhere(DEGENERATE, from_paper=ALL_THREE),
    ),
    Case(
        "`weight_sum=0`",
        "nothing holds the mean of the weights, so `weight_l2` only shrinks them all",
        params={"weight_sum": 0.0},
        others=everywhere("warns: Convergence, DegenerateWeights", from_paper=ALL_THREE),
    ),
    Case(
        "`weight_sum=1e12`",
        "the descent is confined to weights of mean one, makes little progress, and warns",
        params={"weight_sum": HUGE},
        others=everywhere("warns: Convergence", from_paper="fits"),
    ),
    Case("`l2=0`", "the remaining penalties suffice", params={"l2": 0.0}),
    Case(
        "`l2=1e12`",
        "every coefficient is shrunk to nearly zero, and a warning says so",
        params={"l2": HUGE},
        others=everywhere(CONSTANT, from_paper=COLLAPSED),
    ),
    Case("`l1=0`", "a head without sparsity", params={"l1": 0.0}),
    Case(
        "`l1=1e12`",
        "no coefficient survives, and a warning says so",
        params={"l1": HUGE},
        others=everywhere(CONSTANT, from_paper=COLLAPSED),
    ),
    Case("`reconstruction=0`", "an encoder of the outcome alone", params={"reconstruction": 0.0}),
    Case(
        "`reconstruction=1e12`",
        "an encoder of the features alone; under the paper's penalties it collapses",
        params={"reconstruction": HUGE},
        others={"from_paper": ALL_THREE},
    ),
    Case("`network_l2=0`", "a network without penalty", params={"network_l2": 0.0}),
    Case(
        "`network_l2=1e12`",
        "a network of zeros, and a warning says so",
        params={"network_l2": HUGE},
        others=everywhere(COLLAPSED, DGBR="warns: CollapsedEmbedding, DegenerateWeights"),
    ),
    # --- extreme data ---
    Case(
        "outcome equal to a feature",
        "the penalties keep the coefficients finite; every training row is predicted",
        separable,
    ),
    Case(
        "30 rows, 60 features",
        "the features cannot all be balanced, and the report shows what is left; a head on many "
        "features of few rows converges slowly",
        lambda: ordinary(30, 60),
        others={"from_paper": "warns: Convergence"},
    ),
    Case(
        "a feature twice",
        "no weights can balance two equal columns, which the warning names; DLR balances nothing",
        lambda: with_column(lambda x: x[:, 0]),
        others=REDUNDANT,
    ),
    Case(
        "a feature and its opposite",
        "as above",
        lambda: with_column(lambda x: 1 - x[:, 0]),
        others=REDUNDANT,
    ),
    Case(
        "a feature times −1000",
        "as above: the two values of a column are read as 0 and 1",
        lambda: with_column(lambda x: -1000 * x[:, 0]),
        others=REDUNDANT,
    ),
    Case(
        "99.9 % zeros",
        "two rows in two thousand carry no information, and a constant prediction is reported",
        nearly_empty,
        others={
            "DLR": COLLAPSED,
            "DGBR": ALL_THREE,
            "from_paper": COLLAPSED,
        },
    ),
    Case(
        "one positive outcome",
        "no fold can be held out: the least shrinkage is taken, and `StableClassifier` has its "
        "usual penalty",
        one_positive,
    ),
    Case(
        "three rows",
        "the smallest table that is accepted; whatever degenerates on it is reported",
        lambda: Data(np.array([[0, 1], [1, 0], [1, 1.0]]), np.array([0, 1, 1])),
        others={"DGBR": "warns: ConstantPrediction, DegenerateWeights"},
    ),
    # --- sample weights ---
    Case(
        "weights times 1e300",
        "the scale of the weights does not matter, to the last bit",
        lambda: weighted(lambda w: w * 2.0**996),
        same_as=lambda: weighted(unchanged),
    ),
    Case(
        "weights times 1e-300",
        "as above",
        lambda: weighted(lambda w: w * 2.0**-996),
        same_as=lambda: weighted(unchanged),
    ),
    Case(
        "weights times 5e307",
        "as above, though their sum is beyond the range of doubles",
        lambda: weighted(lambda w: w * 2.0**1021),
        same_as=lambda: weighted(unchanged),
    ),
    Case(
        "one row of weight 1e12",
        "the other rows hardly count, and nothing can be learned from a single row",
        lambda: one_row_of_weight(1e12),
        others={
            "GBR": CONSTANT,
            "DLR": COLLAPSED,
            "DGBR": COLLAPSED,
            "from_paper": COLLAPSED,
        },
    ),
    Case(
        "one row of weight 1e300",
        "as above",
        lambda: one_row_of_weight(1e300),
        others={
            "GBR": "warns: ConstantPrediction, Convergence",
            "DLR": "warns: CollapsedEmbedding, ConstantPrediction, Convergence",
            "DGBR": "warns: CollapsedEmbedding, ConstantPrediction, Convergence",
            "from_paper": COLLAPSED,
        },
    ),
    Case(
        "one row of weight 1e-300",
        "it hardly counts, and nothing overflows",
        lambda: one_row_of_weight(1e-300),
    ),
    Case(
        "half of the rows of weight 1e-300",
        "they hardly count, and nothing overflows",
        half_of_no_weight,
    ),
    # --- types and memory ---
    *(
        Case(kind, "the same numbers as in float64, to the last bit", make, same_as=numbers)
        for kind, make in TYPES.items()
    ),
    Case("bool", "true is 1", booleans, same_as=ordinary),
    Case(
        "complex",
        "complex numbers have no order",
        lambda: typed(lambda x: x + 1j),
        others=everywhere("refused: ValueError"),
    ),
    Case(
        "sparse matrix",
        "it would silently become dense; the message says what to do instead",
        lambda: typed(sparse.csr_matrix),
        others=everywhere("refused: TypeError"),
    ),
    Case(
        "frame of sparse columns",
        "as above; `StableClassifier` encodes the columns of a frame one by one anyway",
        lambda: typed(lambda x: framed(x).astype(pd.SparseDtype(float, 0.0))),
        others=everywhere("refused: TypeError", Stable="fits"),
    ),
    Case(
        "values near 1e140",
        "the size of features does not matter; their squares must not overflow, and "
        "`StableClassifier` refuses more than 1e100",
        lambda: typed(lambda x: x * 2.0**464),
        others={"Stable": "refused: InputError"},
        same_as=numbers,
    ),
    Case("Fortran order", "laid out row by row first", fortran, same_as=ordinary),
    Case("every second row and column of an array", "as above", strided, same_as=ordinary),
    Case(
        "read-only arrays",
        "nothing is written to them",
        locked,
        same_as=lambda: weighted(unchanged),
    ),
    Case("four threads fit at once", "each as if it were alone", fit=fit_in_threads),
]


def weights_of(model):
    return getattr(model, "weights_", getattr(model, "sample_weight_", None))


def assert_same_fit(one, X, other, other_X):
    if weights_of(one) is not None:
        np.testing.assert_array_equal(weights_of(one), weights_of(other))
    if hasattr(one, "predict_proba"):
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(other_X))
        if hasattr(one, "coef_"):
            np.testing.assert_array_equal(one.coef_, other.coef_)


def assert_sound(model, data, silent):
    """What every fit must be, and a silent one above all."""
    mass = np.ones(len(data.y)) if data.weight is None else data.weight / np.max(data.weight)
    w = weights_of(model)
    if w is not None:
        assert np.isfinite(w).all()
        assert (w >= 0).all()
        assert mass @ w / mass.sum() == pytest.approx(1, abs=1e-6)
        assert 0 < model.balance_report_.effective_share <= 1 + 1e-9
    if not hasattr(model, "predict_proba"):
        return
    if hasattr(model, "coef_"):
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()
    probability = model.predict_proba(data.X)
    assert ((probability >= 0) & (probability <= 1)).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(data.X), model.classes_[probability.argmax(axis=1)])
    rate = np.average(data.y, weights=mass)
    if silent and rate * (1 - rate) > 1e-12:  # else there is nothing to be better than
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
    # Anything else than these would be noise from inside.
    kinds = (StablepredWarning, ConvergenceWarning)
    assert [str(w.message) for w in caught if not issubclass(w.category, kinds)] == []
    said = sorted({w.category.__name__.removesuffix("Warning") for w in caught})
    assert_sound(model, data, silent=not said)
    if case.same_as is not None:
        plain = case.same_as()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StablepredWarning)
            assert_same_fit(model, data.X, fit_once(case.model(name), plain), plain.X)
    return f"warns: {', '.join(said)}" if said else "fits"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_happens_is_what_the_page_says(case, name):
    if case.model(name) is None:
        pytest.skip(f"{name} has no such parameter")
    assert observed(case, name) == case.outcome(name)


def test_separable_training_rows_are_all_predicted():
    data = separable()
    for name in ("GBR", "DLR", "DGBR", "from_paper", "Stable"):
        model = MODELS[name](random_state=0).fit(data.X, data.y)
        np.testing.assert_array_equal(model.predict(data.X), data.y)


def test_read_only_and_shifted_layers_predict_the_same_bits():
    """A loaded or shared model may have its arrays anywhere, and not to be written to."""
    data = ordinary()
    model = DGBRClassifier(random_state=0).fit(data.X, data.y)
    expected = model.predict_proba(data.X)
    for shift in (1, 3, 5):
        model.encoders_ = [
            [tuple(shifted(array, shift) for array in layer) for layer in layers]
            for layers in model.encoders_
        ]
        np.testing.assert_array_equal(model.predict_proba(shifted(data.X, shift)), expected)


def shifted(array, shift):
    """The same numbers, read-only, at another alignment in memory."""
    room = np.zeros(array.size * 8 + 64, dtype=np.uint8)
    moved = room[8 * shift : 8 * shift + array.size * 8].view(np.float64).reshape(array.shape)
    moved[...] = array
    moved.setflags(write=False)
    return moved


def page():
    """docs/stress.md, from the table above."""
    return INTRODUCTION + "\n".join(
        [
            f"| case | {' | '.join(f'`{name}`' for name in MODELS)} | why that is right |",
            "|---" * (len(MODELS) + 2) + "|",
            *(
                f"| {case.name} | {' | '.join(map(case.outcome, MODELS))} | {case.why} |"
                for case in CASES
            ),
            "",
        ]
    )


INTRODUCTION = """\
# Extreme data and parameters

What each estimator does with data and parameters that are extreme, odd or hopeless. The table is
written by `python tests/models/test_numerical_stress.py` from the cases of the tests there, which
fail if a fit does anything other than what this page says.

- **fits**: no warning. Weights are finite, non-negative and of mean one, probabilities lie between
  0 and 1, labels agree with them, and on the training rows the prediction is no worse than a
  constant. Where the last column says so, the fit equals that of plain data to the last bit.
- **warns**: as above, except that the prediction may be no better than a constant. The warnings are
  named (`DegenerateWeights` is `stablepred.exceptions.DegenerateWeightsWarning`, and so on); each
  says what to change.
- **refused**: an error that says what was found; nothing is fitted.
- **–**: the estimator has no such parameter.

Infinite values, one class, fewer than three rows, weights that are negative or all zero, and
features that are all constant are always refused; so are missing values, except by
`StableClassifier`.

"""


def test_the_page_says_the_same():
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
