"""A model beside others and beside the references, all computed in one run."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from stablepred.evaluation.metrics import (
    ErrorFunction,
    Table,
    average_error,
    environment_errors,
    stability_error,
    worst_error,
)
from stablepred.evaluation.references import (
    ConstantPredictor,
    Oracle,
    beaten_by_shrinkage,
    gaps_closed,
    shrinkage_line,
)
from stablepred.exceptions import InputError

REFERENCES = ("LR", "constant", "oracle")


@dataclass(frozen=True)
class Comparison:
    """Errors of a model, of others, and of the references.

    Attributes
    ----------
    errors : DataFrame
        One row per method, the model first; one column per environment.
    roles : dict
        By method: model, baseline, LR, constant or oracle.
    line : DataFrame or None
        The shrinkage line, where there is an LR.
    notes : tuple of str
        What is missing, and why.
    """

    errors: pd.DataFrame
    roles: dict[str, str]
    line: pd.DataFrame | None
    notes: tuple[str, ...]

    def of(self, role: str) -> pd.Series | None:
        """Errors per environment of the model or of a reference, if it is there."""
        for name, its in self.roles.items():
            if its == role:
                return self.errors.T[name]
        return None

    def summary(self) -> pd.DataFrame:
        """Average, stability and worst error; gaps closed and the shrinkage line, where known."""
        lr, oracle = self.of("LR"), self.of("oracle")
        rows = []
        for _, errors in self.errors.iterrows():
            row: dict[str, Any] = {
                "Average_Error": average_error(errors),
                "Stability_Error": stability_error(errors),
                "Worst_Error": worst_error(errors),
            }
            if lr is not None and oracle is not None:
                row["average_gap"], row["stability_gap"] = gaps_closed(lr, errors, oracle)
            if self.line is not None:
                row["shrunk_better"] = beaten_by_shrinkage(errors, self.line)
            rows.append(row)
        return pd.DataFrame(rows, index=self.errors.index)

    def better_in_both(self) -> list[str]:
        """Methods, but for the oracle, with smaller average and stability error than the model."""
        summary = self.summary()
        average, stability = summary["Average_Error"], summary["Stability_Error"]
        better = (average < average.iloc[0]) & (stability < stability.iloc[0])
        return [str(name) for name in summary.index[better] if self.roles[str(name)] != "oracle"]

    def best_shrunk(self) -> float | None:
        """Share of LR at the most accurate point of the line that beats the model in both errors.

        None where no point does.
        """
        model = self.errors.iloc[0]
        if self.line is None or not beaten_by_shrinkage(model, self.line):
            return None
        steady = self.line[self.line["Stability_Error"] < stability_error(model)]
        return float(steady.index[int(steady["Average_Error"].argmin())])


def compare(
    name: str,
    model: Any,
    tables: list[Table],
    error: str | ErrorFunction,
    *,
    train: Table | None,
    stable_features: Sequence[str] | None,
    baselines: Mapping[str, Any] | None,
) -> Comparison:
    """Evaluate a model beside ``baselines`` and beside what can be fitted on ``train``."""
    baselines = {str(key): other for key, other in (baselines or {}).items()}
    if name in REFERENCES:
        name = f"{name} (model)"
    taken = [n for n in baselines if n == name or (train is not None and n in REFERENCES)]
    if taken:
        raise InputError(
            f"baselines must not be called {taken}: these names belong to the model and to the "
            "references, which are computed from train. Leave them out or rename them."
        )
    references, notes = ({}, []) if train is None else _references(train, tables, stable_features)
    methods = {name: model} | baselines | references
    roles = {n: n if n in references else "baseline" for n in methods} | {name: "model"}
    errors = pd.DataFrame({n: environment_errors(m, tables, error) for n, m in methods.items()}).T
    line = None
    if train is not None and "LR" in references:
        line = shrinkage_line(references["LR"], train, tables, error)
    return Comparison(errors, roles, line, tuple(notes))


def _references(
    train: Table, tables: list[Table], stable_features: Sequence[str] | None
) -> tuple[dict[str, Any], list[str]]:
    """LR, constant and oracle as far as they can be had, and notes on what is missing."""
    references: dict[str, Any] = {}
    notes: list[str] = []
    kinds: dict[str, Sequence[Any]] = {"LR": list(train.X.columns)}
    if stable_features is not None:
        kinds["oracle"] = list(stable_features)
    for name, columns in kinds.items():
        reason = _not_numeric([train, *tables], columns)
        if reason:
            notes.append(f"{name} is left out: it needs finite numbers, but {reason}.")
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if name == "LR":
                references[name] = LogisticRegression().fit(train.X, train.y)
            else:
                references[name] = Oracle(train, columns)
        if any(issubclass(w.category, ConvergenceWarning) for w in caught):
            notes.append(f"{name} stopped at scikit-learn's default limit of iterations.")
    references["constant"] = ConstantPredictor(train)
    return {name: references[name] for name in REFERENCES if name in references}, notes


def _not_numeric(tables: list[Table], columns: Sequence[Any]) -> str:
    """Which column is not a finite number somewhere; nothing if all are."""
    for table in tables:
        for column in columns:
            if column not in table.X.columns:
                continue  # said by whoever uses it
            values = table.X[column]
            if not pd.api.types.is_numeric_dtype(values):
                return f"{str(column)!r} is {values.dtype}"
            if not np.isfinite(values.to_numpy(dtype=np.float64, na_value=np.nan)).all():
                return f"{str(column)!r} has missing or infinite values in {table.name!r}"
    return ""
