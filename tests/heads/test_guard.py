"""The guard, case by case: when variables are left out, and when none are.

Evidence that was told the verdict stands in for the real one.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from stablepred import StableClassifier, StableRegressor
from stablepred.evidence.base import Scores

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")

ALL = "all variables"


@dataclass
class Told:
    """Evidence that knows which of the user's columns are stable, noisy, or neither."""

    stable: list
    noisy: list
    trust: float = 1.0
    name: str = "told"

    def __call__(self, sample, w):
        stable = np.isin(sample.origin.columns, self.stable)
        noisy = np.isin(sample.origin.columns, self.noisy)
        leaning = np.where(stable, 0.01, np.where(noisy, 0.99, 0.5))
        zeros = np.zeros(len(stable))
        return Scores(zeros, zeros + 1, zeros - 2, zeros + 2, stable, leaning, self.trust)


def make_rows(n=400, seed=0, copies=3, number=False):
    """Two causes, then copies of the outcome with errors."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2 + copies))
    score = 1.5 * x[:, 0] + x[:, 1] + rng.logistic(size=n)
    x[:, 2:] += 0.8 * np.sign(score)[:, None]
    return x, score if number else (score > 0).astype(int)


def decide(x, y, evidence, number=False, **options):
    if number:
        model = StableRegressor(LinearRegression(), evidence=[evidence], random_state=0)
    else:
        model = StableClassifier(LogisticRegression(), evidence=[evidence], random_state=0)
    return model.set_params(**options).fit(x, y)


def used(model):
    return np.flatnonzero(model.used_features_).tolist()


RIGHT = Told([0, 1], [2, 3, 4])


# --- variables are left out ---


@pytest.mark.parametrize("number", [False, True])
def test_noisy_variables_are_left_out_where_the_verdict_is_sure(number):
    model = decide(*make_rows(number=number), RIGHT, number)
    assert used(model) == [0, 1]
    table = model.decision_.candidates.set_index("candidate")
    assert table.loc[model.decision_.chosen, "expected"] == table["expected"].min()
    assert table.loc[ALL, "error"] == table["error"].min()  # in this environment all is better
    assert table.loc[ALL, "error_redrawn"] > table.loc[ALL, "error"]
    assert table.loc[model.decision_.chosen, "n_variables"] == 2


def test_the_expected_error_is_the_mean_of_both_readings():
    model = decide(*make_rows(), Told([0, 1], [2, 3, 4], trust=0.95))
    table = model.decision_.candidates
    expected = 0.05 * table["error"] + 0.95 * table["error_redrawn"]
    np.testing.assert_allclose(table["expected"], expected)


def test_undecided_variables_stay_unless_the_stable_alone_do_better():
    model = decide(*make_rows(copies=4), Told([0, 1], [2, 3]))
    table = model.decision_.candidates.set_index("candidate")
    assert table["n_variables"].tolist() == [6, 4, 2]
    assert model.decision_.chosen == table["expected"].idxmin()


def test_a_few_variables_that_say_all_the_rest_says_are_taken_back():
    """The outcome does not depend on the others given these: the verdict was wrong."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 7))
    y = (1.5 * x[:, 0] + 1.5 * x[:, 1] + rng.logistic(size=500) > 0).astype(int)
    model = decide(x, y, Told([0], [1, 2, 3, 4, 5, 6]))
    assert used(model) == [0, 1]
    assert model.decision_.chosen == "sufficient"


# --- nothing is left out ---


def test_a_verdict_of_low_trust_leaves_nothing_out():
    model = decide(*make_rows(), Told([0, 1], [2, 3, 4], trust=0.5))
    assert model.used_features_.all()
    assert model.decision_.chosen == ALL
    assert "0.50" in model.decision_.reason


def test_without_a_stable_variable_nothing_is_left_out():
    model = decide(*make_rows(), Told([], [2, 3, 4]))
    assert model.used_features_.all()
    assert "stable" in model.decision_.reason


def test_where_all_are_noisy_nothing_is_left_out():
    for guard in (True, False):
        model = decide(*make_rows(), Told([], [0, 1, 2, 3, 4]), guard=guard)
        assert model.used_features_.all()
        assert set(model.variables_["verdict"]) == {"noisy"}


def test_where_all_are_stable_all_are_used():
    for guard in (True, False):
        assert decide(*make_rows(), Told([0, 1, 2, 3, 4], []), guard=guard).used_features_.all()


@pytest.mark.parametrize("number", [False, True])
def test_where_all_variables_say_nothing_none_is_left_out(number):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 5))
    y = rng.normal(size=300) if number else rng.integers(0, 2, 300)
    model = decide(x, y, RIGHT, number)
    assert model.used_features_.all()
    assert "nothing" in model.decision_.reason


def test_a_candidate_no_better_than_a_constant_is_not_taken():
    x, y = make_rows(copies=4)
    x[:, 5] = np.random.default_rng(3).normal(size=len(x))
    model = decide(x, y, Told([5], [0, 1, 2, 3, 4]))
    table = model.decision_.candidates.set_index("candidate")
    assert table["expected"].idxmin() != ALL  # it would have been, by the expected error alone
    assert model.decision_.chosen == ALL
    assert model.used_features_.all()


def test_a_candidate_that_gives_up_most_of_what_all_variables_say_is_not_taken():
    x, y = make_rows(n=2000)
    x[:, 1] += np.random.default_rng(4).normal(size=len(x))
    model = decide(x, y, Told([1], [0, 2, 3, 4]))
    table = model.decision_.candidates.set_index("candidate")
    said = y.mean() * (1 - y.mean()) - table["error"] ** 2
    kept = said / said[ALL]
    assert table["expected"].idxmin() != ALL
    assert 0 < kept[table["expected"].idxmin()] < 1 / 3
    assert model.decision_.chosen == ALL
    assert "most of what all variables say" in model.decision_.reason


def test_with_a_single_row_of_a_class_nothing_is_held_out():
    x, _ = make_rows(n=60)
    model = decide(x, (np.arange(60) == 5).astype(int), RIGHT)
    assert model.used_features_.all()
    assert "too few rows" in model.decision_.reason


# --- without the guard ---


def test_without_the_guard_the_verdict_is_followed_whatever_its_price():
    x, y = make_rows(copies=4)
    model = decide(x, y, Told([5], [0, 1]), guard=False)
    assert used(model) == [2, 3, 4, 5]  # the undecided stay
    low = decide(x, y, Told([5], [0, 1, 2, 3, 4], trust=0.5), guard=False)
    assert low.used_features_.all()  # then none is called noisy


# --- small tables ---


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_one_variable_is_used(estimator):
    x, y = make_rows(n=80)
    model = StableClassifier(estimator, random_state=0).fit(x[:, :1], y)
    assert model.used_features_.all()
    assert model.score(x[:, :1], y) > 0.6
    judged = decide(x[:, :1], y, Told([], [0]))
    assert judged.used_features_.all()


@pytest.mark.parametrize("number", [False, True])
def test_thirty_rows_are_enough_for_an_answer(number):
    x, y = make_rows(n=30, number=number)
    kind = StableRegressor if number else StableClassifier
    model = kind(random_state=0).fit(x, y)
    assert np.isfinite(model.predict(x)).all()
    assert np.isfinite(model.decision_.candidates["error"]).all()


def test_two_rows_of_a_class_make_two_folds():
    x, _ = make_rows(n=60)
    y = np.isin(np.arange(60), [3, 40]).astype(int)
    model = StableClassifier(random_state=0).fit(x, y)
    assert np.isfinite(model.predict_proba(x)).all()


def test_errors_of_a_number_are_in_its_unit():
    x, y = make_rows(number=True)
    one, other = (decide(x, y * unit, RIGHT, True).decision_.candidates for unit in (1.0, 1000.0))
    pd.testing.assert_series_equal(1000 * one["error"], other["error"], rtol=1e-6)
