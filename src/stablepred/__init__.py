"""Stable prediction across unknown environments.

Deep Global Balancing Regression (Kuang, Xiong, Cui, Athey and Li, KDD 2018) and its relatives,
behind scikit-learn's interface.
"""

from stablepred._version import __version__
from stablepred.data.features import Dichotomizer, OverlapFilter
from stablepred.estimators.balancer import GlobalBalancer
from stablepred.estimators.deep import DGBRClassifier, DLRClassifier
from stablepred.estimators.gbr import GBRClassifier
from stablepred.estimators.meta import BalancedClassifier, BalancedRegressor
from stablepred.evaluation.metrics import (
    average_error,
    environment_errors,
    error_interval,
    stability_error,
    worst_error,
)
from stablepred.evaluation.reports import stability_report, stress_test
from stablepred.persistence import load

__all__ = [
    "BalancedClassifier",
    "BalancedRegressor",
    "DGBRClassifier",
    "DLRClassifier",
    "Dichotomizer",
    "GBRClassifier",
    "GlobalBalancer",
    "OverlapFilter",
    "__version__",
    "average_error",
    "environment_errors",
    "error_interval",
    "load",
    "stability_error",
    "stability_report",
    "stress_test",
    "worst_error",
]
