from itertools import product

import numpy as np
import pytest
import slow_versions as slow
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import Rows, embedded_balance, embedding_scale
from stablepred.preprocessing import PairExpansion
from stablepred.weights import balancing
from stablepred.weights.balancing import (
    EmbeddedBalance,
    balance_and_gradient,
    embedded_imbalance,
    imbalance,
    raw_balance,
    removed_embeddings,
)

SHAPES = [(4, 2), (9, 1), (30, 3), (41, 8), (200, 5)]
LAYERS = [(3,), (4, 2), (5, 3, 4)]


def random_rows(n, p, seed=0):
    """0/1 features with both values in every column, and uneven positive weights."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, p)) < rng.uniform(0.3, 0.7, p)).astype(float)
    x[0], x[1] = 0, 1
    return torch.as_tensor(x), torch.as_tensor(rng.exponential(size=n) + 0.01)


def random_network(p, hidden, seed=0):
    return AutoEncoder.random(p, hidden, torch.Generator().manual_seed(seed))


def encoder_of(network):
    return [(weight.detach().numpy(), bias.detach().numpy()) for weight, bias in network.encoder]


def embedded_loss(layers, x, v, chunk=1 << 16, scale=None, shared=None):
    phi = AutoEncoder(layers, []).encode(x)
    removed = removed_embeddings(layers, x, shared, chunk)
    return embedded_imbalance(x, v, phi, removed, scale, shared).square().sum()


def order_two(n=60, p=4, seed=0):
    """A table with products of pairs, its weights, and which columns share a source."""
    x, v = random_rows(n, p, seed)
    expansion = PairExpansion(x.numpy(), [f"x{j}" for j in range(p)])
    return torch.as_tensor(expansion(x.numpy())), v, torch.as_tensor(expansion.shared)


# --- the losses are those of the paper ---


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_raw_loss_equals_the_loop_over_features(n, p, seed):
    x, v = random_rows(n, p, seed)
    expected = slow.balance(x.numpy(), v.numpy())
    assert float(raw_balance(x, v)) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert float(balance_and_gradient(x, v)[0]) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert float(imbalance(x, v).square().sum()) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_imbalance_of_each_pair_equals_the_difference_of_weighted_means(n, p):
    x, v = random_rows(n, p, seed=1)
    expected = np.array(slow.gaps(x.numpy(), v.numpy()))
    np.testing.assert_allclose(imbalance(x, v).numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("hidden", LAYERS)
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_embedded_loss_equals_the_loop_over_features(n, p, hidden):
    x, v = random_rows(n, p, seed=2)
    network = random_network(p, hidden)
    expected = slow.balance(
        x.numpy(), v.numpy(), lambda rows: slow.sigmoid_layers(rows, encoder_of(network))
    )
    assert float(embedded_loss(network.encoder, x, v)) == pytest.approx(expected, rel=1e-10)
    kept = EmbeddedBalance(network.encoder, x, None)
    assert float(kept(v)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("hidden", LAYERS)
def test_embedded_loss_in_units_of_the_spread_equals_the_loop(hidden):
    x, v = random_rows(40, 4, seed=3)
    network, mass = random_network(4, hidden), v / v.sum()
    w = torch.rand(40, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) + 0.1
    phi = slow.sigmoid_layers(x.numpy(), encoder_of(network))
    expected = slow.balance(
        x.numpy(),
        (mass * w).numpy(),
        lambda rows: slow.sigmoid_layers(rows, encoder_of(network)),
        slow.weighted_sd(phi, mass.numpy()),
    )
    rows = Rows(x, x[:, 0], mass, 4)
    found = embedded_balance(rows, w, network, network.encode(x), standardize=True)
    # The library adds 1e-12 to the variance, so that a constant coordinate divides by something.
    assert float(found) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 20])
def test_embedded_loss_does_not_depend_on_the_chunk_size(chunk):
    x, v = random_rows(50, 6, seed=4)
    network = random_network(6, (4, 3))
    expected = float(embedded_loss(network.encoder, x, v, chunk=10**9))
    assert float(embedded_loss(network.encoder, x, v, chunk=chunk)) == pytest.approx(
        expected, rel=1e-12
    )
    for weight, bias in network.encoder:
        weight.requires_grad_()
        bias.requires_grad_()
    tensors = [tensor for layer in network.encoder for tensor in layer]
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


def test_embeddings_made_anew_at_each_evaluation_give_the_loss_of_the_kept_ones():
    x, v = random_rows(50, 6, seed=5)
    network = random_network(6, (4, 3))
    kept = EmbeddedBalance(network.encoder, x, None)
    made = EmbeddedBalance(network.encoder, x, None, keep_at_most=0)
    for weights in (v, v.square()):
        one, other = kept.value_and_gradient(weights), made.value_and_gradient(weights)
        assert one[0].equal(other[0])
        assert one[1].equal(other[1])


def test_treatments_taken_a_few_at_a_time_give_the_loss_of_all_at_once(monkeypatch):
    x, v = random_rows(50, 6, seed=5)
    network = random_network(6, (4, 3))
    expected, slopes = EmbeddedBalance(network.encoder, x, None).value_and_gradient(v)
    for most in (1, 150, 300):
        monkeypatch.setitem(balancing.TOGETHER, "cpu", most)
        few = EmbeddedBalance(network.encoder, x, None, keep_at_most=0)
        value, gradient = few.value_and_gradient(v)
        assert float(value) == pytest.approx(float(expected), rel=1e-12)
        torch.testing.assert_close(gradient, slopes, rtol=1e-12, atol=1e-14)


class SmallMemory:
    """An encoder on a device that has room for so many rows with a column removed at once."""

    def __init__(self, monkeypatch, place, name, room):
        self.encode, self.room, self.sizes = getattr(place, name), room, []
        monkeypatch.setattr(place, name, self)

    def __call__(self, before, *layers):
        if len(before) > self.room:
            raise torch.cuda.OutOfMemoryError("out of memory")
        self.sizes.append(len(before))
        return self.encode(before, *layers)


def test_where_memory_ends_smaller_chunks_give_the_same_loss(monkeypatch):
    x, v = random_rows(60, 6, seed=6)
    network = random_network(6, (4, 3))
    balance = EmbeddedBalance(network.encoder, x, None, keep_at_most=0)
    expected = balance(v)
    monkeypatch.setattr(balancing, "SMALLEST_CHUNK", 8)
    memory = SmallMemory(monkeypatch, balance, "_encoded", room=20)
    torch.testing.assert_close(balance(v), expected, rtol=1e-12, atol=0)
    assert 8 < max(memory.sizes) <= 20
    assert sum(memory.sizes) == int(x.sum())


def test_embeddings_that_do_not_fit_are_not_kept(monkeypatch):
    x, v = random_rows(60, 6, seed=6)
    network = random_network(6, (4, 3))
    expected = EmbeddedBalance(network.encoder, x, None)(v)

    make = EmbeddedBalance._made

    def room_for_two(balance, part):
        if part.stop - part.start > 2:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return make(balance, part)

    monkeypatch.setattr(EmbeddedBalance, "_made", room_for_two)
    monkeypatch.setitem(balancing.TOGETHER, "cpu", 200)
    made = EmbeddedBalance(network.encoder, x, None)
    torch.testing.assert_close(made(v), expected, rtol=1e-12, atol=0)


def test_where_not_even_small_chunks_fit_it_is_said(monkeypatch):
    x, v = random_rows(2000, 6, seed=6)
    network = random_network(6, (4, 3))
    SmallMemory(monkeypatch, balancing, "encode_from", room=500)
    with pytest.raises(torch.cuda.OutOfMemoryError):
        embedded_loss(network.encoder, x, v)


# --- gradients ---


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_raw_gradient_in_closed_form_is_the_gradient_of_the_loop(n, p):
    x, v = random_rows(n, p, seed=6)
    weights = v.clone().requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    for j in range(p):
        removed = x.clone()
        removed[:, j] = 0
        on, off = weights * x[:, j], weights * (1 - x[:, j])
        gap = removed.T @ on / on.sum() - removed.T @ off / off.sum()
        total = total + gap @ gap
    total.backward()
    _, gradient = balance_and_gradient(x, v)
    torch.testing.assert_close(gradient, weights.grad, rtol=1e-9, atol=1e-11)


def test_raw_loss_passes_gradcheck_in_the_weights():
    x, v = random_rows(12, 4, seed=7)
    assert gradcheck(lambda weights: raw_balance(x, weights), v.requires_grad_())


def test_raw_loss_of_order_two_passes_gradcheck_in_the_weights():
    x, v, shared = order_two(n=14, p=3)
    assert gradcheck(lambda weights: raw_balance(x, weights, shared), v.requires_grad_())


@pytest.mark.parametrize("hidden", LAYERS)
def test_embedded_loss_passes_gradcheck_in_the_weights(hidden):
    x, v = random_rows(10, 3, seed=8)
    network = random_network(3, hidden)
    v.requires_grad_()
    assert gradcheck(lambda weights: embedded_loss(network.encoder, x, weights), v)


@pytest.mark.parametrize("hidden", LAYERS)
def test_the_gradient_in_closed_form_is_that_of_the_embedded_loss(hidden):
    x, v, shared = order_two(n=40)
    network = random_network(x.shape[1], hidden)
    scale = embedding_scale(network.encode(x), v / v.sum())
    for common in (None, shared):
        weights = v.clone().requires_grad_()
        expected = embedded_loss(network.encoder, x, weights, scale=scale, shared=common)
        expected.backward()
        balance = EmbeddedBalance(network.encoder, x, scale, common)
        value, gradient = balance.value_and_gradient(v)
        assert float(value) == pytest.approx(float(expected.detach()), rel=1e-12)
        assert float(balance(v)) == pytest.approx(float(value), rel=1e-12)
        torch.testing.assert_close(gradient, weights.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("hidden", LAYERS)
def test_embedded_loss_passes_gradcheck_in_the_network(hidden, standardize):
    x, v = random_rows(10, 3, seed=9)
    rows = Rows(x, x[:, 0], v / v.sum(), 3)
    w = torch.ones(10, dtype=torch.float64)
    tensors = [
        tensor.requires_grad_() for layer in random_network(3, hidden).encoder for tensor in layer
    ]

    def loss(*flat):
        network = AutoEncoder(list(zip(flat[::2], flat[1::2], strict=True)), [])
        return embedded_balance(rows, w, network, network.encode(x), standardize)

    assert gradcheck(loss, tensors)


def test_embedded_gradient_in_the_weights_is_the_gradient_of_the_loop():
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
    _, closed = EmbeddedBalance(network.encoder, x, None).value_and_gradient(v)
    torch.testing.assert_close(closed, weights.grad, rtol=1e-9, atol=1e-12)
    fast = v.clone().requires_grad_()
    embedded_loss(network.encoder, x, fast).backward()
    torch.testing.assert_close(fast.grad, weights.grad, rtol=1e-9, atol=1e-12)


# --- where the loss is zero ---


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_loss_is_zero_on_a_full_factorial_design(p):
    x = torch.tensor(list(product([0.0, 1.0], repeat=p)), dtype=torch.float64)
    v = torch.full((2**p,), 0.3, dtype=torch.float64)
    assert float(raw_balance(x, v)) == pytest.approx(0, abs=1e-24)
    for hidden in LAYERS:
        network = random_network(p, hidden)
        assert float(embedded_loss(network.encoder, x, v)) == pytest.approx(0, abs=1e-24)


@pytest.mark.parametrize("seed", range(3))
def test_loss_is_zero_under_the_exact_weights_on_data_with_all_patterns(seed):
    rng = np.random.default_rng(seed)
    every = np.array(list(product([0.0, 1.0], repeat=4)))
    x = np.vstack([every, every[rng.choice(16, 300, p=rng.dirichlet(np.ones(16)))]])
    _, index, counts = np.unique(x, axis=0, return_inverse=True, return_counts=True)
    exact = torch.as_tensor(1 / (counts / len(x))[index.reshape(-1)])
    x = torch.as_tensor(x)
    assert float(raw_balance(x, torch.ones_like(exact))) > 1e-4
    assert float(raw_balance(x, exact)) == pytest.approx(0, abs=1e-22)
    for hidden in LAYERS:
        network = random_network(4, hidden, seed)
        assert float(embedded_loss(network.encoder, x, exact)) == pytest.approx(0, abs=1e-22)


# --- a feature that is constant under the weights ---


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_constant_feature_contributes_nothing_as_treatment(value):
    x, v = random_rows(30, 4, seed=11)
    x[:, 2] = value
    gaps = imbalance(x, v)
    assert torch.isfinite(gaps).all()
    assert (gaps[2] == 0).all()
    assert float(raw_balance(x, v)) == pytest.approx(slow.balance(x.numpy(), v.numpy()), rel=1e-10)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_feature_that_is_constant_under_the_weights_gives_no_nan(value):
    x, v = random_rows(30, 4, seed=12)
    v = torch.where(x[:, 2] == value, v, 0.0)
    network = random_network(4, (3, 2))
    encoder = encoder_of(network)
    raw, embedded = v.clone().requires_grad_(), v.clone().requires_grad_()
    raw_loss = raw_balance(x, raw)
    embedded_value = embedded_loss(network.encoder, x, embedded)
    assert float(raw_loss.detach()) == pytest.approx(slow.balance(x.numpy(), v.numpy()), rel=1e-9)
    assert float(embedded_value.detach()) == pytest.approx(
        slow.balance(x.numpy(), v.numpy(), lambda rows: slow.sigmoid_layers(rows, encoder)),
        rel=1e-9,
    )
    raw_loss.backward()
    embedded_value.backward()
    assert torch.isfinite(raw.grad).all()
    assert torch.isfinite(embedded.grad).all()


def test_a_constant_coordinate_of_the_embedding_gives_no_nan():
    x, v = random_rows(20, 3, seed=13)
    encoder = [(torch.zeros(2, 3, dtype=torch.float64), torch.zeros(2, dtype=torch.float64))]
    network = AutoEncoder(encoder, [])
    rows = Rows(x, x[:, 0], v / v.sum(), 3)
    loss = embedded_balance(rows, torch.ones_like(v), network, network.encode(x), standardize=True)
    assert float(loss) == pytest.approx(0, abs=1e-12)
    assert (embedding_scale(network.encode(x), rows.mass) > 0).all()


# --- order two ---


@pytest.mark.parametrize("seed", range(3))
def test_raw_loss_of_order_two_equals_the_loop_that_zeroes_common_sources(seed):
    x, v, shared = order_two(seed=seed)
    expected = slow.balance(x.numpy(), v.numpy(), shared=shared.numpy())
    assert float(raw_balance(x, v, shared)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("hidden", LAYERS)
def test_embedded_loss_of_order_two_equals_the_loop_that_zeroes_common_sources(hidden):
    x, v, shared = order_two()
    network = random_network(x.shape[1], hidden)
    expected = slow.balance(
        x.numpy(),
        v.numpy(),
        lambda rows: slow.sigmoid_layers(rows, encoder_of(network)),
        shared=shared.numpy(),
    )
    assert float(embedded_loss(network.encoder, x, v, shared=shared)) == pytest.approx(
        expected, rel=1e-10
    )


def test_embedded_loss_of_order_two_is_zero_on_a_full_factorial_design():
    every = np.array(list(product([0.0, 1.0], repeat=4)))
    expansion = PairExpansion(every, list("abcd"))
    x, shared = torch.as_tensor(expansion(every)), torch.as_tensor(expansion.shared)
    v = torch.ones(16, dtype=torch.float64)
    assert float(raw_balance(x, v, shared)) == pytest.approx(0, abs=1e-24)
    network = random_network(x.shape[1], (4, 3))
    assert float(embedded_loss(network.encoder, x, v, shared=shared)) == pytest.approx(0, abs=1e-22)


# --- invariances ---


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), factor=st.floats(1e-8, 1e8))
def test_the_scale_of_the_weights_does_not_matter(seed, factor):
    x, v = random_rows(30, 4, seed)
    assert float(raw_balance(x, v * factor)) == pytest.approx(float(raw_balance(x, v)), rel=1e-9)
    encoder = random_network(4, (3, 2), seed).encoder
    assert float(embedded_loss(encoder, x, v * factor)) == pytest.approx(
        float(embedded_loss(encoder, x, v)), rel=1e-9
    )


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), order=st.permutations(range(20)))
def test_the_order_of_rows_does_not_matter(seed, order):
    x, v = random_rows(20, 4, seed)
    assert float(raw_balance(x[order], v[order])) == pytest.approx(
        float(raw_balance(x, v)), rel=1e-10
    )
    encoder = random_network(4, (3, 2), seed).encoder
    assert float(embedded_loss(encoder, x[order], v[order])) == pytest.approx(
        float(embedded_loss(encoder, x, v)), rel=1e-10
    )


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), order=st.permutations(range(5)))
def test_the_order_of_features_only_reorders_the_imbalance(seed, order):
    x, v = random_rows(30, 5, seed)
    torch.testing.assert_close(
        imbalance(x[:, order], v), imbalance(x, v)[order][:, order], rtol=0, atol=1e-12
    )
    (weight, bias), *rest = random_network(5, (3, 2), seed).encoder
    assert float(embedded_loss([(weight[:, order], bias), *rest], x[:, order], v)) == pytest.approx(
        float(embedded_loss([(weight, bias), *rest], x, v)), rel=1e-10
    )


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), row=st.integers(0, 19))
def test_a_row_written_twice_is_a_row_of_twice_the_weight(seed, row):
    x, v = random_rows(20, 4, seed)
    twice = v.clone()
    twice[row] *= 2
    written = torch.cat([x, x[row : row + 1]]), torch.cat([v, v[row : row + 1]])
    assert float(raw_balance(*written)) == pytest.approx(float(raw_balance(x, twice)), rel=1e-10)
    encoder = random_network(4, (3, 2), seed).encoder
    assert float(embedded_loss(encoder, *written)) == pytest.approx(
        float(embedded_loss(encoder, x, twice)), rel=1e-10
    )


@hypothesis_settings(max_examples=25)
@given(seed=st.integers(0, 10_000), shrink=st.floats(0.01, 0.5))
def test_shrinking_a_standardised_embedding_gains_nothing(seed, shrink):
    x, v = random_rows(30, 4, seed)
    mass = v / v.sum()
    phi = random_network(4, (3,), seed).encode(x)
    removed = list(removed_embeddings(random_network(4, (3,), seed).encoder, x))
    small = [(rows, treatments, shrink * embedded) for rows, treatments, embedded in removed]
    one = embedded_imbalance(x, v, phi, removed, embedding_scale(phi, mass))
    other = embedded_imbalance(x, v, shrink * phi, small, embedding_scale(shrink * phi, mass))
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-8)
