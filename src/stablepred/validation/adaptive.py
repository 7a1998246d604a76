"""Candidates that Optuna proposes one after the other (the extra ``optuna``)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stablepred.exceptions import InputError


def search_adaptively(
    param_grid: dict[str, Any], n_iter: int, seed: int, criterion: Callable[[dict[str, Any]], float]
) -> None:
    """Let a tree-structured Parzen estimator propose ``n_iter`` candidates.

    ``param_grid`` holds a list of values or an ``optuna.distributions`` object per parameter;
    ``criterion`` evaluates a candidate, smaller is better, NaN is a failure. If every evaluation
    raises a ValueError, so does the search.
    """
    try:
        import optuna
    except ImportError as error:
        raise InputError(
            "sampler='optuna' needs Optuna, which is not installed: "
            "pip install 'stablepred[optuna]'."
        ) from error
    kinds = optuna.distributions
    distributions = {
        name: values
        if isinstance(values, kinds.BaseDistribution)
        else kinds.CategoricalDistribution(list(values))
        for name, values in param_grid.items()
    }
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # no line per trial
    try:
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        errors = []
        for _ in range(n_iter):
            trial = study.ask(distributions)
            try:
                value = criterion(dict(trial.params))
            except ValueError as error:  # no fold of this candidate could be fitted or scored
                errors.append(error)
                value = np.nan
            failed = optuna.trial.TrialState.FAIL if np.isnan(value) else None
            study.tell(trial, None if failed else value, state=failed)
    finally:
        optuna.logging.set_verbosity(verbosity)
    if len(errors) == n_iter:
        raise errors[0]
