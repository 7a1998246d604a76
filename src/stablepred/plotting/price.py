"""The price of stability: errors from all variables down to the stable ones."""

from typing import Any, Self

import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from stablepred._text import MINUS, count_noun, join_words
from stablepred.evaluation.price import stability_price
from stablepred.plotting.rows import BASELINES, MODEL, Display, Marks, draw_rows


class StabilityPriceDisplay(Display):
    """Error on training rows beside error in made environments, one variable less per row.

    Parameters
    ----------
    table : DataFrame
        As `stability_price` returns it: ``n_variables``, ``dropped`` (a name or several),
        ``error_training``, ``error_made``.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

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
        names = list(map(_name_step, self.table["n_variables"], self.table["dropped"]))
        series = [
            Marks("made environments", self.table["error_made"], ("o", MODEL)),
            Marks("training rows, held out", self.table["error_training"], BASELINES[3]),
        ]
        return draw_rows(self, ax, names, series, "error (RMSE)", joined=True)


def _name_step(n_variables: int, dropped: Any) -> str:
    """What is left out in a step; the first leaves out nothing."""
    left = [dropped] if isinstance(dropped, str) else list(dropped)
    if not any(left):
        return f"all {count_noun(int(n_variables), 'variable')}"
    return f"{MINUS} {join_words(list(map(str, left)), most=1)}"
