"""Several classes: losses of predicted probabilities."""

import numpy as np
import pytest
import torch

from stablepred.outcomes.binary import BINARY
from stablepred.outcomes.multinomial import MULTINOMIAL


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    means = torch.as_tensor(rng.dirichlet(np.ones(3), 30))
    return means, torch.as_tensor(rng.integers(0, 3, 30).astype(float))


def test_the_loss_is_minus_the_logarithm_of_the_probability_of_the_class(rows):
    means, y = rows
    expected = [-np.log(row[int(k)]) for row, k in zip(means.tolist(), y.tolist(), strict=True)]
    np.testing.assert_allclose(MULTINOMIAL.losses_of_means(means, y), expected)


def test_differences_of_the_weighted_loss_are_those_of_its_logarithms(rows):
    """d/dp_k of -sum c log p_y is -c / p_k for the class of the row, and zero for others."""
    means, y = rows
    weight = torch.as_tensor(np.random.default_rng(1).exponential(size=30))
    step = 1e-6
    for k in range(3):
        move = torch.zeros(3).double()
        move[k] = step
        high, low = (MULTINOMIAL.losses_of_means(means + s * move, y) for s in (1, -1))
        slope = float(weight @ (high - low)) / (2 * step)
        own = y == k
        assert slope == pytest.approx(-float((weight / means[:, k])[own].sum()), rel=1e-4)


def test_of_two_classes_the_errors_are_those_of_a_binary_outcome():
    p = torch.tensor([0.1, 0.5, 0.8, 1.0]).double()
    y = torch.tensor([0.0, 1.0, 1.0, 0.0]).double()
    both = torch.stack([1 - p, p], dim=1)
    torch.testing.assert_close(MULTINOMIAL.squared_errors(both, y), BINARY.squared_errors(p, y))
    torch.testing.assert_close(MULTINOMIAL.losses_of_means(both, y), BINARY.losses_of_means(p, y))


def test_a_class_without_probability_costs_much_but_not_infinitely():
    means = torch.tensor([[1.0, 0.0, 0.0]]).double()
    loss = MULTINOMIAL.losses_of_means(means, torch.tensor([2.0]).double())
    assert 10 < float(loss) < 20


def test_the_strata_are_the_classes(rows):
    _, y = rows
    for k, mask in enumerate(MULTINOMIAL.strata(y)):
        assert torch.equal(mask, y == k)
