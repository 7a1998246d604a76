"""The contract of ``fit``: all of it succeeds, or the object stays as it was."""

import copy
from collections.abc import Callable
from typing import Any


def take_over_when_done(estimator: Any, fit: Callable[[Any], None]) -> Any:
    """Fit a copy without fitted attributes; take its state over once ``fit`` has returned."""
    attempt = copy.copy(estimator)
    for name in [name for name in vars(attempt) if name.endswith("_")]:
        delattr(attempt, name)
    fit(attempt)
    vars(estimator).clear()
    vars(estimator).update(vars(attempt))
    return estimator
