import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from samples import dependent_sample, sample_of
from stablepred.core.row_weights import RowWeights, effective_share, scale_to_mean_one


def make_weights(seed, n=20, equal_mass=False):
    """A sample whose rows have uneven mass, and weights of its rows."""
    rng = np.random.default_rng(seed)
    mass = np.ones(n) if equal_mass else rng.exponential(size=n) + 0.01
    sample = sample_of(np.zeros((n, 1)), np.zeros(n), mass / mass.sum())
    return sample, torch.as_tensor(rng.exponential(size=n))


def pull_to(sample, target):
    """A loss of w that is smallest at ``target``, with its gradient in v = mass * w."""

    def loss(w):
        return (sample.mass * (w - target) ** 2).sum(), 2 * (w - target)

    return loss


@given(seed=st.integers(0, 10_000))
def test_the_squares_of_omega_are_the_weights_of_the_paper(seed):
    sample, w = make_weights(seed)
    weights = RowWeights(sample, 0.0)
    weights.block.move_to([(sample.mass * w).sqrt()])
    torch.testing.assert_close(weights.omega.square(), sample.mass * weights.w)
    torch.testing.assert_close(weights.w, w)


def test_weights_of_negative_omega_are_not_negative():
    sample = sample_of(np.zeros((4, 1)), np.zeros(4))
    weights = RowWeights(sample, 0.0)
    weights.block.move_to([torch.tensor([-1.0, 0.0, 2.0, 1.0]).double()])
    assert weights.w.tolist() == [4, 0, 16, 4]


def test_weights_start_at_one_and_go_to_where_the_loss_is_smallest():
    sample, target = make_weights(3)
    weights = RowWeights(sample, 0.0)
    torch.testing.assert_close(weights.w, torch.ones_like(target))
    for _ in range(20):
        value = weights.lower(pull_to(sample, target))
    torch.testing.assert_close(weights.w, target, rtol=0, atol=1e-5)
    assert value == pytest.approx(0, abs=1e-10)
    assert not weights.floored


@pytest.mark.parametrize("floor", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_no_update_crosses_the_floor_on_the_effective_share_or_raises_the_loss(seed, floor):
    sample = dependent_sample(seed)
    target = torch.zeros_like(sample.mass)
    target[:3] = 20.0
    weights, last = RowWeights(sample, floor), float("inf")
    for _ in range(10):
        value = weights.lower(pull_to(sample, target))
        assert float(effective_share(sample, weights.w)) >= floor - 1e-9
        assert value <= last
        assert value == pytest.approx(float(pull_to(sample, target)(weights.w)[0]), rel=1e-12)
        last = value
    assert weights.floored
    assert float(effective_share(sample, weights.w)) == pytest.approx(floor, abs=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_at_the_floor_the_loss_is_nearly_the_least_that_the_floor_allows(seed):
    sample, target = make_weights(seed, n=12)
    target = target**3
    weights, loss = RowWeights(sample, 0.6), pull_to(sample, target)
    for _ in range(50):
        value = weights.lower(loss)
    mass = sample.mass.numpy()
    best = minimize(
        lambda w: mass @ (w - target.numpy()) ** 2,
        np.ones(12),
        bounds=[(0, None)] * 12,
        constraints={"type": "ineq", "fun": lambda w: (mass @ w) ** 2 - 0.6 * (mass @ w**2)},
        method="SLSQP",
    )
    assert weights.floored
    assert best.fun * (1 - 1e-6) <= value <= 1.05 * best.fun


def test_restored_weights_go_on_as_if_they_had_not_stopped():
    sample, target = make_weights(5)
    weights = RowWeights(sample, 0.4)
    for _ in range(2):
        weights.lower(pull_to(sample, target))
    state = weights.state()
    kept = state | {"variables": [variable.clone() for variable in state["variables"]]}
    again = RowWeights(sample, 0.4)
    again.restore(kept)
    assert again.floored == weights.floored
    assert again.lower(pull_to(sample, target)) == weights.lower(pull_to(sample, target))
    assert again.w.equal(weights.w)


@given(seed=st.integers(0, 10_000))
def test_scaled_weights_have_mean_one_under_the_mass(seed):
    sample, w = make_weights(seed)
    scaled = scale_to_mean_one(sample, w)
    assert float(sample.mass @ scaled) == pytest.approx(1)
    torch.testing.assert_close(scaled / scaled[0], w / w[0])


def test_equal_weights_have_the_full_effective_share():
    sample, w = make_weights(0)
    assert float(effective_share(sample, torch.full_like(w, 3.0))) == pytest.approx(1)


def test_one_row_of_n_has_the_share_of_one_row():
    sample, w = make_weights(0, equal_mass=True)
    alone = torch.zeros_like(w)
    alone[3] = 20
    assert float(effective_share(sample, alone)) == pytest.approx(1 / 20)


@given(seed=st.integers(0, 10_000), factor=st.floats(1e-6, 1e6))
def test_the_effective_share_is_kishs_and_free_of_scale(seed, factor):
    sample, w = make_weights(seed, equal_mass=True)
    kish = float(w.sum()) ** 2 / float(w @ w) / 20
    assert float(effective_share(sample, w * factor)) == pytest.approx(kish)
    assert 0 < kish <= 1
