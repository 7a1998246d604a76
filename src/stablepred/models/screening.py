"""The screen: table, sample, evidence, verdict, decision. What ``Stable*`` share."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_consistent_length,
    column_or_1d,
)

from stablepred._parameters import NO_SPLITS
from stablepred._text import label
from stablepred._validation import (
    BoolArray,
    FloatArray,
    check_distinct_names,
    check_row_count,
    check_sample_weight,
    check_two_classes,
    read_labels,
    validate,
    warn_user,
)
from stablepred.core.loop import Settings
from stablepred.core.objective import Strengths
from stablepred.core.resources import threads_for
from stablepred.core.ridge import fit_ridge
from stablepred.core.sequential import learn_weights, start_solution
from stablepred.evidence.effect import EffectOfVariables, WeightedEffect
from stablepred.evidence.explaining_away import MOST_WORK
from stablepred.evidence.verdict import Verdict, judge, judge_classes, make_evidence
from stablepred.exceptions import InputError, StablepredWarning
from stablepred.heads.default import fit_base, fit_linear
from stablepred.heads.folds import (
    DECISIVE,
    MOST_COMPARED,
    Folds,
    draw_rows,
    folds_of_shares,
    make_folds,
)
from stablepred.heads.guard import Choice, Fit, Guard
from stablepred.heads.wrapped import fit_wrapped
from stablepred.models.checkpoints import fit_progress
from stablepred.models.entry import choose_device, draw_seed
from stablepred.models.standardizer import CLIP
from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY
from stablepred.outcomes.gaussian import GAUSSIAN
from stablepred.outcomes.multinomial import MULTINOMIAL
from stablepred.sample import Sample, count_rows, make_sample
from stablepred.tables.encoder import TableEncoder, as_frame, name_columns
from stablepred.tables.learning import distinct_values, moments
from stablepred.tables.messages import listed
from stablepred.tables.target import MOST_CLASSES
from stablepred.weights.raw import RawBalance

VERDICTS = ("noisy", "undecided", "stable", "constant", "left out")

# Of the weights under which effects are measured.
SETTINGS = Settings(
    Strengths(1.0, weight_l2=0.01, weight_sum=1.0), least_share=0.1, max_iter=50, tol=1e-2
)


@dataclass(frozen=True, eq=False)
class Rows:
    """The user's rows, encoded. ``groups`` is the variable of each column of ``x``."""

    table: Any
    x: FloatArray
    y: Any
    weight: FloatArray
    present: BoolArray  # the rows of positive weight
    groups: np.ndarray
    environment: np.ndarray | None
    cluster: np.ndarray | None
    environments: list[str]  # their names, in order


@dataclass(frozen=True, eq=False)
class Target:
    """The outcome as numbers, and what kind it is."""

    outcome: Any
    values: FloatArray
    mean: float = 0.0
    scale: float = 1.0


# --- reading ---


def read_rows(
    model: Any, X: Any, y: Any, sample_weight: Any, environment: Any = None, groups: Any = None
) -> Rows:
    """Fit the encoder of ``model`` on the rows that are present, and encode all of them."""
    if y is None:
        raise InputError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
        )
    labels = column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    weight = check_sample_weight(sample_weight, np.empty((len(labels), 1)))
    present = weight > 0
    check_row_count(int(present.sum()))
    X, *marks = (_fill_absent(given, present) for given in (X, environment, groups))
    table = read_features(model, X, reset=True)
    with reword_advice():
        model.encoder_ = encoder = TableEncoder().fit(table, sample_weight=weight)
    (codes, environments), (cluster, _) = (
        (None, []) if mark is None else read_labels(mark, name, len(labels))
        for mark, name in zip(marks, ("environment", "groups"), strict=True)
    )
    if len(environments) == 1:
        warn_user(
            f"every row has the same environment, {environments[0]!r}: nothing can be learned from "
            "it. Pass the labels of two or more, or none.",
            StablepredWarning,
        )
    names = list(encoder.variables_)
    own = np.array([names.index(column.name) for column in encoder.columns_])[encoder.groups_]
    x, _ = encoder.encode_array(table)
    return Rows(table, x, labels, weight, present, own, codes, cluster, environments)


def _fill_absent(rows: Any, present: BoolArray) -> Any:
    """Rows or their labels, with those of weight 0 as the first one that is present.

    What they hold, be it infinity or nothing, is of no matter. Labels of another length are left
    for their own check.
    """
    if present.all() or np.shape(rows)[:1] != present.shape:
        return rows
    rows = rows.to_pandas() if hasattr(rows, "to_pandas") else rows
    return _safe_indexing(rows, np.where(present, np.arange(len(present)), present.argmax()))


@contextmanager
def reword_advice() -> Iterator[None]:
    """In errors of the encoder: it has a parameter drop, but not the model."""
    try:
        yield
    except InputError as error:
        advice = re.sub(r"\bdrop=(\[.*?\])", r"X.drop(columns=\1)", str(error))
        raise InputError(advice) from None


def read_features(model: Any, X: Any, *, reset: bool) -> Any:
    """A frame with the names of training; names and number of columns are checked."""
    if hasattr(X, "columns") or hasattr(X, "to_pandas"):
        frame = as_frame(X)
        check_distinct_names(frame)
        _check_feature_names(model, frame, reset=reset)
        _check_n_features(model, frame, reset=reset)
        if len(frame) == 0 or frame.shape[1] == 0:
            raise InputError(f"X has {len(frame)} rows and {frame.shape[1]} columns.")
    else:
        frame = name_columns(validate(model, X, reset=reset, ensure_all_finite="allow-nan"))
    names = getattr(model, "feature_names_in_", None)  # None: an array, or not all names are text
    return name_columns(frame) if names is None else frame.set_axis(list(names), axis=1)


def read_classes(rows: Rows) -> tuple[np.ndarray, Target]:
    """The classes, and the outcome as 0/1 or as the number of the class."""
    labels = rows.y[rows.present]
    if pd.isna(labels).any() or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
        raise InputError(
            "Input y contains NaN or infinity instead of a class; leave such rows out."
        )
    try:
        classes = np.unique(labels)
        check_classification_targets(labels)
    except TypeError as error:
        raise InputError(
            "y mixes strings and numbers, which have no order; write all classes in one way."
        ) from error
    except ValueError as error:
        raise InputError(f"{error} For a number use StableRegressor.") from error
    check_two_classes(classes)
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"y has {len(classes)} classes, more than {MOST_CLASSES}. If it is a number, use "
            "StableRegressor; else combine rare classes."
        )
    values = np.searchsorted(classes, rows.y).clip(0, len(classes) - 1).astype(np.float64)
    return classes, Target(BINARY if len(classes) == 2 else MULTINOMIAL, values)


def read_number(rows: Rows) -> Target:
    """The outcome in standard units."""
    try:
        if rows.y.dtype.kind in "mM":
            raise TypeError("dates")
        values = np.asarray(rows.y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            "y must be numbers for a regressor, not text or dates; for classes use "
            "StableClassifier."
        ) from error
    present = rows.present
    if not np.isfinite(values[present]).all() or np.abs(values[present]).max() > 1e100:
        raise InputError(
            "Input y contains NaN, infinity or a value too large; leave such rows out."
        )
    # Of the distinct values, so that neither their order nor copies change the last bits.
    mean, scale = moments(*distinct_values(values[present], count_rows(rows.weight[present])))
    if not scale > max(1e-12 * abs(mean), float(np.finfo(np.float64).tiny)):
        raise InputError(f"y is {mean:g} in every row, so there is nothing to learn.")
    return Target(GAUSSIAN, np.where(present, (values - mean) / scale, 0.0), mean, scale)


# --- judging ---


def screen(model: Any, rows: Rows, target: Target) -> tuple[Rows, Sample, Choice]:
    """Sample, one column per variable, weights, evidence, verdict, decision.

    Sets the fitted attributes about variables. Returned are the rows as encoded in the end, the
    sample of the columns in use, and the choice.
    """
    model.random_state_ = seed = draw_seed(model.random_state)
    progress, outcome = fit_progress(type(model).__name__, model.verbose > 0), target.outcome
    with threads_for(rows.x.size):
        sample = _group(model, rows, target)
        _check_environments(sample, rows.environments)
        cv = model.cv  # splits that are given one by one can be read once only
        cv = cv if isinstance(cv, Integral) or hasattr(cv, "split") else list(cv)
        compared = _split(cv, rows, sample, outcome, seed)
        bent = _bend(model, rows, sample, *compared)
        if bent is not rows:
            rows, sample = bent, _group(model, bent, target)
            compared = _split(cv, rows, sample, outcome, seed)
        progress("evidence", 0, 0.0)
        most = max(MOST_COMPARED, int(MOST_WORK / sample.n_features**2))
        heard = draw_rows(sample, outcome, most, seed)
        variables = summarize_variables(sample, outcome, list(model.encoder_.variables_))
        verdict = _judge(variables.take(heard), sample.take(heard), model.evidence, outcome, seed)
        if not verdict.scores and model.evidence != "auto":
            warn_user(
                "no evidence that was asked for applies to these rows, so nothing is left out. "
                "Invariance needs the labels of two environments or more.",
                StablepredWarning,
            )
        progress("models", 1, 0.0)
        fit: Fit = fit_base
        if model.estimator is not None:
            classes, n_jobs = getattr(model, "classes_", None), model.n_jobs
            fit = partial(fit_wrapped, model.estimator, classes=classes, n_jobs=n_jobs, seed=seed)
        drawn, few, folds = compared
        guard = Guard(few, variables.take(drawn), folds, verdict, fit, seed, target.scale)
        choice = guard.decide() if model.guard else guard.follow()
    put = variables.to_user_columns
    model.stable_features_, model.used_features_ = put(verdict.stable), put(choice.used)
    unused = set(variables.origin.names) - set(model.encoder_.used_columns)
    left_out = [name for name in unused if rows.table[name][rows.present].nunique() > 1]
    table = _describe(variables, verdict, left_out, target.scale)
    model.variables_ = table.assign(used=model.used_features_)
    model.decision_ = replace(choice.decision, variables=_name_variables(model.variables_))
    numbers = variables.origin.columns[choice.used]
    return rows, sample.restrict(np.isin(sample.groups, numbers)), choice


def _group(model: Any, rows: Rows, target: Target) -> Sample:
    return make_sample(
        rows.x,
        target.values,
        rows.weight,
        [str(j) for j in range(rows.x.shape[1])],
        groups=rows.groups,
        environment=rows.environment,
        cluster=rows.cluster,
        device=choose_device(model.device, rows.x.size),
    )


def _bend(
    model: Any, rows: Rows, sample: Sample, drawn: torch.Tensor, few: Sample, folds: Folds
) -> Rows:
    """The rows with numbers that are bent in the tails, if held-out rows clearly ask for it.

    That is judged by a linear model, on the folds that models are compared on.
    """
    numeric = not all(getattr(column, "binary", True) for column in model.encoder_.columns_)
    if folds.is_empty or not numeric:
        return rows
    first = np.unique(sample.origin.index, return_index=True)[1][drawn.cpu().numpy() > 0]
    own = rows.table.iloc[np.flatnonzero(sample.origin.present)[first]]
    encoder = model.encoder_.bend(own, few.copies.cpu().numpy())
    x = torch.as_tensor(encoder.encode_array(own)[0][:, sample.origin.columns], device=few.device)
    bent = replace(few, x=x)
    other = folds_of_shares(bent, folds.outcome, folds.shares(few))
    by_line, by_bent = fit_linear(few, folds).held_out, fit_linear(bent, other).held_out
    if folds.gain(by_line, by_bent) < DECISIVE:
        return rows
    model.encoder_ = encoder
    return replace(rows, x=encoder.encode_array(rows.table)[0])


def _describe(
    variables: Sample, verdict: Verdict, left_out: list[str], scale: float
) -> pd.DataFrame:
    """One row per variable of the user's table; ``scale`` is the unit of the outcome.

    The encoder has no use for those ``left_out``; like constants they were not judged.
    """
    put, scores, names = variables.to_user_columns, dict(verdict.scores), variables.origin.names
    columns: dict[str, Any] = {"variable": names}
    if effect := scores.pop("effect", None):
        parts = {"effect": effect.score, "low": effect.low, "high": effect.high}
        columns |= {name: scale * put(values) for name, values in parts.items()}
    columns |= {name: put(given.score) for name, given in scores.items()}
    labels = np.where(np.isin(names, left_out), "left out", "constant").astype(object)
    labels[variables.origin.columns] = verdict.labels
    probability = np.full(len(names), np.nan)
    probability[variables.origin.columns] = verdict.probability_noisy
    return pd.DataFrame(columns | {"probability_noisy": probability, "verdict": labels})


def _name_variables(variables: pd.DataFrame) -> str:
    """The variables left out and used by their verdicts, a line for each."""
    lines, sorted_ = [], variables.assign(verdict=pd.Categorical(variables["verdict"], VERDICTS))
    for (used, verdict), own in sorted_.groupby(["used", "verdict"], observed=True)["variable"]:
        why = "id, free text or rare values" if verdict == "left out" else verdict
        names = listed([label(name, 60) for name in own])
        lines.append(f"{'used' if used else 'left out'} ({why}): {names}")
    return "\n".join(lines)


def _check_environments(sample: Sample, names: list[str]) -> None:
    """Refuse environments from which nothing can be learned."""
    for k, name in enumerate(names):
        own = sample.environment == k
        y, rows, variables = sample.y[own], int(sample.copies[own].sum()), len(set(sample.groups))
        found = ""
        if len(y) < 3:
            found = "fewer than 3 distinct rows"
        elif rows < variables:
            found = f"{rows} rows, fewer than there are variables ({variables})"
        elif (y == y[0]).all():
            found = "the same outcome in every row"
        if found:
            raise InputError(
                f"training environment {name!r} has {found}. Combine it with another one, or "
                "leave it out."
            )


def _split(
    cv: Any, rows: Rows, sample: Sample, outcome: Outcome, seed: int
) -> tuple[torch.Tensor, Sample, Folds]:
    """The rows that models are compared on: which they are, their sample, and its folds."""
    drawn = draw_rows(sample, outcome, MOST_COMPARED, seed)
    few = sample.take(drawn)
    if isinstance(cv, Integral):
        return drawn, few, make_folds(few, outcome, int(cv), seed)
    # A list of splits is about all rows of the user's table; a splitter divides those present.
    own = np.flatnonzero(rows.present) if hasattr(cv, "split") else np.arange(len(rows.x))
    splits = check_cv(cv, rows.y[rows.present], classifier=outcome is not GAUSSIAN).split(
        rows.x[own], rows.y[own], None if rows.cluster is None else rows.cluster[own]
    )
    shares = [sample.share_of_rows(own[test], rows.weight)[drawn > 0] for _, test in splits]
    if not shares:
        raise InputError(NO_SPLITS)
    return drawn, few, folds_of_shares(few, outcome, shares)


def summarize_variables(sample: Sample, outcome: Outcome, names: list[str]) -> Sample:
    """The same rows with one column per variable.

    A variable with several columns, such as a category, is the part of a regression of the outcome
    on all columns that belongs to it.
    """
    numbers, parts = np.array(list(dict.fromkeys(sample.groups.tolist()))), []
    if len(numbers) < sample.n_features:
        scored = sample
        if outcome.name == "multinomial":  # the largest class against the rest
            largest = int(torch.bincount(sample.y.long(), sample.copies).argmax())
            scored, outcome = sample.against_rest(largest), BINARY
        beta = fit_ridge(scored.features, scored, outcome, 1.0, tol=1e-4)[:-1]
    for one in numbers:
        own = np.flatnonzero(sample.groups == one)
        part = sample.features[:, own[0]]
        if len(own) > 1 and float(beta[own].abs().max()) > 0:
            part = sample.features[:, own] @ beta[own]
        parts.append(part)
    origin = replace(sample.origin, names=names, columns=numbers, groups=None)
    return replace(sample, x=torch.stack(parts, dim=1), origin=origin, pairs=[])


def _judge(
    variables: Sample, sample: Sample, evidence: Any, outcome: Outcome, seed: int
) -> Verdict:
    several = outcome.name == "multinomial"
    kinds = make_evidence(evidence, seed, BINARY if several else outcome)
    if len(set(sample.groups.tolist())) < sample.n_features:  # the effects of their own columns
        kinds = [
            EffectOfVariables(k, sample) if isinstance(k, WeightedEffect) else k for k in kinds
        ]
    w = torch.ones_like(sample.mass)
    if any(kind.name not in ("explaining_away", "invariance") for kind in kinds):
        near = replace(sample, x=sample.x.clamp(-CLIP, CLIP))
        solution = start_solution(near)
        learn_weights(near, RawBalance(), None, SETTINGS, solution)
        w = solution.w
    if not several:
        return judge(variables, w, kinds)
    classes = range(int(sample.y.max()) + 1)
    return judge_classes([judge(variables.against_rest(k), w, kinds) for k in classes])
