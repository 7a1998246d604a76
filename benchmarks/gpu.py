"""A CUDA GPU beside two processor cores, and beside what its memory and its arithmetic allow.

python benchmarks/gpu.py
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from measure import (
    Bar,
    Page,
    interleaved,
    machine,
    options,
    progress,
    seconds_of,
    use_threads,
)
from problems import BALANCING, coin_rows
from torch import Tensor

from stablepred.core.head import Head
from stablepred.core.loop import Settings
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import NetworkLoss
from stablepred.core.sequential import learn_weights, start_solution
from stablepred.sample import Sample
from stablepred.weights.embedded import EmbeddedBalance, FixedEncoder, embedding_scale
from stablepred.weights.raw import RawBalance, balance_and_gradient

SIZE = (1_000_000, 100, (64, 32))
QUICK = (2_000, 8, (6, 4))
AT_LEAST = 30.0
CORES = 2

NOTES = """\
One evaluation is a loss and its gradient in double precision: what a step of L-BFGS needs. The
encoder has layers of 64 and 32 units. *embedded balance* is L_Bal on the embedding as a function
of the weights; each side keeps the embeddings with a column removed if they fit into half of the
GPU's free memory or a quarter of the processor's. *raw balance* is L_Bal on the features,
*network loss* the encoder's own loss. *bytes* and *operations* are the least that the evaluation
moves or computes on the GPU, and *of the measured rate* compares with a copy of 4 GB (bytes read
and written) or a product of two 8192 x 8192 matrices in the same run."""


def made(device: str, size: tuple[int, int, tuple[int, ...]]) -> tuple[Sample, AutoEncoder, Head]:
    """The problem on a device."""
    n, p, hidden = size
    rows = coin_rows(n, p)
    network = AutoEncoder.random(p, hidden, torch.Generator().manual_seed(0), device)
    names = ("x", "y", "mass", "copies")
    rows = replace(rows, **{name: getattr(rows, name).to(device) for name in names})
    beta = torch.linspace(-1, 1, hidden[-1], dtype=torch.float64, device=device)
    return rows, network, Head(beta, beta.new_zeros(()))


def evaluations(
    rows: Sample, network: AutoEncoder, head: Head
) -> dict[str, Callable[[], tuple[Tensor, Tensor]]]:
    """Loss and gradient of each kind, finished when the call returns."""
    generator = torch.Generator().manual_seed(1)
    w = 0.5 + torch.rand(len(rows.mass), dtype=torch.float64, generator=generator)
    w = w.to(rows.x.device)
    v, scale = rows.mass * w, embedding_scale(rows, network.encode(rows.x))
    balance = FixedEncoder(network.encoder, rows.x, scale)
    network_loss = NetworkLoss(rows, w, BALANCING)

    def embedded() -> tuple[Tensor, Tensor]:
        return balance(v)

    def raw() -> tuple[Tensor, Tensor]:
        return balance_and_gradient(rows.x, v)

    def loss() -> tuple[Tensor, Tensor]:
        value, gradients = network_loss(network, head)
        return value, gradients[0]

    return {"embedded balance": embedded, "raw balance": raw, "network loss": loss}


def finished(call: Callable[[], Any]) -> Callable[[], None]:
    """The call, and the wait until the GPU is done with it."""

    def run() -> None:
        call()
        torch.cuda.synchronize()

    return run


def least_work(rows: Sample, hidden: tuple[int, ...]) -> dict[str, tuple[float, float]]:
    """Bytes moved and operations of each evaluation on the GPU, at least."""
    n, p = rows.x.shape
    ones = float(rows.x.sum())
    widths = [p, *hidden]
    products = 2 * sum(a * b for a, b in pairwise(widths))
    units = 2 * sum(hidden) - hidden[-1] + p
    return {
        # The kept embeddings are read twice; so are the features and the embedding.
        "embedded balance": (8 * 2 * (ones * hidden[-1] + n * p + n * hidden[-1]), 0.0),
        "raw balance": (8 * 2 * n * p, 2 * 2 * n * p * p),
        # Of every unit the value is written, read by the next layer and on the way back; its slope
        # is written and read twice.
        "network loss": (8 * n * (6 * units + 3 * p), 3 * 2 * n * products),
    }


def rates() -> tuple[float, float]:
    """Bytes per second of a copy, and operations per second of a product, on this GPU."""
    return _bytes_per_second(1 << 29), _operations_per_second(8192)


def _bytes_per_second(size: int) -> float:
    source = torch.zeros(size, dtype=torch.float64, device="cuda")
    target = torch.empty_like(source)
    return 2 * 8 * size / _median(lambda: target.copy_(source))


def _operations_per_second(size: int) -> float:
    square = torch.randn(size, size, dtype=torch.float64, device="cuda")
    return 2 * size**3 / _median(lambda: square @ square)


def _median(call: Callable[[], Any]) -> float:
    return interleaved({"call": finished(call)}, budget=2.0)["call"].median


def compare(size: tuple[int, int, tuple[int, ...]], fast: tuple[float, float]) -> list[Any]:
    """One line for each kind of evaluation."""
    on_gpu, on_cpu = made("cuda", size), made("cpu", size)
    gpu, cpu = evaluations(*on_gpu), evaluations(*on_cpu)
    work = least_work(on_cpu[0], size[2])
    lines = []
    for name, call in gpu.items():
        progress(name)
        fastest = _median(call)
        started = time.perf_counter()
        result = cpu[name]()
        slow = time.perf_counter() - started
        moved, computed = work[name]
        rate = moved / fastest / fast[0], computed / fastest / fast[1]
        lines.append(
            {
                "evaluation": name,
                "GPU, ms": 1e3 * fastest,
                "2 cores, ms": 1e3 * slow,
                "times faster": slow / fastest,
                "GB": moved / 1e9,
                "10^9 operations": computed / 1e9,
                "of the measured rate": max(rate),
                "largest difference": _difference(call(), result),
            }
        )
    return lines


def _difference(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> float:
    """Of losses and gradients, relative to the largest entry."""
    pairs = zip(one, other, strict=True)
    return max(float((a.cpu() - b).abs().max() / b.abs().max()) for a, b in pairs)


def iterations(size: tuple[int, int, tuple[int, ...]]) -> list[Any]:
    """Whole iterations of the weights on the GPU: up to ten steps of L-BFGS each."""
    rows, network, _ = made("cuda", size)
    return [
        {"weights": name, "ms per iteration": 1e3 * _seconds_per_iteration(rows, encoder)}
        for name, encoder in {"raw": None, "embedded": network}.items()
    ]


def _seconds_per_iteration(rows: Sample, network: AutoEncoder | None) -> float:
    kind = RawBalance() if network is None else EmbeddedBalance()

    def seconds(iterations: int) -> float:
        settings, solution = Settings(BALANCING, max_iter=iterations, tol=0.0), start_solution(rows)
        return seconds_of(finished(lambda: learn_weights(rows, kind, network, settings, solution)))

    seconds(1)
    return (seconds(6) - seconds(1)) / 5


def bars(lines: list[dict[str, Any]]) -> list[Bar]:
    """The promise about the GPU."""
    n, p, hidden = SIZE
    slowest = min(lines, key=lambda line: line["times faster"])
    text = ", ".join(f"{line['evaluation']} {line['times faster']:.0f} times" for line in lines)
    promise = f"n = {n}, p = {p}, hidden {hidden}: at least {AT_LEAST:g} times 2 processor cores"
    return [Bar(promise, text, slowest["times faster"] >= AT_LEAST)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    chosen = options(__doc__, arguments)
    chosen.threads = CORES
    use_threads(CORES)
    if not torch.cuda.is_available():
        progress("torch finds no CUDA GPU: nothing is measured")
        return
    size = QUICK if chosen.quick else SIZE
    properties = torch.cuda.get_device_properties(0)
    described = machine() | {
        "GPU": f"{properties.name}, {properties.total_memory / 1e9:.0f} GB",
    }
    fast = rates()
    lines = compare(size, fast)
    measured = {"copy, TB/s": fast[0] / 1e12, "product, 10^12 operations/s": fast[1] / 1e12}
    tables = {
        "One evaluation": lines,
        "Iterations": iterations(size),
        "Measured rates of the GPU": [measured],
    }
    title = "A GPU beside two processor cores"
    Page("gpu", title, NOTES, described, tables, bars(lines)).publish(chosen)


if __name__ == "__main__":
    main()
