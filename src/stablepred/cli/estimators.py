"""The methods of the command line by name, as they come and with a grid to tune them over."""

from collections.abc import Callable
from typing import Any

from sklearn.linear_model import LogisticRegression

from stablepred.cli.options import Method
from stablepred.models.dgbr import DGBRClassifier
from stablepred.models.dlr import DLRClassifier
from stablepred.models.gbr import GBRClassifier
from stablepred.search import StableSearchCV

METHODS: dict[Method, Callable[[int], Any]] = {
    "lr": lambda seed: LogisticRegression(),
    "dlr": lambda seed: DLRClassifier(random_state=seed),
    "gbr": lambda seed: GBRClassifier(random_state=seed),
    "dgbr": lambda seed: DGBRClassifier(random_state=seed),
    "dgbr-paper": lambda seed: DGBRClassifier.from_paper(random_state=seed),
}
# What the estimators do not choose themselves, around their defaults.
GRIDS: dict[Method, dict[str, list[float]]] = {
    "lr": {"C": [0.01, 0.1, 1.0]},
    "dlr": {"network_l2": [3e-5, 3e-4, 3e-3]},
    "gbr": {"weight_l2": [0.003, 0.01, 0.1]},
    "dgbr": {"weight_l2": [0.003, 0.01, 0.1]},
    "dgbr-paper": {"balance": [0.1, 1.0, 10.0]},
}


def make_estimator(method: Method, seed: int, *, tune: bool) -> Any:
    """The estimator, or a search over its grid."""
    estimator = METHODS[method](seed)
    if not tune:
        return estimator
    return StableSearchCV(estimator, GRIDS[method], cv=3, random_state=seed)
