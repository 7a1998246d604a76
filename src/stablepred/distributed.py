"""One fit by several processes, each with its own rows.

Started by ``torchrun``, every process reads its own rows and calls :func:`fit_shard`. Only sums
over rows travel: every process ends up with the model of a fit on all rows, up to rounding.
"""

import itertools
import os
from datetime import timedelta
from numbers import Integral
from typing import Any, TypeVar

import torch.distributed as dist
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from stablepred._parameters import check_parameters
from stablepred._validation import column_names, validate
from stablepred.core.sharding import Shards, row_shards
from stablepred.exceptions import InputError, ShardError
from stablepred.models.balancer import GlobalBalancer
from stablepred.models.dgbr import DGBRClassifier, DLRClassifier
from stablepred.models.gbr import GBRClassifier

__all__ = ["fit_shard"]

Estimator = TypeVar("Estimator", bound=BaseEstimator)

SUPPORTED = (GlobalBalancer, GBRClassifier, DLRClassifier, DGBRClassifier)


def fit_shard(
    estimator: Estimator,
    X: ArrayLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    timeout: float = 600.0,
) -> Estimator:
    """Fit an estimator together with the other processes, each on its own rows.

    Every process of the group calls this with the same estimator and the same columns. The fitted
    attributes are those of a fit on all rows, but ``sample_weight_`` (``weights_`` of a balancer)
    has the rows of this process. Intervals and folds are drawn again for each number of processes.

    Parameters
    ----------
    estimator : GlobalBalancer, GBRClassifier, DLRClassifier or DGBRClassifier
        With ``order=1``, ``dichotomize="mean"`` or None, and a number as ``cv``.
    X, y, sample_weight : array-like
        The rows of this process, at least 3 of them; ``y`` is not needed by a balancer.
    timeout : float, default=600.0
        Seconds in which the slowest process must do its part of one evaluation.

    Raises
    ------
    InputError
        On every process, where the estimator is not one of these, or the shards hold what cannot
        be used or differ in their columns or parameters.
    ShardError
        On the processes that are left, when one has failed or does not answer.
    """
    limit = timedelta(seconds=timeout)
    if not dist.is_initialized():  # start it from what torchrun has set
        if "RANK" not in os.environ:
            raise InputError(
                "fit_shard needs several processes. Start the script with 'torchrun "
                "--nproc-per-node 2 script.py', or call torch.distributed.init_process_group first."
            )
        dist.init_process_group("gloo", timeout=limit)
    shards = Shards(dist.new_group(timeout=limit), limit)  # a group of its own for one fit
    try:
        _check_together(shards, estimator, X, y)
        with row_shards(shards):
            return estimator.fit(X, y, sample_weight)
    except ShardError as error:
        raise ShardError(
            f"the fit on {shards.size} row shards was given up on rank {shards.rank}: another "
            f"process has failed, has ended, or took longer than timeout={timeout:g} seconds. Its "
            "own output says why."
        ) from error
    finally:
        dist.destroy_process_group(shards.group)  # so that no other process goes on waiting
        shards.group = None


def _check_together(shards: Shards, estimator: Any, X: Any, y: Any) -> None:
    """Compare notes; what is wrong on one process is an error on all of them."""
    note = {"error": "", "parameters": [], "columns": []}
    try:
        note |= _note(estimator, X, y)
    except ValueError as error:
        note["error"] = str(error)
    notes = shards.exchange(note)
    errors = [other["error"] for other in notes]
    if any(errors):
        each = " ".join(f"rank {k}: {text}" for k, text in enumerate(errors) if text)
        raise InputError(errors[0] if len(set(errors)) == 1 else each)
    for what, (rank, other) in itertools.product(("parameters", "columns"), enumerate(notes)):
        for here, first in itertools.zip_longest(other[what], notes[0][what]):
            if here != first:
                raise InputError(
                    f"every shard needs the same {what}, but rank {rank} has {here!r} where "
                    f"rank 0 has {first!r}."
                )


def _note(estimator: Any, X: Any, y: Any) -> dict[str, Any]:
    """Columns and parameters of this process, once they and its rows can be used."""
    if not isinstance(estimator, SUPPORTED):
        fitted = ", ".join(kind.__name__ for kind in SUPPORTED)
        raise InputError(f"fit_shard fits {fitted}, not {type(estimator).__name__}.")
    check_parameters(estimator)
    wanted = {"order": (1,), "dichotomize": ("mean", None), "checkpoint": (None,)}
    for name, allowed in wanted.items():
        if (value := getattr(estimator, name, allowed[0])) not in allowed:
            listed = " or ".join(map(repr, allowed))
            raise InputError(f"on row shards {name} must be {listed}, but is {value!r}.")
    if not isinstance(getattr(estimator, "cv", 3), Integral):
        raise InputError("on row shards cv must be a number of folds: no process has all rows.")
    probe = type(estimator)()
    validate(probe, X, *[y] * hasattr(estimator, "predict"), ensure_min_samples=3)
    given = [f"{k}={v!r}" for k, v in estimator.get_params().items() if k != "random_state"]
    return {
        "columns": column_names(probe, probe.n_features_in_),
        "parameters": [type(estimator).__name__, *given],
    }
