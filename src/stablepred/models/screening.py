"""The screen: table, sample, evidence, verdict, decision. What ``Stable*`` share."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
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
from stablepred.evidence.base import Evidence
from stablepred.evidence.effect import EffectOfVariables, WeightedEffect
from stablepred.evidence.explaining_away import MOST_WORK
from stablepred.evidence.verdict import Verdict, judge, judge_classes, make_evidence
from stablepred.exceptions import InputError, StablepredWarning
from stablepred.heads.default import add_boosting, fit_base, fit_linear
from stablepred.heads.folds import (
    DECISIVE,
    MOST_COMPARED,
    Folds,
    draw_rows,
    folds_of_shares,
    make_folds,
)
from stablepred.heads.guard import Choice, Finish, Fit, Guard
from stablepred.heads.wrapped import fit_wrapped
from stablepred.models.checkpoints import fit_progress
from stablepred.models.entry import choose_device, draw_seed
from stablepred.models.standardizer import CLIP
from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY
from stablepred.outcomes.gaussian import GAUSSIAN
from stablepred.outcomes.multinomial import MULTINOMIAL
from stablepred.sample import Origin, Sample, count_rows, make_sample
from stablepred.tables.encoder import TableEncoder, as_frame, name_columns
from stablepred.tables.learning import distinct_values, moments
from stablepred.tables.messages import listed, warn_of
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
    groups: np.ndarray
    names: list[str]  # of the variables
    environment: np.ndarray | None
    cluster: np.ndarray | None
    environments: list[str] = field(default_factory=list)  # their names, in order
    left_out: list[str] = field(default_factory=list)  # variables that the encoder has no use for

    @property
    def labels(self) -> Any:
        """The outcome of the rows that are present."""
        return self.y[self.weight > 0]


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
    X, environment, groups = (
        _fill_absent(given, sample_weight) for given in (X, environment, groups)
    )
    table = read_features(model, X, reset=True)
    if y is None:
        raise InputError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
        )
    labels = column_or_1d(y, warn=True)
    check_consistent_length(table, labels)
    weight = check_sample_weight(sample_weight, np.empty((len(labels), 1)))
    check_row_count(int((weight > 0).sum()))
    with reword_advice():
        model.encoder_ = encoder = TableEncoder().fit(table, sample_weight=weight)
    x, _ = encoder.encode_array(table)
    names = list(encoder.variables_)
    position = {name: k for k, name in enumerate(names)}
    own = np.array([position[column.name] for column in encoder.columns_])
    marks = {"environment": environment, "groups": groups}
    read = [
        (None, []) if mark is None else read_labels(mark, name, len(x))
        for name, mark in marks.items()
    ]
    (codes, environments), (cluster, _) = read
    if len(environments) == 1:
        warn_user(
            f"every row has the same environment, {environments[0]!r}: nothing can be learned from "
            "it. Pass the labels of two or more, or none.",
            StablepredWarning,
        )
    left_out = [
        name
        for name in sorted(set(names) - set(encoder.used_columns))
        if table[name][weight > 0].nunique() > 1  # else it is constant
    ]
    own = own[encoder.groups_]
    return Rows(table, x, labels, weight, own, names, codes, cluster, environments, left_out)


def _fill_absent(rows: Any, sample_weight: Any) -> Any:
    """Rows or their labels, with those of weight 0 as the first one that is present.

    What they hold, be it infinity or nothing, is of no matter. Anything odd is left for the checks.
    """
    if rows is None or sample_weight is None:
        return rows
    weight = np.asarray(sample_weight)
    if weight.ndim != 1 or weight.dtype.kind not in "biuf" or not (weight == 0).any():
        return rows
    present = np.flatnonzero(weight != 0)
    rows = rows.to_pandas() if hasattr(rows, "to_pandas") else rows
    if not len(present) or not hasattr(rows, "__len__") or len(rows) != len(weight):
        return rows
    return _safe_indexing(rows, np.where(weight != 0, np.arange(len(weight)), present[0]))


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
    if not hasattr(model, "feature_names_in_"):  # an array, or a frame with other names than text
        return name_columns(frame)
    return frame.set_axis(list(model.feature_names_in_), axis=1)


def encode_features(model: Any, X: Any) -> FloatArray:
    """The encoded columns of new rows; what is unexpected in them is a warning."""
    with reword_advice():
        x, notes = model.encoder_.encode_array(read_features(model, X, reset=False))
    warn_of(notes)
    return np.asarray(x)


def read_classes(rows: Rows) -> tuple[np.ndarray, Target]:
    """The classes, and the outcome as 0/1 or as the number of the class."""
    labels = rows.labels
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
    present = rows.weight > 0
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
    progress = fit_progress(type(model).__name__, model.verbose > 0)
    with threads_for(rows.x.size):
        sample = _group(model, rows, target)
        _check_environments(sample, rows.environments)
        cv = model.cv  # splits that are given one by one can be read once only
        cv = cv if isinstance(cv, Integral) or hasattr(cv, "split") else list(cv)
        bent = _bend(model, cv, rows, sample, target.outcome, seed)
        if bent is not rows:
            rows, sample = bent, _group(model, bent, target)
        progress("evidence", 0, 0.0)
        most = max(MOST_COMPARED, int(MOST_WORK / sample.n_features**2))
        drawn = draw_rows(sample, target.outcome, most, seed)
        variables = summarize_variables(sample, target.outcome, rows.names)
        verdict = _judge(
            variables.take(drawn), sample.take(drawn), model.evidence, target.outcome, seed
        )
        if not verdict.scores and model.evidence != "auto":
            warn_user(
                "no evidence that was asked for applies to these rows, so nothing is left out. "
                "Invariance needs the labels of two environments or more.",
                StablepredWarning,
            )
        progress("models", 1, 0.0)
        drawn = draw_rows(sample, target.outcome, MOST_COMPARED, seed)
        few, folds = sample.take(drawn), _split(cv, rows, sample, drawn, target.outcome, seed)
        fit: Fit = fit_base
        finish: Finish = add_boosting
        if model.estimator is not None:
            fit = partial(
                fit_wrapped,
                model.estimator,
                classes=getattr(model, "classes_", None),
                n_jobs=model.n_jobs,
                seed=seed,
            )
            finish = lambda sample, folds, fitted: fitted  # noqa: E731
        columns = variables.take(drawn)
        guard = Guard(few, columns, folds, verdict, fit, finish, seed, target.scale)
        choice = guard.decide() if model.guard else guard.follow()
    put = variables.to_user_columns
    model.stable_features_, model.used_features_ = put(verdict.stable), put(choice.used)
    model.variables_ = _describe(variables, verdict, rows, target.scale).assign(
        used=model.used_features_
    )
    model.decision_ = replace(choice.decision, variables=_name_variables(model.variables_))
    numbers = variables.origin.columns[choice.used]
    return rows, sample.restrict(np.isin(sample.groups, numbers)), choice


def _group(model: Any, rows: Rows, target: Target) -> Sample:
    """The sample of the rows, where the parameters say."""
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


def _bend(model: Any, cv: Any, rows: Rows, sample: Sample, outcome: Outcome, seed: int) -> Rows:
    """The rows with numbers that are bent in the tails, if held-out rows clearly ask for it.

    That is judged by a linear model, on the folds that models are compared on.
    """
    if all(getattr(column, "binary", True) for column in model.encoder_.columns_):
        return rows
    drawn = draw_rows(sample, outcome, MOST_COMPARED, seed)
    few, folds = sample.take(drawn), _split(cv, rows, sample, drawn, outcome, seed)
    if folds.is_empty:
        return rows
    first = np.unique(sample.origin.index, return_index=True)[1][drawn.cpu().numpy() > 0]
    own = rows.table.iloc[np.flatnonzero(sample.origin.present)[first]]
    encoder = model.encoder_.bend(own, few.copies.cpu().numpy())
    x = torch.as_tensor(encoder.encode_array(own)[0][:, sample.origin.columns], device=few.device)
    bent = replace(few, x=x)
    other = folds_of_shares(bent, outcome, folds.shares(few))
    by_line, by_bent = fit_linear(few, folds).held_out, fit_linear(bent, other).held_out
    if folds.gain(by_line, by_bent) < DECISIVE:
        return rows
    model.encoder_ = encoder
    return replace(rows, x=encoder.encode_array(rows.table)[0])


def fit_chosen(choice: Choice, sample: Sample) -> Any:
    """The chosen model, fitted on all rows."""
    return choice.fitted.fit(sample)


def _describe(variables: Sample, verdict: Verdict, rows: Rows, scale: float) -> pd.DataFrame:
    """One row per variable of the user's table; ``scale`` is the unit of the outcome."""
    put, scores = variables.to_user_columns, dict(verdict.scores)
    columns: dict[str, Any] = {"variable": rows.names}
    if effect := scores.pop("effect", None):
        parts = {"effect": effect.score, "low": effect.low, "high": effect.high}
        columns |= {name: scale * put(values) for name, values in parts.items()}
    columns |= {name: put(given.score) for name, given in scores.items()}
    labels = np.full(len(rows.names), "constant", dtype=object)
    labels[np.isin(rows.names, rows.left_out)] = "left out"
    labels[variables.origin.columns] = verdict.labels
    probability = np.full(len(rows.names), np.nan)
    probability[variables.origin.columns] = verdict.probability_noisy
    return pd.DataFrame(columns | {"probability_noisy": probability, "verdict": labels})


def _name_variables(variables: pd.DataFrame) -> str:
    """The variables left out and used by their verdicts, a line for each."""
    lines = []
    for word, used in (("left out", False), ("used", True)):
        for verdict in VERDICTS:
            found = (variables["verdict"] == verdict) & (variables["used"] == used)
            if found.any():
                why = "id, free text or rare values" if verdict == "left out" else verdict
                names = listed([label(name, 60) for name in variables.loc[found, "variable"]])
                lines.append(f"{word} ({why}): {names}")
    return "\n".join(lines)


def _check_environments(sample: Sample, names: list[str]) -> None:
    """Refuse environments from which nothing can be learned."""
    if sample.environment is None:
        return
    for one in torch.unique(sample.environment):
        own = sample.environment == one
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
                f"training environment {names[int(one)]!r} has {found}. Combine it with another "
                "one, or leave it out."
            )


def _split(
    cv: Any, rows: Rows, sample: Sample, drawn: torch.Tensor, outcome: Outcome, seed: int
) -> Folds:
    """The folds of an integer ``cv``, or of a splitter, of the rows that were drawn."""
    few = sample.take(drawn)
    if isinstance(cv, Integral):
        return make_folds(few, outcome, int(cv), seed)
    # A list of splits is about all rows of the user's table; a splitter divides those present.
    own = np.flatnonzero(rows.weight > 0) if hasattr(cv, "split") else np.arange(len(rows.x))
    splits = check_cv(cv, rows.labels, classifier=outcome is not GAUSSIAN).split(
        rows.x[own], rows.y[own], None if rows.cluster is None else rows.cluster[own]
    )
    shares = [sample.share_of_rows(own[test], rows.weight)[drawn > 0] for _, test in splits]
    if not shares:
        raise InputError(NO_SPLITS)
    return folds_of_shares(few, outcome, [share.cpu().numpy() for share in shares])


def summarize_variables(sample: Sample, outcome: Outcome, names: list[str]) -> Sample:
    """The same rows with one column per variable.

    A variable with several columns, such as a category, is the part of a regression of the outcome
    on all columns that belongs to it.
    """
    numbers, first = np.unique(sample.groups, return_index=True)
    numbers, parts = numbers[np.argsort(first)], []
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
    origin = Origin(
        names, numbers, sample.origin.index, sample.origin.present, sample.origin.n_rows
    )
    return replace(sample, x=torch.stack(parts, dim=1), origin=origin, pairs=[])


def _judge(
    variables: Sample, sample: Sample, evidence: Any, outcome: Outcome, seed: int
) -> Verdict:
    kinds = _make_kinds(evidence, seed, outcome, sample)
    w = torch.ones_like(sample.mass)
    if any(kind.name not in ("explaining_away", "invariance") for kind in kinds):
        near = replace(sample, x=sample.x.clamp(-CLIP, CLIP))
        solution = start_solution(near)
        learn_weights(near, RawBalance(), None, SETTINGS, solution)
        w = solution.w
    if outcome.name != "multinomial":
        return judge(variables, w, kinds)
    kinds = _make_kinds(evidence, seed, BINARY, sample)
    classes = range(int(sample.y.max()) + 1)
    return judge_classes([judge(variables.against_rest(k), w, kinds) for k in classes])


def _make_kinds(evidence: Any, seed: int, outcome: Outcome, sample: Sample) -> list[Evidence]:
    """The kinds of evidence; the effect is that of a variable's own columns."""
    kinds = make_evidence(evidence, seed, outcome)
    if len(set(sample.groups.tolist())) == sample.n_features:
        return kinds
    return [EffectOfVariables(k, sample) if isinstance(k, WeightedEffect) else k for k in kinds]
