"""Whole fits of the estimators beside scikit-learn's, on the same rows.

python benchmarks/whole_fit.py
"""

import cProfile
import pstats
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measure import Bar, Page, in_child, machine, options, peak_memory, progress
from problems import SEED
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LassoCV, LinearRegression, LogisticRegression, LogisticRegressionCV

from stablepred import (
    DGBRClassifier,
    DLRClassifier,
    GBRClassifier,
    StableClassifier,
    StableRegressor,
)
from stablepred.data import SyntheticWorld

YARDSTICK = "LogisticRegressionCV"
ESTIMATORS: dict[str, Any] = {
    "LogisticRegression": LogisticRegression(max_iter=1000),
    YARDSTICK: LogisticRegressionCV(max_iter=1000),
    "HistGradientBoosting": HistGradientBoostingClassifier(random_state=SEED),
    "StableClassifier": StableClassifier(random_state=SEED),
    "StableClassifier(boosting)": StableClassifier(
        HistGradientBoostingClassifier(random_state=SEED), random_state=SEED
    ),
    "GBRClassifier": GBRClassifier(random_state=SEED),
    "DLRClassifier": DLRClassifier(random_state=SEED),
    "DGBRClassifier": DGBRClassifier(random_state=SEED),
}
REGRESSION_YARDSTICK = "LassoCV"
REGRESSORS: dict[str, Any] = {
    "LinearRegression": LinearRegression(),
    REGRESSION_YARDSTICK: LassoCV(),
    "HistGradientBoosting": HistGradientBoostingRegressor(random_state=SEED),
    "StableRegressor": StableRegressor(random_state=SEED),
}
SIZES = [
    ("0/1", 1000, 20),
    ("0/1", 4000, 20),
    ("numbers", 4000, 20),
    ("0/1", 10_000, 20),
    ("0/1", 10_000, 100),
    ("numbers", 10_000, 300),
    ("0/1", 100_000, 20),
    ("0/1", 200_000, 100),
    ("numbers", 1_000_000, 50),
]
REGRESSION_SIZES = [("amounts", 2000, 10), ("amounts", 10_000, 100), ("amounts", 100_000, 20)]
# A stage of StableClassifier's fit, and the function that is that stage.
STAGES = {
    "encoding": ("screening.py", "read_rows"),
    "distinct rows": ("sample.py", "make_sample"),
    "evidence": ("screening.py", "_judge"),
    "models compared": ("guard.py", "decide"),
    "model of all rows": ("stable.py", "_fit_chosen"),
    "references": ("references.py", "fit_references"),
}
STAGE_SIZES = [("0/1", 4000, 20), ("0/1", 200_000, 100)]
# Numbers in the table above which an estimator is left out: its fit would take very long.
MOST: dict[str, float] = {
    "StableClassifier(boosting)": 2e7,
    "GBRClassifier": 2e7,
    "DLRClassifier": 5e5,
    "DGBRClassifier": 5e5,
}
# Of StableClassifier: the most times the yardstick takes, by size.
BARS = {("0/1", 4000, 20): 12, ("0/1", 200_000, 100): 15, ("numbers", 1_000_000, 50): 15}
MOST_MEMORY = 8.0  # GiB, at the largest size
LONG = 2.0  # seconds of a fit that is timed once

NOTES = """\
Estimators with their defaults and `random_state=0`; `LogisticRegressionCV` with scikit-learn's
default folds and strengths. Columns of 0 and 1 are the paper's world with S and V independent,
r = .75; numbers are standard normal, and the outcome depends on five of them: a class, or for
regression an amount. Every fit runs in a process of its own; a fit under two seconds is timed three
times, of which the median counts. A dash: left out, since it would take very long. GiB: the most
memory that the process of StableClassifier or StableRegressor held, with the data and Python
itself. Stages are shares of one fit of StableClassifier under Python's profiler. Growth is the
exponent of n between the smallest and the largest number of rows with the same columns."""


def make_rows(kind: str, n: int, p: int) -> tuple[Any, Any]:
    """The table and the outcome."""
    if kind == "0/1":
        train = SyntheticWorld("s_indep_v", p).sample(n, bias_rate=0.75, random_state=SEED)
        return train.X, train.y
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(n, p))
    amount = x[:, :5].sum(axis=1) + rng.normal(size=n)
    return x, amount if kind == "amounts" else (amount > 0).astype(int)


def time_fit(name: str, kind: str, n: int, p: int) -> tuple[float, float]:
    """Median seconds of a fit, and the most memory of the process, in GiB."""
    x, y = make_rows(kind, n, p)
    model, seconds = (REGRESSORS if kind == "amounts" else ESTIMATORS)[name], list[float]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x[:200], y[:200])  # loads what is loaded at the first fit
        while len(seconds) < 3:
            start = time.perf_counter()
            model.fit(x, y)
            seconds.append(time.perf_counter() - start)
            if seconds[-1] > LONG:
                break
    return float(np.median(seconds)), peak_memory() / 2**30


def compare(
    estimators: Mapping[str, Any], kind: str, n: int, p: int, threads: int
) -> dict[str, Any]:
    """One line of the table."""
    line: dict[str, Any] = {"columns": kind, "n": n, "p": p}
    for name in estimators:
        progress(f"{name}: {kind}, n = {n}, p = {p}")
        line[name] = None
        if n * p <= MOST.get(name, np.inf):
            found = in_child(time_fit, name, kind, n, p, threads=threads)
            line[name] = found if isinstance(found, str) else found[0]
            if name in ("StableClassifier", "StableRegressor") and not isinstance(found, str):
                line["GiB"] = found[1]
    return line


def profile_stages(kind: str, n: int, p: int) -> dict[str, float]:
    """Share of every stage in one fit of StableClassifier."""
    x, y = make_rows(kind, n, p)
    model, profile = ESTIMATORS["StableClassifier"], cProfile.Profile()
    model.fit(x[:200], y[:200])
    start = time.perf_counter()
    profile.runcall(model.fit, x, y)
    whole = time.perf_counter() - start
    taken = {
        (Path(file).name, function): numbers[3]
        for (file, _, function), numbers in pstats.Stats(profile).stats.items()
    }
    return {stage: taken[function] / whole for stage, function in STAGES.items()}


def growth(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Exponents of n in the time, for every kind and number of columns measured twice or more."""
    found = []
    for kind, p in sorted({(line["columns"], line["p"]) for line in lines}):
        own = [line for line in lines if (line["columns"], line["p"]) == (kind, p)]
        if len(own) < 2:
            continue
        first, last = own[0], own[-1]
        rows: dict[str, Any] = {"columns": kind, "p": p, "n": f"{first['n']:,} to {last['n']:,}"}
        for name in (YARDSTICK, "HistGradientBoosting", "StableClassifier"):
            rows[name] = float(np.log(last[name] / first[name]) / np.log(last["n"] / first["n"]))
        found.append(rows)
    return found


def bars(lines: Sequence[dict[str, Any]]) -> list[Bar]:
    """The promises about whole fits."""
    found = []
    for line in lines:
        size = (line["columns"], line["n"], line["p"])
        if size not in BARS or isinstance(line["StableClassifier"], str):
            continue
        ratio = line["StableClassifier"] / line[YARDSTICK]
        promise = "StableClassifier: {}, n = {:,}, p = {}: at most {} times {}"
        promise = promise.format(*size, BARS[size], YARDSTICK)
        found.append(Bar(promise, f"{ratio:.1f} times", ratio <= BARS[size]))
        if size == SIZES[-1]:
            promise = f"the same in at most {MOST_MEMORY:g} GiB"
            found.append(Bar(promise, f"{line['GiB']:.1f} GiB", line["GiB"] <= MOST_MEMORY))
    return found


def ratios(lines: Sequence[dict[str, Any]], yardstick: str) -> list[dict[str, Any]]:
    """The times as multiples of the yardstick's."""
    return [
        {
            name: value / line[yardstick] if isinstance(value, float) else value
            for name, value in line.items()
            if name not in (yardstick, "GiB")
        }
        for line in lines
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    chosen = options(__doc__, arguments)
    described = machine()
    sizes, regression, staged = SIZES, REGRESSION_SIZES, STAGE_SIZES
    if chosen.quick:
        sizes, regression = [("0/1", 300, 6), ("numbers", 300, 5)], [("amounts", 300, 5)]
        staged = [("0/1", 300, 6)]
    lines = [compare(ESTIMATORS, *size, chosen.threads) for size in sizes]
    amounts = [compare(REGRESSORS, *size, chosen.threads) for size in regression]
    stages = []
    for kind, n, p in staged:
        progress(f"stages: {kind}, n = {n}, p = {p}")
        shares = in_child(profile_stages, kind, n, p, threads=chosen.threads)
        stages.append({"columns": kind, "n": n, "p": p} | shares)
    tables = {
        f"Times {YARDSTICK}": ratios(lines, YARDSTICK),
        "Seconds": lines,
        f"Regression: times {REGRESSION_YARDSTICK}": ratios(amounts, REGRESSION_YARDSTICK),
        "Regression: seconds": amounts,
        "Where the time goes": stages,
    }
    if grown := growth(lines):
        tables["Growth"] = grown
    Page(
        "whole_fit", "Whole fits, beside scikit-learn's", NOTES, described, tables, bars(lines)
    ).publish(chosen)


if __name__ == "__main__":
    main()
