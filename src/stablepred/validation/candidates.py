"""Candidates as scikit-learn is to fit them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from stablepred._random import child_seed
from stablepred.io.save import Storable


def prepare(value: Any, seed: int) -> Any:
    """Copy an estimator and seed what has no seed; leave any other value as it is.

    Candidates keep no checkpoint: there is one file, and there are many of them.
    """
    if not hasattr(value, "get_params") or isinstance(value, type):
        return value
    model = clone(value)
    for part in (model, *model.get_params().values()):
        if isinstance(part, Storable) and hasattr(part, "checkpoint"):
            part.set_params(checkpoint=None)  # type: ignore[attr-defined]
    seeds = {
        name: child_seed(seed, "estimator")
        for name, chosen in model.get_params().items()
        if name.split("__")[-1] == "random_state" and chosen is None
    }
    return model.set_params(**seeds)


def fit_arguments(model: Any, weight: NDArray[np.float64] | None) -> dict[str, Any]:
    """Name the weights for fit; without metadata routing they are for a pipeline's last step."""
    if weight is None:
        return {}
    if isinstance(model, Pipeline) and not get_config()["enable_metadata_routing"]:
        return {f"{model.steps[-1][0]}__sample_weight": weight}
    return {"sample_weight": weight}
