"""A linear head under the weights: the path of lambda 5, and refits of what survives it."""

import numpy as np
import pytest
import torch

from samples import dependent_sample
from stablepred.core.head import fit_head
from stablepred.core.loop import Settings
from stablepred.core.objective import Strengths
from stablepred.heads.choice import Predictor, Recipe
from stablepred.heads.linear import LinearHeads, l1_path

SETTINGS = Settings(Strengths(l2=1e-3))
STABLE = torch.tensor([True, False, False, True])


@pytest.fixture(scope="module")
def problem():
    """A sample and uneven weights of its rows."""
    sample = dependent_sample(n=300)
    w = torch.rand(300, generator=torch.Generator().manual_seed(0)).double() + 0.2
    return sample, w


def refit(sample, w, columns, l1):
    """The head on some columns under v = mass * w, scaled to a sum of one."""
    v = sample.mass * w
    return fit_head(sample, sample.x[:, columns], v / v.sum(), l2=1e-3, l1=l1)


def test_the_path_starts_where_few_features_survive_and_ends_at_a_thousandth(problem):
    sample, w = problem
    path = l1_path(sample, w, sample.features, SETTINGS)
    v = sample.mass * w
    residual = v * (sample.y - v @ sample.y / v.sum())
    largest = float((sample.x.T @ residual).abs().max())
    np.testing.assert_allclose(path, largest * np.geomspace(0.7, 1e-3, 10))
    scaled = largest / float(v.sum())
    assert (refit(sample, w, [0, 1, 2, 3], 1.001 * scaled).beta == 0).all()


def test_without_an_intercept_the_path_starts_at_the_slopes_of_one_half(problem):
    sample, w = problem
    settings = Settings(Strengths(l2=1e-3), fit_intercept=False)
    largest = float((sample.x.T @ (sample.mass * w * (sample.y - 0.5))).abs().max())
    assert l1_path(sample, w, sample.features, settings)[0] == pytest.approx(0.7 * largest)


def test_auto_is_the_path_on_all_and_on_the_stable_features_with_and_without_refit(problem):
    recipes = list(LinearHeads(SETTINGS, STABLE).recipes(*problem, "auto", "auto"))
    path = l1_path(problem[0], problem[1], problem[0].features, SETTINGS)
    expected = [
        Recipe(l1, kind, only)
        for only in (False, True)
        for l1 in path
        for kind in (False, "weighted")
    ]
    assert recipes == expected


@pytest.mark.parametrize("stable", [[True] * 4, [False] * 4])
def test_where_no_or_all_features_are_stable_there_is_one_set_of_columns(problem, stable):
    recipes = LinearHeads(SETTINGS, torch.tensor(stable)).recipes(*problem, "auto", False)
    assert {recipe.only_stable for recipe in recipes} == {False}


def test_a_number_is_one_recipe(problem):
    recipes = list(LinearHeads(SETTINGS, STABLE).recipes(*problem, 0.02, "weighted"))
    assert recipes == [Recipe(0.02, "weighted", False)]


@pytest.mark.parametrize("only_stable", [False, True])
def test_a_sparse_head_is_the_elastic_net_under_the_weights(problem, only_stable):
    columns = [0, 3] if only_stable else [0, 1, 2, 3]
    recipe = Recipe(0.01, False, only_stable)
    (predictor,) = LinearHeads(SETTINGS, STABLE).fit(*problem, [recipe])
    expected = refit(*problem, columns, 0.01)
    torch.testing.assert_close(predictor.head.beta[columns], expected.beta, rtol=0, atol=1e-7)
    assert float(predictor.head.intercept) == pytest.approx(float(expected.intercept), abs=1e-7)
    others = [j for j in range(4) if j not in columns]
    assert (predictor.head.beta[others] == 0).all()


def test_a_refit_keeps_the_survivors_and_drops_the_penalty(problem):
    heads = LinearHeads(SETTINGS, STABLE)
    sparse, again = heads.fit(*problem, [Recipe(0.05, kind, False) for kind in (False, "weighted")])
    survivors = sparse.head.beta != 0
    assert 0 < int(survivors.sum()) < 4
    assert (again.head.beta != 0).equal(survivors)
    expected = refit(*problem, survivors, 0.0)
    torch.testing.assert_close(again.head.beta[survivors], expected.beta, rtol=0, atol=1e-7)


def test_where_nothing_survives_the_refit_is_the_empty_head(problem):
    heads = LinearHeads(SETTINGS, STABLE)
    (predictor,) = heads.fit(*problem, [Recipe(10.0, "weighted", False)])
    assert (predictor.head.beta == 0).all()
    sample, w = problem
    v = sample.mass * w
    rate = float(v @ sample.y / v.sum())
    found = Predictor(predictor.head).probability(sample, sample.features)
    assert found.tolist() == pytest.approx([rate] * len(sample.y))


def test_the_order_of_recipes_does_not_change_the_heads(problem):
    heads = LinearHeads(SETTINGS, STABLE)
    recipes = list(heads.recipes(*problem, "auto", "auto"))
    forward, backward = heads.fit(*problem, recipes), heads.fit(*problem, recipes[::-1])
    for one, other in zip(forward, backward[::-1], strict=True):
        torch.testing.assert_close(one.head.beta, other.head.beta, rtol=0, atol=1e-4)
