"""Why a model loses between two tables: because X moved, or because Y given X changed.

DISDE (Cai, Namkoong and Yadlowsky 2023). With P the first table, Q the second, R_P(x) and R_Q(x)
the expected losses at x, and S the distribution they share, of density p q / (p + q):

    E_Q[R_Q] - E_P[R_P]  =  (E_S[R_P] - E_P[R_P])      X moves, from P to S
                          +  E_S[R_Q - R_P]            Y given X changes, where both have rows
                          + (E_Q[R_Q] - E_S[R_Q])      X moves, from S to Q

With pi(x) the probability that a row at x is from Q, both tables weighing the same, rows of P are
weighted by pi and rows of Q by 1 - pi: no model of the loss is needed, and no weight is above 1.

pi is cross-fitted by two classifiers, of which the better one is used. A logistic regression on its
log-odds and on the model's predictions has the last word: its weights balance these exactly, so
that errors of the classifier hardly matter.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logit
from scipy.stats import chi2
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict

from stablepred._random import RandomState, child_seed, numpy_generator, root_seed
from stablepred._text import join_words, label, number, percent, signed
from stablepred.evaluation.metrics import LOSSES, check_interval, percentiles
from stablepred.evaluation.predictions import (
    FloatArray,
    Table,
    check_columns,
    check_outcome,
    predict_outcomes,
    read_table,
)
from stablepred.evaluation.references import Folds, fit_linear, make_folds
from stablepred.exceptions import InputError, TableWarning
from stablepred.html.fragments import Report, first_lines, table
from stablepred.tables.encoder import TableEncoder

X_MOVES, Y_CHANGES, TOTAL = "X moves", "Y given X changes", "total"
TO_SHARED, FROM_SHARED = "from the first table to what both share", "from there to the second"
FOLDS = 5
LEAST_ROWS = 20
LEAST_SHARED = 0.2  # below this share of rows that both tables have, the split rests on few rows


@dataclass(frozen=True, repr=False)
class DropReport(Report):
    """How the loss between two tables splits, and which variables take part.

    ``parts`` has the ``loss`` with its interval ``low`` ... ``high``, and its ``share`` of the
    total: X moves (and its two steps), Y given X changes, total. ``variables`` has one row per
    column of X: ``moved`` (how well the column alone tells the tables apart, 0 to 1), ``x_loss``
    (the part of X where only this column is known to move), ``relation`` (how far the slope of what
    the model leaves unexplained on this column differs between the tables, in units of the outcome)
    and its ``p_value``.
    """

    parts: pd.DataFrame
    variables: pd.DataFrame
    losses: tuple[float, float]  # mean loss in the first and in the second table
    shared: float  # share of the rows in what both tables have: 1 if X is distributed alike
    names: tuple[str, str]
    error: str
    level: float

    @property
    def verdict(self) -> str:
        """One sentence on what the loss comes from, and one for each reason for doubt."""
        total, x, y = (self.parts.T[part] for part in (TOTAL, X_MOVES, Y_CHANGES))
        (first, second), (before, after) = map(label, self.names), map(number, self.losses)
        verb = "rises" if total["loss"] > 0 else "falls"
        if _is_chance(total):
            verb = "changes by no more than chance"
        text = f"The loss {verb}, from {before} in {first} to {after} in {second}: "
        text += f"{_describe(x)}; {_describe(y)}."
        if self.shared < LEAST_SHARED:
            text += f" The tables share only {percent(self.shared)} of their rows: a split of few."
        # The variables behind each part that is more than chance.
        frame = self.variables
        through = (frame["x_loss"] * np.sign(x["loss"])).nlargest(3)
        through = through[through > 0.1 * abs(x["loss"])]
        sure = frame[frame["p_value"] * len(frame) < 1 - self.level].nlargest(3, "relation")
        for part, verb, those in (
            (x, "X moves mostly in", through),
            (y, "Y changes mostly with", sure),
        ):
            if len(those) and not _is_chance(part):
                text += f" {verb} {join_words([label(name) for name in those.index])}."
        return text

    def to_frame(self) -> pd.DataFrame:
        """The parts, as a table."""
        return self.parts.copy()

    def __str__(self) -> str:
        parts = self.parts.round(4).assign(share=self.parts["share"].map(percent))
        order = self.variables.sort_values("moved", ascending=False, kind="stable")
        lines = [
            f"{self.verdict}\n",
            f"Mean loss ({self.error}), with {percent(self.level)} intervals over rows",
            f"{parts.to_string()}\n",
            *first_lines(order),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return table(self.parts, self.verdict) + table(self.variables, "Variables")


def _is_chance(part: pd.Series) -> bool:
    return bool(part["low"] <= 0 <= part["high"])


def _describe(part: pd.Series) -> str:
    ends = f"interval {signed(part['low'])} to {signed(part['high'])}"
    share = "no more than chance" if _is_chance(part) else f"{percent(part['share'])} of it"
    return f"{signed(part['loss'])} because {part.name} ({share}, {ends})"


def explain_drop(
    model: Any,
    a: Table | tuple[Any, Any],
    b: Table | tuple[Any, Any],
    *,
    error: str = "rmse",
    level: float = 0.95,
    n_bootstrap: int = 200,
    random_state: RandomState = 0,
) -> DropReport:
    """Split a model's loss between two tables into X moving and Y given X changing.

    Parameters
    ----------
    model : object
        A fitted model, as in `environment_errors`.
    a, b : Environment or tuple (X, y)
        Rows like those of training, but not the training rows themselves, and rows on which the
        model does worse; columns of any kind.
    error : {"rmse", "brier", "log_loss", "zero_one"}
        The mean loss that is split; of RMSE the mean squared error.
    level, n_bootstrap, random_state : float, int, seed
        Of the bootstrap intervals over the rows of both tables.

    Returns
    -------
    DropReport
        Prints as a sentence and tables: ``parts`` and ``variables``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from stablepred import explain_drop
    >>> from stablepred.data import SyntheticWorld
    >>> world = SyntheticWorld("s_indep_v")
    >>> a, b = (world.sample(2000, bias_rate=r, random_state=0) for r in (0.75, 0.2))
    >>> model = LogisticRegression().fit(a.X, a.y)
    >>> report = explain_drop(model, a, b)
    >>> float(report.parts["share"]["Y given X changes"].round(1))
    1.1
    """
    check_interval(level, n_bootstrap)
    if error not in LOSSES:
        raise InputError(f"error must be one of {list(LOSSES)}, but is {error!r}.")
    seed = root_seed(random_state)
    tables = [check_outcome(read_table(t, n), model) for t, n in ((a, "a"), (b, "b"))]
    if len(few := min(tables, key=len)) < LEAST_ROWS:
        raise InputError(
            f"table {few.name!r} has {len(few)} rows, and nothing can be said of what moved with "
            f"fewer than {LEAST_ROWS}."
        )
    check_columns(tables[1], tables[0].X.columns, f"table {tables[0].name!r}")
    f = np.concatenate([predict_outcomes(model, [t])[t.name] for t in tables])
    y = np.concatenate([t.y for t in tables]).astype(np.float64)
    second = np.repeat([0, 1], [len(t) for t in tables])
    losses = LOSSES[error](y, f)
    whole = pd.concat([t.X for t in tables], ignore_index=True)
    variables = {str(name): encode_variable(whole[name]) for name in whole.columns}
    design = np.column_stack([f, f**2, *variables.values()])
    score = score_tables(design, second, make_folds(second, 2, FOLDS, child_seed(seed, "drop")))
    columns = [(c - c.mean()) / c.std() for c in (score, score**2, f, f**2) if c.std() > 1e-9]
    basis = np.column_stack([np.zeros(len(f)), *columns])  # a column, even if nothing varies
    every = np.ones(len(second))
    w = shared_weights(basis, second, every)
    parts = _parts(losses, second, w, every)
    draws, rng = [], numpy_generator(seed, "drop", "rows")
    own = [np.flatnonzero(second == k) for k in (0, 1)]
    for _ in range(n_bootstrap):  # rows drawn again within each table
        rows = np.concatenate([rng.choice(t, len(t)) for t in own])
        count = np.bincount(rows, minlength=len(second)).astype(np.float64)
        draws.append(_parts(losses, second, shared_weights(basis, second, count), count))
    low, high = percentiles(np.array(draws), level)
    described = [_describe_variable(z, losses, y - f, second, w) for z in variables.values()]
    return DropReport(
        parts=pd.DataFrame(
            {"loss": parts, "low": low, "high": high, "share": parts / (parts[-1] or np.nan)},
            index=[X_MOVES, TO_SHARED, FROM_SHARED, Y_CHANGES, TOTAL],
        ),
        variables=pd.DataFrame(
            described, list(variables), ["moved", "x_loss", "relation", "p_value"]
        ),
        losses=(float(losses[second == 0].mean()), float(losses[second == 1].mean())),
        shared=float(2 * np.mean([w[second == k].mean() for k in (0, 1)])),
        names=(tables[0].name, tables[1].name),
        error="mean squared error" if error == "rmse" else error,
        level=level,
    )


def _parts(losses: FloatArray, second: Any, w: FloatArray, count: FloatArray) -> FloatArray:
    tables = [count * (second == k) for k in (0, 1)]
    before, after = (t @ losses / t.sum() for t in tables)
    shared_before, shared_after = ((t * w) @ losses / (t @ w) for t in tables)
    steps = shared_before - before, after - shared_after
    return np.array([sum(steps), *steps, shared_after - shared_before, after - before])


# --- what two tables share ---


def encode_variable(column: pd.Series) -> FloatArray:
    """A variable as columns: standardised with its square, or one column per category.

    There are none where the variable is constant, or an id.
    """
    if pd.api.types.is_numeric_dtype(column):
        x = column.to_numpy(dtype=np.float64, na_value=np.nan)
        missing = ~np.isfinite(x)
        x = np.where(missing, np.median(x[~missing]) if not missing.all() else 0.0, x)
        encoded = np.column_stack([x, missing])
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)
            try:
                features = TableEncoder().fit_transform(column.to_frame("x"))
            except InputError:
                return np.empty((len(column), 0))
        encoded = features.to_numpy(dtype=np.float64)
    encoded = encoded[:, encoded.std(axis=0) > 0]
    z = np.clip((encoded - encoded.mean(axis=0)) / encoded.std(axis=0), -5, 5)
    squared = [c**2 for c in z.T if len(np.unique(c)) > 2]  # so that variances can move, too
    return np.column_stack([z, *squared])


def score_tables(design: FloatArray, second: Any, folds: Folds) -> FloatArray:
    """Cross-fitted log-odds that a row is of the second table: the better of two classifiers."""
    mass = 1 / np.bincount(second)[second]
    linear = fit_linear(design, second, mass, 2, folds).held_out
    assert linear is not None
    model = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=6, l2_regularization=5, random_state=0
    )
    weight = {"sample_weight": mass * len(second) / 2}
    boosted = cross_val_predict(
        model, design, second, cv=folds, method="predict_proba", params=weight
    )
    candidates = [np.clip(p[:, 1], 1e-6, 1 - 1e-6) for p in (linear, boosted)]
    return logit(min(candidates, key=lambda p: log_loss(second, p, sample_weight=mass)))


def shared_weights(basis: FloatArray, second: Any, count: FloatArray) -> FloatArray:
    """Weights of the rows under which both tables have the distribution that they share.

    At the optimum of a logistic regression on the basis, the weighted tables have the same means
    of each of its columns.
    """
    mass = count / np.bincount(second, weights=count)[second] * len(second) / 2
    model = LogisticRegression(C=1e6, solver="newton-cholesky", tol=1e-10)
    p = model.fit(basis, second, sample_weight=mass).predict_proba(basis)[:, 1]
    return np.where(second == 1, 1 - p, p)


# --- one variable ---


def _describe_variable(
    z: FloatArray, losses: FloatArray, residual: FloatArray, second: Any, w: FloatArray
) -> tuple[float, ...]:
    """How a variable moved, what that costs, and how its tie to the outcome changed.

    The last two: the root-mean-square difference of the fitted values of weighted regressions of
    the residual in both tables, and the p-value of Wald's test with robust (sandwich) variances.
    """
    if not z.shape[1]:
        return 0.0, 0.0, 0.0, 1.0
    mass = 1 / np.bincount(second)[second]
    p = fit_linear(z, second, mass, 2, penalty=1e-4).model.predict_proba(z)[:, 1]
    alone = np.where(second == 1, 1 - p, p)
    moved = float(p[second == 1].mean() - p[second == 0].mean())
    x_loss = float(_parts(losses, second, alone, np.ones(len(second)))[0])
    centre = (w @ z) / w.sum()
    slopes, variances = [], []
    for k in (0, 1):
        at = second == k
        x = np.column_stack([np.ones(at.sum()), z[at] - centre])
        bread = np.linalg.pinv((x * w[at, None]).T @ x)
        slope = bread @ (x.T @ (w[at] * residual[at]))
        scores = x * (w[at] * (residual[at] - x @ slope))[:, None]
        slopes.append(slope[1:])
        variances.append((bread @ (scores.T @ scores) @ bread)[1:, 1:])
    change, total = slopes[1] - slopes[0], np.linalg.pinv(variances[0] + variances[1])
    distance = float(np.sqrt(np.average(((z - centre) @ change) ** 2, weights=w)))
    p_value = float(chi2.sf(change @ total @ change, np.linalg.matrix_rank(total)))
    return moved, x_loss, distance, p_value
