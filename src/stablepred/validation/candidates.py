"""Candidates, scikit-learn's search over them, their scores in environments and the ranking."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from traceback import format_exc
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.model_selection import GridSearchCV, ParameterGrid, ParameterSampler
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from stablepred._extras import require
from stablepred._random import child_seed
from stablepred._validation import FloatArray, warn_user
from stablepred.exceptions import (
    ConstantPredictionWarning,
    DegenerateWeightsWarning,
    InputError,
    StablepredWarning,
)
from stablepred.validation.environments import criterion_value, is_constant
from stablepred.validation.folds import Fold

Results = dict[str, Any]  # as ``cv_results_``

# Balancing weights with a smaller effective share than this have collapsed onto few rows.
SMALL_SHARE = 0.05

DOUBTS: dict[str, tuple[type[Warning], str]] = {
    "constant": (ConstantPredictionWarning, "towards less penalty"),
    "collapsed": (DegenerateWeightsWarning, "towards larger weight_l2"),
    "uninformative": (StablepredWarning, "or try a balanced estimator"),
}


class CandidateSearch(GridSearchCV):
    """``GridSearchCV`` that fits on one thread and tells its scorer which rows are held out."""

    n_iter: int | None = None  # random draws or Optuna's trials, instead of the whole grid
    sampler: str | None = None
    seed = 0

    def _run_search(self, evaluate_candidates: Callable[[Any], Any]) -> None:
        def evaluate(candidates: Iterable[dict[str, Any]]) -> Any:
            return evaluate_candidates(
                [{k: prepare(v, self.seed) for k, v in params.items()} for params in candidates]
            )

        def criterion(params: dict[str, Any]) -> float:
            return float(self.scoring.summarize(evaluate([params]))["criterion"][-1])

        grid, draws = self.param_grid, child_seed(self.seed, "candidates")
        with threadpool_limits(1), warnings.catch_warnings():
            for category in (ConstantPredictionWarning, DegenerateWeightsWarning):
                warnings.simplefilter("ignore", category)  # marked in the results
            warnings.filterwarnings("ignore", message="One or more of the test scores are non-fin")
            if self.n_iter is None:
                evaluate(ParameterGrid(grid))
            elif self.sampler is None:
                evaluate(ParameterSampler(grid, self.n_iter, random_state=draws))
            else:
                search_adaptively(grid, self.n_iter, draws, criterion)

    def _get_routed_params_for_fit(self, params: dict[str, Any]) -> Any:
        routed = super()._get_routed_params_for_fit(params)
        weight = next((v for name, v in params.items() if name.endswith("sample_weight")), None)
        rows = np.arange(len(self.scoring.target))
        routed.scorer.score = {"rows": rows, "sample_weight": weight}
        return routed


def search_adaptively(
    grid: dict[str, Any], n_iter: int, seed: int, criterion: Callable[[dict[str, Any]], float]
) -> None:
    """Let Optuna propose candidates one by one; a criterion of NaN, or a ValueError, is failure."""
    optuna = require("optuna", "sampler='optuna'")
    kinds = optuna.distributions
    space = {
        name: one if isinstance(one, kinds.BaseDistribution) else kinds.CategoricalDistribution(one)
        for name, one in grid.items()
    }
    verbosity, errors = optuna.logging.get_verbosity(), []
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # no line per trial
    try:
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        for _ in range(n_iter):
            trial, value = study.ask(space), np.nan
            try:
                value = criterion(dict(trial.params))
            except ValueError as error:  # no fold of this candidate could be fitted or scored
                errors.append(error)
            failed = optuna.trial.TrialState.FAIL if np.isnan(value) else None
            study.tell(trial, None if failed else value, state=failed)
    finally:
        optuna.logging.set_verbosity(verbosity)
    if len(errors) == n_iter:
        raise errors[0]


def prepare(value: Any, seed: int) -> Any:
    """Copy an estimator, seed what has no seed, and drop its checkpoint: many would share it."""
    if not hasattr(value, "get_params") or isinstance(value, type):
        return value
    model, own = clone(value), {"random_state": child_seed(seed, "estimator"), "checkpoint": None}
    changes = {
        name: own[kind]
        for name, chosen in model.get_params().items()
        if (kind := name.split("__")[-1]) in own and (chosen is None or kind == "checkpoint")
    }
    return model.set_params(**changes)


@dataclass(frozen=True)
class EnvironmentScorer:
    """A multi-metric scorer: sums of squares per environment, pooled over the folds."""

    names: Sequence[str]  # of the environments
    folds: Sequence[Fold]
    target: FloatArray  # outcome of all rows, 0/1 or a number
    constant_error: float  # of the base rate in the same environments
    criterion: str = "score"
    stability_weight: float = 5.0

    def __call__(
        self, model: Any, X: Any, y: Any, rows: Any, sample_weight: FloatArray | None = None
    ) -> dict[str, float]:
        """Score a model on the held-out rows of a fold; NaN where it cannot predict."""
        fold = next(fold for fold in self.folds if np.array_equal(fold.test, rows))
        environments = list(fold.environments(X, sample_weight))
        try:
            predicted = [predict_mean(model, features) for features, _, _ in environments]
        except Exception:  # whatever a model may raise; scikit-learn needs the same keys again
            message = f"a candidate could not be scored:\n{format_exc()}"
            warnings.warn(message, StablepredWarning, stacklevel=2)
            predicted = [np.full(len(target), np.nan) for _, target, _ in environments]
        constant = float(is_constant(np.concatenate(predicted), self.target))
        scores = {"constant": constant, "share": effective_share(model)}
        for name, (_, target, w), p in zip(self.names, environments, predicted, strict=True):
            scores[f"squares {name}"] = float(w @ (target - p) ** 2)
            scores[f"weight {name}"] = float(w.sum())
        return scores

    def summarize(self, results: Results) -> Results:
        """Turn scikit-learn's table into ours: pooled errors, marks and ranks."""
        squares, totals = (
            np.column_stack([results[f"mean_test_{kind} {name}"] for name in self.names])
            for kind in ("squares", "weight")
        )
        errors = np.sqrt(squares / totals)  # (candidates, environments)
        average = errors.mean(axis=1)
        value = criterion_value(errors, self.criterion, self.stability_weight)
        share = np.fmin.reduce([results[f"split{k}_test_share"] for k in range(len(self.folds))])
        marks = {
            "uninformative": average >= self.constant_error,
            "collapsed": share < SMALL_SHARE,
            "constant": results["mean_test_constant"] > 0,
            "failed": np.isnan(average),
        }
        if marks["failed"].all():
            raise InputError(
                "no candidate could be scored; the warnings say what went wrong. Does the "
                "estimator take text, NaN and infinity, if X has any?"
            )
        # Marked candidates come last, by the last of their marks.
        tier = np.max([k * marked for k, marked in enumerate(marks.values(), start=1)], axis=0)
        order = np.lexsort((np.where(np.isnan(value), np.inf, value), tier))
        return {
            **{key: column for key, column in results.items() if "_test_" not in key},
            "criterion": value,
            "average_error": average,
            "stability_error": errors.std(axis=1, ddof=min(1, len(self.names) - 1)),
            "worst_error": errors.max(axis=1),
            **{f"error_{name}": errors[:, k] for k, name in enumerate(self.names)},
            **marks,
            "effective_share": share,
            "mean_test_score": -value,
            "rank_test_score": 1 + np.argsort(order),
        }


def warn_of_doubt(chosen: dict[str, Any], constant_error: float) -> None:
    """Warn of what speaks against the chosen candidate, given by its row of the results."""
    doubts = {
        "constant": "predicts (nearly) the same probability for every row",
        "collapsed": "has balancing weights that collapsed onto few rows",
        "uninformative": f"has an average error of {chosen['average_error']:.3g} in the validation "
        f"environments, no better than a constant predictor ({constant_error:.3g})",
    }
    if mark := next((mark for mark in doubts if chosen[mark]), None):
        category, advice = DOUBTS[mark]
        warn_user(
            f"the chosen candidate {chosen['params']} {doubts[mark]}: no better one was left. "
            f"Widen the grid, {advice}.",
            category,
        )


def predict_mean(model: Any, X: Any) -> FloatArray:
    """Predict a number, or the probability of the positive class, the last one in sorted order."""
    if is_regressor(model):
        return np.asarray(model.predict(X), dtype=np.float64)
    return np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1]


def effective_share(model: Any) -> float:
    while model is not None:
        if (report := getattr(model, "balance_report_", None)) is not None:
            return float(report.effective_share)
        last_step = model.steps[-1][1] if isinstance(model, Pipeline) else None
        model = last_step or getattr(model, "best_estimator_", None)
    return float("nan")
