"""Candidates, and scikit-learn's search over them."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, ParameterSampler
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from stablepred._extras import require
from stablepred._random import child_seed
from stablepred.exceptions import ConstantPredictionWarning, DegenerateWeightsWarning


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
        k: v if isinstance(v, kinds.BaseDistribution) else kinds.CategoricalDistribution(list(v))
        for k, v in grid.items()
    }
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # no line per trial
    errors = []
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
    model = clone(value)
    for part in (model, *model.get_params().values()):
        if "checkpoint" in getattr(part, "get_params", dict)():
            part.set_params(checkpoint=None)
    seeds = {
        name: child_seed(seed, "estimator")
        for name, chosen in model.get_params().items()
        if name.split("__")[-1] == "random_state" and chosen is None
    }
    return model.set_params(**seeds)


def fit_arguments(model: Any, weight: NDArray[np.float64] | None) -> dict[str, Any]:
    """Name the weights for fit; without metadata routing they are for a pipeline's last step."""
    if weight is None:
        return {}
    if isinstance(model, Pipeline) and not get_config()["enable_metadata_routing"]:
        return {f"{model.steps[-1][0]}__sample_weight": weight}
    return {"sample_weight": weight}
