"""Global balancing alone: weights for any other method (paper, eq. 4)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from stablepred._parameters import check_parameters
from stablepred._random import RandomState
from stablepred._validation import FloatArray, atomic, check_sample_weight, validate
from stablepred.core.resources import threads_for
from stablepred.core.sequential import learn_weights, start_solution
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.io.save import save_method, storable
from stablepred.models.checkpoints import follow_fit
from stablepred.models.entry import (
    check_parts,
    make_settings,
    prepare_sample,
    report_balance,
    take_patterns,
    warn_about_fit,
)
from stablepred.models.standardizer import Standardizer
from stablepred.preprocessing import Dichotomizer
from stablepred.tables.engines import count_patterns
from stablepred.weights.raw import RawBalance


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class GlobalBalancer(BaseEstimator):
    """Row weights under which every feature is balanced against all others.

    Minimises L_Bal(w) + weight_l2 * sum_i c_i w_i^2 + weight_sum * (sum_i c_i w_i - 1)^2 over
    w >= 0 (paper, eq. 4 with the norms of eq. 5). The outcome is not used.

    Parameters
    ----------
    order, weight_l2, weight_sum, min_effective_share
        As in :class:`GBRClassifier`.
    random_state, max_iter, tol, device, verbose, dichotomize, checkpoint
        As in :class:`GBRClassifier`; the result does not depend on ``random_state``.

    Attributes
    ----------
    weights_ : ndarray of shape (n_samples,)
        Mean one under the sample weights.
    balance_report_ : BalanceReport
        Imbalance before and after; prints as a table.
    n_iter_, converged_, history_ : as in :class:`GBRClassifier`.

    Examples
    --------
    >>> from stablepred import GlobalBalancer
    >>> X = [[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1]]
    >>> balancer = GlobalBalancer().fit(X)
    >>> abs(balancer.balance_report_.worst_after.imbalance) < 0.01
    True
    """

    not_stored = ("checkpoint",)
    save = save_method
    check_stored = check_parts

    order: int = 1
    weight_l2: float = 0.01
    weight_sum: float = 1.0
    min_effective_share: float = 0.1
    random_state: RandomState = None
    max_iter: int = 100
    tol: float = 1e-3
    device: str = "auto"
    verbose: int = 0
    dichotomize: str | None = None
    checkpoint: str | os.PathLike[str] | None = None
    weights_: FloatArray = field(init=False)
    balance_report_: BalanceReport = field(init=False)
    converged_: bool = field(init=False)
    n_iter_: int = field(init=False)
    history_: dict[str, FloatArray] = field(init=False)
    dichotomizer_: Dichotomizer = field(init=False)
    standardizer_: Standardizer = field(init=False)
    row_count_: FloatArray = field(init=False)

    @atomic
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the weights of the rows of ``X``; ``y`` is accepted and ignored."""
        x = validate(self, X, ensure_min_samples=3)
        check_parameters(self)
        self._fit_rows(x, check_sample_weight(sample_weight, x), counted=False)
        return self

    @atomic
    def fit_table(self, table: Any, *, features: Sequence[str] | None = None) -> Self:
        """Find the weights of the distinct rows of a table, as by :meth:`GBRClassifier.fit_table`.

        ``weights_`` has one value for each row of
        ``stablepred.data.count_patterns(table, features=features)``.
        """
        check_parameters(self)
        patterns = count_patterns(table, features=features, dichotomize=self.dichotomize)
        self._fit_rows(validate(self, patterns.X), patterns.count, counted=True)
        take_patterns(self, patterns)
        return self

    def _fit_rows(self, x: FloatArray, weight: FloatArray, *, counted: bool) -> None:
        with threads_for(x.size):
            sample = prepare_sample(self, x, np.zeros(len(x)), weight, counted=counted)
            solution = start_solution(sample)
            with follow_fit(self, sample, make_settings(self, balance=1.0), 0) as (settings, _):
                learn_weights(sample, RawBalance(), None, settings, solution)
            self.weights_ = sample.to_user_rows(solution.w)
            self.history_ = {name: np.array(values) for name, values in solution.history.items()}
            self.n_iter_ = len(self.history_["total"])
            self.balance_report_ = report_balance(sample, solution.w)
            warn_about_fit(self, sample, solution)
