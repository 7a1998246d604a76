"""Pulling a model towards a constant, and the share of the gap to the oracle that a method closes.

A model that predicts a constant is perfectly stable and useless, and every model can be made more
stable by pulling its predictions towards a constant. So a method helps only if no point of

    a * LR + (1 - a) * base rate,   a in [0, 1]

has both a smaller Average_Error and a smaller Stability_Error (paper, eqs. 1-2), and it is as good
as the smaller of the two gaps to the oracle that it closes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from stablepred.evaluation.metrics import (
    SUMMARIES,
    ErrorFunction,
    Errors,
    Metric,
    average_error,
    stability_error,
    summarise,
)
from stablepred.evaluation.predictions import (
    Environments,
    Predictions,
    Table,
    check_environments,
    predict_outcomes,
)
from stablepred.exceptions import InputError


class GapsClosed(NamedTuple):
    """Shares of the way from LR to the oracle, one per error; NaN where the oracle is no better."""

    average: float
    stability: float

    @property
    def smaller(self) -> float:
        """The share that counts: a method is as good as the smaller of the two."""
        return float(np.fmin(self.average, self.stability))


def gaps_closed(lr_errors: Errors, method_errors: Errors, oracle_errors: Errors) -> GapsClosed:
    """(LR - method) / (LR - oracle), for Average_Error and Stability_Error separately.

    Each argument holds one error per environment. 1 is as good as the oracle, 0 as LR, less than 0
    worse than LR. Where the oracle is not better than LR there is no gap to close: NaN.
    """
    shares = []
    for summary in (average_error, stability_error):
        lr, method, oracle = (summary(e) for e in (lr_errors, method_errors, oracle_errors))
        shares.append((lr - method) / (lr - oracle) if lr > oracle else float("nan"))
    return GapsClosed(*shares)


def shrinkage_line(
    model: Any,
    train: Table,
    environments: Environments,
    error: str | ErrorFunction = "rmse",
    shares: npt.ArrayLike | None = None,
) -> pd.DataFrame:
    """Errors of a * model + (1 - a) * base rate of ``train`` for a in [0, 1].

    Parameters
    ----------
    model : object
        What `environment_errors` takes; plain logistic regression for the line of the references.
    train : Environment
        Its share of y = 1 is the base rate.
    environments, error : iterable of Environment, str or callable
        As in `environment_errors`; two or more environments.
    shares : array-like, optional
        Values of a; a hundredth apart if not given.

    Returns
    -------
    pandas.DataFrame
        Indexed by a, with columns ``Average_Error`` and ``Stability_Error``.
    """
    metric, tables = Metric.of(error), check_environments(environments)
    base = float(np.mean(train.y))
    return line_of(predict_outcomes(model, tables), base, tables, metric, shares)


def line_of(
    predicted: Predictions,
    base: float,
    tables: Sequence[Table],
    metric: Metric,
    shares: npt.ArrayLike | None = None,
) -> pd.DataFrame:
    """The `shrinkage_line` of predictions that are at hand."""
    grid = np.linspace(0, 1, 101) if shares is None else np.asarray(shares, dtype=np.float64)
    if not ((grid >= 0) & (grid <= 1)).all():
        raise InputError(f"shares must lie in [0, 1], but are {grid.tolist()}.")
    errors = np.array([metric.errors(tables, shrink(predicted, base, a)) for a in grid])
    index = pd.Index(grid, name="share")
    return pd.DataFrame(summarise(errors)[:, :2], index=index, columns=list(SUMMARIES[:2]))


def shrink(predicted: Predictions, base: float, share: float) -> Predictions:
    """Predictions pulled to the base rate, of which ``share`` is left."""
    return {name: share * p + (1 - share) * base for name, p in predicted.items()}


def beaten_by_shrinkage(method_errors: Errors, line: pd.DataFrame) -> bool:
    """Whether some point of a `shrinkage_line` is smaller in both errors than the method."""
    return best_shrunk(method_errors, line) is not None


def best_shrunk(method_errors: Errors, line: pd.DataFrame) -> float | None:
    """Share of the most accurate point of the line that is smaller in both errors, if any is."""
    average, stability = average_error(method_errors), stability_error(method_errors)
    better = line[(line["Average_Error"] < average) & (line["Stability_Error"] < stability)]
    return float(better.index[int(better["Average_Error"].argmin())]) if len(better) else None


def least_shrunk(line: pd.DataFrame, stability: float) -> tuple[float, float, float]:
    """Share and errors of the least shrunk point of a line that is as stable; else the constant."""
    stable = line[line["Stability_Error"] <= stability]
    point = (stable if len(stable) else line.iloc[:1]).reset_index().iloc[-1]
    return float(point["share"]), float(point["Average_Error"]), float(point["Stability_Error"])
