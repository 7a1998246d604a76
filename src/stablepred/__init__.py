"""Stable prediction across unknown environments.

Deep Global Balancing Regression (Kuang, Xiong, Cui, Athey and Li, KDD 2018) and its relatives,
behind scikit-learn's interface.
"""

from stablepred._version import __version__
from stablepred.evaluation.metrics import (
    average_error,
    environment_errors,
    error_interval,
    stability_error,
    worst_error,
)
from stablepred.evaluation.reports import stability_report, stress_test
from stablepred.io.save import load
from stablepred.models.balanced import BalancedClassifier, BalancedRegressor
from stablepred.models.balancer import GlobalBalancer
from stablepred.models.dgbr import DGBRClassifier, DLRClassifier
from stablepred.models.gbr import GBRClassifier
from stablepred.preprocessing import Dichotomizer, OverlapFilter

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
