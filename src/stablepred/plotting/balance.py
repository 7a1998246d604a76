"""The love plot: how unequal the groups of each treatment are, before and after weighting."""

from typing import Any, Self

from matplotlib.axes import Axes

from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.evaluation.facts import model_facts
from stablepred.exceptions import InputError
from stablepred.plotting.rows import MODEL, MOST_ROWS, QUIET, Display, Marks, draw_rows


class BalanceDisplay(Display):
    """Largest absolute imbalance of each treatment, before and after weighting.

    Parameters
    ----------
    report : BalanceReport
        ``balance_report_`` of a fitted model.
    """

    def __init__(self, report: BalanceReport) -> None:
        self.report = report

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
