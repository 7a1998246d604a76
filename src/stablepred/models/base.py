"""What all estimators share: one gate for data, one way to fit, one set of fitted attributes."""

import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from stablepred._random import RandomState
from stablepred.core.checkpoint import Checkpoint
from stablepred.core.minibatch import BatchSolution
from stablepred.core.objective import Rows, embedding_scale
from stablepred.core.patterns import Patterns, distinct_patterns
from stablepred.core.sharding import (
    array_total,
    array_totals,
    current_shards,
    largest,
    smallest,
    total,
    totals,
)
from stablepred.core.solvers import Solution
from stablepred.core.threads import LARGE, threads_for
from stablepred.evaluation.diagnostics import BalanceReport, balance_report
from stablepred.exceptions import (
    CollapsedEmbeddingWarning,
    ConstantFeatureWarning,
    ConvergenceWarning,
    DegenerateWeightsWarning,
    InputError,
    RedundantFeatureWarning,
)
from stablepred.io.save import Storable
from stablepred.models.checkpoints import fit_checkpoint, identity_of
from stablepred.models.progress import fit_progress
from stablepred.preprocessing import Dichotomizer, PairExpansion, column_names, sums_within
from stablepred.tables.counting import PatternCounts

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Effective shares under this are reported even where no floor is set.
SMALL_SHARE = 0.05
# Where the mean of the weights, before it is set to one, is under this, their penalty is evaded.
LEAST_MEAN = 0.1
# Rows that one row may stand for, by its sample weight.
MOST_COPIES = 1e9
# A value of a feature whose weight falls to this part of what it was is reported as erased.
ERASED = 0.01


@dataclass(frozen=True)
class Table:
    """Validated training data: 0/1 columns that vary, grouped into distinct rows.

    The columns stand in an order that depends on their content alone, so that a fit does not
    depend on where they stand in the user's table.
    """

    names: list[str]  # of all features
    columns: NDArray[np.intp]  # (a,) the features that vary, in the order of ``patterns.x``
    present: BoolArray  # (n,) the rows with positive sample weight
    n_rows: int  # how many those are
    patterns: Patterns  # over present rows and varying columns
    copies: NDArray[np.float64]  # (m,) how many rows each distinct row stands for

    @property
    def column_names(self) -> list[str]:
        """Names of the columns that vary, in the order of ``patterns.x``."""
        return [self.names[j] for j in self.columns]

    def spread(self, values: FloatArray) -> FloatArray:
        """Values per distinct row, handed back to the original rows (zero where absent)."""
        rows = np.zeros(len(self.present))
        rows[self.present] = values[self.patterns.index]
        return rows

    def counted(self, rows: NDArray[Any], count: FloatArray) -> FloatArray:
        """Total sample weight of each distinct row among some of the original rows."""
        chosen = np.zeros(len(self.present))
        chosen[rows] = 1.0
        weights = (chosen * count)[self.present]
        totals = np.bincount(self.patterns.index, weights, minlength=len(self.patterns.y))
        return totals.astype(np.float64)

    def whole(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values per varying column, in the user's order, with zeros for the constant ones."""
        everywhere = np.zeros(len(self.names), dtype=values.dtype)
        everywhere[self.columns] = values
        return everywhere

    def balance_report(self, w: FloatArray) -> BalanceReport:
        """Balance of the varying columns, in the user's order."""
        order = np.argsort(self.columns)
        names = [self.names[j] for j in self.columns[order]]
        x, mass = self.patterns.x[:, order], self.patterns.mass
        return balance_report(x, mass, w, names, self.n_rows)


def row_numbers(sample_weight: FloatArray) -> FloatArray:
    """How many rows each row stands for, for intervals and folds.

    Sample weights that are whole multiples of the smallest one are counts of equal rows, if at
    least one row in twenty has that smallest weight and none a billion times it. Others are scaled
    to their effective number, (sum c)^2 / sum c^2.
    """
    least = smallest(sample_weight.min())
    multiples = sample_weight / least
    whole = np.round(multiples)
    equal, broken, rows, first, second = array_totals(
        np.isclose(sample_weight, least, rtol=1e-9).sum(),
        (~np.isclose(multiples, whole, rtol=1e-9, atol=0)).sum(),
        len(sample_weight),
        sample_weight.sum(),
        sample_weight @ sample_weight,
    )
    if equal / rows < 0.05 or broken or largest(multiples.max()) >= MOST_COPIES:
        whole = sample_weight * first / second
    return whole


def canonical_order(x: FloatArray, y: FloatArray, count: FloatArray) -> NDArray[np.intp]:
    """Columns sorted by sums over the rows that depend on no order, of rows or of columns."""
    size = x.sum(axis=1)  # how many features a row has
    moments = [np.ones_like(size), y, size, size * y, size**2, size**2 * y, size**3]
    relative = count / largest(count.max())
    sums = array_total(
        np.array([[math.fsum(relative * column * moment) for moment in moments] for column in x.T])
    )
    keys = [tuple(float(f"{value:.9e}") for value in row) for row in sums]
    return np.array(sorted(range(x.shape[1]), key=keys.__getitem__), dtype=np.intp)


class StableEstimator(Storable, BaseEstimator):
    """Parameters, validation and the fit contract that all estimators share.

    A failed or interrupted ``fit`` leaves a fitted model as it was.
    """

    random_state: RandomState
    max_iter: int
    tol: float
    device: str
    verbose: int
    dichotomize: str | None
    checkpoint: str | os.PathLike[str] | None
    n_features_in_: int

    not_stored: ClassVar = ("checkpoint",)

    def _check_parameters(self) -> None:
        """Check every parameter by name; the rules stand beside the classes that have them."""
        at_least(self, "max_iter", 1, whole=True)
        at_least(self, "tol", 0)
        one_of(self, "device", ("auto", "cpu", "cuda"))
        one_of(self, "dichotomize", ("mean", "median", None))
        check_checkpoint(self.checkpoint)
        for name in STRENGTHS & vars(self).keys():
            at_least(self, name, 0)
        if getattr(self, "min_effective_share", 0.0) >= 1:
            raise InputError(
                "min_effective_share must be under 1 (1 would hold all weights equal), but is "
                f"{self.min_effective_share!r}."
            )

    def _torch_device(self, size: int) -> torch.device:
        """Where to fit a data matrix of ``size`` entries."""
        if self.device == "cuda" and not torch.cuda.is_available():
            raise InputError(
                "device='cuda' was asked for, but torch finds no CUDA GPU. "
                "Set device='cpu' or device='auto'."
            )
        if self.device == "auto":
            return torch.device("cuda" if size >= LARGE and torch.cuda.is_available() else "cpu")
        return torch.device(self.device)

    @contextmanager
    def _resources(self, size: int) -> Iterator[None]:
        """Threads for a data matrix of ``size`` entries, and a plain word where memory ends."""
        try:
            with threads_for(size):
                yield
        except torch.cuda.OutOfMemoryError as error:
            free, whole = (amount / 2**30 for amount in torch.cuda.mem_get_info())
            raise InputError(
                f"the fit needs more memory than the GPU has ({free:.1f} of {whole:.1f} GiB free), "
                "even in small pieces. Set device='cpu', or fit on fewer rows or narrower layers."
            ) from error

    def _binary(self, x: FloatArray, count: FloatArray, names: list[str]) -> FloatArray:
        """0/1 features, by the fitted dichotomiser or as they are."""
        if self.dichotomize is None:
            check_binary(x[count > 0], names)
            return x
        self.dichotomizer_ = fitted_dichotomizer(self, x, count)
        binary: FloatArray = self.dichotomizer_.transform(x)
        return binary

    def _take_over_table(self, patterns: PatternCounts) -> None:
        """After a fit on counted 0/1 rows: how many they were, and where the table was cut."""
        self.row_count_ = patterns.count
        if patterns.dichotomizer is not None:
            self.dichotomizer_ = patterns.dichotomizer

    def _table(
        self, x: FloatArray, y: FloatArray, count: FloatArray, *, counted: bool = False
    ) -> Table:
        """The training data; ``counted`` says that ``count`` are numbers of equal rows."""
        names = column_names(self, x.shape[1])
        present = count > 0
        n_rows = int(array_total(count.sum() if counted else present.sum()))
        if n_rows < 3:
            raise InputError(
                f"only n_samples = {n_rows} rows have a positive sample_weight, but at least 3 are "
                "needed."
            )
        kept, y, count = self._binary(x, count, names)[present], y[present], count[present]
        active = np.flatnonzero(smallest(kept.min(axis=0)) != largest(kept.max(axis=0)))
        report_constant_columns(names, active)
        columns = active[canonical_order(kept[:, active], y, count)]
        patterns = distinct_patterns(kept[:, columns], y, count)
        each = count if counted else row_numbers(count)
        copies = np.bincount(patterns.index, each).astype(np.float64)
        return Table(names, columns, present, n_rows, patterns, copies)

    def _expansion(self, table: Table, order: int) -> PairExpansion | None:
        if order == 1:
            return None
        return PairExpansion(table.patterns.x, table.column_names)

    def _rows(self, table: Table, expansion: PairExpansion | None, device: torch.device) -> Rows:
        columns, shared = table.patterns.x, None
        if expansion is not None:
            columns = expansion(columns)
            shared = torch.as_tensor(expansion.shared, device=device)
        patterns = table.patterns
        x, y, mass = (
            torch.as_tensor(np.ascontiguousarray(a), dtype=torch.float64, device=device)
            for a in (columns, patterns.y, patterns.mass)
        )
        return Rows(x, y, mass, len(table.columns), shared)

    def _checkpoint(
        self, table: Table, seed: int
    ) -> AbstractContextManager[tuple[Checkpoint, int]]:
        """The checkpoint of the fit to ``table``, and its seed."""
        patterns = table.patterns
        data: list[NDArray[Any]] = [patterns.x, patterns.y, patterns.count, patterns.index]
        data += [table.copies, table.present, table.columns]
        return fit_checkpoint(self.checkpoint, lambda: identity_of(self, data, seed), seed)

    def _progress(self) -> AbstractContextManager[Callable[[str, int, float], None]]:
        return fit_progress(type(self).__name__, self.verbose > 0)

    def _warn_about(
        self, solution: Solution, rows: Rows, report: BalanceReport, table: Table
    ) -> None:
        """Say what went wrong on the way, and what to change."""
        self._warn_about_convergence(solution.unfinished)
        if hasattr(self, "weight_l2") and current_shards() is None:
            _warn_about_redundant_features(table)
        warn_about_weights(self, solution, report)
        x, v = rows.features, rows.mass * solution.w / total(rows.mass @ solution.w)
        sides = totals(v @ x, rows.mass @ x, v @ (1 - x), rows.mass @ (1 - x))
        warn_about_erased_values(table.column_names, *sides)
        for number, network in enumerate(solution.networks):
            spread = embedding_scale(network.encode(rows.x), rows.mass).max()
            if float(spread) < 1e-3:
                warn_user(
                    f"the embedding of encoder {number} is nearly constant (largest standard "
                    f"deviation {float(spread):.1e}): balancing it says nothing. Lower balance, "
                    "raise reconstruction, or use solver='sequential'.",
                    CollapsedEmbeddingWarning,
                )

    def _warn_about_convergence(self, unfinished: list[str]) -> None:
        self.converged_ = not unfinished
        if unfinished:
            stages = ", ".join(dict.fromkeys(unfinished))
            warn_user(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} iterations before "
                f"it converged (stage: {stages}). Raise max_iter, or raise tol "
                f"(now {self.tol:g}) if the result is good enough.",
                ConvergenceWarning,
            )


STRENGTHS = {
    "balance",
    "reconstruction",
    "weight_l2",
    "l2",
    "weight_sum",
    "network_l2",
    "min_effective_share",
}


def at_least(estimator: Any, name: str, least: float, *, whole: bool = False) -> None:
    """Check that a parameter is a finite number of at least ``least``."""
    value = getattr(estimator, name)
    kind = Integral if whole else Real
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= float(value) < np.inf:
        number = "a whole number" if whole else "a finite number"
        raise InputError(f"{name} must be {number} of at least {least}, but is {value!r}.")


def one_of(estimator: Any, name: str, allowed: tuple[Any, ...]) -> None:
    """Check that a parameter has one of the allowed values."""
    value = getattr(estimator, name)
    if isinstance(value, np.generic):
        value = value.item()
    if not any(type(value) is type(choice) and value == choice for choice in allowed):
        raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}.")


def check_checkpoint(path: Any) -> None:
    """Refuse what can be no name of a file, before any work is done."""
    if path is None:
        return
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"checkpoint must be the name of a file or None, but is {path!r}.")
    if not Path(path).parent.is_dir():
        raise InputError(f"checkpoint is to be {path}, but there is no folder {Path(path).parent}.")


def check_binary(x: FloatArray, names: list[str]) -> None:
    """Refuse features with values other than 0 and 1, by name."""
    for name, values in zip(names, x.T, strict=True):
        distinct = np.unique(values)
        if not np.isin(distinct, (0.0, 1.0)).all():
            examples = ", ".join(f"{value:g}" for value in distinct[:4])
            raise InputError(
                f"feature {name!r} must be 0/1 to be balanced, but has {len(distinct)} distinct "
                f"values (e.g. {examples}). Set dichotomize='mean', or put a Dichotomizer before "
                "this estimator."
            )


def fitted_dichotomizer(estimator: Any, x: FloatArray, count: FloatArray) -> Dichotomizer:
    """Cuts from the rows with a positive count, in all shards where there are several."""
    if current_shards() is None:
        return Dichotomizer(strategy=estimator.dichotomize).fit(x, sample_weight=count)
    x, count = x[count > 0], count[count > 0]
    low, high = smallest(x.min(axis=0)), largest(x.max(axis=0))
    sums = array_totals(*sums_within(x, count, low, high))
    return Dichotomizer.from_sums(low, high, sums)


def report_constant_columns(names: list[str], active: NDArray[np.intp]) -> None:
    """Name the columns that have one value only; refuse a table that has no others."""
    constant = [name for j, name in enumerate(names) if j not in set(active)]
    if len(active) == 0:
        raise InputError(
            f"all {len(names)} features are constant in the training rows, so there is nothing to "
            "learn from. Check the columns and the sample_weight."
        )
    if constant:
        warn_user(
            "constant in the training rows, effect and coefficient set to 0: "
            + ", ".join(constant),
            ConstantFeatureWarning,
        )


def _warn_about_redundant_features(table: Table) -> None:
    """Name the features that repeat another one, or say its opposite, in every row."""
    x = table.patterns.x
    bits = np.packbits(x != x[0], axis=0).T  # alike for a feature and its opposite
    first: dict[bytes, int] = {}
    repeated = []
    for place in np.argsort(table.columns):
        j, original = table.columns[place], first.setdefault(bits[place].tobytes(), int(place))
        if original != place:
            repeated.append(f"{table.names[j]} (as {table.column_names[original]})")
    if repeated:
        warn_user(
            f"equal in every row, or opposite: {', '.join(repeated)}. No weights can balance such "
            "features against each other. Leave one of each out.",
            RedundantFeatureWarning,
        )


def warn_about_weights(
    estimator: Any, solution: Solution | BatchSolution, report: BalanceReport
) -> None:
    """Say where the weights have collapsed, met their floor, or not moved at all."""
    share = report.effective_share
    mean = 1 - solution.history.get("weight_sum", [0.0])[-1] ** 0.5
    if mean < LEAST_MEAN:
        warn_user(
            f"the mean of the weights fell to {mean:.2g} before they were scaled to one, so that "
            "weight_l2 (lambda 3) hardly limits their variance any more. Raise weight_sum (lambda "
            "6) well above weight_l2, or lower weight_l2.",
            DegenerateWeightsWarning,
        )
    floor = getattr(estimator, "min_effective_share", 0.0)
    if solution.floored:
        warn_user(
            f"the weights met the floor on the effective sample size ({floor:.0%} of the rows) and "
            f"were stopped there (share now {share:.1%}). Raise weight_l2 or lower balance, or "
            "lower min_effective_share to allow it.",
            DegenerateWeightsWarning,
        )
    elif share < SMALL_SHARE:
        warn_user(
            f"the weights collapsed onto few rows: effective sample size {share:.1%} of the rows. "
            "Raise weight_l2 (lambda 3) or lower balance (lambda 1).",
            DegenerateWeightsWarning,
        )
    elif (
        hasattr(estimator, "weight_l2")
        and share > 1 - 1e-8
        and np.abs(report.before.to_numpy()).max() > 1e-6
    ):
        warn_user(
            "all weights are equal although the features are not balanced. Raise balance "
            "(lambda 1) or lower weight_l2 (lambda 3).",
            DegenerateWeightsWarning,
        )


def warn_about_erased_values(
    names: list[str],
    on: torch.Tensor,
    on_before: torch.Tensor,
    off: torch.Tensor,
    off_before: torch.Tensor,
) -> None:
    """A feature of which one value has hardly any weight left is not balanced but gone."""
    erased = []
    sides = zip(names, on, on_before, off, off_before, strict=True)
    for name, weight_on, all_on, weight_off, all_off in sides:
        for value, left, before in ((1, weight_on, all_on), (0, weight_off, all_off)):
            if float(left) < ERASED * float(before):
                erased.append(f"{name} = {value}")
    if erased:
        warn_user(
            f"the weights leave less than {ERASED:.0%} of their share to the rows with "
            f"{', '.join(erased)}: overlap is violated there, and nothing can be compared. Raise "
            "weight_l2 (lambda 3), or leave such features out (OverlapFilter).",
            DegenerateWeightsWarning,
        )


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's own code that led here."""
    warnings.warn(message, category, stacklevel=_levels_to_user())


def _levels_to_user() -> int:
    """Frames from the caller of ``warnings.warn`` up to the first one outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and "stablepred" in frame.f_globals.get("__name__", ""):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    return level
