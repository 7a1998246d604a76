"""How one evaluation grows with rows and features: time, memory, fitted exponents.

    python benchmarks/growth.py

Every cell is measured in processes of its own, so that peaks of memory are its own and a side that
needs too much memory fails alone.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from gram_evaluation import passes, products
from measure import Bar, Page, in_child, interleaved, machine, memory_added_by, options, progress
from per_feature_loop import loop_balance
from problems import coin_rows, start_network
from same_balance import one_evaluation
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from stablepred.core.networks import AutoEncoder
from stablepred.sample import Sample
from stablepred.weights.embedded import FixedEncoder, embedding_scale
from stablepred.weights.raw import balance_and_gradient

ROWS = [1000, 10_000, 100_000, 1_000_000]
FEATURES = [20, 40, 80]
SLOWEST = 5.0  # seconds that one evaluation may be expected to take
PIECE = 1 << 16  # rows that are embedded at once where they are too many to be kept
# Exponents fitted to times are not whole numbers.
LARGEST_IN_N, LARGEST_IN_P = 1.1, 2.1

NOTES = """\
One evaluation is one loss with its gradient in the weights. Features are fair coins; the encoder
has two layers of p / 2, so that a row's embedding has p / 2 coordinates. *Loop* is the
per-feature loop of `same_balance`. *Kept* and *recomputed* are the two ways of the embedded
balance: the embeddings with a column removed are kept in memory if they fit into a quarter of what
is free, and else made at each evaluation, with n p^3 / 8 multiplications in the second
layer. *Floor*: for the raw balance the
matrix products and passes over memory of `gram_evaluation`; for the embedded one two passes over
the embeddings with a column removed, and before them, where they are recomputed, the second layer
and both sigmoids. *LR* is a whole fit of scikit-learn's `LogisticRegression`, not one evaluation.
A side that is expected to take more than {slowest:g} seconds, judged by ten times what it took on a
tenth of the rows, is left out; one that takes more than {budget:g} seconds is measured once.
Memory is what setting up and one evaluation add to that of the data."""

Side = Callable[[], object]


# --- the sides ----------------------------------------------------------------------------------


def raw_sides(n: int, p: int) -> dict[str, Callable[[], Side]]:
    """How to set up each side of the raw balance."""
    rows = coin_rows(n, p)
    x, y = rows.x, rows.y

    def floor() -> Side:
        first, second = products(x, rows.mass), passes(x, rows.mass)
        return lambda: (first(), second())

    return {
        "library": lambda: lambda: balance_and_gradient(x, rows.mass),
        "loop": lambda: one_evaluation(lambda w: loop_balance(x, w), rows),
        "floor": floor,
        "LR": lambda: lambda: LogisticRegression().fit(x.numpy(), y.numpy()),
    }


def embedded_sides(keep: bool, n: int, p: int) -> dict[str, Callable[[], Side]]:
    """How to set up each side of the embedded balance, with embeddings kept or recomputed."""
    rows, network = coin_rows(n, p), start_network(p)
    x = rows.x
    scale = embedding_scale(rows, network.encode(x))

    def library() -> Side:
        balance = FixedEncoder(network.encoder, x, scale, keep_at_most=sys.maxsize * keep)
        return lambda: balance(rows.mass)

    return {
        "library": library,
        "loop": lambda: one_evaluation(lambda w: loop_balance(x, w, network.encode, scale), rows),
        "floor": partial(embedded_floor, keep, rows, network),
    }


def embedded_floor(keep: bool, rows: Sample, network: AutoEncoder) -> Side:
    """Two passes over the embeddings with a column removed, made first if they are not kept."""
    pairs = int(rows.x.sum())
    weight, bias = network.encoder[1]
    width = len(bias)
    size = pairs if keep else PIECE
    inner = torch.zeros(size, width, dtype=torch.float64)
    v, gap = torch.ones(size, dtype=torch.float64), torch.ones(width, dtype=torch.float64)

    def two_passes(embedded: Tensor) -> None:
        _ = v @ embedded, embedded @ gap

    def run() -> None:
        if keep:
            two_passes(inner)
            return
        for _ in range(-(-pairs // PIECE)):
            two_passes(torch.sigmoid(torch.addmm(bias, torch.sigmoid(inner), weight.T)))

    return run


SIDES = {
    "raw": raw_sides,
    "embedded, kept": partial(embedded_sides, True),
    "embedded, recomputed": partial(embedded_sides, False),
}
SIDE_NAMES = {  # in the order in which they take turns
    "raw": ["library", "loop", "floor", "LR"],
    "embedded, kept": ["library", "loop", "floor"],
    "embedded, recomputed": ["library", "floor"],
}


# --- measuring, in processes of their own -------------------------------------------------------


def times_of(kind: str, n: int, p: int, names: list[str], budget: float) -> dict[str, float]:
    """Median seconds of each side, in turns."""
    made = SIDES[kind](n, p)
    sides = {name: made[name]() for name in names}
    return {name: times.median for name, times in interleaved(sides, budget=budget).items()}


def memory_of(kind: str, n: int, p: int, name: str) -> int:
    """Bytes that setting up one side and evaluating it once adds to the data."""
    SIDES[kind](100, p)[name]()()  # the libraries take what they need once
    set_up = SIDES[kind](n, p)[name]
    return memory_added_by(lambda: set_up()())


Cells = dict[tuple[int, int], dict[str, Any]]  # (n, p) -> side -> seconds, or why there are none


def measure_times(
    kind: str, rows: list[int], features: list[int], budget: float, threads: int
) -> Cells:
    """Seconds of an evaluation, or in words why there is no figure, cell by cell."""
    cells: Cells = {}
    for p in features:
        for n in rows:
            progress(f"time of {kind}, n = {n}, p = {p}")
            cells[n, p] = too_slow(cells.get((n // 10, p), {}))
            names = [name for name in SIDE_NAMES[kind] if name not in cells[n, p]]
            # The threads of scikit-learn's BLAS go on spinning and would disturb the others.
            for group in (
                [name for name in names if name != "LR"],
                ["LR"] if "LR" in names else [],
            ):
                if group:
                    cells[n, p] |= in_turns(kind, n, p, group, budget, threads)
    return cells


def in_turns(
    kind: str, n: int, p: int, names: list[str], budget: float, threads: int
) -> dict[str, Any]:
    """Seconds of some sides that take turns, or in words why there is no figure."""
    found = in_child(times_of, kind, n, p, names, budget, threads=threads)
    if not isinstance(found, str):
        return dict(found)
    if len(names) == 1:
        return {names[0]: found}
    # One side was too large: each alone.
    alone = [in_turns(kind, n, p, [name], budget, threads) for name in names]
    return {name: result for one in alone for name, result in one.items()}


def too_slow(smaller: dict[str, Any]) -> dict[str, str]:
    """Sides to leave out, by what they took on a tenth of the rows, and why."""
    reasons = {}
    for name, seconds in smaller.items():
        if isinstance(seconds, str):
            reasons[name] = seconds
        elif 10 * seconds > SLOWEST:
            reasons[name] = f"about {10 * seconds:.0f} s"
    return reasons


def measure_memory(times: dict[str, Cells], p: int, threads: int) -> list[dict[str, Any]]:
    """Megabytes that a side adds to the data, for all numbers of rows."""
    lines = []
    for kind, cells in times.items():
        for n, q in cells:
            if q != p:
                continue
            progress(f"memory of {kind}, n = {n}, p = {p}")
            line = {"balance": kind, "n": n, "p": p, "data, MB": 8 * n * p / 1e6}
            for name in ("library", "loop"):
                found: Any = cells[n, p].get(name, "")
                if not isinstance(found, str):
                    found = in_child(memory_of, kind, n, p, name, threads=threads)
                line[f"{name}, MB"] = found if isinstance(found, str) else found / 1e6
            lines.append(line)
    return lines


# --- what comes out -----------------------------------------------------------------------------


def time_lines(kind: str, cells: Cells) -> list[dict[str, Any]]:
    """Milliseconds and ratios, cell by cell."""
    lines = []
    for (n, p), found in cells.items():
        line: dict[str, Any] = {"n": n, "p": p}
        for name in SIDE_NAMES[kind]:
            value = found[name]
            line[f"{name}, ms"] = value if isinstance(value, str) else 1e3 * value
        for over, under in (("loop", "library"), ("library", "floor")):
            if over in found:
                line[f"{over} / {under}"] = ratio(found[over], found[under])
        lines.append(line)
    return lines


def ratio(over: float | str, under: float | str) -> float | None:
    """How many times; None where one of them was not measured."""
    return None if isinstance(over, str) or isinstance(under, str) else over / under


def exponents(cells: Cells, name: str) -> dict[str, float]:
    """Exponents of n and p in the time, by least squares of the logarithms.

    The smallest n are left out: what they take is the overhead of the calls.
    """
    smallest = min(n for n, _ in cells)
    measured = [
        (np.log(n), np.log(p), np.log(found[name]))
        for (n, p), found in cells.items()
        if n > smallest and not isinstance(found[name], str)
    ]
    log_n, log_p, log_time = np.array(measured).T
    design = np.column_stack([np.ones(len(log_n)), log_n, log_p])
    (_, in_n, in_p), *_ = np.linalg.lstsq(design, log_time)
    return {"in n": float(in_n), "in p": float(in_p), "cells": len(measured)}


def exponent_lines(times: dict[str, Cells]) -> list[dict[str, Any]]:
    """The fitted exponents of every side."""
    return [
        {"balance": kind, "side": name} | exponents(cells, name)
        for kind, cells in times.items()
        for name in SIDE_NAMES[kind]
    ]


def bars(lines: list[dict[str, Any]]) -> list[Bar]:
    """The promise about growth."""
    return [
        Bar(
            f"{line['balance']} balance: an evaluation grows linearly in n and at most "
            f"quadratically in p (fitted exponents up to {LARGEST_IN_N} and {LARGEST_IN_P})",
            f"{line['in n']:.2f} and {line['in p']:.2f}",
            line["in n"] <= LARGEST_IN_N and line["in p"] <= LARGEST_IN_P,
        )
        for line in lines
        if line["side"] == "library"
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    chosen = options(__doc__, arguments)
    rows, features, budget = ROWS, FEATURES, 2.0
    if chosen.quick:
        rows, features, budget = [20, 200, 2000], [4, 8], 0.0
    described = machine()
    times = {kind: measure_times(kind, rows, features, budget, chosen.threads) for kind in SIDES}
    grown = exponent_lines(times)
    tables = {"Fitted exponents": grown}
    for kind, cells in times.items():
        tables[f"One evaluation, {kind}"] = time_lines(kind, cells)
    tables["Memory"] = measure_memory(times, features[-2], chosen.threads)
    Page(
        "growth",
        "How one evaluation grows with rows and features",
        NOTES.format(slowest=SLOWEST, budget=budget),
        described,
        tables,
        [] if chosen.quick else bars(grown),
    ).publish(chosen)


if __name__ == "__main__":
    main()
