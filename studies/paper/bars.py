"""What is asked of the methods with their defaults, panel by panel: reached or not."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from studies.methods import (
    BASELINES,
    CONSTANT,
    DGBR,
    DLR,
    FOUR,
    GBR,
    GBR_PAPER_ONE,
    LR,
    ORACLE,
    OURS,
    PAPER,
)
from studies.paper.tables import both_gaps, by_seed
from studies.tables import ERRORS, standard_error

LEAST_SHARE = 0.05
LEAST_F1 = 0.95
WORLD = "{shift}, {setting}, bias on {bias on}, n = {n}, p = {p}, r = {r}"
MIDDLE = 2000  # rows for which most is asked


COLUMNS = ["bar", "panel", "world", "needed", "number", "standard error", "reached"]


class Bar(NamedTuple):
    """One demand on one panel.

    ``number`` must reach ``needed``; NaN is undefined. Margins count from zero: by how much an
    error is smaller than what it is compared with, with the standard error over seeds.
    """

    bar: str
    needed: float
    number: float
    standard_error: float = float("nan")

    @property
    def reached(self) -> str:
        """Yes, no, or undefined."""
        if np.isnan(self.number):
            return "undefined"
        return "yes" if self.number >= self.needed else "no"


def bars_table(runs: pd.DataFrame, lines: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every bar of every panel; equal panels of two figures count once.

    Parameters
    ----------
    runs : DataFrame
        One row per run.
    lines : mapping of panel names to frames
        Mean shrinkage lines.
    """
    rows = []
    world = ["shift", "setting", "bias on", "stable", "n", "p", "r"]
    for described in runs.drop_duplicates(world).to_dict("records"):
        facts = {str(column): value for column, value in described.items()}
        name = facts["panel"]
        panel = runs[runs["panel"] == name]
        text = WORLD.format_map(facts)
        for bar in _bars(facts, panel, lines[name]):
            rows.append((bar.bar, name, text, *bar[1:], bar.reached))
    return pd.DataFrame(rows, columns=COLUMNS)


def _bars(world: dict[str, Any], panel: pd.DataFrame, line: pd.DataFrame) -> Iterator[Bar]:
    """The bars that apply to a panel."""
    holds = world["bias on"] != "outcome"  # Assumption 1
    independent, middle = world["setting"] == "S⊥V", world["n"] == MIDDLE
    if world["shift"] == "P(Y|V)":
        yield _gaps(panel, OURS, 0.85)
        yield _margin(panel, OURS, (ORACLE,), "average")
        if independent:
            yield from _signal_bars(world, panel) if holds else _outcome_bars(world, panel, line)
    else:
        yield from _both(panel, OURS, (LR,))
        yield from _both(panel, OURS, FOUR)
        yield _margin(panel, OURS, (ORACLE,), "average")
        if middle and world["setting"] != "S→V":
            yield from _both(panel, DGBR, BASELINES)
    if holds and world["n"] >= MIDDLE:
        f1 = float(by_seed(panel, OURS, "F1").mean())
        yield Bar("F1 of stable_features_", LEAST_F1, f1)
    share = float(pd.to_numeric(panel["effective share"]).min())
    yield Bar("least effective sample share of any method", LEAST_SHARE, share)


def tuned_bars(runs: pd.DataFrame, lines: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What is asked of the paper's method, tuned: more stable than DLR, below the shrinkage line.

    Parameters
    ----------
    runs : DataFrame
        One row per search.
    lines : mapping of panel names to frames
        Mean shrinkage lines over the same seeds.
    """
    rows = []
    for name, panel in runs.groupby("panel", sort=False):
        facts = {str(column): value for column, value in panel.iloc[0].items()}
        bars = (_margin(panel, PAPER, (DLR,), "stability"), _below(panel, PAPER, lines[str(name)]))
        rows += [
            ("tuned: " + bar.bar, name, WORLD.format_map(facts), *bar[1:], bar.reached)
            for bar in bars
        ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _outcome_bars(world: dict[str, Any], panel: pd.DataFrame, line: pd.DataFrame) -> Iterator[Bar]:
    """Selection on the outcome, S and V independent."""
    yield from _both(panel, OURS, FOUR)
    yield _below(panel, OURS, line)
    yield _margin(panel, OURS, (CONSTANT,), "average")
    yield _margin(panel, PAPER, (DLR,), "stability")
    for error in ERRORS:
        difference = by_seed(panel, GBR_PAPER_ONE, error) - by_seed(panel, LR, error)
        text = f"{GBR_PAPER_ONE} within .005 of LR ({ERRORS[error]})"
        margin = 0.005 - abs(float(difference.mean()))
        yield Bar(text, 0.0, margin, standard_error(difference))
    if world["n"] == MIDDLE and world["r"] < 0.7:
        yield _gaps(panel, DGBR, 0.7)
    elif world["n"] == MIDDLE:
        yield from _both(panel, DGBR, (LR, DLR))


def _signal_bars(world: dict[str, Any], panel: pd.DataFrame) -> Iterator[Bar]:
    """Selection on the noise-free outcome, S and V independent."""
    yield from _both(panel, GBR, (LR,))
    if world["n"] == MIDDLE and world["stable"] == 0.4:
        yield _gaps(panel, DGBR, 0.9)


def _both(panel: pd.DataFrame, method: str, others: tuple[str, ...]) -> Iterator[Bar]:
    for error in ERRORS:
        yield _margin(panel, method, others, error)


def _below(panel: pd.DataFrame, method: str, line: pd.DataFrame) -> Bar:
    average, stability = (float(by_seed(panel, method, error).mean()) for error in ERRORS)
    as_stable = line.loc[line["Stability_Error"] <= stability, "Average_Error"]
    # Where no point of the line is as stable, it is compared with the most stable one.
    nearest = line.nsmallest(1, "Stability_Error")["Average_Error"]
    least = float((as_stable if len(as_stable) else nearest).min())
    return Bar(f"{method} below the shrinkage line (Average_Error)", 0.0, least - average)


def _margin(panel: pd.DataFrame, method: str, others: tuple[str, ...], error: str) -> Bar:
    """By how much the mean error of a method is smaller than the smallest of others."""
    least = min((by_seed(panel, name, error) for name in others), key=lambda values: values.mean())
    difference = least - by_seed(panel, method, error)
    text = f"{method} below {', '.join(others)} ({ERRORS[error]})"
    return Bar(text, 0.0, float(difference.mean()), standard_error(difference))


def _gaps(panel: pd.DataFrame, method: str, needed: float) -> Bar:
    return Bar(f"{method}: both gaps closed", needed, both_gaps(panel, method).share)
