"""What the benchmarks share: times, memory, a description of the machine, pages of results."""

import argparse
import json
import multiprocessing
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from threadpoolctl import threadpool_info, threadpool_limits

import stablepred

RESULTS = Path(__file__).parent.parent / "results" / "bench"

# --- options ------------------------------------------------------------------------------------


def options(description: str | None, arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options that all benchmarks have; sets the number of threads."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of torch, BLAS")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    chosen = parser.parse_args(arguments)
    use_threads(chosen.threads)
    return chosen


def use_threads(count: int) -> None:
    """Let torch and every BLAS of this process use ``count`` threads."""
    torch.set_num_threads(count)
    threadpool_limits(count)


# --- time ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Times:
    """Seconds of one side, round after round."""

    seconds: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def seconds_of(function: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def interleaved(
    sides: Mapping[str, Callable[[], object]], *, budget: float = 1.0, rounds: int = 51
) -> dict[str, Times]:
    """Time all sides in turns, A B A B ..., so that all see the same noise of the machine.

    The first round warms up and does not count, except for a side that takes more than ``budget``
    seconds: it is measured by that call alone. Rounds of the others follow until the budget is
    spent or there are ``rounds`` of them, but at least three.
    """
    first = {name: seconds_of(side) for name, side in sides.items()}
    taken: dict[str, list[float]] = {
        name: [seconds] if seconds > budget else [] for name, seconds in first.items()
    }
    fast = [name for name in sides if not taken[name]]
    start = time.perf_counter()
    for done in range(rounds):
        if done >= 3 and time.perf_counter() - start > budget:
            break
        for name in fast:
            taken[name].append(seconds_of(sides[name]))
    return {name: Times(seconds) for name, seconds in taken.items()}


# --- memory, and processes of their own ---------------------------------------------------------


def peak_memory() -> int:
    """The most memory that this process ever held, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def memory_added_by(function: Callable[[], object]) -> int:
    """How far a call raises the peak of this process above what it held before, in bytes.

    Right only where nothing larger was held, and given back, before the call.
    """
    before = peak_memory()
    function()
    return peak_memory() - before


def in_child(function: Callable[..., Any], *arguments: object, threads: int) -> Any:
    """The result of a call in a process of its own, or in words why there is none.

    The process may have half of the memory that is free, so that a side that needs more fails
    alone and does not take the machine with it.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "sklearn.linear_model", "stablepred"])
    limit = free_memory() // 2
    try:
        with ProcessPoolExecutor(1, context, _prepare_child, (threads, limit)) as pool:
            return pool.submit(function, *arguments).result()
    except BrokenProcessPool:
        return "the process died"
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "alloc" not in str(error):
            raise
        return f"needs more than {limit / 1e9:.0f} GB"


def _prepare_child(threads: int, limit: int) -> None:
    use_threads(threads)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def free_memory() -> int:
    """Bytes of memory that can be had without swapping (all of it where nobody tells)."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return total_memory()
    (free,) = (line for line in lines if line.startswith("MemAvailable:"))
    return 1024 * int(free.split()[1])


def total_memory() -> int:
    """Bytes of memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


# --- the machine --------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """What the figures depend on besides the code."""
    libraries = {
        f"{entry['internal_api']} {entry['version'] or ''}".strip(): entry["num_threads"]
        for entry in threadpool_info()
    }
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": f"{total_memory() / 1e9:.1f} GB",
        "busy processes at the start": round(os.getloadavg()[0], 1),
        "threads of torch": torch.get_num_threads(),
        "threads of other libraries": libraries,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torch's BLAS": "MKL" if torch.backends.mkl.is_available() else "other",
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "stablepred": stablepred.__version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


# --- results ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bar:
    """A promise, what was measured, and whether the promise is kept."""

    promise: str
    measured: str
    met: bool


@dataclass(frozen=True)
class Page:
    """The results of one benchmark."""

    name: str
    title: str
    notes: str
    machine: dict[str, Any]
    tables: dict[str, list[dict[str, Any]]]  # heading -> rows
    bars: list[Bar]

    def markdown(self, command: str) -> str:
        """The page as text."""
        parts = [f"# {self.title}", self.notes, f"Made by `{command}`."]
        if self.bars:
            rows = [
                {"bar": bar.promise, "measured": bar.measured, "met": "yes" if bar.met else "no"}
                for bar in self.bars
            ]
            parts += ["## Bars", table(rows)]
        for heading, rows in self.tables.items():
            parts += [f"## {heading}", table(rows)]
        described = "\n".join(f"- {name}: {value}" for name, value in self.machine.items())
        return "\n\n".join([*parts, "## Machine", described]) + "\n"

    def publish(self, chosen: argparse.Namespace) -> None:
        """Print the page, and write it and its numbers into the folder that was chosen."""
        folder: Path = chosen.out
        folder.mkdir(parents=True, exist_ok=True)
        quick = " --quick" if chosen.quick else ""
        text = self.markdown(f"python benchmarks/{self.name}.py{quick} --threads {chosen.threads}")
        print(text)
        (folder / f"{self.name}.md").write_text(text)
        numbers = {
            "machine": self.machine,
            "bars": [vars(bar) for bar in self.bars],
            "tables": self.tables,
        }
        (folder / f"{self.name}.json").write_text(json.dumps(numbers, indent=1) + "\n")


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a table in Markdown; numbers to three digits."""
    heads = list(rows[0])
    lines = [heads, ["---"] * len(heads)]
    lines += [[shown(row[head]) for head in heads] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def shown(value: Any) -> str:
    """A cell of a table: numbers to three digits, nothing as a dash."""
    if value is None:
        return "–"
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")


def progress(text: str) -> None:
    """Say on stderr what is measured now."""
    print(text, file=sys.stderr, flush=True)
