"""Whole fits on a CUDA GPU beside the same machine's processor.

python benchmarks/gpu_whole_fit.py

With ``--profile`` the functions in which the GPU's fits spend their time are printed.
"""

import argparse
import cProfile
import multiprocessing
import os
import pstats
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from measure import Bar, Page, machine, options, progress, use_threads
from problems import SEED

from stablepred import DGBRClassifier, GBRClassifier, StableClassifier
from stablepred.data import SyntheticWorld

ESTIMATORS = {"GBR": GBRClassifier, "DGBR": DGBRClassifier, "StableClassifier": StableClassifier}
SIZE, LARGEST, SMALL = (200_000, 100), (1_000_000, 100), (2000, 20)
QUICK = (500, 6)
FEW = {"max_iter": 3}  # updates of the fits that only start CUDA or are made twice
MOST_SECONDS, MOST_AT_LARGEST, TIMES_FASTER = 15.0, 60.0, 10.0
DIFFERENCE = "largest difference"
HELD_OUT = 5000  # rows of another environment, on which predictions are compared

NOTES = """\
Estimators with their defaults and `random_state=0`, on the paper's world with S and V independent,
r = .75. Everything from the user's arrays to the fitted model counts; CUDA is started by a small
fit before. A fit on the processor has a process of its own, which is stopped after the seconds of
`--most`, or when those of `--seconds` for the whole script are over: the time is then a lower
bound, with no predictions to compare. *largest difference* is that of predicted probabilities on
5000 rows of another environment (r = .3). *same bits* says whether a second fit on the GPU predicts
the same to the last bit; GBR and DGBR make three updates there. A dash: not measured."""


def make_rows(n: int, p: int) -> tuple[Any, Any, Any]:
    """The features and the outcome of training, and new features."""
    world = SyntheticWorld("s_indep_v", p)
    train = world.sample(n, bias_rate=0.75, random_state=SEED)
    new = world.sample(HELD_OUT, bias_rate=0.3, random_state=SEED + 1)
    return train.X.to_numpy(dtype=float), np.asarray(train.y), new.X.to_numpy(dtype=float)


def make(name: str, device: str, *, briefly: bool = False) -> Any:
    """An estimator with its defaults; GBR and DGBR with few updates where a fit is to be brief."""
    few = FEW if briefly and name != "StableClassifier" else {}
    return ESTIMATORS[name](random_state=SEED, device=device, **few)


def fit(
    name: str, size: tuple[int, int], device: str, *, briefly: bool = False
) -> tuple[float, Any]:
    """Seconds of a fit, and its predictions for the new rows."""
    x, y, new = make_rows(*size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make(name, device, briefly=True).fit(x[:300], y[:300])
        model = make(name, device, briefly=briefly)
        start = time.perf_counter()
        model.fit(x, y)
        return time.perf_counter() - start, model.predict_proba(new)[:, 1]


def fit_with_profile(name: str, size: tuple[int, int]) -> tuple[float, Any]:
    """The same on the GPU; prints where the time went."""
    profile = cProfile.Profile()
    found: tuple[float, Any] = profile.runcall(fit, name, size, "cuda")
    print(f"\n{name}, n = {size[0]}, p = {size[1]}: {found[0]:.2f} s under the profiler")
    for order, lines in (("cumulative", 60), ("tottime", 25)):
        pstats.Stats(profile, stream=sys.stdout).sort_stats(order).print_stats(lines)
    return found


def fit_on_processor(
    name: str, size: tuple[int, int], threads: int, most: float
) -> tuple[float, Any]:
    """The same on the processor; infinite seconds if not done in time, NaN if it failed."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(sender, name, size, threads))
    child.start()
    sender.close()  # of this process: what fails there is seen here
    try:  # a child that starts, draws its rows and fits a few of them has some seconds more
        found = receiver.recv() if receiver.poll(most + 15) else (float("inf"), None)
    except EOFError:
        found = float("nan"), None
    child.kill()
    child.join()
    return found


def _send(sender: Any, name: str, size: tuple[int, int], threads: int) -> None:
    use_threads(threads)
    sender.send(fit(name, size, "cpu"))


def measure(name: str, size: tuple[int, int], profiled: bool) -> tuple[dict[str, Any], Any]:
    """One line of the table, as far as the GPU goes, and the predictions."""
    progress(f"{name}, n = {size[0]}, p = {size[1]}: GPU")
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    seconds, predicted = fit_with_profile(name, size) if profiled else fit(name, size, "cuda")
    memory = torch.cuda.max_memory_allocated() / 2**30
    line = {"estimator": name, "n": size[0], "p": size[1], "GPU, s": seconds, "GiB": memory}
    line |= dict.fromkeys(("processor, s", "times faster", DIFFERENCE))
    progress(str(line))
    return line, predicted


def compare(line: dict[str, Any], predicted: Any, threads: int, most: float) -> None:
    """Complete a line by the processor's part."""
    name, size, fast = line["estimator"], (line["n"], line["p"]), line["GPU, s"]
    if most < 5:
        return
    progress(f"{name}, n = {size[0]}, p = {size[1]}: processor")
    slow, reference = fit_on_processor(name, size, threads, most)
    if np.isnan(slow):
        return
    if reference is None:
        line |= {"processor, s": f"over {most:.0f}", "times faster": f"over {most / fast:.1f}"}
        return
    gap = float(np.abs(predicted - reference).max())
    line |= {"processor, s": slow, "times faster": slow / fast, DIFFERENCE: gap}


def repeat(name: str, size: tuple[int, int]) -> dict[str, Any]:
    """Two fits on the GPU."""
    progress(f"{name}: twice")
    first, again = (fit(name, size, "cuda", briefly=True)[1] for _ in range(2))
    same = "yes" if first.tobytes() == again.tobytes() else "no"
    return {"estimator": name, "n": size[0], "p": size[1], "same bits": same}


def bars(lines: Sequence[dict[str, Any]]) -> list[Bar]:
    """The promises about whole fits on a GPU."""
    found = []
    for line in lines:
        size, seconds = (line["n"], line["p"]), line["GPU, s"]
        if size not in (SIZE, LARGEST):
            continue
        most = MOST_SECONDS if size == SIZE else MOST_AT_LARGEST
        promise = f"{line['estimator']}, n = {size[0]:,}, p = {size[1]}"
        found.append(Bar(f"{promise}: under {most:g} s", f"{seconds:.1f} s", seconds < most))
        if size == SIZE and line["times faster"] is not None:
            times = line["times faster"]
            met = float(str(times).removeprefix("over ")) >= TIMES_FASTER
            shown = times if isinstance(times, str) else f"{times:.1f}"
            promise = f"{promise}: at least {TIMES_FASTER:g} times as fast as the processor"
            found.append(Bar(promise, f"{shown} times", met))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--most", type=float, default=600.0)
    own, rest = parser.parse_known_args(arguments)
    chosen = options(__doc__, rest)
    vars(chosen).update(vars(own))
    if own.profile:  # else the time of a kernel is counted where its result is needed
        os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    if not torch.cuda.is_available():
        progress("torch finds no CUDA GPU: nothing is measured")
        return
    ends = time.monotonic() + own.seconds
    small, sizes = (QUICK, [QUICK]) if chosen.quick else (SMALL, [SIZE, LARGEST])
    properties = torch.cuda.get_device_properties(0)
    gpu = {"GPU": f"{properties.name}, {properties.total_memory / 1e9:.0f} GB"}
    again = [repeat(name, small) for name in ESTIMATORS]
    found = {}

    def measure_all(size: tuple[int, int]) -> None:
        for name in ESTIMATORS:
            if time.monotonic() < ends:
                found[name, size] = measure(name, size, chosen.profile)

    def compare_some(*names: str) -> None:
        for name in names:
            most = min(chosen.most, ends - time.monotonic() - 15)
            compare(*found[name, sizes[0]], chosen.threads, most)

    measure_all(sizes[0])
    compare_some("GBR", "StableClassifier")
    for size in sizes[1:]:
        measure_all(size)
    compare_some("DGBR")  # the longest fit on the processor has what time is left
    lines = [line for line, _ in found.values()]
    tables = {"Whole fits": lines, "Fits again": again}
    title = "Whole fits on a GPU beside the processor"
    Page("gpu_whole_fit", title, NOTES, machine() | gpu, tables, bars(lines)).publish(chosen)


if __name__ == "__main__":
    main()
