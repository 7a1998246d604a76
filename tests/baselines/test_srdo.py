"""SRDO: the density ratio, where it is known, and the parts it is made of."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from stablepred.baselines import SRDOBalancer
from stablepred.baselines.srdo import draw_independently, temper


def test_on_two_dependent_columns_the_weights_are_the_known_ratio():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 4000)
    second = np.where(rng.random(4000) < 0.8, first, 1 - first)
    x = np.column_stack([first, second]).astype(float)
    table = np.array([[np.mean((first == a) & (second == b)) for b in (0, 1)] for a in (0, 1)])
    ratio = np.outer(table.sum(axis=1), table.sum(axis=0)) / table
    # With a number beside them no two rows are the same, so that the folds know all four pairs.
    noise = rng.normal(size=(4000, 1))
    w = SRDOBalancer(random_state=0, min_effective_share=0).fit(np.hstack([x, noise])).weights_
    for a in (0, 1):
        for b in (0, 1):
            own = w[(first == a) & (second == b)].mean()
            assert own == pytest.approx(ratio[a, b], rel=0.2)


def test_drawn_columns_have_their_distribution_and_are_independent():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    x[:, 1] = x[:, 0]
    mass = rng.random(500)
    mass /= mass.sum()
    drawn = draw_independently(x, mass, 20_000, rng)
    np.testing.assert_allclose(drawn.mean(axis=0), mass @ x, atol=0.01)
    assert set(drawn[:, 0]) <= set(x[:, 0])
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.03


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_tempered_weights_keep_their_order_and_reach_the_share(share):
    rng = np.random.default_rng(0)
    mass = rng.random(200)
    mass /= mass.sum()
    w = np.exp(2 * rng.normal(size=200))
    found = temper(w, mass, share)
    assert 1 / (mass @ found**2) >= share
    assert mass @ found == pytest.approx(1)
    np.testing.assert_array_equal(np.argsort(found), np.argsort(w))
    if 1 / (mass @ (w / (mass @ w)) ** 2) < share:
        assert 1 / (mass @ found**2) == pytest.approx(share, rel=1e-3)


def test_the_seed_decides_and_another_classifier_can_be_used():
    x = np.random.default_rng(0).normal(size=(100, 2))
    fits = [SRDOBalancer(random_state=seed).fit(x).weights_ for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert (fits[0] != fits[2]).any()
    other = SRDOBalancer(LogisticRegression(), random_state=0).fit(x).weights_
    # Permuted columns have the same means: a linear classifier can tell nothing.
    np.testing.assert_allclose(other, 1, atol=0.3)
