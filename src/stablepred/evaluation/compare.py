"""Many methods, trained on the same rows and tested in the same environments: one table."""

import hashlib
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from stablepred._extras import require
from stablepred._random import RandomState, root_seed
from stablepred._text import error_name, join_words
from stablepred._version import __version__
from stablepred.baselines.methods import default_methods, find_method, make_method
from stablepred.evaluation.metrics import (
    SUMMARIES,
    ErrorFunction,
    Metric,
    check_interval,
    interval_frame,
)
from stablepred.evaluation.predictions import FloatArray
from stablepred.evaluation.training import Split, make_splits
from stablepred.exceptions import InputError
from stablepred.io.records import Records, Result

COLUMNS = [
    f"{name}{end}" for name in ("average", "stability", "worst") for end in ("", " low", " high")
]


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
        rows = {}
        for name, row in self.table.iterrows():
            cells = {
                what: ""
                if np.isnan(row[what])
                else f"{row[what]:.3f} ({row[f'{what} low']:.3f} to {row[f'{what} high']:.3f})"
                for what in ("average", "stability", "worst")
            }
            rows[name] = cells | {"seconds": f"{row['seconds']:.1f}", "message": row["message"]}
        frame = pd.DataFrame.from_dict(rows, orient="index")
        return frame if frame["message"].any() else frame.drop(columns="message")

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
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"<p>{escape(self.title)}</p>{self._shown().to_html()}<ul>{notes}</ul>"

    def plot(self) -> Any:
        """Average and stability error of every method, with intervals; a matplotlib figure."""
        shown = self.table[self.table["message"] == ""].iloc[::-1]
        figure = require("matplotlib.figure", "a picture").Figure(
            figsize=(9, 1 + 0.3 * len(shown)), layout="constrained"
        )
        for axes, what in zip(
            figure.subplots(1, 2, sharey=True), ("average", "stability"), strict=True
        ):
            middle = shown[what].to_numpy()
            ends = shown[[f"{what} low", f"{what} high"]].to_numpy()
            sides = np.maximum(np.abs(ends - middle[:, None]), 0.0).T
            axes.errorbar(middle, np.arange(len(shown)), xerr=sides, fmt="o")
            axes.set(xlabel=f"{what} error ({error_name(self.error)})", yticks=range(len(shown)))
            axes.set_yticklabels(shown.index)
            axes.grid(axis="x", alpha=0.3)
        return figure


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
    checkpoint: str | os.PathLike[str] | None = None,
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
    checkpoint : path, optional
        File of finished methods, one JSON line each. Called again on the same data, those are
        not run again.

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
    records = None if checkpoint is None else Records(checkpoint)
    data, results = _fingerprint(splits), {}
    for name, estimator in _list_methods(methods, numeric, several, seed).items():
        definition = {
            "data": data,
            "method": name,
            "parameters": repr(sorted(estimator.get_params().items(), key=lambda pair: pair[0])),
            "run": [seed, metric.name, level, n_bootstrap, __version__],
        }
        if records is not None and definition in records:
            results[name] = records[definition]
            continue
        results[name] = _run(estimator, splits, metric, level, n_bootstrap, seed)
        if records is not None and not results[name]["message"]:
            records.add(definition, results[name])
    return _collect(results, metric.name, level)


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


def _run(
    estimator: Any, splits: Sequence[Split], metric: Metric, level: float, draws: int, seed: int
) -> Result:
    """Errors with intervals of one method, as plain values; or why it failed."""
    started, message, errors, summary = time.perf_counter(), "", {}, {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            predicted = {n: p for split in splits for n, p in _predict(estimator, split).items()}
            seconds = time.perf_counter() - started
            tests = [test for split in splits for test in split.tests]
            found = metric.errors(tests, predicted)
            frame = interval_frame(
                found, metric.resample(tests, [predicted], draws, seed)[0], level
            )
            errors = {str(name): float(value) for name, value in found.items()}
            one = {"Average_Error": frame.iloc[0], "Worst_Error": frame.iloc[0]}
            rows = one if len(tests) == 1 else {name: frame.loc[name] for name in SUMMARIES}
            summary = {name: list(map(float, row)) for name, row in rows.items()}
        except Exception as error:
            message, seconds = f"{type(error).__name__}: {error}", time.perf_counter() - started
    lines = list(dict.fromkeys(str(warning.message) for warning in caught))
    return {
        "errors": errors,
        "summary": summary,
        "seconds": round(seconds, 3),
        "warnings": lines,
        "message": message,
    }


def _predict(estimator: Any, split: Split) -> dict[str, FloatArray]:
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


def _fingerprint(splits: Sequence[Split]) -> str:
    """A hash of all rows, names and labels."""
    digest = hashlib.sha256()
    for split in splits:
        labels = [] if split.environment is None else split.environment.tolist()
        digest.update(repr(labels).encode())
        for name, X, y in [("", split.X, split.y), *((t.name, t.X, t.y) for t in split.tests)]:
            digest.update(repr((name, list(X.columns), list(map(str, X.dtypes)))).encode())
            digest.update(pd.util.hash_pandas_object(X, index=False).to_numpy().tobytes())
            digest.update(np.asarray(y, dtype=np.float64).tobytes())
    return digest.hexdigest()[:16]


def _collect(results: Mapping[str, Result], error: str, level: float) -> MethodComparison:
    """The report of all methods, the best first and those that failed last."""
    missing = [np.nan] * 3
    rows = {
        n: [v for s in SUMMARIES for v in r["summary"].get(s, missing)] for n, r in results.items()
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=COLUMNS).rename_axis("method")
    table["seconds"] = [result["seconds"] for result in results.values()]
    table["message"] = [result["message"] for result in results.values()]
    table = table.sort_values("average", kind="stable", na_position="last")
    errors = pd.DataFrame.from_dict({n: results[n]["errors"] for n in table.index}, orient="index")
    warned = {n: list(r["warnings"]) for n, r in results.items() if r["warnings"]}
    return MethodComparison(table, errors, warned, error, level)
