"""Candidates of a search: taken from the grid, fitted, judged, and put into one table."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from stablepred._random import child_seed
from stablepred._validation import warn_user
from stablepred.core.threads import threads_for
from stablepred.exceptions import (
    ConstantPredictionWarning,
    DegenerateWeightsWarning,
    InputError,
    StablepredWarning,
)
from stablepred.models.stages import SMALL_SHARE
from stablepred.validation.environments import criterion_value, is_constant
from stablepred.validation.made import Split

FloatArray = NDArray[np.float64]
Params = dict[str, Any]


# --- the grid -----------------------------------------------------------------------------------


def listed_candidates(param_grid: Any, n_iter: int | None, seed: int) -> list[Params]:
    """The points of the grid, or a random sample of them."""
    _check_grid(param_grid, n_iter)
    if n_iter is None:
        return list(ParameterGrid(param_grid))
    sampler = ParameterSampler(param_grid, n_iter, random_state=child_seed(seed, "candidates"))
    with warnings.catch_warnings():
        # A grid smaller than n_iter is tried completely.
        warnings.filterwarnings("ignore", message="The total space of parameters")
        return list(sampler)


def _check_grid(param_grid: Any, n_iter: int | None) -> None:
    """Refuse a grid without candidates, or with distributions where none can be drawn from."""
    grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    if not isinstance(grids, Sequence) or not all(isinstance(grid, Mapping) for grid in grids):
        raise InputError(
            "param_grid must be a dict of parameter names and values, or a list of such dicts, "
            f"but is {param_grid!r}."
        )
    if not any(grids):
        raise InputError(
            "param_grid is empty, so there is nothing to choose from. Name at least one parameter "
            "with the values to try, for example {'C': [0.1, 1.0]}."
        )
    for name, values in ((name, values) for grid in grids for name, values in grid.items()):
        if hasattr(values, "rvs"):
            if n_iter is None:
                raise InputError(
                    f"param_grid has a distribution for {name!r}, which cannot be tried "
                    "completely. Set n_iter= to the number of candidates to draw."
                )
        elif isinstance(values, str) or not hasattr(values, "__len__"):
            raise InputError(
                f"param_grid must give a list of values for {name!r}, but gives {values!r}. "
                "Wrap a single value in a list."
            )
        elif len(values) == 0:
            raise InputError(f"param_grid gives no value for {name!r}; the grid is empty.")


def candidate_model(estimator: Any, params: Params, seed: int) -> Any:
    """An unfitted copy with the candidate's parameters, and a seed where it has none.

    Candidates keep no checkpoint: there is one file, and there are many of them.
    """
    model = clone(estimator)
    try:
        model.set_params(**{name: clone(value, safe=False) for name, value in params.items()})
    except (ValueError, AttributeError) as error:
        raise InputError(f"param_grid does not fit the estimator: {error}") from error
    for part in (model, *model.get_params().values()):
        if hasattr(part, "checkpoint"):
            part.set_params(checkpoint=None)
    seeds = {
        name: child_seed(seed, "estimator")
        for name, value in model.get_params().items()
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    }
    return model.set_params(**seeds)


def fit_arguments(model: Any, weight: FloatArray | None) -> dict[str, Any]:
    """How sample weights reach the model's fit."""
    if weight is None:
        return {}
    last, prefix = model, ""
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        prefix = f"{name}__"
    if not has_fit_parameter(last, "sample_weight"):
        raise InputError(
            f"{type(last).__name__} does not take sample_weight in fit, so the weights could not "
            "reach it. Choose an estimator that does, or leave sample_weight out."
        )
    return {f"{prefix}sample_weight": weight}


# --- one fit ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What one fit gave: sums over the environments' rows, and what was noticed."""

    squares: FloatArray = field(default_factory=lambda: np.zeros(0))  # (environments,)
    totals: FloatArray = field(default_factory=lambda: np.zeros(0))  # (environments,)
    constant: bool = False
    share: float = float("nan")
    seconds: float = 0.0
    error: Exception | None = None
    messages: tuple[tuple[type[Warning], str], ...] = ()


def outcome_of(estimator: Any, params: Params, seed: int, split: Split) -> Outcome:
    """Fit one candidate on the training rows of a split and judge it in the environments.

    On one thread, whether or not others are fitted at the same time: how a sum is shared out
    decides its last bits.
    """
    with threadpool_limits(1), threads_for(0):
        return _outcome_on_one_thread(estimator, params, seed, split)


def _outcome_on_one_thread(estimator: Any, params: Params, seed: int, split: Split) -> Outcome:
    train = split.train
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = candidate_model(estimator, params, seed)
            model.fit(train.X, train.y, **fit_arguments(model, train.weight))
            seconds = time.perf_counter() - started
            tables = list(split.environments.tables())
            predicted = [positive_probability(model, table.X) for table in tables]
        except Exception as error:  # whatever an estimator may raise; reported by the search
            return Outcome(error=error, seconds=time.perf_counter() - started)
    squares = [t.weight @ (t.y - p) ** 2 for t, p in zip(tables, predicted, strict=True)]
    return Outcome(
        np.array(squares),
        np.array([table.weight.sum() for table in tables]),
        is_constant(np.concatenate(predicted), train.target),
        _effective_share(model),
        seconds,
        messages=tuple((w.category, str(w.message)) for w in caught),
    )


def positive_probability(model: Any, X: Any) -> FloatArray:
    """P(positive class), the class last in sorted order."""
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{type(model).__name__} has no predict_proba, which the errors need. Choose a "
            "classifier that predicts probabilities, or wrap it in CalibratedClassifierCV."
        )
    probability = np.asarray(model.predict_proba(X), dtype=np.float64)
    if probability.ndim != 2 or probability.shape[1] != 2:
        raise InputError(
            "predict_proba must give two columns, one per class, but gave shape "
            f"{probability.shape}. Were both classes in every training fold?"
        )
    return probability[:, 1]


def _effective_share(model: Any) -> float:
    """Effective share of the balancing weights, wherever in the model they are; NaN if nowhere."""
    while model is not None:
        report = getattr(model, "balance_report_", None)
        if report is not None:
            return float(report.effective_share)
        if isinstance(model, Pipeline):
            model = model.steps[-1][1]
        else:
            model = getattr(model, "best_estimator_", None)
    return float("nan")


# --- all fits -----------------------------------------------------------------------------------


def results_table(
    candidates: list[Params],
    environments: list[str],
    outcomes: list[list[Outcome]],
    constant_error: float,
    criterion: str,
    stability_weight: float,
) -> dict[str, Any]:
    """``cv_results_``: errors pooled over the folds, marks and ranks, one entry per candidate."""
    errors = np.array([_pooled_errors(per_fold, len(environments)) for per_fold in outcomes])
    failed = np.array([any(o.error is not None for o in per_fold) for per_fold in outcomes])
    constant = np.array([any(o.constant for o in per_fold) for per_fold in outcomes])
    shares = np.array([_smallest([o.share for o in per_fold]) for per_fold in outcomes])
    value = criterion_value(errors, criterion, stability_weight)
    seconds = [float(np.mean([o.seconds for o in per_fold])) for per_fold in outcomes]
    marks = {
        "uninformative": errors.mean(axis=1) >= constant_error,
        "collapsed": shares < SMALL_SHARE,
        "constant": constant,
        "failed": failed,
    }
    return (
        {"params": candidates}
        | _parameter_columns(candidates)
        | {
            "criterion": value,
            "average_error": errors.mean(axis=1),
            "stability_error": errors.std(axis=1, ddof=min(1, len(environments) - 1)),
            "worst_error": errors.max(axis=1),
        }
        | {f"error_{name}": errors[:, k] for k, name in enumerate(environments)}
        | marks
        | {
            "effective_share": shares,
            "mean_fit_time": np.array(seconds),
            "mean_test_score": -value,
            "rank_test_score": _ranks(value, marks),
        }
    )


def _ranks(value: FloatArray, marks: dict[str, NDArray[np.bool_]]) -> NDArray[np.int64]:
    """1 for the best; marked candidates after all others, in the order of the marks."""
    tier = np.zeros(len(value), dtype=np.int64)
    for number, marked in enumerate(marks.values(), start=1):
        tier[marked] = number
    rank = np.empty(len(value), dtype=np.int64)
    rank[np.lexsort((np.where(np.isnan(value), np.inf, value), tier))] = np.arange(
        1, len(value) + 1
    )
    return rank


def _pooled_errors(per_fold: list[Outcome], n_environments: int) -> FloatArray:
    """RMSE per environment over the held-out rows of all folds; NaN for a failed candidate."""
    squares, totals = np.zeros(n_environments), np.zeros(n_environments)
    for outcome in per_fold:
        if outcome.error is not None:
            return np.full(n_environments, np.nan)
        squares += outcome.squares
        totals += outcome.totals
    return np.asarray(np.sqrt(squares / totals))


def _smallest(values: list[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return min(known) if known else float("nan")


def _parameter_columns(candidates: list[Params]) -> dict[str, Any]:
    """One masked array per parameter: masked where a candidate does not have it."""
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for params in candidates for name in params):
        values = np.ma.masked_all(len(candidates), dtype=object)
        for k, params in enumerate(candidates):
            if name in params:
                values[k] = params[name]
        columns[f"param_{name}"] = values
    return columns


def warn_about_failures(results: dict[str, Any], outcomes: list[list[Outcome]]) -> None:
    """Say which candidates could not be fitted."""
    failed = np.flatnonzero(results["failed"])
    if len(failed) == 0:
        return
    first = next(o.error for o in outcomes[failed[0]] if o.error is not None)
    warn_user(
        f"{len(failed)} of {len(results['params'])} candidates could not be fitted, for example "
        f"{results['params'][failed[0]]}: {type(first).__name__}: {first}",
        StablepredWarning,
    )


def repeat_warnings(outcomes: list[list[Outcome]]) -> None:
    """Each kind of warning of the candidates' fits once, with how often it came.

    Constant predictions and degenerate weights are marked in ``cv_results_`` and not repeated.
    """
    fits = [outcome for per_fold in outcomes for outcome in per_fold]
    found: dict[type[Warning], list[str]] = {}
    for outcome in fits:
        for category, message in dict(outcome.messages).items():
            if not issubclass(category, ConstantPredictionWarning | DegenerateWeightsWarning):
                found.setdefault(category, []).append(message)
    for category, messages in found.items():
        warn_user(
            f"{len(messages)} of {len(fits)} fits of the search warned, the first: {messages[0]}",
            category,
        )
