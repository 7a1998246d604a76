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
    heads = NetworkHeads(SETTINGS, stable, random_network(), lambda: random_network())
    return heads, sample, w


def fit(made, *recipes):
    heads, sample, w = made
    return heads.fit(sample, w, list(recipes))


@pytest.mark.parametrize("l1", [0.0, 1e-3])
def test_without_refit_the_head_is_a_weighted_regression_on_the_embedding(l1):
    heads, sample, w = made = make_heads()
    (predictor,) = fit(made, Recipe(l1, False, False))
    v = sample.mass * w
    phi = heads.network.encode(sample.x)
    expected = fit_head(sample, phi, v, l2=STRENGTHS.l2, l1=l1)
    torch.testing.assert_close(predictor.head.beta, expected.beta, rtol=1e-3, atol=1e-4)
    assert predictor.network is heads.network
    torch.testing.assert_close(
        predictor.probability(sample, sample.features), predictor.head.scores(phi).sigmoid()
    )


def test_a_refit_on_stable_features_looks_at_no_other():
    made = make_heads()
    (predictor,) = fit(made, Recipe(0.0, "weighted", True))
    sample = made[1]
    expected = predictor.probability(sample, sample.features)
    changed = sample.features.clone()
    changed[:, ~STABLE] = 1 - changed[:, ~STABLE]
    assert predictor.probability(sample, changed).equal(expected)
    assert float(expected.std()) > 0.1


def test_a_refit_on_all_features_under_equal_weights_is_the_training_of_an_encoder():
    made = make_heads(equal=True)
    (predictor,) = fit(made, Recipe(0.0, "weighted", False))
    sample = made[1]
    network, solution = random_network(), start_solution(sample)
    part = sample.select(torch.ones(4, dtype=torch.bool), sample.mass)
    train_encoder(part, network, SETTINGS, solution)
    for mine, theirs in zip(predictor.network.parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-8)


def test_weights_and_their_power_matter_to_a_refit():
    recipes = [Recipe(0.0, "weighted", True, power) for power in (1.0, 0.5)]
    _, sample, _ = made = make_heads()
    whole, root = (p.probability(sample, sample.features) for p in fit(made, *recipes))
    equal = [p.probability(sample, sample.features) for p in fit(make_heads(equal=True), *recipes)]
    assert float((whole - equal[0]).abs().mean()) > float((root - equal[0]).abs().mean()) > 1e-3
    torch.testing.assert_close(equal[0], equal[1], rtol=0, atol=1e-12)


def test_a_refit_on_a_fold_has_seen_no_other_row():
    heads, sample, w = make_heads()
    recipe, share = Recipe(0.0, "weighted", False), (torch.arange(300) % 3 != 0).double()
    rows = share > 0
    alone, after = make_heads()[0], heads
    after.fit(sample, w, [recipe])
    parts = [h.fit(sample.take(share), w[rows], [recipe])[0] for h in (alone, after)]
    assert parts[0].head.beta.equal(parts[1].head.beta)


def test_a_refit_on_all_features_is_penalised_by_what_the_weights_cost():
    heads, sample, w = make_heads()
    v = sample.mass * w
    share = float(1 / (v**2 / sample.mass).sum())
    assert heads._penalty(sample, v, Recipe(0, "weighted", False)) == pytest.approx(1 / share)
    stable = heads._penalty(sample, v, Recipe(0, "weighted", True))
    assert stable == pytest.approx(100 * 4 / (300 * share))
    assert heads._penalty(sample, sample.mass, Recipe(0, "weighted", True)) == pytest.approx(4 / 3)
