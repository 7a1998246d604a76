"""A method beside others and beside the references, all on the same rows."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from stablepred._text import percent
from stablepred.evaluation.metrics import SUMMARIES, Metric, percentiles, summarise
from stablepred.evaluation.predictions import FloatArray, Table, predict_probabilities
from stablepred.evaluation.references import (
    ConstantPredictor,
    Oracle,
    best_shrunk,
    gaps_closed,
    line_of,
    shrink,
)

REFERENCES = ("LR", "constant", "oracle")


class Interval(NamedTuple):
    """A value with the interval that the rows allow."""

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """-1 or 1 where the whole interval lies on the side of the value, else 0."""
        return int(min(self.value, self.low) > 0) - int(max(self.value, self.high) < 0)


class Difference(NamedTuple):
    """Errors of the model minus those of another method, on the same rows.

    ``by_environment`` has one difference per environment; the intervals of the summaries' come
    from a paired bootstrap over the rows within environments.
    """

    other: str
    role: str
    by_environment: FloatArray
    average: Interval
    stability: Interval

    @property
    def is_everywhere(self) -> bool:
        """Whether one is better in every environment, and by more than chance on average."""
        return bool((self.by_environment * self.average.sign > 0).all())


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
    differences : tuple of Difference
        The model against each other method; also against the most accurate point of the
        shrinkage line that is smaller in both errors, where there is one (role ``"shrunk"``).
    notes : tuple of str
        What is missing, and why.
    """

    errors: pd.DataFrame
    roles: dict[str, str]
    line: pd.DataFrame | None
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()

    def summary(self) -> pd.DataFrame:
        """Average, stability and worst error; gaps closed and the shrinkage line, where known."""
        values = summarise(self.errors.to_numpy(dtype=np.float64))
        frame = pd.DataFrame(values, index=self.errors.index, columns=list(SUMMARIES))
        rows = [errors for _, errors in self.errors.iterrows()]
        at = dict(zip(self.roles.values(), rows, strict=True))
        if {"LR", "oracle"} <= at.keys():
            gaps = [gaps_closed(at["LR"], errors, at["oracle"]) for errors in rows]
            frame[["average_gap", "stability_gap"]] = np.array(gaps)
        if self.line is not None:
            frame["shrunk_better"] = [best_shrunk(e, self.line) is not None for e in rows]
        return frame


def compare(
    methods: Mapping[str, Any],
    tables: Sequence[Table],
    metric: Metric,
    train: Table | None,
    stable_features: Sequence[str] | None,
    level: float,
    n_bootstrap: int,
    seed: int,
) -> tuple[Comparison, FloatArray]:
    """Evaluate methods by label beside each other and beside what can be fitted on ``train``.

    The first method is the model that the others are compared with. Also returns its errors on
    the bootstrap samples: (draws, E).
    """
    references, notes = ({}, []) if train is None else _references(train, tables, stable_features)
    model, *_ = methods
    roles = dict.fromkeys(methods, "baseline") | {model: "model"} | {n: n for n in references}
    predicted = {
        name: predict_probabilities(method, tables)
        for name, method in (dict(methods) | references).items()
    }
    errors = pd.DataFrame({n: metric.errors(tables, p) for n, p in predicted.items()}).T
    line, every = None, errors
    if train is not None and "LR" in references:
        line = line_of(predicted["LR"], train, tables, metric)
        share = best_shrunk(errors.T[model], line)
        if share is not None and 0 < share < 1:
            name = f"LR pulled to the constant by {percent(1 - share)}"
            predicted[name] = shrunk = shrink(predicted["LR"], train, share)
            every = pd.concat([errors, metric.errors(tables, shrunk).to_frame().T])
    draws = metric.resample(tables, list(predicted.values()), n_bootstrap, seed)
    gaps = every.iloc[0].to_numpy() - every.to_numpy()
    values = summarise(every.to_numpy())
    low, high = percentiles((summarise(draws[:1]) - summarise(draws)).swapaxes(0, 1), level)
    ends = np.stack([values[0] - values, low, high], axis=-1)  # (methods, summaries, 3)
    differences = tuple(
        Difference(name, roles.get(name, "shrunk"), gap, *(Interval(*map(float, e)) for e in two))
        for name, gap, two in zip(predicted, gaps, ends[:, :2], strict=True)
        if name != model
    )
    return Comparison(errors, roles, line, differences, tuple(notes)), draws[0]


def _references(
    train: Table, tables: Sequence[Table], stable_features: Sequence[str] | None
) -> tuple[dict[str, Any], list[str]]:
    """LR, constant and oracle as far as they can be had, and notes on what is missing."""
    wanted: dict[str, tuple[Sequence[Any], Callable[[], Any]]] = {
        "LR": (list(train.X.columns), lambda: LogisticRegression().fit(train.X, train.y)),
        "constant": ([], lambda: ConstantPredictor(train)),
    }
    if stable_features is not None:
        wanted["oracle"] = (stable_features, lambda: Oracle(train, stable_features))
    references, notes = {}, []
    for name, (columns, fit) in wanted.items():
        reason = _not_numeric([train, *tables], columns)
        if reason:
            notes.append(f"{name} is left out: it needs finite numbers, but {reason}.")
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            references[name] = fit()
        if any(issubclass(w.category, ConvergenceWarning) for w in caught):
            notes.append(f"{name} stopped at scikit-learn's default limit of iterations.")
    return references, notes


def _not_numeric(tables: Sequence[Table], columns: Sequence[Any]) -> str:
    """Which column is not a finite number somewhere; empty if all are."""
    for table in tables:
        for name, values in table.X.filter(items=list(columns)).items():
            if not pd.api.types.is_numeric_dtype(values):
                return f"{str(name)!r} is {values.dtype}"
            if not np.isfinite(values.to_numpy(dtype=np.float64, na_value=np.nan)).all():
                return f"{str(name)!r} has missing or infinite values in {table.name!r}"
    return ""
