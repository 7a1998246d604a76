"""Many methods, trained on the same rows and tested in the same environments: one table."""

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from stablepred._extras import require
from stablepred._random import RandomState, root_seed
from stablepred._text import error_name, join_words
from stablepred._validation import read_labels
from stablepred._version import __version__
from stablepred.baselines.methods import default_methods, find_method, make_method
from stablepred.evaluation.metrics import (
    SUMMARIES,
    ErrorFunction,
    Metric,
    check_interval,
    interval_frame,
)
from stablepred.evaluation.predictions import (
    FloatArray,
    PlainTable,
    check_columns,
    check_environments,
    encode_classes,
    list_tables,
    read_outcomes,
)
from stablepred.exceptions import InputError
from stablepred.html.fragments import Report, table
from stablepred.io.records import Records, Result

SHOWN = ("average", "stability", "worst")
COLUMNS = [f"{name}{end}" for name in SHOWN for end in ("", " low", " high")]
MOST_CODES = 10  # integers with more different values than this are a number


@dataclass(frozen=True, repr=False)
class MethodComparison(Report):
    """Errors of many methods in the same test environments; prints as a table.

    ``table`` has one row per method, the smallest Average_Error first: ``average``, ``stability``
    and ``worst`` error, each with the ``low`` and ``high`` end of its bootstrap interval, the
    ``seconds`` of the fit, and the ``message`` of a method that failed.
    """

    table: pd.DataFrame
    errors: pd.DataFrame  # of every method (row) in every test environment (column)
    warnings: dict[str, list[str]]  # what each method warned of
    error: str
    level: float

    def to_frame(self) -> pd.DataFrame:
        """A copy of the table."""
        return self.table.copy()

    def _shown(self) -> pd.DataFrame:
        """The numbers as text."""
        shown = self.table[["seconds", "message"]].round(1)
        for k, what in enumerate(SHOWN):
            cells = self.table[[what, f"{what} low", f"{what} high"]].to_numpy()
            shown.insert(k, what, [f"{a:.3f} ({low:.3f} to {high:.3f})" for a, low, high in cells])
        shown = shown.replace("nan (nan to nan)", "").rename_axis(None)
        return shown if shown["message"].any() else shown.drop(columns="message")

    @property
    def notes(self) -> list[str]:
        """What methods warned of, a line each."""
        lines = dict.fromkeys(line for told in self.warnings.values() for line in told)
        told = {line: [n for n, those in self.warnings.items() if line in those] for line in lines}
        return [f"{join_words(names)}: {line}" for line, names in told.items()]

    @property
    def title(self) -> str:
        return (
            f"{error_name(self.error)} over {self.errors.shape[1]} test environments, with "
            f"{self.level:.0%} intervals over rows"
        )

    def __str__(self) -> str:
        return "\n".join([self.title, self._shown().to_string(), *self.notes])

    def _repr_html_(self) -> str:
        return table(self._shown(), "\n".join([self.title, *self.notes]))

    def plot(self) -> Any:
        """Average and stability error of every method, with intervals; a matplotlib figure."""
        figure = require("matplotlib.figure", "a picture").Figure((8, 3), layout="constrained")
        from stablepred.plotting.rows import BASELINES, Display, Marks, draw_rows

        shown = self.table[self.table["message"] == ""]
        series = [
            Marks(what, shown[what], look, shown[f"{what} low"], shown[f"{what} high"])
            for what, look in zip(("average", "stability"), BASELINES, strict=False)
        ]
        name = f"error ({error_name(self.error)})"
        drawn = draw_rows(Display(), figure.subplots(), list(shown.index), series, name)
        figure.set_figheight(drawn.height_)
        return figure


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows, labels of their environments if there are several, and test environments."""

    X: pd.DataFrame
    y: NDArray[Any]
    environment: NDArray[Any] | None
    tests: list[PlainTable]
    numeric: bool  # whether the outcome is a number; else 0/1


def make_splits(train: Any, tests: Any, environment: Any, *, leave_one_out: bool) -> list[Split]:
    """One split, or one for every environment that is left out."""
    trained = list_tables(train, "train")
    if leave_one_out and (tests is not None or environment is not None):
        raise InputError(
            "leave_one_out tests the environments of one list, which are the labels as well: "
            "leave tests= out, and environment=."
        )
    if tests is not None:
        return [_make_split(trained, list_tables(tests, "test"), environment)]
    if len(trained) < 2:
        raise InputError(
            "there is nothing to test in. Pass tests=, or a list of two or more environments."
        )
    if not leave_one_out:
        return [_make_split(trained[:1], trained[1:], environment)]
    return [_make_split([t for t in trained if t is not one], [one], None) for one in trained]


def _make_split(trained: list[PlainTable], tests: list[PlainTable], environment: Any) -> Split:
    """Check that all tables go together, and encode the outcome by what was seen in training."""
    several = len(trained) > 1
    check_environments([*trained, *tests] if several else tests)
    check_columns(tests[0], trained[0].X.columns, "training")
    if environment is not None:
        read_labels(environment, "environment", sum(map(len, trained)))
        environment = np.asarray(environment)
    elif several:
        environment = np.repeat([t.name for t in trained], [len(t) for t in trained])
    X = pd.concat([table.X for table in trained], ignore_index=True)
    whole = PlainTable("training", X, np.concatenate([table.y for table in trained]))
    values = np.unique(whole.y)
    if len(values) < 2:
        raise InputError(
            f"the outcome is always {values[0]} in training for {tests[0].name!r}: there is "
            "nothing to learn."
        )
    numeric, few = len(values) > 2, len(values) <= MOST_CODES
    if numeric and whole.y.dtype.kind not in ("f" if few else "iuf"):
        raise InputError(
            f"the outcome must be a number or have two classes, but has {len(values)} different "
            f"values (e.g. {', '.join(map(str, values[:3]))}). Combine several classes into two; "
            "of a number pass floats."
        )
    tables, known = [whole, *tests], values.tolist()
    if numeric:
        tables = read_outcomes(tables, [])
    else:
        tables = [encode_classes(one, "training", known) for one in tables]
    return Split(X, tables[0].y, environment, tables[1:], numeric)


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
        Of two classes constant, lr, lr_cv, lr_unpenalised, boosting, stable, gbr, dgbr, dlr,
        gbr_paper, dgbr_paper, dwr, srdo, dro_chi2, dro_cvar, dro_kl, group_dro; of a number
        constant, ols, lasso, boosting, stable, gbr, dwr, srdo, dro_chi2, dro_cvar, dro_kl, anchor.
        Estimators of a mapping get X as it is, not encoded. By default, all that the data allow.
    environment : array-like, optional
        Labels of the training environments, one for every row of a single ``train``.
    leave_one_out : bool
        With one list and no ``tests``: every environment is tested by methods that were trained on
        all others, which are their training environments.
    error, level, n_bootstrap, random_state : str or callable, float, int, seed
        As in `error_interval`; the seed is also that of the methods.
    checkpoint : path, optional
        File of finished methods, which are not run again on the same data.

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
    metric, seed = Metric.of(error), root_seed(random_state)
    check_interval(level, n_bootstrap)
    numeric, several = splits[0].numeric, splits[0].environment is not None
    if numeric and metric.name in ("log_loss", "zero_one", "brier"):
        raise InputError(f"the error {metric.name} is for two classes; take 'rmse' for a number.")
    records = None if checkpoint is None else Records(checkpoint)
    data, results = joblib.hash(splits), dict[str, Result]()
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
    rows = {name: result["summary"] for name, result in results.items()}
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=COLUMNS).rename_axis("method")
    for column in ("seconds", "message"):
        frame[column] = [result[column] for result in results.values()]
    frame = frame.sort_values("average", kind="stable", na_position="last")  # the failed ones last
    errors = pd.DataFrame.from_dict({n: results[n]["errors"] for n in frame.index}, orient="index")
    warned = {n: list(r["warnings"]) for n, r in results.items() if r["warnings"]}
    return MethodComparison(frame, errors, warned, metric.name, level)


def _list_methods(
    methods: Sequence[str] | Mapping[str, Any] | None, numeric: bool, several: bool, seed: int
) -> dict[str, Any]:
    if methods is None:
        methods = default_methods(numeric=numeric, several=several)
    if not isinstance(methods, Mapping):
        methods = {find_method(name, numeric=numeric): name for name in methods}
    found = {}
    for label, given in methods.items():
        if isinstance(given, str):
            given = make_method(find_method(given, numeric=numeric), seed, numeric=numeric)
        if not hasattr(given, "get_params") or isinstance(given, type):
            raise InputError(
                f"method {label!r} must be an estimator or the name of a method, but is {given!r}."
            )
        found[str(label)] = given
    if not found:
        raise InputError("there are no methods to compare; name at least one.")
    return found


def _run(
    estimator: Any, splits: Sequence[Split], metric: Metric, level: float, draws: int, seed: int
) -> Result:
    """Errors with intervals of one method, as plain values; or why it failed."""
    started, message, errors, summary = time.perf_counter(), "", {}, [np.nan] * len(COLUMNS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            predicted = {n: p for split in splits for n, p in _predict(estimator, split).items()}
            seconds = time.perf_counter() - started
            tests = [test for split in splits for test in split.tests]
            found = metric.errors(tests, predicted)
            drawn = metric.resample(tests, [predicted], draws, seed)[0]
            frame = interval_frame(found, drawn, level)
            if len(tests) == 1:  # the average and the worst; there is no stability
                frame = frame.iloc[[0, 0]].set_axis([SUMMARIES[0], SUMMARIES[2]])
            summary = frame.reindex(SUMMARIES).to_numpy().ravel().tolist()
            errors = {str(name): float(value) for name, value in found.items()}
        except Exception as error:
            message, seconds = f"{type(error).__name__}: {error}", time.perf_counter() - started
    return {
        "errors": errors,
        "summary": summary,
        "seconds": round(seconds, 3),
        "warnings": list(dict.fromkeys(str(warning.message) for warning in caught)),
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
