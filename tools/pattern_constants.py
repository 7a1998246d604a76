"""How well the constants of the pattern check tell selection from natural dependence.

    STABLEPRED_DATA=folder python -m tools.pattern_constants

Explaining away trusts its verdict with a probability that has three constants
(``stablepred.evidence.explaining_away``). For each kind of synthetic world, where the noisy
variables come from selection, and each real table, where none does as far as anybody knows, this
prints the two quantities that decide, the probability, and the probability under constants that
were fitted again without that kind. Development seeds, at most 1000 rows of a real environment.
"""

import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from ablation import SEEDS, WORLDS, splits
from sklearn.linear_model import LogisticRegression

from stablepred import StableFeatureSelector
from stablepred.evidence import explaining_away
from studies.natural.tables import BY_AGE, NATURAL, load_table

WORLD_ROWS = (1000, 4000)


def describe(X: Any, y: Any) -> tuple[float, float] | None:
    """Log misfit and dependence beyond chance in one sample; None where nothing competes."""
    found: list[tuple[float, float]] = []

    def note(*given: Any) -> tuple[float, float]:
        found.append(original(*given))
        return found[-1]

    original = explaining_away.describe_pattern
    with patch("stablepred.evidence.explaining_away.describe_pattern", note):
        StableFeatureSelector(evidence=["explaining_away"], random_state=0).fit(X, y)
    return found[0] if found else None


def collect() -> pd.DataFrame:
    """One row per sample: its kind, whether selection made it, and what decides."""
    rows = []
    for title, (world, rate) in WORLDS.items():
        for n in WORLD_ROWS:
            for seed in SEEDS:
                train = world.sample(n, bias_rate=rate, random_state=seed)
                rows.append((title, True, describe(train.X, train.y)))
    for title in NATURAL | BY_AGE:
        table = load_table(title)
        for train, _ in splits(table):
            rows.append((title, False, describe(table.X.iloc[train], table.y[train])))
    frame = pd.DataFrame(rows, columns=["kind", "selection", "found"])
    frame[["misfit", "dependence"]] = [one or (np.nan, np.nan) for one in frame["found"]]
    return frame


def probabilities(frame: pd.DataFrame) -> pd.DataFrame:
    """The probability of selection, with the constants in use and with those fitted without it."""
    parts = ["misfit", "dependence"]
    slopes = np.array([explaining_away.PER_MISFIT, explaining_away.PER_DEPENDENCE])
    odds = explaining_away.INTERCEPT + frame[parts].to_numpy() @ slopes
    frame["in use"] = np.where(odds == odds, 1 / (1 + np.exp(-odds)), 0.0)
    known = frame.dropna(subset=parts)
    for kind in known["kind"].unique():
        others, own = known[known["kind"] != kind], known["kind"] == kind
        weight = 1 / others.groupby("kind")["kind"].transform("size")
        model = LogisticRegression(C=10).fit(others[parts], others["selection"], weight)
        index = known.index[own]
        frame.loc[index, "without it"] = model.predict_proba(known.loc[index, parts])[:, 1]
    return frame


def main() -> None:
    """Print a line per kind: medians, and the range of both probabilities."""
    frame = probabilities(collect())
    print(
        f"{'':16}{'samples':>8}{'log misfit':>12}{'dependence':>12}{'in use':>14}{'without it':>14}"
    )
    for kind, own in frame.groupby("kind", sort=False):
        ranges = [
            f"{own[name].min():.2f} to {own[name].max():.2f}" for name in ("in use", "without it")
        ]
        print(
            f"{kind:16}{len(own):8}{own['misfit'].median():12.2f}{own['dependence'].median():12.2f}"
            f"{ranges[0]:>14}{ranges[1]:>14}"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
