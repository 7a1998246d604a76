"""One process against two on the same rows: seconds per evaluation, and per weight fit.

Run: OMP_NUM_THREADS=1 python benchmarks/two_processes.py
Writes results/bench/two_processes.json and .md. Every process has one thread.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from stablepred import GlobalBalancer
from stablepred.core.balancing import raw_balance
from stablepred.core.sharding import Shards, row_shards, timedelta
from stablepred.distributed import fit_shard

ROWS, FEATURES, REPEATS, ITERATIONS = 100_000, 80, 5, 3
FOLDER = Path(__file__).parent.parent / "results" / "bench"


def table() -> np.ndarray:
    """0/1 features that depend on each other through one hidden cause."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(ROWS, 1))
    return (rng.normal(size=(ROWS, FEATURES)) + 0.5 * hidden > 0).astype(np.float64)


def seconds(action) -> list[float]:
    """Time an action a few times, after once for warming up."""
    action()
    found = []
    for _ in range(REPEATS):
        dist.barrier()
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return found


def measure() -> None:
    """One process of the group; the first prints what it found."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    x = np.array_split(table(), size)[rank]
    features = torch.as_tensor(x)
    omega = torch.full((len(x),), ROWS**-0.5, dtype=torch.float64, requires_grad=True)

    def evaluate() -> None:
        omega.grad = None
        raw_balance(features, omega.square()).backward()

    def fit() -> None:
        # A fixed number of updates: tol=0 never stops early.
        fit_shard(GlobalBalancer(max_iter=ITERATIONS, tol=0.0), x)

    with row_shards(Shards(dist.group.WORLD, timedelta(seconds=600))):
        evaluation = seconds(evaluate)
    start = time.perf_counter()
    fit()
    whole = [time.perf_counter() - start]
    if rank == 0:
        print(json.dumps({"evaluation": evaluation, "fit": whole}))
    dist.destroy_process_group()


def started(processes: int) -> dict[str, list[float]]:
    """Run ``measure`` in so many processes, by torchrun."""
    command = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(processes), __file__, "measure"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Take turns, so that what else runs on the machine meets both."""
    found = {processes: {"evaluation": [], "fit": []} for processes in (1, 2)}
    for _ in range(3):
        for processes, times in found.items():
            for name, values in started(processes).items():
                times[name] += values
    lines = [
        f"# One process against two, {ROWS} rows, {FEATURES} features, one thread each",
        "",
        "`OMP_NUM_THREADS=1 python benchmarks/two_processes.py`: median and least seconds.",
        "",
        "| | one process | two processes | ratio of medians | ratio of least |",
        "|---|---|---|---|---|",
    ]
    record = {"rows": ROWS, "features": FEATURES, "torch": torch.__version__}
    for name, label in (
        ("evaluation", "one evaluation of L_Bal and its gradient"),
        ("fit", f"GlobalBalancer fit, {ITERATIONS} updates"),
    ):
        one, two = found[1][name], found[2][name]
        medians, least = [float(np.median(t)) for t in (one, two)], [min(one), min(two)]
        ratios = medians[0] / medians[1], least[0] / least[1]
        record[name] = {"one": one, "two": two, "ratio": ratios[0], "ratio of least": ratios[1]}
        cells = [f"{a:.3f} ({b:.3f})" for a, b in zip(medians, least, strict=True)]
        lines.append(f"| {label} | {' | '.join(cells)} | {ratios[0]:.2f} | {ratios[1]:.2f} |")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "two_processes.json").write_text(json.dumps(record, indent=1) + "\n")
    (FOLDER / "two_processes.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    else:
        main()
