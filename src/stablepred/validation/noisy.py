"""Which features may change between environments: found on training rows, or named by the user."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablepred._random import child_seed
from stablepred._validation import warn_user
from stablepred.exceptions import InputError, StablepredWarning
from stablepred.validation.environments import by_content, column_values
from stablepred.validation.folds import Rows


def find_noisy(rows: Rows, seed: int) -> NDArray[np.bool_]:
    """Find the features that vary and that the library's screen does not call stable."""
    from stablepred.models.selector import (
        StableFeatureSelector,  # the default source of the verdict
    )

    x = column_values(rows.X, range(len(rows.names)), rows.names)
    order = by_content(x)  # so that the verdict does not depend on the columns' order
    judge = StableFeatureSelector(random_state=child_seed(seed, "noisy"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StablepredWarning)
        judge.fit(x[:, order], rows.target, sample_weight=rows.weight)
    mask = np.empty(len(order), dtype=bool)
    mask[order] = ~judge.stable_features_ & (np.ptp(x[:, order], axis=0) > 0)
    if mask.all() or not mask.any():
        warn_user(
            f"{'every' if mask.all() else 'no'} feature was found noisy, so that the validation "
            "environments say little about stability. Name the features that may change in "
            "noisy_features=, or pass environments=.",
            StablepredWarning,
        )
    return mask


def select_noisy(chosen: Any, names: Sequence[Any]) -> NDArray[np.bool_]:
    """Turn names, indices or booleans into a mask over the columns."""
    listed = [chosen] if isinstance(chosen, str) else list(chosen)
    booleans = [item for item in listed if isinstance(item, bool | np.bool_)]
    if booleans and len(booleans) == len(listed) == len(names):
        mask = np.array(listed, dtype=bool)
    else:
        index = {name: j for j, name in enumerate(names)} | {j: j for j in range(len(names))}
        unknown = booleans + [item for item in listed if item not in index]
        if unknown:
            raise InputError(
                f"noisy_features names {unknown[0]!r}, but the features are {list(names)}. "
                "Booleans must be one per feature."
            )
        mask = np.isin(np.arange(len(names)), [index[item] for item in listed])
    if not mask.any():
        raise InputError("noisy_features is empty; name a feature, or leave it at None.")
    return mask
