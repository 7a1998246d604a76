"""Every method by name: this library's, those of the field, and what they are compared with."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LassoCV, LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

import stablepred as sp
from stablepred import baselines
from stablepred.exceptions import InputError
from stablepred.tables.encoder import TableEncoder
from stablepred.tables.messages import nearest

Make = Callable[[int], Any]  # seed -> unfitted estimator


def lr_cv(seed: int) -> GridSearchCV:
    """LR with its penalty chosen by the log-loss on held-out rows."""
    return GridSearchCV(
        LogisticRegression(max_iter=1000),
        {"C": [10.0**k for k in range(-4, 5)]},
        scoring="neg_log_loss",
        cv=StratifiedKFold(5, shuffle=True, random_state=seed),
        error_score="raise",
    )


def _weigh(balancer: Any, *, numeric: bool) -> Any:
    if numeric:
        return sp.BalancedRegressor(LinearRegression(), balancer)
    return sp.BalancedClassifier(LogisticRegression(max_iter=1000), balancer)


CLASSIFIERS: dict[str, Make] = {
    "constant": lambda seed: DummyClassifier(strategy="prior"),
    "lr": lambda seed: LogisticRegression(max_iter=1000),
    "lr_cv": lr_cv,
    "lr_unpenalised": lambda seed: LogisticRegression(C=np.inf, tol=1e-8, max_iter=10_000),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "stable": lambda seed: sp.StableClassifier(random_state=seed),
    "gbr": lambda seed: sp.GBRClassifier(random_state=seed),
    "dgbr": lambda seed: sp.DGBRClassifier(random_state=seed),
    "dlr": lambda seed: sp.DLRClassifier(random_state=seed),
    "gbr_paper": lambda seed: sp.GBRClassifier.from_paper(random_state=seed),
    "dgbr_paper": lambda seed: sp.DGBRClassifier.from_paper(random_state=seed),
    "dwr": lambda seed: _weigh(baselines.DWRBalancer(), numeric=False),
    "srdo": lambda seed: _weigh(baselines.SRDOBalancer(random_state=seed), numeric=False),
    "dro_chi2": lambda seed: baselines.DROClassifier("chi2"),
    "dro_cvar": lambda seed: baselines.DROClassifier("cvar"),
    "dro_kl": lambda seed: baselines.DROClassifier("kl"),
    "group_dro": lambda seed: baselines.GroupDROClassifier(),
}
REGRESSORS: dict[str, Make] = {
    "constant": lambda seed: DummyRegressor(),
    "ols": lambda seed: LinearRegression(),
    "lasso": lambda seed: LassoCV(cv=5, random_state=seed),
    "boosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    "stable": lambda seed: sp.StableRegressor(random_state=seed),
    "gbr": lambda seed: _weigh(sp.GlobalBalancer(random_state=seed), numeric=True),
    "dwr": lambda seed: _weigh(baselines.DWRBalancer(), numeric=True),
    "srdo": lambda seed: _weigh(baselines.SRDOBalancer(random_state=seed), numeric=True),
    "dro_chi2": lambda seed: baselines.DRORegressor("chi2"),
    "dro_cvar": lambda seed: baselines.DRORegressor("cvar"),
    "dro_kl": lambda seed: baselines.DRORegressor("kl"),
    "anchor": lambda seed: baselines.AnchorRegressor(),
}
# What a method for two classes is called where the outcome is a number.
ALIASES = {"lr": "ols", "lr_unpenalised": "ols", "lr_cv": "lasso"}
SEVERAL = ("group_dro", "anchor")  # of use with several training environments only


def registered(*, numeric: bool) -> dict[str, Make]:
    return REGRESSORS if numeric else CLASSIFIERS


def find_method(name: str, *, numeric: bool) -> str:
    """The name of a method for this kind of outcome; InputError with the nearest ones if none."""
    known, kinds = registered(numeric=numeric), ("two classes", "a number")
    name = ALIASES.get(name, name) if numeric else name
    if name in known:
        return name
    if name in registered(numeric=not numeric):
        raise InputError(
            f"method {name!r} is for {kinds[not numeric]}, but the outcome is {kinds[numeric]}. "
            f"Choose among {', '.join(known)}."
        )
    near = nearest(name, known)
    raise InputError(f"there is no method {name!r}. {near}The methods are {', '.join(known)}.")


def make_method(name: str, seed: int, *, numeric: bool) -> Any:
    """A registered method for tables as they come, encoded as numbers where it needs that."""
    estimator = registered(numeric=numeric)[name](seed)
    takes_tables = getattr(estimator, "takes_tables", False)
    return estimator if takes_tables else make_pipeline(TableEncoder(tails="keep"), estimator)


def default_methods(*, numeric: bool, several: bool) -> list[str]:
    """All methods that the data allow."""
    return [name for name in registered(numeric=numeric) if several or name not in SEVERAL]
