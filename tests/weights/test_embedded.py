"""Balancing of an embedding: the paper's loss, its gradients, and memory that runs short."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from test_raw import (
    SHAPES,
    data_with_exact_weights,
    numerical_gradient,
    random_numbers,
    random_rows,
    rows_of_order_two,
)
from torch.autograd import gradcheck

import slow_versions as slow
from samples import layers_of, random_network, sample_of
from stablepred.core.networks import AutoEncoder
from stablepred.weights import embedded
from stablepred.weights.embedded import (
    EmbeddedBalance,
    FixedEncoder,
    embedded_imbalance,
    embedding_scale,
    removed_embeddings,
)

LAYERS = [(3,), (4, 2), (5, 3, 4)]


def embedded_loss(layers, x, v, chunk=1 << 16, scale=None, shared=None):
    phi = AutoEncoder(layers, []).encode(x)
    removed = removed_embeddings(layers, x, shared, chunk)
    return embedded_imbalance(x, v, phi, removed, scale, shared).square().sum()


def loss_by_hand(network, x, v, **options):
    encoder, _ = layers_of(network)
    return slow.balance(
        x.numpy(), v.numpy(), lambda rows: slow.sigmoid_layers(rows, encoder), **options
    )


def scale_of(phi, mass):
    return embedding_scale(sample_of(torch.zeros(len(phi), 1), mass, mass), phi)


@pytest.fixture(autouse=True, params=[0, 100])
def compared(request, monkeypatch):
    """Treatments one after the other, as on a processor, or some together, as on a GPU."""
    monkeypatch.setitem(embedded.COMPARED, "cpu", request.param)


# --- the loss is that of the paper ---


@pytest.mark.parametrize("hidden", LAYERS)
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_the_loss_equals_the_loop_over_features(n, p, hidden):
    x, v = random_rows(n, p, seed=2)
    network = random_network(p, hidden)
    expected = loss_by_hand(network, x, v)
    assert float(embedded_loss(network.encoder, x, v)) == pytest.approx(expected, rel=1e-10)
    kept, _ = FixedEncoder(network.encoder, x, None)(v)
    assert float(kept) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("hidden", LAYERS)
def test_both_ways_in_give_the_loss_of_the_loop_in_units_of_the_spread(hidden, standardize):
    x, v = random_rows(40, 4, seed=3)
    network, mass = random_network(4, hidden), v / v.sum()
    w = torch.rand(40, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) + 0.1
    phi = slow.sigmoid_layers(x.numpy(), layers_of(network)[0])
    scale = slow.weighted_sd(phi, mass.numpy()) if standardize else 1.0
    expected = loss_by_hand(network, x, mass * w, scale=scale)
    sample, balance = sample_of(x, x[:, 0], mass), EmbeddedBalance(standardize)
    value, _ = balance.prepare(sample, network)(mass * w)
    assert float(value) == pytest.approx(expected, rel=1e-11)
    assert float(balance.of_network(sample, w, network)) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("hidden", LAYERS)
def test_the_loss_of_order_two_equals_the_loop_that_zeroes_shared_features(hidden):
    x, v, shared = rows_of_order_two()
    network = random_network(x.shape[1], hidden)
    expected = loss_by_hand(network, x, v, shared=shared.numpy())
    found = embedded_loss(network.encoder, x, v, shared=shared)
    assert float(found) == pytest.approx(expected, rel=1e-10)
    kept, _ = FixedEncoder(network.encoder, x, None, shared)(v)
    assert float(kept) == pytest.approx(expected, rel=1e-10)


def test_the_scale_is_the_weighted_standard_deviation():
    x, v = random_rows(30, 4)
    mass, phi = v / v.sum(), random_network(4, (4, 2)).encode(x)
    expected = slow.weighted_sd(phi.numpy(), mass.numpy())
    np.testing.assert_allclose(scale_of(phi, mass).numpy(), expected, rtol=1e-12)


# --- numbers, and variables of several columns ---


@pytest.mark.parametrize("hidden", LAYERS)
@pytest.mark.parametrize("seed", range(2))
def test_for_numbers_the_loss_adds_up_squared_regression_slopes(hidden, seed, monkeypatch):
    x, v, shared = random_numbers(seed=seed)
    network = random_network(x.shape[1], hidden, seed)
    encoder, _ = layers_of(network)
    phi = slow.sigmoid_layers(x.numpy(), encoder)
    scale = slow.weighted_sd(phi, (v / v.sum()).numpy())
    for common in (None, shared):
        vectors = slow.slopes(
            x.numpy(), v.numpy(), lambda rows: slow.sigmoid_layers(rows, encoder), scale, common
        )
        expected = float((np.array(vectors) ** 2).sum())
        units = torch.as_tensor(scale)
        found = embedded_loss(network.encoder, x, v, 100, units, common)
        assert float(found) == pytest.approx(expected, rel=1e-11)
        kept = FixedEncoder(network.encoder, x, units, common)
        assert float(kept(v)[0]) == pytest.approx(expected, rel=1e-11)
        monkeypatch.setitem(embedded.TOGETHER, "cpu", 150)
        made = FixedEncoder(network.encoder, x, units, common, keep_at_most=0)
        for one, other in zip(made(v), kept(v), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("hidden", LAYERS)
def test_the_gradients_for_numbers_are_those_of_finite_differences(hidden):
    x, v, shared = random_numbers(n=16)
    network = random_network(x.shape[1], hidden)
    scale = scale_of(network.encode(x), v / v.sum())
    for common in (None, shared):
        kept = FixedEncoder(network.encoder, x, scale, common)
        expected = numerical_gradient(lambda w, kept=kept: kept(w)[0], v)
        np.testing.assert_allclose(kept(v)[1].numpy(), expected, rtol=2e-5, atol=2e-6)
        weights = v.clone().requires_grad_()
        embedded_loss(network.encoder, x, weights, scale=scale, shared=common).backward()
        torch.testing.assert_close(kept(v)[1], weights.grad, rtol=1e-9, atol=1e-11)


def test_the_loss_for_numbers_passes_gradcheck_in_the_network():
    x, v, _ = random_numbers(n=8)
    x = x[:, :4]
    sample, w = sample_of(x, x[:, 0], v / v.sum()), torch.ones(8, dtype=torch.float64)
    layers = random_network(4, (3, 2)).encoder
    tensors = [tensor.requires_grad_() for layer in layers for tensor in layer]

    def loss(*flat):
        network = AutoEncoder(list(zip(flat[::2], flat[1::2], strict=True)), [])
        return EmbeddedBalance().of_network(sample, w, network)

    assert gradcheck(loss, tensors)


def test_never_all_rows_with_every_number_removed_at_once():
    """What is not kept is made for a few treatments at a time."""
    x, v, _ = random_numbers(n=200)
    network = random_network(x.shape[1], (4, 3))
    balance, sizes = FixedEncoder(network.encoder, x, None, keep_at_most=0), []
    make = balance._make
    balance._parts = [slice(j, j + 1) for j in range(x.shape[1])]
    balance._make = lambda part: sizes.append(part.stop - part.start) or make(part)
    torch.testing.assert_close(balance(v), FixedEncoder(network.encoder, x, None)(v))
    assert sizes == [1] * x.shape[1]


# --- pieces, and memory that runs short ---


@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 20])
def test_the_loss_does_not_depend_on_the_chunk_size(chunk):
    x, v = random_rows(24, 6, seed=4)
    network = random_network(6, (4, 3))
    expected = float(embedded_loss(network.encoder, x, v, chunk=10**9))
    found = float(embedded_loss(network.encoder, x, v, chunk=chunk))
    assert found == pytest.approx(expected, rel=1e-12)
    tensors = [tensor.requires_grad_() for layer in network.encoder for tensor in layer]
    whole = torch.autograd.grad(embedded_loss(network.encoder, x, v, chunk=10**9), tensors)
    parts = torch.autograd.grad(embedded_loss(network.encoder, x, v, chunk=chunk), tensors)
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-14)


def test_no_chunk_encodes_more_rows_than_allowed():
    x, _ = random_rows(50, 6, seed=4)
    network = random_network(6, (4, 3))
    sizes = [len(rows) for rows, _, _ in removed_embeddings(network.encoder, x, chunk=16)]
    assert max(sizes) <= 16
    assert sum(sizes) == int(x.sum())


def test_embeddings_made_again_at_each_evaluation_give_the_loss_of_the_kept_ones():
    x, v = random_rows(50, 6, seed=5)
    network = random_network(6, (4, 3))
    kept = FixedEncoder(network.encoder, x, None)
    made = FixedEncoder(network.encoder, x, None, keep_at_most=0)
    for weights in (v, v.square()):
        one, other = kept(weights), made(weights)
        assert one[0].equal(other[0])
        assert one[1].equal(other[1])


def test_treatments_taken_a_few_at_a_time_give_the_loss_of_all_at_once(monkeypatch):
    x, v = random_rows(50, 6, seed=5)
    network = random_network(6, (4, 3))
    expected, slopes = FixedEncoder(network.encoder, x, None)(v)
    for most in (1, 150, 300):
        monkeypatch.setitem(embedded.TOGETHER, "cpu", most)
        value, gradient = FixedEncoder(network.encoder, x, None, keep_at_most=0)(v)
        assert float(value) == pytest.approx(float(expected), rel=1e-12)
        torch.testing.assert_close(gradient, slopes, rtol=1e-12, atol=1e-14)


# --- gradients ---


def test_the_gradient_in_the_weights_is_that_of_the_loop():
    x, v = random_rows(30, 5, seed=10)
    network = random_network(5, (4, 3))
    weights = v.clone().requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    for j in range(5):
        removed = x.clone()
        removed[:, j] = 0
        phi = network.encode(removed)
        on, off = weights * x[:, j], weights * (1 - x[:, j])
        gap = phi.T @ on / on.sum() - phi.T @ off / off.sum()
        total = total + gap @ gap
    total.backward()
    _, closed = FixedEncoder(network.encoder, x, None)(v)
    torch.testing.assert_close(closed, weights.grad, rtol=1e-9, atol=1e-12)
    fast = v.clone().requires_grad_()
    embedded_loss(network.encoder, x, fast).backward()
    torch.testing.assert_close(fast.grad, weights.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("hidden", LAYERS)
def test_the_loss_passes_gradcheck_in_the_weights(hidden):
    x, v = random_rows(10, 3, seed=8)
    network = random_network(3, hidden)
    assert gradcheck(lambda w: embedded_loss(network.encoder, x, w), v.requires_grad_())


@pytest.mark.parametrize("hidden", LAYERS)
def test_the_gradient_in_closed_form_is_that_of_the_differentiable_loss(hidden):
    x, v, shared = rows_of_order_two(n=40)
    network = random_network(x.shape[1], hidden)
    scale = scale_of(network.encode(x), v / v.sum())
    for common in (None, shared):
        weights = v.clone().requires_grad_()
        expected = embedded_loss(network.encoder, x, weights, scale=scale, shared=common)
        expected.backward()
        value, gradient = FixedEncoder(network.encoder, x, scale, common)(v)
        assert float(value) == pytest.approx(float(expected.detach()), rel=1e-12)
        torch.testing.assert_close(gradient, weights.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("hidden", LAYERS)
def test_the_loss_passes_gradcheck_in_the_network(hidden, standardize):
    x, v = random_rows(10, 3, seed=9)
    sample, w = sample_of(x, x[:, 0], v / v.sum()), torch.ones(10, dtype=torch.float64)
    balance = EmbeddedBalance(standardize)
    tensors = [
        tensor.requires_grad_() for layer in random_network(3, hidden).encoder for tensor in layer
    ]

    def loss(*flat):
        network = AutoEncoder(list(zip(flat[::2], flat[1::2], strict=True)), [])
        return balance.of_network(sample, w, network)

    assert gradcheck(loss, tensors)


# --- where the loss is zero, and where it would be undefined ---


@pytest.mark.parametrize("hidden", LAYERS)
@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_the_loss_is_zero_on_a_full_factorial_design(p, hidden):
    x = torch.tensor(list(product([0.0, 1.0], repeat=p)), dtype=torch.float64)
    v = torch.full((2**p,), 0.3, dtype=torch.float64)
    network = random_network(p, hidden)
    assert float(FixedEncoder(network.encoder, x, None)(v)[0]) == pytest.approx(0, abs=1e-24)


def test_the_loss_of_order_two_is_zero_on_a_full_factorial_design():
    every = np.array(list(product([0.0, 1.0], repeat=4)))
    sample = sample_of(every, every[:, 0]).with_products()
    network = random_network(sample.x.shape[1], (4, 3))
    loss = embedded_loss(network.encoder, sample.x, sample.mass, shared=sample.shared)
    assert float(loss) == pytest.approx(0, abs=1e-22)


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_is_zero_under_the_exact_weights_on_data_with_all_patterns(seed):
    x, exact = data_with_exact_weights(seed)
    for hidden in LAYERS:
        network = random_network(4, hidden, seed)
        loss = float(embedded_loss(network.encoder, x, exact))
        assert loss == pytest.approx(0, abs=1e-22)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_feature_that_is_constant_under_the_weights_gives_no_nan(value):
    x, v = random_rows(30, 4, seed=12)
    v = torch.where(x[:, 2] == value, v, 0.0)
    network = random_network(4, (3, 2))
    weights = v.clone().requires_grad_()
    loss = embedded_loss(network.encoder, x, weights)
    assert float(loss.detach()) == pytest.approx(loss_by_hand(network, x, v), rel=1e-9)
    loss.backward()
    assert torch.isfinite(weights.grad).all()
    _, gradient = FixedEncoder(network.encoder, x, None)(v)
    assert torch.isfinite(gradient).all()


def test_a_constant_coordinate_of_the_embedding_gives_no_nan():
    x, v = random_rows(20, 3, seed=13)
    encoder = [(torch.zeros(2, 3, dtype=torch.float64), torch.zeros(2, dtype=torch.float64))]
    network, sample = AutoEncoder(encoder, []), sample_of(x, x[:, 0], v / v.sum())
    loss, gradient = EmbeddedBalance().prepare(sample, network)(sample.mass)
    assert float(loss) == pytest.approx(0, abs=1e-12)
    assert torch.isfinite(gradient).all()
    assert (embedding_scale(sample, network.encode(x)) > 0).all()


# --- invariances ---


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), factor=st.floats(1e-8, 1e8))
def test_the_scale_of_the_weights_does_not_matter(seed, factor):
    x, v = random_rows(30, 4, seed)
    encoder = random_network(4, (3, 2), seed).encoder
    expected = float(embedded_loss(encoder, x, v))
    assert float(embedded_loss(encoder, x, v * factor)) == pytest.approx(expected, rel=1e-9)


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), order=st.permutations(range(20)))
def test_the_order_of_rows_does_not_matter(seed, order):
    x, v = random_rows(20, 4, seed)
    encoder = random_network(4, (3, 2), seed).encoder
    expected = float(embedded_loss(encoder, x, v))
    assert float(embedded_loss(encoder, x[order], v[order])) == pytest.approx(expected, rel=1e-10)


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), order=st.permutations(range(5)))
def test_the_order_of_features_does_not_matter(seed, order):
    x, v = random_rows(30, 5, seed)
    (weight, bias), *rest = random_network(5, (3, 2), seed).encoder
    expected = float(embedded_loss([(weight, bias), *rest], x, v))
    moved = float(embedded_loss([(weight[:, order], bias), *rest], x[:, order], v))
    assert moved == pytest.approx(expected, rel=1e-10)


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), row=st.integers(0, 19))
def test_a_row_written_twice_is_a_row_of_twice_the_weight(seed, row):
    x, v = random_rows(20, 4, seed)
    twice = v.clone()
    twice[row] *= 2
    written = torch.cat([x, x[row : row + 1]]), torch.cat([v, v[row : row + 1]])
    encoder = random_network(4, (3, 2), seed).encoder
    expected = float(embedded_loss(encoder, x, twice))
    assert float(embedded_loss(encoder, *written)) == pytest.approx(expected, rel=1e-10)


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), shrink=st.floats(0.01, 0.5))
def test_shrinking_a_standardised_embedding_gains_nothing(seed, shrink):
    x, v = random_rows(30, 4, seed)
    mass = v / v.sum()
    network = random_network(4, (3,), seed)
    phi, removed = network.encode(x), list(removed_embeddings(network.encoder, x))
    small = [(rows, treatments, shrink * embedded) for rows, treatments, embedded in removed]
    one = embedded_imbalance(x, v, phi, removed, scale_of(phi, mass))
    other = embedded_imbalance(x, v, shrink * phi, small, scale_of(shrink * phi, mass))
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-8)
