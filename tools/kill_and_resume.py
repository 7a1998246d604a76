"""Kill checkpointed fits at random moments, resume them, and compare with fits left in peace.

    python tools/kill_and_resume.py --kills 200 --seed 0 --jobs 8

Every fit runs in a process of its own, which ends by SIGKILL: after a random iteration, in the
middle of writing the checkpoint, just before or just after the new file gets its name, or whenever
the time comes. It is resumed and killed again, up to twelve times; the last run, of every seventh
fit in a fresh interpreter, comes to its end. Then all that the model holds (its file) must be, byte
for byte, that of a fit that nobody disturbed. After every kill the checkpoint must be readable, and
at the end neither it nor a part of it may be left. What was found goes to
``results/trust/kill-and-resume.json``.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stablepred import DGBRClassifier, DLRClassifier, GBRClassifier, GlobalBalancer, __version__
from stablepred.data import SyntheticWorld
from stablepred.io import save as files
from stablepred.io.atomic import write_file
from stablepred.io.save import read_checkpoint, temporary_beside
from stablepred.models import checkpoints

RECORD = Path(__file__).parent.parent / "results" / "trust" / "kill-and-resume.json"
ROWS, FEATURES = 200, 8
REDUCED = {"reduced": True, "bias_bound": 1.0}

MODELS: dict[str, Callable[..., Any]] = {
    "balancer": GlobalBalancer,
    "gbr": GBRClassifier,
    "gbr alternating": GBRClassifier.from_paper,
    "dlr": DLRClassifier,
    "dgbr": DGBRClassifier,
    "dgbr without a seed": lambda **given: DGBRClassifier(**given | {"random_state": None}),
    "dgbr alternating": DGBRClassifier.from_paper,
    "dgbr features": lambda **given: DGBRClassifier(head="features", **given),
    "dgbr fixed weights": lambda **given: DGBRClassifier(frozen={"after": 5}, **given),
    "dgbr reduced": lambda **given: DGBRClassifier(frozen=REDUCED, **given),
}
MOMENTS = ("after an iteration", "half written", "before renaming", "after renaming", "any time")


def fit(name: str, seed: int, folder: Path, *, every: float | None) -> None:
    """Fit in this process, with a checkpoint ``every`` so many seconds, and write the model."""
    train = SyntheticWorld("s_indep_v", n_features=FEATURES).sample(
        ROWS, bias_rate=0.75, random_state=seed
    )
    model = MODELS[name](random_state=seed, max_iter=30)
    if every is not None:
        checkpoints.SECONDS, checkpoints.TIMES_AS_LONG = every, 0.0
        model.set_params(checkpoint=folder / "checkpoint")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train.X, train.y)
        if model.random_state is None:
            fixed = DGBRClassifier(random_state=model.random_state_, max_iter=30)
            fixed.fit(train.X, train.y).save(folder / "undisturbed")
            model.set_params(random_state=model.random_state_)
    model.save(folder / "model")


# --- dying ---


def die() -> None:
    """End at once, as the system does when it must."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(moment: str, number: int, share: float) -> None:
    """Arrange for this process to die at the ``number``-th iteration or write."""
    counts: Counter[str] = Counter()
    keep, replace = checkpoints.FileCheckpoint.keep, os.replace

    def dying_keep(self: Any, state: Any) -> None:
        keep(self, state)
        counts["iterations"] += 1
        if moment == "after an iteration" and counts["iterations"] == number:
            die()

    def dying_write(path: Any, content: bytearray, temporary: Path | None = None) -> None:
        if temporary is None:  # the model, when the fit is done
            write_file(path, content)
            return
        counts["writes"] += 1
        if moment == "half written" and counts["writes"] == number:
            with temporary.open("wb") as stream:
                stream.write(content[: int(share * len(content))])
                stream.flush()
                die()
        write_file(path, content, temporary)

    def dying_replace(source: Any, target: Any) -> None:
        if moment == "before renaming" and counts["writes"] == number:
            die()
        replace(source, target)
        if moment == "after renaming" and counts["writes"] == number:
            die()

    checkpoints.FileCheckpoint.keep = dying_keep  # type: ignore[method-assign]
    files.write_file = dying_write  # type: ignore[assignment]
    os.replace = dying_replace  # type: ignore[assignment]


def killed(name: str, seed: int, folder: Path, rng: np.random.Generator, seconds: float) -> str:
    """Run a fit in a child that is to die; the moment it died at, or "" if it came to its end."""
    moment = str(rng.choice(MOMENTS))
    number, share = int(rng.geometric(rng.choice([0.3, 0.1]))), float(rng.random())
    every, delay = float(rng.choice([0.0, 0.0, 0.02])), float(rng.random()) * seconds
    child = os.fork()
    if child == 0:
        try:
            die_at(moment, number, share)
            fit(name, seed, folder, every=every)
        finally:
            os._exit(0)
    if moment == "any time":
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return moment if os.WIFSIGNALED(status) else ""


# --- judging ---


def story(name: str, seed: int, number: int) -> dict[str, Any]:
    """Kill one fit up to twelve times, let it finish, and compare."""
    rng = np.random.default_rng([seed, number])
    data = int(rng.integers(0, 100))
    with tempfile.TemporaryDirectory() as place:
        whole, folder = Path(place) / "whole", Path(place) / "killed"
        whole.mkdir()
        folder.mkdir()
        started = time.perf_counter()
        fit(name, data, whole, every=None)
        seconds = time.perf_counter() - started
        checkpoint, kills, unreadable, resumed = folder / "checkpoint", [], 0, 0
        for _ in range(int(rng.integers(3, 13))):
            moment = killed(name, data, folder, rng, seconds)
            if not moment:
                break
            kills.append(moment)
            unreadable += not readable(checkpoint)
            resumed += checkpoint.exists()
        else:
            finish(name, data, folder, fresh=number % 7 == 6)
        reference = folder if "without a seed" in name else whole
        kept = "undisturbed" if "without a seed" in name else "model"
        same = (folder / "model").read_bytes() == (reference / kept).read_bytes()
        left = [p.name for p in (checkpoint, temporary_beside(checkpoint)) if p.exists()]
    facts = {"fit": name, "data": data, "kills": kills, "runs from a checkpoint": resumed}
    return facts | {"unreadable": unreadable, "left over": left, "same": same}


def readable(path: Path) -> bool:
    """Whether there is no checkpoint yet, or a sound one."""
    if not path.exists():
        return True
    try:
        read_checkpoint(path)
    except Exception as error:
        print(f"unreadable: {error}")
        return False
    return True


def finish(name: str, seed: int, folder: Path, *, fresh: bool) -> None:
    """Go on to the end, in this process or in a fresh interpreter."""
    if not fresh:
        fit(name, seed, folder, every=0.0)
        return
    command = [sys.executable, __file__, "--finish", name, "--seed", str(seed), str(folder)]
    subprocess.run(command, check=True)


def told_stories(fits: list[str], seed: int, enough: int, jobs: int) -> list[dict[str, Any]]:
    """Stories of so many fits at a time, until there were enough kills."""
    stories: list[dict[str, Any]] = []
    kills, begun, pending = 0, 0, set[Future[dict[str, Any]]]()
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        while kills < enough or pending:
            while kills < enough and len(pending) < jobs:
                pending.add(pool.submit(story, fits[begun % len(fits)], seed, begun))
                begun += 1
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            stories += [future.result() for future in done]
            kills = sum(len(told["kills"]) for told in stories)
            print(f"{kills} kills, {len(stories)} fits", flush=True)
    return stories


def main() -> None:
    """Kill until there were enough, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time")
    parser.add_argument("--only", nargs="+", choices=MODELS, default=list(MODELS), metavar="FIT")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--finish", choices=MODELS, help=argparse.SUPPRESS)
    parser.add_argument("folder", nargs="?", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.finish:
        fit(given.finish, given.seed, given.folder, every=0.0)
        return
    stories = told_stories(given.only, given.seed, given.kills, given.jobs)
    kills = sum(len(told["kills"]) for told in stories)
    moments = Counter(moment for told in stories for moment in told["kills"])
    record = {
        "stablepred": __version__,
        "torch": torch.__version__,
        "command": " ".join(["python tools/kill_and_resume.py", *sys.argv[1:]]),
        "kills": kills,
        "kills by moment": dict(sorted(moments.items())),
        "fits": len(stories),
        "fits by model": dict(Counter(told["fit"] for told in stories)),
        "runs from a checkpoint": sum(told["runs from a checkpoint"] for told in stories),
        "fits with the same result": sum(told["same"] for told in stories),
        "kills in fits with the same result": sum(len(t["kills"]) for t in stories if t["same"]),
        "unreadable checkpoints": sum(told["unreadable"] for told in stories),
        "files left over": sum(len(told["left over"]) for told in stories),
        "stories": stories,
    }
    given.record.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps({key: value for key, value in record.items() if key != "stories"}, indent=1))


if __name__ == "__main__":
    main()
