"""One process against two on the same rows: seconds per evaluation, and per weight fit.

python benchmarks/two_processes.py
"""

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from statistics import median
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from measure import Bar, Page, machine, options, progress

from stablepred import GlobalBalancer
from stablepred.core.sharding import Shards
from stablepred.distributed import fit_shard
from stablepred.exceptions import ConvergenceWarning
from stablepred.weights.raw import balance_and_gradient

SIZE = (100_000, 80)
QUICK = (500, 6)
REPEATS, ITERATIONS, TURNS = 5, 3, 3
AT_LEAST = 1.3
LABELS = {
    "evaluation": "one evaluation of L_Bal and its gradient",
    "fit": f"GlobalBalancer, {ITERATIONS} updates of the weights",
}

NOTES = """\
Every process has one thread, and talks to the other through gloo. One process and two take turns,
so that what else runs on the machine meets both; seconds are medians."""


def table(n: int, p: int) -> np.ndarray:
    """0/1 features that depend on each other through one hidden cause."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 1))
    return (rng.normal(size=(n, p)) + 0.5 * hidden > 0).astype(np.float64)


def seconds(action: Callable[[], object]) -> list[float]:
    """Time an action a few times, after once for warming up."""
    action()
    found = []
    for _ in range(REPEATS):
        dist.barrier()
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return found


def measure(n: int, p: int) -> None:
    """One process of the group; the first prints what it found."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    x = np.array_split(table(n, p), size)[rank]
    features = torch.as_tensor(x)
    v = torch.full((len(x),), 1 / n, dtype=torch.float64)

    shards = Shards(dist.group.WORLD, timedelta(seconds=600))
    evaluation = seconds(lambda: balance_and_gradient(features, v, shards=shards))
    warnings.simplefilter("ignore", ConvergenceWarning)  # tol=0 never stops early
    fit_shard(GlobalBalancer(max_iter=1), x[:100])  # the first one imports what it needs
    start = time.perf_counter()
    fit_shard(GlobalBalancer(max_iter=ITERATIONS, tol=0.0), x)
    whole = [time.perf_counter() - start]
    if rank == 0:
        print(json.dumps({"evaluation": evaluation, "fit": whole}))
    dist.destroy_process_group()


def started(processes: int, n: int, p: int) -> dict[str, list[float]]:
    """Run ``measure`` in so many processes, by torchrun."""
    progress(f"{processes} of 2 processes")
    command = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(processes), __file__, "measure", str(n), str(p)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(n: int, p: int, turns: int) -> list[dict[str, Any]]:
    """One line for an evaluation, one for a fit."""
    found: dict[int, dict[str, list[float]]] = {k: {name: [] for name in LABELS} for k in (1, 2)}
    for _ in range(turns):
        for processes, times in found.items():
            for name, values in started(processes, n, p).items():
                times[name] += values
    lines = []
    for name, label in LABELS.items():
        one, two = median(found[1][name]), median(found[2][name])
        lines.append(
            {
                "n": n,
                "p": p,
                "what": label,
                "one process, s": one,
                "two processes, s": two,
                "times faster": one / two,
            }
        )
    return lines


def bars(lines: list[dict[str, Any]]) -> list[Bar]:
    """The promise about two processes."""
    n, p = SIZE
    text = f"two processes at n = {n}, p = {p}: at least {AT_LEAST} times the speed of one; "
    return [
        Bar(
            text + line["what"],
            f"{line['times faster']:.2f} times",
            line["times faster"] >= AT_LEAST,
        )
        for line in lines
        if (line["n"], line["p"]) == SIZE
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    chosen = options(__doc__, arguments)
    described = machine()
    lines = compare(*QUICK, 1) if chosen.quick else compare(*SIZE, TURNS)
    title = "One process against two"
    Page("two_processes", title, NOTES, described, {title: lines}, bars(lines)).publish(chosen)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(*map(int, sys.argv[2:]))
    else:
        main()
