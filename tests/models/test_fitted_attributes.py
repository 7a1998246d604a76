"""What a fitted estimator tells: history, weights, report, effects, and the paper's variants."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from stablepred import (
    DGBRClassifier,
    DLRClassifier,
    FrozenWeights,
    GBRClassifier,
    GlobalBalancer,
    StableClassifier,
)
from stablepred.core.head import fit_head
from stablepred.core.loop import Settings
from stablepred.data import SyntheticWorld
from stablepred.exceptions import ConstantFeatureWarning, StablepredWarning
from stablepred.heads import folds
from stablepred.heads.choice import Judged
from stablepred.models import gbr, paper
from stablepred.sample import make_sample

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")

FIXED = {"l1": 0.003, "refit": False}
MODELS = {
    "GlobalBalancer": GlobalBalancer(),
    "GlobalBalancer order 2": GlobalBalancer(order=2),
    "GBR": GBRClassifier(**FIXED),
    "GBR auto": GBRClassifier(),
    "GBR alternating": GBRClassifier(solver="alternating", **FIXED),
    "GBR paper": GBRClassifier.from_paper(),
    "DLR": DLRClassifier(max_iter=10),
    "DGBR": DGBRClassifier(max_iter=10, **FIXED),
    "DGBR auto": DGBRClassifier(max_iter=10),
    "DGBR features": DGBRClassifier(head="features", max_iter=10, **FIXED),
    "DGBR alternating": DGBRClassifier(solver="alternating", max_iter=10, **FIXED),
    "DGBR paper": DGBRClassifier.from_paper(max_iter=10),
    "FWDGBR": DGBRClassifier(frozen=FrozenWeights(after=3), max_iter=6, **FIXED),
    "RFWDGBR": DGBRClassifier(solver="alternating", frozen={"reduced": True}, max_iter=6, **FIXED),
}
TERMS = {
    "prediction",
    "balance",
    "reconstruction",
    "weight_l2",
    "l2",
    "l1",
    "weight_sum",
    "network_l2",
}
FITTED = {}


@pytest.fixture
def fitted(table):
    """Fit each model once for all tests, with uneven sample weights."""

    def fit(name):
        if name not in FITTED:
            model = clone(MODELS[name]).set_params(random_state=0)
            FITTED[name] = model.fit(table.X, table.y, sample_weight=table.sample_weight)
        return FITTED[name]

    return fit


# --- history ---


@pytest.mark.parametrize("name", MODELS)
def test_the_history_has_nine_names_and_one_entry_for_each_iteration(name, fitted):
    model = fitted(name)
    assert set(model.history_) == TERMS | {"total"}
    assert model.n_iter_ >= 1
    for term, values in model.history_.items():
        assert values.shape == (model.n_iter_,), term
        assert np.isfinite(values).all(), term


@pytest.mark.parametrize("name", ["GBR", "GBR alternating", "GlobalBalancer", "DLR"])
def test_a_single_stage_takes_at_most_max_iter_iterations(name, table):
    model = clone(MODELS[name]).set_params(max_iter=3, tol=0.0, random_state=0)
    assert model.fit(table.X, table.y).n_iter_ <= 3


@pytest.mark.parametrize(
    "name", ["GBR", "GBR alternating", "GBR paper", "DLR", "DGBR", "DGBR paper"]
)
def test_the_total_is_the_sum_of_the_strengths_times_the_terms(name, fitted):
    model = fitted(name)
    params = model.get_params()
    total = model.history_["prediction"].copy()
    for term in TERMS - {"prediction"}:
        total += params.get(term, 0.0) * model.history_[term]
    np.testing.assert_allclose(model.history_["total"], total, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "model",
    [
        GBRClassifier.from_paper(max_iter=30),
        GBRClassifier(solver="alternating", max_iter=30, **FIXED),
        GBRClassifier(solver="alternating", order=2, max_iter=10, **FIXED),
        GBRClassifier(solver="alternating", min_effective_share=0.6, max_iter=20, **FIXED),
        DGBRClassifier.from_paper(max_iter=10),
        DGBRClassifier(solver="alternating", max_iter=10, **FIXED),
        DGBRClassifier(solver="alternating", min_effective_share=0.6, max_iter=8, **FIXED),
    ],
    ids=lambda model: repr(model).replace("\n", ""),
)
def test_alternating_never_raises_the_objective(model, seed, make_table):
    table = make_table(n=100, p=4, seed=seed)
    model = clone(model).set_params(random_state=seed, tol=0.0).fit(table.X, table.y)
    total = model.history_["total"]
    assert len(total) > 2
    assert (np.diff(total) <= 1e-9 * np.abs(total[:-1])).all()
    assert total[-1] < total[0]


# --- weights ---


@pytest.mark.parametrize("name", MODELS)
def test_weights_have_mean_one_under_the_sample_weight_and_are_not_negative(name, fitted, table):
    model = fitted(name)
    w = getattr(model, "weights_", getattr(model, "sample_weight_", None))
    assert w.shape == (table.n,)
    assert (w >= 0).all()
    assert np.average(w, weights=table.sample_weight) == pytest.approx(1)


def test_without_balancing_every_weight_is_one(fitted):
    assert (fitted("DLR").sample_weight_ == 1).all()


@pytest.mark.parametrize("name", ["GlobalBalancer", "GlobalBalancer order 2", "GBR"])
def test_equal_rows_have_equal_weights(name, fitted, table):
    model = fitted(name)
    w = getattr(model, "weights_", getattr(model, "sample_weight_", None))
    rows = table.X.assign(y=table.y if name == "GBR" else 0)
    spread = rows.assign(w=w).groupby(list(rows.columns))["w"].agg(np.ptp)
    assert len(spread) < table.n
    assert spread.max() < 1e-12


def test_rows_of_weight_zero_have_weight_zero(table):
    weight = table.sample_weight.copy()
    weight[:10] = 0
    assert (GlobalBalancer().fit(table.X, sample_weight=weight).weights_[:10] == 0).all()
    model = GBRClassifier(**FIXED).fit(table.X, table.y, sample_weight=weight)
    assert (model.sample_weight_[:10] == 0).all()
    assert (model.sample_weight_[10:] > 0).all()
    assert model.balance_report_.n_rows == table.n - 10


@pytest.mark.parametrize(
    "name", ["GlobalBalancer", "GBR", "GBR alternating", "DGBR", "DGBR features"]
)
@pytest.mark.parametrize("floor", [0.5, 0.8])
def test_the_floor_on_the_effective_sample_size_holds(name, floor, table):
    model = clone(MODELS[name]).set_params(
        random_state=0, weight_l2=0.0, min_effective_share=floor, max_iter=15
    )
    assert model.fit(table.X, table.y).balance_report_.effective_share >= floor - 1e-9


@pytest.mark.parametrize("name", ["GlobalBalancer", "GBR"])
def test_weights_balance_features_that_follow_each_other(name, fitted):
    report = fitted(name).balance_report_
    assert abs(report.worst_before.imbalance) > 0.4
    assert abs(report.worst_after.imbalance) < 0.1


def test_weights_of_order_two_balance_products_too(make_table):
    """x2 is the exclusive or of the others for most rows: balanced one by one, not in pairs."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (2000, 3)).astype(float)
    follows = rng.random(2000) < 0.7
    x[:, 2] = np.where(follows, np.abs(x[:, 0] - x[:, 1]), x[:, 2])

    def gap(w):
        """Mean of x0 * x1 where x2 = 1 minus where x2 = 0."""
        pair, on = x[:, 0] * x[:, 1], x[:, 2] == 1
        return np.average(pair[on], weights=w[on]) - np.average(pair[~on], weights=w[~on])

    first, second = GlobalBalancer().fit(x), GlobalBalancer(order=2).fit(x)
    assert abs(gap(first.weights_)) > 0.2
    assert abs(gap(second.weights_)) < 0.02


def test_pairs_that_are_constant_are_skipped_and_named(table):
    X = table.X.assign(f4=1 - table.x[:, 0])
    for model in (GlobalBalancer(order=2), GBRClassifier(order=2, **FIXED)):
        with pytest.warns(ConstantFeatureWarning, match=r"f0\*f4"):
            model.fit(X, table.y)


# --- constant columns ---


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, 5.5) for name in ("GBR auto", "GBR alternating", "DGBR features", "DGBR")),
        *(("GBR", value) for value in (0.0, 1.0, 5.5)),
    ],
)
def test_a_constant_column_keeps_its_place_with_effect_and_coefficient_zero(name, value, table):
    X = table.X.copy()
    X.insert(1, "stuck", value)
    model = clone(MODELS[name]).set_params(random_state=0, max_iter=5)
    with pytest.warns(ConstantFeatureWarning, match="stuck"):
        model.fit(X, table.y)
    assert model.n_features_in_ == table.p + 1
    assert model.feature_effects_["feature"].tolist()[1] == "stuck"
    assert model.feature_effects_.loc[1, ["effect", "low", "high"]].tolist() == [0, 0, 0]
    assert not model.stable_features_[1]
    if model.coef_.shape[1] == table.p + 1:
        assert model.coef_[0, 1] == 0
    without = clone(model).fit(table.X, table.y)
    np.testing.assert_allclose(
        model.predict_proba(X), without.predict_proba(table.X), rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(
        model.predict_proba(X.assign(stuck=1 - value)), model.predict_proba(X)
    )


# --- effects and verdicts ---


@pytest.mark.parametrize("name", [name for name in MODELS if "Global" not in name])
def test_effects_are_differences_of_weighted_means(name, fitted, table):
    model = fitted(name)
    frame = model.feature_effects_
    assert list(frame.columns) == ["feature", "effect", "low", "high", "stable"]
    v = table.sample_weight * model.sample_weight_
    for j in range(table.p):
        on = table.x[:, j] == 1
        expected = np.average(table.y[on], weights=v[on]) - np.average(table.y[~on], weights=v[~on])
        assert frame["effect"][j] == pytest.approx(expected, abs=1e-10)
        assert frame["low"][j] <= frame["effect"][j] <= frame["high"][j]


@pytest.mark.parametrize("name", [name for name in MODELS if "Global" not in name])
def test_stable_features_are_the_verdicts_of_the_table(name, fitted, table):
    model = fitted(name)
    assert model.stable_features_.dtype == bool
    assert model.stable_features_.shape == (table.p,)
    frame = model.feature_effects_
    np.testing.assert_array_equal(model.stable_features_, frame["stable"])
    np.testing.assert_array_equal(frame["stable"], (frame["low"] > 0) | (frame["high"] < 0))


@pytest.mark.parametrize("small", [0.5, 0.01, 1e-6])
def test_one_row_of_small_weight_hardly_moves_the_intervals(small, make_table):
    table = make_table(n=400, p=4)
    weight = np.ones(table.n)

    def effects(weight):
        model = GBRClassifier(random_state=0, **FIXED)
        return model.fit(table.X, table.y, sample_weight=weight).feature_effects_

    whole = effects(weight)
    weight[0] = small
    other = effects(weight)
    np.testing.assert_allclose(other["high"] - other["low"], whole["high"] - whole["low"], rtol=0.2)


# --- heads ---


def test_l1_gives_exact_zeros_under_both_solvers(table):
    for solver in ("sequential", "alternating"):
        model = GBRClassifier(solver=solver, l1=0.02, weight_l2=1.0, weight_sum=100.0, refit=False)
        coef = model.fit(table.X, table.y).coef_[0]
        assert 0 < (coef == 0).sum() < table.p
        assert not ((coef != 0) & (np.abs(coef) < 1e-10)).any()


@pytest.mark.parametrize("refit", [False, "weighted"])
def test_the_head_is_the_weighted_problem_and_its_refit_by_hand(refit, table):
    model = GBRClassifier(l1=0.02, refit=refit).fit(table.X, table.y)
    x, y = torch.as_tensor(table.x), torch.as_tensor(table.y.astype(float))
    w = torch.as_tensor(model.sample_weight_) / table.n
    sample = make_sample(table.x, table.y, np.ones(table.n), list(table.X.columns))
    sample = replace(sample, x=x, y=y)
    head = fit_head(sample, x, w, l2=model.l2, l1=0.02)
    if refit:
        kept = head.beta != 0
        again = fit_head(sample, x[:, kept], w, l2=model.l2, l1=0.0)
        beta = torch.zeros_like(head.beta)
        beta[kept] = again.beta
    else:
        beta = head.beta
    np.testing.assert_allclose(model.coef_[0], beta.numpy(), atol=1e-5)


@pytest.mark.parametrize("refit", [False, "weighted"])
def test_of_a_large_table_too_the_head_is_the_weighted_regression_on_all_rows(refit, monkeypatch):
    for name, few in {"MOST_COMPARED": 300, "LEAST_DRAWN": 50}.items():
        monkeypatch.setattr(folds, name, few)
    x = np.random.default_rng(0).normal(size=(600, 4))
    y = (x[:, 0] + x[:, 1] * x[:, 2] > np.random.default_rng(1).logistic(size=600)).astype(float)
    model = DGBRClassifier(head="embedding", l1=0.0, refit=refit, random_state=0).fit(x, y)
    assert (model.sample_weight_ > 0).mean() > 0.5
    by_hand = LogisticRegression(C=1 / (2 * model.l2 * len(y)), tol=1e-8, max_iter=10000)
    by_hand.fit(model.transform(x), y, sample_weight=model.sample_weight_)
    np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("solver", ["sequential", "alternating"])
@pytest.mark.parametrize("kind", [GBRClassifier, DGBRClassifier])
def test_without_an_intercept_it_is_zero(kind, solver, table):
    model = kind(solver=solver, fit_intercept=False, max_iter=3, random_state=0, **FIXED)
    assert model.fit(table.X, table.y).intercept_.tolist() == [0.0]


def test_the_automatic_choice_is_never_a_constant_where_another_is_there(make_table):
    for seed in range(3):
        table = make_table(n=100, p=4, seed=seed)
        model = GBRClassifier(random_state=0, cv=2).fit(table.X, table.y)
        assert model.coef_.any()


def test_the_automatic_choice_is_one_of_its_candidates_fitted_by_hand(table):
    model = GBRClassifier(random_state=0).fit(table.X, table.y)
    recipe = model.recipe_
    by_hand = GBRClassifier(l1=recipe.l1, refit=recipe.refit, random_state=0)
    if not recipe.only_stable:
        np.testing.assert_allclose(
            by_hand.fit(table.X, table.y).coef_, model.coef_, rtol=0, atol=1e-5
        )
    else:
        assert (model.coef_[0] == 0).sum() >= table.p // 2


@pytest.mark.parametrize("p", [1, 2, 3])
def test_the_automatic_choice_does_not_shrink_a_plain_effect_on_few_distinct_rows(p):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (2000, p)).astype(float)
    y = (rng.random(2000) < 1 / (1 + np.exp(1 - 2 * x[:, 0]))).astype(int)
    model = GBRClassifier(random_state=0).fit(x, y)
    reference = LogisticRegression().fit(x, y)
    assert log_loss(y, model.predict_proba(x)) < log_loss(y, reference.predict_proba(x)) + 0.02


def test_a_refit_without_the_weakest_half_uses_the_others_alone(make_table, monkeypatch):
    table = make_table(n=300, p=5, seed=1)
    model = DGBRClassifier(l1=0.0, refit="weighted", head="embedding", max_iter=10, random_state=0)

    def choose_stable(heads, recipes, *others, **options):
        return Judged(next(k for k, recipe in enumerate(recipes) if recipe.only_stable))

    monkeypatch.setattr(paper, "judge_recipes", choose_stable)
    model.fit(table.x, table.y)
    used = model.used_features_
    assert used.sum() == 3  # of five; the weakest half are two
    assert model.recipe_.only_stable
    changed = table.x.copy()
    changed[:, ~used] = 1 - changed[:, ~used]
    one = model.predict_proba(table.x)
    np.testing.assert_allclose(model.predict_proba(changed), one, rtol=0, atol=1e-12)
    changed[:, used] = 1 - changed[:, used]
    assert not np.allclose(model.predict_proba(changed), one)


def test_both_heads_are_reported_and_the_better_one_is_chosen(make_table):
    table = make_table(n=300, p=4, seed=2)
    model = DGBRClassifier(max_iter=10, random_state=0).fit(table.X, table.y)
    heads = model.heads_
    assert heads["head"].tolist() == ["features", "embedding"]
    scores = heads["average"] + 5 * heads["stability"]
    assert heads["chosen"].tolist() == (scores == scores.min()).tolist()
    assert model.head_ == heads["head"][scores.argmin()]
    assert model.recipe_.temper == heads["temper"][scores.argmin()]


# --- the paper to the letter ---


def test_from_paper_switches_every_deviation_off():
    for model in (GBRClassifier.from_paper(), DGBRClassifier.from_paper()):
        params = model.get_params()
        assert params["solver"] == "alternating"
        assert params["fit_intercept"] is False
        assert params["refit"] is False
        assert params["min_effective_share"] == 0
        assert params["order"] == 1
        for strength in ("balance", "weight_l2", "l2", "l1", "weight_sum"):
            assert isinstance(params[strength], float)
            assert params[strength] > 0
    assert params["head"] == "embedding"
    assert params["standardize"] is False
    assert params["frozen"] is None


def test_from_paper_takes_other_parameters():
    model = DGBRClassifier.from_paper(balance=7.0, hidden=(3,), max_iter=2)
    assert (model.balance, model.hidden, model.max_iter) == (7.0, (3,), 2)
    assert model.solver == "alternating"


def test_under_from_paper_the_weights_see_the_prediction_loss(table):
    """Coupled to L_Pre, the weights depend on the outcome; decoupled, they do not."""
    flipped = np.where(table.x[:, 3] == 1, 1 - table.y, table.y)

    def moved(model):
        one, other = (clone(model).fit(table.X, y).sample_weight_ for y in (table.y, flipped))
        # Equal rows are grouped with their outcome; the weights are what is compared.
        return np.abs(one - other).max()

    assert moved(GBRClassifier.from_paper(max_iter=10)) > 0.1
    assert moved(GBRClassifier(**FIXED)) < 1e-2


# --- fixed weights ---


def test_fixed_weights_stay_what_they_were_when_fixed():
    """The weights after t iterations, whatever comes later."""
    table = SyntheticWorld("s_indep_v", n_features=10).sample(200, bias_rate=0.75, random_state=0)
    options = {"solver": "alternating", "random_state": 0, **FIXED}
    early = DGBRClassifier(max_iter=3, **options).fit(table.X, table.y)
    for more in ({}, {"reduced": True}, {"bias_bound": 0.5}):
        frozen = FrozenWeights(after=3, **more)
        model = DGBRClassifier(frozen=frozen, max_iter=12, **options)
        model.fit(table.X, table.y)
        np.testing.assert_allclose(model.sample_weight_, early.sample_weight_, rtol=1e-12)
        assert not np.allclose(model.encoders_[0][0][1], early.encoders_[0][0][1])


@pytest.mark.parametrize("solver", ["sequential", "alternating"])
@pytest.mark.parametrize("refit", [False, "auto"])
def test_bounds_hold_in_the_fitted_encoder(solver, refit, table):
    model = DGBRClassifier(
        solver=solver,
        frozen={"reduced": True, "network_bound": 1.5, "bias_bound": 0.2, "after": 2},
        max_iter=6,
        random_state=0,
        l1=0.003,
        refit=refit,
    ).fit(table.X, table.y)
    for weight, bias in model.encoders_[0]:
        assert (weight**2).sum() <= 1.5 * (1 + 1e-12)
        assert np.linalg.norm(bias) <= 0.2 * (1 + 1e-12)


@pytest.mark.parametrize("solver", ["sequential", "alternating"])
def test_max_iter_bounds_the_iterations_before_the_freeze_too(solver, table):
    model = DGBRClassifier(
        solver=solver, frozen={"after": 9}, max_iter=2, tol=0.0, random_state=0, **FIXED
    ).fit(table.X, table.y)
    stages = 2 if solver == "alternating" else 3
    assert model.n_iter_ <= 2 * stages + 1


def test_reaching_the_freeze_is_not_called_a_failure_to_converge(table):
    model = DGBRClassifier(
        solver="alternating",
        frozen=FrozenWeights(after=1),
        max_iter=200,
        tol=1e-2,
        random_state=0,
        **FIXED,
    ).fit(table.X, table.y)
    assert model.converged_


# --- settings reach the solver ---


def test_hidden_layers_have_the_widths_asked_for(table):
    for model in (DLRClassifier(hidden=(6, 3)), DGBRClassifier(hidden=(6, 3), **FIXED)):
        model.set_params(max_iter=2, random_state=0).fit(table.X, table.y)
        shapes = [weight.shape for weight, _ in model.encoders_[0]]
        assert shapes == [(6, table.p), (3, 6)]


def test_transform_gives_the_embedding_by_hand(table):
    for model in (
        DLRClassifier(hidden=(6, 3)),
        DGBRClassifier(hidden=(6, 3), **FIXED),
        DGBRClassifier(hidden=(6, 3), head="features", **FIXED),
        DGBRClassifier(hidden=(6, 3), order=2, **FIXED),
    ):
        model.set_params(max_iter=2, random_state=0).fit(table.X, table.y)
        phi = table.x
        if getattr(model, "order", 1) == 2:
            phi = np.column_stack([phi, *(phi[:, a] * phi[:, b] for a, b in model.pairs_)])
        for weight, bias in model.encoders_[0]:
            phi = 1 / (1 + np.exp(-(phi @ weight.T + bias)))
        assert phi.shape == (table.n, 3)
        np.testing.assert_allclose(model.transform(table.X), phi)
        named = model.set_output(transform="pandas").transform(table.X)
        assert list(named) == [f"{type(model).__name__.lower()}{k}" for k in range(3)]
    assert not hasattr(GBRClassifier(), "transform")


@pytest.mark.slow
def test_without_the_weights_the_predictions_are_others():
    """The head is fitted under the balancing weights, whatever was chosen."""
    train = SyntheticWorld("s_indep_v").sample(500, bias_rate=0.75, random_state=0)
    for model in (GBRClassifier(random_state=0), DGBRClassifier(random_state=0, max_iter=20)):
        one = model.fit(train.X, train.y).predict_proba(train.X)
        other = model.set_params(balance=0.0).fit(train.X, train.y).predict_proba(train.X)
        assert np.abs(one - other).max() > 0.01


def test_order_two_gives_the_encoder_the_products(table):
    model = DGBRClassifier(order=2, max_iter=2, random_state=0, **FIXED).fit(table.X, table.y)
    p = table.p
    assert model.encoders_[0][0][0].shape[1] == p + p * (p - 1) // 2
    assert np.isfinite(model.predict_proba(table.X)).all()


def test_the_solver_is_told_the_tolerance_and_the_bound_on_iterations(table, monkeypatch):
    seen = []
    original = gbr.learn_weights

    def spy(sample, balance, network, settings, solution):
        seen.append(settings)
        return original(sample, balance, network, settings, solution)

    monkeypatch.setattr(gbr, "learn_weights", spy)
    GBRClassifier(max_iter=7, tol=0.5, min_effective_share=0.3, **FIXED).fit(table.X, table.y)
    (settings,) = seen
    assert isinstance(settings, Settings)
    assert (settings.max_iter, settings.tol, settings.least_share) == (7, 0.5, 0.3)


def test_progress_is_quiet_where_there_is_no_terminal(table, capfd):
    GBRClassifier(verbose=1, **FIXED).fit(table.X, table.y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_used_features_are_those_that_change_the_prediction():
    train = SyntheticWorld("s_indep_v").sample(400, bias_rate=0.75, random_state=3)
    models = [
        GBRClassifier(l1=0.02, refit=False, random_state=0),
        DGBRClassifier(random_state=0, max_iter=10),
        DGBRClassifier(random_state=0, max_iter=3, refit=False, l1=0.001, order=2),
        StableClassifier(random_state=0),
        StableClassifier(LogisticRegression(), guard=False, random_state=0),
    ]
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StablepredWarning)
            model.fit(train.X, train.y)
        before = model.predict_proba(train.X)
        moved = []
        for name in train.X.columns:
            flipped = train.X.assign(**{name: 1 - train.X[name]})
            moved.append(not np.array_equal(model.predict_proba(flipped), before))
        assert model.used_features_.tolist() == moved
        assert model.used_features_.dtype == bool
