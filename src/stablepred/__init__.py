"""Stable prediction across unknown environments.

Deep Global Balancing Regression (Kuang, Xiong, Cui, Athey and Li, KDD 2018) and its relatives,
behind scikit-learn's interface.
"""

import typing as _typing

from stablepred._extras import attach as _attach

if _typing.TYPE_CHECKING:
    from stablepred import baselines as baselines
    from stablepred import data as data
    from stablepred import exceptions as exceptions
    from stablepred import plotting as plotting
    from stablepred import search as search
    from stablepred import theory as theory
    from stablepred._version import __version__ as __version__
    from stablepred.core.frozen import FrozenWeights as FrozenWeights
    from stablepred.evaluation.compare import compare as compare
    from stablepred.evaluation.drop import explain_drop as explain_drop
    from stablepred.evaluation.metrics import average_error as average_error
    from stablepred.evaluation.metrics import environment_errors as environment_errors
    from stablepred.evaluation.metrics import error_interval as error_interval
    from stablepred.evaluation.metrics import stability_error as stability_error
    from stablepred.evaluation.metrics import worst_error as worst_error
    from stablepred.evaluation.price import stability_price as stability_price
    from stablepred.evaluation.reports import stability_report as stability_report
    from stablepred.evaluation.stress import stress_test as stress_test
    from stablepred.io.save import load as load
    from stablepred.models.balanced import BalancedClassifier as BalancedClassifier
    from stablepred.models.balanced import BalancedRegressor as BalancedRegressor
    from stablepred.models.balancer import GlobalBalancer as GlobalBalancer
    from stablepred.models.dgbr import DGBRClassifier as DGBRClassifier
    from stablepred.models.dgbr import DLRClassifier as DLRClassifier
    from stablepred.models.gbr import GBRClassifier as GBRClassifier
    from stablepred.models.stable import StableClassifier as StableClassifier
    from stablepred.models.stable import StableFeatureSelector as StableFeatureSelector
    from stablepred.models.stable import StableRegressor as StableRegressor
    from stablepred.preprocessing import Dichotomizer as Dichotomizer
    from stablepred.preprocessing import OverlapFilter as OverlapFilter
    from stablepred.tables.encoder import TableEncoder as TableEncoder

__getattr__, __dir__, __all__ = _attach(__name__)
