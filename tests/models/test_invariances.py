"""What must not change a fit: row order, writing a row twice, the scale of the weights, ..."""

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from stablepred import (
    BalancedClassifier,
    BalancedRegressor,
    DGBRClassifier,
    Dichotomizer,
    DLRClassifier,
    FrozenWeights,
    GBRClassifier,
    GlobalBalancer,
    OverlapFilter,
    StableClassifier,
    StableFeatureSelector,
    StableRegressor,
)

pytestmark = [
    pytest.mark.usefixtures("short_screens"),
    pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning"),
]

# Each example is two whole fits: few of them, and no search for a smaller one.
FEW = settings(max_examples=2, phases=[Phase.explicit, Phase.generate])

FIXED = {"l1": 0.005, "refit": False}
# Inner models whose result does not depend on the scale of the weights they are given.
PLAIN = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)

SHALLOW = {
    "GBR": GBRClassifier(**FIXED),
    "GBR order 2": GBRClassifier(order=2, **FIXED),
    "GBR alternating": GBRClassifier(solver="alternating", **FIXED),
    "GBR paper": GBRClassifier.from_paper(),
    "GlobalBalancer": GlobalBalancer(),
    "GlobalBalancer order 2": GlobalBalancer(order=2),
}
DEEP = {
    "DLR": DLRClassifier(l1=0.001),
    "DGBR": DGBRClassifier(**FIXED),
    "DGBR features": DGBRClassifier(head="features", **FIXED),
    "DGBR alternating": DGBRClassifier(solver="alternating", **FIXED),
    "DGBR alternating features": DGBRClassifier(solver="alternating", head="features", **FIXED),
    "DGBR paper": DGBRClassifier.from_paper(),
    "DGBR refitted": DGBRClassifier(refit="weighted", l1=0.0),
    "FWDGBR": DGBRClassifier(frozen=FrozenWeights(after=3), **FIXED),
    "RFWDGBR": DGBRClassifier(
        solver="alternating", frozen=FrozenWeights(reduced=True, bias_bound=1.0), **FIXED
    ),
}
META = {
    "BalancedClassifier": BalancedClassifier(PLAIN),
    "BalancedRegressor": BalancedRegressor(LinearRegression()),
}
PREPROCESSING = {
    "Dichotomizer": Dichotomizer(),
    "Dichotomizer median": Dichotomizer(strategy="median"),
    "OverlapFilter": OverlapFilter(),
}
SCREENS = {
    "StableClassifier": StableClassifier(),
    "StableClassifier of LR": StableClassifier(PLAIN, guard=False),
    "StableRegressor": StableRegressor(),
    "StableFeatureSelector": StableFeatureSelector(),
}
ALL = SHALLOW | DEEP | SCREENS | META | PREPROCESSING
# The variants take the longest; the fast tests have one of each kind.
VARIANTS = {
    *("DGBR alternating", "DGBR alternating features", "DGBR refitted", "DGBR paper"),
    *("FWDGBR", "RFWDGBR", "GBR order 2", "GlobalBalancer order 2"),
}
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in VARIANTS else name for name in ALL]


def fitted(model, x, y, sample_weight=None, **params):
    model = clone(model)
    known = model.get_params()
    model.set_params(**{name: value for name, value in params.items() if name in known})
    if "random_state" in known:
        model.set_params(random_state=0)
    return model.fit(x, y, sample_weight=sample_weight)


def outcome(model, x):
    """Everything a fit gives that does not belong to single rows, as arrays by name."""
    found = {}
    for name in ("coef_", "intercept_", "thresholds_", "shares_", "n_iter_"):
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name), dtype=float)
    for method in ("predict_proba", "decision_function", "predict", "transform"):
        if hasattr(model, method):
            found[method] = np.asarray(getattr(model, method)(x), dtype=float)
    if "decision_function" in found:
        # Without a penalty separable rows have no best logit; from here on they are certain.
        found["decision_function"] = found["decision_function"].clip(-20, 20)
    if hasattr(model, "history_"):
        found |= {f"history {name}": values for name, values in model.history_.items()}
    if hasattr(model, "balance_report_"):
        found["before"] = model.balance_report_.before.to_numpy()
        found["after"] = model.balance_report_.after.to_numpy()
    if hasattr(model, "feature_effects_"):
        found["effects"] = model.feature_effects_[["effect", "low", "high"]].to_numpy()
    if hasattr(model, "variables_"):
        names = ["effect", "low", "high", "explaining_away", "probability_noisy"]
        found["variables"] = model.variables_[names].to_numpy()
        found["verdicts"] = np.array([model.stable_features_, model.used_features_])
    return found


def row_weights(model):
    return getattr(model, "weights_", getattr(model, "sample_weight_", None))


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, values in one.items():
        assert values.shape == other[name].shape, name
        np.testing.assert_allclose(other[name], values, rtol=1e-6, atol=1e-6, err_msg=name)


def assert_same_fit(one, other, x):
    assert_same(outcome(one, x), outcome(other, x))


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(seed=st.integers(0, 100))
def test_row_order_does_not_matter(name, make_table, seed):
    table = make_table(n=90, p=4, seed=seed)
    order = np.random.default_rng(seed).permutation(table.n)
    weight = table.sample_weight
    one = fitted(ALL[name], table.x, table.y, weight, max_iter=6)
    other = fitted(ALL[name], table.x[order], table.y[order], weight[order], max_iter=6)
    assert_same_fit(one, other, table.x)
    if row_weights(one) is not None:
        np.testing.assert_allclose(row_weights(one)[order], row_weights(other), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(seed=st.integers(0, 100), row=st.integers(0, 89))
def test_a_row_written_twice_is_a_row_of_weight_two(name, make_table, seed, row):
    table = make_table(n=90, p=4, seed=seed)
    weight = np.ones(table.n)
    weight[row] = 2
    written = np.append(np.arange(table.n), row)
    one = fitted(ALL[name], table.x, table.y, weight, max_iter=6)
    other = fitted(ALL[name], table.x[written], table.y[written], max_iter=6)
    assert_same_fit(one, other, table.x)
    if row_weights(one) is not None:
        np.testing.assert_allclose(row_weights(one)[written], row_weights(other), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(seed=st.integers(0, 100))
def test_rows_of_weight_zero_are_as_if_absent(name, make_table, seed):
    table = make_table(n=90, p=4, seed=seed)
    rng = np.random.default_rng(seed)
    absent = rng.random(table.n) < 0.2
    x, y = table.x.copy(), table.y.copy()
    x[absent] = rng.normal(0, 50, (absent.sum(), table.p))
    y[absent] = rng.integers(0, 2, absent.sum())
    weight = np.where(absent, 0.0, table.sample_weight)
    one = fitted(ALL[name], x[~absent], y[~absent], weight[~absent], max_iter=6)
    other = fitted(ALL[name], x, y, weight, max_iter=6)
    assert_same_fit(one, other, table.x)
    if row_weights(one) is not None:
        np.testing.assert_allclose(row_weights(other)[~absent], row_weights(one), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("factor", [0.1, 7.3])
def test_the_scale_of_the_sample_weight_does_not_matter(name, factor, make_table):
    table = make_table(n=120, p=5)
    one = fitted(ALL[name], table.x, table.y, table.sample_weight)
    other = fitted(ALL[name], table.x, table.y, factor * table.sample_weight)
    assert_same_fit(one, other, table.x)
    if row_weights(one) is not None:
        np.testing.assert_allclose(row_weights(one), row_weights(other), atol=1e-6)


@pytest.mark.parametrize("name", DEEP)
def test_the_scale_of_the_sample_weight_does_not_matter_in_the_first_iterations(name, make_table):
    table = make_table(n=120, p=5)
    one = fitted(ALL[name], table.x, table.y, table.sample_weight, max_iter=2)
    other = fitted(ALL[name], table.x, table.y, 0.1 * table.sample_weight, max_iter=2)
    assert_same_fit(one, other, table.x)


@pytest.mark.parametrize("name", SHALLOW)
@pytest.mark.parametrize("max_iter", [2, 100])
@FEW
@given(order=st.permutations(range(5)))
def test_feature_order_does_not_matter_without_an_encoder(name, max_iter, make_table, order):
    table = make_table(n=120, p=5)
    weight = table.sample_weight
    one = fitted(ALL[name], table.x, table.y, weight, max_iter=max_iter)
    other = fitted(ALL[name], table.x[:, order], table.y, weight, max_iter=max_iter)
    np.testing.assert_allclose(row_weights(one), row_weights(other), rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        one.balance_report_.after.to_numpy()[np.ix_(order, order)],
        other.balance_report_.after.to_numpy(),
        atol=1e-6,
    )
    if hasattr(one, "coef_"):
        np.testing.assert_allclose(one.coef_[:, order], other.coef_, rtol=0, atol=1e-6)
        np.testing.assert_allclose(
            one.predict_proba(table.x), other.predict_proba(table.x[:, order]), atol=1e-6
        )
        np.testing.assert_allclose(
            one.feature_effects_["effect"].to_numpy()[list(order)],
            other.feature_effects_["effect"].to_numpy(),
            atol=1e-6,
        )


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bits(name, table):
    one = outcome(fitted(ALL[name], table.x, table.y, max_iter=5), table.x)
    other = outcome(fitted(ALL[name], table.x, table.y, max_iter=5), table.x)
    for key, values in one.items():
        np.testing.assert_array_equal(values, other[key], err_msg=key)


@pytest.mark.parametrize("name", ["DLR", "DGBR", "DGBR alternating"])
def test_another_seed_gives_another_encoder(name, table):
    model = clone(DEEP[name]).set_params(max_iter=3)
    one = clone(model).set_params(random_state=1).fit(table.x, table.y)
    other = clone(model).set_params(random_state=2).fit(table.x, table.y)
    assert not np.allclose(one.encoders_[0][0][0], other.encoders_[0][0][0])


@pytest.mark.parametrize("name", SHALLOW)
def test_weights_without_an_encoder_do_not_depend_on_the_seed(name, table):
    model = clone(SHALLOW[name]).set_params(max_iter=3)
    one = clone(model).set_params(random_state=1).fit(table.x, table.y)
    other = clone(model).set_params(random_state=2).fit(table.x, table.y)
    np.testing.assert_array_equal(row_weights(one), row_weights(other))


@pytest.mark.parametrize("name", SHALLOW | DEEP | SCREENS)
def test_a_fit_neither_reads_nor_moves_the_global_generators(name, table):
    model = clone(ALL[name]).set_params(random_state=3)
    if "max_iter" in model.get_params(deep=False):
        model.set_params(max_iter=2)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    before = np.random.get_state()[1].copy(), torch.get_rng_state().clone()  # noqa: NPY002
    one = outcome(clone(model).fit(table.x, table.y), table.x)
    assert (np.random.get_state()[1] == before[0]).all()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])
    np.random.seed(2)  # noqa: NPY002
    torch.manual_seed(2)
    other = outcome(clone(model).fit(table.x, table.y), table.x)
    for key, values in one.items():
        np.testing.assert_array_equal(values, other[key], err_msg=key)


@pytest.mark.parametrize("name", SHALLOW | DEEP)
def test_equal_random_state_objects_give_equal_fits(name, table):
    model = clone(ALL[name]).set_params(max_iter=2)
    one = clone(model).set_params(random_state=np.random.RandomState(5)).fit(table.x, table.y)
    other = clone(model).set_params(random_state=np.random.RandomState(5)).fit(table.x, table.y)
    np.testing.assert_array_equal(row_weights(one), row_weights(other))
