"""What a fitted model tells about itself, and how well its weights balance."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray

from stablepred.core.sharding import LOCAL, Local
from stablepred.html.fragments import Report
from stablepred.io.save import storable
from stablepred.io.values import check_numbers
from stablepred.weights.raw import imbalance

FloatArray = NDArray[np.float64]


class WorstPair(NamedTuple):
    treatment: str
    covariate: str
    imbalance: float


@storable
@dataclass(frozen=True, repr=False)
class BalanceReport(Report):
    """Imbalance of every feature as treatment, before and after weighting.

    ``before`` and ``after`` are p x p: in row j and column k the slope of feature k on feature j,
    under the sample weights alone (before) and under sample weights times balancing weights
    (after). If feature j is 0/1, that is the mean of feature k among rows with feature j = 1 minus
    its mean among rows with feature j = 0. Numbers are in standard deviations. Of a variable with
    several columns the largest slope is given. The diagonal is zero.

    Attributes
    ----------
    before, after : DataFrame of shape (p, p)
    n_rows : int
        Rows with a positive sample weight.
    effective_share : float
        (sum c w)^2 / sum c w^2 with normalised sample weights c: 1 when all weights are equal.
    """

    before: pd.DataFrame
    after: pd.DataFrame
    n_rows: int
    effective_share: float

    @property
    def effective_sample_size(self) -> float:
        """Rows times effective share: how many equally weighted rows are as precise."""
        return self.n_rows * self.effective_share

    @property
    def worst_before(self) -> WorstPair:
        return _find_worst(self.before)

    @property
    def worst_after(self) -> WorstPair:
        return _find_worst(self.after)

    def between(self, variables: Mapping[str, Any]) -> Self:
        """The report without the pairs of features of one variable, which none can balance."""
        owners = [variables[name] for name in self.before.index]
        same = np.equal.outer(owners, owners)
        return replace(self, before=self.before.mask(same, 0.0), after=self.after.mask(same, 0.0))

    def to_frame(self) -> pd.DataFrame:
        """Per treatment: largest and root-mean-square imbalance, before and after."""
        frame = pd.DataFrame(index=self.before.index.rename("treatment"))
        for label, pairs in (("before", self.before), ("after", self.after)):
            frame[f"largest_{label}"] = pairs.abs().max(axis=1)
            frame[f"rms_{label}"] = np.sqrt((pairs**2).sum(axis=1) / max(len(pairs) - 1, 1))
        return frame

    def check_stored(self) -> None:
        names = list(self.before.index)
        axes = [list(axis) for pairs in (self.before, self.after) for axis in pairs.axes]
        if not names or len(set(names)) < len(names) or any(axis != names for axis in axes):
            raise ValueError("the balance report must have the same names on all sides")
        for pairs in (self.before, self.after):
            shape = (len(names), len(names))  # squares of larger slopes are no doubles
            check_numbers(pairs.to_numpy(), "the balance report", shape, -1e100, 1e100)
        if self.n_rows < 1 or not 0 < self.effective_share <= 1 + 1e-9:
            raise ValueError("the balance report has no sensible number of rows")

    @property
    def verdict(self) -> str:
        """The worst pair, and what the weights cost."""
        worst, before = self.worst_after, abs(self.worst_before.imbalance)
        return (
            f"worst pair after weighting: {worst.treatment} on {worst.covariate}, "
            f"{worst.imbalance:+.4f} (before: {before:.4f} at most)\n"
            f"effective sample size {self.effective_sample_size:.0f} of {self.n_rows} rows "
            f"({self.effective_share:.0%}), design effect {1 / self.effective_share:.2f}"
        )

    def __str__(self) -> str:
        return (
            "Imbalance by treatment (difference of means of the other features, as shares)\n"
            f"{self.to_frame().round(4).to_string()}\n{self.verdict}"
        )


def _find_worst(pairs: pd.DataFrame) -> WorstPair:
    gaps = pairs.to_numpy()
    row, column = divmod(int(np.argmax(np.abs(gaps))), len(gaps))
    return WorstPair(str(pairs.index[row]), str(pairs.columns[column]), float(gaps[row, column]))


def effective_share(w: ArrayLike, count: ArrayLike) -> float:
    """(sum c w)^2 / (sum c  sum c w^2) over rows of positive weight, each of which stands for c."""
    w, c = np.asarray(w, dtype=np.float64), np.asarray(count, dtype=np.float64)
    return float((c @ w) ** 2 / (c[w > 0].sum() * (c @ w**2)))


def balance_report(
    x: Any, mass: Any, w: Any, names: list[str], n_rows: int, shards: Local = LOCAL
) -> BalanceReport:
    """The report for features ``x``, row shares ``mass`` and balancing weights ``w``.

    All three are arrays, or tensors on any device.
    Columns of the same name belong to one variable; the sums over rows are those of all processes.
    """
    variables = list(dict.fromkeys(names))
    owner = np.array([variables.index(name) for name in names])

    def pairs(v: Any) -> pd.DataFrame:
        slopes = imbalance(torch.as_tensor(x), torch.as_tensor(v), shards=shards).cpu().numpy()
        worst = np.zeros((len(variables), len(variables)))
        for j, k in np.argwhere(owner[:, None] != owner).tolist():
            cell = owner[j], owner[k]
            worst[cell] = max(worst[cell], slopes[j, k], key=abs)
        return pd.DataFrame(worst, index=variables, columns=variables)

    first, second = shards.totals(mass @ w, mass @ w**2)
    return BalanceReport(pairs(mass), pairs(mass * w), n_rows, float(first**2 / second))


# --- any fitted model ---


@dataclass(frozen=True)
class ModelFacts:
    """Name and fitted attributes of a model; None where it lacks them."""

    name: str  # the class of the innermost model
    balance: BalanceReport | None
    effective_share: float | None  # effective sample size over rows, where there are weights
    effects: pd.DataFrame | None  # feature, effect, low, high, verdict, evidence; used if known
    decision: Any  # which variables to use, and why


def model_facts(model: Any) -> ModelFacts:
    """Look into a fitted model, through pipelines and searches."""
    inner = model
    while True:
        if hasattr(inner, "best_estimator_"):
            inner = inner.best_estimator_
        elif isinstance(getattr(inner, "steps", None), list) and inner.steps:
            inner = inner.steps[-1][1]
        elif hasattr(inner, "encoder") and hasattr(inner, "estimator"):
            inner = inner.estimator  # of a model of raw rows
        else:
            break
    name = getattr(inner, "__name__", type(inner).__name__)
    name = "function" if name == "<lambda>" else str(name)
    report = getattr(inner, "balance_report_", None)
    balance = report if isinstance(report, BalanceReport) else None
    share = balance.effective_share if balance else None
    w = np.asarray(getattr(inner, "sample_weight_", ()), dtype=np.float64)
    if share is None and w.any():
        share = effective_share(w, getattr(inner, "row_count_", np.ones(len(w))))
    return ModelFacts(
        name="predictions" if isinstance(inner, Mapping) else name,
        balance=balance,
        effective_share=share,
        effects=_effects(inner),
        decision=getattr(inner, "decision_", None),
    )


def _effects(model: Any) -> pd.DataFrame | None:
    effects = getattr(model, "variables_", getattr(model, "feature_effects_", None))
    if not isinstance(effects, pd.DataFrame):
        return None
    effects = effects.reset_index(drop=True).rename(columns={"variable": "feature"})
    if "stable" in effects:
        stable, used = effects.pop("stable").astype(bool), getattr(model, "used_features_", None)
        effects.insert(1, "verdict", np.where(stable, "stable", "noisy"))
        if used is not None:
            effects["used"] = used
    needed = {"feature", "effect", "low", "high", "verdict"}
    return effects if set(effects.columns) >= needed else None
