"""What the fuzz tools share: what happened to one file, to many, and who does the work.

The work is done in child processes, one after the other, so that a crash ends only one of them.
"""

import multiprocessing
import queue
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

BATCH = 2000
HANGS = 300  # seconds at one file, on a machine that may be busy


@dataclass
class Observation:
    """What happened to one file."""

    verdict: str  # refused, loaded or failed
    detail: str
    seconds: float
    peak: int  # bytes


@dataclass
class Tally:
    """What happened to many files.

    A finding is a file that failed, one that took more than ``limit`` seconds of processor time,
    and one that took more than ``factor`` times its size and ``allowance`` bytes of memory.
    """

    limit: float
    factor: int
    allowance: int
    counts: Counter[str] = field(default_factory=Counter)
    changes: dict[str, Counter[str]] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    beyond: int = 0  # most bytes beyond ``factor`` times the size

    def add(self, number: int, group: str, change: str, size: int, seen: Observation) -> None:
        """Count one file, and keep it if it is a finding."""
        self.counts[f"{seen.verdict}, {group}"] += 1
        self.changes.setdefault(change, Counter())[seen.verdict] += 1
        beyond = seen.peak - self.factor * size
        self.seconds = max(self.seconds, seen.seconds)
        self.beyond = max(self.beyond, beyond)
        if seen.verdict == "failed" or seen.seconds > self.limit or beyond > self.allowance:
            facts = {"number": number, "group": group, "change": change, "size": size}
            self.findings.append(facts | vars(seen))

    def merge(self, other: "Tally") -> None:
        """Add what another process counted."""
        self.counts += other.counts
        for change, counts in other.changes.items():
            self.changes.setdefault(change, Counter()).update(counts)
        self.findings += other.findings
        self.seconds = max(self.seconds, other.seconds)
        self.beyond = max(self.beyond, other.beyond)


# Judges the files of some numbers, given the seed; sets ``reached.value`` to the one at work.
Judge = Callable[[range, int, Any], Tally]


def run(
    judge: Judge, total: Tally, n_files: int, seed: int, keep: Callable[[Tally, int], None]
) -> Tally:
    """All files in batches, added to ``total``; ``keep(total, files so far)`` after each.

    A child that crashes or hangs is a finding, and the rest goes on.
    """
    first = 0
    while first < n_files:
        numbers = range(first, min(first + BATCH, n_files))
        reached = multiprocessing.Value("q", first)
        results: Any = multiprocessing.Queue()
        child = multiprocessing.Process(
            target=_child, args=(judge, numbers, seed, reached, results)
        )
        child.start()
        tally = _awaited(child, reached, results)
        if tally is None:
            child.terminate()
            finding = {"number": reached.value, "verdict": "crashed", "detail": "the child died"}
            total.findings.append(finding)
            first = reached.value + 1
        else:
            total.merge(tally)
            first = numbers.stop
        child.join()
        print(f"{first:,} files, {len(total.findings)} findings", file=sys.stderr, flush=True)
        keep(total, first)
    return total


def _awaited(child: Any, reached: Any, results: Any) -> Tally | None:
    """What a child counted; None if it died, or was at one file for minutes."""
    at, waits = -1, 0  # counted, not timed: a tool that was paused has not waited
    while True:
        alive = child.is_alive()  # asked first: what a child leaves, it leaves before it ends
        try:
            return results.get(timeout=1.0)
        except queue.Empty:
            at, waits = reached.value, 0 if reached.value != at else waits + 1
            if not alive or waits > HANGS:
                return None


def _child(judge: Judge, numbers: range, seed: int, reached: Any, results: Any) -> None:
    results.put(judge(numbers, seed, reached))


def change_table(by_last_change: dict[str, dict[str, int]]) -> list[str]:
    """Lines of a table: what became of the files by the last change that was made to them."""
    return [
        "| last change | refused | loaded | failed |",
        "|---|---|---|---|",
        *(
            f"| {how} | {c.get('refused', 0):,} | {c.get('loaded', 0):,} | {c.get('failed', 0):,} |"
            for how, c in by_last_change.items()
        ),
    ]
