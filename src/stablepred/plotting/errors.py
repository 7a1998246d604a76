"""Errors of one model or of several by environment."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from stablepred._random import RandomState, root_seed
from stablepred._text import error_name
from stablepred.evaluation.comparison import REFERENCES
from stablepred.evaluation.facts import model_facts
from stablepred.evaluation.metrics import SUMMARIES, Metric, check_interval, percentiles
from stablepred.evaluation.predictions import Environments, check_environments, predict_outcomes
from stablepred.evaluation.reports import StabilityReport
from stablepred.plotting.rows import MOST_ROWS, Display, Marks, draw_rows, method_looks


@dataclass(eq=False, repr=False)
class EnvironmentErrorsDisplay(Display):
    """Errors by environment, one mark per model; the first model has intervals.

    Parameters
    ----------
    errors : DataFrame
        One row per model, the first of which is drawn on top; one column per environment.
    low, high : array of shape (n_environments,), optional
        Interval of the errors of the first model.
    roles : mapping, optional
        By model: "model", "LR", "constant", "oracle" or "baseline", which decides its look.
    error : str
        As in `environment_errors`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from stablepred.data import SyntheticWorld
    >>> from stablepred.plotting import EnvironmentErrorsDisplay
    >>> world = SyntheticWorld("s_indep_v")
    >>> train = world.sample(500, bias_rate=0.75, random_state=0)
    >>> model = LogisticRegression().fit(train.X, train.y)
    >>> tests = [world.sample(500, bias_rate=r, random_state=1) for r in (0.1, 0.5, 0.9)]
    >>> display = EnvironmentErrorsDisplay.from_estimator(model, tests)
    >>> display.ax_.get_xlabel()
    'RMSE'
    """

    errors: pd.DataFrame
    _: KW_ONLY
    low: Any = None
    high: Any = None
    roles: Mapping[str, str] | None = None
    error: str = "rmse"

    @classmethod
    def from_estimator(cls, model: Any, environments: Environments, **options: Any) -> Self:
        """Draw the errors of one fitted classifier or regressor; options as below."""
        return cls.from_environments({model_facts(model).name: model}, environments, **options)

    @classmethod
    def from_environments(
        cls,
        models: Mapping[str, Any],
        environments: Environments,
        *,
        error: str = "rmse",
        level: float = 0.95,
        n_bootstrap: int = 200,
        random_state: RandomState = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the errors of fitted models by name.

        Parameters
        ----------
        models : mapping
            From name to fitted model. A regressor is asked to ``predict``; anything else is what
            `environment_errors` takes.
        environments : Environment, (X, y), or a list or mapping of them
            With distinct names and the same columns.
        error : str
            As in `environment_errors`; for regressors "rmse".
        level, n_bootstrap, random_state : float, int, seed
            Of the intervals of the first model, over the rows of each environment.
        ax : matplotlib Axes, optional
            Where to draw; by default a figure of its own.
        """
        check_interval(level, n_bootstrap)
        metric = Metric.of(error)
        tables = check_environments(environments, *models.values())
        predicted = {str(name): predict_outcomes(model, tables) for name, model in models.items()}
        errors = pd.DataFrame({n: metric.errors(tables, p) for n, p in predicted.items()}).T
        first = [next(iter(predicted.values()))]
        draws = metric.resample(tables, first, n_bootstrap, root_seed(random_state))
        low, high = percentiles(draws[0], level)
        roles = {n: n if n in REFERENCES else "baseline" for n in errors.index}
        roles[errors.index[0]] = "model"
        return cls(errors, low=low, high=high, roles=roles, error=metric.name).plot(ax)

    @classmethod
    def from_report(cls, report: StabilityReport, *, ax: Axes | None = None) -> Self:
        """Draw the errors of a stability report."""
        errors, roles = report.comparison.errors, report.comparison.roles
        low, high = report.errors.iloc[: -len(SUMMARIES)][["low", "high"]].to_numpy().T
        return cls(errors, low=low, high=high, roles=roles, error=report.error).plot(ax)

    def plot(self, ax: Axes | None = None, *, n_environments: int = MOST_ROWS) -> Self:
        """Draw in the order given; of more, the environments where the first errs most."""
        shown = np.arange(self.errors.shape[1])
        if len(shown) > n_environments:
            shown = np.argsort(-self.errors.iloc[0].to_numpy(), kind="stable")[:n_environments]
        looks = method_looks(self.roles or dict.fromkeys(self.errors.index, "baseline"))
        errors = self.errors.to_numpy()[:, shown]
        series = [Marks(n, row, look) for (n, look), row in zip(looks.items(), errors, strict=True)]
        if self.low is not None and self.high is not None:
            low, high = (np.asarray(ends)[shown] for ends in (self.low, self.high))
            series[0] = series[0]._replace(low=low, high=high)
        names, joined = list(self.errors.columns[shown]), len(series) > 1
        return draw_rows(self, ax, names, series, error_name(self.error), joined=joined)
