"""Numbers over seeds, and tables, seeds and times as text."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

# Development uses seeds below; published tables start here.
PUBLISHED_FROM = 1000
ERRORS = {"average": "Average_Error", "stability": "Stability_Error"}
SETTINGS = {"s_indep_v": "S⊥V", "s_to_v": "S→V", "v_to_s": "V→S"}


class Interval(NamedTuple):
    """A mean over seeds and half the width of its 95 % interval (NaN for a single seed)."""

    mean: float
    half: float

    def format(self, spec: str) -> str:
        """Both numbers, without the second where there is none."""
        half = "" if np.isnan(self.half) else f" ± {self.half:{spec.removeprefix('+')}}"
        return f"{self.mean:{spec}}{half}"


def mean_interval(values: npt.ArrayLike) -> Interval:
    """The t interval of the mean."""
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) < 2:
        return Interval(float(numbers.mean()), float("nan"))
    factor = float(student.ppf(0.975, len(numbers) - 1))
    return Interval(float(numbers.mean()), factor * standard_error(numbers))


def standard_error(values: npt.ArrayLike) -> float:
    """Standard error of the mean over seeds."""
    numbers = np.asarray(values, dtype=np.float64)
    return float(numbers.std(ddof=1) / np.sqrt(len(numbers))) if len(numbers) > 1 else float("nan")


def percent(share: float, missing: str = "undefined") -> str:
    """A share in per cent."""
    return missing if np.isnan(share) else f"{share:.0%}"


def markdown(frame: pd.DataFrame) -> str:
    """A frame without its index as a Markdown table."""
    rows = [list(map(str, frame.columns)), ["---"] * len(frame.columns)]
    rows += [["" if pd.isna(v) else str(v) for v in row] for row in frame.to_numpy(dtype=object)]
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def join(parts: Collection[str]) -> str:
    """Paragraphs as one page."""
    return "\n\n".join(parts) + "\n"


def seed_text(seeds: Collection[int]) -> str:
    """Which seeds, and whether they are for development or for publication."""
    ordered = sorted(seeds)
    kind = "published" if ordered[0] >= PUBLISHED_FROM else "development"
    listed = ", ".join(map(str, ordered))
    if len(ordered) > 1 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        listed = f"{ordered[0]} to {ordered[-1]}"
    return f"seeds {listed} ({kind} seeds)"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
