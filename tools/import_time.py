"""How long does ``import stablepred`` take, beside what every user has imported anyway?

    python tools/import_time.py [RUNS]

Each import is timed in a fresh interpreter, the statements in turn; medians and their ratio to
``import sklearn.linear_model, pandas`` are printed. The exit code is 1 where that of
``import stablepred`` is above 1.3. A first use, and a help page, are shown for comparison.
"""

import statistics
import subprocess
import sys

BASE = "import sklearn.linear_model, pandas"
OURS = "import stablepred"
MOST = 1.3
STATEMENTS = (
    BASE,
    OURS,
    "from stablepred import StableClassifier",
    "from stablepred.cli import load_command; load_command('fit')",
)


def seconds(statement: str) -> float:
    """The time that a statement takes in an interpreter of its own, without the interpreter's."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main(runs: int = 7) -> int:
    """Print the medians; the exit code."""
    rounds = [[seconds(statement) for statement in STATEMENTS] for _ in range(runs + 1)]
    warm = rounds[1:]  # the first one fills the caches of the disk
    medians = [statistics.median(times) for times in zip(*warm, strict=True)]
    for statement, median in zip(STATEMENTS, medians, strict=True):
        print(f"{median:7.3f} s  {median / medians[0]:5.2f}  {statement}")
    return int(medians[STATEMENTS.index(OURS)] > MOST * medians[0])


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
