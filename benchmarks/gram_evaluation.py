"""One evaluation of the raw balance and its gradient, against the work it cannot avoid.

python benchmarks/gram_evaluation.py
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from measure import Bar, Page, interleaved, machine, options, progress
from problems import coin_rows
from torch import Tensor

from stablepred.weights.raw import balance_and_gradient

SIZES = [(100_000, 20), (100_000, 40), (100_000, 80), (100_000, 160)]
BAR = (100_000, 80)
AT_MOST = 2.0

NOTES = """\
*Library* is `balance_and_gradient` in double precision. The floor has two parts, each timed with
its inputs and its result in memory already: the two matrix products X'(vX) and X D, and the
passes over memory that come with them in this form of the algorithm (making vX, and the sums of
(X D) * X over rows). The bar is about the products alone."""


def products(x: Tensor, v: Tensor) -> Callable[[], None]:
    """X'(vX) and X D."""
    scaled = v[:, None] * x
    square = torch.ones(x.shape[1], x.shape[1], dtype=x.dtype)
    gram, wide = torch.empty_like(square), torch.empty_like(x)

    def run() -> None:
        torch.mm(x.T, scaled, out=gram)
        torch.mm(x, square, out=wide)

    return run


def passes(x: Tensor, v: Tensor) -> Callable[[], None]:
    """Making vX, and row by row the inner product of two matrices."""
    wide, column = torch.empty_like(x), v[:, None]
    sums = torch.empty_like(v)

    def run() -> None:
        torch.mul(x, column, out=wide)
        torch.linalg.vecdot(wide, x, out=sums)

    return run


def floor_sides(x: Tensor, v: Tensor) -> dict[str, Callable[[], object]]:
    """The library's evaluation and the parts of its floor."""
    return {
        "library": lambda: balance_and_gradient(x, v),
        "products": products(x, v),
        "passes": passes(x, v),
    }


def compare(n: int, p: int, budget: float) -> dict[str, Any]:
    """One line of the table."""
    progress(f"n = {n}, p = {p}")
    rows = coin_rows(n, p)
    seconds = {
        name: times.median
        for name, times in interleaved(floor_sides(rows.x, rows.mass), budget=budget).items()
    }
    floor = seconds["products"] + seconds["passes"]
    return {
        "n": n,
        "p": p,
        "library, ms": 1e3 * seconds["library"],
        "products, ms": 1e3 * seconds["products"],
        "passes, ms": 1e3 * seconds["passes"],
        "library / products": seconds["library"] / seconds["products"],
        "library / (products + passes)": seconds["library"] / floor,
    }


def bars(lines: list[dict[str, Any]]) -> list[Bar]:
    """The promise about one evaluation."""
    promise = "raw loss and gradient at n = {}, p = {}: at most {:g} times its two matrix products"
    return [
        Bar(
            promise.format(*BAR, AT_MOST),
            f"{line['library / products']:.2f} times",
            line["library / products"] <= AT_MOST,
        )
        for line in lines
        if (line["n"], line["p"]) == BAR
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    chosen = options(__doc__, arguments)
    described = machine()
    sizes, budget = ([(200, 4), (200, 8)], 0.0) if chosen.quick else (SIZES, 5.0)
    lines = [compare(n, p, budget) for n, p in sizes]
    Page(
        "gram_evaluation",
        "One evaluation of the raw balance, against its floor",
        NOTES,
        described,
        {"One evaluation": lines},
        bars(lines),
    ).publish(chosen)


if __name__ == "__main__":
    main()
