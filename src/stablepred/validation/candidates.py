"""Candidates, and scikit-learn's search over them."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from stablepred._random import child_seed
from stablepred.exceptions import ConstantPredictionWarning, DegenerateWeightsWarning
from stablepred.io.save import Storable


class CandidateSearch(GridSearchCV):
    """``GridSearchCV`` that fits on one thread and tells its scorer which rows are held out."""

    propose: Callable[[Any], Any]  # hands candidates to scikit-learn's ``evaluate_candidates``

    def _run_search(self, evaluate_candidates: Callable[[Any], Any]) -> None:
        with threadpool_limits(1), warnings.catch_warnings():
            for category in (ConstantPredictionWarning, DegenerateWeightsWarning):
                warnings.simplefilter("ignore", category)  # marked in the results
            warnings.filterwarnings("ignore", message="One or more of the test scores are non-fin")
            self.propose(evaluate_candidates)

    def _get_routed_params_for_fit(self, params: dict[str, Any]) -> Any:
        routed = super()._get_routed_params_for_fit(params)
        weight = next((v for name, v in params.items() if name.endswith("sample_weight")), None)
        rows = np.arange(len(self.scoring.target))
        routed.scorer.score = {"rows": rows, "sample_weight": weight}
        return routed


def prepare(value: Any, seed: int) -> Any:
    """Copy an estimator and seed what has no seed; leave any other value as it is.

    Candidates keep no checkpoint: there is one file, and there are many of them.
    """
    if not hasattr(value, "get_params") or isinstance(value, type):
        return value
    model = clone(value)
    for part in (model, *model.get_params().values()):
        if isinstance(part, Storable) and hasattr(part, "checkpoint"):
            part.set_params(checkpoint=None)  # type: ignore[attr-defined]
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
