"""How far to go along a direction: the strong Wolfe conditions (Nocedal and Wright, ch. 3)."""

import math
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

DECREASE = 1e-4  # of what the slope at the start promises, at least
CURVATURE = 0.9  # of the slope at the start may be left, at most
MOST_TRIALS = 25


class Trial(NamedTuple):
    """A point on the line: how far it is, and the function there."""

    step: float
    value: float
    slope: float  # along the line
    gradient: Tensor


def strong_wolfe(at: Callable[[float], Trial], start: Trial, step: float) -> Trial:
    """A point that is clearly lower and less steep, else the lowest one, else ``start`` itself."""
    low, high = start, None  # the lowest point; one beyond the minimum, once it is known
    for _ in range(MOST_TRIALS):
        trial = at(step)
        enough = trial.value <= start.value + DECREASE * trial.step * start.slope
        known = math.isfinite(trial.slope)
        if not (enough and known) or (low is not start and trial.value >= low.value):
            high = trial
        elif abs(trial.slope) <= -CURVATURE * start.slope:
            return trial
        else:
            ahead = 1.0 if high is None else high.step - low.step
            if trial.slope * ahead >= 0:
                high = low
            low, last = trial, low
        if high is None:  # the function still falls
            step = _clip(_cubic_minimum(last, low), 1.1 * low.step, 10 * low.step)
            continue
        left, right = sorted((low.step, high.step))
        if right - left <= 1e-9 * right:
            break
        margin = 0.1 * (right - left)
        step = _clip(_cubic_minimum(low, high), left + margin, right - margin)
    return low


def _cubic_minimum(a: Trial, b: Trial) -> float:
    """Where the cubic through two points with these slopes is lowest; NaN where it is not."""
    curvature = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    square = curvature * curvature - a.slope * b.slope
    if not 0 <= square < math.inf:
        return math.nan
    root = math.copysign(math.sqrt(square), b.step - a.step)
    below = b.slope - a.slope + 2 * root
    if below == 0:
        return math.nan
    return b.step - (b.step - a.step) * (b.slope + root - curvature) / below


def _clip(step: float, least: float, most: float) -> float:
    """The step within its bounds; where it is not known, the middle."""
    return (least + most) / 2 if math.isnan(step) else min(max(step, least), most)
