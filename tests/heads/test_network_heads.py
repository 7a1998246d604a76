"""Heads on an embedding, and networks trained again for the head."""

import pytest
import torch

from samples import dependent_sample, random_network
from stablepred.core.head import fit_head
from stablepred.core.loop import Settings
from stablepred.core.objective import Strengths
from stablepred.core.sequential import start_solution, train_encoder
from stablepred.heads.choice import Recipe
from stablepred.heads.network import NetworkHeads

STRENGTHS = Strengths(reconstruction=0.01, l2=1e-4, network_l2=3e-4)
SETTINGS = Settings(STRENGTHS, max_iter=30, tol=1e-4)
STABLE = torch.tensor([True, False, False, True])


def make_heads(stable=STABLE, equal=False):
    sample = dependent_sample(n=300)
    w = torch.rand(300, generator=torch.Generator().manual_seed(0)).double() + 0.2
    w = torch.ones_like(w) if equal else w / (sample.mass @ w)
    return NetworkHeads(SETTINGS, stable, sample, w, random_network(), lambda: random_network())


def fit(heads, *recipes):
    return heads.fit(heads.sample, heads.w, list(recipes))


@pytest.mark.parametrize("l1", [0.0, 1e-3])
def test_without_refit_the_head_is_a_weighted_regression_on_the_embedding(l1):
    heads = make_heads()
    (predictor,) = fit(heads, Recipe(l1, False, False))
    sample, v = heads.sample, heads.sample.mass * heads.w
    phi = heads.network.encode(sample.x)
    expected = fit_head(sample, phi, v, l2=STRENGTHS.l2, l1=l1)
    torch.testing.assert_close(predictor.head.beta, expected.beta, rtol=1e-3, atol=1e-4)
    assert predictor.network is heads.network
    torch.testing.assert_close(
        predictor.probability(sample, sample.features), predictor.head.scores(phi).sigmoid()
    )


@pytest.mark.parametrize("kind", ["weighted", "plain"])
def test_a_refit_on_stable_features_looks_at_no_other(kind):
    heads = make_heads()
    (predictor,) = fit(heads, Recipe(0.0, kind, True))
    sample = heads.sample
    expected = predictor.probability(sample, sample.features)
    changed = sample.features.clone()
    changed[:, ~STABLE] = 1 - changed[:, ~STABLE]
    assert predictor.probability(sample, changed).equal(expected)
    assert float(expected.std()) > 0.1


def test_a_refit_on_all_features_under_equal_weights_is_the_training_of_an_encoder():
    heads = make_heads(equal=True)
    (predictor,) = fit(heads, Recipe(0.0, "weighted", False))
    sample = heads.sample
    network, solution = random_network(), start_solution(sample)
    part = sample.select(torch.ones(4, dtype=torch.bool), sample.mass)
    train_encoder(part, network, SETTINGS, solution)
    for mine, theirs in zip(predictor.network.parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-8)


def test_weights_matter_to_a_weighted_refit_and_not_to_a_plain_one():
    one, other = make_heads(), make_heads(equal=True)
    recipes = [Recipe(0.0, kind, True) for kind in ("weighted", "plain")]
    found = [
        [p.probability(heads.sample, heads.sample.features) for p in fit(heads, *recipes)]
        for heads in (one, other)
    ]
    assert float((found[0][0] - found[1][0]).abs().mean()) > 1e-3
    torch.testing.assert_close(found[0][1], found[1][1], rtol=0, atol=1e-12)


def test_a_fold_starts_where_the_refit_on_all_rows_ended_and_leaves_it_alone():
    heads = make_heads()
    recipe = Recipe(0.0, "weighted", False)
    (whole,) = fit(heads, recipe)
    before = [tensor.clone() for tensor in whole.network.parameters()]
    share = (torch.arange(300) % 3 != 0).double()
    fold, rows = heads.sample.take(share), share > 0
    (part,) = heads.fit(fold, heads.w[rows], [recipe])
    assert part.network is not whole.network
    moved = float((part.network.encoder[0][0] - before[0]).norm() / before[0].norm())
    assert 0 < moved < 0.5
    for tensor, old in zip(whole.network.parameters(), before, strict=True):
        assert tensor.equal(old)
    (again,) = fit(heads, recipe)
    assert again is whole


def test_a_refit_on_all_features_is_penalised_by_what_the_weights_cost():
    heads = make_heads()
    sample, v = heads.sample, heads.sample.mass * heads.w
    share = float(1 / (v**2 / sample.mass).sum())
    assert heads._penalty(sample, v, Recipe(0, "weighted", False)) == pytest.approx(1 / share)
    stable = heads._penalty(sample, v, Recipe(0, "weighted", True))
    assert stable == pytest.approx(100 * 4 / (300 * share))
    assert heads._penalty(sample, sample.mass, Recipe(0, "plain", True)) == pytest.approx(4 / 3)
