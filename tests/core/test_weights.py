import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from stablepred.core.weights import (
    effective_share,
    omega_from_weights,
    weights_from_omega,
    with_mean_one,
)


def weights_and_mass(seed, n=20):
    rng = np.random.default_rng(seed)
    mass = rng.exponential(size=n) + 0.01
    return torch.as_tensor(rng.exponential(size=n)), torch.as_tensor(mass / mass.sum())


@given(seed=st.integers(0, 10_000))
def test_weights_survive_the_way_to_omega_and_back(seed):
    w, mass = weights_and_mass(seed)
    torch.testing.assert_close(weights_from_omega(omega_from_weights(w, mass), mass), w)


@given(seed=st.integers(0, 10_000))
def test_the_squares_of_omega_are_the_weights_of_the_paper(seed):
    w, mass = weights_and_mass(seed)
    torch.testing.assert_close(omega_from_weights(w, mass).square(), mass * w)


def test_weights_of_negative_omega_are_not_negative():
    omega = torch.tensor([-1.0, 0.0, 2.0])
    assert weights_from_omega(omega, torch.ones(3)).tolist() == [1, 0, 4]


@given(seed=st.integers(0, 10_000))
def test_scaled_weights_have_mean_one_under_the_row_shares(seed):
    w, mass = weights_and_mass(seed)
    scaled = with_mean_one(w, mass)
    assert float(mass @ scaled) == pytest.approx(1)
    torch.testing.assert_close(scaled / scaled[0], w / w[0])


def test_equal_weights_have_the_full_effective_share():
    _, mass = weights_and_mass(0)
    assert float(effective_share(torch.full((20,), 3.0, dtype=torch.float64), mass)) == (
        pytest.approx(1)
    )


def test_one_row_of_n_has_the_share_of_one_row():
    mass = torch.full((20,), 1 / 20, dtype=torch.float64)
    w = torch.zeros(20, dtype=torch.float64)
    w[3] = 20
    assert float(effective_share(w, mass)) == pytest.approx(1 / 20)


@given(seed=st.integers(0, 10_000), factor=st.floats(1e-6, 1e6))
def test_the_effective_share_is_kishs_and_free_of_scale(seed, factor):
    w, _ = weights_and_mass(seed)
    mass = torch.full((20,), 1 / 20, dtype=torch.float64)
    kish = float(w.sum()) ** 2 / float(w @ w) / 20
    assert float(effective_share(w * factor, mass)) == pytest.approx(kish)
    assert 0 < kish <= 1
