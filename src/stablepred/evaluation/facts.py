"""What a fitted model tells about itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from stablepred.evaluation.diagnostics import BalanceReport, effective_share


@dataclass(frozen=True)
class ModelFacts:
    """Name, parameters and fitted attributes of a model; None where it lacks them."""

    name: str  # the class of the innermost model
    steps: tuple[str, ...]  # classes from the outermost to the model itself
    parameters: dict[str, str]
    converged: bool | None
    n_iter: int | None
    balance: BalanceReport | None
    effective_share: float | None  # effective sample size over rows, where there are weights
    effects: pd.DataFrame | None  # feature, effect, low, high, verdict, evidence; used if known
    decision: Any  # which variables to use, and why


def model_facts(model: Any) -> ModelFacts:
    """Look into a fitted model, through pipelines and searches."""
    steps, inner = [_name(model)], model
    while True:
        if hasattr(inner, "best_estimator_"):
            inner = inner.best_estimator_
        elif isinstance(getattr(inner, "steps", None), list) and inner.steps:
            steps += [_name(step) for _, step in inner.steps[:-1]]
            inner = inner.steps[-1][1]
        elif hasattr(inner, "encoder") and hasattr(inner, "estimator"):
            inner = inner.estimator  # of a model of raw rows
        else:
            break
        steps.append(_name(inner))
    converged = getattr(inner, "converged_", None)
    n_iter = np.ravel(getattr(inner, "n_iter_", ()))
    report = getattr(inner, "balance_report_", None)
    balance = report if isinstance(report, BalanceReport) else None
    share = balance.effective_share if balance else None
    w = np.asarray(getattr(inner, "sample_weight_", ()), dtype=np.float64)
    if share is None and w.any():
        share = effective_share(w, getattr(inner, "row_count_", np.ones(len(w))))
    return ModelFacts(
        name=steps[-1],
        steps=tuple(steps),
        parameters=_parameters(inner),
        converged=None if converged is None else bool(np.all(converged)),
        n_iter=int(n_iter.max()) if len(n_iter) else None,
        balance=balance,
        effective_share=share,
        effects=_effects(inner),
        decision=getattr(inner, "decision_", None),
    )


def _name(model: Any) -> str:
    """Name of a class, of a function, or of what a pipeline does in place of a step."""
    if isinstance(model, str):
        return model
    if isinstance(model, Mapping):
        return "predictions"
    name = getattr(model, "__name__", type(model).__name__)
    return "function" if name == "<lambda>" else str(name)


def _parameters(model: Any) -> dict[str, str]:
    if not hasattr(model, "get_params"):
        return {}
    given = model.get_params(deep=False)
    given.pop("checkpoint", None)  # about the run that fitted it, and a path on someone's disk
    shown = {name: repr(value) for name, value in sorted(given.items())}
    seed = getattr(model, "random_state_", None)
    if seed is not None and not isinstance(given.get("random_state"), int):
        shown["random_state"] += f" (the seed was {seed})"
    return shown


def _effects(model: Any) -> pd.DataFrame | None:
    """Effects and verdicts from ``variables_``, or from ``feature_effects_``."""
    effects = getattr(model, "variables_", getattr(model, "feature_effects_", None))
    if not isinstance(effects, pd.DataFrame):
        return None
    effects = effects.reset_index(drop=True).rename(columns={"variable": "feature"})
    if "stable" in effects:
        stable, used = effects.pop("stable").astype(bool), getattr(model, "used_features_", None)
        effects.insert(1, "verdict", np.where(stable, "stable", "noisy"))
        if used is not None:
            effects["used"] = used
    needed = {"feature", "effect", "low", "high", "verdict"}
    return effects if set(effects.columns) >= needed else None
