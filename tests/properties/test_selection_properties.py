"""What holds for any biased sample of any 0/1 table."""

import numpy as np
import pandas as pd
import pytest
from generated import BITS, RATES, matrices
from hypothesis import given
from hypothesis import strategies as st

from stablepred.data import SyntheticWorld, biased_sample
from stablepred.exceptions import InputError
from stablepred.worlds.selection import deliverable_rows


@st.composite
def tables(draw):
    """A 0/1 table with labels on its rows, and the features that selection acts on."""
    x = draw(matrices(BITS, rows=(1, 30), columns=(2, 5)))
    names = [f"x{j}" for j in range(x.shape[1] - 1)]
    labels = draw(st.permutations(range(len(x))))
    frame = pd.DataFrame(x, columns=[*names, "y"], index=labels)
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    return frame, chosen


@given(tables(), RATES, st.booleans(), st.integers(0, 1000), st.data())
def test_a_sample_has_the_rows_asked_for_as_they_were(table, rate, replace, seed, data):
    frame, chosen = table
    most = len(frame) if replace else deliverable_rows(frame, "y", chosen, rate)
    n = data.draw(st.integers(1, max(1, most)))
    if n > most:
        with pytest.raises(InputError, match="were asked for"):
            biased_sample(frame, "y", chosen, rate, n, random_state=seed)
        return
    sample = biased_sample(frame, "y", chosen, rate, n, replace=replace, random_state=seed)
    assert len(sample) == n
    origin = frame.loc[sample.X.index]
    np.testing.assert_array_equal(sample.X, origin.drop(columns="y"))
    np.testing.assert_array_equal(sample.y, origin["y"])
    if not replace:
        assert sample.X.index.is_unique


@given(tables(), RATES)
def test_no_more_rows_than_there_are_can_be_delivered(table, rate):
    frame, chosen = table
    assert 1 <= deliverable_rows(frame, "y", chosen, rate) <= len(frame)
    assert deliverable_rows(frame, "y", chosen, 0.5) == len(frame)


@given(tables(), RATES)
def test_agreeing_at_r_is_disagreeing_at_one_minus_r(table, rate):
    frame, chosen = table
    flipped = frame.assign(y=1 - frame["y"])
    one = deliverable_rows(frame, "y", chosen, rate)
    other = deliverable_rows(flipped, "y", chosen, 1 - rate)
    assert abs(one - other) <= 1  # 1 - r is rounded, and the number of rows is cut to a whole one


@given(tables(), RATES, st.integers(0, 1000))
def test_the_same_seed_gives_the_same_rows(table, rate, seed):
    frame, chosen = table
    one, other = (
        biased_sample(frame, "y", chosen, rate, 5, replace=True, random_state=seed)
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(one.X, other.X)


@given(
    tables(),
    st.floats() | st.none() | st.text(max_size=2),
    st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.sampled_from(["x0", "x1", "y", "z"]), max_size=3),
)
def test_whatever_is_asked_for_is_delivered_or_refused(table, rate, n, chosen):
    frame, _ = table
    try:
        sample = biased_sample(frame, "y", chosen, rate, n, random_state=0)
    except InputError:
        return
    assert len(sample) == n


@given(
    st.sampled_from(["s_indep_v", "s_to_v", "v_to_s"]),
    st.integers(8, 24),
    st.integers(1, 40),
    st.floats(0.05, 0.95),
    st.integers(0, 100),
)
def test_a_world_delivers_any_number_of_rows(setting, n_features, n, rate, seed):
    try:
        world = SyntheticWorld(setting, n_features)
    except InputError:
        return  # not every number of features has whole shares
    sample = world.sample(n, bias_rate=rate, random_state=seed)
    assert sample.X.shape == (n, n_features)
    assert sample.X.isin([0, 1]).all(axis=None)
    probability = world.probability(sample.X)
    assert ((probability >= 0) & (probability <= 1)).all()
    pd.testing.assert_frame_equal(sample.X, world.sample(n, bias_rate=rate, random_state=seed).X)
