"""The screening of variables as a transformer."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from stablepred._random import RandomState
from stablepred._validation import BoolArray, fit_atomically
from stablepred.evidence.base import Evidence
from stablepred.evidence.verdict import make_evidence
from stablepred.io.save import save_method, storable
from stablepred.models.screening import describe_variables, report_fit, screen


@storable
class StableFeatureSelector(SelectorMixin, BaseEstimator):
    """Keep the variables whose tie to the outcome can be relied on.

    This is the first half of :class:`StableClassifier` as a transformer. If the verdict is not
    conclusive, all variables are kept.

    Parameters
    ----------
    evidence, random_state, device, verbose
        As in :class:`StableClassifier`.

    Attributes
    ----------
    variables_ : DataFrame
        As in :class:`StableClassifier`.
    stable_features_ : ndarray of bool
    share_through_outcome_ : float
    converged_ : bool

    Examples
    --------
    >>> from stablepred import StableFeatureSelector
    >>> from stablepred.data import SyntheticWorld
    >>> world = SyntheticWorld("s_indep_v")
    >>> train = world.sample(2000, bias_rate=0.75, random_state=0)
    >>> selector = StableFeatureSelector(random_state=0).fit(train.X, train.y)
    >>> sorted(selector.get_feature_names_out()) == sorted(world.stable_features)
    True
    """

    stable_features_: BoolArray
    used_features_: BoolArray
    share_through_outcome_: float
    variables_: pd.DataFrame
    converged_: bool
    random_state_: int
    n_features_in_: int

    dichotomize = "mean"

    save = save_method

    def __init__(
        self,
        *,
        evidence: str | Sequence[str | Evidence] = "auto",
        random_state: RandomState = None,
        device: str = "auto",
        verbose: int = 0,
    ) -> None:
        self.evidence = evidence
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Judge the variables; parameters as in :meth:`StableClassifier.fit`."""

        def fit(selector: Self) -> None:
            screening = screen(selector, X, y, sample_weight)
            report_fit(selector, screening)
            verdict, stable = screening.verdict, selector.stable_features_
            selector.used_features_ = stable if verdict.is_conclusive else np.ones_like(stable)
            selector.variables_ = describe_variables(
                screening.sample, verdict, stable, selector.used_features_
            )

        return fit_atomically(self, fit)

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.used_features_

    def check_stored(self) -> None:
        """Refuse a stored selector with inconsistent parts."""
        make_evidence(self.evidence, seed=0)
        if hasattr(self, "variables_"):
            for mask in (self.stable_features_, self.used_features_):
                if mask.dtype != bool or mask.shape != (self.n_features_in_,):
                    raise ValueError("the verdicts do not fit the features")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)  # of the outcome: two classes
        return tags
