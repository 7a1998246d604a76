"""Does what the paper says hold? Paired differences over seeds, with their standard errors.

A claim that one number is smaller than another *holds* where the mean difference over seeds is
more than two standard errors on its side, *does not hold* where it is as far on the other side,
and is *undecided* in between.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from studies.methods import DGBR, DLR, GBR, GBR_PAPER_ONE, LR, PAPER_ONE
from studies.paper.figures import Figure, StrengthFigure
from studies.paper.tables import by_seed, strengths_table
from studies.records import Records
from studies.tables import ERRORS, standard_error

# Who stands for LR, DLR, GBR and DGBR: the paper's methods, all with an intercept, as a missing one
# changes the errors more than the weights do; and the library's.
LETTER, LIBRARY = (LR, DLR, GBR_PAPER_ONE, PAPER_ONE), (LR, DLR, GBR, DGBR)
# Who is said to be smaller than whom, by number, in which error.
COMPARISONS = (
    (2, "more stable than", 0, "stability"),
    (3, "more stable than", 1, "stability"),
    (3, "more stable than", 2, "stability"),
    (3, "more precise than", 2, "average"),
)
TRENDS = {"n": "small n", "p": "large p", "r": "large r"}
FIXED = ("figure", "shift", "setting", "bias on", "stable", "n", "p", "r")
COLUMNS = ["claim", "panel", "difference", "standard error", "verdict"]


def verdict(differences: pd.Series) -> str:
    """Whether differences that should be positive are, on average over seeds."""
    mean, error = float(differences.mean()), standard_error(differences)
    if np.isnan(error):
        return "undecided"
    if mean > 2 * error:
        return "holds"
    return "does not hold" if mean < -2 * error else "undecided"


def _row(claim: str, where: str, differences: pd.Series) -> tuple[str, str, float, float, str]:
    mean = float(differences.mean())
    return claim, where, mean, standard_error(differences), verdict(differences)


def claims_table(runs: pd.DataFrame, four: tuple[str, ...] = LETTER) -> pd.DataFrame:
    """The comparisons of four methods in every panel."""
    rows = []
    for name, panel in runs.groupby("panel", sort=False):
        for first, relation, second, error in COMPARISONS:
            smaller, larger = four[first], four[second]
            claim = f"{smaller} is {relation} {larger}"
            difference = by_seed(panel, larger, error) - by_seed(panel, smaller, error)
            rows.append(_row(claim, str(name), difference))
        lowest = gain(panel, four[-1], four[:-1])
        rows.append(_row(f"{four[-1]} is lowest on average", str(name), lowest))
    return pd.DataFrame(rows, columns=COLUMNS)


def gain(panel: pd.DataFrame, method: str, others: tuple[str, ...]) -> pd.Series:
    """By how much a method's Average_Error is below the best of others, by seed."""
    best = min(others, key=lambda name: by_seed(panel, name, "average").mean())
    return by_seed(panel, best, "average") - by_seed(panel, method, "average")


def trends_table(runs: pd.DataFrame, four: tuple[str, ...] = LETTER) -> pd.DataFrame:
    """Is the gain larger where n is small, where p is large and where r is large?

    Compared are the ends of each series of panels of a figure that differ in nothing else.
    """
    rows = []
    panels = runs.drop_duplicates("panel").set_index("panel")
    for axis, where in TRENDS.items():
        claim = f"{four[-1]}'s gain is larger at {where}"
        others = [name for name in FIXED if name != axis]
        for _, series in panels.groupby(others, sort=False):
            if series[axis].nunique() < 2:
                continue
            low, high = series[axis].idxmin(), series[axis].idxmax()
            more, less = (low, high) if axis == "n" else (high, low)
            gains = [
                gain(runs[runs["panel"] == name], four[-1], four[:-1]) for name in (more, less)
            ]
            rows.append(_row(claim, f"{more} against {less}", gains[0] - gains[1]))
    return pd.DataFrame(rows, columns=COLUMNS)


def join_trends(
    runs: pd.DataFrame | None, figures: Sequence[Figure], seeds: Sequence[int], records: Records
) -> pd.DataFrame:
    """The trends over panels, and those over the strengths of L_mix."""
    found = [] if runs is None else [trends_table(runs, four) for four in (LETTER, LIBRARY)]
    found += [
        strengths_claims(figure, seeds, records)
        for figure in figures
        if isinstance(figure, StrengthFigure)
    ]
    kept = [table for table in found if len(table)]
    return pd.concat(kept, ignore_index=True) if kept else pd.DataFrame(columns=COLUMNS)


# --- the strengths of L_mix ---------------------------------------------------------------------

# What the text says of each strength: the errors' course as it grows.
COURSES = {
    "λ1": {"average": "falls, then rises", "stability": "falls"},
    "λ2": {"average": "falls", "stability": "falls, then rises"},
    "λ3": {"average": "falls, then rises", "stability": "falls, then rises"},
}


def strengths_claims(
    figure: StrengthFigure, seeds: Sequence[int], records: Records
) -> pd.DataFrame:
    """Do the errors take the course over each strength that the paper describes?

    *Falls*: at the largest value the error is smaller than at the smallest. *Falls, then rises*: at
    the value between them where its mean is smallest it is smaller than at both ends; the
    difference to the nearer end is shown.
    """
    rows = []
    for sweep in figure.sweeps:
        table = strengths_table(figure, sweep, seeds, records)
        for error, course in COURSES[sweep.symbol].items():
            errors = table.pivot(index="seed", columns="value", values=error)
            claim = f"{ERRORS[error]} {course} as {sweep.symbol} grows"
            rows.append(_row(claim, figure.name, _course(errors, course)))
    return pd.DataFrame(rows, columns=COLUMNS)


def _course(errors: pd.DataFrame, course: str) -> pd.Series:
    """Differences, by seed, that are positive where the course is taken."""
    first, last = errors.iloc[:, 0], errors.iloc[:, -1]
    if course == "falls":
        return first - last
    inside = errors.iloc[:, 1:-1]
    lowest = inside[inside.mean().idxmin()]
    ends = [end - lowest for end in (first, last)]
    return min(ends, key=lambda differences: float(differences.mean()))
