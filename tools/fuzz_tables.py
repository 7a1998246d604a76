"""Read many odd and corrupted table files and see what happens.

    nice -n 15 python tools/fuzz_tables.py --files 100000

Each file is read as the command line reads it, whole and in pieces; every fourth table that comes
out is encoded as for a fit. Allowed are a refusal by an ``InputError``, and a table: the columns
that were announced, a text in every field of a CSV file and the same as Python's own csv module
finds there, pieces that make up the whole, features that are 0 or 1. Anything else is a finding:
another exception, a warning, a crash, more than a second of processor time, more memory than a
fixed allowance and a multiple of the size of the file.

The record goes to ``results/trust``, and grows while the tool runs; it depends on the number of
files and the seed alone, but for times and memory.
"""

import argparse
import csv
import gzip
import io
import json
import platform
import resource
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from fuzzing import Observation, Tally, change_table, run
from table_mutations import spoiled

import stablepred
from stablepred.exceptions import InputError, TableWarning
from stablepred.tables.encoder import TableEncoder
from stablepred.tables.files import CsvFile, TableFile, open_table
from stablepred.tables.table_model import encode_table
from stablepred.tables.target import Target

ROOT = Path(__file__).parent.parent
FACTOR = 40  # bytes of memory for a byte of the file, unpacked
ALLOWANCE = 256 << 20  # the reader's pieces, and what Arrow keeps for up to 10,000 columns
CHILD = 4 << 30  # bytes that a child may take beyond what it has at the start
SECONDS = 1.0
WIDE = 400  # columns beyond which encoding, some milliseconds for each, would take all the time


def check_table(file: TableFile, frame: pd.DataFrame) -> None:
    """Raise unless the rows are those of the file."""
    assert list(frame.columns) == file.columns, "other columns than announced"
    assert len(frame) > 0, "a table without rows"
    pieces = pd.concat(list(file.pieces()), ignore_index=True)
    assert pieces.equals(frame), "the pieces do not make up the whole"
    if isinstance(file, CsvFile):
        found = frame.to_numpy(dtype=object).tolist()
        assert found == python_rows(file), "other fields than Python's csv module finds"


def python_rows(file: CsvFile) -> list[list[str]]:
    """The rows of a text file by Python's own csv module."""
    content = file.path.read_bytes()
    text = (gzip.decompress(content) if file.packed else content).decode(file.encoding)
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    rows = list(csv.reader(lines, delimiter=file.separator))
    while not rows[0]:
        del rows[0]
    wide = len(rows[0]) > 1
    return [row or [""] for row in rows[1:] if row or not wide]


def check_encoded(frame: pd.DataFrame) -> None:
    """Raise unless a table becomes finite features, or is refused."""
    try:
        encoded = encode_table(frame, str(frame.columns[-1]))
        encoder, features = encoded.encoder, encoded.features
        if isinstance(encoded.target, Target):
            assert set(encoded.y.tolist()) == {0, 1}, "an outcome other than 0 and 1"
        assert not pd.isna(encoded.y).any(), "an outcome that is missing"
    except InputError:  # no target in the last column
        encoder = TableEncoder().fit(frame)
        features = encoder.transform(frame)
    assert np.isfinite(features.to_numpy()).all(), "a feature that is not finite"
    assert features.columns.is_unique, "two features of one name"
    assert len(features) == len(frame), "another number of rows"
    assert encoder.transform(frame[::2]).equals(features[::2]), "some rows are encoded otherwise"


def _resident(which: str) -> int:
    """Bytes of memory that the process has (``VmRSS``) or had at most (``VmHWM``)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(which))
    return 1024 * int(line.split()[1])


def watched(act: Callable[[], Any]) -> tuple[Any, Observation]:
    """What a call gives, and what happened in it."""
    result, verdict, detail = None, "failed", ""
    Path("/proc/self/clear_refs").write_text("5")  # the most memory is that from here on
    resident, started = _resident("VmRSS"), time.process_time()
    try:
        result = act()
        verdict = "loaded"
    except InputError as error:
        verdict, detail = "refused", str(error)
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
    seconds = time.process_time() - started
    return result, Observation(verdict, detail, seconds, _resident("VmHWM") - resident)


def observed(path: Path, encode: bool) -> Observation:
    """Read a file and, if it gives a table, see whether it is sound and can be encoded."""
    table, seen = watched(lambda: (file := open_table(path), file.read()))
    if table is None:
        return seen
    narrow = len(table[1].columns) <= WIDE
    steps = [lambda: check_table(*table), lambda: check_encoded(table[1])]
    for step in steps[: 1 + (encode and narrow)]:
        _, used = watched(step)
        if used.verdict == "failed":
            seen.verdict, seen.detail = "failed", used.detail
    return seen


def unpacked_size(content: bytes) -> int:
    """Bytes of a file, of a gzip file those that it unfolds to."""
    if not content.startswith(b"\x1f\x8b"):
        return len(content)
    unpacked = zlib.decompressobj(31)
    with suppress(zlib.error):
        return len(content) + len(unpacked.decompress(content))
    return len(content)


def tally_of(numbers: range, seed: int, reached: Any = None) -> Tally:
    """Write, read and judge the files of these numbers; ``reached.value`` follows."""
    tally = Tally(SECONDS, FACTOR, ALLOWANCE)
    csv.field_size_limit(1 << 30)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", TableWarning)
        path = Path(folder) / "table"
        for number in numbers:
            if reached is not None:
                reached.value = number
            how, content = spoiled(np.random.default_rng([seed, number]))
            path.write_bytes(content)
            seen = observed(path, encode=number % 4 == 0)
            tally.add(number, how.split(",")[0], how, unpacked_size(content), seen)
    return tally


def bounded_tally_of(numbers: range, seed: int, reached: Any = None) -> Tally:
    """The same in a process that may not take memory without bound."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + CHILD
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return tally_of(numbers, seed, reached)


def record(tally: Tally, n_files: int, seed: int) -> dict[str, Any]:
    """What is kept of a run."""
    return {
        "command": f"python tools/fuzz_tables.py --files {n_files} --seed {seed}",
        "stablepred": stablepred.__version__,
        "python": platform.python_version(),
        "pandas": pd.__version__,
        "pyarrow": pa.__version__,
        "files": n_files,
        "seed": seed,
        "counts": dict(sorted(tally.counts.items())),
        "by_last_change": {how: dict(counts) for how, counts in sorted(tally.changes.items())},
        "longest_seconds": round(tally.seconds, 3),
        "most_bytes_beyond_the_factor": tally.beyond,
        "factor": FACTOR,
        "allowance_bytes": ALLOWANCE,
        "findings": tally.findings,
    }


def as_markdown(kept: dict[str, Any]) -> str:
    """The record as a page."""
    lines = [
        "# Odd and corrupted tables",
        "",
        f"{kept['files']:,} table files, read by stablepred {kept['stablepred']} as the command "
        "line reads them:",
        "",
        f"    {kept['command']}",
        "",
        "| what happened | files |",
        "|---|---|",
        *(f"| {what} | {count:,} |" for what, count in kept["counts"].items()),
        f"| **findings** | {len(kept['findings'])} |",
        "",
        "Refused: by an `InputError`. Loaded: the columns that were announced, the same rows in "
        "pieces as at once, and in a text file the fields that Python's own csv module finds. "
        "Every fourth table was encoded as well, as for a fit: into finite features, or refused by "
        "an `InputError`.",
        "",
        f"Longest time to read a file: {kept['longest_seconds']:.2f} s of processor time. Most "
        f"memory beyond {kept['factor']} times the size of the file: "
        f"{max(0, kept['most_bytes_beyond_the_factor']) / 1e6:.1f} MB; a finding is one beyond "
        f"{kept['allowance_bytes'] / 1e6:.1f} MB.",
        "",
        *change_table(kept["by_last_change"]),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run, and write the record; exit with 1 if there are findings."""
    parser = argparse.ArgumentParser(description="Read many odd and corrupted table files.")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "trust")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    def keep(tally: Tally, files: int) -> None:
        kept = record(tally, files, options.seed)
        (options.output / "fuzz-tables.json").write_text(json.dumps(kept, indent=1) + "\n")
        (options.output / "fuzz-tables.md").write_text(as_markdown(kept))

    total = Tally(SECONDS, FACTOR, ALLOWANCE)
    run(bounded_tally_of, total, options.files, options.seed, keep)
    sys.exit(1 if total.findings else 0)


if __name__ == "__main__":
    main()
