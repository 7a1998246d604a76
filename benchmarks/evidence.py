"""The evidence on the variables, from all rows: its time, and how it grows.

python benchmarks/evidence.py

StableClassifier takes its evidence from a draw of large tables; here all rows are given.
"""

from collections.abc import Sequence

import numpy as np
import torch
from growth import exponents
from measure import Bar, Page, in_child, machine, options, progress, seconds_of
from problems import coin_rows

from stablepred.evidence.explaining_away import ExplainingAway

ROWS = [1000, 10_000, 100_000]
FEATURES = [20, 100, 300]
MOST_SECONDS = 30.0  # at the most rows and features
LONG = 5.0  # seconds of a call that is timed once
LARGEST_IN_N, LARGEST_IN_P = 1.1, 2.1

NOTES = """\
Explaining away for every variable at once. Features are fair coins, of which two decide the
outcome. Where rows times squared columns exceed 5e8 (and there are more than 20,000 rows), the
witnesses are first dismissed on part of the rows. Every cell runs in a process of its
own; a call under five seconds is timed three times, of which the median counts."""


def time_evidence(n: int, p: int) -> float:
    """Median seconds of the evidence on all variables; of long ones those of one call."""
    sample, kind = coin_rows(n, p), ExplainingAway()
    w = torch.ones_like(sample.mass)
    kind(coin_rows(100, p), w[:100])
    seconds = [seconds_of(lambda: kind(sample, w))]
    while len(seconds) < 3 and seconds[0] < LONG:
        seconds.append(seconds_of(lambda: kind(sample, w)))
    return float(np.median(seconds))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    chosen = options(__doc__, arguments)
    rows, features = ([100, 200, 400], [4, 8]) if chosen.quick else (ROWS, FEATURES)
    described, cells = machine(), {}
    for p in features:
        for n in rows:
            progress(f"n = {n}, p = {p}")
            found = in_child(time_evidence, n, p, threads=chosen.threads)
            cells[n, p] = {"evidence": found}
    grown = exponents(cells, "evidence")
    lines = [{"n": n, "p": p, "seconds": cell["evidence"]} for (n, p), cell in cells.items()]
    longest = lines[-1]["seconds"]
    bars = [
        Bar(
            f"n = {rows[-1]:,}, p = {features[-1]}: under {MOST_SECONDS:g} seconds",
            f"{longest:.1f} s",
            longest < MOST_SECONDS,
        ),
        Bar(
            f"fitted exponents up to {LARGEST_IN_N} in n and {LARGEST_IN_P} in p",
            f"{grown['in n']:.2f} and {grown['in p']:.2f}",
            grown["in n"] <= LARGEST_IN_N and grown["in p"] <= LARGEST_IN_P,
        ),
    ]
    tables = {"Seconds": lines, "Fitted exponents": [grown]}
    Page(
        "evidence",
        "The evidence on the variables",
        NOTES,
        described,
        tables,
        [] if chosen.quick else bars,
    ).publish(chosen)


if __name__ == "__main__":
    main()
