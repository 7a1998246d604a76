"""Samples made directly from arrays, without grouping rows or ordering columns."""

import numpy as np
import torch

from stablepred.core.networks import AutoEncoder
from stablepred.sample import Origin, Sample


def sample_of(x, y, mass=None, pairs=()):
    """A sample of exactly these rows; they have equal mass if none is given."""
    n, width = x.shape
    p = width - len(pairs)
    mass = np.full(n, 1 / n) if mass is None else mass
    x, y, mass = (torch.as_tensor(a, dtype=torch.float64) for a in (x, y, mass))
    origin = Origin([f"x{j}" for j in range(p)], np.arange(p), np.arange(n), np.ones(n, bool), n)
    return Sample(x, y, mass, n * mass, origin, list(pairs))


def dependent_sample(seed=0, n=60, p=4, p_biased=2):
    """Distinct rows whose first features depend on each other; the mass is uneven."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, p)) < 0.5).astype(float)
    for j in range(1, 1 + p_biased):
        x[:, j] = np.where(rng.random(n) < 0.6, x[:, 0], x[:, j])
    y = (x[:, 0] + x[:, -1] + rng.normal(0, 0.6, n) > 1).astype(float)
    mass = rng.exponential(size=n) + 0.1
    return sample_of(x, y, mass / mass.sum())


def random_network(p=4, hidden=(3, 2), seed=0):
    """An auto-encoder with starting values."""
    return AutoEncoder.random(p, hidden, torch.Generator().manual_seed(seed))


def layers_of(network):
    """Encoder and decoder as the slow versions want them; (None, None) without a network."""
    if network is None:
        return None, None
    return tuple(
        [(weight.detach().numpy(), bias.detach().numpy()) for weight, bias in part]
        for part in (network.encoder, network.decoder)
    )


def largest_rise(history):
    """From one iteration to the next, relative."""
    values = np.array(history)
    return float((np.diff(values) / np.abs(values[:-1])).max())
