"""Pictures of one fitted model: balance, effects, weights, and the price of stability."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from stablepred._text import MINUS, count_noun, join_words, percent
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.evaluation.diagnostics import effective_share as share_of
from stablepred.evaluation.facts import model_facts
from stablepred.evaluation.price import stability_price
from stablepred.exceptions import InputError
from stablepred.plotting.rows import (
    BASELINES,
    MODEL,
    MOST_ROWS,
    QUIET,
    Display,
    Marks,
    check_columns,
    draw_rows,
)

VERDICTS = {"stable": ("o", MODEL), "undecided": ("D", "#a67c0a"), "noisy": ("X", QUIET)}


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
        facts = model_facts(model)
        if facts.balance is None:
            raise InputError(
                f"{facts.name} has no balance_report_. Fit a model with balancing weights, for "
                "example GBRClassifier."
            )
        return cls(facts.balance).plot(ax)

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
        facts = model_facts(model)
        if facts.effects is None:
            raise InputError(
                f"{facts.name} has neither variables_ nor feature_effects_. Fit a model that "
                "measures effects, for example StableClassifier."
            )
        return cls(facts.effects).plot(ax)

    def plot(self, ax: Axes | None = None, *, n_variables: int = MOST_ROWS) -> Self:
        """Draw the variables, the largest absolute effect first."""
        check_columns(self.effects, "feature", "effect", "low", "high", "verdict")
        frame = self.effects[self.effects["verdict"].isin(list(VERDICTS))]  # not the constant ones
        frame = frame.sort_values("effect", key=lambda e: -e.abs(), kind="stable")
        frame = frame.head(n_variables)
        series = []
        for verdict, look in VERDICTS.items():
            rows = frame["verdict"] == verdict
            values, low, high = (
                np.where(rows, frame[column], np.nan) for column in ("effect", "low", "high")
            )
            if rows.any():
                series.append(Marks(verdict, values, look, low, high))
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
        if w.ndim != 1 or not np.isfinite(w).all() or (w < 0).any() or not (w > 0).any():
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
        if weights is None:
            raise InputError(
                f"{type(model).__name__} has neither sample_weight_ nor weights_. Fit a model with "
                "balancing weights, for example GBRClassifier, or a GlobalBalancer."
            )
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
        As `stability_price` returns it: ``n_variables``, ``dropped`` (a name or several),
        ``error_training``, ``error_made``.
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
        check_columns(self.table, "n_variables", "dropped", "error_training", "error_made")
        names = []
        for n, dropped in zip(self.table["n_variables"], self.table["dropped"], strict=True):
            left = [dropped] if isinstance(dropped, str) else list(map(str, dropped))
            all_of_them = f"all {count_noun(int(n), 'variable')}"
            names.append(f"{MINUS} {join_words(left, most=1)}" if any(left) else all_of_them)
        series = [
            Marks("made environments", self.table["error_made"], ("o", MODEL)),
            Marks("training rows, held out", self.table["error_training"], BASELINES[3]),
        ]
        return draw_rows(self, ax, names, series, "error (RMSE)", joined=True)
