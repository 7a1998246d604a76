"""``Sample``: distinct rows with their mass, whatever the order of rows and columns."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from samples import sample_of
from stablepred.sample import add_products, count_rows, group_rows, make_sample, sum_exactly


def user_rows(seed, n=40, p=3):
    """A table as a user has it: 0/1 features, a 0/1 outcome, integer weights."""
    rng = np.random.default_rng(seed)
    x, y = (rng.random((n, p)) < 0.5).astype(float), (rng.random(n) < 0.5).astype(float)
    return x, y, rng.integers(1, 5, n).astype(float)


def names_of(p):
    return [f"x{j}" for j in range(p)]


def assert_same_rows(one, other):
    """To the last bit."""
    for name in ("x", "y", "mass", "copies"):
        assert getattr(one, name).equal(getattr(other, name)), name
    assert one.names == other.names


# --- distinct rows ---


@pytest.mark.parametrize("p", [1, 3, 7, 8, 9, 20])
def test_a_sample_has_the_distinct_rows_with_their_share_of_the_weight(p):
    x, y, weight = user_rows(0, n=300, p=p)
    sample = make_sample(x, y, weight, names_of(p))
    expected = Counter()
    for row, outcome, own in zip(x[:, sample.origin.columns], y, weight, strict=True):
        expected[(*row, outcome)] += own / weight.sum()
    found = {
        (*row, outcome): mass
        for row, outcome, mass in zip(
            sample.x.tolist(), sample.y.tolist(), sample.mass.tolist(), strict=True
        )
    }
    assert len(found) == len(sample.y)
    assert found.keys() == expected.keys()
    for row, mass in found.items():
        assert mass == pytest.approx(expected[row], rel=1e-11)
    assert float(sample.mass.sum()) == pytest.approx(1, abs=1e-15)


def test_the_origin_leads_from_each_row_to_its_distinct_one():
    x, y, weight = user_rows(1)
    sample = make_sample(x, y, weight, names_of(3))
    index, columns = sample.origin.index, sample.origin.columns
    np.testing.assert_array_equal(sample.x.numpy()[index], x[:, columns])
    np.testing.assert_array_equal(sample.y.numpy()[index], y)
    np.testing.assert_array_equal(sample.to_user_rows(sample.y), y)
    np.testing.assert_array_equal(sample.to_user_columns(columns), np.arange(3))
    assert sample.names == [f"x{j}" for j in columns]


@given(seed=st.integers(0, 10_000), order=st.permutations(range(40)))
def test_the_order_of_rows_does_not_matter(seed, order):
    x, y, weight = user_rows(seed)
    one = make_sample(x, y, weight, names_of(3))
    assert_same_rows(one, make_sample(x[order], y[order], weight[order], names_of(3)))


@given(seed=st.integers(0, 10_000), order=st.permutations(range(5)))
def test_the_order_of_columns_does_not_matter(seed, order):
    x, y, weight = user_rows(seed, p=5)
    names = np.array(names_of(5))
    one = make_sample(x, y, weight, list(names))
    assert_same_rows(one, make_sample(x[:, order], y, weight, list(names[order])))


@given(seed=st.integers(0, 10_000), row=st.integers(0, 39))
def test_a_row_written_twice_is_a_row_of_weight_two(seed, row):
    x, y, _ = user_rows(seed)
    weight = np.ones(40)
    written = make_sample(np.vstack([x, x[row]]), np.append(y, y[row]), np.ones(41), names_of(3))
    weight[row] = 2
    assert_same_rows(written, make_sample(x, y, weight, names_of(3)))


@given(seed=st.integers(0, 10_000), factor=st.floats(1e-100, 1e100))
def test_the_scale_of_the_sample_weights_does_not_matter(seed, factor):
    x, y, weight = user_rows(seed)
    one = make_sample(x, y, weight, names_of(3))
    assert_same_rows(one, make_sample(x, y, weight * factor, names_of(3)))


def test_rows_of_weight_zero_are_absent_and_get_zero_back():
    x, y, weight = user_rows(2)
    weight[[0, 7]] = 0
    present = weight > 0
    sample = make_sample(x, y, weight, names_of(3))
    assert_same_rows(sample, make_sample(x[present], y[present], weight[present], names_of(3)))
    back = sample.to_user_rows(torch.ones_like(sample.mass))
    np.testing.assert_array_equal(back, present.astype(float))
    assert sample.origin.n_rows == 38


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_columns_are_left_out_and_get_zero_back(value):
    x, y, weight = user_rows(3, p=4)
    x[:, 1] = value
    sample = make_sample(x, y, weight, names_of(4))
    assert sorted(sample.names) == ["x0", "x2", "x3"]
    back = sample.to_user_columns(np.array([True, True, True]))
    assert back.tolist() == [True, False, True, True]
    assert sample.n_features == sample.features.shape[1] == 3


def test_a_column_that_is_constant_but_for_rows_of_weight_zero_is_left_out():
    x, y, weight = user_rows(3)
    x[:, 1], weight[5] = 0, 0
    x[5, 1] = 1
    assert sorted(make_sample(x, y, weight, names_of(3)).names) == ["x0", "x2"]


def test_outcomes_that_are_not_binary_are_kept_apart():
    x, _, weight = user_rows(4)
    y = np.random.default_rng(4).poisson(2.0, 40).astype(float)
    sample = make_sample(x, y, weight, names_of(3))
    np.testing.assert_array_equal(sample.to_user_rows(sample.y), y)
    assert len(sample.y) == len(np.unique(np.column_stack([x, y]), axis=0))


# --- how many rows a row stands for ---


def test_integer_multiples_of_the_smallest_weight_are_counts_of_rows():
    weight = np.array([0.5, 0.5, 1.0, 1.5, 2.0])
    assert count_rows(weight).tolist() == [1, 1, 2, 3, 4]


def test_other_weights_are_scaled_to_their_effective_number():
    weight = np.array([0.3, 0.5, 1.0, 1.1])
    effective = weight.sum() ** 2 / (weight**2).sum()
    assert count_rows(weight).sum() == pytest.approx(effective)
    assert count_rows(1000 * weight).sum() == pytest.approx(effective)


def test_a_rare_smallest_weight_is_no_unit():
    weight = np.full(100, 7.0)
    weight[0] = 1.0
    assert count_rows(weight).sum() == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


def test_weights_that_are_counts_are_the_copies():
    x, y, weight = user_rows(5)
    sample = make_sample(x, y, 7 * weight, names_of(3), counted=True)
    assert float(sample.copies.sum()) == 7 * weight.sum() == sample.origin.n_rows
    assert float(make_sample(x, y, weight, names_of(3)).copies.sum()) == weight.sum()
    torch.testing.assert_close(sample.copies / sample.copies.sum(), sample.mass)


# --- sums over rows ---


def test_without_shards_a_total_is_the_sum_at_hand():
    sample = sample_of(np.eye(3), np.ones(3))
    a, b = sample.totals(sample.mass.sum(), 5.0)
    assert (float(a), b, sample.total(3.0)) == (pytest.approx(1), 5.0, 3.0)


# --- parts of a sample ---


def test_a_fold_has_its_share_of_each_row_and_a_mass_of_one():
    x, y, weight = user_rows(6)
    sample = make_sample(x, y, weight, names_of(3))
    share = torch.as_tensor(np.random.default_rng(0).choice([0, 0.25, 1.0], len(sample.y)))
    fold = sample.take(share)
    rows = share > 0
    assert fold.x.equal(sample.x[rows])
    assert float(fold.mass.sum()) == pytest.approx(1)
    torch.testing.assert_close(fold.mass * (sample.mass @ share), (sample.mass * share)[rows])
    torch.testing.assert_close(fold.copies, (sample.copies * share)[rows])


def test_the_shares_of_a_splitters_rows_add_up():
    x, y, weight = user_rows(7)
    sample = make_sample(x, y, weight, names_of(3))
    train, test = np.arange(25), np.arange(25, 40)
    shares = [sample.share_of_rows(rows, weight) for rows in (train, test)]
    torch.testing.assert_close(shares[0] + shares[1], torch.ones_like(sample.mass))
    held = np.bincount(sample.origin.index[test], weight[test], minlength=len(sample.y))
    whole = np.bincount(sample.origin.index, weight)
    np.testing.assert_allclose(shares[1].numpy(), held / whole)


def test_some_features_alone_make_the_sample_of_those_columns():
    x, y, weight = user_rows(8, n=200, p=5)
    sample = make_sample(x, y, weight, names_of(5))
    used = torch.tensor([True, False, True, True, False])
    part = sample.select(used, sample.mass)
    columns = sample.origin.columns[used.numpy()]
    direct = make_sample(x[:, columns], y, weight, [f"x{j}" for j in columns])
    assert part.names == [f"x{j}" for j in columns]
    assert len(part.y) == len(direct.y) < len(sample.y)

    def by_row(some):
        rows = zip(some.x[:, np.argsort(some.names)].tolist(), some.y.tolist(), strict=True)
        return {
            (*row, outcome): (mass, copies)
            for (row, outcome), mass, copies in zip(
                rows, some.mass.tolist(), some.copies.tolist(), strict=True
            )
        }

    found, expected = by_row(part), by_row(direct)
    assert found.keys() == expected.keys()
    for row, values in found.items():
        assert values == pytest.approx(expected[row], rel=1e-10)


def test_the_mass_of_selected_rows_is_that_of_the_weights_given():
    x, y, weight = user_rows(9, n=100)
    sample = make_sample(x, y, weight, names_of(3))
    v = sample.mass * torch.rand(len(sample.y), generator=torch.Generator().manual_seed(0))
    part = sample.select(torch.tensor([True, False, True]), v)
    moment = part.mass @ (part.features[:, 0] * part.y)
    expected = (v / v.sum()) @ (sample.features[:, 0] * sample.y)
    torch.testing.assert_close(moment, expected, rtol=1e-10, atol=0)


def test_products_follow_the_features_that_stay():
    x, y, weight = user_rows(10, n=200, p=4)
    sample = make_sample(x, y, weight, names_of(4)).with_products()
    part = sample.select(torch.tensor([True, False, True, True]), sample.mass)
    assert part.pairs == [(0, 1), (0, 2), (1, 2)]
    for column, (a, b) in enumerate(part.pairs, start=3):
        assert part.x[:, column].equal(part.x[:, a] * part.x[:, b])


# --- products ---


def test_products_are_those_of_all_pairs_that_vary():
    rng = np.random.default_rng(0)
    x = (rng.random((50, 4)) < 0.5).astype(float)
    x[:, 3] = 1 - x[:, 2]  # their product is constant
    sample = sample_of(x, x[:, 0]).with_products()
    assert sample.pairs == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
    assert sample.features.equal(torch.as_tensor(x))
    for column, (a, b) in enumerate(sample.pairs, start=4):
        np.testing.assert_array_equal(sample.x[:, column].numpy(), x[:, a] * x[:, b])


def test_columns_share_a_feature_exactly_if_their_sources_meet():
    x, y, _ = user_rows(11, p=4)
    sample = sample_of(x, y).with_products()
    sources = [{j} for j in range(4)] + [set(pair) for pair in sample.pairs]
    expected = [[bool(one & other) for other in sources] for one in sources]
    assert sample.shared.tolist() == expected


def test_products_of_arrays_and_tensors_are_the_same():
    x = np.random.default_rng(0).random((5, 3))
    pairs = [(0, 1), (1, 2)]
    np.testing.assert_array_equal(add_products(torch.as_tensor(x), pairs), add_products(x, pairs))
    assert add_products(x, []) is x


def test_grouped_rows_are_in_the_order_of_their_content():
    x, y, weight = user_rows(12)
    first, mass, index = group_rows(x, y, weight)
    rows = np.column_stack([x, y])[first]
    assert rows.tolist() == sorted(rows.tolist())
    np.testing.assert_array_equal(rows[index], np.column_stack([x, y]))
    assert mass.sum() == pytest.approx(1)


def test_distinct_rows_of_numbers_are_found_by_their_content():
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(60, 2)), 1)[rng.integers(0, 60, 200)]
    y = (rng.random(200) < 0.5).astype(float)
    first, mass, index = group_rows(x, y, np.ones(200))
    rows = [tuple(row) for row in np.column_stack([x, y])]
    assert sorted(rows[k] for k in first) == sorted(set(rows))
    assert all(rows[first[index[k]]] == rows[k] for k in range(200))
    counts = [rows.count(rows[k]) / 200 for k in first]
    np.testing.assert_allclose(mass, counts, rtol=1e-11)


def test_the_sample_of_numbers_does_not_depend_on_the_order_of_rows_and_columns():
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.normal(size=80), rng.normal(size=80), rng.random(80) < 0.4])
    x -= x.mean(axis=0) * [1, 1, 0]
    y = (rng.random(80) < 0.5).astype(float)
    one = make_sample(x, y, np.ones(80), list("abc"))
    rows, columns = rng.permutation(80), [2, 0, 1]
    other = make_sample(x[rows][:, columns], y[rows], np.ones(80), ["c", "a", "b"])
    assert one.names == other.names
    assert_same_rows(one, other)


def test_numbers_in_single_precision_have_their_rows_in_the_same_order():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(500, 4)), (rng.random(500) < 0.5).astype(float)
    single = x.astype(np.float32).astype(np.float64)
    one, other = (make_sample(a, y, np.ones(500), list("abcd")) for a in (x, single))
    assert one.names == other.names
    np.testing.assert_array_equal(one.origin.index, other.origin.index)
    np.testing.assert_allclose(one.x, other.x, atol=1e-6)


def test_sums_do_not_depend_on_the_order_of_the_rows():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(1000, 3)) * 10.0 ** rng.integers(-8, 8, size=(1000, 3))
    values = np.column_stack([values, np.zeros(1000)])
    sums = sum_exactly(values)
    assert all((sum_exactly(values[rng.permutation(1000)]) == sums).all() for _ in range(10))
    exact = [math.fsum(column) for column in values.T]
    largest = np.abs(values).max(axis=0)
    np.testing.assert_array_less(np.abs(sums - exact), 1e-14 * largest + 1e-300)


def test_columns_of_one_variable_share_it_and_so_do_their_products():
    rng = np.random.default_rng(3)
    level = rng.integers(0, 3, 90)
    x = np.column_stack([level == 0, level == 1, rng.random(90) < 0.5]).astype(float)
    y = (rng.random(90) < 0.5).astype(float)
    sample = make_sample(x, y, np.ones(90), list("abc"), groups=np.array([0, 0, 1]))
    same = sample.groups[:, None] == sample.groups[None, :]
    np.testing.assert_array_equal(sample.shared.numpy(), same)
    wide = sample.with_products()
    variables = [{v} for v in sample.groups] + [
        {sample.groups[a], sample.groups[b]} for a, b in wide.pairs
    ]
    expected = [[bool(a & b) for b in variables] for a in variables]
    np.testing.assert_array_equal(wide.shared.numpy(), expected)
