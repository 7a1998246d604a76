"""The methods of the field: DWR beside its published algorithm, and all of them by ``compare``.

python benchmarks/baselines.py
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from measure import Bar, Page, in_child, machine, options, progress, seconds_of

from stablepred import compare
from stablepred.baselines import DWRBalancer
from stablepred.data import ContinuousWorld, SyntheticWorld

SETTINGS = ("s_indep_v", "s_to_v", "collinear")
RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TIMES_AS_FAST, MOST_SECONDS = 10.0, 180.0
PENALTY = 0.01

NOTES = """\
*DWR* has the same objective on both sides, without the floor on the effective share: the squared
covariances of standardised columns under the weights, and a penalty on the weights. The published
algorithm is Adam on omega with w = omega², for 20,000 steps, here in NumPy without the overhead of
automatic differentiation, and runs once; ours is the median of five.

*compare* trains every method that it knows on the training rows of `stablepred demo`, and tests
them in its environments, with intervals."""


def adam(x: Any, weight_l2: float, steps: int, rate: float = 0.01) -> Any:
    """The published algorithm: Adam on omega, with w = omega^2 and a penalty on the mean of w."""
    z, n = (x - x.mean(axis=0)) / x.std(axis=0), len(x)
    omega, first, second = np.ones(n), np.zeros(n), np.zeros(n)
    for step in range(1, steps + 1):
        v = omega**2 / n
        mean = v @ z
        covariance = z.T @ (v[:, None] * z) - np.outer(mean, mean)
        np.fill_diagonal(covariance, 0)
        slope = 2 * np.einsum("ij,ij->i", z @ covariance, z) - 4 * z @ (covariance @ mean)
        slope += 2 * weight_l2 * n * v + 2 * (v.sum() - 1)
        gradient = slope * 2 * omega / n
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        corrected = second / (1 - 0.999**step)
        omega = omega - rate * first / (1 - 0.9**step) / (np.sqrt(corrected) + 1e-8)
    return omega**2


def objective(x: Any, w: Any, weight_l2: float) -> float:
    """What both sides lower, for weights of any scale."""
    z, v = (x - x.mean(axis=0)) / x.std(axis=0), w / w.sum()
    covariance = z.T @ (v[:, None] * z) - np.outer(v @ z, v @ z)
    np.fill_diagonal(covariance, 0)
    return float((covariance**2).sum() + weight_l2 * len(x) * (v**2).sum())


def time_decorrelation(setting: Any, n: int, steps: int) -> dict[str, Any]:
    """Seconds and objective of both sides on one table."""
    x = ContinuousWorld(setting).sample(n, 1.7, random_state=0).X.to_numpy()
    weights: dict[str, Any] = {}

    def ours() -> None:
        weights["ours"] = DWRBalancer(min_effective_share=0).fit(x).weights_

    def published() -> None:
        weights["published"] = adam(x, PENALTY, steps)

    DWRBalancer().fit(x[:50])  # warm up
    seconds = {
        "ours": float(np.median([seconds_of(ours) for _ in range(5)])),
        "published": seconds_of(published),
    }
    found = {f"objective, {side}": objective(x, w, PENALTY) for side, w in weights.items()}
    times = {f"seconds, {side}": value for side, value in seconds.items()}
    ratio = seconds["published"] / seconds["ours"]
    return {"world": setting, **times, "times as fast": ratio, **found}


def time_compare(n: int, bias_on: Any, methods: Any) -> list[dict[str, Any]]:
    """Seconds of every method in one of the demo's worlds, and of them all."""
    world = SyntheticWorld("s_indep_v", bias_on=bias_on)
    train = world.sample(n, 0.75, random_state=0)
    tests = [world.sample(n, r, random_state=1) for r in RATES]
    reports: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = seconds_of(lambda: reports.append(compare(train, tests, methods=methods)))
    rows = reports[0].table["seconds"].sort_values(ascending=False).items()
    return [{"method": str(name), "seconds": float(own)} for name, own in rows] + [
        {"method": "all, with intervals", "seconds": whole}
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    chosen = options(__doc__, arguments)
    n, steps = (100, 200) if chosen.quick else (2000, 20_000)
    methods = ["constant", "dwr"] if chosen.quick else None  # all
    described, rows, compared = machine(), [], {}
    for setting in SETTINGS:
        progress(f"DWR, {setting}")
        rows.append(in_child(time_decorrelation, setting, n, steps, threads=chosen.threads))
    for bias_on in ("outcome", "signal"):
        progress(f"compare, selection on the {bias_on}")
        compared[bias_on] = in_child(time_compare, n, bias_on, methods, threads=chosen.threads)
    slowest = min(row["times as fast"] for row in rows)
    lower = all(row["objective, ours"] <= row["objective, published"] + 1e-9 for row in rows)
    longest = max(part[-1]["seconds"] for part in compared.values())
    bars = [
        Bar(
            f"DWR: {TIMES_AS_FAST:g} times as fast as the published algorithm",
            f"{slowest:.0f} times or more",
            slowest >= TIMES_AS_FAST,
        ),
        Bar("DWR: the objective is no higher", "no higher" if lower else "higher", lower),
        Bar(
            f"compare with all methods: under {MOST_SECONDS:g} seconds",
            f"{longest:.0f} s",
            longest < MOST_SECONDS,
        ),
    ]
    tables = {"DWR": rows} | {
        f"compare, selection on the {name}": part for name, part in compared.items()
    }
    Page(
        "baselines",
        "The methods of the field",
        NOTES,
        described,
        tables,
        [] if chosen.quick else bars,
    ).publish(chosen)


if __name__ == "__main__":
    main()
