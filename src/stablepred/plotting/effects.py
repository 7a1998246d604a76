"""Effects of the variables with their intervals; the colour is the verdict."""

from typing import Any, Self

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from stablepred.evaluation.facts import model_facts
from stablepred.exceptions import InputError
from stablepred.plotting.rows import MODEL, MOST_ROWS, QUIET, Display, Marks, draw_rows

VERDICTS = {"stable": ("o", MODEL), "undecided": ("D", "#a67c0a"), "noisy": ("X", QUIET)}


class VariableEffectsDisplay(Display):
    """Effect of every variable on the outcome, with its interval and the model's verdict.

    Parameters
    ----------
    effects : DataFrame
        Columns ``feature``, ``effect``, ``low``, ``high``, ``verdict``.
    """

    def __init__(self, effects: pd.DataFrame) -> None:
        self.effects = effects

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
