"""Biased selection of rows from a real table (paper, sections 6.2 and 6.3).

weight of a row = prod over the chosen features j of (r where x_j equals the target, else 1 - r)
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from stablepred._random import RandomState, numpy_generator, root_seed
from stablepred.exceptions import InputError
from stablepred.worlds.environment import Environment, FloatArray, as_numbers, check_rows
from stablepred.worlds.synthetic import check_rate


def biased_sample(
    frame: pd.DataFrame,
    outcome: str,
    features: str | Sequence[str],
    bias_rate: float,
    n: int,
    *,
    target: str | None = None,
    replace: bool = False,
    random_state: RandomState = None,
    name: str | None = None,
) -> Environment:
    """Select rows in which chosen features agree with the outcome, or with another column.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table of 0/1 columns, the outcome among them.
    outcome : str
        The column that becomes ``y``; all the others become ``X``.
    features : str or sequence of str
        The columns that selection acts on.
    bias_rate : float
        r in (0, 1). Above .5 the features are made to agree with the target, below to disagree.
    n : int
        Number of rows to select.
    target : str, optional
        The column to agree with, the outcome if not given.
    replace : bool
        With replacement, each of the n rows is drawn with probability proportional to its weight.
        Without, every row is selected independently with probability weight / largest weight, and
        n of the selected rows are taken at random.
    random_state : int, RandomState or None
        Seed of the selection.
    name : str, optional
        Name of the environment, ``"r=..."`` if not given.

    Returns
    -------
    Environment
        Rows keep their labels: ``frame.drop(index=environment.X.index)`` has those that are left.
        A table that cannot deliver n rows (see `deliverable_rows`) is refused.
    """
    rate, n = check_rate(bias_rate), check_rows(n)
    share = _relative_weights(frame, outcome, features, rate, target)
    rng = numpy_generator(root_seed(random_state), "biased_sample", n, rate)
    if replace:
        rows = rng.choice(len(share), size=n, p=share / share.sum())
    elif n > (available := int(share.sum() + 1e-9)):
        raise InputError(
            f"the table has {len(share)} rows, of which this selection leaves about {available}, "
            f"but n={n} were asked for. Take n <= {available}, fewer features, a bias_rate nearer "
            "to 0.5, or replace=True."
        )
    else:
        rows = np.empty(0, dtype=np.int64)
        while len(rows) < n:  # again only by chance, when n is close to what can be delivered
            rows = np.flatnonzero(rng.random(len(share)) < share)
        rows = rng.permutation(rows)[:n]
    chosen, label = frame.iloc[rows], f"r={rate:g}" if name is None else name
    return Environment(label, chosen.drop(columns=outcome), chosen[outcome].to_numpy())


def deliverable_rows(
    frame: pd.DataFrame,
    outcome: str,
    features: str | Sequence[str],
    bias_rate: float,
    *,
    target: str | None = None,
) -> int:
    """How many rows a biased sample without replacement can have: those expected to be selected.

    This is the sum of weight / largest weight; the parameters are those of `biased_sample`.
    """
    share = _relative_weights(frame, outcome, features, check_rate(bias_rate), target)
    return int(share.sum() + 1e-9)


def _relative_weights(
    frame: pd.DataFrame,
    outcome: str,
    features: str | Sequence[str],
    rate: float,
    target: str | None,
) -> FloatArray:
    chosen = [features] if isinstance(features, str) else list(features)
    goal = outcome if target is None else target
    if not isinstance(frame, pd.DataFrame) or len(frame) == 0:
        raise InputError("the table must be a pandas DataFrame with at least one row.")
    if repeated := frame.columns[frame.columns.duplicated()].unique().tolist():
        raise InputError(f"the table has repeated column names {repeated}; rename them.")
    if not chosen or len({outcome, goal, *chosen}) < len({outcome, goal}) + len(chosen):
        raise InputError(
            f"features must name at least one column, each once and neither {outcome!r} nor "
            f"{goal!r}, but are {chosen}."
        )
    named = dict.fromkeys([outcome, goal, *chosen])
    if missing := [c for c in named if c not in frame.columns]:
        raise InputError(f"the table lacks {missing}; its columns are {list(frame.columns)}.")
    for column in named:
        if as_numbers(frame[column], f"column {column!r}").dtype != np.int64:
            raise InputError(
                f"column {column!r} must be 0/1. Apply a Dichotomizer first, or recode the column."
            )
    agree = frame[chosen].to_numpy() == frame[[goal]].to_numpy()  # (n, number of features)
    count = agree.sum(axis=1)
    log_weight = count * np.log(rate) + (len(chosen) - count) * np.log1p(-rate)
    return np.asarray(np.exp(log_weight - log_weight.max()))
