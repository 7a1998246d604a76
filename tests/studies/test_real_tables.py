import numpy as np
import pandas as pd
import pytest

from studies.real import features
from studies.real.environments import (
    TEST_RATES,
    at_rate,
    by_groups,
    by_selection,
    cut_into_groups,
    unassociated_features,
)
from studies.real.features import OUTCOME, BinaryTable, binary_features, binary_table


@pytest.fixture(scope="module")
def table():
    """Two features that decide the outcome, six that do not, and an age."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame((rng.random((4000, 8)) < 0.5).astype(int)).add_prefix("x")
    chance = 1 / (1 + np.exp(-(2 * x["x0"] + 2 * x["x1"] - 3)))
    x[OUTCOME] = (rng.random(4000) < chance).astype(int)
    return BinaryTable(x, pd.DataFrame({"age": rng.integers(15, 70, 4000)}))


# --- features ---


def test_every_kind_of_column_becomes_zero_and_one():
    frame = pd.DataFrame(
        {
            "number": [1.0, 2.0, 3.0, 10.0],
            "flag": [True, False, True, False],
            "two": pd.Categorical(["no", "yes", "no", "yes"]),
            "three": pd.Categorical(["a", "b", "c", "a"]),
            "gaps": pd.Categorical(["a", None, "a", None]),
        }
    )
    binary = binary_features(frame)
    assert binary["number"].tolist() == [0, 0, 0, 1]
    assert binary["flag"].tolist() == [1, 0, 1, 0]
    assert binary["two=yes"].tolist() == [0, 1, 0, 1]
    assert binary["three=b"].tolist() == [0, 1, 0, 0]
    assert binary["gaps=missing"].tolist() == [0, 1, 0, 1]
    assert len(binary.columns) == 3 + 3 + 1


def test_features_without_overlap_are_left_out():
    frame = pd.DataFrame({"rare": [0] * 9 + [1], "even": [0, 1] * 5, "all": [3] * 10})
    assert list(binary_features(frame).columns) == ["even"]


COUNTS = {  # features, distinct rows with their outcome
    "bank": (13, 2_650),
    "bank-additional": (20, 6_841),
    "adult": (10, 354),
    "diabetes": (20, 32_687),
    "credit": (23, 9_530),
}


@pytest.mark.parametrize("name", COUNTS)
def test_published_tables_have_the_known_features(name, data_folder, monkeypatch):
    monkeypatch.setenv("STABLEPRED_DATA", str(data_folder))
    table = binary_table(name)
    assert (len(table.features), len(table.rows.drop_duplicates())) == COUNTS[name]


def test_columns_aside_are_no_features():
    table = binary_table("breast-cancer", ("mean area",))
    assert "mean area" not in table.features
    assert list(table.aside) == ["mean area"]
    assert set(features.ASIDE) == {*COUNTS, "breast-cancer"}


# --- biased selection ---


def test_noisy_features_are_those_without_association(table):
    chosen = unassociated_features(table.rows, 6)
    assert set(chosen) == {f"x{j}" for j in range(2, 8)}
    assert min(chosen.values()) > 1e-3


def test_a_feature_that_repeats_a_chosen_one_is_passed_over(table):
    rows = table.rows.assign(x3=1 - table.rows["x2"])
    chosen = unassociated_features(rows, 5)
    assert len({"x2", "x3"} & set(chosen)) == 1
    assert len(chosen) == 5


def test_training_and_test_rows_are_selected_at_their_rates(table):
    found = by_selection(table, 4, 0.6, seed=3)
    noisy = list(found.noisy)
    assert len(noisy) == 4
    agree = (found.train.X[noisy].to_numpy() == found.train.y[:, None]).mean()
    assert agree == pytest.approx(0.6, abs=0.03)
    assert list(found.tests) == [f"r={rate:g}" for rate in TEST_RATES]
    for rate, rows in zip(TEST_RATES, found.tests.values(), strict=True):
        part = found.rows.iloc[rows]
        agree = (part[noisy].to_numpy() == part[[OUTCOME]].to_numpy()).mean()
        assert agree == pytest.approx(rate, abs=0.06)


def test_then_every_other_feature_is_biased_on_its_own(table):
    found = by_selection(table, 4, 0.6, seed=3)
    assert set(found.one_by_one) == set(table.features) - set(found.noisy)
    for name, tests in found.one_by_one.items():
        part = found.rows.iloc[tests["r=0.9"]]
        assert (part[name] == part[OUTCOME]).mean() > 0.85


def test_another_seed_gives_other_rows(table):
    one, same, other = (by_selection(table, 4, 0.6, seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one.train.X, same.train.X)
    assert not one.rows.equals(other.rows)


# --- groups ---


def test_groups_are_closed_on_the_left():
    groups = cut_into_groups(pd.Series([19, 20, 29, 30, 99, 100]), (20, 30, 100))
    assert groups.isna().tolist() == [True, False, False, False, False, True]
    assert groups.dropna().tolist() == ["[20,30)", "[20,30)", "[30,100)", "[30,100)"]


def test_the_training_group_keeps_a_third_for_its_own_error(table):
    groups = cut_into_groups(table.aside["age"], (20, 30, 40, 100))
    found = by_groups(table, groups, "[20,30)", False, seed=0)
    inside = set(np.flatnonzero(groups == "[20,30)"))
    held = set(found.tests["[20,30)"].tolist())
    assert list(found.tests) == ["[20,30)", "[30,40)", "[40,100)"]
    assert len(held) == len(inside) // 3
    assert set(found.train.X.index) == inside - held
    assert len(found.tests["[40,100)"]) == (groups == "[40,100)").sum()


def test_held_rates_are_those_of_the_whole_table_training_included(table):
    groups = cut_into_groups(table.aside["age"], (20, 30, 40, 100))
    found = by_groups(table, groups, "[20,30)", True, seed=0)
    rate = table.y.mean()
    assert found.train.y.mean() == pytest.approx(rate, abs=2e-3)
    for rows in found.tests.values():
        assert table.y[rows].mean() == pytest.approx(rate, abs=2e-3)


def test_small_groups_are_left_out(table):
    groups = pd.Series(np.where(table.aside["age"] == 15, "few", "many")).astype("category")
    assert list(by_groups(table, groups, "many", False, seed=0).tests) == ["many"]


@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_a_rate_is_met_by_leaving_rows_of_one_class_out(rate):
    y = np.repeat([0, 1], [300, 200])
    kept = at_rate(np.arange(500), y, rate, np.random.default_rng(0))
    assert len(set(kept)) == len(kept)
    assert y[kept].mean() == pytest.approx(rate, abs=2e-3)
    assert max((y[kept] == 0).sum() / 300, (y[kept] == 1).sum() / 200) == 1
