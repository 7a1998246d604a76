"""A method beside others and beside the references, all on the same rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from stablepred._text import percent
from stablepred.evaluation.metrics import SUMMARIES, Metric, percentiles, summarise
from stablepred.evaluation.predictions import FloatArray, Table, predict_outcomes
from stablepred.evaluation.shrinkage import best_shrunk, gaps_closed, line_of, shrink

LINEAR = ("LR", "ridge")  # the linear reference of classes, and of numbers
REFERENCES = (*LINEAR, "constant", "oracle")


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
    from a paired bootstrap over the rows within environments. A single environment has no
    stability.
    """

    other: str
    role: str
    by_environment: FloatArray
    average: Interval
    stability: Interval | None

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
        By method: model, baseline, LR (or ridge), constant or oracle.
    line : DataFrame or None
        The shrinkage line, where there are a linear reference and a constant.
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
        linear = next((name for name in LINEAR if name in at), None)
        if linear and "oracle" in at:
            gaps = [gaps_closed(at[linear], errors, at["oracle"]) for errors in rows]
            frame[["average_gap", "stability_gap"]] = np.array(gaps)
        if self.line is not None:
            frame["shrunk_better"] = [best_shrunk(e, self.line) is not None for e in rows]
        return frame


def compare(
    methods: Mapping[str, Any],
    references: Mapping[str, Any],
    tables: Sequence[Table],
    metric: Metric,
    level: float,
    n_bootstrap: int,
    seed: int,
    notes: Sequence[str] = (),
) -> tuple[Comparison, FloatArray]:
    """Evaluate methods by label beside each other and beside references by role.

    The first method is the model that the others are compared with. Also returns its errors on
    the bootstrap samples: (draws, E).
    """
    model, *_ = methods
    roles = dict.fromkeys(methods, "baseline") | {model: "model"} | {n: n for n in references}
    predicted = {
        name: predict_outcomes(method, tables)
        for name, method in (dict(methods) | dict(references)).items()
    }
    errors = pd.DataFrame({n: metric.errors(tables, p) for n, p in predicted.items()}).T
    line, every = None, errors
    linear = next((name for name in LINEAR if name in references), None)
    if linear and "constant" in references and len(tables) > 1:
        base = float(predicted["constant"][tables[0].name][0])
        line = line_of(predicted[linear], base, tables, metric)
        share = best_shrunk(errors.T[model], line)
        if share is not None and 0 < share < 1:
            name = f"{linear} pulled to the constant by {percent(1 - share)}"
            predicted[name] = shrunk = shrink(predicted[linear], base, share)
            every = pd.concat([errors, metric.errors(tables, shrunk).to_frame().T])
    draws = metric.resample(tables, list(predicted.values()), n_bootstrap, seed)
    differences = _compare_errors(every.to_numpy(), draws, list(predicted), roles, level)
    return Comparison(errors, roles, line, differences, tuple(notes)), draws[0]


def _compare_errors(
    errors: FloatArray, draws: FloatArray, names: list[str], roles: dict[str, str], level: float
) -> tuple[Difference, ...]:
    """The first method against each of the others; ``errors`` is (methods, E)."""
    summary = summarise if errors.shape[1] > 1 else _average_only
    values = summary(errors)
    low, high = percentiles((summary(draws[:1]) - summary(draws)).swapaxes(0, 1), level)
    ends = np.stack([values[0] - values, low, high], axis=-1)  # (methods, summaries, 3)
    found = []
    for name, gaps, of_one in list(zip(names, errors[0] - errors, ends, strict=True))[1:]:
        average, *rest = (Interval(*map(float, end)) for end in of_one)
        role = roles.get(name, "shrunk")
        found.append(Difference(name, role, gaps, average, rest[0] if rest else None))
    return tuple(found)


def _average_only(errors: FloatArray) -> FloatArray:
    return errors.mean(-1, keepdims=True)
