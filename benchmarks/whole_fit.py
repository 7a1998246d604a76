"""Whole fits of the estimators beside scikit-learn's logistic regression on the same data.

python benchmarks/whole_fit.py
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from measure import Bar, Page, interleaved, machine, options, progress
from problems import SEED
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

from stablepred import DGBRClassifier, DLRClassifier, GBRClassifier, GlobalBalancer
from stablepred.data import SyntheticWorld
from stablepred.exceptions import StablepredWarning

SIZES = [(1000, 20), (4000, 20), (10_000, 20), (4000, 40)]
BAR = (4000, 20)
AT_MOST = 10.0
YARDSTICK = "LogisticRegressionCV"

NOTES = """\
Estimators with their defaults, `random_state=0`, on the paper's world with S and V independent, r
= 0.75; `LogisticRegressionCV` with five folds and its default grid of ten strengths."""


def estimators() -> dict[str, Any]:
    """What is fitted, by name."""
    return {
        "LogisticRegression": LogisticRegression(),
        YARDSTICK: LogisticRegressionCV(cv=5),
        "GlobalBalancer": GlobalBalancer(random_state=SEED),
        "GBRClassifier": GBRClassifier(random_state=SEED),
        "DLRClassifier": DLRClassifier(random_state=SEED),
        "DGBRClassifier": DGBRClassifier(random_state=SEED),
    }


def compare(n: int, p: int, budget: float) -> dict[str, Any]:
    """One line of the table."""
    progress(f"n = {n}, p = {p}")
    train = SyntheticWorld("s_indep_v", p).sample(n, bias_rate=0.75, random_state=SEED)

    def fit(model: Any) -> Callable[[], object]:
        return lambda: model.fit(train.X, train.y)

    sides = {name: fit(model) for name, model in estimators().items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StablepredWarning)
        warnings.simplefilter("ignore", FutureWarning)  # scikit-learn's, about its own defaults
        times = interleaved(sides, budget=budget, rounds=9)
    seconds = {name: taken.median for name, taken in times.items()}
    ratio = seconds["DGBRClassifier"] / seconds[YARDSTICK]
    return {"n": n, "p": p} | seconds | {"DGBRClassifier / " + YARDSTICK: ratio}


def bars(lines: list[dict[str, Any]]) -> list[Bar]:
    """The promise about a whole fit."""
    ratios = [
        line["DGBRClassifier / " + YARDSTICK] for line in lines if (line["n"], line["p"]) == BAR
    ]
    promise = (
        f"DGBRClassifier().fit at n = {BAR[0]}, p = {BAR[1]}: at most {AT_MOST:g} times {YARDSTICK}"
    )
    return [Bar(promise, f"{ratio:.1f} times", ratio <= AT_MOST) for ratio in ratios]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    chosen = options(__doc__, arguments)
    described = machine()
    sizes, budget = ([(150, 5)], 0.0) if chosen.quick else (SIZES, 20.0)
    lines = [compare(n, p, budget) for n, p in sizes]
    Page(
        "whole_fit",
        "Whole fits, beside scikit-learn's logistic regression",
        NOTES,
        described,
        {"Seconds": lines},
        bars(lines),
    ).publish(chosen)


if __name__ == "__main__":
    main()
