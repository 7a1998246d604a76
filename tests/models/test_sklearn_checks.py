"""scikit-learn's own checks, for every public estimator and the settings that change its path."""

import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import stablepred
from stablepred import (
    BalancedClassifier,
    BalancedRegressor,
    DGBRClassifier,
    Dichotomizer,
    DLRClassifier,
    GBRClassifier,
    GlobalBalancer,
    OverlapFilter,
    StableClassifier,
    StableFeatureSelector,
    StableRegressor,
)

DEFAULTS = [
    Dichotomizer(),
    OverlapFilter(),
    GlobalBalancer(),
    GBRClassifier(),
    DLRClassifier(),
    DGBRClassifier(),
    BalancedClassifier(LogisticRegression()),
    BalancedRegressor(LinearRegression()),
    StableClassifier(),
    StableRegressor(),
    StableFeatureSelector(),
]
VARIANTS = [
    Dichotomizer(strategy="median"),
    DGBRClassifier(solver="alternating", head="features", l1=0.001, refit=False, max_iter=5),
    StableClassifier(LogisticRegression()),
    StableRegressor(LinearRegression()),
]


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
@parametrize_with_checks([*DEFAULTS, *VARIANTS])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


def test_every_public_estimator_is_checked():
    public = {name for name in stablepred.__all__ if hasattr(getattr(stablepred, name), "fit")}
    tables = {"TableEncoder"}  # takes frames alone; tests/data/test_table_encoder.py
    assert {type(estimator).__name__ for estimator in DEFAULTS} == public - tables


@pytest.mark.parametrize("estimator", DEFAULTS, ids=lambda estimator: type(estimator).__name__)
def test_no_check_is_switched_off_by_a_tag(estimator):
    tags = estimator.__sklearn_tags__()
    assert not tags.no_validation
    assert not tags._skip_test
    assert not tags.non_deterministic
    if tags.classifier_tags is not None:
        assert not tags.classifier_tags.poor_score
    if tags.regressor_tags is not None:
        assert not tags.regressor_tags.poor_score
