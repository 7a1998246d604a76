"""What holds for the search's scores, environments and ranks, whatever the data."""

import numpy as np
import pandas as pd
import pytest
from generated import BITS, RATES, labelled
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LogisticRegression

from stablepred.exceptions import InputError
from stablepred.search import StableSearchCV
from stablepred.validation.candidates import EnvironmentScorer
from stablepred.validation.environments import (
    CRITERIA,
    KINDS,
    LEAST_SHARE,
    criterion_value,
    is_constant,
    resampling_weights,
    validation_environments,
)
from stablepred.validation.folds import Rows, select_noisy, split

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
ERRORS = arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(2, 6)), elements=st.floats(0, 1)
)


@given(ERRORS, st.sampled_from(CRITERIA), st.floats(0, 10), st.data())
def test_a_criterion_lies_between_average_and_bound_in_any_order(errors, criterion, weight, data):
    value = criterion_value(errors, criterion, weight)
    assert value.shape == (len(errors),)
    assert (value >= errors.mean(axis=1) - 1e-12).all()
    assert (value <= (1 + weight) * max(1.0, errors.max(initial=0.0))).all()
    order = data.draw(st.permutations(range(errors.shape[1])))
    np.testing.assert_allclose(criterion_value(errors[:, order], criterion, weight), value)


@given(labelled(BITS), st.floats(0, 1))
def test_one_probability_for_all_rows_is_constant(table, probability):
    _, y, _ = table
    assert is_constant(np.full(len(y), probability), y.astype(float))


@given(labelled(BITS, rows=(4, 30)), RATES)
def test_resampling_keeps_the_classes_and_enough_rows(table, rate):
    x, y, count = table
    w = resampling_weights(x, y.astype(float), rate, count)
    assert np.isfinite(w).all()
    assert (w >= 0).all()
    for value in (0, 1):
        rows = y == value
        assert count[rows] @ w[rows] == pytest.approx(count[rows].sum(), rel=1e-9)
    share = (count @ w) ** 2 / (count.sum() * (count @ w**2))
    assert share >= LEAST_SHARE - 1e-6


@given(labelled(BITS, rows=(4, 30)), RATES, st.data())
def test_resampling_depends_on_no_order_of_the_rows(table, rate, data):
    x, y, count = table
    order = data.draw(st.permutations(range(len(y))))
    one = resampling_weights(x, y.astype(float), rate, count)
    other = resampling_weights(x[order], y[order].astype(float), rate, count[order])
    np.testing.assert_allclose(other, one[order], rtol=1e-6, atol=1e-9)


@given(labelled(BITS), st.sampled_from(KINDS), st.lists(RATES, min_size=1, max_size=4), st.data())
def test_environments_change_the_noisy_columns_alone(table, kind, rates, data):
    x, y, count = table
    noisy = np.array(data.draw(st.lists(st.booleans(), min_size=x.shape[1], max_size=x.shape[1])))
    before = x.copy()
    made = list(
        validation_environments(
            kind,
            x,
            y.astype(float),
            noisy,
            np.random.default_rng(0),
            sample_weight=count,
            rates=rates,
        )
    )
    assert len(made) == len(rates)
    np.testing.assert_array_equal(x, before)
    for changed, weight in made:
        assert np.isin(changed, (0, 1)).all()
        np.testing.assert_array_equal(changed[:, ~noisy], x[:, ~noisy])
        assert np.isfinite(weight).all()
        assert (weight >= 0).all()
        assert weight.sum() == pytest.approx(count.sum(), rel=1e-9)


@st.composite
def scored(draw):
    """scikit-learn's table of what two folds gave for some candidates; some failed."""
    n, names = draw(st.integers(1, 6)), [f"r={k}" for k in range(draw(st.integers(2, 4)))]

    def column(elements):
        return draw(arrays(np.float64, n, elements=elements))

    failed = column(st.sampled_from([1.0, 1.0, np.nan]))
    results = {"params": [{"C": k} for k in range(n)]}
    results["mean_test_constant"] = column(st.sampled_from([0.0, 0.0, 0.5, 1.0])) * failed
    for k in range(2):
        results[f"split{k}_test_share"] = column(st.floats(0.001, 1) | st.just(np.nan))
    for name in names:
        results[f"mean_test_squares {name}"] = column(st.floats(0, 5)) * failed
        results[f"mean_test_weight {name}"] = np.full(n, 5.0) * failed
    return names, results, np.isnan(failed)


@given(scored(), st.floats(0, 1), st.sampled_from(CRITERIA))
def test_ranks_are_complete_and_marked_candidates_come_last(made, constant_error, criterion):
    names, results, failed = made
    scorer = EnvironmentScorer(names, [None, None], np.ones(3), constant_error, criterion)
    if failed.all():
        with pytest.raises(InputError, match="no candidate"):
            scorer.summarize(results)
        return
    table = scorer.summarize(results)
    ranks = table["rank_test_score"]
    assert sorted(ranks) == list(range(1, len(failed) + 1))
    np.testing.assert_array_equal(table["failed"], failed)
    marked = table["uninformative"] | table["collapsed"] | table["constant"] | failed
    if (~marked).any():
        assert ranks[~marked].max() == (~marked).sum()
        best = int(np.argmin(ranks))
        assert table["criterion"][best] == table["criterion"][~marked].min()
    if failed.any():
        assert ranks[failed].min() > ranks[~failed].max()
    smaller = np.fmin(results["split0_test_share"], results["split1_test_share"])
    np.testing.assert_array_equal(table["effective_share"], smaller)


@given(labelled(BITS, rows=(4, 20)), st.integers(2, 5), st.integers(0, 100))
def test_folds_hold_every_row_out_once(table, n_folds, seed):
    x, y, _ = table
    rows = Rows(x, y, y.astype(float), y.astype(float))
    try:
        splits = list(split(rows, n_folds, seed))
    except InputError:
        assert min(y.sum(), (1 - y).sum()) < 2
        return
    held = np.concatenate([test for _, test in splits])
    np.testing.assert_array_equal(np.sort(held), np.arange(len(y)))
    for train, test in splits:
        assert not set(train) & set(test)
        assert set(y[train]) == {0, 1}


NAMES = ["a", "b", "c"]
ITEMS = st.sampled_from([*NAMES, "d", 0, 2, 3, -1, True, False, None, 0.5])


@given(st.lists(ITEMS, max_size=4) | st.sampled_from(["a", "d", ""]))
def test_noisy_features_are_named_or_refused(chosen):
    try:
        mask = select_noisy(chosen, pd.DataFrame(np.eye(3), columns=NAMES))
    except InputError:
        return
    assert mask.dtype == bool
    assert mask.shape == (3,)
    assert mask.any()


@given(
    labelled(BITS, rows=(8, 16), columns=(1, 3)),
    st.sampled_from(KINDS),
    st.sampled_from(CRITERIA),
    st.integers(0, 20),
)
def test_a_search_chooses_one_of_its_candidates(table, kind, criterion, seed):
    x, y, weight = table
    y[1], y[-2] = 0, 1
    search = StableSearchCV(
        LogisticRegression(),
        {"C": [0.1, 10.0]},
        validation=kind,
        criterion=criterion,
        noisy_features=[0],
        cv=2,
        random_state=seed,
    ).fit(x, y, sample_weight=weight)
    assert search.best_params_["C"] in (0.1, 10.0)
    probability = search.predict_proba(x)
    assert ((probability >= 0) & (probability <= 1)).all()
    assert set(search.predict(x)) <= {0, 1}
