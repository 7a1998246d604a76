"""Environments made from one real table: biased selection, or groups of rows (paper, 6.3).

Rows are named by their index in the table, so that every method is asked once for its prediction
of each row and an environment is a list of rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from stablepred._random import child_seed, numpy_generator
from stablepred.worlds.environment import Environment
from stablepred.worlds.selection import biased_sample, deliverable_rows
from studies.real.features import OUTCOME, BinaryTable

IntArray = NDArray[np.int64]

TEST_RATES = tuple(round(0.1 * k, 1) for k in range(1, 10))
MOST_ALIKE = 0.5  # correlation above which two noisy features would count one selection twice
LEAST_ROWS = 500  # smaller groups are left out
HELD_OUT = 1 / 3


@dataclass(frozen=True, eq=False)
class Situation:
    """Where the methods are trained, and the rows of every test environment.

    Attributes
    ----------
    train : Environment
        One environment, the only one that a method sees.
    rows : DataFrame
        All test rows, features and outcome.
    tests : mapping from name to row indices of ``rows``
        The test environments; of groups the one that was trained in comes first.
    noisy : mapping from feature to p-value
        The features that selection acts on, with the chi-square test of their association with
        the outcome before selection.
    one_by_one : mapping from feature to test environments
        Environments by selection on one other feature at a time.
    """

    train: Environment
    rows: pd.DataFrame
    tests: Mapping[str, IntArray]
    noisy: Mapping[str, float] = field(default_factory=dict)
    one_by_one: Mapping[str, Mapping[str, IntArray]] = field(default_factory=dict)


# --- biased selection ---------------------------------------------------------------------------


def by_selection(table: BinaryTable, n_noisy: int, train_rate: float, seed: int) -> Situation:
    """Half of the rows for training at one bias rate, the other half for testing at all.

    The noisy features are chosen on the training half. Then every other feature is biased on its
    own, in the test half.
    """
    order = numpy_generator(seed, "halves").permutation(len(table.rows))
    middle = len(order) // 2
    part = table.rows.iloc[order[:middle]].reset_index(drop=True)
    rest = table.rows.iloc[order[middle:]].reset_index(drop=True)
    noisy = unassociated_features(part, n_noisy)
    n = deliverable_rows(part, OUTCOME, list(noisy), train_rate)
    train = biased_sample(
        part, OUTCOME, list(noisy), train_rate, n, random_state=child_seed(seed, "train")
    )
    others = [name for name in table.features if name not in noisy]
    return Situation(
        train,
        rest,
        _selected_rows(rest, list(noisy), seed),
        noisy,
        {name: _selected_rows(rest, [name], seed) for name in others},
    )


def unassociated_features(frame: pd.DataFrame, count: int) -> dict[str, float]:
    """Features with the least association with the outcome, by the chi-square test.

    One that repeats a feature already chosen (correlation over .5) is passed over: selection on
    both would be one selection at a higher rate.
    """
    outcome = frame[OUTCOME]
    names = [name for name in frame.columns if name != OUTCOME]
    tests = {name: chi2_contingency(pd.crosstab(frame[name], outcome), False) for name in names}
    alike = frame[names].corr().abs()
    chosen: dict[str, float] = {}
    for name in sorted(names, key=lambda name: float(tests[name].statistic)):
        if len(chosen) < count and not (alike.loc[name, list(chosen)] > MOST_ALIKE).any():
            chosen[str(name)] = float(tests[name].pvalue)
    return chosen


def _selected_rows(frame: pd.DataFrame, features: list[str], seed: int) -> dict[str, IntArray]:
    """As many rows as selection on the features leaves, at every rate."""
    narrow = frame[[*features, OUTCOME]]
    rows = {}
    for rate in TEST_RATES:
        n = deliverable_rows(narrow, OUTCOME, features, rate)
        sample = biased_sample(
            narrow, OUTCOME, features, rate, n, random_state=child_seed(seed, *features)
        )
        rows[sample.name] = sample.X.index.to_numpy()
    return rows


# --- groups of rows -----------------------------------------------------------------------------


def by_groups(
    table: BinaryTable, groups: pd.Series, train_group: str, fix_rate: bool, seed: int
) -> Situation:
    """Train in one group, test in its held-out third and in all other groups.

    With ``fix_rate`` every part, the training rows among them, is thinned until P(Y) is that of
    the whole table.
    """
    rng = numpy_generator(seed, "groups")
    rows_of = {str(name): np.flatnonzero(groups == name) for name in groups.cat.categories}
    shuffled = rng.permutation(rows_of[train_group])
    held = int(len(shuffled) * HELD_OUT)
    parts = {train_group: shuffled[:held]}
    parts |= {
        name: rows
        for name, rows in rows_of.items()
        if name != train_group and len(rows) >= LEAST_ROWS
    }
    inside = shuffled[held:]
    if fix_rate:
        rate = float(table.y.mean())
        inside = at_rate(inside, table.y, rate, rng)
        parts = {name: at_rate(rows, table.y, rate, rng) for name, rows in parts.items()}
    chosen = table.rows.iloc[inside]
    train = Environment(train_group, chosen.drop(columns=OUTCOME), chosen[OUTCOME].to_numpy())
    return Situation(train, table.rows, parts)


def at_rate(rows: IntArray, y: IntArray, rate: float, rng: np.random.Generator) -> IntArray:
    """The rows without some of one class, so that the share of ones is ``rate``."""
    ones, zeros = rows[y[rows] == 1], rows[y[rows] == 0]
    n_ones = min(len(ones), round(len(zeros) * rate / (1 - rate)))
    n_zeros = min(len(zeros), round(len(ones) * (1 - rate) / rate))
    kept = np.concatenate(
        [rng.choice(ones, n_ones, replace=False), rng.choice(zeros, n_zeros, replace=False)]
    )
    return np.sort(kept)


def cut_into_groups(column: pd.Series, bounds: Sequence[float]) -> pd.Series:
    """Intervals closed on the left, named "[20,30)"; values outside belong to no group."""
    labels = [f"[{low:g},{high:g})" for low, high in pairwise(bounds)]
    return pd.cut(column, list(bounds), right=False, labels=labels)
