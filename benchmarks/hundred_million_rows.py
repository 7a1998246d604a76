"""Fits on 10^8 rows of 20 binary features in Parquet, through the count of distinct rows.

    python benchmarks/hundred_million_rows.py --folder FOLDER

writes the tables to FOLDER (about 300 MB for 10^8 rows; they are removed again), counts and
fits each in a process of its own, and records seconds and peak memory in
results/bench/hundred-million-rows.json and .md.

Twenty random bits would make a million distinct rows. Real binary tables repeat themselves: here
the rows are drawn, with unequal frequencies, from a pool of rows of a synthetic world, so that the
number of distinct rows stops growing. How the fit's cost grows with it is a second table.
"""

import argparse
import json
import multiprocessing
import os
import platform
import resource
import shlex
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from stablepred import DGBRClassifier, GBRClassifier
from stablepred.data import SyntheticWorld, count_patterns
from stablepred.models import paper

RESULTS = Path(__file__).parents[1] / "results" / "bench"
CHUNK = 1_000_000  # rows written at a time
SEED = 0
METHODS = {"GBR": GBRClassifier, "DGBR": DGBRClassifier}


def write_rows(path, n_rows, pool_size):
    """Write a Parquet file of rows drawn from a pool, the k-th of it with frequency ~ 1/sqrt(k)."""
    world = SyntheticWorld("s_indep_v", n_features=20)
    pool = world.sample(pool_size, bias_rate=0.75, random_state=SEED)
    columns = pool.X.assign(outcome=pool.y).astype(bool)
    shares = np.cumsum(1 / np.sqrt(np.arange(1, pool_size + 1)))
    rng = np.random.default_rng(SEED)
    schema = pa.schema([(name, pa.bool_()) for name in columns])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, CHUNK):
            size = min(CHUNK, n_rows - start)
            drawn = np.searchsorted(shares, rng.random(size) * shares[-1])
            arrays = [pa.array(columns[name].to_numpy()[drawn]) for name in columns]
            writer.write_table(pa.table(arrays, schema=schema))


class TimedCount:
    """Counts patterns, and remembers how many there were and how long it took."""

    def __call__(self, *table, **options):
        wall, cpu = time.perf_counter(), time.process_time()
        patterns = count_patterns(*table, **options)
        self.wall, self.cpu = time.perf_counter() - wall, time.process_time() - cpu
        self.rows, self.patterns = int(patterns.count.sum()), len(patterns.count)
        return patterns


def measure(path, method, threads, memory, answer):
    """Count and fit in this process; seconds, processor seconds and peak memory."""
    import duckdb

    counting = paper.count_patterns = TimedCount()
    with duckdb.connect(config={"threads": threads, "memory_limit": memory}) as connection:
        connection.execute("SET enable_progress_bar = false")
        table = connection.read_parquet(str(path))
        wall, cpu = time.perf_counter(), time.process_time()
        model = METHODS[method](random_state=SEED).fit_table(table, "outcome")
    answer.put(
        {
            "method": method,
            "rows": counting.rows,
            "patterns": counting.patterns,
            "count_seconds": counting.wall,
            "count_cpu_seconds": counting.cpu,
            "fit_seconds": time.perf_counter() - wall - counting.wall,
            "fit_cpu_seconds": time.process_time() - cpu - counting.cpu,
            "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            "file_mb": path.stat().st_size / 1e6,
            "converged": model.converged_,
        }
    )


def in_a_new_process(task, *arguments):
    """Run a task in a fresh interpreter, so that peak memory is its own; give what it answers."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=task, args=(*arguments, answer))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"the measurement failed with exit code {process.exitcode}")
    return answer.get()


def runs(arguments, sizes):
    """Measure every method on a table of each (rows, pool) in turn."""
    for n_rows, pool_size in sizes:
        path = Path(arguments.folder) / f"rows-{n_rows}-{pool_size}.parquet"
        write_rows(path, n_rows, pool_size)
        try:
            for method in METHODS:
                found = in_a_new_process(measure, path, method, arguments.threads, arguments.memory)
                print(json.dumps(found), flush=True)
                yield found
        finally:
            path.unlink()


def hardware():
    """What the figures were measured on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].split(":")[1].strip() if names else cpu
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB of memory"


def markdown(record):
    """Both tables, for people to read."""
    by_rows = "\n".join(
        f"| {r['rows']:,} | {r['patterns']:,} | {r['method']} | {r['file_mb']:,.0f} MB "
        f"| {r['count_seconds']:.1f} ({r['count_cpu_seconds']:.1f}) "
        f"| {r['fit_seconds']:.1f} ({r['fit_cpu_seconds']:.1f}) | {r['peak_gib']:.2f} GiB |"
        for r in record["by_rows"]
    )
    by_patterns = "\n".join(
        f"| {r['patterns']:,} | {r['method']} | {r['fit_seconds']:.1f} "
        f"({r['fit_cpu_seconds']:.1f}) | {r['peak_gib']:.2f} GiB |"
        for r in record["by_patterns"]
    )
    return f"""# A hundred million rows

20 binary features and a binary outcome in Parquet, rows drawn from a pool of rows of
`SyntheticWorld("s_indep_v")`; `fit_table` counts the distinct rows with DuckDB and fits on them.
Seconds by the clock, processor seconds of all threads in brackets; peak memory of the whole
process.

| rows | distinct | method | file | count | fit, once counted | peak memory |
|---|---|---|---|---|---|---|
{by_rows}

What the fit's cost depends on is the number of distinct rows (10^6 rows each):

| distinct | method | fit, once counted | peak memory |
|---|---|---|---|
{by_patterns}

Command: `{record["command"]}`
On: {record["hardware"]}; load average at the start {record["load_average"]:.1f}. Where that is
more than there are cores, other work was going on and the processor seconds are to be compared.
{record["note"]}"""


def write(record, folder):
    """Write the record, for programs and for people; after every run, so that none is lost."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "hundred-million-rows.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    path.with_suffix(".md").write_text(markdown(record))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True, help="where the tables are written")
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7, 10**8])
    parser.add_argument("--pool", type=int, default=20_000, help="distinct rows, at most")
    parser.add_argument("--pools", type=int, nargs="*", default=[5_000, 50_000])
    parser.add_argument("--threads", type=int, default=2, help="of DuckDB")
    parser.add_argument("--memory", default="4GB", help="limit of DuckDB")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    given = [word if "/" not in word else "FOLDER" for word in sys.argv[1:]]
    record = {
        "command": shlex.join(["python", "benchmarks/hundred_million_rows.py", *given]),
        "hardware": hardware(),
        "load_average": os.getloadavg()[0],
        "note": "",
        "by_rows": [],
        "by_patterns": [],
    }
    sizes = {
        "by_rows": [(n, arguments.pool) for n in arguments.rows],
        "by_patterns": [(10**6, pool) for pool in arguments.pools],
    }
    for table in sizes:
        for found in runs(arguments, sizes[table]):
            record[table].append(found)
            write(record, arguments.output)


if __name__ == "__main__":
    main()
