"""Global balancing alone: weights for any other method (paper, eq. 4)."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from stablepred._random import RandomState
from stablepred.core.minibatch import balance_batches
from stablepred.core.objective import Strengths
from stablepred.core.solvers import Settings, sequential
from stablepred.evaluation.diagnostics import BalanceReport, balance_report_from
from stablepred.exceptions import InputError
from stablepred.fitting import take_over_when_done
from stablepred.io.save import storable
from stablepred.models.base import (
    FloatArray,
    StableEstimator,
    one_of,
    warn_about_erased_values,
    warn_about_weights,
)
from stablepred.models.batches import BatchedTable, StartBatches
from stablepred.preprocessing import checked_sample_weight, validated
from stablepred.tables.counting import count_patterns


@storable
class GlobalBalancer(StableEstimator):
    """Row weights under which every feature is balanced against all others.

    Minimises L_Bal(w) + weight_l2 * sum_i c_i w_i^2 + weight_sum * (sum_i c_i w_i - 1)^2 over
    w >= 0 (paper, eq. 4 with the norms of eq. 5). The outcome is not used.

    Parameters
    ----------
    order : {1, 2}, default=1
        2 adds the products of all pairs of features as covariates and as treatments. Pairs that
        are constant in the data are skipped and named in a warning.
    weight_l2 : float, default=0.01
        Penalty on the variance of the weights (lambda 3; the paper's divided by n).
    weight_sum : float, default=1.0
        Penalty that holds their mean at one (lambda 6).
    min_effective_share : float, default=0.1
        Floor on the effective sample size, as a share of the rows.
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

    weights_: FloatArray
    balance_report_: BalanceReport

    def __init__(
        self,
        *,
        order: int = 1,
        weight_l2: float = 0.01,
        weight_sum: float = 1.0,
        min_effective_share: float = 0.1,
        random_state: RandomState = None,
        max_iter: int = 100,
        tol: float = 1e-3,
        device: str = "auto",
        verbose: int = 0,
        dichotomize: str | None = "mean",
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.order = order
        self.weight_l2 = weight_l2
        self.weight_sum = weight_sum
        self.min_effective_share = min_effective_share
        self.random_state = random_state
        self.max_iter = max_iter
        self.tol = tol
        self.device = device
        self.verbose = verbose
        self.dichotomize = dichotomize
        self.checkpoint = checkpoint

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the weights of the rows of ``X``; ``y`` is accepted and ignored."""
        return take_over_when_done(self, lambda attempt: attempt._fit(X, sample_weight))

    def fit_table(self, table: Any, *, features: Sequence[str] | None = None) -> Self:
        """Find the weights of the distinct rows of a table that need not fit in memory.

        As :meth:`GBRClassifier.fit_table`. ``weights_`` are those of the rows of
        ``stablepred.data.count_patterns(table, features=features)``, and ``row_count_`` says how
        many rows of the table each stands for.
        """
        return take_over_when_done(self, lambda attempt: attempt._fit_table(table, features))

    def _fit_table(self, table: Any, features: Sequence[str] | None) -> None:
        self._check_parameters()
        patterns = count_patterns(table, features=features, dichotomize=self.dichotomize)
        self._fit_validated(validated(self, patterns.X), patterns.count, counted=True)
        self._take_over_table(patterns)

    def _fit(self, X: ArrayLike, sample_weight: ArrayLike | None) -> None:
        x = validated(self, X, ensure_min_samples=3)
        self._check_parameters()
        self._fit_validated(x, checked_sample_weight(sample_weight, x))

    def _fit_validated(self, x: FloatArray, count: FloatArray, *, counted: bool = False) -> None:
        device = self._torch_device(x.size)
        table = self._table(x, np.zeros(len(x)), count, counted=counted)
        rows = self._rows(table, self._expansion(table, self.order), device)
        with (
            self._checkpoint(table, seed=0) as (checkpoint, _),
            self._progress() as on_iteration,
            self._resources(x.size),
        ):
            settings = replace(self._settings(on_iteration), checkpoint=checkpoint)
            solution = sequential(rows, [], settings)
        w = solution.w.cpu().numpy()
        self.weights_ = table.spread(w)
        self._keep_history(solution.history)
        self.balance_report_ = table.balance_report(w)
        self._warn_about(solution, rows, self.balance_report_, table)

    def fit_batches(self, batches: StartBatches) -> Self:
        """Find the weights of rows that do not fit in memory.

        The features are read batch by batch, several times; the weights, 8 bytes a row, are in
        memory. Sums over all rows are kept up to date while the weights of one batch after the
        other are improved, so that every visit lowers the objective of all rows. ``max_iter``
        and ``tol`` count passes over the batches. Equal rows of different batches can differ in
        their weights until the last digits have converged.

        Parameters
        ----------
        batches : callable
            Starts reading anew: returns an iterable over the features of each batch, the same
            rows in the same order every time. Batches should be alike: shuffle rows that are
            sorted before they are stored.

        Returns
        -------
        self
            ``weights_`` has the rows in the order they are read.

        Examples
        --------
        >>> import numpy as np
        >>> from stablepred import GlobalBalancer
        >>> rows = (np.random.default_rng(0).random((400, 3)) < 0.5).astype(float)
        >>> balancer = GlobalBalancer().fit_batches(lambda: np.split(rows, 4))
        >>> balancer.weights_.shape
        (400,)
        """
        return take_over_when_done(self, lambda attempt: attempt._fit_batches(batches))

    def _fit_batches(self, batches: StartBatches) -> None:
        self._check_parameters()
        for name, allowed in {"order": (1,), "dichotomize": ("mean", None)}.items():
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"fit_batches needs {name}={' or '.join(map(repr, allowed))}, "
                    f"not {getattr(self, name)!r}."
                )
        table = BatchedTable(self, batches)
        with self._progress() as on_iteration, self._resources(table.largest):
            solution = balance_batches(table, table.n_rows, self._settings(on_iteration))
        self.weights_ = (solution.w / solution.w.mean()).numpy()
        self._keep_history(solution.history)
        names = [table.names[j] for j in table.columns]
        before, after = table.before, solution.sums.raw
        share = solution.sums.effective_share
        self.balance_report_ = balance_report_from(before, after, names, table.n_rows, share)
        self._warn_about_convergence([] if solution.converged else ["weights"])
        warn_about_weights(self, solution, self.balance_report_)
        on, off = after.on / after.weight, after.off / after.weight
        warn_about_erased_values(names, on, before.on, off, before.off)

    def _settings(self, on_iteration: Any) -> Settings:
        return Settings(
            Strengths(balance=1.0, weight_l2=self.weight_l2, weight_sum=self.weight_sum),
            least_share=self.min_effective_share,
            max_iter=self.max_iter,
            tol=self.tol,
            on_iteration=on_iteration,
        )

    def _keep_history(self, history: dict[str, list[float]]) -> None:
        self.history_ = {name: np.array(values) for name, values in history.items()}
        self.n_iter_ = len(self.history_["total"])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of(self, "order", (1, 2))
