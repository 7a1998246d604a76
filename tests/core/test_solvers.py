from dataclasses import replace

import numpy as np
import pytest
import torch
from stablepred.core.solvers import Settings, alternating, fixed_weights, sequential
from stablepred.core.weights import effective_share, with_mean_one
from stablepred.weights.balancing import raw_balance

from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import TERMS, Rows, Strengths, all_terms, weighted_sum

STRENGTHS = Strengths(
    balance=1.0,
    reconstruction=0.1,
    weight_l2=0.5,
    l2=1e-3,
    l1=1e-3,
    weight_sum=1.0,
    network_l2=1e-4,
)
SETTINGS = Settings(STRENGTHS, max_iter=8, tol=0.0)


def made(seed=0, n=60, p=4, p_biased=2):
    """Distinct rows with dependent features; the mass is uneven."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, p)) < 0.5).astype(float)
    for j in range(1, 1 + p_biased):
        x[:, j] = np.where(rng.random(n) < 0.6, x[:, 0], x[:, j])
    y = (x[:, 0] + x[:, -1] + rng.normal(0, 0.6, n) > 1).astype(float)
    mass = rng.exponential(size=n) + 0.1
    x, y, mass = (torch.as_tensor(a) for a in (x, y, mass / mass.sum()))
    return Rows(x, y, mass, p)


def start(p=4, hidden=(3, 2), seed=0):
    return AutoEncoder.random(p, hidden, torch.Generator().manual_seed(seed))


def steps_up(history):
    """Largest rise from one iteration to the next, relative."""
    values = np.array(history)
    return float((np.diff(values) / np.abs(values[:-1])).max())


# --- Algorithm 1 ---


@pytest.mark.parametrize("least_share", [0.0, 0.5])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_alternating_never_raises_the_objective(seed, deep, standardize, least_share):
    settings = replace(SETTINGS, max_iter=12, standardize=standardize, least_share=least_share)
    network = start(seed=seed) if deep else None
    solution = alternating(made(seed), network, settings)
    assert len(solution.history["total"]) > 2
    assert steps_up(solution.history["total"]) <= 1e-9


@pytest.mark.parametrize("strength", [{"balance": 100.0}, {"weight_l2": 0.0}, {"l1": 0.1}])
@pytest.mark.parametrize("deep", [False, True])
def test_alternating_never_raises_the_objective_under_extreme_strengths(deep, strength):
    settings = replace(SETTINGS, strengths=replace(STRENGTHS, **strength), max_iter=12)
    solution = alternating(made(), start() if deep else None, settings)
    assert steps_up(solution.history["total"]) <= 1e-9


@pytest.mark.parametrize("deep", [False, True])
def test_the_last_total_is_the_objective_at_the_solution(deep):
    rows = made()
    solution = alternating(rows, start() if deep else None, SETTINGS)
    network = solution.networks[0] if deep else None
    terms = all_terms(rows, solution.w, solution.head, network, SETTINGS.standardize)
    assert solution.history["total"][-1] == pytest.approx(
        float(weighted_sum(terms, STRENGTHS)), rel=1e-12
    )
    for name in terms:
        assert solution.history[name][-1] == pytest.approx(float(terms[name]), rel=1e-10)


@pytest.mark.parametrize("deep", [False, True])
def test_the_total_of_every_iteration_is_the_sum_of_its_terms(deep):
    history = alternating(made(), start() if deep else None, SETTINGS).history
    total = np.array(history["prediction"])
    for name in set(TERMS) - {"prediction"}:
        total = total + getattr(STRENGTHS, name) * np.array(history[name])
    np.testing.assert_allclose(history["total"], total, rtol=1e-10)


def test_l1_gives_exact_zeros_in_the_head():
    for deep in (False, True):
        strengths = replace(STRENGTHS, l1=0.03)
        settings = replace(SETTINGS, strengths=strengths)
        beta = alternating(made(), start(hidden=(4, 4)) if deep else None, settings).head.beta
        assert (beta == 0).any()
        assert not ((beta != 0) & (beta.abs() < 1e-10)).any()


@pytest.mark.parametrize("deep", [False, True])
def test_without_intercept_it_stays_zero(deep):
    settings = replace(SETTINGS, fit_intercept=False)
    solution = alternating(made(), start() if deep else None, settings)
    assert float(solution.head.intercept) == 0


def slope_in_omega(rows, w, objective):
    omega = torch.sqrt(rows.mass * w).requires_grad_()
    (slope,) = torch.autograd.grad(objective(omega.square() / rows.mass), omega)
    return float(slope.abs().max())


def test_alternating_stops_where_the_true_gradient_vanishes():
    rows = made(n=150, p_biased=1)
    solution = alternating(rows, None, replace(SETTINGS, max_iter=150, tol=1e-12))

    def objective(w):
        return weighted_sum(all_terms(rows, w, solution.head, None, False), STRENGTHS)

    assert slope_in_omega(rows, solution.w, objective) < 1e-4
    assert slope_in_omega(rows, torch.ones_like(solution.w), objective) > 1e-2


# --- the sequential solver ---


def test_without_encoders_only_balance_and_variance_move_the_weights():
    rows = made()
    solution = sequential(rows, [], SETTINGS)
    flipped = sequential(replace(rows, y=1 - rows.y), [], SETTINGS)
    torch.testing.assert_close(solution.w, flipped.w, rtol=0, atol=1e-12)


def test_sequential_weights_stop_where_the_true_gradient_vanishes():
    rows = made(n=150, p_biased=1)
    # Held to a sum of one, the solver's weights are those that are handed back.
    strengths = replace(STRENGTHS, weight_sum=1e6)
    w = sequential(rows, [], replace(SETTINGS, strengths=strengths, max_iter=150, tol=1e-12)).w

    def objective(w):
        w = w / (rows.mass @ w)
        balance = raw_balance(rows.x, rows.mass * w)
        return STRENGTHS.balance * balance + STRENGTHS.weight_l2 * (rows.mass @ w.square())

    assert slope_in_omega(rows, w, objective) < 1e-3
    assert slope_in_omega(rows, torch.ones_like(w), objective) > 1e-2


def test_sequential_weights_lower_the_imbalance_and_have_mean_one():
    rows = made(n=200)
    for networks in ([], [start()], [start(seed=0), start(seed=1)]):
        solution = sequential(rows, networks, replace(SETTINGS, max_iter=30))
        assert float(rows.mass @ solution.w) == pytest.approx(1)
        assert (solution.w >= 0).all()
        network = solution.networks[0] if networks else None
        ones = torch.ones_like(solution.w)
        after = all_terms(rows, solution.w, solution.head, network, True)["balance"]
        before = all_terms(rows, ones, solution.head, network, True)["balance"]
        assert float(after) < 0.5 * float(before)


def test_the_weights_of_several_encoders_are_averaged_geometrically():
    rows = made()
    alone = [sequential(rows, [start(seed=k)], SETTINGS).w for k in range(3)]
    together = sequential(rows, [start(seed=k) for k in range(3)], SETTINGS).w
    average = with_mean_one(torch.stack(alone).log().mean(0).exp(), rows.mass)
    torch.testing.assert_close(together, average, rtol=1e-9, atol=1e-12)


def test_without_balance_the_weights_stay_at_one():
    rows = made()
    solution = sequential(rows, [start()], SETTINGS, balance="nothing")
    assert (solution.w == 1).all()
    assert len(solution.networks) == 1


def test_the_features_can_be_balanced_in_place_of_the_embedding():
    rows = made()
    solution = sequential(rows, [start()], SETTINGS, balance="features")
    alone = sequential(rows, [], SETTINGS)
    torch.testing.assert_close(solution.w, alone.w)
    assert solution.history["balance"][-1] == alone.history["balance"][-1]
    assert len(solution.networks) == 1


def test_training_the_encoder_lowers_its_objective():
    rows = made()
    history = sequential(rows, [start()], replace(SETTINGS, max_iter=10), balance="nothing").history
    own = np.array(history["prediction"])
    for name in ("reconstruction", "l2", "network_l2"):
        own = own + getattr(STRENGTHS, name) * np.array(history[name])
    assert steps_up(own) <= 1e-9
    assert history["prediction"][-1] < np.log(2)


def test_each_stage_is_bounded_by_max_iter():
    solution = sequential(made(), [start(), start(seed=1)], replace(SETTINGS, max_iter=3))
    assert len(solution.history["total"]) == 2 * (3 + 3)
    assert solution.unfinished == ["encoder", "encoder", "weights", "weights"]


def test_a_stage_that_settles_is_not_called_unfinished():
    solution = sequential(made(), [], replace(SETTINGS, max_iter=500, tol=1e-3))
    assert solution.unfinished == []


def test_every_iteration_is_announced_with_its_stage():
    calls = []
    settings = replace(
        SETTINGS,
        max_iter=3,
        on_iteration=lambda stage, iteration, value: calls.append((stage, iteration)),
    )
    sequential(made(), [start()], settings)
    alternating(made(), None, settings)
    expected = ("encoder", "weights", "alternating")
    assert calls == [(stage, k) for stage in expected for k in range(3)]


# --- the floor under the effective sample size ---


@pytest.mark.parametrize("floor", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("solver", [alternating, sequential])
def test_the_floor_on_the_effective_sample_size_holds(solver, deep, floor):
    rows = made(n=80)
    strengths = replace(STRENGTHS, balance=100.0, weight_l2=0.0)
    settings = replace(SETTINGS, strengths=strengths, least_share=floor, max_iter=15)
    free = replace(settings, least_share=0.0)

    def solve(settings):
        if solver is sequential:
            return sequential(rows, [start()] if deep else [], settings)
        return alternating(rows, start() if deep else None, settings)

    held, unheld = solve(settings), solve(free)
    assert float(effective_share(held.w, rows.mass)) >= floor - 1e-9
    assert held.floored == (float(effective_share(unheld.w, rows.mass)) < floor)
    assert not unheld.floored


def test_the_floor_holds_for_the_average_of_several_encoders():
    for seed in range(2):
        rows = made(seed, n=80)
        strengths = replace(STRENGTHS, balance=100.0, weight_l2=0.0)
        settings = replace(SETTINGS, strengths=strengths, least_share=0.5, max_iter=15)
        solution = sequential(rows, [start(seed=k) for k in range(4)], settings)
        assert float(effective_share(solution.w, rows.mass)) >= 0.5 - 1e-9


# --- fixed weights ---


@pytest.fixture(scope="module")
def before_the_phase():
    rows = made(n=80)
    return rows, alternating(rows, start(), replace(SETTINGS, max_iter=3))


def fixed(rows, solution, max_iter=6, **options):
    options = {"reduced": False, "bias_bound": None, "network_bound": None} | options
    solution = replace(solution, history={k: list(v) for k, v in solution.history.items()})
    return fixed_weights(rows, solution, replace(SETTINGS, max_iter=max_iter), **options)


@pytest.mark.parametrize("reduced", [False, True])
def test_fixed_weights_do_not_change(before_the_phase, reduced):
    rows, solution = before_the_phase
    result = fixed(rows, solution, reduced=reduced)
    torch.testing.assert_close(result.w, with_mean_one(solution.w, rows.mass), rtol=0, atol=0)


@pytest.mark.parametrize("reduced", [False, True])
def test_in_the_fixed_phase_only_loss_penalties_and_reconstruction_count(before_the_phase, reduced):
    rows, solution = before_the_phase
    history = fixed(rows, solution, reduced=reduced).history
    done = len(solution.history["total"])
    total = np.array(history["prediction"])
    counted = ("l2", "l1") if reduced else ("l2", "l1", "reconstruction", "network_l2")
    for name in counted:
        total = total + getattr(STRENGTHS, name) * np.array(history[name])
    assert len(history["total"]) > done
    np.testing.assert_allclose(history["total"][done:], total[done:], rtol=1e-10)


@pytest.mark.parametrize(
    "options",
    [{}, {"reduced": True}, {"bias_bound": 0.3}, {"reduced": True, "network_bound": 2.0}],
)
def test_the_objective_of_the_fixed_phase_never_rises(before_the_phase, options):
    rows, solution = before_the_phase
    history = fixed(rows, solution, max_iter=10, **options).history["total"]
    assert steps_up(history[len(solution.history["total"]) :]) <= 1e-9


def test_the_fixed_phase_lowers_the_prediction_loss(before_the_phase):
    rows, solution = before_the_phase
    history = fixed(rows, solution, max_iter=10).history["prediction"]
    assert history[-1] < history[len(solution.history["total"])]


def test_the_fixed_phase_divides_the_loss_by_the_sum_of_the_weights(before_the_phase):
    rows, solution = before_the_phase
    doubled = replace(solution, w=2 * solution.w)
    one, other = fixed(rows, solution), fixed(rows, doubled)
    torch.testing.assert_close(one.head.beta, other.head.beta, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("bound", [0.5, 2.0, 100.0])
def test_the_reduced_phase_bounds_the_norm_of_every_matrix(before_the_phase, bound):
    rows, solution = before_the_phase
    (network,) = fixed(rows, solution, reduced=True, network_bound=bound).networks
    for weight, _ in network.encoder:
        assert float(weight.square().sum()) <= bound * (1 + 1e-12)


def test_without_a_bound_the_reduced_phase_keeps_every_matrix_within_its_own_norm(before_the_phase):
    rows, solution = before_the_phase
    (network,) = fixed(rows, solution, max_iter=15, reduced=True).networks
    for (weight, _), (old, _) in zip(network.encoder, solution.networks[0].encoder, strict=True):
        assert float(weight.square().sum()) <= float(old.square().sum()) * (1 + 1e-12)
        assert not torch.equal(weight, old)


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("bound", [0.0, 0.05, 0.5])
def test_the_bias_bound_holds_for_every_layer(before_the_phase, bound, reduced):
    rows, solution = before_the_phase
    (network,) = fixed(rows, solution, reduced=reduced, bias_bound=bound).networks
    for _, bias in network.encoder:
        assert float(bias.norm()) <= bound * (1 + 1e-12)
        assert torch.isfinite(bias).all()


def test_the_reduced_phase_leaves_the_decoder_alone(before_the_phase):
    rows, solution = before_the_phase
    (network,) = fixed(rows, solution, reduced=True).networks
    for (weight, bias), (old, old_bias) in zip(
        network.decoder, solution.networks[0].decoder, strict=True
    ):
        assert torch.equal(weight, old)
        assert torch.equal(bias, old_bias)


def test_the_fixed_phase_does_not_touch_the_solution_it_starts_from(before_the_phase):
    rows, solution = before_the_phase
    old = [tensor.clone() for tensor in solution.networks[0].parameters()]
    fixed(rows, solution)
    for tensor, copy in zip(solution.networks[0].parameters(), old, strict=True):
        assert torch.equal(tensor, copy)


# --- invariances from the corresponding start ---


def permuted(rows, network, order):
    """The same problem with the features in another order."""
    (first, bias), *rest = network.encoder
    *others, (last, last_bias) = network.decoder
    moved = AutoEncoder(
        [(first[:, order].clone(), bias.clone()), *[(a.clone(), b.clone()) for a, b in rest]],
        [
            *[(a.clone(), b.clone()) for a, b in others],
            (last[order].clone(), last_bias[order].clone()),
        ],
    )
    return replace(rows, x=rows.x[:, order]), moved


@pytest.mark.parametrize("balance", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_feature_order_does_not_matter_for_the_sequential_solver(seed, balance):
    rows, network = made(seed), start(seed=seed)
    order = np.random.default_rng(seed).permutation(4)
    settings = replace(SETTINGS, max_iter=2)
    moved_rows, moved = permuted(rows, network, order)
    one = sequential(rows, [network], settings, balance=balance)
    other = sequential(moved_rows, [moved], settings, balance=balance)
    assert_equal_up_to_order(one, other, order)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_feature_order_does_not_matter_for_the_alternating_solver(seed, standardize):
    rows, network = made(seed), start(seed=seed)
    order = np.random.default_rng(seed).permutation(4)
    settings = replace(SETTINGS, max_iter=2, standardize=standardize)
    moved_rows, moved = permuted(rows, network, order)
    one = alternating(rows, network, settings)
    other = alternating(moved_rows, moved, settings)
    assert_equal_up_to_order(one, other, order)


def assert_equal_up_to_order(one, other, order):
    torch.testing.assert_close(one.w, other.w, rtol=0, atol=1e-6)
    torch.testing.assert_close(one.head.beta, other.head.beta, rtol=0, atol=1e-6)
    (network,), (moved,) = one.networks, other.networks
    torch.testing.assert_close(
        network.encoder[0][0][:, order], moved.encoder[0][0], rtol=0, atol=1e-6
    )
    torch.testing.assert_close(
        network.decoder[-1][0][order], moved.decoder[-1][0], rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(one.history["total"], other.history["total"], rtol=1e-6)
