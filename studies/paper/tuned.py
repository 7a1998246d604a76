"""Methods tuned by `StableSearchCV`, each with the same budget (paper, section 5.3).

The search sees the training environment alone. Afterwards, to say what the tuning cost, every
candidate is fitted on all training rows and tested; the best of them *in hindsight* is recorded
beside the one chosen.
"""

import warnings
from typing import Any

import numpy as np

from stablepred.search import StableSearchCV
from studies.methods import GRIDS, METHODS, Settings
from studies.paper.panels import (
    Panel,
    describe_fit,
    environments,
    errors_of,
    run_definition,
    shorten,
)
from studies.records import Definition, Result
from studies.references import ConstantPredictor

FOLDS = 3
STABILITY_WEIGHT = 5.0
# Raised when the way of tuning changes.
REVISION = 1


def tuned_definition(panel: Panel, seed: int, method: str) -> Definition:
    """A method tuned in a panel, with one seed."""
    grid = GRIDS[method]
    if panel.small:
        grid = {name: values[:2] for name, values in list(grid.items())[:1]}
    search = {"grid": grid, "folds": FOLDS, "stability_weight": STABILITY_WEIGHT}
    untuned = run_definition(panel, seed, method)
    return {**untuned, "kind": "tuned", "search": search, "search revision": REVISION}


def run_search(definition: Definition) -> Result:
    """The candidate that the search chooses, and the best one in hindsight."""
    panel, seed = Panel.from_definition(definition["panel"]), definition["seed"]
    data, plan = environments(panel, seed), definition["search"]
    model = METHODS[definition["method"]].restore(seed, definition["settings"])
    tuning = StableSearchCV(
        model,
        plan["grid"],
        cv=plan["folds"],
        stability_weight=plan["stability_weight"],
        refit=False,
        random_state=seed,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tuning.fit(data.train.X, data.train.y)
    candidates = [
        _test_candidate(definition, panel, seed, params) for params in tuning.cv_results_["params"]
    ]
    chosen = tuning.best_index_
    constant = errors_of(ConstantPredictor(data.train), data.tests)["average"]
    hindsight = _best(candidates, constant, plan["stability_weight"])
    return {
        **candidates[chosen],
        "hindsight": candidates[hindsight],
        "candidates": [
            {name: candidate[name] for name in ("params", "average", "stability")}
            | {"validation": _validation(tuning.cv_results_, k)}
            for k, candidate in enumerate(candidates)
        ],
        "warnings": shorten(str(w.message) for w in caught),
    }


def _test_candidate(definition: Definition, panel: Panel, seed: int, params: Settings) -> Result:
    """A candidate fitted on all training rows, with its errors in the test environments."""
    data = environments(panel, seed)
    settings = definition["settings"] | params
    model = METHODS[definition["method"]].restore(seed, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.train.X, data.train.y)
    return {
        "params": params,
        **errors_of(model, data.tests),
        **describe_fit(model, panel.world),
    }


def _validation(results: dict[str, Any], k: int) -> dict[str, Any]:
    """What the search knew of a candidate."""
    marks = ("constant", "collapsed", "uninformative", "failed")
    return {
        "average": round(float(results["average_error"][k]), 6),
        "stability": round(float(results["stability_error"][k]), 6),
        "marks": [mark for mark in marks if results[mark][k]],
    }


def _best(candidates: list[Result], constant: float, stability_weight: float) -> int:
    """The smallest test score among candidates that are better on average than a constant."""
    scores = np.array([c["average"] + stability_weight * c["stability"] for c in candidates])
    informative = np.array([c["average"] for c in candidates]) < constant
    if informative.any():
        scores = np.where(informative, scores, np.inf)
    return int(np.argmin(scores))
