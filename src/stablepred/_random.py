"""Child seeds from one seed and labels, so that no part's draws depend on another's."""

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

if TYPE_CHECKING:
    import torch

RandomState = int | np.random.RandomState | None


def root_seed(random_state: RandomState) -> int:
    """One integer that stands for ``random_state`` during a whole fit."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def child_seed(seed: int, *labels: object) -> int:
    """A seed that depends on ``seed`` and on every label, and on nothing else."""
    text = repr((seed, *labels)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "little")


def numpy_generator(seed: int, *labels: object) -> np.random.Generator:
    return np.random.default_rng(child_seed(seed, *labels))


def torch_generator(seed: int, *labels: object) -> "torch.Generator":
    import torch

    return torch.Generator().manual_seed(child_seed(seed, *labels))


def clone_seeded(estimator: Any, seed: int) -> Any:
    """A clone in which every ``random_state`` that is None, at any depth, has a child seed."""
    copy = clone(estimator)
    seeds = {
        name: child_seed(seed, "estimator", name) % (1 << 31)
        for name, value in copy.get_params().items()
        if value is None and name.split("__")[-1] == "random_state"
    }
    return copy.set_params(**seeds)
