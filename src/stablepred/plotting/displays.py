"""Pictures of errors by environment, balance, effects, weights, and the price of stability."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from stablepred._random import RandomState, root_seed
from stablepred._text import MINUS, count_noun, error_name, join_words, percent
from stablepred.evaluation.diagnostics import BalanceReport, model_facts
from stablepred.evaluation.diagnostics import effective_share as share_of
from stablepred.evaluation.metrics import Metric, check_interval
from stablepred.evaluation.predictions import Environments, check_environments
from stablepred.evaluation.price import stability_price
from stablepred.evaluation.reports import StabilityReport
from stablepred.evaluation.verdict import REFERENCES, Comparison, compare_errors
from stablepred.exceptions import InputError
from stablepred.plotting.rows import (
    BASELINES,
    MODEL,
    MOST_ROWS,
    QUIET,
    Display,
    Marks,
    draw_rows,
    method_looks,
)

VERDICTS = {"stable": ("o", MODEL), "undecided": ("D", "#a67c0a"), "noisy": ("X", QUIET)}


def _found(model: Any, value: Any, name: str) -> Any:
    if value is None:
        raise InputError(
            f"{model_facts(model).name} has no {name}. Fit a model that has it, for example "
            "GBRClassifier."
        )
    return value


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
            From name to whatever `environment_errors` takes as a model.
        environments, error : Environment, (X, y), or a list or mapping of them; and str
            As in `environment_errors`.
        level, n_bootstrap, random_state : float, int, seed
            Of the intervals of the first model, over the rows of each environment.
        ax : matplotlib Axes, optional
            Where to draw; by default a figure of its own.
        """
        check_interval(level, n_bootstrap)
        metric, tables = Metric.of(error), check_environments(environments, *models.values())
        options = metric, level, n_bootstrap, root_seed(random_state)
        return cls._from_comparison(compare_errors(models, {}, tables, *options), metric.name, ax)

    @classmethod
    def from_report(cls, report: StabilityReport, *, ax: Axes | None = None) -> Self:
        """Draw the errors of a stability report."""
        return cls._from_comparison(report.comparison, report.error, ax)

    @classmethod
    def _from_comparison(cls, found: Comparison, error: str, ax: Axes | None) -> Self:
        low, high = found.intervals.iloc[: found.errors.shape[1], 1:].to_numpy().T
        own = {n: n for n in found.errors.index[1:] if n in REFERENCES}
        return cls(found.errors, low=low, high=high, roles=found.roles | own, error=error).plot(ax)

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


@dataclass(eq=False, repr=False)
class BalanceDisplay(Display):
    """Largest absolute imbalance of each treatment, before and after weighting.

    Parameters
    ----------
    report : BalanceReport
        ``balance_report_`` of a fitted model.
    """

    report: BalanceReport

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None) -> Self:
        """Draw the ``balance_report_`` of a fitted model, also of the last step of a pipeline."""
        return cls(_found(model, model_facts(model).balance, "balance_report_")).plot(ax)

    def plot(self, ax: Axes | None = None, *, n_treatments: int = MOST_ROWS) -> Self:
        """Draw the treatments, the largest imbalance before weighting first."""
        frame = self.report.to_frame().sort_values("largest_before", ascending=False, kind="stable")
        frame = frame.head(n_treatments)
        before, after = frame["largest_before"], frame["largest_after"]
        series = [
            Marks("after", after, ("o", MODEL), since=before),
            Marks("before", before, ("o", QUIET), hollow=True),
        ]
        name = "largest absolute imbalance"
        return draw_rows(self, ax, list(frame.index), series, name, zero=True)


@dataclass(eq=False, repr=False)
class VariableEffectsDisplay(Display):
    """Effect of every variable on the outcome, with its interval and the model's verdict.

    Parameters
    ----------
    effects : DataFrame
        Columns ``feature``, ``effect``, ``low``, ``high``, ``verdict``.
    """

    effects: pd.DataFrame

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None) -> Self:
        """Draw ``variables_`` or ``feature_effects_`` of a fitted model."""
        effects = model_facts(model).effects
        return cls(_found(model, effects, "variables_ or feature_effects_")).plot(ax)

    def plot(self, ax: Axes | None = None, *, n_variables: int = MOST_ROWS) -> Self:
        """Draw the variables, the largest absolute effect first."""
        frame = self.effects[self.effects["verdict"].isin(list(VERDICTS))]  # not the constant ones
        frame = frame.sort_values("effect", key=lambda e: -e.abs(), kind="stable")
        frame = frame.head(n_variables)
        series = []
        for verdict, look in VERDICTS.items():
            own = frame[["effect", "low", "high"]].where(frame["verdict"] == verdict)
            if own["effect"].notna().any():
                series.append(Marks(verdict, own["effect"], look, own["low"], own["high"]))
        return draw_rows(self, ax, list(frame["feature"]), series, "effect", zero=True)


class WeightsDisplay(Display):
    """Distribution of balancing weights, with the share of rows that they are worth.

        effective share = (sum w)^2 / (n sum w^2)

    is 1 for equal weights; a mean under weights varies as one over that share of the rows.

    Parameters
    ----------
    weights : array of shape (n_samples,)
        Weights that are not negative; rows of weight zero took no part.
    count : array of shape (n_samples,), optional
        How many rows each weight stands for; one if not given.
    effective_share : float, optional
        Computed from the weights if not given.
    """

    def __init__(
        self,
        weights: ArrayLike,
        *,
        count: ArrayLike | None = None,
        effective_share: float | None = None,
    ) -> None:
        w = np.asarray(weights, dtype=np.float64)
        if w.ndim != 1 or not (np.isfinite(w) & (w >= 0)).all() or not w.any():
            raise InputError(
                "weights must be finite, not negative and not all zero, a value for each row, but "
                f"are {w}."
            )
        rows = np.ones(len(w)) if count is None else np.asarray(count, dtype=np.float64)
        self.weights, self.count = w[w > 0], rows[w > 0]
        self.effective_share = share_of(w, rows) if effective_share is None else effective_share

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None) -> Self:
        """Draw ``sample_weight_`` of a fitted model, or ``weights_`` of a balancer."""
        weights = getattr(model, "sample_weight_", getattr(model, "weights_", None))
        weights = _found(model, weights, "sample_weight_ or weights_")
        count, share = getattr(model, "row_count_", None), model_facts(model).effective_share
        return cls(weights, count=count, effective_share=share).plot(ax)

    def plot(self, ax: Axes | None = None, *, bins: int = 40) -> Self:
        """Draw a histogram of the weights, scaled to mean one."""
        ax = self._take_axes(ax, 3.2)
        share = self.count / self.count.sum()
        ax.hist(self.weights / (share @ self.weights), bins=bins, weights=share, color=MODEL)
        ax.axvline(1, color=QUIET, lw=1, ls=(0, (3, 3)))
        ax.set(xlabel="weight (mean 1)", ylabel="share of rows")
        ax.set_title(f"effective share {percent(self.effective_share)}", loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        return self


@dataclass(eq=False, repr=False)
class StabilityPriceDisplay(Display):
    """Error on training rows beside error in made environments, one variable less per row.

    Parameters
    ----------
    table : DataFrame
        As `stability_price` returns it.
    """

    table: pd.DataFrame

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: ArrayLike, *, n_steps: int = 12, ax: Axes | None = None
    ) -> Self:
        """Compute the path for a fitted model on its training rows and draw it."""
        return cls(stability_price(model, X, y, n_steps=n_steps)).plot(ax)

    @classmethod
    def from_table(cls, table: pd.DataFrame, *, ax: Axes | None = None) -> Self:
        """Draw a path that was computed before."""
        return cls(table).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the path from top to bottom."""
        names = [
            f"{MINUS} {join_words(left, most=1)}" if left else f"all {count_noun(n, 'variable')}"
            for n, left in zip(self.table["n_variables"], self.table["dropped"], strict=True)
        ]
        series = [
            Marks("made environments", self.table["error_made"], ("o", MODEL)),
            Marks("training rows, held out", self.table["error_training"], BASELINES[3]),
        ]
        return draw_rows(self, ax, names, series, "error (RMSE)", joined=True)
