"""A model beside others and the references, on the same rows, and the recommendation that follows.

"More accurate" and "steadier" are claimed only where the paired bootstrap interval of the
difference excludes zero.

A model that predicts a constant is perfectly stable and useless, and every model can be made more
stable by pulling its predictions towards a constant. So a method helps only if no point of

    a * LR + (1 - a) * base rate,   a in [0, 1]

has both a smaller Average_Error and a smaller Stability_Error (paper, eqs. 1-2), and it is as good
as the smaller of the two gaps to the oracle that it closes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from stablepred._text import error_name, join_words, label, number, percent, signed
from stablepred.evaluation.metrics import SUMMARIES, Metric, interval_frame, percentiles, summarise
from stablepred.evaluation.predictions import FloatArray, Predictions, Table, predict_outcomes

# The references by role, the linear one of classes or of numbers first; nobody can use the oracle.
NAMES = {"LR": "logistic regression", "ridge": "ridge regression", "constant": "a constant"}
REFERENCES = (*NAMES, "oracle")
SMALL_SHARE = 0.05  # below this effective share a result rests on few rows


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
    def name(self) -> str:
        return NAMES.get(self.role) or label(self.other)

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
    intervals: pd.DataFrame  # error, low, high of the model, by environment and in summary
    notes: tuple[str, ...] = ()  # what is missing, and why

    def summary(self) -> pd.DataFrame:
        """Average, stability and worst error; gaps closed and the shrinkage line, where known."""
        errors = self.errors.to_numpy(dtype=np.float64)
        frame = pd.DataFrame(summarise(errors), self.errors.index, list(SUMMARIES))
        at = dict(zip(self.roles.values(), errors, strict=True))
        linear = at.get("LR", at.get("ridge"))
        if linear is not None and "oracle" in at:
            frame[["average_gap", "stability_gap"]] = gaps_closed(linear, errors, at["oracle"])
        if self.line is not None:
            frame["shrunk_better"] = [is_beaten(one, self.line) for one in errors]
        return frame


def compare_errors(
    methods: Mapping[str, Any],
    references: Mapping[str, Any],
    tables: Sequence[Table],
    metric: Metric,
    level: float,
    n_bootstrap: int,
    seed: int,
    notes: Sequence[str] = (),
) -> Comparison:
    """Evaluate methods by label beside each other and beside references by role.

    The first method is the model that the others are compared with.
    """
    model, *_ = methods
    roles = dict.fromkeys(methods, "baseline") | {model: "model"} | {n: n for n in references}
    every = {**methods, **references}
    predicted = {name: predict_outcomes(method, tables) for name, method in every.items()}
    frame = pd.DataFrame({n: metric.errors(tables, p) for n, p in predicted.items()}).T
    line, several = None, len(tables) > 1  # a single environment has an average only
    linear = "LR" if "LR" in references else "ridge"
    if several and {linear, "constant"} <= set(references):
        base = float(predicted["constant"][tables[0].name][0])
        line = shrinkage_line(predicted[linear], base, tables, metric)
    draws = metric.resample(tables, list(predicted.values()), n_bootstrap, seed)
    errors = frame.to_numpy()
    values, drawn = (summarise(e) if several else e.mean(-1)[..., None] for e in (errors, draws))
    low, high = percentiles((drawn[:1] - drawn).swapaxes(0, 1), level)
    ends = np.stack([values[0] - values, low, high], axis=-1)  # (methods, summaries, 3)
    found = []
    for name, gaps, of_one in zip(frame.index[1:], errors[0] - errors[1:], ends[1:], strict=True):
        average, *rest = (Interval(*map(float, end)) for end in of_one)
        found.append(Difference(name, roles[name], gaps, average, rest[0] if rest else None))
    own = interval_frame(frame.iloc[0], draws[0], level)
    return Comparison(frame, roles, line, tuple(found), own, tuple(notes))


def gaps_closed(lr_errors: Any, method_errors: Any, oracle_errors: Any) -> FloatArray:
    """(LR - method) / (LR - oracle), for Average_Error and for Stability_Error: (..., 2).

    1 is as good as the oracle, 0 as LR. Where the oracle is not better than LR there is no gap to
    close: NaN.
    """
    three = (lr_errors, method_errors, oracle_errors)
    lr, method, oracle = (summarise(np.asarray(errors))[..., :2] for errors in three)
    return (lr - method) / np.where(lr > oracle, lr - oracle, np.nan)


def shrinkage_line(
    predicted: Predictions,
    base: float,
    tables: Sequence[Table],
    metric: Metric,
    shares: npt.ArrayLike | None = None,
) -> pd.DataFrame:
    """Average_Error and Stability_Error of predictions pulled to ``base``, by the share left."""
    grid = np.linspace(0, 1, 101) if shares is None else np.asarray(shares, dtype=np.float64)
    shrunk = ({name: a * p + (1 - a) * base for name, p in predicted.items()} for a in grid)
    errors = np.array([metric.errors(tables, one) for one in shrunk])
    index = pd.Index(grid, name="share")
    return pd.DataFrame(summarise(errors)[:, :2], index, list(SUMMARIES[:2]))


def is_beaten(method_errors: Any, line: pd.DataFrame) -> bool:
    return bool((line < summarise(np.asarray(method_errors))[:2]).all(axis=1).any())


# --- in words ---


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
        both = [d for d in rivals if d.stability and d.average.sign == d.stability.sign == 1]
        names = [d.name for d in both if d is not rival]
        if names:
            verb = "is" if len(names) == 1 else "are"
            sentences.append(f"{join_words(names)} {verb} more accurate and steadier than {model}")
        if len(errors) > 1:
            at = f"{number(errors.max())}, in {label(errors.idxmax())}"
            worst = [f"The worst error of {model} is {at}"]
            for d in rivals:
                largest = number(comparison.errors.T[d.other].max())
                worst += [f"that of {d.name} {largest}"] if d.role in NAMES else []
            sentences.append("; ".join(worst))
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
    average, stability = rival.average, rival.stability
    winner, loser = (model, rival.name) if average.sign < 0 else (rival.name, model)
    use = f"Use {winner}{' instead' if winner == rival.name else ''}: it is"
    nothing = f"These rows show no difference between {model} and {rival.name}"
    if stability is None:  # a single environment, which tells nothing of stability
        claim = f"{use} more accurate than {loser}" if average.sign else nothing
        return f"{claim} ({_describe(error_name(error), average, level)})"
    on_average = _describe("Average_Error", average, level)
    in_stability = _describe("Stability_Error", stability, level)
    if average.sign == stability.sign == 0:
        return f"{nothing} ({on_average}; {in_stability})"
    if average.sign == 0:
        steadier, than = (model, rival.name) if stability.sign < 0 else (rival.name, model)
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
        where = f"in {len(gaps)} of {len(gaps)} environments ({error_name(error)} lower by {gain})"
    elif stability.sign == -average.sign:  # a trade, which is not for a sentence to decide
        use = f"{winner} is"
    return f"{use} more accurate than {loser} {where}, {steadiness}"


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
