import numpy as np
import pytest
import torch

import slow_versions as slow
from stablepred.core.networks import AutoEncoder


def network(hidden=(4, 3), p=5, seed=0):
    return AutoEncoder.random(p, hidden, torch.Generator().manual_seed(seed))


def rows(n=7, p=5):
    return torch.as_tensor((np.random.default_rng(0).random((n, p)) < 0.5).astype(float))


@pytest.mark.parametrize("hidden", [(3,), (4, 2), (6, 5, 4)])
def test_encoding_and_decoding_are_sigmoid_layers_one_after_the_other(hidden):
    net, x = network(hidden), rows()
    phi = slow.sigmoid_layers(x.numpy(), net.encoder)
    np.testing.assert_allclose(net.encode(x).numpy(), phi, rtol=1e-12)
    np.testing.assert_allclose(
        net.decode(net.encode(x)).numpy(), slow.sigmoid_layers(phi, net.decoder), rtol=1e-12
    )


@pytest.mark.parametrize("hidden", [(3,), (4, 2), (6, 5, 4)])
def test_the_decoder_mirrors_the_encoder(hidden):
    net = network(hidden)
    encoder = [tuple(weight.shape) for weight, _ in net.encoder]
    decoder = [tuple(weight.shape) for weight, _ in net.decoder]
    assert encoder == list(zip(hidden, [5, *hidden[:-1]], strict=True))
    assert decoder == [(b, a) for a, b in reversed(encoder)]
    assert all(len(bias) == len(weight) for weight, bias in [*net.encoder, *net.decoder])


def test_the_start_is_standard_normal_with_zero_biases():
    net = network(hidden=(60, 60), p=60)
    for weight, bias in [*net.encoder, *net.decoder]:
        assert abs(float(weight.mean())) < 0.06
        assert abs(float(weight.std()) - 1) < 0.06
        assert (bias == 0).all()
        assert weight.dtype == torch.float64


def test_the_start_depends_on_the_generator_alone():
    torch.manual_seed(1)
    one = network(seed=3)
    torch.manual_seed(2)
    other = network(seed=3)
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(one.encoder[0][0], network(seed=4).encoder[0][0])


def test_a_network_is_rebuilt_from_what_it_lists():
    net = network((4, 3))
    rebuilt = net.rebuild(net.parameters())
    assert all(a is b for a, b in zip(rebuilt.parameters(), net.parameters(), strict=True))
    assert len(rebuilt.encoder) == len(net.encoder)


def test_a_copy_shares_no_memory():
    net = network()
    net.copy().encoder[0][0].zero_()
    assert (net.encoder[0][0] != 0).any()


def test_a_narrow_network_gives_what_the_wide_one_gives_where_the_other_inputs_are_zero():
    net = network()
    inputs = torch.tensor([True, False, True, True, False])
    x = torch.rand(7, 5, dtype=torch.float64)
    small = net.narrow(inputs)
    phi = small.encode(x[:, inputs])
    torch.testing.assert_close(phi, net.encode(x * inputs))
    torch.testing.assert_close(small.decode(phi), net.decode(phi)[:, inputs])
    wide = small.widen(inputs)
    torch.testing.assert_close(wide.encode(x), phi)  # whatever the other inputs are
    assert [part.shape for part in wide.parameters()] == [p.shape for p in net.parameters()]
    again = wide.narrow(inputs).parameters()
    assert all(torch.equal(a, b) for a, b in zip(again, small.parameters(), strict=True))


@pytest.mark.parametrize("bound", [0.01, 1.0, 1e6])
def test_bounds_on_matrices_and_biases_hold(bound):
    net = network()
    with torch.no_grad():
        for _, bias in net.encoder:
            bias += 3.0
    bounded = net.bound([bound, 2 * bound], bound)
    for limit, (weight, bias) in zip([bound, 2 * bound], bounded.encoder, strict=True):
        assert float(weight.square().sum()) <= limit * (1 + 1e-12)
        assert float(bias.norm()) <= bound * (1 + 1e-12)


def test_a_network_within_its_bounds_is_left_as_it_is():
    net = network()
    bounded = net.bound([1e6, 1e6], 1e6)
    for a, b in zip(net.parameters(), bounded.parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_bounded_network_keeps_the_direction_of_each_matrix():
    net = network()
    (weight, _), _ = net.encoder
    (shrunk, _), _ = net.bound([0.5, 0.5], None).encoder
    torch.testing.assert_close(shrunk / shrunk.norm(), weight / weight.norm())
