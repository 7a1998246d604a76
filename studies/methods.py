"""All methods of the studies: names, constructors, parameters and revisions."""

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from stablepred.exceptions import StablepredWarning
from stablepred.models.balanced import BalancedClassifier
from stablepred.models.balancer import GlobalBalancer
from stablepred.models.dgbr import DGBRClassifier, DLRClassifier
from stablepred.models.gbr import GBRClassifier
from stablepred.models.stable import StableClassifier
from stablepred.worlds.environment import Environment

Settings = dict[str, Any]

LR, DLR, GBR, DGBR = "LR", "DLR", "GBR", "DGBR"
OURS, OURS_CLASS = "Stable", StableClassifier.__name__  # what the library recommends
LR_ZERO = "LR (no intercept)"
# To the letter of the paper, whose models have no intercept, and the same with one.
GBR_PAPER, PAPER = "GBR (paper)", "DGBR (paper)"
GBR_PAPER_ONE, PAPER_ONE = "GBR (paper, intercept)", "DGBR (paper, intercept)"
BOOSTING, BALANCED_BOOSTING = "boosting", "boosting + weights"
# References: the oracles know the true causes, the floor the true P(y | x).
CONSTANT, ORACLE, FLOOR = "constant", "oracle", "floor"
ORACLE_CHOSEN, ORACLE_NETWORK = "oracle (chosen penalty)", "oracle (network)"
REFERENCES = (CONSTANT, ORACLE, ORACLE_CHOSEN, ORACLE_NETWORK, FLOOR)
CHOSEN_LR = "LR (chosen penalty)"

BASELINES = (LR, DLR, GBR)
FOUR = (*BASELINES, DGBR)
COMPARED = (
    *(LR, LR_ZERO, CHOSEN_LR, DLR, GBR, DGBR, OURS),
    *(GBR_PAPER, PAPER, GBR_PAPER_ONE, PAPER_ONE),
)
ENCODERS = (DLR, DGBR, PAPER)  # the methods with an embedding


@dataclass(frozen=True)
class Method:
    """How a method is made, and the revision of its records.

    Attributes
    ----------
    make : callable
        Parameters -> unfitted estimator.
    revision : int
        Raised when a change of the code changes what the method gives, so that its old records
        are not mixed in. A changed default needs no new revision: settings are part of a record.
    """

    make: Callable[..., Any]
    revision: int = 1

    def __call__(self, seed: int, **changes: Any) -> Any:
        """The unfitted estimator."""
        return self.make(random_state=seed, **changes)

    def restore(self, seed: int, settings: Settings) -> Any:
        """The unfitted estimator that `settings` describes."""
        own = self.settings()
        changed = {name: value for name, value in settings.items() if own.get(name) != value}
        return self.make(random_state=seed).set_params(**changed)

    def settings(self, **changes: Any) -> Settings:
        """All parameters that decide the result, but the seed, as plain values."""
        params = self.make(**changes).get_params()
        plain: Settings = json.loads(json.dumps(params, default=lambda v: type(v).__name__))
        ignored = ("random_state", "checkpoint")
        return {name: value for name, value in plain.items() if not name.endswith(ignored)}


def _balanced_boosting(random_state: int | None = None) -> BalancedClassifier:
    boosting = HistGradientBoostingClassifier(random_state=random_state)
    return BalancedClassifier(boosting, GlobalBalancer(random_state=random_state))


def _chosen_lr(random_state: int | None = None) -> GridSearchCV:
    """LR with its penalty chosen by the log-loss on held-out rows."""
    return GridSearchCV(
        LogisticRegression(max_iter=1000),
        {"C": [10.0**k for k in range(-4, 5)]},
        scoring="neg_log_loss",
        cv=StratifiedKFold(5, shuffle=True, random_state=random_state),
        error_score="raise",
    )


METHODS: dict[str, Method] = {
    LR: Method(LogisticRegression),
    LR_ZERO: Method(partial(LogisticRegression, fit_intercept=False)),
    DLR: Method(DLRClassifier, revision=2),
    GBR: Method(GBRClassifier, revision=4),
    DGBR: Method(DGBRClassifier, revision=6),
    OURS: Method(StableClassifier, revision=4),
    CHOSEN_LR: Method(_chosen_lr),
    GBR_PAPER: Method(GBRClassifier.from_paper),
    PAPER: Method(DGBRClassifier.from_paper, revision=2),
    GBR_PAPER_ONE: Method(partial(GBRClassifier.from_paper, fit_intercept=True)),
    PAPER_ONE: Method(partial(DGBRClassifier.from_paper, fit_intercept=True)),
    BOOSTING: Method(HistGradientBoostingClassifier),
    BALANCED_BOOSTING: Method(_balanced_boosting, revision=2),
}
# The grid of the methods to the letter.
_LETTER: dict[str, list[Any]] = {"balance": [3.0, 10.0], "weight_l2": [1.0, 3.0]}
# Four candidates each, the defaults among them, of every method that does not tune itself.
GRIDS: dict[str, dict[str, list[Any]]] = {
    LR: {"C": [0.01, 0.1, 1.0, 10.0]},
    LR_ZERO: {"C": [0.01, 0.1, 1.0, 10.0]},
    DLR: {"network_l2": [1e-4, 3e-4, 1e-3, 3e-3]},
    **dict.fromkeys((GBR_PAPER, PAPER, GBR_PAPER_ONE, PAPER_ONE), _LETTER),
}
# The strengths of L_mix that figure 12 varies: symbol, parameter of PAPER, values.
STRENGTHS: dict[str, tuple[str, tuple[float, ...]]] = {
    "λ1": ("balance", (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)),
    "λ2": ("reconstruction", (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0)),
    "λ3": ("weight_l2", (0.0001, 0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)),
}


@dataclass(frozen=True)
class Fitted:
    """A fitted model, how long it took and what it warned of."""

    model: Any
    seconds: float
    warnings: list[str]

    @property
    def effective_share(self) -> float | None:
        """Effective share of the rows under the weights; None for a method without weights."""
        report = getattr(self.model, "balance_report_", None)
        return None if report is None else float(report.effective_share)

    @property
    def stable_features(self) -> list[str] | None:
        """The features that the method found stable; None where it does not say."""
        mask = getattr(self.model, "stable_features_", None)
        return None if mask is None else self.model.feature_names_in_[mask].tolist()


def fit(make: Callable[[], Any], train: Any, **options: Any) -> Fitted:
    """Make a model and fit it if it is not fitted yet, with its time and warnings.

    ``train`` is an environment, or anything else with ``X`` and ``y``; ``options`` are for ``fit``.
    """
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = make()
        if hasattr(model, "fit"):  # references come fitted
            model.fit(train.X, train.y, **options)
    return Fitted(model, time.perf_counter() - started, [str(w.message) for w in caught])


def balance_rows(train: Environment, seed: int, *, embedded: bool) -> Any:
    """Weights of the training rows that balance the features, or the embedding of one encoder."""
    plain: Settings = {"l1": 0.0, "refit": False, "random_state": seed}
    model = DGBRClassifier(**plain) if embedded else GBRClassifier(**plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StablepredWarning)
        return model.fit(train.X, train.y).sample_weight_
