"""Which recipe is chosen: the one that is good and steady where noisy features move."""

import numpy as np
import pytest
import torch

from samples import dependent_sample, sample_of
from stablepred.core.head import Head
from stablepred.heads import choice
from stablepred.heads.choice import (
    Predictor,
    Recipe,
    find_weakest,
    judge_recipes,
    redraw,
    shuffled_folds,
)
from stablepred.sample import make_sample
from stablepred.validation.environments import RATES


class Fixed:
    """Heads that are given: the l1 of a recipe says which one it is."""

    def __init__(self, *betas):
        self.heads = [
            Head(torch.tensor(beta).double(), torch.tensor(-sum(beta) / 2).double())
            for beta in betas
        ]
        self.recipes = [Recipe(float(k), False, False) for k in range(len(betas))]
        self.asked = []

    def fit(self, sample, w, recipes):
        self.asked.append((sample, w))
        return [Predictor(self.heads[int(recipe.l1)]) for recipe in recipes]


def make_sample_of_noise(n=600, seed=0):
    """y follows the first feature at a rate of .8 and the second, for now, at .9."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.5).astype(float)
    x = np.column_stack([np.where(rng.random(n) < rate, y, 1 - y) for rate in (0.8, 0.9)])
    return sample_of(x, y)


NOISY = torch.tensor([False, True])


def choose(heads, sample, noisy=NOISY, n_folds=3):
    folds = lambda: shuffled_folds(sample, n_folds, 0)  # noqa: E731
    ones = torch.ones_like(sample.mass)
    judged = judge_recipes(heads, heads.recipes, sample, ones, noisy, folds, 0)
    return heads.recipes[judged.best]


def test_a_head_that_leans_on_what_will_move_is_not_chosen():
    sample = make_sample_of_noise()
    heads = Fixed([0.0, 4.0], [3.0, 0.0])
    assert choose(heads, sample) == heads.recipes[1]
    # Where nothing is known to move, the more accurate one is better.
    assert choose(heads, sample, torch.tensor([False, False])) == heads.recipes[0]


def test_a_constant_is_not_chosen_while_another_is_left():
    sample = make_sample_of_noise()
    heads = Fixed([0.0, 0.0], [0.0, 6.0])
    assert choose(heads, sample) == heads.recipes[1]
    only = Fixed([0.0, 0.0], [1e-9, 0.0])
    assert choose(only, sample) in only.recipes


def test_a_single_recipe_is_not_judged():
    heads = Fixed([1.0, 0.0])
    assert choose(heads, make_sample_of_noise()) == heads.recipes[0]
    assert heads.asked == []


def test_with_one_row_of_a_class_the_last_recipe_is_taken():
    y = np.zeros(20)
    y[3] = 1
    sample = sample_of(np.eye(20)[:, :2], y)
    heads = Fixed([1.0, 0.0], [0.0, 1.0])
    assert choose(heads, sample) == heads.recipes[1]


def test_the_errors_are_those_of_held_out_rows_environment_by_environment(monkeypatch):
    sample, heads = make_sample_of_noise(n=90), Fixed([3.0, 1.0], [0.0, 2.0])
    w = torch.rand(90, generator=torch.Generator().manual_seed(1)).double()
    given = []

    def two_environments(held, noisy, rng):
        given.append(held)
        yield held.features
        yield 1 - held.features

    monkeypatch.setattr(choice, "redraw", two_environments)
    folds = lambda: shuffled_folds(sample, 3, 5)  # noqa: E731
    for recipe, head in zip(heads.recipes, heads.heads, strict=True):
        judged = judge_recipes(heads, [recipe], sample, w, NOISY, folds, 0, alone=False)
        expected = [
            float((sample.mass @ (sample.y - head.scores(x).sigmoid()) ** 2).sqrt())
            for x in (sample.features, 1 - sample.features)
        ]
        assert judged.average == pytest.approx(np.mean(expected), rel=1e-10)
        assert judged.stability == pytest.approx(np.std(expected, ddof=1), rel=1e-10)
    held = sum(len(one.y) for one in given)
    trained = sum(len(one.y) for one, _ in heads.asked)
    assert (held, trained) == (2 * 90, 2 * 180)
    assert all(len(one.y) == len(own) for one, own in heads.asked)


def test_the_choice_is_the_smallest_average_plus_five_stability_errors():
    sample = make_sample_of_noise()
    heads = Fixed([0.0, 4.0], [3.0, 0.0], [2.0, 1.0], [1.0, 0.2])
    ones = torch.ones_like(sample.mass)
    folds = lambda: shuffled_folds(sample, 3, 0)  # noqa: E731
    judged = [
        judge_recipes(heads, [recipe], sample, ones, NOISY, folds, 0, alone=False)
        for recipe in heads.recipes
    ]
    by_hand = [one.average + 5 * one.stability for one in judged]
    assert [one.score for one in judged] == pytest.approx(by_hand)
    assert choose(heads, sample) == heads.recipes[int(np.argmin(by_hand))]


def test_redrawing_moves_the_noisy_features_alone_and_meets_every_rate():
    sample = make_sample_of_noise(n=4000)
    environments = list(redraw(sample, NOISY, np.random.default_rng(0)))
    assert len(environments) == len(RATES)
    for rate, x in zip(RATES, environments, strict=True):
        assert x[:, 0].equal(sample.features[:, 0])
        assert float((x[:, 1] == sample.y).double().mean()) == pytest.approx(rate, abs=0.03)


# --- folds ---


def test_folds_share_out_every_row_once():
    sample = dependent_sample(n=100)
    folds = list(shuffled_folds(sample, 4, 0))
    assert len(folds) == 4
    torch.testing.assert_close(
        sum(test for _, test in folds), torch.ones_like(sample.mass), rtol=0, atol=1e-12
    )
    for train, test in folds:
        torch.testing.assert_close(train + test, torch.ones_like(sample.mass))


def test_folds_are_stratified_and_the_copies_of_a_row_go_to_several():
    rng = np.random.default_rng(0)
    x, y = (rng.random((300, 2)) < 0.5).astype(float), (rng.random(300) < 0.2).astype(float)
    sample = make_sample(x, y, np.ones(300), ["a", "b"])
    assert len(sample.y) == 8
    for _, test in shuffled_folds(sample, 3, 0):
        held = sample.take(test)
        assert float(held.mass @ held.y) == pytest.approx(y.mean(), abs=0.01)
        assert float(held.copies.sum()) == pytest.approx(100, abs=1)
        assert ((test > 0) & (test < 1)).sum() >= 6


def test_folds_depend_on_the_seed_alone():
    sample = dependent_sample(n=100)
    one, other, third = (
        torch.stack([test for _, test in shuffled_folds(sample, 3, seed)]) for seed in (1, 1, 2)
    )
    assert one.equal(other)
    assert not one.equal(third)


def test_there_are_no_more_folds_than_rows_of_the_smaller_class():
    y = np.zeros(30)
    y[[1, 2]] = 1
    sample = sample_of(np.random.default_rng(0).random((30, 1)).round(), y)
    assert len(list(shuffled_folds(sample, 5, 0))) == 2
    assert list(shuffled_folds(sample_of(np.zeros((30, 1)), np.zeros(30)), 5, 0)) == []


@pytest.mark.parametrize("l1", [-1.0, float("nan"), float("inf")])
def test_a_stored_recipe_without_a_sound_penalty_is_refused(l1):
    with pytest.raises(ValueError, match="l1 of the recipe"):
        Recipe(l1, False, False).check_stored()


@pytest.mark.parametrize("name", ["temper", "network_l2"])
@pytest.mark.parametrize("value", [0.0, -1.0, 1.5, float("nan")])
def test_a_stored_recipe_with_an_impossible_power_or_factor_is_refused(name, value):
    with pytest.raises(ValueError, match=name):
        Recipe(0.0, False, False, **{name: value}).check_stored()


def test_the_weakest_half_are_the_variables_to_which_the_head_reacts_least():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (400, 5)).astype(float)
    sample = sample_of(x, rng.integers(0, 2, 400).astype(float))
    beta = torch.tensor([2.0, 0.1, -1.0, 0.0, 0.5]).double()
    predictor = Predictor(Head(beta, torch.tensor(0.0).double()))
    weakest = find_weakest(sample, torch.ones_like(sample.mass), predictor)
    assert weakest.tolist() == [False, True, False, True, False]


def test_columns_of_one_variable_are_weak_or_strong_together():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, (400, 4)).astype(float), rng.integers(0, 2, 400).astype(float)
    groups = np.array([0, 0, 1, 2])
    names = ["a", "b", "c", "d"]
    sample = make_sample(x, y, np.ones(400), names, groups=groups)
    effects = {"a": 2.0, "b": 0.0, "c": 1.0, "d": 0.5}
    beta = torch.tensor([effects[name] for name in sample.names]).double()
    predictor = Predictor(Head(beta, torch.tensor(0.0).double()))
    weakest = find_weakest(sample, torch.ones_like(sample.mass), predictor)
    found = {name for name, weak in zip(sample.names, weakest.tolist(), strict=True) if weak}
    assert found == {"d"}


def test_among_several_families_a_single_recipe_is_judged_too():
    heads = Fixed([1.0, 0.0])
    sample = make_sample_of_noise()
    folds = lambda: shuffled_folds(sample, 3, 0)  # noqa: E731
    ones = torch.ones_like(sample.mass)
    judged = judge_recipes(heads, heads.recipes, sample, ones, NOISY, folds, 0, alone=False)
    assert judged.score == pytest.approx(judged.average + 5 * judged.stability)
