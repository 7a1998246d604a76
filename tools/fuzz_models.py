"""Load many corrupted model files and see what happens.

    nice -n 10 python tools/fuzz_models.py --files 100000

The stored files (``tests/data/models``) are changed, blindly or knowing their structure, half of
them with the checksum computed again. Each is loaded. Allowed are a refusal by an exception
of this library, and a model that can be used: it predicts finite probabilities, can be shown,
copied and saved. Anything else is a finding: another exception, a warning, a crash, more than a
second of processor time, more memory than twice the size of the file and the reader's allowance.

The record goes to ``results/trust``, and grows while the tool runs; it depends on the number of
files and the seed alone, but for times and memory.
"""

import argparse
import json
import platform
import sys
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fuzzing import Observation, Tally, change_table, run
from model_mutations import mutate
from sklearn.base import clone

import stablepred
from stablepred.data import TableModel
from stablepred.exceptions import ModelFileError, TableWarning
from stablepred.io.save import HEADER, save

ROOT = Path(__file__).parent.parent
STORED = ROOT / "tests" / "data" / "models"
ALLOWANCE = 40 * HEADER  # the header, and what its JSON unfolds to
FACTOR = 2  # the file, and what is made of it
SECONDS = 1.0


def read_originals() -> list[tuple[str, bytes]]:
    """The files to spoil."""
    paths = sorted(STORED.glob("format-*/*.safetensors"))
    return [(f"{path.parent.name}/{path.stem}", path.read_bytes()) for path in paths]


def check_usable(model: Any, path: Path) -> None:
    """Raise unless a loaded model does what models do; ``path`` may be written to."""
    _ = repr(model), str(vars(model).get("balance_report_"))
    save(model, path)
    if hasattr(model, "get_params"):
        clone(model)
    if isinstance(model, TableModel):
        str(model.feature_names)
    elif not hasattr(model, "n_features_in_"):
        return
    rows = random_rows(model)
    for method in ("predict_proba", "predict", "decision_function", "transform"):
        if hasattr(model, method):
            _check_answer(model, method, np.asarray(getattr(model, method)(rows)))


def random_rows(model: Any) -> Any:
    """Rows that a model can be asked about: 0 and 1; for a model of a table strings as well."""
    rng = np.random.default_rng(0)
    if isinstance(model, TableModel):
        columns = model.encoder.used_columns
        values = np.array(["0", "1", "-2.5", "1e300", "clerk", "True", "", None], dtype=object)
        return pd.DataFrame(rng.choice(values, (20, len(columns))), columns=columns)
    rows = (rng.random((20, model.n_features_in_)) < 0.5).astype(float)
    rows[0], rows[1] = 0.0, 1.0
    names = getattr(model, "feature_names_in_", None)
    return rows if names is None else pd.DataFrame(rows, columns=names)


def _check_answer(model: Any, method: str, answer: np.ndarray) -> None:
    if answer.dtype.kind == "f" and not np.isfinite(answer).all():
        raise AssertionError(f"{method} is not finite")
    if method == "predict_proba" and not (abs(answer.sum(axis=1) - 1) < 1e-9).all():
        raise AssertionError("probabilities do not add up to one")
    if method == "predict" and hasattr(model, "classes_"):
        assert np.isin(answer, model.classes_).all(), "a label that is no class"


def observe(path: Path) -> Observation:
    """Load a file and, if it loads, use the model."""
    model, verdict, detail = None, "failed", ""
    tracemalloc.start()
    started = time.process_time()
    try:
        model = stablepred.load(path)
        verdict = "loaded"
    except ModelFileError as error:
        verdict, detail = "refused", str(error)
    except Exception as error:
        detail = f"load: {type(error).__name__}: {error}"
    seconds = time.process_time() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if model is not None:
        try:
            check_usable(model, path)
        except Exception as error:
            verdict, detail = "failed", f"use: {type(error).__name__}: {error}"
    return Observation(verdict, detail, seconds, peak)


def tally_of(numbers: range, seed: int, reached: Any = None, warm: bool = True) -> Tally:
    """Spoil, load and judge the files of these numbers; ``reached.value`` follows.

    ``warm``: load all files as they are first, so that importing and caching are not counted.
    """
    tally, files = Tally(SECONDS, FACTOR, ALLOWANCE), read_originals()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        # A filter may drop every feature; scikit-learn says so whenever it is used.
        warnings.filterwarnings("ignore", "No features were selected")
        # The rows that a model of a table is asked about hold what was not there in training.
        warnings.simplefilter("ignore", TableWarning)
        path = Path(folder) / "model"
        for _, blob in files if warm else ():
            path.write_bytes(blob)
            check_usable(stablepred.load(path), path)
        for number in numbers:
            if reached is not None:
                reached.value = number
            rng = np.random.default_rng([seed, number])
            name, blob = files[int(rng.integers(len(files)))]
            how, spoiled = mutate(rng, blob, seal=number % 2 == 0)
            path.write_bytes(spoiled)
            seen = observe(path)
            seen.detail = f"{name}: {seen.detail}"
            group = "sealed again" if number % 2 == 0 else "not sealed again"
            tally.add(number, group, how, len(spoiled), seen)
    return tally


def record(tally: Tally, n_files: int, seed: int) -> dict[str, Any]:
    """What is kept of a run."""
    return {
        "command": f"python tools/fuzz_models.py --files {n_files} --seed {seed}",
        "stablepred": stablepred.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "files": n_files,
        "seed": seed,
        "originals": [name for name, _ in read_originals()],
        "counts": dict(sorted(tally.counts.items())),
        "by_last_change": {how: dict(counts) for how, counts in sorted(tally.changes.items())},
        "longest_seconds": round(tally.seconds, 3),
        "most_bytes_beyond_twice_the_size": tally.beyond,
        "allowance_bytes": ALLOWANCE,
        "findings": tally.findings,
    }


def as_markdown(kept: dict[str, Any]) -> str:
    """The record as a page."""
    lines = [
        "# Corrupted model files",
        "",
        f"{kept['files']:,} changed model files, made from {len(kept['originals'])} sound ones, "
        f"loaded by stablepred {kept['stablepred']}:",
        "",
        f"    {kept['command']}",
        "",
        "| what happened | files |",
        "|---|---|",
        *(f"| {what} | {count:,} |" for what, count in kept["counts"].items()),
        f"| **findings** | {len(kept['findings'])} |",
        "",
        "Refused: by `ModelFileError`. Loaded: the model predicts finite probabilities for random "
        "rows, can be shown, copied and saved. Sealed again: the checksum was computed again "
        "after the change.",
        "",
        f"Longest time to load: {kept['longest_seconds']:.2f} s of processor time, under a "
        "memory profiler. Most memory beyond twice the size of the file: "
        f"{kept['most_bytes_beyond_twice_the_size'] / 1e6:.1f} MB, where the fixed allowance of "
        f"the reader is {kept['allowance_bytes'] / 1e6:.1f} MB.",
        "",
        *change_table(kept["by_last_change"]),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run, and write the record; exit with 1 if there are findings."""
    parser = argparse.ArgumentParser(description="Load many corrupted model files.")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "trust")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    def keep(tally: Tally, files: int) -> None:
        kept = record(tally, files, options.seed)
        (options.output / "fuzz-models.json").write_text(json.dumps(kept, indent=1) + "\n")
        (options.output / "fuzz-models.md").write_text(as_markdown(kept))

    total = Tally(SECONDS, FACTOR, ALLOWANCE)
    run(tally_of, total, options.files, options.seed, keep)
    sys.exit(1 if total.findings else 0)


if __name__ == "__main__":
    main()
