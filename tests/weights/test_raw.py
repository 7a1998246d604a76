"""Balancing of the features themselves: the paper's loss and its gradient."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

import slow_versions as slow
from samples import sample_of
from stablepred.weights import raw
from stablepred.weights.raw import RawBalance, balance_and_gradient, imbalance

SHAPES = [(4, 2), (9, 1), (30, 3), (41, 8), (200, 5)]


def random_rows(n, p, seed=0):
    """0/1 features with both values in every column, and uneven positive weights."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, p)) < rng.uniform(0.3, 0.7, p)).astype(float)
    x[0], x[1] = 0, 1
    return torch.as_tensor(x), torch.as_tensor(rng.exponential(size=n) + 0.01)


def rows_of_order_two(n=60, p=4, seed=0):
    """Rows with products of pairs, their weights, and which columns share a feature."""
    x, v = random_rows(n, p, seed)
    sample = sample_of(x, x[:, 0]).with_products()
    return sample.x, v, sample.shared


def random_numbers(n=40, seed=0):
    """Two 0/1 columns, three numbers and a category of three levels; weights; what is shared."""
    rng = np.random.default_rng(seed)
    bits = (rng.random((n, 2)) < 0.5).astype(float)
    numbers = rng.normal(size=(n, 3)) + bits[:, :1]
    levels = np.eye(3)[rng.integers(0, 3, n)]
    x = torch.as_tensor(np.hstack([bits, numbers, levels]))
    groups = np.array([0, 1, 2, 3, 4, 5, 5, 5])
    shared = torch.as_tensor(groups[:, None] == groups)
    return x, torch.as_tensor(rng.exponential(size=n) + 0.01), shared


def loss(x, v, shared=None):
    return imbalance(x, v, shared).square().sum()


# --- the loss is that of the paper ---


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_the_loss_equals_the_loop_over_features(n, p, seed):
    x, v = random_rows(n, p, seed)
    expected = slow.balance(x.numpy(), v.numpy())
    assert float(balance_and_gradient(x, v)[0]) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert float(loss(x, v)) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_the_imbalance_of_each_pair_is_the_difference_of_weighted_means(n, p):
    x, v = random_rows(n, p, seed=1)
    expected = np.array(slow.gaps(x.numpy(), v.numpy()))
    np.testing.assert_allclose(imbalance(x, v).numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_of_order_two_equals_the_loop_that_zeroes_shared_features(seed):
    x, v, shared = rows_of_order_two(seed=seed)
    expected = slow.balance(x.numpy(), v.numpy(), shared=shared.numpy())
    assert float(balance_and_gradient(x, v, shared)[0]) == pytest.approx(expected, rel=1e-10)


def test_what_is_prepared_is_the_loss_of_the_samples_own_columns():
    x, v = random_rows(40, 4)
    sample = sample_of(x, x[:, 0]).with_products()
    value, gradient = RawBalance().prepare(sample, None)(v)
    expected, slope = balance_and_gradient(sample.x, v, sample.shared)
    assert float(value) == float(expected)
    assert gradient.equal(slope)


def test_blocks_of_rows_give_the_loss_of_all_rows_at_once(monkeypatch):
    x, v = random_rows(200, 5)
    value, gradient = balance_and_gradient(x, v)
    monkeypatch.setattr(raw, "BLOCK", 17)
    few, slope = balance_and_gradient(x, v)
    assert float(few) == pytest.approx(float(value), rel=1e-12)
    torch.testing.assert_close(slope, gradient, rtol=1e-10, atol=1e-13)


# --- the gradient ---


def loop_gradient(x, v, shared=None):
    """The gradient of the loop over features, by automatic differentiation."""
    weights = v.clone().requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    for j in range(x.shape[1]):
        removed = x.clone()
        removed[:, j] = 0
        if shared is not None:
            removed[:, shared[j]] = 0
        on, off = weights * x[:, j], weights * (1 - x[:, j])
        gap = removed.T @ on / on.sum() - removed.T @ off / off.sum()
        total = total + gap @ gap
    total.backward()
    return weights.grad


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_the_gradient_in_closed_form_is_that_of_the_loop(n, p):
    x, v = random_rows(n, p, seed=6)
    _, gradient = balance_and_gradient(x, v)
    torch.testing.assert_close(gradient, loop_gradient(x, v), rtol=1e-9, atol=1e-11)


def test_the_gradient_of_order_two_is_that_of_the_loop():
    x, v, shared = rows_of_order_two(seed=6)
    _, gradient = balance_and_gradient(x, v, shared)
    torch.testing.assert_close(gradient, loop_gradient(x, v, shared), rtol=1e-9, atol=1e-11)


def test_the_imbalance_passes_gradcheck_in_the_weights():
    x, v = random_rows(12, 4, seed=7)
    assert gradcheck(lambda weights: loss(x, weights), v.requires_grad_())
    x, v, shared = rows_of_order_two(n=14, p=3)
    assert gradcheck(lambda weights: loss(x, weights, shared), v.requires_grad_())


# --- numbers, and variables of several columns ---


@pytest.mark.parametrize("seed", range(3))
def test_for_numbers_the_loss_adds_up_squared_regression_slopes(seed):
    x, v, shared = random_numbers(seed=seed)
    for common in (None, shared):
        expected = np.array(slow.slopes(x.numpy(), v.numpy(), shared=common))
        found = imbalance(x, v, common)
        np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-12)
        value, _ = balance_and_gradient(x, v, common)
        assert float(value) == pytest.approx(float((expected**2).sum()), rel=1e-12)


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_for_columns_of_0_and_1_the_slopes_are_the_papers_differences_of_means(n, p):
    x, v = random_rows(n, p, seed=3)
    means = slow.gaps(x.numpy(), v.numpy())
    np.testing.assert_allclose(imbalance(x, v).numpy(), np.array(means), rtol=0, atol=1e-12)


def numerical_gradient(function, v):
    """Central differences, one weight after the other."""
    slopes = np.empty(len(v))
    for i in range(len(v)):
        up, down = v.clone(), v.clone()
        step = 1e-6 * float(v[i])
        up[i] += step
        down[i] -= step
        slopes[i] = (float(function(up)) - float(function(down))) / (2 * step)
    return slopes


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_for_numbers_is_that_of_finite_differences(seed):
    x, v, shared = random_numbers(seed=seed)
    for common in (None, shared):
        _, gradient = balance_and_gradient(x, v, common)
        expected = numerical_gradient(lambda w, s=common: balance_and_gradient(x, w, s)[0], v)
        np.testing.assert_allclose(gradient.numpy(), expected, rtol=2e-5, atol=2e-7)


def test_the_loss_is_zero_where_numbers_are_uncorrelated():
    grid = np.array(list(product([-1.3, 0.2, 1.1], [0.0, 1.0], [-2.0, 0.5, 0.7])))
    value, gradient = balance_and_gradient(torch.as_tensor(grid), torch.full((18,), 0.1).double())
    assert float(value) == pytest.approx(0, abs=1e-24)
    assert float(gradient.abs().max()) == pytest.approx(0, abs=1e-11)


def test_a_row_of_numbers_written_twice_is_a_row_of_twice_the_weight_in_any_order():
    x, v, shared = random_numbers()
    expected = float(balance_and_gradient(x, v, shared)[0])
    half = v.clone()
    half[:7] /= 2
    rows, weights = torch.cat([x, x[:7]]), torch.cat([half, half[:7]])
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))
    found = balance_and_gradient(rows[order], 1e5 * weights[order], shared)[0]
    assert float(found) == pytest.approx(expected, rel=1e-11)


# --- where the loss is zero ---


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_the_loss_is_zero_on_a_full_factorial_design(p):
    x = torch.tensor(list(product([0.0, 1.0], repeat=p)), dtype=torch.float64)
    v = torch.full((2**p,), 0.3, dtype=torch.float64)
    value, gradient = balance_and_gradient(x, v)
    assert float(value) == pytest.approx(0, abs=1e-24)
    assert float(gradient.abs().max()) == pytest.approx(0, abs=1e-12)


def test_the_loss_of_order_two_is_zero_on_a_full_factorial_design():
    every = np.array(list(product([0.0, 1.0], repeat=4)))
    sample = sample_of(every, every[:, 0]).with_products()
    value, _ = balance_and_gradient(sample.x, sample.mass, sample.shared)
    assert float(value) == pytest.approx(0, abs=1e-24)


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_is_zero_under_the_exact_weights_on_data_with_all_patterns(seed):
    x, exact = data_with_exact_weights(seed)
    assert float(balance_and_gradient(x, torch.ones_like(exact))[0]) > 1e-4
    assert float(balance_and_gradient(x, exact)[0]) == pytest.approx(0, abs=1e-22)


def data_with_exact_weights(seed):
    """All patterns of four features, unevenly often, and the weights that make them even."""
    rng = np.random.default_rng(seed)
    every = np.array(list(product([0.0, 1.0], repeat=4)))
    x = np.vstack([every, every[rng.choice(16, 300, p=rng.dirichlet(np.ones(16)))]])
    _, index, counts = np.unique(x, axis=0, return_inverse=True, return_counts=True)
    return torch.as_tensor(x), torch.as_tensor(1 / (counts / len(x))[index.reshape(-1)])


# --- a feature that is constant under the weights ---


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_constant_feature_contributes_nothing_as_treatment(value):
    x, v = random_rows(30, 4, seed=11)
    x[:, 2] = value
    gaps = imbalance(x, v)
    assert torch.isfinite(gaps).all()
    assert (gaps[2] == 0).all()
    expected = slow.balance(x.numpy(), v.numpy())
    assert float(balance_and_gradient(x, v)[0]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_feature_that_is_constant_under_the_weights_gives_no_nan(value):
    x, v = random_rows(30, 4, seed=12)
    v = torch.where(x[:, 2] == value, v, 0.0)
    found, gradient = balance_and_gradient(x, v)
    assert float(found) == pytest.approx(slow.balance(x.numpy(), v.numpy()), rel=1e-9)
    assert torch.isfinite(gradient).all()
    weights = v.clone().requires_grad_()
    loss(x, weights).backward()
    assert torch.isfinite(weights.grad).all()


# --- invariances ---


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), factor=st.floats(1e-8, 1e8))
def test_the_scale_of_the_weights_does_not_matter(seed, factor):
    x, v = random_rows(30, 4, seed)
    value, gradient = balance_and_gradient(x, v)
    scaled, slope = balance_and_gradient(x, v * factor)
    assert float(scaled) == pytest.approx(float(value), rel=1e-9)
    torch.testing.assert_close(slope * factor, gradient, rtol=1e-7, atol=1e-10)


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), order=st.permutations(range(20)))
def test_the_order_of_rows_does_not_matter(seed, order):
    x, v = random_rows(20, 4, seed)
    one, other = (float(balance_and_gradient(a, b)[0]) for a, b in ((x, v), (x[order], v[order])))
    assert other == pytest.approx(one, rel=1e-10)


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), order=st.permutations(range(5)))
def test_the_order_of_features_only_reorders_the_imbalance(seed, order):
    x, v = random_rows(30, 5, seed)
    torch.testing.assert_close(
        imbalance(x[:, order], v), imbalance(x, v)[order][:, order], rtol=0, atol=1e-12
    )


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), row=st.integers(0, 19))
def test_a_row_written_twice_is_a_row_of_twice_the_weight(seed, row):
    x, v = random_rows(20, 4, seed)
    twice = v.clone()
    twice[row] *= 2
    written = torch.cat([x, x[row : row + 1]]), torch.cat([v, v[row : row + 1]])
    found = float(balance_and_gradient(*written)[0])
    assert found == pytest.approx(float(balance_and_gradient(x, twice)[0]), rel=1e-10)
