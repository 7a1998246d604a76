"""Many methods, trained on the same rows and tested in the same environments: one table."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from stablepred._random import RandomState, root_seed
from stablepred._text import error_name, join_words
from stablepred.baselines.methods import default_methods, find_method, make_method
from stablepred.evaluation.metrics import ErrorFunction, Metric, check_interval, interval_frame
from stablepred.evaluation.predictions import Predictions
from stablepred.evaluation.training import Split, make_splits
from stablepred.exceptions import InputError
from stablepred.html.fragments import table

KINDS = ("average", "stability", "worst")
COLUMNS = [f"{name}{end}" for name in KINDS for end in ("", " low", " high")]


@dataclass(frozen=True, repr=False)
class MethodComparison:
    """Errors of many methods in the same test environments; prints as a table.

    Attributes
    ----------
    table : DataFrame
        One row per method, the smallest Average_Error first: ``average``, ``stability`` and
        ``worst`` error, each with the ``low`` and ``high`` end of its bootstrap interval, the
        ``seconds`` of the fit, and the ``message`` of a method that failed.
    errors : DataFrame
        The error of every method (row) in every test environment (column).
    warnings : dict of list of str
        What each method warned of.
    error, level : str and float
        Name of the error, and level of the intervals.
    """

    table: pd.DataFrame
    errors: pd.DataFrame
    warnings: dict[str, list[str]]
    error: str
    level: float

    def to_frame(self) -> pd.DataFrame:
        """A copy of the table."""
        return self.table.copy()

    def _shown(self) -> pd.DataFrame:
        """The numbers as text."""
        shown = pd.DataFrame(index=self.table.index)
        for what in KINDS:
            ends = self.table[[what, f"{what} low", f"{what} high"]].to_numpy()
            shown[what] = [
                "" if np.isnan(at) else f"{at:.3f} ({low:.3f} to {high:.3f})"
                for at, low, high in ends
            ]
        shown["seconds"] = self.table["seconds"].map("{:.1f}".format)
        if self.table["message"].any():
            shown["message"] = self.table["message"]
        return shown.rename_axis(None)

    @property
    def notes(self) -> list[str]:
        """What methods warned of, a line each."""
        by_line: dict[str, list[str]] = {}
        for name, lines in self.warnings.items():
            for line in lines:
                by_line.setdefault(line, []).append(name)
        return [f"{join_words(names)}: {line}" for line, names in by_line.items()]

    @property
    def title(self) -> str:
        """What the numbers are."""
        return (
            f"{error_name(self.error)} over {self.errors.shape[1]} test environments, with "
            f"{self.level:.0%} intervals over rows"
        )

    def __str__(self) -> str:
        return "\n".join([self.title, self._shown().to_string(), *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return table(self._shown(), "\n".join([self.title, *self.notes]))


def compare(
    train: Any,
    tests: Any = None,
    *,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    environment: Any = None,
    leave_one_out: bool = False,
    error: str | ErrorFunction = "rmse",
    level: float = 0.95,
    n_bootstrap: int = 200,
    random_state: RandomState = 0,
) -> MethodComparison:
    """Train many methods on the same rows, and test them in the same environments.

    Parameters
    ----------
    train : Environment, (X, y), or a list of them
        Training rows, as they come: numbers, categories, missing values; ``y`` has two classes, or
        is a number. A list with ``tests`` is several training environments; without ``tests`` the
        first of the list is for training and all others are for testing.
    tests : Environment, (X, y), or a list or mapping of them
        Where to test.
    methods : list of str, or mapping of names to estimators, optional
        Names are those of ``stablepred.baselines.methods``: constant, lr, lr_cv, lr_unpenalised,
        boosting, stable, gbr, dgbr, dlr, gbr_paper, dgbr_paper, dwr, srdo, dro_chi2, dro_cvar,
        dro_kl, group_dro; and for a number constant, ols, lasso, boosting, stable, gbr, dwr, srdo,
        dro_chi2, dro_cvar, dro_kl, anchor. They get the columns as a `TableEncoder` encodes them;
        estimators of a mapping get X as it is. By default, all that the data allow.
    environment : array-like, optional
        Labels of the training environments, one for every row of a single ``train``.
    leave_one_out : bool
        With one list and no ``tests``: every environment is tested by methods that were trained on
        all others, which are their training environments.
    error, level, n_bootstrap : str or callable, float, int
        As in `error_interval`.
    random_state : int, RandomState or None
        Seed of the methods and of the bootstrap.

    Returns
    -------
    MethodComparison
        A method that fails is a row with its message.

    Examples
    --------
    >>> from stablepred import compare
    >>> from stablepred.data import SyntheticWorld
    >>> world = SyntheticWorld("s_indep_v", 10)
    >>> environments = [world.sample(500, bias_rate=r, random_state=0) for r in (0.75, 0.3, 0.6)]
    >>> list(compare(environments, methods=["constant", "lr"]).errors)
    ['r=0.3', 'r=0.6']
    """
    splits = make_splits(train, tests, environment, leave_one_out=leave_one_out)
    numeric = splits[0].numeric
    metric, seed = Metric.of(error), root_seed(random_state)
    check_interval(level, n_bootstrap)
    if numeric and metric.name in ("log_loss", "zero_one", "brier"):
        raise InputError(f"the error {metric.name} is for two classes; take 'rmse' for a number.")
    several = splits[0].environment is not None
    tested = [test for split in splits for test in split.tests]
    rows, errors, warned = {}, {}, {}
    for name, estimator in _list_methods(methods, numeric, several, seed).items():
        started, message = time.perf_counter(), ""
        summary = np.full((len(KINDS), 3), np.nan)
        errors[name] = pd.Series(np.nan, [test.name for test in tested])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                predicted = {n: p for s in splits for n, p in _predict(estimator, s).items()}
                seconds = time.perf_counter() - started
                errors[name] = metric.errors(tested, predicted)
                draws = metric.resample(tested, [predicted], n_bootstrap, seed)[0]
                found = interval_frame(errors[name], draws, level).to_numpy()
                if len(tested) > 1:
                    summary = found[len(tested) :]
                else:  # average and worst error are that of the one environment
                    summary[[0, 2]] = found
            except Exception as failure:
                message = f"{type(failure).__name__}: {failure}"
                seconds = time.perf_counter() - started
        rows[name] = [*summary.ravel(), round(seconds, 3), message]
        if caught:
            warned[name] = list(dict.fromkeys(str(warning.message) for warning in caught))
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=[*COLUMNS, "seconds", "message"])
    frame = frame.rename_axis("method").sort_values("average", kind="stable", na_position="last")
    by_method = pd.DataFrame(errors).T.loc[frame.index].rename_axis(None)
    return MethodComparison(frame, by_method, warned, metric.name, level)


def _list_methods(
    methods: Sequence[str] | Mapping[str, Any] | None, numeric: bool, several: bool, seed: int
) -> dict[str, Any]:
    """Unfitted estimators by name."""
    if methods is None:
        methods = default_methods(numeric=numeric, several=several)
    if not isinstance(methods, Mapping):
        listed = [methods] if isinstance(methods, str) else methods
        methods = {find_method(name, numeric=numeric): name for name in listed}
    found = {}
    for label, given in methods.items():
        if isinstance(given, str):
            name = find_method(given, numeric=numeric)
            found[str(label)] = make_method(name, seed, numeric=numeric)
        elif hasattr(given, "get_params") and not isinstance(given, type):
            found[str(label)] = given
        else:
            raise InputError(
                f"method {label!r} must be an estimator or the name of a method, but is "
                f"{given if isinstance(given, type) else type(given).__name__}."
            )
    if not found:
        raise InputError("there are no methods to compare; name at least one.")
    return found


def _predict(estimator: Any, split: Split) -> Predictions:
    """Probabilities of the class 1, or predicted numbers, by test environment, of a fitted copy."""
    model, options, found = clone(estimator), {}, {}
    name, last = model.steps[-1] if isinstance(model, Pipeline) else ("", model)
    if split.environment is not None and has_fit_parameter(last, "environment"):
        options[f"{name}__environment" if name else "environment"] = split.environment
    model.fit(split.X, split.y, **options)
    for test in split.tests:
        predicted = model.predict(test.X) if split.numeric else model.predict_proba(test.X)[:, 1]
        found[test.name] = np.asarray(predicted, dtype=np.float64).reshape(len(test.y))
    return found
