"""The screening of variables as a transformer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from stablepred._random import RandomState
from stablepred._validation import BoolArray, atomic
from stablepred.evidence.base import Evidence
from stablepred.heads.guard import Decision
from stablepred.io.save import save_method, storable
from stablepred.models import screening
from stablepred.models.stored import check_selection
from stablepred.tables.encoder import TableEncoder


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class StableFeatureSelector(SelectorMixin, BaseEstimator):
    """Leave out the variables whose tie to the outcome cannot be relied on.

    This is the first half of :class:`StableClassifier` and :class:`StableRegressor` as a
    transformer: it keeps the columns that they would use without an ``estimator``, unchanged.

    Parameters
    ----------
    evidence, guard, cv, random_state, device, verbose
        As in :class:`StableClassifier`.

    Attributes
    ----------
    variables_, decision_, stable_features_, used_features_, encoder_
        As in :class:`StableClassifier`.

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

    save = save_method

    evidence: str | Sequence[str | Evidence] = "auto"
    guard: bool = True
    cv: Any = 3
    random_state: RandomState = None
    device: str = "auto"
    verbose: int = 0
    variables_: pd.DataFrame = field(init=False)
    decision_: Decision = field(init=False)
    stable_features_: BoolArray = field(init=False)
    used_features_: BoolArray = field(init=False)
    encoder_: TableEncoder = field(init=False)
    random_state_: int = field(init=False)
    n_features_in_: int = field(init=False)

    @atomic
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        environment: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Judge the variables; parameters as in :meth:`StableClassifier.fit`.

        Strings, booleans and integers with few distinct values are classes; all else is a number.
        """
        screening.check_screening_parameters(self)
        rows = screening.read_rows(self, X, y, sample_weight, environment, groups)
        labels = rows.labels
        is_number = labels.dtype.kind in "iuf" and (
            type_of_target(labels).startswith("continuous") or len(np.unique(labels)) > MOST_CODES
        )
        target = screening.read_number(rows) if is_number else screening.read_classes(rows)[1]
        screening.screen(self, rows, target)
        return self

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.used_features_

    def check_stored(self) -> None:
        """Raise ValueError unless the selector is sound."""
        screening.check_screening_parameters(self)
        if hasattr(self, "variables_"):
            check_selection(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


MOST_CODES = 20  # integers with more different values than this are a number
