"""What each default of DGBR gains
===============================

What each choice in DGBR's defaults gains: one of them changed at a time, beside other methods.

Run: python examples/variants.py
"""

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from stablepred import (
    DGBRClassifier,
    DLRClassifier,
    FrozenWeights,
    GBRClassifier,
    StableClassifier,
    average_error,
    environment_errors,
    stability_error,
)
from stablepred.data import Environment, SyntheticWorld

WORLDS = {
    "S⊥V": SyntheticWorld("s_indep_v"),
    "S→V": SyntheticWorld("s_to_v"),
    "V→S": SyntheticWorld("v_to_s"),
    "P(V|S)": SyntheticWorld("s_indep_v", shift="v_given_s"),
}
CHANGES: dict[str, dict[str, Any]] = {
    "default": {},
    "refit=False": {"refit": False},
    "refit=weighted": {"refit": "weighted"},
    "head=features": {"head": "features"},
    "standardize=False": {"standardize": False},
    "order=2": {"order": 2},
    "weight_l2=.001": {"weight_l2": 0.001},
    "weight_l2=.1": {"weight_l2": 0.1},
    "network_l2=1e-4": {"network_l2": 1e-4},
    "network_l2=1e-3": {"network_l2": 1e-3},
    "no reconstruction": {"reconstruction": 0.0},
    "Algorithm 1": {"solver": "alternating"},
    "FWDGBR": {"frozen": FrozenWeights()},
    "RFWDGBR": {"frozen": FrozenWeights(reduced=True, bias_bound=1.0)},
}


def main(seeds: range = range(2), rows: int = 2000, test_rows: int = 5000) -> None:
    """Print Average_Error / Stability_Error of every variant in every world; development seeds."""
    errors: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for title, world in WORLDS.items():
        for seed in seeds:
            rate = 0.75 if world.shift == "y_given_v" else 0.85
            train = world.sample(rows, bias_rate=rate, random_state=seed)
            tests = _tests(world, test_rows, seed)
            for name, model in _models(train, world, seed):
                found = environment_errors(model, tests)
                pair = (average_error(found), stability_error(found))
                errors.setdefault(name, {}).setdefault(title, []).append(pair)
    print("variant".ljust(18) + "".join(title.rjust(14) for title in WORLDS))
    for name, found in errors.items():
        cells = (np.mean(found[title], axis=0) for title in WORLDS)
        line = "".join(f"{average:.3f} / {stability:.3f}".rjust(14) for average, stability in cells)
        print(name.ljust(18) + line)


def _tests(world: SyntheticWorld, rows: int, seed: int) -> list[Environment]:
    rates = np.arange(1, 10) / 10
    return [world.sample(rows, bias_rate=rate, random_state=1_000_000 + seed) for rate in rates]


def _models(train: Environment, world: SyntheticWorld, seed: int) -> Iterator[tuple[str, Any]]:
    """The references, the other methods, and the variants of DGBR."""
    causes = make_column_transformer(("passthrough", world.stable_features))
    models: dict[str, Any] = {
        "constant": DummyClassifier(strategy="prior"),
        "oracle": make_pipeline(causes, LogisticRegression()),
        "LR": LogisticRegression(),
        "DLR": DLRClassifier(random_state=seed),
        "GBR": GBRClassifier(random_state=seed),
        "DGBR (paper)": DGBRClassifier.from_paper(random_state=seed),
        "Stable": StableClassifier(random_state=seed),
    }
    models |= {
        name: DGBRClassifier(**changes, random_state=seed) for name, changes in CHANGES.items()
    }
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield name, model.fit(train.X, train.y)


if __name__ == "__main__":
    main(range(int(sys.argv[1])) if len(sys.argv) > 1 else range(2))
