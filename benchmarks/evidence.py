"""The evidence on the variables, from all rows: its time, and how it grows.

python benchmarks/evidence.py

StableClassifier takes its evidence from a draw of large tables; here every row counts.
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
LARGEST_IN_N, LARGEST_IN_P = 1.1, 2.1

NOTES = """\
Explaining away for every variable at once. Features are fair coins, of which two decide the
outcome. Every cell runs in a process of its own; the median of three calls after a first one
counts."""


def time_evidence(n: int, p: int) -> float:
    """Median seconds of the evidence on all variables."""
    sample, kind = coin_rows(n, p), ExplainingAway()
    w = torch.ones_like(sample.mass)
    kind(coin_rows(100, p), w[:100])
    return float(np.median([seconds_of(lambda: kind(sample, w)) for _ in range(3)]))


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
