"""Processor time and memory of the command line on a million rows.

    nice -n 15 python tools/million_rows.py --folder FOLDER

writes two CSV files of 1,000,000 rows and 20 columns to FOLDER, one of mixed columns with few
distinct rows and one of random numbers, runs ``stablepred fit`` and ``predict`` on them with one
thread each, and prints the table that stands in docs/tables.md under "Many rows".
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from stablepred.data import read_table
from stablepred.tables.table_model import encode_table

COMMAND = [sys.executable, "-c", "from stablepred.cli import app; app()"]
SEED = 0
KINDS = 2_000  # different rows of the mixed table


def mixed(n_rows):
    """Numbers, words, true and false, and gaps: rows of a few kinds, each many times over."""
    rng = np.random.default_rng(SEED)
    kinds = pd.DataFrame(
        {f"number {j}": rng.integers(0, 50, KINDS) for j in range(6)}
        | {f"bit {j}": rng.integers(0, 2, KINDS) for j in range(6)}
        | {f"truth {j}": rng.random(KINDS) < 0.4 for j in range(4)}
        | {f"word {j}": rng.choice(["red", "green", "blue"], KINDS) for j in range(2)}
        | {"gaps": np.where(rng.random(KINDS) < 0.1, np.nan, rng.integers(0, 9, KINDS))}
    )
    score = kinds["bit 0"] + (kinds["number 0"] > 25) + rng.normal(0, 0.6, KINDS)
    kinds["outcome"] = np.where(score > 1, "yes", "no")
    return kinds.iloc[rng.integers(0, KINDS, n_rows)]


def continuous(n_rows):
    """Nineteen columns of random numbers."""
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(n_rows, 19)).round(4)
    score = x[:, 0] + x[:, 1] + rng.normal(size=n_rows)
    frame = pd.DataFrame(x, columns=[f"number {j}" for j in range(19)])
    return frame.assign(outcome=np.where(score > 0, "yes", "no"))


def measured(*arguments):
    """Run a command of the library; its processor seconds and its peak memory in GiB."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"stablepred {arguments[0]} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def title(path):
    """How many features and distinct rows a file has, once encoded."""
    encoded = encode_table(read_table(path), "outcome")
    bits = np.packbits(np.column_stack([encoded.features, encoded.y]).astype(bool), axis=1)
    distinct = len(np.unique(bits, axis=0))
    return f"{path.stem}, {encoded.features.shape[1]} features, {distinct:,} distinct rows"


def column(path, methods):
    """The cells of one file, one per command."""
    model = path.with_suffix(".model")
    for method in methods:
        yield measured(
            "fit", path, "--target", "outcome", "--method", method, "-o", model, "--force"
        )
    yield measured("predict", model, path, "-o", path.with_suffix(".predictions"), "--force")


def main():
    """Write the files, run the commands, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where the files are written")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--methods", nargs="+", default=["lr", "gbr", "dgbr"])
    arguments = parser.parse_args()
    titles, columns = [], []
    for name, make in (("mixed columns", mixed), ("random numbers", continuous)):
        path = arguments.folder / f"{name}.csv"
        make(arguments.rows).to_csv(path, index=False)
        titles.append(title(path))
        columns.append([])
        for cpu, memory in column(path, arguments.methods):
            columns[-1].append(f"{cpu:.0f} s, {memory:.1f} GiB")
            print(titles[-1], columns[-1][-1], file=sys.stderr, flush=True)
    commands = [*(f"fit --method {method}" for method in arguments.methods), "predict"]
    print(f"| | {' | '.join(titles)} |\n|{'---|' * (1 + len(titles))}")
    for command, *cells in zip(commands, *columns, strict=True):
        print(f"| `{command}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
