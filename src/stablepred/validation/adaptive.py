"""Candidates proposed one after the other by Optuna (the extra ``optuna``)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from stablepred.exceptions import InputError
from stablepred.validation.candidates import Params


def adaptive_search(
    param_grid: dict[str, Any], n_iter: int, seed: int, criterion: Callable[[Params], float]
) -> None:
    """Let a tree-structured Parzen estimator propose ``n_iter`` candidates.

    ``param_grid`` holds a list of values or an ``optuna.distributions`` object per parameter;
    ``criterion`` evaluates a candidate, smaller is better, NaN is a failure.
    """
    optuna = _optuna()
    distributions = {
        name: values
        if isinstance(values, optuna.distributions.BaseDistribution)
        else optuna.distributions.CategoricalDistribution(list(values))
        for name, values in param_grid.items()
    }
    with _quiet(optuna):
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        for _ in range(n_iter):
            trial = study.ask(distributions)
            value = criterion(dict(trial.params))
            if np.isfinite(value):
                study.tell(trial, value)
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise InputError(
            "sampler='optuna' needs Optuna, which is not installed: "
            "pip install 'stablepred[optuna]'."
        ) from error
    return optuna


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Without Optuna's own log of every trial."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
