"""What a report is about: what a fitted model tells about itself, and what was run."""

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from stablepred._version import __version__
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.evaluation.predictions import FloatArray, Table

BINS = 30
LIBRARIES = ("numpy", "scikit-learn", "torch")


# --- the model ----------------------------------------------------------------------------------


class WeightSummary(NamedTuple):
    """The distribution of balancing weights, without the weights themselves."""

    shares: FloatArray  # of the rows in each bin of a histogram
    edges: FloatArray  # of the bins, which end where a long tail begins
    above: float  # share of the rows beyond the last edge
    quantiles: dict[str, float]
    dropped: float  # share of the rows with a weight under a hundredth of the mean
    heaviest_tenth: float  # share of all weight on the heaviest tenth of the rows
    n_rows: int  # with a positive weight
    effective_share: float  # (sum w)^2 / (n sum w^2)


@dataclass(frozen=True)
class ModelFacts:
    """Name, parameters and fitted attributes of a model; None where it lacks them."""

    name: str  # as given, else the class of the innermost model
    steps: tuple[str, ...]  # classes from the outermost to the model itself
    parameters: dict[str, str]
    converged: bool | None
    n_iter: int | None
    balance: BalanceReport | None
    weights: WeightSummary | None
    effects: pd.DataFrame | None  # feature, effect, low, high, verdict, evidence; used if known

    @property
    def effective_share(self) -> float | None:
        """Effective sample size over rows, where there are weights."""
        if self.balance is not None:
            return self.balance.effective_share
        return None if self.weights is None else self.weights.effective_share


def model_facts(model: Any, name: str | None = None) -> ModelFacts:
    """Look into a fitted model, through pipelines and searches."""
    steps, inner = _innermost(model)
    converged = getattr(inner, "converged_", None)
    n_iter = np.ravel(getattr(inner, "n_iter_", ()))
    balance = getattr(inner, "balance_report_", None)
    return ModelFacts(
        name=name or steps[-1],
        steps=tuple(steps),
        parameters=_parameters(inner),
        converged=None if converged is None else bool(np.all(converged)),
        n_iter=int(n_iter.max()) if len(n_iter) else None,
        balance=balance if isinstance(balance, BalanceReport) else None,
        weights=_summarise_weights(inner),
        effects=_effects(inner),
    )


def _innermost(model: Any) -> tuple[list[str], Any]:
    """Class names on the way to the model inside pipelines and searches, and that model."""
    names = [_name(model)]
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(getattr(model, "steps", None), list) and model.steps:
            names += [_name(step) for _, step in model.steps[:-1]]
            model = model.steps[-1][1]
        else:
            return names, model
        names.append(_name(model))


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


def _summarise_weights(model: Any) -> WeightSummary | None:
    """A summary of ``sample_weight_``; rows of weight zero took no part."""
    weights = getattr(model, "sample_weight_", None)
    if weights is None:
        return None
    w = np.asarray(weights, dtype=np.float64)
    rows = np.asarray(getattr(model, "row_count_", np.ones(len(w))))  # that each weight is for
    order = np.argsort(w, kind="stable")
    order = order[w[order] > 0]
    if len(order) == 0:
        return None
    w, rows = w[order], rows[order]
    n, total = rows.sum(), rows @ w
    end = max(_quantile(w, rows, 0.99), 2.0)
    end = float(w[-1]) if w[-1] <= 1.5 * end else end
    counts, edges = np.histogram(w, bins=BINS, range=(0.0, max(end, 2.0)), weights=rows)
    marks = {"smallest": 0.0, "lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}
    heavier = np.cumsum(rows[::-1])[::-1] - rows  # rows before each, from the heaviest down
    in_tenth = np.clip(max(1, round(n / 10)) - heavier, 0, rows)
    return WeightSummary(
        shares=counts / n,
        edges=edges,
        above=float(rows[w > edges[-1]].sum() / n),
        quantiles={k: _quantile(w, rows, q) for k, q in (marks | {"largest": 1.0}).items()},
        dropped=float(rows[w < 0.01 * total / n].sum() / n),
        heaviest_tenth=float(in_tenth @ w / total),
        n_rows=int(n),
        effective_share=float(total**2 / (n * (rows @ w**2))),
    )


def _quantile(w: FloatArray, rows: FloatArray, share: float) -> float:
    """As ``numpy.quantile`` of the sorted ``w``, each repeated as often as ``rows`` says."""
    index = share * (rows.sum() - 1)
    ends = np.cumsum(rows)
    low, high = (
        w[np.searchsorted(ends, k, side="right")] for k in (np.floor(index), np.ceil(index))
    )
    return float(low + (index - np.floor(index)) * (high - low))


def _effects(model: Any) -> pd.DataFrame | None:
    """Effects and verdicts from ``variables_``, or from ``feature_effects_`` and two masks."""
    effects = getattr(model, "variables_", None)
    if isinstance(effects, pd.DataFrame):
        effects = effects.reset_index(drop=True).rename(columns={"variable": "feature"})
    else:
        effects = getattr(model, "feature_effects_", None)
        if not isinstance(effects, pd.DataFrame) or "stable" not in effects:
            return None
        effects = effects.reset_index(drop=True)
        for column, attribute in (("stable", "stable_features_"), ("used", "used_features_")):
            mask = getattr(model, attribute, None)
            if mask is not None and len(mask) == len(effects):
                effects = effects.assign(**{column: np.asarray(mask, dtype=bool)})
        effects.insert(
            1, "verdict", np.where(effects.pop("stable").astype(bool), "stable", "noisy")
        )
    needed = {"feature", "effect", "low", "high", "verdict"}
    return effects if set(effects.columns) >= needed else None


# --- the run ------------------------------------------------------------------------------------


class RunFacts(NamedTuple):
    """Data, seed, versions and time of a report."""

    environments: pd.DataFrame  # rows, and positive (share of y = 1), by name
    n_features: int
    train: tuple[str, int] | None  # name and rows of the training environment
    seed: int
    n_bootstrap: int
    versions: dict[str, str]
    made: str  # date and time in UTC
    seconds: float


def run_facts(
    tables: Sequence[Table], train: Table | None, seed: int, n_bootstrap: int, started: float
) -> RunFacts:
    """The facts of a run that began at ``started`` (``time.perf_counter``) and ends now."""
    rows = {t.name: {"rows": len(t.y), "positive": float(np.mean(t.y))} for t in tables}
    return RunFacts(
        environments=pd.DataFrame.from_dict(rows, orient="index").astype({"rows": int}),
        n_features=tables[0].X.shape[1],
        train=None if train is None else (train.name, len(train.y)),
        seed=seed,
        n_bootstrap=n_bootstrap,
        versions={"stablepred": __version__, "Python": platform.python_version()}
        | {name: version(name) for name in LIBRARIES},
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        seconds=time.perf_counter() - started,
    )
