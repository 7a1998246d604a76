"""What all baselines have in common."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import stablepred.baselines
from stablepred import BalancedClassifier, BalancedRegressor, load
from stablepred.baselines import (
    AnchorRegressor,
    DROClassifier,
    DRORegressor,
    DWRBalancer,
    GroupDROClassifier,
    SRDOBalancer,
)
from stablepred.exceptions import ConstantFeatureWarning, InputError

MODELS = [
    *(kind(divergence) for kind in (DROClassifier, DRORegressor) for divergence in ("chi2", "kl")),
    *(DROClassifier("cvar"), DRORegressor("cvar"), GroupDROClassifier(), AnchorRegressor()),
]
BALANCERS = [DWRBalancer(), DWRBalancer(order=2), SRDOBalancer(random_state=0)]
EVERY = [*MODELS, *BALANCERS]
plain = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")


def name_of(estimator):
    return repr(estimator)


def numbers_and_binary(n=80, seed=0):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=(n, 2)), rng.random(n) < 0.5]).astype(float)
    x[:, 1] += 0.7 * x[:, 0]
    return x, (x[:, 0] + x[:, 2] + rng.normal(size=n) > 0.5).astype(int)


def result(estimator, x):
    """What was fitted, as numbers: weights or predictions."""
    if hasattr(estimator, "weights_"):
        return estimator.weights_
    score = getattr(estimator, "decision_function", estimator.predict)
    return score(x)


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
@parametrize_with_checks([e for e in EVERY if not isinstance(e, SRDOBalancer)])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
@parametrize_with_checks([SRDOBalancer()])
def test_scikit_learns_checks_pass_for_srdo(estimator, check):
    check(estimator)


def test_every_public_baseline_is_checked():
    assert {type(e).__name__ for e in EVERY} == set(stablepred.baselines.__all__)


@plain
@pytest.mark.parametrize("estimator", EVERY, ids=name_of)
def test_weight_two_is_twice_and_weight_zero_is_absent_at_any_scale_and_order(estimator):
    x, y = numbers_and_binary()
    weight = np.random.default_rng(1).integers(0, 3, len(x)).astype(float)
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(x)), weight.astype(int)))
    weighted = clone(estimator).fit(x, y, sample_weight=4 * weight)
    repeated = clone(estimator).fit(x[rows], y[rows])
    if hasattr(weighted, "weights_"):
        np.testing.assert_array_equal(weighted.weights_[rows], repeated.weights_)
        assert weight @ weighted.weights_ == pytest.approx(weight.sum())
        np.testing.assert_array_equal(weighted.sample_weight_, weighted.weights_)
    else:
        np.testing.assert_allclose(result(weighted, x), result(repeated, x), rtol=1e-12)


@plain
@pytest.mark.parametrize("estimator", EVERY, ids=name_of)
def test_a_file_gives_the_same_estimator(estimator, tmp_path):
    x, y = numbers_and_binary()
    fitted = clone(estimator).fit(pd.DataFrame(x, columns=list("abc")), y)
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    frame = pd.DataFrame(x, columns=list("abc"))
    np.testing.assert_array_equal(result(loaded, frame), result(fitted, frame))
    assert loaded.get_params() == fitted.get_params()


@plain
@pytest.mark.parametrize("estimator", EVERY, ids=name_of)
def test_a_failed_fit_leaves_the_estimator_as_it_was(estimator):
    x, y = numbers_and_binary()
    fitted = clone(estimator).fit(x, y)
    before = result(fitted, x).copy()
    with pytest.raises(InputError, match="row 0"):
        fitted.fit(x, y, sample_weight=np.full(len(x), -1.0))
    np.testing.assert_array_equal(result(fitted, x), before)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (DROClassifier(radius=0), "radius must lie strictly between 0 and inf"),
        (DROClassifier(radius=-1), "radius must lie"),
        (DRORegressor("cvar", level=1), "level must lie strictly between 0 and 1"),
        (DROClassifier("chi"), "divergence must be one of 'chi2', 'cvar', 'kl'"),
        (GroupDROClassifier(adjustment=-1), "adjustment"),
        (AnchorRegressor(gamma=-1), "gamma must be a finite number of at least 0"),
        (DWRBalancer(order=0), "order must be an integer of at least 1"),
        (DWRBalancer(min_effective_share=1.0), "must be less than 1"),
        (SRDOBalancer(n_folds=1), "n_folds must be"),
    ],
    ids=repr,
)
def test_a_parameter_out_of_range_is_named(estimator, message):
    with pytest.raises(InputError, match=message):
        estimator.fit(*numbers_and_binary())


@plain
@pytest.mark.parametrize("estimator", EVERY, ids=name_of)
@pytest.mark.parametrize(("value", "message"), [(np.inf, "infinity"), (1e160, "above 1e.150")])
def test_numbers_that_are_too_large_are_refused_by_column(estimator, value, message):
    x, y = numbers_and_binary()
    frame = pd.DataFrame(x, columns=list("abc"))
    frame.loc[3, "b"] = value
    with pytest.raises(InputError, match=f"{message}.*'b'|'b'.*{message}"):
        estimator.fit(frame, y)


@pytest.mark.parametrize("estimator", [GroupDROClassifier(), AnchorRegressor()], ids=name_of)
def test_environments_that_are_of_no_use_are_refused(estimator):
    x, y = numbers_and_binary(12)
    y[:2] = 0, 1
    with pytest.raises(InputError, match="every row with a positive weight has the label 'a'"):
        estimator.fit(x, y, environment=["a"] * 12)
    with pytest.raises(InputError, match=r"missing labels \(the first in row 3\)"):
        estimator.fit(x, y, environment=["a"] * 3 + [None] + ["b"] * 8)
    with pytest.raises(InputError, match=r"'a' has fewer rows \(2\) than there are var"):
        estimator.fit(x, y, environment=["a"] * 2 + ["b"] * 10)
    for labels in (["a", "b"], [["a", "b"]] * 12):
        with pytest.raises(InputError, match="one label for each of the 12 rows"):
            estimator.fit(x, y, environment=labels)
    with pytest.warns(UserWarning, match="needs several training environments"):
        estimator.fit(x, y)


@plain
@pytest.mark.parametrize("balancer", BALANCERS, ids=name_of)
def test_weights_go_into_any_classifier_and_regressor(balancer):
    x, y = numbers_and_binary()
    for model in (
        BalancedClassifier(LogisticRegression(), balancer),
        BalancedRegressor(LinearRegression(), balancer),
    ):
        model.fit(x, y)
        np.testing.assert_array_equal(model.sample_weight_, model.balancer_.weights_)
        expected = clone(model.estimator).fit(x, y, sample_weight=model.sample_weight_)
        np.testing.assert_allclose(model.estimator_.coef_, expected.coef_)


@pytest.mark.parametrize("balancer", BALANCERS, ids=name_of)
def test_a_constant_column_is_named_and_changes_nothing(balancer):
    x, _ = numbers_and_binary()
    frame = pd.DataFrame(np.column_stack([x, np.ones(len(x))]), columns=["a", "b", "c", "same"])
    with pytest.warns(ConstantFeatureWarning, match="not balanced: same"):
        found = clone(balancer).fit(frame).weights_
    if isinstance(balancer, DWRBalancer):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_allclose(found, clone(balancer).fit(x).weights_, rtol=1e-9)
