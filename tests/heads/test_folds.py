"""Folds: copies and clusters stay together, weights are counts, environments are held out whole."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from samples import sample_of
from stablepred.core.ridge import Regression
from stablepred.heads.folds import LEAST_DRAWN, MOST_TOGETHER, draw_rows, make_folds
from stablepred.outcomes.binary import BINARY
from stablepred.outcomes.gaussian import GAUSSIAN
from stablepred.outcomes.multinomial import MULTINOMIAL
from stablepred.sample import make_sample


def make_rows(n=90, seed=0, p=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), (rng.random(n) < 0.4).astype(float)


def prepare(x, y, weight=None, **marks):
    weight = np.ones(len(y)) if weight is None else weight
    return make_sample(x, y, weight, [f"x{j}" for j in range(x.shape[1])], **marks)


def held_out(folds, sample):
    """For each fold, how many of each row's copies it holds out."""
    ends = np.cumsum([len(rows) for rows in folds.rows])[:-1]
    counts = torch.tensor_split(folds.copies, torch.as_tensor(ends))
    found = torch.zeros(len(folds.rows), len(sample.y), dtype=torch.float64)
    for k, (rows, count) in enumerate(zip(folds.rows, counts, strict=True)):
        found[k, rows] = count
    return found


@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_every_copy_of_every_row_is_held_out_once_and_else_trained_on(n_folds):
    x, y = make_rows()
    sample = prepare(x, y, np.random.default_rng(1).integers(1, 30, 90).astype(float))
    folds = make_folds(sample, BINARY, n_folds, 0)
    held = held_out(folds, sample)
    torch.testing.assert_close(held.sum(0), sample.copies)
    for part, one in zip(folds.train, held, strict=True):
        torch.testing.assert_close(part.copies, (sample.copies - one)[sample.copies - one > 0])
        assert float(part.mass.sum()) == pytest.approx(1)


def test_every_fold_has_its_share_of_both_classes():
    x, y = make_rows(300)
    sample = prepare(x, y)
    for one in held_out(make_folds(sample, BINARY, 3, 0), sample):
        assert float(one @ sample.y) == pytest.approx(y.sum() / 3, abs=1)
        assert float(one.sum()) == pytest.approx(100, abs=1)


def test_copies_of_a_row_stay_in_one_fold_also_with_another_outcome():
    x, y = make_rows(30)
    twice, outcomes = np.vstack([x, x, x]), np.concatenate([y, 1 - y, y])
    sample = prepare(twice, outcomes)
    held = held_out(make_folds(sample, BINARY, 3, 0), sample)
    fold = held.argmax(0)
    _, pattern = np.unique(sample.features.numpy(), axis=0, return_inverse=True)
    for one in np.unique(pattern):
        assert len(set(fold[torch.as_tensor(pattern.reshape(-1) == one)].tolist())) == 1


def test_rows_that_are_very_common_are_in_every_fold():
    x = np.repeat([[0.0], [1.0]], 10 * MOST_TOGETHER, axis=0)
    y = np.tile([0.0, 1.0, 1.0, 0.0], 5 * MOST_TOGETHER)
    sample = prepare(x, y)
    held = held_out(make_folds(sample, BINARY, 3, 0), sample)
    assert (held > 0).all()


def test_rows_of_one_cluster_are_never_held_out_apart():
    x, y = make_rows(120)
    cluster = np.random.default_rng(2).integers(0, 15, 120)
    sample = prepare(x, y, cluster=cluster)
    fold = held_out(make_folds(sample, BINARY, 3, 0), sample).argmax(0)
    assert len(set(fold.tolist())) == 3
    for one in range(15):
        assert len(set(fold[sample.cluster == one].tolist())) == 1


def test_each_environment_is_held_out_whole():
    x, y = make_rows(120)
    sample = prepare(x, y, environment=np.arange(120) % 4)
    folds = make_folds(sample, BINARY, 3, 0)
    assert len(folds.train) == 4
    for k, (part, rows) in enumerate(zip(folds.train, folds.rows, strict=True)):
        assert set(sample.environment[rows].tolist()) == {k}
        assert k not in set(part.environment.tolist())


@pytest.mark.parametrize("binary", [True, False])
def test_a_row_of_weight_two_is_dealt_like_two_rows(binary):
    x, y = make_rows(80)
    x = (x > 0).astype(float) if binary else x
    weight = np.random.default_rng(3).integers(1, 4, 80).astype(float)
    repeated = np.repeat(np.arange(80), weight.astype(int))
    one, other = prepare(x, y, weight), prepare(x[repeated], y[repeated])
    first, second = (make_folds(sample, BINARY, 3, 0) for sample in (one, other))
    torch.testing.assert_close(held_out(first, one), held_out(second, other))
    for a, b in zip(first.train, second.train, strict=True):
        torch.testing.assert_close(a.x, b.x, rtol=0, atol=0)
        torch.testing.assert_close(a.mass, b.mass)


@pytest.mark.parametrize(("rare", "n_folds"), [(2, 2), (3, 3), (4, 3)])
def test_there_are_no_more_folds_than_rows_of_the_rarest_class(rare, n_folds):
    x, _ = make_rows(40)
    y = (np.arange(40) < rare).astype(float)
    assert len(make_folds(prepare(x, y), BINARY, 3, 0).train) == n_folds


def test_with_one_row_of_a_class_nothing_is_held_out():
    x, _ = make_rows(40)
    folds = make_folds(prepare(x, (np.arange(40) < 1).astype(float)), BINARY, 3, 0)
    assert folds.is_empty
    assert len(folds.y) == 40


def test_another_seed_gives_other_folds_and_the_same_one_the_same():
    sample = prepare(*make_rows())
    one, same, other = (held_out(make_folds(sample, BINARY, 3, s), sample) for s in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_of_a_number_every_fold_has_rows_from_low_to_high():
    x, _ = make_rows(200)
    y = np.random.default_rng(4).normal(size=200)
    sample = sample_of(x, y)
    for rows in make_folds(sample, GAUSSIAN, 3, 0).rows:
        assert abs(float((sample.y[rows] > sample.y.median()).double().mean()) - 0.5) < 0.1


# --- comparisons ---


def test_errors_on_held_out_rows_are_weighted_means():
    sample = prepare(*make_rows(), np.random.default_rng(1).integers(1, 30, 90).astype(float))
    folds = make_folds(sample, BINARY, 3, 0)
    models = [Regression(GAUSSIAN, (), np.array([0.0, 0.0, 0.0, mean])) for mean in (0.1, 0.2, 0.3)]
    means = folds.predict(models, sample.x)
    y, copies = folds.y.numpy(), folds.copies.numpy()
    expected = np.repeat([0.1, 0.2, 0.3], [len(rows) for rows in folds.rows])
    np.testing.assert_array_equal(means, expected)
    rmse = np.sqrt(np.average((y - expected) ** 2, weights=copies))
    assert folds.rmse(means) == pytest.approx(rmse)
    loss = np.average(-np.log(np.where(y == 1, expected, 1 - expected)), weights=copies)
    assert folds.mean(folds.losses(means)) == pytest.approx(loss)


def test_a_mean_exceeds_so_many_standard_errors_as_it_does_by_hand():
    sample = sample_of(*make_rows())
    folds = make_folds(sample, BINARY, 3, 0)
    values = torch.as_tensor(np.random.default_rng(0).normal(0.3, 1, 90))
    z = values.mean() / (values.std(correction=0) / 90**0.5)
    assert folds.exceeds(values, float(z) - 1e-6)
    assert not folds.exceeds(values, float(z) + 1e-6)


def test_folds_of_one_class_against_the_rest_have_the_same_rows():
    x, _ = make_rows()
    sample = prepare(x, np.arange(90) % 3.0)
    folds = make_folds(sample, MULTINOMIAL, 3, 0)
    one = folds.against_rest(1)
    assert one.outcome is BINARY
    assert all(map(torch.equal, one.rows, folds.rows))
    assert torch.equal(one.y, (folds.y == 1).double())
    part = folds.restrict(np.array([True, False, True])).train[0]
    torch.testing.assert_close(part.x, folds.train[0].x[:, [0, 2]])
    assert replace(folds, train=()).is_empty


def test_of_a_large_table_some_rows_are_drawn_and_enough_of_a_rare_class():
    x, _ = make_rows(n=6000)
    y = (np.arange(6000) < 3000).astype(float)
    sample = sample_of(x, y)
    drawn = draw_rows(sample, BINARY, 2500, 0)
    assert int(drawn.sum()) == 2500
    assert draw_rows(sample, BINARY, 2500, 0).equal(drawn)
    assert float(sample.take(drawn).y.mean()) == pytest.approx(0.5, abs=0.05)
    rare = sample_of(x, (np.arange(6000) < LEAST_DRAWN).astype(float))
    assert draw_rows(rare, BINARY, 2500, 0).all()
