"""How stable any fitted model is in given environments, and what breaks it."""

import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from stablepred._extras import require
from stablepred._random import RandomState, root_seed
from stablepred._version import __version__
from stablepred.evaluation.comparison import REFERENCES, Comparison, compare
from stablepred.evaluation.facts import ModelFacts, model_facts
from stablepred.evaluation.metrics import ErrorFunction, Metric, check_interval, interval_frame
from stablepred.evaluation.predictions import (
    Environments,
    Table,
    check_columns,
    check_environments,
    check_outcome,
    predict_outcomes,
    read_table,
)
from stablepred.evaluation.references import References, fit_references
from stablepred.evaluation.stress import first_lines, rank_breakers
from stablepred.evaluation.verdict import stability_verdict
from stablepred.exceptions import InputError
from stablepred.html.fragments import table
from stablepred.validation.environments import is_constant


@dataclass(frozen=True, repr=False)
class StabilityReport:
    """Errors of a model by environment, and what breaks it in the worst one.

    Attributes
    ----------
    errors : DataFrame
        ``error``, ``low``, ``high`` by environment; then Average_Error, Stability_Error and
        Worst_Error. Beside them the calibration: ``predicted`` and ``observed``, the means of
        predictions and outcome.
    breakers : DataFrame or None
        One row per feature, the most harmful first: its association with the outcome
        in the best and in the worst environment (difference of the outcome's mean between high
        and low values), the error in the worst environment when the feature is drawn again from
        its distribution given the outcome there (``error_redrawn``) or in the best environment
        (``error_restored``), and the ``harm``, the difference of the two. None if only
        predictions were given.
    best, worst : str
        Names of the environments with the smallest and the largest error.
    comparison : Comparison
        Errors of the model next to those of the baselines and the references.
    constant : bool
        Whether the model predicts (nearly) the same probability for every row.
    error, level : str, float
        Name of the error and level of the intervals.
    facts, rows, run : ModelFacts, Series, dict
        What is known of the model, rows by environment, and what was run, in words.
    """

    errors: pd.DataFrame
    breakers: pd.DataFrame | None
    best: str
    worst: str
    error: str
    level: float
    comparison: Comparison
    constant: bool
    facts: ModelFacts
    rows: pd.Series
    run: dict[str, str]

    @property
    def verdict(self) -> str:
        """Which model to use, and every reason for doubt."""
        share = self.facts.effective_share
        return stability_verdict(self.comparison, self.error, self.level, self.constant, share)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one HTML file of aggregates, complete or not at all."""
        require("matplotlib", "an HTML page")
        from stablepred.html.page import write_page
        from stablepred.html.pages import stability_page

        write_page(stability_page(self), path)

    def to_frame(self) -> pd.DataFrame:
        """Errors with intervals and calibration by environment, and their summary."""
        return self.errors.copy()

    def __str__(self) -> str:
        at = self.errors["error"]
        lines = [
            self.verdict,
            "",
            f"Errors ({self.error}) by environment, with {self.level:.0%} intervals over rows",
            self.errors.round(4).to_string(na_rep=""),
            f"worst in {self.worst} ({at[self.worst]:.4f}), best in {self.best} "
            f"({at[self.best]:.4f})",
        ]
        if self.breakers is not None:
            lines += [
                f"What breaks it in {self.worst}: features whose link to the outcome differs from "
                f"{self.best}, the most harmful first",
                *first_lines(self.breakers, index=False),
            ]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return table(self.errors, self.verdict)


def stability_report(
    model: Any,
    environments: Environments,
    error: str | ErrorFunction = "rmse",
    *,
    train: Table | tuple[Any, Any] | None = None,
    references: References | Mapping[str, Any] | None = None,
    stable_features: Sequence[str] | None = None,
    baselines: Mapping[str, Any] | None = None,
    level: float = 0.95,
    n_bootstrap: int = 500,
    random_state: RandomState = 0,
) -> StabilityReport:
    """Compare a fitted model's errors across environments and report what breaks it.

    Parameters
    ----------
    model : object
        As in `environment_errors`; ``breakers`` is None if it is a mapping.
    environments : list of Environment or (X, y), or mapping of names to them
        Two or more, with distinct names and the same columns.
    error : str or callable
        As in `environment_errors`.
    train : Environment or tuple (X, y), optional
        Where the model was trained. Adds the references: a constant, logistic regression (ridge
        regression of a numeric outcome) with a penalty chosen by cross-validation, and the
        shrinkage line. Without it those that the model keeps, its ``references_``, are used.
    references : References or mapping, optional
        Other references: what `fit_references` returned, or "LR" (or "ridge") and "constant" as
        anything that `environment_errors` takes as a model.
    stable_features : sequence of str, optional
        The true stable features, if they are known: adds the oracle, the linear reference on
        these columns of ``train``, and the gaps closed.
    baselines : mapping from label to fitted model, optional
        Other models to show next to this one.
    level, n_bootstrap : float, int
        Level of the intervals and number of bootstrap draws, as in `error_interval`.
    random_state : int, RandomState or None
        Seed of the bootstrap and of the draws in which a feature is redrawn or restored.

    Returns
    -------
    StabilityReport
        Prints as a table; ``to_frame()`` gives the errors, ``to_html(path)`` writes the page.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from stablepred import stability_report
    >>> from stablepred.data import SyntheticWorld
    >>> world = SyntheticWorld("s_indep_v")
    >>> train = world.sample(2000, bias_rate=0.75, random_state=0)
    >>> model = LogisticRegression().fit(train.X, train.y)
    >>> tests = [world.sample(2000, bias_rate=r, random_state=1) for r in (0.1, 0.5, 0.9)]
    >>> report = stability_report(model, tests)
    >>> report.worst, report.breakers["feature"][0] in world.biased_features
    ('r=0.1', True)
    """
    started = time.perf_counter()
    metric, others = Metric.of(error), (baselines or {}).values()
    tables = check_environments(environments, model, *others)
    check_interval(level, n_bootstrap)
    if len(tables) < 2:
        raise InputError(
            "stability_report compares environments, but got a single one "
            f"({tables[0].name!r}). Pass two or more, or use stress_test(model, X, y)."
        )
    trained = None if train is None else _read_training_table(train, tables[0], model)
    seed, facts = root_seed(random_state), model_facts(model)
    beside, notes = find_references(model, references, trained)
    if stable_features is not None:
        beside["oracle"] = _fit_oracle(trained, list(stable_features))
    predicted = predict_outcomes(model, tables)
    methods = _label_methods(facts.name, predicted, baselines or {}, beside)
    comparison, draws = compare(methods, beside, tables, metric, level, n_bootstrap, seed, notes)
    errors = comparison.errors.iloc[0]
    best, worst = tables[int(errors.argmin())], tables[int(errors.argmax())]
    asked = any(hasattr(model, name) for name in ("predict_proba", "predict", "__call__"))
    breakers = rank_breakers(model, best, worst, metric, seed) if asked else None
    outcome = np.concatenate([t.y for t in tables]).astype(np.float64)
    frame = interval_frame(errors, draws, level)
    frame["predicted"] = pd.Series({name: p.mean() for name, p in predicted.items()})
    frame["observed"] = pd.Series({t.name: np.mean(t.y) for t in tables})
    run = {} if trained is None else {"trained on": f"{trained.name}: {len(trained.y):,} rows"}
    run |= {
        "intervals": f"{n_bootstrap:,} bootstrap samples of the rows",
        "seed of the report": str(seed),
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "took": f"{time.perf_counter() - started:.1f} s",
        "stablepred": __version__,
        "Python": platform.python_version(),
    }
    return StabilityReport(
        errors=frame,
        breakers=breakers,
        best=best.name,
        worst=worst.name,
        error=metric.name,
        level=level,
        comparison=comparison,
        constant=is_constant(np.concatenate(list(predicted.values())), outcome),
        facts=facts,
        rows=pd.Series({t.name: len(t.y) for t in tables}),
        run=run | {name: version(name) for name in ("numpy", "scikit-learn", "torch")},
    )


def find_references(
    model: Any, given: References | Mapping[str, Any] | None, train: Table | None
) -> tuple[dict[str, Any], list[str]]:
    """The references by role, and why the linear one is missing.

    Those that were given, else fitted on ``train``, else kept by the model itself.
    """
    if given is None and train is not None:
        given = fit_references(train.X, train.y)
    elif given is None:
        kept = getattr(getattr(model, "best_estimator_", model), "references_", None)
        given = kept if isinstance(kept, References) and kept.n_classes <= 2 else {}
    if isinstance(given, Mapping):
        return dict(given), []
    notes = [f"{given.linear_name} is left out: {given.note}"] if given.note else []
    return dict(given.predictors()), notes


def _fit_oracle(train: Table | None, features: list[str]) -> Any:
    """The linear reference on the features that are known to be stable."""
    if train is None or not features:
        raise InputError(
            "stable_features names the columns of an oracle, which is fitted on train: pass both, "
            "or neither."
        )
    if missing := [name for name in features if name not in train.X.columns]:
        raise InputError(f"the oracle needs the stable features {missing}, which X lacks.")
    return fit_references(train.X[features], train.y).predict_linear


def _label_methods(
    name: str, model: Any, baselines: Mapping[str, Any], references: Mapping[str, Any]
) -> dict[str, Any]:
    """The model and the baselines by label; labels must not clash."""
    name = f"{name} (model)" if name in REFERENCES else name
    others = {str(key): other for key, other in baselines.items()}
    taken = [n for n in others if n == name or (references and n in REFERENCES)]
    if taken:
        raise InputError(
            f"baselines must not be called {taken}: these names belong to the model and to the "
            "references, which are computed from train. Leave them out or rename them."
        )
    return {name: model} | others


def _read_training_table(train: Table | tuple[Any, Any], like: Table, model: Any) -> Table:
    """The training environment, checked; its features may be of any kind."""
    if isinstance(train, tuple) and not hasattr(train[0], "columns"):
        train = pd.DataFrame(np.asarray(train[0]), columns=like.X.columns), train[1]
    found = check_outcome(read_table(train, "train"), model)
    check_columns(found, like.X.columns, f"environment {like.name!r}")
    return found
