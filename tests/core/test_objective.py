from dataclasses import astuple, fields

import numpy as np
import pytest
import slow_versions as slow
import torch
from torch.autograd import gradcheck

from stablepred.core.head import Head
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import (
    TERMS,
    Rows,
    Strengths,
    all_terms,
    embedding_scale,
    weighted_sum,
)

STRENGTHS = Strengths(
    balance=0.7,
    reconstruction=0.3,
    weight_l2=0.11,
    l2=0.05,
    l1=0.013,
    weight_sum=1.7,
    network_l2=0.002,
)


def made(hidden, seed=0, n=25, p=4):
    """Rows, weights, a head and a network, all at random."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, p)) < 0.5).astype(float)
    mass = rng.exponential(size=n)
    y, w = (rng.random(n) < 0.5).astype(float), rng.exponential(size=n)
    x, y, mass, w = (torch.as_tensor(a) for a in (x, y, mass / mass.sum(), w))
    network = None
    if hidden is not None:
        network = AutoEncoder.random(p, hidden, torch.Generator().manual_seed(seed))
    beta = torch.as_tensor(rng.normal(size=p if hidden is None else hidden[-1]))
    return Rows(x, y, mass, p), w, Head(beta, torch.tensor(0.4, dtype=torch.float64)), network


def by_hand(rows, w, head, network, scaled):
    layers = (None, None) if network is None else (network.encoder, network.decoder)
    x, y, mass, w = (a.numpy() for a in (rows.x, rows.y, rows.mass, w))
    encoder, decoder = (
        None if part is None else [(a.numpy(), b.numpy()) for a, b in part] for part in layers
    )
    beta, intercept = head.beta.numpy(), float(head.intercept)
    return slow.mixed_terms(x, y, mass, w, beta, intercept, encoder, decoder, scaled)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("hidden", [None, (3,), (4, 2), (3, 3, 2)])
def test_every_term_equals_the_one_written_by_hand(hidden, standardize):
    rows, w, head, network = made(hidden)
    found = all_terms(rows, w, head, network, standardize)
    expected = by_hand(rows, w, head, network, standardize)
    assert set(found) <= set(TERMS) == set(expected)
    for name in TERMS:
        rel = 1e-8 if standardize else 1e-10
        assert float(found.get(name, 0.0)) == pytest.approx(expected[name], rel=rel), name


@pytest.mark.parametrize("hidden", [None, (4, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_the_total_is_the_sum_of_seven_strengths_times_their_terms(hidden, seed):
    rows, w, head, network = made(hidden, seed)
    total = float(weighted_sum(all_terms(rows, w, head, network, False), STRENGTHS))
    term = by_hand(rows, w, head, network, False)
    expected = (
        term["prediction"]
        + 0.7 * term["balance"]
        + 0.3 * term["reconstruction"]
        + 0.11 * term["weight_l2"]
        + 0.05 * term["l2"]
        + 0.013 * term["l1"]
        + 1.7 * term["weight_sum"]
        + 0.002 * term["network_l2"]
    )
    assert total == pytest.approx(expected, rel=1e-10)


def test_each_of_the_seven_strengths_has_its_own_term():
    assert {field.name for field in fields(Strengths)} == set(TERMS) - {"prediction"}
    assert astuple(Strengths()) == (0.0,) * 7


def test_without_strengths_the_total_is_the_prediction_loss():
    rows, w, head, network = made((4, 2))
    terms = all_terms(rows, w, head, network, True)
    assert float(weighted_sum(terms, Strengths())) == pytest.approx(float(terms["prediction"]))


@pytest.mark.parametrize("standardize", [False, True])
def test_the_total_passes_gradcheck_in_weights_coefficients_and_network(standardize):
    rows, w, head, network = made((3, 2), n=8, p=3)
    flat = [tensor.requires_grad_() for tensor in network.parameters()]
    w, beta = w.requires_grad_(), head.beta.requires_grad_()

    def total(w, beta, *flat):
        layers = list(zip(flat[::2], flat[1::2], strict=True))
        net = AutoEncoder(layers[:2], layers[2:])
        terms = all_terms(rows, w, Head(beta, head.intercept), net, standardize)
        return weighted_sum(terms, STRENGTHS)

    assert gradcheck(total, (w, beta, *flat))


def test_the_raw_total_passes_gradcheck_in_weights_and_coefficients():
    rows, w, head, _ = made(None, n=10, p=3)

    def total(w, beta):
        return weighted_sum(all_terms(rows, w, Head(beta, head.intercept), None, False), STRENGTHS)

    assert gradcheck(total, (w.requires_grad_(), head.beta.requires_grad_()))


def test_the_embedding_scale_is_the_weighted_standard_deviation():
    rows, _, _, network = made((4, 2))
    phi = network.encode(rows.x)
    np.testing.assert_allclose(
        embedding_scale(phi, rows.mass).numpy(),
        slow.weighted_sd(phi.numpy(), rows.mass.numpy()),
        rtol=1e-8,
    )


def test_a_head_without_encoder_sees_the_features_and_not_their_products():
    rows, _, _, _ = made(None)
    wide = Rows(torch.cat([rows.x, rows.x[:, :1] * rows.x[:, 1:2]], 1), rows.y, rows.mass, 4)
    assert torch.equal(wide.features, rows.x)
