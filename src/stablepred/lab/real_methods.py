"""The methods of the real-data studies: the paper's, boosting with and without weights."""

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from stablepred.evaluation.references import ConstantPredictor, Oracle
from stablepred.lab.methods import METHODS as PAPER_METHODS
from stablepred.models.balanced import BalancedClassifier
from stablepred.models.balancer import GlobalBalancer
from stablepred.worlds.environment import Environment

PAPER = ("LR", "DLR", "GBR", "DGBR", "DGBR (paper)")
BOOSTING, BALANCED_BOOSTING = "boosting", "boosting + weights"
CONSTANT, ORACLE = "constant", "oracle"
METHODS = (*PAPER, BOOSTING, BALANCED_BOOSTING, CONSTANT)

# Raised when a change of the code changes what a method gives, so that old records are not mixed
# in. A changed default needs no new revision: the settings are part of a record's definition.
REVISIONS = dict.fromkeys((*METHODS, ORACLE), 1) | {
    "DLR": 2,
    "GBR": 2,
    "DGBR": 3,
    "DGBR (paper)": 2,
    BALANCED_BOOSTING: 2,
}


def _boosting(seed: int) -> Any:
    return HistGradientBoostingClassifier(random_state=seed)


def _balanced_boosting(seed: int) -> Any:
    return BalancedClassifier(_boosting(seed), GlobalBalancer(random_state=seed))


_MAKERS: dict[str, Callable[[int], Any]] = {
    **{name: PAPER_METHODS[name] for name in PAPER},
    BOOSTING: _boosting,
    BALANCED_BOOSTING: _balanced_boosting,
}


def settings(name: str) -> dict[str, Any]:
    """All parameters of a method that decide its result, but its seed, as plain values."""
    if name not in _MAKERS:
        return {}
    parameters = _MAKERS[name](0).get_params()
    plain: dict[str, Any] = json.loads(json.dumps(parameters, default=lambda v: type(v).__name__))
    others = ("random_state", "checkpoint")
    return {key: value for key, value in plain.items() if not key.endswith(others)}


@dataclass(frozen=True)
class Fitted:
    """A fitted method, how long it took and what it warned of."""

    model: Any
    seconds: float
    warnings: list[str]

    @property
    def effective_share(self) -> float | None:
        """Effective share of the rows under the weights; None for a method without weights."""
        report = getattr(self.model, "balance_report_", None)
        return None if report is None else float(report.effective_share)

    @property
    def stable(self) -> list[str] | None:
        """The features that the method found stable; None where it does not say."""
        mask = getattr(self.model, "stable_features_", None)
        return None if mask is None else self.model.feature_names_in_[mask].tolist()


def fit(name: str, train: Environment, noisy: list[str], seed: int) -> Fitted:
    """Fit a method or a reference; the oracle alone is told which features are noisy."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Threads of boosting that wait for a busy core cost more than they bring.
        with threadpool_limits(1, user_api="openmp"):
            model = _fitted(name, train, noisy, seed)
    return Fitted(model, time.perf_counter() - started, [str(w.message) for w in caught])


def _fitted(name: str, train: Environment, noisy: list[str], seed: int) -> Any:
    if name == CONSTANT:
        return ConstantPredictor(train)
    if name == ORACLE:
        return Oracle(train, [str(column) for column in train.X if column not in noisy])
    return _MAKERS[name](seed).fit(train.X, train.y)
