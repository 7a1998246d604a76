"""A study with environments of your own
=====================================

A study with environments of your own: how strong may a habit be before a model leans on it?

Clinics examine patients. Four findings are causes of a disease. Two tests have nothing to do with
it, but each clinic has a habit of ordering them for patients it believes to be ill, and the next
clinic has another habit. A model is trained in one clinic and used in the others.

Run: python examples/environment_study.py
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from stablepred import (
    DGBRClassifier,
    GBRClassifier,
    StableClassifier,
    average_error,
    environment_errors,
    stability_error,
)
from stablepred.data import Environment
from stablepred.evaluation.references import ConstantPredictor, Oracle

CAUSES = ["fever", "cough", "old", "smoker"]
TESTS = ["x_ray", "blood_test"]


def clinic(rows: int, habit: float, seed: int) -> Environment:
    """One environment; ``habit`` is the share of ill patients who are given each test."""
    rng = np.random.default_rng(seed)
    causes = rng.random((rows, len(CAUSES))) < [0.5, 0.4, 0.3, 0.5]
    ill = causes @ [2.0, 1.5, 1.0, 1.0] + rng.normal(0, 0.7, rows) > 2.4
    ordered = rng.random((rows, len(TESTS))) < np.where(ill, habit, 1 - habit)[:, None]
    X = pd.DataFrame(np.hstack([causes, ordered]).astype(int), columns=[*CAUSES, *TESTS])
    return Environment(f"habit={habit:g}", X, ill.astype(int))


def main(
    habits: tuple[float, ...] = (0.6, 0.75, 0.9), seeds: range = range(3), rows: int = 1000
) -> None:
    """Print both errors of each model, by the habit where it was trained, mean over seeds."""
    records = []
    for habit in habits:
        for seed in seeds:
            train = clinic(rows, habit, seed)
            tests = [clinic(2000, other, 1000 + seed) for other in (0.1, 0.3, 0.5, 0.7, 0.9)]
            for name, model in _models(train, seed).items():
                errors = environment_errors(model, tests)
                records.append((habit, name, average_error(errors), stability_error(errors)))
    columns = ["trained at habit", "model", "Average_Error", "Stability_Error"]
    table = pd.DataFrame(records, columns=columns)
    print(table.groupby(columns[:2], sort=False).mean().round(3).to_string())


def _models(train: Environment, seed: int) -> dict[str, object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a study of hundreds of fits says it in its tables
        return {
            "LR": LogisticRegression().fit(train.X, train.y),
            "GBR": GBRClassifier(random_state=seed).fit(train.X, train.y),
            "DGBR": DGBRClassifier(random_state=seed).fit(train.X, train.y),
            "Stable": StableClassifier(random_state=seed).fit(train.X, train.y),
            # What can be reached at best, and what is reached without looking at a patient.
            "oracle": Oracle(train, CAUSES),
            "constant": ConstantPredictor(train),
        }


if __name__ == "__main__":
    main()
