"""Bad input gets an error that names what is wrong, and leaves a fitted model as it was."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
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
)
from stablepred.core import descent
from stablepred.exceptions import (
    CollapsedEmbeddingWarning,
    ConstantFeatureWarning,
    ConstantPredictionWarning,
    ConvergenceWarning,
    DegenerateWeightsWarning,
    InputError,
    RedundantFeatureWarning,
    TableWarning,
)

# Every fit here may stop early; what is tested is what else it says.
pytestmark = [
    pytest.mark.usefixtures("short_screens"),
    pytest.mark.filterwarnings("ignore::stablepred.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::stablepred.exceptions.DegenerateWeightsWarning"),
]

OWN = {
    "GlobalBalancer": GlobalBalancer(max_iter=4),
    "GBR": GBRClassifier(l1=0.001, refit=False, max_iter=4, random_state=0),
    "GBR alternating": GBRClassifier(
        l1=0.001, refit=False, max_iter=4, random_state=0, solver="alternating"
    ),
    "DLR": DLRClassifier(max_iter=2, random_state=0),
    "DGBR": DGBRClassifier(l1=0.001, refit=False, max_iter=2, random_state=0),
    "DGBR features": DGBRClassifier(
        head="features", l1=0.001, refit=False, max_iter=2, random_state=0
    ),
}
SCREENS = {
    "StableClassifier": StableClassifier(random_state=0),
    "StableClassifier of LR": StableClassifier(LogisticRegression(), random_state=0),
    "StableFeatureSelector": StableFeatureSelector(random_state=0),
}
PAPER = {name: model for name, model in OWN.items() if name != "GlobalBalancer"}
CLASSIFIERS = PAPER | {name: model for name, model in SCREENS.items() if "Class" in name}
META = {
    "BalancedClassifier": BalancedClassifier(LogisticRegression(), GlobalBalancer(max_iter=4)),
    "BalancedRegressor": BalancedRegressor(LinearRegression(), GlobalBalancer(max_iter=4)),
}
PREPROCESSING = {"Dichotomizer": Dichotomizer(), "OverlapFilter": OverlapFilter()}
ALL = OWN | SCREENS | META | PREPROCESSING


# --- data ---

# Screens take missing values for what they are.
NOT_FINITE = [
    (name, value)
    for name in ALL
    for value in (np.nan, np.inf, -np.inf)
    if not (name in SCREENS and np.isnan(value))
]


@pytest.mark.parametrize(("name", "value"), NOT_FINITE)
def test_a_value_that_is_not_finite_is_refused(name, value, table):
    x = table.x.copy()
    x[3, 2] = value
    with pytest.raises(ValueError, match="NaN" if np.isnan(value) else "infinity"):
        clone(ALL[name]).fit(x, table.y)


@pytest.mark.parametrize(
    ("name", "value"), [case for case in NOT_FINITE if case[0] != "StableFeatureSelector"]
)
def test_a_value_that_is_not_finite_is_refused_at_prediction(name, value, table):
    model = clone(ALL[name]).fit(table.x, table.y)
    x = table.x.copy()
    x[0, 1] = value
    method = getattr(model, "predict", getattr(model, "transform", None))
    if method is not None:
        with pytest.raises(ValueError, match="NaN" if np.isnan(value) else "infinity"):
            method(x)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_an_outcome_that_is_not_finite_is_refused(name, table):
    y = table.y.astype(float)
    y[3] = np.nan
    with pytest.raises(ValueError, match=r"y contains NaN|Input y"):
        clone(ALL[name]).fit(table.x, y)


@pytest.mark.parametrize("name", OWN | SCREENS | META)
def test_integers_that_no_float_can_hold_and_names_that_repeat_are_named(name, table):
    X = table.X.assign(age=pd.Series([10**400] * table.n, dtype=object))
    with pytest.raises(InputError, match="integers too large for a float were found in 'age'"):
        clone(ALL[name]).fit(X, table.y)
    twice = table.X.set_axis(["a", "a", *table.X.columns[2:]], axis=1)
    with pytest.raises(InputError, match="names of columns repeat: a"):
        clone(ALL[name]).fit(twice, table.y)


@pytest.mark.parametrize("value", [1e308, -1e200])
@pytest.mark.parametrize("name", OWN)
def test_an_enormous_number_is_refused_by_name(name, value, table):
    X = table.X.assign(age=np.arange(table.n) % 7 + 18.0)
    X.loc[5, "age"] = value
    with pytest.raises(InputError, match=r"absolute values above 1e\+150.*'age' \(1e\+[23]0[08]\)"):
        clone(ALL[name]).set_params(dichotomize=None).fit(X, table.y)


@pytest.mark.parametrize("name", PAPER)
def test_two_values_are_0_and_1_by_another_name(name, table):
    one = clone(ALL[name]).set_params(dichotomize=None)
    other = clone(one).fit(table.X.assign(f3=7 - 2 * table.x[:, 3], f4=table.x[:, 4] + 1), table.y)
    one.fit(table.X.assign(f3=1 - table.x[:, 3]), table.y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.sample_weight_, other.sample_weight_)


@pytest.mark.parametrize("name", PAPER)
def test_a_number_outside_the_training_range_counts_as_the_nearest_inside(name, table):
    X = table.X.assign(f2=np.linspace(18, 21, table.n) + 50 * (np.arange(table.n) == 7))
    model = clone(ALL[name]).set_params(dichotomize=None).fit(X, table.y)
    ends = [(18, -1e308), (X["f2"].mean() + 3 * X["f2"].std(ddof=0) + 1e-6, 1e308)]
    for inside, outside in ends:
        near, far = (model.predict_proba(X.assign(f2=value)) for value in (inside, outside))
        np.testing.assert_allclose(near, far, rtol=0, atol=1e-12)
    one, high = (model.predict_proba(table.X.assign(f3=value)) for value in (1.0, 5.0))
    np.testing.assert_array_equal(one, high)


@pytest.mark.parametrize("name", CLASSIFIERS | SCREENS)
def test_one_class_only_is_refused(name, table):
    with pytest.raises(InputError, match=r"two classes.*one class.*\[1\]"):
        clone(ALL[name]).fit(table.x, np.ones(table.n, dtype=int))


@pytest.mark.parametrize("name", CLASSIFIERS | SCREENS)
def test_one_class_only_among_the_weighted_rows_is_refused(name, table):
    with pytest.raises(InputError, match=r"one class.*sample_weight"):
        clone(ALL[name]).fit(table.x, table.y, sample_weight=table.y.astype(float))


@pytest.mark.parametrize("name", PAPER)
def test_three_classes_are_refused(name, table):
    with pytest.raises(InputError, match="binary"):
        clone(ALL[name]).fit(table.x, np.arange(table.n) % 3)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_third_class_in_rows_of_weight_zero_is_as_if_absent(name, table):
    y, weight = table.y.copy(), np.ones(table.n)
    y[0], weight[0] = 2, 0
    model = clone(ALL[name]).fit(table.x, y, sample_weight=weight)
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_continuous_outcome_is_refused(name, table):
    with pytest.raises(ValueError, match=r"continuous"):
        clone(ALL[name]).fit(table.x, np.linspace(0, 1, table.n))


@pytest.mark.parametrize("name", OWN | SCREENS | META)
def test_features_that_are_all_constant_are_refused(name, table):
    with pytest.raises(InputError, match=r"all 5 features are constant|no feature is left"):
        clone(ALL[name]).fit(np.ones_like(table.x), table.y)


@pytest.mark.parametrize("name", OWN | SCREENS | META)
def test_features_that_are_constant_among_the_weighted_rows_are_refused(name, table):
    weight = (table.x == table.x[0]).all(axis=1).astype(float)
    assert weight.sum() > 0
    y = np.arange(table.n) % 2
    message = r"all 5 features are constant.*sample_weight|no feature is left: .*constant"
    with pytest.raises(InputError, match=message):
        clone(ALL[name]).fit(table.x, y, sample_weight=weight)


@pytest.mark.parametrize("value", [0.0, 1.0, 3.7])
@pytest.mark.parametrize("name", OWN | SCREENS | META)
def test_one_constant_column_is_a_warning_with_its_name(name, value, table):
    kind = TableWarning if name in SCREENS else ConstantFeatureWarning
    with pytest.warns(kind, match=r"\bf4\b"):
        clone(ALL[name]).fit(table.X.assign(f4=value), table.y)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("name", OWN | SCREENS | META)
def test_fewer_than_three_rows_are_refused(name, n, table):
    message = rf"{n} sample.*minimum of 3|n_samples = {n} .*at least 3"
    with pytest.raises(ValueError, match=message):
        clone(ALL[name]).fit(table.x[:n], table.y[:n])


@pytest.mark.parametrize("name", OWN | SCREENS | META)
def test_fewer_than_three_weighted_rows_are_refused(name, table):
    weight = np.zeros(table.n)
    weight[[np.argmax(table.y), np.argmin(table.y)]] = 1
    with pytest.raises(ValueError, match=r"\b2\b.*\b3\b"):
        clone(ALL[name]).fit(table.x, table.y, sample_weight=weight)


# --- sample weights ---


@pytest.mark.parametrize("name", ALL)
def test_a_negative_sample_weight_is_refused_with_its_row(name, table):
    weight = np.ones(table.n)
    weight[7] = -0.5
    with pytest.raises(InputError, match=r"sample_weight.*negative.*row 7.*-0\.5"):
        clone(ALL[name]).fit(table.x, table.y, sample_weight=weight)


@pytest.mark.parametrize("name", ALL)
def test_sample_weights_that_are_all_zero_are_refused(name, table):
    with pytest.raises(ValueError, match=r"(?i)sample.weight.*zero"):
        clone(ALL[name]).fit(table.x, table.y, sample_weight=np.zeros(table.n))


@pytest.mark.parametrize("name", ALL)
def test_sample_weights_of_the_wrong_length_are_refused(name, table):
    with pytest.raises(ValueError, match=r"sample_weight.*(shape|inconsistent)"):
        clone(ALL[name]).fit(table.x, table.y, sample_weight=np.ones(table.n - 1))


@pytest.mark.parametrize("name", ALL)
def test_sample_weights_in_a_table_are_refused(name, table):
    with pytest.raises(ValueError, match=r"[Ss]ample.weight.*1D"):
        clone(ALL[name]).fit(table.x, table.y, sample_weight=np.ones((table.n, 2)))


@pytest.mark.parametrize("name", ALL)
def test_sample_weights_that_are_not_finite_are_refused(name, table):
    weight = np.ones(table.n)
    weight[2] = np.nan
    with pytest.raises(ValueError, match=r"sample_weight.*NaN"):
        clone(ALL[name]).fit(table.x, table.y, sample_weight=weight)


# --- parameters ---

STRENGTHS = [
    ("GlobalBalancer", ["weight_l2", "weight_sum", "min_effective_share"]),
    ("GBR", ["balance", "weight_l2", "l2", "l1", "weight_sum", "min_effective_share"]),
    ("DLR", ["reconstruction", "l2", "l1", "network_l2"]),
    (
        "DGBR",
        [
            *("balance", "reconstruction", "weight_l2", "l2", "l1", "weight_sum", "network_l2"),
            "min_effective_share",
        ],
    ),
]


@pytest.mark.parametrize("value", [-1e-9, -1, np.nan, np.inf, "much"])
@pytest.mark.parametrize(
    ("name", "strength"), [(name, strength) for name, group in STRENGTHS for strength in group]
)
def test_a_strength_that_is_no_number_of_at_least_zero_is_refused_by_name(
    name, strength, value, table
):
    with pytest.raises(InputError, match=rf"\b{strength} must be"):
        clone(ALL[name]).set_params(**{strength: value}).fit(table.x, table.y)


@pytest.mark.parametrize("value", ["auto", None])
@pytest.mark.parametrize(
    ("name", "strength"),
    [(name, strength) for name, group in STRENGTHS for strength in group if strength != "l1"],
)
def test_a_strength_that_has_no_automatic_choice_refuses_one_by_name(name, strength, value, table):
    with pytest.raises(InputError, match=rf"\b{strength} must be"):
        clone(ALL[name]).set_params(**{strength: value}).fit(table.x, table.y)


@pytest.mark.parametrize("name", ["GlobalBalancer", "GBR", "DGBR"])
@pytest.mark.parametrize("value", [1, 2.5])
def test_a_floor_on_the_effective_sample_size_of_one_or_more_is_refused(name, value, table):
    with pytest.raises(InputError, match="min_effective_share must be less than 1"):
        clone(ALL[name]).set_params(min_effective_share=value).fit(table.x, table.y)


@pytest.mark.parametrize("name", ["DLR", "DGBR"])
@pytest.mark.parametrize("hidden", [(), [], (0,), (3, -1), (2.5,), 4, "ab", (3, None)])
def test_hidden_layers_must_be_named(name, hidden, table):
    with pytest.raises(InputError, match="hidden must name at least one layer"):
        clone(ALL[name]).set_params(hidden=hidden).fit(table.x, table.y)


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("value", [0, -3, 2.5, "many", True, None])
def test_max_iter_must_be_an_integer_of_at_least_one(name, value, table):
    with pytest.raises(InputError, match="max_iter must be an integer of at least 1"):
        clone(ALL[name]).set_params(max_iter=value).fit(table.x, table.y)


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("value", [-1e-9, np.nan, "small"])
def test_tol_must_be_a_number_of_at_least_zero(name, value, table):
    with pytest.raises(InputError, match="tol must be"):
        clone(ALL[name]).set_params(tol=value).fit(table.x, table.y)


@pytest.mark.parametrize("name", OWN | SCREENS)
def test_verbose_is_a_number_or_a_boolean(name, table):
    clone(ALL[name]).set_params(verbose=np.False_).fit(table.x, table.y)
    with pytest.raises(InputError, match="verbose must be a finite number of at least 0"):
        clone(ALL[name]).set_params(verbose="x").fit(table.x, table.y)


CHOICES = [
    ("GlobalBalancer", {"order": 3}, ["1", "2"]),
    ("GlobalBalancer", {"dichotomize": "mode"}, ["mean", "median", "None"]),
    ("GlobalBalancer", {"device": "tpu"}, ["auto", "cpu", "cuda"]),
    ("GBR", {"order": "2"}, ["1", "2"]),
    ("GBR", {"solver": "newton"}, ["sequential", "alternating"]),
    ("GBR", {"refit": True}, ["auto", "False", "weighted"]),
    ("GBR", {"refit": "plain"}, ["auto", "False", "weighted"]),
    ("GBR", {"fit_intercept": "yes"}, ["True", "False"]),
    ("GBR", {"l1": "automatic"}, ["auto"]),
    ("DGBR", {"head": "tail"}, ["features", "embedding"]),
    ("DGBR", {"standardize": None}, ["True", "False"]),
    ("DGBR", {"frozen": True}, ["FrozenWeights", "dict", "None"]),
    ("DGBR", {"frozen": 3}, ["FrozenWeights", "dict", "None"]),
    ("DGBR", {"frozen": {"before": 3}}, ["before"]),
    ("DGBR", {"frozen": FrozenWeights(reduced=2)}, ["reduced", "True", "False"]),
    ("DGBR", {"frozen": FrozenWeights(after=0)}, ["after", "at least 1"]),
    ("DGBR", {"frozen": {"after": 2.5}}, ["after", "an integer"]),
    ("DGBR", {"frozen": {"bias_bound": -1.0}}, ["bias_bound", "at least 0"]),
    ("DGBR", {"frozen": {"bias_bound": np.nan}}, ["bias_bound", "finite"]),
    ("DGBR", {"frozen": {"network_bound": np.inf}}, ["network_bound", "finite"]),
    ("DGBR", {"frozen": {"network_bound": "much"}}, ["network_bound", "a finite number"]),
    ("DLR", {"l1": "auto"}, ["at least 0"]),
    ("StableClassifier", {"guard": "yes"}, ["True", "False"]),
    ("StableClassifier", {"cv": 1}, ["at least 2"]),
    ("StableFeatureSelector", {"guard": None}, ["True", "False"]),
    ("StableClassifier", {"cv": 2.5}, ["an integer"]),
    ("StableClassifier", {"device": "tpu"}, ["auto", "cpu", "cuda"]),
    *(
        (name, {"evidence": evidence}, words)
        for name in ("StableClassifier", "StableFeatureSelector")
        for evidence, words in (
            ("tea leaves", ["'auto'", "'explaining_away'", "'effect'", "'tea leaves'"]),
            (["effect", "tea leaves"], ["'auto'", "'tea leaves'"]),
            ([], ["'auto'"]),
            (None, ["'auto'"]),
            (3, ["'auto'"]),
            ([3], ["3"]),
            ([len], ["name"]),
        )
    ),
    ("StableFeatureSelector", {"device": "tpu"}, ["auto", "cpu", "cuda"]),
    ("Dichotomizer", {"strategy": "mode"}, ["mean", "median"]),
    ("OverlapFilter", {"low": 0.9}, ["low=0.9"]),
    ("OverlapFilter", {"high": 1.5}, ["high=1.5"]),
]


@pytest.mark.parametrize(("name", "params", "allowed"), CHOICES)
def test_an_unknown_choice_is_refused_with_the_allowed_ones(name, params, allowed, table):
    (parameter,) = params
    with pytest.raises(InputError, match=parameter) as raised:
        clone(ALL[name]).set_params(**params).fit(table.x, table.y)
    assert all(word in str(raised.value) for word in allowed)


def test_one_inner_fold_is_refused(table):
    with pytest.raises(InputError, match="cv must be an integer of at least 2"):
        GBRClassifier(cv=1).fit(table.x, table.y)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("name", OWN | SCREENS)
def test_a_gpu_that_is_not_there_is_refused_with_the_way_out(name, table):
    with pytest.raises(InputError, match=r"device='cuda'.*no CUDA GPU.*device='cpu'"):
        clone(ALL[name]).set_params(device="cuda").fit(table.x, table.y)


@pytest.mark.parametrize("name", CLASSIFIERS | SCREENS | META | PREPROCESSING)
def test_prediction_before_a_fit_is_refused(name, table):
    model = clone(ALL[name])
    method = getattr(model, "predict", getattr(model, "transform", None))
    with pytest.raises(NotFittedError):
        method(table.x)


@pytest.mark.parametrize("name", CLASSIFIERS | META)
def test_an_unknown_column_at_prediction_is_named(name, table):
    model = clone(ALL[name]).fit(table.X, table.y)
    with pytest.raises(ValueError, match="stranger"):
        model.predict(table.X.assign(stranger=1.0))


def test_positional_parameters_are_refused():
    kinds = (GBRClassifier, DLRClassifier, DGBRClassifier, GlobalBalancer, Dichotomizer)
    for kind in (*kinds, StableFeatureSelector):
        with pytest.raises(TypeError, match="positional"):
            kind(1)
    with pytest.raises(TypeError, match="positional"):
        StableClassifier(None, "auto")


# --- a failed fit ---


def state(model, table):
    """What a user can see of a fitted model, as text and bytes."""
    seen = {name: repr(value) for name, value in sorted(vars(model).items())}
    for method in ("predict", "predict_proba", "transform"):
        if hasattr(model, method):
            seen[method] = np.asarray(getattr(model, method)(table.X)).tobytes()
    for name in ("coef_", "weights_", "sample_weight_", "thresholds_", "shares_"):
        if hasattr(model, name):
            seen[f"{name} bytes"] = getattr(model, name).tobytes()
    return seen


BAD = {
    "negative sample weight": lambda t: (t.X.iloc[:, :3], t.y, -np.ones(t.n)),
    "zero sample weight": lambda t: (t.X.iloc[:, :3], t.y, np.zeros(t.n)),
    "other columns and NaN": lambda t: (t.X.rename(columns={"f0": "g"}) * np.nan, t.y, None),
    "too few rows": lambda t: (t.X.iloc[:0], t.y[:0], None),
    "lengths differ": lambda t: (t.X.iloc[:, :2], t.y, np.ones(3)),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", ALL)
def test_a_failed_fit_leaves_a_fitted_model_as_it_was(name, bad, table):
    model = clone(ALL[name]).fit(table.X, table.y)
    before = state(model, table)
    X, y, weight = BAD[bad](table)
    with pytest.raises(ValueError):  # noqa: PT011
        model.fit(X, y, sample_weight=weight)
    assert state(model, table) == before


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_fit_that_fails_on_the_outcome_leaves_a_fitted_model_as_it_was(name, table):
    model = clone(ALL[name]).fit(table.X, table.y)
    before = state(model, table)
    with pytest.raises(InputError):
        model.fit(table.X.iloc[:, ::-1], np.ones(table.n))
    assert state(model, table) == before


@pytest.mark.parametrize("name", OWN | SCREENS | META)
@pytest.mark.parametrize("interruption", [KeyboardInterrupt, MemoryError, RuntimeError])
def test_an_interrupted_fit_leaves_a_fitted_model_as_it_was(
    name, interruption, table, make_table, monkeypatch
):
    model = clone(ALL[name]).fit(table.X, table.y)
    before = state(model, table)
    original, calls = descent.Block.lower, []

    def interrupted(self, evaluate, **options):
        calls.append(1)
        if len(calls) == 2:
            raise interruption
        return original(self, evaluate, **options)

    monkeypatch.setattr(descent.Block, "lower", interrupted)
    other = make_table(n=70, p=4, seed=9)
    with pytest.raises(interruption):
        model.fit(other.X, other.y)
    assert len(calls) == 2
    assert state(model, table) == before


def test_a_meta_estimator_whose_inner_fit_fails_stays_as_it_was(table):
    model = BalancedClassifier(LogisticRegression()).fit(table.X, table.y)
    before = state(model, table)
    model.set_params(estimator=LogisticRegression(C=-1))
    with pytest.raises(ValueError, match="'C'"):
        model.fit(table.X.iloc[:, :3], table.y)
    model.set_params(estimator=LogisticRegression())
    assert state(model, table) == before


@pytest.mark.parametrize("name", OWN | SCREENS | PREPROCESSING)
def test_a_failed_first_fit_leaves_nothing_fitted(name, table):
    model = clone(ALL[name])
    with pytest.raises(InputError):
        model.fit(table.X, table.y, sample_weight=-np.ones(table.n))
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]


@pytest.mark.parametrize("name", OWN | SCREENS)
def test_a_second_fit_forgets_the_first(name, table, make_table):
    other = make_table(n=60, p=3, seed=4)
    model = clone(ALL[name]).fit(table.X, table.y).fit(other.x, other.y)
    fresh = clone(ALL[name]).fit(other.x, other.y)
    assert vars(model).keys() == vars(fresh).keys()
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")


def test_a_fit_does_not_change_its_input(table):
    X, y, weight = table.X.copy(), table.y.copy(), table.sample_weight.copy()
    for name in ALL:
        clone(ALL[name]).fit(X, y, sample_weight=weight)
    pd.testing.assert_frame_equal(X, table.X)
    np.testing.assert_array_equal(y, table.y)
    np.testing.assert_array_equal(weight, table.sample_weight)


# --- what is never silent ---


@pytest.mark.filterwarnings("default::stablepred.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::stablepred.exceptions.ConstantPredictionWarning")
@pytest.mark.parametrize("name", OWN)
def test_stopping_at_max_iter_is_a_warning_with_the_way_out(name, table):
    model = clone(ALL[name]).set_params(max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 .*Raise max_iter"):
        model.fit(table.x, table.y)
    assert not model.converged_


@pytest.mark.filterwarnings("default::stablepred.exceptions.DegenerateWeightsWarning")
@pytest.mark.parametrize("name", ["GlobalBalancer", "GBR", "GBR alternating", "DGBR"])
def test_weights_held_at_the_floor_are_a_warning(name, table):
    model = clone(ALL[name]).set_params(min_effective_share=0.97, weight_l2=0.0)
    with pytest.warns(DegenerateWeightsWarning, match="floor on the effective sample size"):
        model.fit(table.x, table.y)
    assert model.balance_report_.effective_share >= 0.97 - 1e-9


@pytest.mark.slow
@pytest.mark.filterwarnings("default::stablepred.exceptions.DegenerateWeightsWarning")
@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
def test_weights_on_few_rows_without_a_floor_are_a_warning(make_table):
    table = make_table(n=300, p=8, seed=2)
    collapsed = 0
    for seed in range(6):
        model = DGBRClassifier.from_paper(weight_l2=0.0, l1=0.0, random_state=seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(table.x, table.y)
        named = any("collapsed onto few rows" in str(w.message) for w in caught)
        assert named == (model.balance_report_.effective_share < 0.05)
        collapsed += named
    assert collapsed


@pytest.mark.filterwarnings("default::stablepred.exceptions.DegenerateWeightsWarning")
@pytest.mark.parametrize("name", ["GBR", "DGBR"])
def test_weights_that_stay_equal_are_a_warning(name, table):
    model = clone(ALL[name]).set_params(balance=0.0)
    with pytest.warns(DegenerateWeightsWarning, match="all weights are equal"):
        model.fit(table.x, table.y)


@pytest.mark.filterwarnings("error::stablepred.exceptions.DegenerateWeightsWarning")
@pytest.mark.parametrize("params", [{"weight_l2": 1e6}, {"weight_sum": 0.0}])
def test_weights_that_shrink_out_of_their_penalty_are_a_warning(params, table):
    with pytest.warns(DegenerateWeightsWarning, match="Raise weight_sum"):
        GlobalBalancer(**params).fit(table.X)


def test_features_that_say_the_same_are_named_in_a_warning(table):
    X = table.X.assign(copy=table.X["f0"], opposite=1 - table.X["f2"])
    message = r"copy \(as f0\), opposite \(as f2\)"
    with pytest.warns(RedundantFeatureWarning, match=message):
        GlobalBalancer().fit(X)


def test_weights_are_no_matter_for_warnings_where_nothing_is_balanced(table):
    clone(ALL["DLR"]).fit(table.x, table.y)


@pytest.mark.parametrize("name", ["GBR", "GBR alternating", "DLR", "DGBR", "DGBR features"])
def test_a_constant_prediction_is_a_warning(name, table):
    with pytest.warns(ConstantPredictionWarning, match=r"l1 \(now 5\)"):
        model = clone(ALL[name]).set_params(l1=5.0).fit(table.x, table.y)
    assert (model.coef_ == 0).all()
    assert np.ptp(model.predict_proba(table.x)[:, 1]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_prediction_that_hardly_varies_is_never_silent(seed, make_table):
    """Algorithm 1 may put all weight on one outcome; whoever gets a constant hears of it."""
    table = make_table(n=150, seed=seed)
    model = DGBRClassifier.from_paper(weight_l2=0.01, weight_sum=1.0, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(table.x, table.y)
    if np.ptp(model.predict_proba(table.x)[:, 1]) < 0.01:
        kinds = (ConstantPredictionWarning, CollapsedEmbeddingWarning, DegenerateWeightsWarning)
        assert [warning for warning in caught if issubclass(warning.category, kinds)]


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.ConstantPredictionWarning")
def test_an_embedding_that_collapses_is_a_warning(table):
    model = DGBRClassifier.from_paper(network_l2=10.0, random_state=0)
    with pytest.warns(CollapsedEmbeddingWarning, match="nearly constant"):
        model.fit(table.x, table.y)


@pytest.mark.filterwarnings("default::stablepred.exceptions.ConvergenceWarning")
def test_a_head_that_does_not_converge_is_a_warning(table):
    """Separable data without a penalty have no best head."""
    model = GBRClassifier(l1=0.0, l2=0.0, refit=False)
    with pytest.warns(ConvergenceWarning):
        model.fit(table.x, table.x[:, 0].astype(int))
    assert not model.converged_


def test_warnings_point_at_the_line_that_called_fit(table):
    with pytest.warns(ConstantFeatureWarning) as caught:
        clone(ALL["GBR"]).fit(table.X.assign(f4=1.0), table.y)
    assert caught[0].filename == __file__
