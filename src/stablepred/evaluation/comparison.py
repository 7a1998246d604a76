"""A method beside others and beside the references, all on the same rows.

A model that predicts a constant is perfectly stable and useless, and every model can be made more
stable by pulling its predictions towards a constant. So a method helps only if no point of

    a * LR + (1 - a) * base rate,   a in [0, 1]

has both a smaller Average_Error and a smaller Stability_Error (paper, eqs. 1-2), and it is as good
as the smaller of the two gaps to the oracle that it closes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from stablepred.evaluation.metrics import SUMMARIES, Metric, percentiles, summarise
from stablepred.evaluation.predictions import FloatArray, Predictions, Table, predict_outcomes

LINEAR = ("LR", "ridge")  # the linear reference of classes, and of numbers
REFERENCES = (*LINEAR, "constant", "oracle")


class Interval(NamedTuple):
    """A value with the interval that the rows allow."""

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """-1 or 1 where the whole interval lies on the side of the value, else (or if NaN) 0."""
        return int(min(self.low, self.value) > 0) - int(max(self.high, self.value) < 0)


class Difference(NamedTuple):
    """Errors of the model minus those of another method, on the same rows.

    The intervals come from a paired bootstrap over the rows within environments. A single
    environment has no stability.
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
    """Errors of a model, of others, and of the references."""

    errors: pd.DataFrame  # one row per method, the model first; one column per environment
    roles: dict[str, str]  # by method: model, baseline, LR (or ridge), constant or oracle
    line: pd.DataFrame | None  # of shrinkage, where there are a linear reference and a constant
    differences: tuple[Difference, ...]  # the model against each other method
    notes: tuple[str, ...] = ()  # what is missing, and why

    def summary(self) -> pd.DataFrame:
        """Average, stability and worst error; gaps closed and the shrinkage line, where known."""
        errors = self.errors.to_numpy(dtype=np.float64)
        frame = pd.DataFrame(summarise(errors), self.errors.index, list(SUMMARIES))
        at = dict(zip(self.roles.values(), errors, strict=True))
        linear = next((name for name in LINEAR if name in at), None)
        if linear and "oracle" in at:
            gaps = gaps_closed(at[linear], errors, at["oracle"])
            frame[["average_gap", "stability_gap"]] = gaps
        if self.line is not None:
            frame["shrunk_better"] = [best_shrunk(e, self.line) is not None for e in errors]
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
    every = {**methods, **references}
    predicted = {name: predict_outcomes(method, tables) for name, method in every.items()}
    errors = pd.DataFrame({n: metric.errors(tables, p) for n, p in predicted.items()}).T
    line = None
    linear = next((name for name in LINEAR if name in references), None)
    if linear and "constant" in references and len(tables) > 1:
        base = float(predicted["constant"][tables[0].name][0])
        line = shrinkage_line(predicted[linear], base, tables, metric)
    draws = metric.resample(tables, list(predicted.values()), n_bootstrap, seed)
    differences = _compare_errors(errors, draws, roles, level)
    return Comparison(errors, roles, line, differences, tuple(notes)), draws[0]


def _compare_errors(
    frame: pd.DataFrame, draws: FloatArray, roles: dict[str, str], level: float
) -> tuple[Difference, ...]:
    """The first method against each of the others."""
    errors = frame.to_numpy()
    several = errors.shape[1] > 1  # a single environment has an average only
    values, drawn = (summarise(e) if several else e.mean(-1)[..., None] for e in (errors, draws))
    low, high = percentiles((drawn[:1] - drawn).swapaxes(0, 1), level)
    ends = np.stack([values[0] - values, low, high], axis=-1)  # (methods, summaries, 3)
    found = []
    for name, gaps, of_one in zip(frame.index[1:], errors[0] - errors[1:], ends[1:], strict=True):
        average, *rest = (Interval(*map(float, end)) for end in of_one)
        found.append(Difference(name, roles[name], gaps, average, rest[0] if rest else None))
    return tuple(found)


def gaps_closed(lr_errors: Any, method_errors: Any, oracle_errors: Any) -> FloatArray:
    """(LR - method) / (LR - oracle), for Average_Error and for Stability_Error: (..., 2).

    1 is as good as the oracle, 0 as LR. Where the oracle is not better than LR there is no gap to
    close: NaN.
    """
    lr, method, oracle = (
        summarise(np.asarray(errors))[..., :2]
        for errors in (lr_errors, method_errors, oracle_errors)
    )
    return (lr - method) / np.where(lr > oracle, lr - oracle, np.nan)


# --- the shrinkage line ---


def shrinkage_line(
    predicted: Predictions,
    base: float,
    tables: Sequence[Table],
    metric: Metric,
    shares: npt.ArrayLike | None = None,
) -> pd.DataFrame:
    """Average_Error and Stability_Error of predictions pulled to ``base``, by the share left."""
    grid = np.linspace(0, 1, 101) if shares is None else np.asarray(shares, dtype=np.float64)
    errors = np.array([metric.errors(tables, shrink(predicted, base, a)) for a in grid])
    index = pd.Index(grid, name="share")
    return pd.DataFrame(summarise(errors)[:, :2], index, list(SUMMARIES[:2]))


def shrink(predicted: Predictions, base: float, share: float) -> Predictions:
    """Predictions pulled to the base rate, of which ``share`` is left."""
    return {name: share * p + (1 - share) * base for name, p in predicted.items()}


def best_shrunk(method_errors: Any, line: pd.DataFrame) -> float | None:
    """Share of the most accurate point of the line that is smaller in both errors, if any is."""
    better = line[(line < summarise(np.asarray(method_errors))[:2]).all(axis=1)]
    return float(better.index[int(better["Average_Error"].argmin())]) if len(better) else None


def least_shrunk(line: pd.DataFrame, stability: float) -> tuple[float, float, float]:
    """Share and errors of the least shrunk point of a line that is as stable; else the constant."""
    stable = line[line["Stability_Error"] <= stability]
    point = (stable if len(stable) else line.iloc[:1]).reset_index().iloc[-1]
    return float(point["share"]), float(point["Average_Error"]), float(point["Stability_Error"])
