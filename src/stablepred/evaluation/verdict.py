"""A recommendation that a comparison supports: use the model, use another, or no difference.

"More accurate" and "steadier" are claimed only where the paired bootstrap interval of the
difference excludes zero.
"""

import re

import numpy as np

from stablepred._text import error_name, join_words, label, number, percent, signed
from stablepred.evaluation.comparison import Comparison, Difference, Interval

SMALL_SHARE = 0.05  # below this effective share a result rests on few rows
NAMES = {"LR": "logistic regression", "ridge": "ridge regression", "constant": "a constant"}


def stability_verdict(
    comparison: Comparison, error: str, level: float, constant: bool, effective_share: float | None
) -> str:
    """What to use, beside the best alternative, then every reason for doubt.

    ``constant`` tells whether the model predicts (nearly) the same for every row.
    """
    errors, model = comparison.errors.iloc[0], label(comparison.errors.index[0])
    spread = f"{error_name(error)} of {model} lies between {number(errors.min())}"
    sentences = [f"Across {len(errors)} environments the {spread} and {number(errors.max())}"]
    rivals = [d for d in comparison.differences if d.role != "oracle"]
    better = [d for d in rivals if d.average.sign > 0 and d.is_everywhere]
    # The most accurate of those that are better everywhere, else of all that can be used.
    rival = max(better or rivals, key=lambda d: d.average.value, default=None)
    if rival is not None:
        sentences = [recommend(model, rival, error, level)]
        others = [d for d in rivals if d is not rival]
        names = [
            _name(d) for d in others if d.stability and d.average.sign == d.stability.sign == 1
        ]
        if names:
            verb = "is" if len(names) == 1 else "are"
            sentences.append(f"{join_words(names)} {verb} more accurate and steadier than {model}")
        if len(errors) > 1:
            sentences.append(describe_worst(comparison))
    if constant:
        sentences.append(f"{model} predicts nearly the same probability for every row")
    if effective_share is not None and effective_share < SMALL_SHARE:
        sentences.append(f"Its weights rest on {percent(effective_share, 1)} of the rows")
    # Our own words start with a capital; a label is left as it is.
    own = tuple(NAMES.values())
    text = " ".join(f"{s[0].upper() + s[1:] if s.startswith(own) else s}." for s in sentences)
    if model == "LogisticRegression":  # and the reference is another one
        text = re.sub("(?i)(logistic regression)", r"\1 with a chosen penalty", text)
    return text


def recommend(model: str, rival: Difference, error: str, level: float) -> str:
    """One sentence on the model and its best rival, from the difference of their errors."""
    other, (average, stability) = _name(rival), (rival.average, rival.stability)
    winner, loser = (model, other) if average.sign < 0 else (other, model)
    instead = " instead" if winner == other else ""
    if stability is None:  # a single environment, which tells nothing of stability
        found = _describe(error_name(error), average, level)
        if average.sign == 0:
            return f"These rows show no difference between {model} and {other} ({found})"
        return f"Use {winner}{instead}: it is more accurate than {loser} ({found})"
    on_average = _describe("Average_Error", average, level)
    in_stability = _describe("Stability_Error", stability, level)
    if average.sign == stability.sign == 0:
        return (
            f"These rows show no difference between {model} and {other} ({on_average}; "
            f"{in_stability})"
        )
    if average.sign == 0:
        steadier, than = (model, other) if stability.sign < 0 else (other, model)
        return (
            f"{steadier} is steadier than {than} ({in_stability}), and these rows show no "
            f"difference in accuracy ({on_average})"
        )
    gaps = average.sign * rival.by_environment  # what the winner's error is smaller by
    steadiness = {
        1: f"and steadier ({in_stability})",
        0: f"and {loser} is not steadier by more than chance ({in_stability})",
        -1: f"but {loser} is steadier ({in_stability})",
    }[average.sign * stability.sign]
    where = f"on average ({on_average}) and in {sum(gaps > 0)} of {len(gaps)} environments"
    if rival.is_everywhere:
        least, most = number(gaps.min()), number(gaps.max())
        gain = f"about {least}" if least == most else f"{least} to {most}"
        lower = f"{error_name(error)} lower by {gain}"
        where = f"in {len(gaps)} of {len(gaps)} environments ({lower})"
    claim = f"more accurate than {loser} {where}, {steadiness}"
    if stability.sign == -average.sign and not rival.is_everywhere:
        return f"{winner} is {claim}"  # a trade, which is not for a sentence to decide
    return f"Use {winner}{instead}: it is {claim}"


def describe_worst(comparison: Comparison) -> str:
    """The largest error of the model, where it is met, and those of the references."""
    errors = comparison.errors
    own, names = errors.iloc[0], [n for n, role in comparison.roles.items() if role in NAMES]
    worst = f"The worst error of {label(own.name)} is {number(own.max())}, in {label(own.idxmax())}"
    beside = [f"that of {NAMES[comparison.roles[n]]} {number(errors.T[n].max())}" for n in names]
    return "; ".join([worst, *beside])


def _name(difference: Difference) -> str:
    return NAMES.get(difference.role) or label(difference.other)


def _describe(summary: str, found: Interval, level: float) -> str:
    """A difference with its interval, as a gain of the better one where there is one."""
    value, low, high = found
    if np.isnan(low):
        return f"{summary} differs by {signed(value)}, with too few rows for an interval"
    if not found.sign:
        ends = f"{signed(low)} to {signed(high)}"
        return f"{summary} differs by {signed(value)}, {percent(level)} interval {ends}"
    near, far = sorted((abs(low), abs(high)))
    decimals = 3 + (near < 0.0005) * min(6, int(-np.log10(2000 * near) + 1))  # as it is not zero
    gain, start, end = (number(abs(x), decimals) for x in (value, near, far))
    return f"{summary} lower by {gain}, {percent(level)} interval {start} to {end}"


def methods_title(comparison: Comparison) -> str:
    """Which of the methods that can be used is best on average, and which in the worst case."""
    if not comparison.differences:
        return f"There is nothing to compare {label(comparison.errors.index[0])} with"
    summary = comparison.summary()
    usable = summary[[comparison.roles[str(name)] != "oracle" for name in summary.index]]
    best, safest = (
        f"{join_words([label(name) for name in errors.index[errors == errors.min()]])} "
        f"({number(errors.min())})"
        for errors in (usable["Average_Error"].round(3), usable["Worst_Error"].round(3))
    )
    return f"Average_Error is smallest for {best}, Worst_Error for {safest}"
