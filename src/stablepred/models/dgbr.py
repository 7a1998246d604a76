"""Deep Logistic Regression and Deep Global Balancing Regression (paper, eqs. 7 and 15-19)."""

import os
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from stablepred._random import RandomState, torch_generator
from stablepred.core import solvers
from stablepred.core.checkpoint import Checkpoint
from stablepred.core.head import zero_head
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import Rows
from stablepred.core.patterns import Patterns
from stablepred.core.solvers import Settings, Solution, train_encoder
from stablepred.exceptions import InputError
from stablepred.heads.choice import EmbeddingHead, HeadProblem, Trained
from stablepred.io.save import storable
from stablepred.models.balancing import BalancingClassifier
from stablepred.models.base import BoolArray, FloatArray, Table, at_least, one_of
from stablepred.models.gbr import PAPER, check_balancing_parameters


class DeepClassifier(BalancingClassifier):
    """What the two classifiers with an encoder share."""

    hidden: Sequence[int] | None

    def _network(self, rows: Rows, seed: int, label: object) -> AutoEncoder:
        """The starting values of one auto-encoder."""
        width = max(2, rows.n_features // 2)
        hidden = (width, width) if self.hidden is None else tuple(map(int, self.hidden))
        generator = torch_generator(seed, "encoder", label)
        return AutoEncoder.random(rows.x.shape[1], hidden, generator, rows.x.device)

    def _head_problem(
        self, table: Table, w: FloatArray, seed: int, checkpoint: Checkpoint
    ) -> HeadProblem:
        if self._head_on_features():
            return super()._head_problem(table, w, seed, checkpoint)

        def train(
            rows: Patterns, inputs: BoolArray, penalty: float, start: Trained | None
        ) -> Trained:
            device = self._torch_device(rows.x.size)
            wide, y, mass, used = (
                torch.as_tensor(a, device=device)
                for a in (self._widen(rows.x), rows.y, rows.mass, inputs)
            )
            wanted = Rows(wide, y, mass, rows.x.shape[1])
            return self._train_anew(wanted, used, penalty, seed, start, checkpoint)

        stable = self.stable_features_[table.columns]
        return EmbeddingHead(
            table.patterns,
            w,
            stable,
            self._through_outcome(),
            float(self.l2),
            self.fit_intercept,
            table.copies,
            self._embed,
            train,
            self._widen,
        )

    def _train_anew(
        self,
        rows: Rows,
        inputs: Tensor,
        penalty: float,
        seed: int,
        start: Trained | None,
        checkpoint: Checkpoint,
    ) -> Trained:
        """An encoder and head on some of the inputs, for a refit: from ``start``, or afresh."""
        settings = self._settings(lambda stage, iteration, value: None, checkpoint)
        network_l2 = penalty * settings.strengths.network_l2
        strengths = replace(settings.strengths, network_l2=network_l2)
        settings = replace(settings, strengths=strengths)
        solution = Solution(rows.mass, zero_head(rows.x), [])
        if start is None:
            network, head = self._network(rows, seed, "refit"), None
        else:
            network, head = start.network.copied().to(rows.x.device), start.head
        rows, network = replace(rows, x=rows.x[:, inputs]), network.among(inputs)
        network, head = train_encoder(rows, network, settings, solution, head, recorded=False)
        network = network.spread(inputs)
        return Trained(network.to("cpu"), head.to("cpu"), settled=not solution.unfinished)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.hidden is None:
            return
        listed = isinstance(self.hidden, Sequence | np.ndarray) and not isinstance(self.hidden, str)
        widths: tuple[Any, ...] = tuple(self.hidden) if listed else ()
        whole = all(isinstance(width, Integral) and int(width) >= 1 for width in widths)
        if not widths or not whole:
            raise InputError(
                "hidden must name at least one layer, each a whole number of units, for example "
                f"(10, 10); it is {self.hidden!r}."
            )


@storable
class DLRClassifier(DeepClassifier):
    """Deep auto-encoder and logistic regression trained together, without balancing.

    Minimises L_Pre + reconstruction * L_AE + l2 ||beta||^2 + l1 ||beta||_1
    + network_l2 * (sum of squared network weights), with all row weights equal to one.

    Parameters
    ----------
    reconstruction : float, default=0.01
        Strength of the reconstruction error (lambda 2; the paper's divided by n).
    l2, l1 : float, default=1e-4, 0.0
        Ridge and lasso penalties on the coefficients of the embedding (lambdas 4 and 5).
    network_l2 : float, default=3e-4
        Penalty on the network's matrices (lambda 7).
    hidden : sequence of int or None, default=None
        Widths of the encoder's layers; None takes two layers of half the features.
    fit_intercept : bool, default=True
        Whether the head has an intercept.
    random_state, max_iter, tol, device, verbose, dichotomize, checkpoint
        As in :class:`GBRClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, hidden[-1])
        Coefficients of the embedding.
    encoders_ : list of one list of (matrix, bias) pairs
    others : as in :class:`GBRClassifier`; ``sample_weight_`` is one for every row.
    """

    def __init__(
        self,
        *,
        reconstruction: float = 0.01,
        l2: float = 1e-4,
        l1: float = 0.0,
        network_l2: float = 3e-4,
        hidden: Sequence[int] | None = None,
        fit_intercept: bool = True,
        random_state: RandomState = None,
        max_iter: int = 100,
        tol: float = 1e-3,
        device: str = "auto",
        verbose: int = 0,
        dichotomize: str | None = "mean",
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.reconstruction = reconstruction
        self.l2 = l2
        self.l1 = l1
        self.network_l2 = network_l2
        self.hidden = hidden
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.max_iter = max_iter
        self.tol = tol
        self.device = device
        self.verbose = verbose
        self.dichotomize = dichotomize
        self.checkpoint = checkpoint

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of(self, "fit_intercept", (True, False))
        at_least(self, "l1", 0)

    def _solve(self, rows: Rows, settings: Settings, seed: int) -> Solution:
        networks = [self._network(rows, seed, 0)]
        return solvers.sequential(rows, networks, settings, balance="nothing")

    def _head_on_features(self) -> bool:
        return False


@storable
class DGBRClassifier(DeepClassifier):
    """Deep Global Balancing Regression: stable prediction across unknown environments.

    Joins a deep auto-encoder, weights that balance its embedding for every feature as treatment,
    and a weighted logistic regression (paper, eqs. 7 and 15-19):

        L_mix = L_Pre + balance * L_Bal + reconstruction * L_AE + weight_l2 * ||W||^2
                + l2 ||beta||^2 + l1 ||beta||_1 + weight_sum (sum W - 1)^2
                + network_l2 * sum_k (||A^(k)||_F^2 + ||A_hat^(k)||_F^2)

    :meth:`from_paper` gives the paper to the letter. The defaults differ where the letter gives
    a degenerate model: the weights are learned after the encoder and do not see the loss, the
    embedding is balanced in units of its standard deviation, and the model is fitted again on the
    features found stable. Where features depend on each other but not through the outcome
    (``share_through_outcome_``), there is no sign of a tie to the outcome that could break: then
    the weights balance the features themselves, and encoder and head are trained on all of them
    under the weights.

    Parameters
    ----------
    balance, weight_l2, l2, l1, weight_sum, order, refit, cv, fit_intercept, min_effective_share
        As in :class:`GBRClassifier`. With ``order=2`` the products also enter the encoder.
    reconstruction, network_l2, hidden
        As in :class:`DLRClassifier`.
    solver : {"sequential", "alternating"}, default="sequential"
        ``"sequential"``: encoder, then weights, then head. ``"alternating"``: Algorithm 1.
    head : {"embedding", "features"}, default="embedding"
        What beta multiplies: the embedding, as in the paper, or the features themselves under the
        weights that balance the embedding. A ``refit`` of the embedding head trains encoder and
        head anew on ``stable_features_``, with ``network_l2`` times 100 p / n for p features and n
        effective rows (docs/method.md); one of the features head keeps the features that survive
        ``l1``.
    n_encoders : int, default=1
        Encoders from different starting values whose weights are averaged (geometric mean). Used
        by the sequential solver; Algorithm 1 has one encoder.
    standardize : bool, default=True
        Balance each coordinate of the embedding in units of its standard deviation, so that
        shrinking the embedding gains nothing.
    freeze_weights_after : int or None, default=None
        FWDGBR: W is fixed after this many iterations, then beta and the encoder go on under
        L_Pre / sum(W) without L_Bal. With the embedding head there is then no refit.
    reduced : bool, default=False
        RFWDGBR: in the fixed-weight phase drop reconstruction and decoder, and bound
        ||A^(k)||_F^2 of each layer. Without ``freeze_weights_after`` the weights are fixed after
        half of ``max_iter``.
    bias_bound : float or None, default=None
        Bound on ||b^(k)||_2 of each encoder layer in the fixed-weight phase, likewise.
    network_bound : float or None, default=None
        The bound that ``reduced`` puts on ||A^(k)||_F^2; None takes each layer's own value at the
        moment the weights are fixed.
    random_state, max_iter, tol, device, verbose, dichotomize, checkpoint
        As in :class:`GBRClassifier`.

    Attributes
    ----------
    encoders_ : list of lists of (matrix, bias) pairs
        The encoder that the head stands on (or, for ``head="features"``, those that made the
        weights), over the features in the order of the training table.
    others : as in :class:`GBRClassifier`; with ``head="embedding"``, ``coef_`` has one entry per
        coordinate of the embedding.

    Examples
    --------
    >>> from stablepred import DGBRClassifier
    >>> from stablepred.data import SyntheticWorld
    >>> world = SyntheticWorld("s_indep_v")
    >>> train = world.sample(2000, bias_rate=0.75, random_state=0)
    >>> model = DGBRClassifier(random_state=0).fit(train.X, train.y)
    >>> sorted(model.feature_names_in_[model.stable_features_]) == sorted(world.stable_features)
    True
    """

    def __init__(
        self,
        *,
        balance: float = 1.0,
        reconstruction: float = 0.01,
        weight_l2: float = 0.01,
        l2: float = 1e-4,
        l1: float | str = "auto",
        weight_sum: float = 1.0,
        network_l2: float = 3e-4,
        hidden: Sequence[int] | None = None,
        order: int = 1,
        solver: str = "sequential",
        head: str = "embedding",
        refit: bool | str = "auto",
        cv: Any = 3,
        n_encoders: int = 1,
        standardize: bool = True,
        fit_intercept: bool = True,
        min_effective_share: float = 0.1,
        freeze_weights_after: int | None = None,
        reduced: bool = False,
        bias_bound: float | None = None,
        network_bound: float | None = None,
        random_state: RandomState = None,
        max_iter: int = 100,
        tol: float = 1e-3,
        device: str = "auto",
        verbose: int = 0,
        dichotomize: str | None = "mean",
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.balance = balance
        self.reconstruction = reconstruction
        self.weight_l2 = weight_l2
        self.l2 = l2
        self.l1 = l1
        self.weight_sum = weight_sum
        self.network_l2 = network_l2
        self.hidden = hidden
        self.order = order
        self.solver = solver
        self.head = head
        self.refit = refit
        self.cv = cv
        self.n_encoders = n_encoders
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.min_effective_share = min_effective_share
        self.freeze_weights_after = freeze_weights_after
        self.reduced = reduced
        self.bias_bound = bias_bound
        self.network_bound = network_bound
        self.random_state = random_state
        self.max_iter = max_iter
        self.tol = tol
        self.device = device
        self.verbose = verbose
        self.dichotomize = dichotomize
        self.checkpoint = checkpoint

    @classmethod
    def from_paper(cls, **params: Any) -> Self:
        """DGBR to the letter of the paper.

        Algorithm 1 on L_mix with the weights coupled to L_Pre, the embedding head without
        intercept, lambdas as numbers, one encoder, no standardised embedding and no floor under
        the effective sample size: the guards only warn.
        """
        return cls(**PAPER | PAPER_NETWORK | params)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_balancing_parameters(self)
        one_of(self, "head", ("features", "embedding"))
        one_of(self, "reduced", (True, False))
        one_of(self, "standardize", (True, False))
        at_least(self, "n_encoders", 1, whole=True)
        if self.freeze_weights_after is not None:
            at_least(self, "freeze_weights_after", 1, whole=True)
        for name in ("bias_bound", "network_bound"):
            if getattr(self, name) is not None:
                at_least(self, name, 0)

    def _solve(self, rows: Rows, settings: Settings, seed: int) -> Solution:
        freeze_after = self._freeze_after()
        networks = [self._network(rows, seed, number) for number in range(self.n_encoders)]
        if self.solver == "alternating":
            bounded = replace(settings, max_iter=freeze_after or self.max_iter)
            solution = solvers.alternating(rows, networks[0], bounded)
        else:
            solution = solvers.sequential(
                rows,
                networks,
                settings,
                balance="embedding" if self._through_outcome() else "features",
                weight_steps=freeze_after,
            )
        if freeze_after is None:
            return solution
        return solvers.fixed_weights(
            rows,
            solution,
            settings,
            reduced=self.reduced,
            bias_bound=self.bias_bound,
            network_bound=self.network_bound,
        )

    def _freeze_after(self) -> int | None:
        """Iterations before W is fixed; None when it never is."""
        if self.freeze_weights_after is not None:
            return min(self.freeze_weights_after, self.max_iter)
        bounded = self.reduced or self.bias_bound is not None
        return max(1, self.max_iter // 2) if bounded else None

    def _head_on_features(self) -> bool:
        return self.head == "features"

    def _keeps_solver_head(self) -> bool:
        if self.head == "features":
            return False
        if self._freeze_after() is not None:
            return True  # a refit would leave the bounds
        return self.solver == "alternating" and self._fixes_recipe()


PAPER_NETWORK: dict[str, Any] = {
    "head": "embedding",
    "reconstruction": 0.1,
    "network_l2": 1e-4,
    "n_encoders": 1,
    "standardize": False,
}
