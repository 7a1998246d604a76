"""A fit that takes long: its progress on a terminal, and its checkpoint file.

The file is written every few seconds, and read when the fit is run again.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch

from stablepred._version import __version__
from stablepred.core.loop import Checkpoint, Settings, State
from stablepred.exceptions import CheckpointError
from stablepred.io.save import read_checkpoint, remove_checkpoint, write_checkpoint
from stablepred.sample import Sample

# A checkpoint is written once this many seconds have passed since the last one, and this many times
# as long as writing that one took.
SECONDS = 2.0
TIMES_AS_LONG = 20.0


def identity_of(estimator: Any, sample: Sample, seed: int) -> dict[str, str]:
    """What two fits must have in common for one to go on where the other stopped.

    Without a ``random_state`` any seed will do, and that of the unfinished fit is used.
    """
    origin, tensors = sample.origin, (sample.x, sample.y, sample.mass, sample.copies)
    rows = [tensor.cpu().numpy() for tensor in tensors]
    parameters = estimator.get_params(deep=False)
    if estimator.random_state is not None:
        parameters["random_state"] = seed
    return {
        "estimator": type(estimator).__name__,
        "versions": f"stablepred {__version__}, torch {torch.__version__}, numpy {np.__version__}",
        "data": joblib.hash([*rows, origin.index, origin.present, origin.columns]),
    } | {
        name: re.sub(r" at 0x[0-9a-f]+", "", repr(value))
        for name, value in parameters.items()
        if name not in ("checkpoint", "verbose")
    }


@contextmanager
def follow_fit(
    estimator: Any, sample: Sample, settings: Settings, seed: int
) -> Iterator[tuple[Settings, int]]:
    """Yield the settings with progress and checkpoint, and the seed, perhaps of an earlier run."""
    path, checkpoint = estimator.checkpoint, Checkpoint()
    if path is not None:
        checkpoint = FileCheckpoint(Path(path), identity_of(estimator, sample, seed), seed)
        seed = checkpoint.seed
    progress = fit_progress(type(estimator).__name__, estimator.verbose > 0)
    yield replace(settings, on_iteration=progress, checkpoint=checkpoint), seed
    if path is not None:  # the fit is done
        remove_checkpoint(path)


class FileCheckpoint(Checkpoint):
    """The loops of a fit in one file: those that are done, and the one that is running."""

    def __init__(self, path: Path, identity: dict[str, str], seed: int) -> None:
        self.path, self.seed, self._identity, self._stage = path, seed, identity, ""
        self._earlier: list[Any] = []  # loops of the earlier run, still to come
        self._done: list[Any] = []
        self._written, self._pause = time.monotonic(), SECONDS
        if not path.exists():
            return
        content = read_checkpoint(path)
        with self._refuse_others():
            found = dict(content["identity"])
            self.seed, self._earlier = int(content["seed"]), list(content["loops"])
            differing = [one for one in identity | found if identity.get(one) != found.get(one)]
            if differing:
                raise ValueError(f"of other {', '.join(map(str, differing))}")

    @contextmanager
    def _refuse_others(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise CheckpointError(
                f"the checkpoint {self.path} belongs to another fit ({error}). Remove it to fit "
                "from the beginning, or name another file."
            ) from error

    def begin(self, stage: str, restore: Callable[[State], None]) -> None:
        self._stage = stage
        if not self._earlier:
            return
        with self._refuse_others():
            loop = self._earlier.pop(0)
            if loop["stage"] != stage:
                raise ValueError(f"it was at {str(loop['stage'])[:40]!r}, and this is {stage!r}")
            # In memory allocated by torch, as before: the memory layout decides the last bits.
            restore(_convert(loop["state"], np.ndarray, lambda a: torch.from_numpy(a).clone()))

    def keep(self, state: Callable[[], State]) -> None:
        """Write what is done, if it is time and no earlier loops are left to restore."""
        if not self._earlier and time.monotonic() - self._written >= self._pause:
            self._write([*self._done, self._loop(state)])

    def end(self, state: Callable[[], State]) -> None:
        self._done.append(self._loop(state))

    def _loop(self, state: Callable[[], State]) -> dict[str, Any]:
        arrays = _convert(state(), torch.Tensor, lambda tensor: tensor.cpu().numpy().copy())
        return {"stage": self._stage, "state": arrays}

    def _write(self, loops: list[dict[str, Any]]) -> None:
        started = time.monotonic()
        write_checkpoint(self.path, {"identity": self._identity, "seed": self.seed, "loops": loops})
        self._written = time.monotonic()
        self._pause = max(SECONDS, TIMES_AS_LONG * (self._written - started))


def _convert(value: Any, kind: type, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, kind):
        return function(value)
    if isinstance(value, dict):
        return {key: _convert(item, kind, function) for key, item in value.items()}
    return [_convert(item, kind, function) for item in value] if isinstance(value, list) else value


def fit_progress(name: str, wanted: bool) -> Callable[[str, int, float], None]:
    """A callback (stage, iteration, objective) that shows progress on a terminal."""
    shown = wanted and sys.stderr.isatty()

    def show(stage: str, iteration: int, value: float) -> None:
        if shown:
            line = f"{name}: {stage}, iteration {iteration + 1}, objective {value:.5g}"
            print(f"\033[K{line}", end="\r", file=sys.stderr, flush=True)

    return show
