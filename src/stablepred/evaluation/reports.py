"""How stable any fitted model is in given environments, and what breaks it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from stablepred._extras import require
from stablepred._random import RandomState, root_seed
from stablepred._version import __version__
from stablepred.evaluation.diagnostics import ModelFacts, model_facts
from stablepred.evaluation.metrics import ErrorFunction, Metric, check_interval
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
from stablepred.evaluation.stress import rank_breakers
from stablepred.evaluation.verdict import (
    REFERENCES,
    Comparison,
    compare_errors,
    stability_verdict,
)
from stablepred.exceptions import InputError
from stablepred.html.fragments import Report, first_lines
from stablepred.io.atomic import write_file
from stablepred.validation.environments import is_constant
from stablepred.worlds.environment import take_columns


@dataclass(frozen=True, repr=False)
class StabilityReport(Report):
    """Errors of a model by environment, and what breaks it in the worst one.

    ``errors`` has ``error``, ``low``, ``high`` by environment; then Average_Error, Stability_Error
    and Worst_Error. Beside them the calibration: ``predicted`` and ``observed``, the means of
    predictions and outcome.

    ``breakers`` has one row per feature, the most harmful first: its association with the outcome
    in the best and in the worst environment (difference of the outcome's mean between high and low
    values), the error in the worst environment when the feature is drawn again from its
    distribution given the outcome there (``error_redrawn``) or in the best environment
    (``error_restored``), and the ``harm``, the difference of the two. It is None if only
    predictions were given.
    """

    errors: pd.DataFrame
    breakers: pd.DataFrame | None
    best: str  # the environment with the smallest error
    worst: str
    error: str
    level: float
    comparison: Comparison  # beside the baselines and the references
    constant: bool  # whether the model predicts (nearly) the same probability for every row
    facts: ModelFacts
    rows: pd.Series  # by environment
    run: dict[str, str]  # what was run, in words

    @property
    def verdict(self) -> str:
        """Which model to use, and every reason for doubt."""
        share = self.facts.effective_share
        return stability_verdict(self.comparison, self.error, self.level, self.constant, share)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one HTML file of aggregates, complete or not at all."""
        require("matplotlib", "an HTML page")
        from stablepred.html.page import render
        from stablepred.html.pages import stability_page

        write_file(path, render(stability_page(self)).encode(errors="replace"))

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


def stability_report(
    model: Any,
    environments: Environments,
    error: str | ErrorFunction = "rmse",
    *,
    train: Table | tuple[Any, Any] | None = None,
    references: Mapping[str, Any] | None = None,
    stable_features: Sequence[str] | None = None,
    baselines: Mapping[str, Any] | None = None,
    level: float = 0.95,
    n_bootstrap: int = 500,
    random_state: RandomState = 0,
) -> StabilityReport:
    """Compare a fitted model's errors across environments and report what breaks it.

    Parameters
    ----------
    model, environments, error : object, two or more environments, and str or callable
        As in `environment_errors`.
    train : Environment or tuple (X, y), optional
        Where the model was trained. Adds the references: a constant, logistic regression (ridge
        regression of a numeric outcome) with a penalty chosen by cross-validation, and the
        shrinkage line. Without it those that the model keeps, its ``references_``, are used.
    references : mapping, optional
        Other references: "LR" (or "ridge") and "constant" as anything that `environment_errors`
        takes as a model.
    stable_features : sequence of str, optional
        The true stable features, if they are known: adds the oracle, the linear reference on
        these columns of ``train``, and the gaps closed.
    baselines : mapping from label to fitted model, optional
        Other models to show next to this one.
    level, n_bootstrap, random_state : float, int, seed
        Of the intervals, as in `error_interval`; the seed is also that of the draws in which a
        feature is redrawn or restored.

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
    metric, others = Metric.of(error), {str(key): other for key, other in (baselines or {}).items()}
    tables = check_environments(environments, model, *others.values())
    check_interval(level, n_bootstrap)
    if len(tables) < 2:
        raise InputError(
            "stability_report compares environments, but got a single one. Pass two or more, or "
            "use stress_test(model, X, y)."
        )
    trained = None
    if train is not None:
        trained = check_outcome(read_table(train, "train"), model)
        check_columns(trained, tables[0].X.columns, f"environment {tables[0].name!r}")
    seed, facts = root_seed(random_state), model_facts(model)
    beside, notes = (references, []) if references else _find_references(model, trained)
    if stable_features is not None:
        if trained is None or not stable_features:
            raise InputError(
                "stable_features names the columns of an oracle, which is fitted on train: pass "
                "both, or neither."
            )
        known = take_columns(trained.X, list(stable_features))
        beside = {**beside, "oracle": fit_references(known, trained.y).predict_linear}
    name = f"{facts.name} (model)" if facts.name in REFERENCES else facts.name
    if taken := [key for key in others if key in (name, *beside)]:
        raise InputError(
            f"baselines must not be called {taken}: these names belong to the model and to the "
            "references. Leave them out or rename them."
        )
    predicted = predict_outcomes(model, tables)
    methods = {name: predicted, **others}
    comparison = compare_errors(methods, beside, tables, metric, level, n_bootstrap, seed, notes)
    errors = comparison.errors.iloc[0]
    best, worst = tables[int(errors.argmin())], tables[int(errors.argmax())]
    asked = any(hasattr(model, name) for name in ("predict_proba", "predict", "__call__"))
    frame = comparison.intervals.copy()
    frame["predicted"] = pd.Series({name: p.mean() for name, p in predicted.items()})
    frame["observed"] = pd.Series({t.name: np.mean(t.y) for t in tables})
    run = {
        "model": facts.name,
        "trained on": "" if trained is None else f"{trained.name}: {len(trained):,} rows",
        "intervals": f"{n_bootstrap:,} bootstrap samples of the rows",
        "seed of the report": str(seed),
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "stablepred": __version__,
    }
    return StabilityReport(
        errors=frame,
        breakers=rank_breakers(model, best, worst, metric, seed) if asked else None,
        best=best.name,
        worst=worst.name,
        error=metric.name,
        level=level,
        comparison=comparison,
        constant=is_constant(
            np.concatenate(list(predicted.values())), np.concatenate([t.y for t in tables])
        ),
        facts=facts,
        rows=pd.Series({t.name: len(t.y) for t in tables}),
        run=run,
    )


def _find_references(model: Any, train: Table | None) -> tuple[Mapping[str, Any], list[str]]:
    """The references by role, and why the linear one is missing: fitted, or kept by the model."""
    found = getattr(getattr(model, "best_estimator_", model), "references_", None)
    if train is not None:
        found = fit_references(train.X, train.y)
    if not isinstance(found, References) or found.n_classes > 2:
        return {}, []
    notes = [f"{found.linear_name} is left out: {found.note}"] if found.note else []
    return found.predictors(), notes
