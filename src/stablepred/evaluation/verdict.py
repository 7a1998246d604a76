"""One honest sentence about a model's stability."""

import pandas as pd

from stablepred.evaluation.comparison import Comparison
from stablepred.evaluation.metrics import average_error, stability_error
from stablepred.html.balance import SMALL_SHARE
from stablepred.html.text import error_name, label, number, percent

# Differences below this are not worth a word.
ALIKE = 0.0005


def stability_verdict(
    comparison: Comparison, error: str, *, constant: bool, effective_share: float | None
) -> str:
    """How much the error moves, beside LR and the constant, and every reason for doubt.

    Parameters
    ----------
    comparison : Comparison
        Of the model with the references, as far as they are known.
    error : str
        Name of the error.
    constant : bool
        Whether the model predicts (nearly) the same for every row.
    effective_share : float or None
        Of the model's weights.
    """
    model = comparison.errors.iloc[0]
    name = label(comparison.errors.index[0]).shown
    sentence = (
        f"Across {len(model)} environments the {error_name(error)} of {name} lies between "
        f"{number(model.min())} and {number(model.max())}"
    )
    lr = comparison.of("LR")
    if lr is not None:
        sentence += (
            f"; beside plain logistic regression ({number(lr.min())} to {number(lr.max())}) it is "
            f"{_beside(model, lr)}"
        )
    base = comparison.of("constant")
    if base is not None and average_error(base) > average_error(model) + ALIKE:
        sentence += f", and more accurate than a constant ({number(average_error(base))})"
    doubts = _doubts(comparison, constant, effective_share)
    return f"{sentence}; but {_joined(doubts)}." if doubts else f"{sentence}."


def _beside(model: pd.Series, other: pd.Series) -> str:
    """Steadier or not, more accurate or not."""
    steady = _sign(stability_error(model) - stability_error(other))
    accurate = _sign(average_error(model) - average_error(other))
    first = {-1: "steadier", 0: "as steady", 1: "less steady"}[steady]
    second = {-1: "more accurate", 0: "as accurate", 1: "less accurate"}[accurate]
    return f"{first} {'but' if steady * accurate < 0 else 'and'} {second} on average"


def _sign(difference: float) -> int:
    return 0 if abs(difference) < ALIKE else (1 if difference > 0 else -1)


def _doubts(comparison: Comparison, constant: bool, share: float | None) -> list[str]:
    doubts = []
    if constant:
        doubts.append("it predicts nearly the same probability for every row")
    base = comparison.of("constant")
    model = comparison.errors.iloc[0]
    if base is not None and not constant and average_error(base) < average_error(model):
        better = (
            "in both errors" if stability_error(base) < stability_error(model) else "on average"
        )
        doubts.append(
            f"a constant is better {better} ({number(average_error(base))} against "
            f"{number(average_error(model))} on average)"
        )
    shrunk = comparison.best_shrunk()
    if shrunk is not None and shrunk > 0:
        doubts.append(
            f"logistic regression pulled to the constant by {percent(1 - shrunk)} is better in "
            "both errors"
        )
    if share is not None and share < SMALL_SHARE:
        doubts.append(f"its weights rest on {percent(share, 1)} of the rows")
    return doubts


def _joined(parts: list[str]) -> str:
    return ", and ".join(parts)


def methods_title(comparison: Comparison) -> str:
    """What the comparison of all methods shows."""
    name = label(comparison.errors.index[0]).shown
    if len(comparison.errors) == 1:
        return f"There is nothing to compare {name} with"
    better = [label(other).shown for other in comparison.better_in_both()]
    if better:
        verb = "is" if len(better) == 1 else "are"
        return f"{', '.join(better)} {verb} better than {name} in both errors"
    if comparison.best_shrunk() is not None:
        return f"Logistic regression pulled to the constant is better than {name} in both errors"
    summary = comparison.summary().iloc[0]
    if "average_gap" in summary and summary[["average_gap", "stability_gap"]].notna().all():
        return (
            f"{name} closes {percent(summary['average_gap'])} of the way from LR to the oracle on "
            f"average, and {percent(summary['stability_gap'])} in stability"
        )
    return f"No method here is better than {name} in both errors"
