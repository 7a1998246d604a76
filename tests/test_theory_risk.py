"""The risk bound and its parts, against the formula written out."""

import warnings
from dataclasses import replace
from math import exp, inf, isfinite, log, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.random_projection import johnson_lindenstrauss_min_dim

import stablepred
from stablepred import theory
from stablepred.exceptions import InputError
from stablepred.theory import (
    exact_weights,
    johnson_lindenstrauss_dimension,
    joint_imbalance,
    rademacher_term,
    risk_bound,
)

DEEP = {
    "n": 500,
    "p": 6,
    "hidden": (4, 3),
    "beta_l2_bound": 2.0,
    "beta_l1_bound": 2.5,
    "network_bound": 3.0,
    "bias_bounds": (0.5, 1.5),
}


def rows(n=60, p=3, seed=0):
    return np.random.default_rng(seed).integers(2, size=(n, p))


def deep_model(head="embedding", n=60, p=3, seed=0):
    """Stand-in for a fitted deep classifier with layers p -> 4 -> 2."""
    rng = np.random.default_rng(seed)
    layers = [
        (rng.normal(size=(4, p)), rng.normal(size=4)),
        (rng.normal(size=(2, 4)), rng.normal(size=2)),
    ]
    width = p if head == "features" else 2
    return SimpleNamespace(
        coef_=rng.normal(size=(1, width)),
        intercept_=np.array([0.7]),
        encoders_=[layers],
        head_=head,
        sample_weight_=rng.random(n) + 0.5,
        n_features_in_=p,
    )


# the formula


def test_rademacher_term_is_the_printed_formula():
    b1, b2 = sqrt(3.0 + 0.5**2), sqrt(3.0 + 1.5**2)
    layers = b1 * sqrt(7) * b2 * sqrt(5)  # l_0 = p + 1, l_1 = 4 + 1
    reach = min(sqrt(2.0 * 4), 2.5)  # l_2 = 3 + 1
    expected = 2**5 * sqrt(2 * log(12) / 500) * reach * layers
    assert rademacher_term(**DEEP) == pytest.approx(expected, rel=1e-14)


def test_a_linear_model_has_an_empty_product():
    expected = 2**3 * sqrt(2 * log(10) / 100) * min(sqrt(0.3 * 6), 1.0)
    ours = rademacher_term(100, 5, beta_l2_bound=0.3, beta_l1_bound=1.0)
    assert ours == pytest.approx(expected, rel=1e-14)


def test_the_tighter_bound_on_beta_counts():
    l1 = rademacher_term(**{**DEEP, "beta_l2_bound": inf})
    l2 = rademacher_term(**{**DEEP, "beta_l1_bound": inf})
    assert rademacher_term(**DEEP) == min(l1, l2)
    assert l1 != l2


def test_one_bias_bound_stands_for_all_layers():
    assert rademacher_term(**{**DEEP, "bias_bounds": 1.0}) == rademacher_term(
        **{**DEEP, "bias_bounds": (1.0, 1.0)}
    )


def test_risk_bound_has_the_four_printed_parts():
    found = risk_bound(**DEEP, imbalance=0.3, delta=0.1, best_risk=0.4)
    assert found.best_risk == 0.4
    assert found.complexity == rademacher_term(**DEEP)
    assert found.deviation == pytest.approx(3 * sqrt(log(20) / 1000), rel=1e-14)
    assert found.max_loss == pytest.approx(log(1 + exp(2.5)), rel=1e-14)
    assert found.imbalance == pytest.approx(2 * log(1 + exp(2.5)) * 0.3, rel=1e-14)
    parts = found.best_risk + found.complexity + found.deviation + found.imbalance
    assert found.total == pytest.approx(parts)


def test_without_best_risk_the_bound_is_an_excess():
    found = risk_bound(**DEEP, imbalance=0.3)
    assert found.best_risk is None
    assert found.total is None
    assert found.excess == found.complexity + found.deviation + found.imbalance
    assert "best risk + " in str(found)
    assert risk_bound(**DEEP, imbalance=0.3, best_risk=0.5).total == 0.5 + found.excess


def test_risk_bound_falls_with_rows():
    bounds = [risk_bound(**{**DEEP, "n": n}, imbalance=0.1).excess for n in (10, 100, 1000, 10**6)]
    assert (np.diff(bounds) < 0).all()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("beta_l2_bound", (0.01, 0.1, 1.0)),
        ("beta_l1_bound", (0.1, 1.0, 2.0)),
        ("network_bound", (0.0, 1.0, 100.0)),
        ("bias_bounds", ((0, 0), (0, 1), (1, 1), (1, 5))),
        ("imbalance", (0.0, 0.5, 2.0)),
        ("max_loss", (0.5, 1.0, 3.0)),
    ],
)
def test_risk_bound_rises_with_every_norm_bound_and_with_imbalance(name, values):
    arguments = {**DEEP, "imbalance": 0.1}
    bounds = [risk_bound(**{**arguments, name: value}).excess for value in values]
    assert (np.diff(bounds) > 0).all()


def test_bounds_on_beta_that_do_not_bind_leave_the_risk_bound_as_it_is():
    tight = {**DEEP, "beta_l1_bound": 0.1, "imbalance": 0.1}
    assert risk_bound(**tight) == risk_bound(**{**tight, "beta_l2_bound": 50.0})


def test_no_model_in_the_class_has_a_larger_loss_than_max_loss():
    rng = np.random.default_rng(0)
    largest = risk_bound(**DEEP, imbalance=0).max_loss
    for _ in range(200):
        phi = np.append(rng.integers(2, size=3), 1)
        beta = rng.normal(size=4)
        beta *= min(2.5 / np.abs(beta).sum(), sqrt(2.0 / (beta @ beta)))
        assert np.logaddexp(0, abs(phi @ beta)) <= largest + 1e-12


# vacuous or not


def test_the_bound_says_whether_it_is_vacuous():
    useful = risk_bound(n=10**6, p=4, beta_l1_bound=0.5, imbalance=0.0, best_risk=0.4)
    assert not useful.vacuous
    assert "vacuous" not in str(useful)
    useless = risk_bound(n=10, p=4, beta_l1_bound=0.5, imbalance=0.0, best_risk=0.4)
    assert useless.vacuous
    assert "vacuous" in str(useless)


def test_a_bound_at_the_largest_loss_is_vacuous():
    found = risk_bound(n=10**6, p=4, beta_l1_bound=0.5, imbalance=0.0)
    edge = found.max_loss - found.excess
    assert replace(found, best_risk=edge + 1e-9).vacuous
    assert not replace(found, best_risk=edge - 1e-9).vacuous
    assert not found.vacuous


# from a fitted model


def test_a_fitted_model_counts_with_its_own_norms():
    model, x = deep_model(), rows()
    beta = np.append(model.coef_[0], 0.7)
    layers = model.encoders_[0]
    by_numbers = risk_bound(
        n=60,
        p=3,
        hidden=(4, 2),
        beta_l2_bound=(beta**2).sum(),
        beta_l1_bound=np.abs(beta).sum(),
        network_bound=sum((a**2).sum() for a, _ in layers),
        bias_bounds=[sqrt((b**2).sum()) for _, b in layers],
        imbalance=joint_imbalance(x, model.sample_weight_).total,
    )
    ours = risk_bound(model, x)
    for name in ("complexity", "deviation", "imbalance", "max_loss"):
        assert getattr(ours, name) == pytest.approx(getattr(by_numbers, name), rel=1e-12)
        assert isfinite(getattr(ours, name))
    assert ours.vacuous


def test_a_head_on_the_features_is_a_linear_model():
    model, x = deep_model(head="features"), rows()
    linear = SimpleNamespace(**{**vars(model), "encoders_": []})
    del linear.head_
    assert risk_bound(model, x) == risk_bound(linear, x)
    beta = np.append(model.coef_[0], 0.7)
    expected = rademacher_term(60, 3, beta_l2_bound=beta @ beta, beta_l1_bound=np.abs(beta).sum())
    assert risk_bound(model, x).complexity == pytest.approx(expected, rel=1e-12)


def test_sample_weights_multiply_the_models_own():
    model, x = deep_model(), rows()
    c = np.arange(60) % 3
    found = risk_bound(model, x, sample_weight=c)
    total = joint_imbalance(x, c * model.sample_weight_).total
    assert found.imbalance == pytest.approx(2 * found.max_loss * total)
    kept = SimpleNamespace(**{**vars(model), "sample_weight_": model.sample_weight_[c > 0]})
    again = risk_bound(kept, x[c > 0], sample_weight=c[c > 0])
    assert again.excess == pytest.approx(found.excess, rel=1e-12)


def test_rows_can_stand_for_the_numbers_of_the_sample():
    x = rows()
    assert risk_bound(X=x, sample_weight=exact_weights(x), beta_l1_bound=1.0) == risk_bound(
        n=60, p=3, imbalance=joint_imbalance(x, exact_weights(x)).total, beta_l1_bound=1.0
    )
    model = deep_model()
    total = joint_imbalance(x, model.sample_weight_).total
    assert risk_bound(model, x) == risk_bound(model, n=60, imbalance=total)


def test_scikit_learns_logistic_regression_has_a_bound_too():
    x = rows(400, 3)
    y = (x[:, 0] + np.random.default_rng(1).random(400) > 0.8).astype(int)
    found = risk_bound(LogisticRegression(C=0.01).fit(x, y), x)
    assert isfinite(found.excess)
    assert found.imbalance == pytest.approx(
        2 * found.max_loss * joint_imbalance(x, np.ones(400)).total
    )


@pytest.mark.parametrize("head", ["embedding", "features"])
def test_a_real_deep_classifier_has_finite_parts(head):
    x = rows(200, 4)
    y = (x[:, 0] + np.random.default_rng(1).random(200) > 0.8).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # twenty iterations need not converge
        model = stablepred.DGBRClassifier(head=head, hidden=(3,), max_iter=20, random_state=0)
        found = risk_bound(model.fit(x, y), x)
    assert isfinite(found.excess)
    assert found.vacuous == ("vacuous" in str(found))


# Johnson and Lindenstrauss


@pytest.mark.parametrize(("n", "epsilon"), [(1000, 0.5), (50, 0.1), (10**6, 0.3)])
def test_johnson_lindenstrauss_dimension_is_scikit_learns(n, epsilon):
    found = johnson_lindenstrauss_dimension(n, epsilon)
    assert found == johnson_lindenstrauss_min_dim(n, eps=epsilon)
    assert found == int(4 * log(n) / (epsilon**2 / 2 - epsilon**3 / 3))
    assert isinstance(found, int)


# input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rademacher_term(0, 5, beta_l1_bound=1), "n must be at least 1"),
        (lambda: rademacher_term(10, 0, beta_l1_bound=1), "p must be at least 1"),
        (lambda: rademacher_term(10, 5), "finite beta_l2_bound"),
        (lambda: rademacher_term(10, 5, beta_l1_bound=-1), "beta_l1_bound must be a finite number"),
        (
            lambda: rademacher_term(10, 5, beta_l2_bound="x"),
            "beta_l2_bound must be a finite number",
        ),
        (lambda: rademacher_term(**{**DEEP, "network_bound": inf}), "network_bound must be a fin"),
        (lambda: rademacher_term(**{**DEEP, "bias_bounds": (1,)}), "1 entries, but the encoder"),
        (lambda: rademacher_term(**{**DEEP, "hidden": (4, 0)}), "every entry of hidden"),
        (lambda: risk_bound(), "give the rows X"),
        (lambda: risk_bound(deep_model()), "give the rows X"),
        (lambda: risk_bound(**DEEP), "give the rows X"),
        (lambda: risk_bound(**DEEP, imbalance=2.5), "at most 2"),
        (lambda: risk_bound(**DEEP, imbalance=0.1, delta=0), "delta must lie strictly"),
        (lambda: risk_bound(**DEEP, imbalance=0.1, delta=1), "delta must lie strictly"),
        (lambda: risk_bound(**DEEP, imbalance=0.1, best_risk=-1), "best_risk must be"),
        (lambda: risk_bound(**DEEP, imbalance=0.1, max_loss=np.nan), "max_loss must be"),
        (lambda: risk_bound(deep_model(), rows(), beta_l1_bound=1), "not both"),
        (lambda: risk_bound(deep_model(), rows(), hidden=(3,)), "not both"),
        (lambda: risk_bound(deep_model(), rows(p=5)), "X has 5 features, but 3 were expected"),
        (lambda: risk_bound(deep_model(), rows(n=7)), "each of the 7 rows"),
        (lambda: risk_bound(deep_model(), 2 * rows()), "must be 0/1"),
        (
            lambda: risk_bound(LogisticRegression(), rows()),
            "LogisticRegression has no finite coef_",
        ),
        (lambda: risk_bound(SimpleNamespace(coef_=np.eye(3)), rows()), "two classes"),
        (lambda: johnson_lindenstrauss_dimension(0, 0.5), "n must be at least 1"),
        (lambda: johnson_lindenstrauss_dimension(10, 1.0), "epsilon must lie strictly"),
    ],
)
def test_what_cannot_be_bounded_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_the_public_names_are_sorted_and_there():
    assert theory.__all__ == sorted(theory.__all__)
    assert all(hasattr(theory, name) for name in theory.__all__)
