"""What was run, on what, when and with which versions."""

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np
import pandas as pd

from stablepred._version import __version__
from stablepred.evaluation.metrics import Table

LIBRARIES = ("numpy", "scikit-learn", "torch")


@dataclass(frozen=True)
class RunFacts:
    """Data, seed, settings and time of a report.

    Attributes
    ----------
    environments : DataFrame
        ``rows`` and ``positive`` (share of y = 1) by name.
    n_features : int
    train : (str, int), optional
        Name and rows of the training environment.
    seed, n_bootstrap : int
    versions : dict
    made : str
        When it was done (UTC).
    seconds : float
        How long it took.
    """

    environments: pd.DataFrame
    n_features: int
    train: tuple[str, int] | None
    seed: int
    n_bootstrap: int
    versions: dict[str, str]
    made: str
    seconds: float


def run_facts(
    tables: Sequence[Table], train: Table | None, seed: int, n_bootstrap: int, started: float
) -> RunFacts:
    """The facts of a run that began at ``started`` (``time.perf_counter``) and ends now."""
    rows = {t.name: {"rows": len(t.y), "positive": float(np.mean(t.y))} for t in tables}
    return RunFacts(
        environments=pd.DataFrame.from_dict(rows, orient="index").astype({"rows": int}),
        n_features=tables[0].X.shape[1],
        train=None if train is None else (train.name, len(train.y)),
        seed=seed,
        n_bootstrap=n_bootstrap,
        versions={"stablepred": __version__, "Python": platform.python_version()}
        | {name: version(name) for name in LIBRARIES},
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        seconds=time.perf_counter() - started,
    )
