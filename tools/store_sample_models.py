"""Write one small model file of every kind, in the current format.

    python tools/store_sample_models.py [NAME ...]

The files go to ``tests/data/models/format-N``, with the predictions of each model for a few rows
in ``answers.json``; a test loads them and compares. Run this when a new format or a new kind of
model is introduced: what is missing is written (of the names given, or of all), and a file that is
there is never replaced.
"""

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression

from stablepred import (
    BalancedClassifier,
    BalancedRegressor,
    DGBRClassifier,
    Dichotomizer,
    DLRClassifier,
    GBRClassifier,
    GlobalBalancer,
    OverlapFilter,
    StableClassifier,
    StableFeatureSelector,
    StableRegressor,
)
from stablepred.data import TableEncoder, fit_table
from stablepred.exceptions import StablepredWarning
from stablepred.io.save import FORMAT, save

FOLDER = Path(__file__).parent.parent / "tests" / "data" / "models" / f"format-{FORMAT}"
N_ROWS, N_PROBES = 60, 6
ANSWERS = ("predict", "predict_proba", "decision_function", "transform")


@cache
def training_data() -> tuple[pd.DataFrame, np.ndarray]:
    """Two numbers and two 0/1 features; the outcome follows two of them."""
    rng = np.random.default_rng(8)
    age = rng.integers(18, 70, N_ROWS)
    income = np.round(rng.lognormal(3, 0.5, N_ROWS), 2)
    owner = rng.integers(0, 2, N_ROWS)
    urban = np.where(rng.random(N_ROWS) < 0.7, owner, 1 - owner)
    y = (0.05 * (age - 44) + owner + rng.normal(0, 0.7, N_ROWS) > 0.5).astype(int)
    frame = pd.DataFrame({"age": age, "income": income, "owner": owner, "urban, or not": urban})
    return frame, y


@cache
def raw_table() -> pd.DataFrame:
    """The same people as a raw table: strings, missing values, booleans, a target of words."""
    frame, y = training_data()
    rng = np.random.default_rng(9)
    income = frame["income"].where(rng.random(N_ROWS) < 0.8)
    job = rng.choice(["clerk", "cook", "smith"], N_ROWS)
    target = np.where(y == 1, "yes", "no")
    return frame.assign(income=income, job=job, owner=frame["owner"] == 1, buys=target)


@dataclass(frozen=True)
class Sample:
    """A model to fit, and what to fit it on."""

    make: Callable[[], Any]
    labels: Callable[[np.ndarray], np.ndarray] = lambda y: y
    data: str = "frame"  # or "array", "binary" (two 0/1 columns), "table" (as it comes), "" (none)

    def fit(self) -> tuple[Any, Any]:
        """The fitted model, and the rows to ask it about."""
        model = self.make()
        frame, y = training_data()
        if self.data == "":
            return model, frame
        if self.data == "table":
            rows = raw_table().drop(columns="buys")
            if hasattr(model, "predict"):
                return fit_table(raw_table(), "buys", model), rows
            return model.fit(rows), rows
        binary = frame[["owner", "urban, or not"]].to_numpy(dtype=float)
        X = {"frame": frame, "array": frame.to_numpy(), "binary": binary}[self.data]
        return model.fit(X, self.labels(y)), X


FEW: dict[str, Any] = {"max_iter": 5, "random_state": 0}
FIXED = FEW | {"l1": 0.003, "refit": False}
LONG: dict[str, Any] = {"l1": 0.003, "refit": False, "random_state": 0}
LR = LogisticRegression

# Every kind of model that can be stored. What a sample shows is in its name.
SAMPLES: dict[str, Sample] = {
    "dichotomizer": Sample(lambda: Dichotomizer(strategy="median")),
    "overlap-filter": Sample(lambda: OverlapFilter(low=0.3, high=0.7)),
    "table-encoder": Sample(lambda: TableEncoder(), data="table"),
    "balancer": Sample(lambda: GlobalBalancer(order=2, max_iter=5)),
    "gbr": Sample(lambda: GBRClassifier(cv=2, **FEW)),
    "gbr-order-2": Sample(lambda: GBRClassifier(order=2, **FIXED)),
    "gbr-paper": Sample(lambda: GBRClassifier.from_paper(**FEW)),
    "gbr-string-labels": Sample(
        lambda: GBRClassifier(**LONG), lambda y: np.where(y == 1, "yes", "no")
    ),
    "gbr-boolean-labels": Sample(lambda: GBRClassifier(**LONG), lambda y: y == 1),
    "gbr-without-names": Sample(lambda: GBRClassifier(**LONG), lambda y: y + 3.0, "array"),
    "gbr-not-cut": Sample(lambda: GBRClassifier(dichotomize=None, **LONG), data="binary"),
    "dlr": Sample(lambda: DLRClassifier(hidden=(4, 3), **FEW)),
    "dgbr": Sample(lambda: DGBRClassifier(cv=2, **FEW)),
    "dgbr-order-2": Sample(lambda: DGBRClassifier(order=2, **FIXED)),
    "dgbr-features": Sample(lambda: DGBRClassifier(head="features", cv=2, **FEW)),
    "dgbr-reduced": Sample(
        lambda: DGBRClassifier(frozen={"reduced": True, "bias_bound": 1.0}, hidden=[3], **FEW)
    ),
    "dgbr-paper": Sample(lambda: DGBRClassifier.from_paper(**FEW)),
    "dgbr-not-fitted": Sample(lambda: DGBRClassifier(hidden=(5, 2), l1=0.1), data=""),
    "balanced-classifier": Sample(lambda: BalancedClassifier(LR(), GlobalBalancer(max_iter=5))),
    "balanced-regressor": Sample(
        lambda: BalancedRegressor(LinearRegression(), GlobalBalancer(max_iter=5))
    ),
    "stable": Sample(lambda: StableClassifier(cv=2, random_state=0)),
    "stable-table": Sample(lambda: StableClassifier(cv=2, random_state=0), data="table"),
    "stable-linear": Sample(lambda: StableClassifier(LR(), cv=2, random_state=0)),
    "stable-three-classes": Sample(
        lambda: StableClassifier(cv=2, random_state=0),
        lambda y: np.where(np.arange(N_ROWS) % 3 == 0, 2, y),
    ),
    "stable-regressor": Sample(
        lambda: StableRegressor(cv=2, random_state=0), lambda y: y + 0.01 * np.arange(N_ROWS)
    ),
    "stable-regressor-linear": Sample(
        lambda: StableRegressor(LinearRegression(), cv=2, random_state=0),
        lambda y: y + 0.01 * np.arange(N_ROWS),
        "array",
    ),
    "selector": Sample(lambda: StableFeatureSelector(random_state=0)),
    "table": Sample(lambda: DGBRClassifier(hidden=(4, 3), cv=2, **FEW), data="table"),
    "table-lr": Sample(LR, data="table"),
}


def describe(model: Any, X: Any) -> dict[str, Any]:
    """Some rows, and what the model answers for them."""
    fitted = any(key.endswith("_") for key in vars(model)) or not hasattr(model, "fit")
    methods = [name for name in ANSWERS if fitted and hasattr(model, name)]
    rows = np.asarray(X[:N_PROBES], dtype=object).tolist()
    return {
        "kind": type(model).__name__,
        "rows": [[_plain(value) for value in row] for row in rows],
        "names": list(X) if isinstance(X, pd.DataFrame) else None,
        "answers": {
            name: np.asarray(getattr(model, name)(X[:N_PROBES])).tolist() for name in methods
        },
    }


def _plain(value: Any) -> Any:
    """A value as JSON has it: a number or a string, None where it is missing."""
    if isinstance(value, str | bool):
        return value
    return None if np.isnan(value) else float(value)


def main() -> None:
    """Write the files and the answers that are missing."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    known = FOLDER / "answers.json"
    answers: dict[str, Any] = json.loads(known.read_text()) if known.exists() else {}
    warnings.simplefilter("ignore", StablepredWarning)
    for name in sys.argv[1:] or SAMPLES:
        if name not in answers:
            model, X = SAMPLES[name].fit()
            save(model, FOLDER / f"{name}.safetensors")
            answers[name] = describe(model, X)
    ordered = {name: answers[name] for name in SAMPLES if name in answers}
    known.write_text(json.dumps(ordered, indent=1) + "\n")


if __name__ == "__main__":
    main()
