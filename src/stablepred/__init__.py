"""Stable prediction across unknown environments.

Deep Global Balancing Regression (Kuang, Xiong, Cui, Athey and Li, KDD 2018) and its relatives,
behind scikit-learn's interface.
"""

import typing as _typing

from stablepred._lazy import attach as _attach
from stablepred._version import __version__

if _typing.TYPE_CHECKING:
    from stablepred import baselines, data, exceptions, plotting, search, theory  # noqa: F401
    from stablepred.core.frozen import FrozenWeights
    from stablepred.evaluation.compare import compare
    from stablepred.evaluation.drop import explain_drop
    from stablepred.evaluation.metrics import (
        average_error,
        environment_errors,
        error_interval,
        stability_error,
        worst_error,
    )
    from stablepred.evaluation.price import stability_price
    from stablepred.evaluation.reports import stability_report, stress_test
    from stablepred.io.save import load
    from stablepred.models.balanced import BalancedClassifier, BalancedRegressor
    from stablepred.models.balancer import GlobalBalancer
    from stablepred.models.dgbr import DGBRClassifier
    from stablepred.models.dlr import DLRClassifier
    from stablepred.models.gbr import GBRClassifier
    from stablepred.models.selector import StableFeatureSelector
    from stablepred.models.stable import StableClassifier, StableRegressor
    from stablepred.preprocessing import Dichotomizer, OverlapFilter
    from stablepred.tables.encoder import TableEncoder

__all__ = [
    "BalancedClassifier",
    "BalancedRegressor",
    "DGBRClassifier",
    "DLRClassifier",
    "Dichotomizer",
    "FrozenWeights",
    "GBRClassifier",
    "GlobalBalancer",
    "OverlapFilter",
    "StableClassifier",
    "StableFeatureSelector",
    "StableRegressor",
    "TableEncoder",
    "__version__",
    "average_error",
    "compare",
    "environment_errors",
    "error_interval",
    "explain_drop",
    "load",
    "stability_error",
    "stability_price",
    "stability_report",
    "stress_test",
    "worst_error",
]

__getattr__, __dir__ = _attach(__name__)
