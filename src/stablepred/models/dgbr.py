"""Deep Global Balancing Regression (paper, eqs. 7 and 15-19), and DLR, without balancing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from stablepred._parameters import Rule, at_least, check_parameters, optional
from stablepred.core.algorithm1 import algorithm1
from stablepred.core.frozen import FrozenWeights, fit_under_fixed_weights
from stablepred.core.loop import Solution
from stablepred.core.row_weights import scale_to_mean_one
from stablepred.core.sequential import (
    extend_weights,
    learn_weights,
    start_solution,
    train_encoder,
)
from stablepred.exceptions import InputError
from stablepred.heads.choice import Heads, Recipe
from stablepred.heads.folds import draw_compared
from stablepred.heads.linear import LinearHeads, l1_path
from stablepred.heads.network import NetworkHeads
from stablepred.io.save import storable
from stablepred.models.entry import keeps_solver_head, start_network
from stablepred.models.gbr import PAPER
from stablepred.models.paper import PaperClassifier, Run, transform_rows
from stablepred.sample import Sample
from stablepred.weights.embedded import EmbeddedBalance

storable(FrozenWeights)

# The weights are the geometric mean of those that balance so many encoders.
ENCODERS = 3
LEAST_WEIGHT = 1e-6
# A refit without the variables that may move is trained under the fourth roots of the weights,
# which leave more effective rows; the factors of its lambda 7 are chosen from.
REFIT_POWER, REFIT_PENALTIES = 0.25, (1.0, 0.1, 0.03)
# The same factor for the network that judges which features may move.
JUDGE_PENALTY = 0.2


def _as_frozen(frozen: Any) -> FrozenWeights | None:
    return FrozenWeights(**frozen) if isinstance(frozen, Mapping) else frozen


def _check_frozen(name: str, frozen: Any) -> None:
    if not isinstance(frozen, FrozenWeights | Mapping):
        raise InputError(f"{name} must be a FrozenWeights, a dict or None, but is {frozen!r}.")
    try:
        check_parameters(_as_frozen(frozen))
    except (TypeError, InputError) as error:
        raise InputError(f"of {name}, {error}") from None


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class DGBRClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PaperClassifier):
    """Deep Global Balancing Regression: stable prediction across unknown environments.

    Combines a deep auto-encoder, weights that balance its embedding with every feature in turn as
    the treatment, and a weighted logistic regression (paper, eqs. 7 and 15-19):

        L_mix = L_Pre + balance * L_Bal + reconstruction * L_AE + weight_l2 * ||W||^2
                + l2 ||beta||^2 + l1 ||beta||_1 + weight_sum (sum W - 1)^2
                + network_l2 * sum_k (||A^(k)||_F^2 + ||A_hat^(k)||_F^2)

    :meth:`from_paper` follows the paper exactly. The defaults differ where that gives a degenerate
    model: the weights are learned after the encoder and do not see the loss, and the head is chosen
    among weighted ones, one of which trains encoder and head again under the weights.

    Parameters
    ----------
    balance, weight_l2, l2, l1, weight_sum, order, refit, cv, fit_intercept, min_effective_share
        As in :class:`GBRClassifier`. With ``order=2`` the products also enter the encoder.
    reconstruction, network_l2, hidden
        As in :class:`DLRClassifier`.
    solver : {"sequential", "alternating", "alternating-random"}, default="sequential"
        ``"sequential"``: three encoders from different starts, the weights of each and their
        geometric mean, then the head. The others: Algorithm 1, as in :class:`GBRClassifier`.
    head : {"auto", "embedding", "features"}, default="auto"
        What beta multiplies: the embedding, as in the paper, or the features themselves under the
        weights that balance the embedding; ``"auto"`` chooses as it chooses ``l1``. A ``refit`` of
        the embedding head trains encoder and head again under the weights, on all features or
        without the weakest half.
    standardize : bool, default=True
        Balance each coordinate of the embedding in units of its standard deviation, so that
        shrinking the embedding gains nothing.
    frozen : FrozenWeights, dict or None, default=None
        FWDGBR and RFWDGBR (paper, section 4.2.3), see :class:`FrozenWeights`; a dict holds its
        parameters. With the embedding head there is then no refit.
    random_state, max_iter, tol, device, verbose, dichotomize, checkpoint
        As in :class:`GBRClassifier`.

    Attributes
    ----------
    encoders_ : list of one list of (matrix, bias) pairs
        The encoder whose embedding the head uses (for ``head="features"``, the one that the
        weights balance), over the features in the order of the training table.
    others : as in :class:`GBRClassifier`; with ``head="embedding"``, ``coef_`` has one entry per
        coordinate of the embedding.
    """

    transform = transform_rows
    rules: ClassVar[dict[str, Rule]] = {"frozen": optional(_check_frozen)}

    balance: float = 1.0
    reconstruction: float = 0.01
    weight_l2: float = 0.01
    weight_sum: float = 1.0
    network_l2: float = 3e-4
    hidden: Sequence[int] | None = None
    order: int = 1
    solver: str = "sequential"
    head: str = "auto"
    refit: bool | str = "auto"
    cv: Any = 3
    standardize: bool = True
    min_effective_share: float = 0.1
    frozen: FrozenWeights | Mapping[str, Any] | None = None

    @classmethod
    def from_paper(cls, **params: Any) -> Self:
        """DGBR exactly as in the paper.

        Algorithm 1 on L_mix with the weights coupled to L_Pre, an embedding head without intercept,
        fixed lambdas, one encoder, no standardised embedding and no floor on the effective sample
        size: degenerate fits only cause warnings.
        """
        own = {"reconstruction": 0.1, "network_l2": 1e-4, "head": "embedding", "standardize": False}
        return cls(**PAPER | own | params)

    def _fit_stages(self, run: Run) -> None:
        """Encoder, weights on its embedding, evidence, head under the weights."""
        solution = self._learn_weights(run)
        self._judge(run, solution)
        if self.head != "features" and (keeps_solver_head(self) or self.frozen is not None):
            predictor = self._keep_head(solution)
        else:
            every = run.sample.every_feature
            noisy = ~every
            if self.l1 == "auto" or self.refit is not False or self.head == "auto":
                deep = self._deep_heads(run, solution, every)
                recipe = Recipe(0.0, "weighted", only_stable=False, network_l2=JUDGE_PENALTY)
                noisy = self._find_weakest(run, solution.w, deep, recipe)
            families: dict[str, tuple[Heads, list[Recipe]]] = {}
            if self.head != "embedding":
                linear = LinearHeads(run.settings, ~noisy)
                recipes = linear.recipes(run.sample, solution.w, self.l1, self.refit)
                families["features"] = (linear, recipes)
            if self.head != "features":
                deep = self._deep_heads(run, solution, ~noisy)
                families["embedding"] = (deep, self._recipes(run, solution, bool(noisy.any())))
            predictor = self._choose_head(run, solution, families, noisy)
        self._finish(run.sample, solution, predictor)

    def _deep_heads(self, run: Run, solution: Solution, stable: torch.Tensor) -> NetworkHeads:
        assert solution.network is not None
        start = partial(self._start, run, "refit")
        return NetworkHeads(run.settings, stable, solution.network, start, run.seed)

    def _learn_weights(self, run: Run) -> Solution:
        """Algorithm 1, or encoder and weights one after the other; then FWDGBR if requested."""
        balance, sample = EmbeddedBalance(self.standardize), run.sample
        settings, frozen = run.settings, _as_frozen(self.frozen)
        bounded = settings
        if frozen is not None:
            bounded = replace(settings, max_iter=frozen.count_iterations(self.max_iter))
        if self.solver != "sequential":
            network = self._start(run, 0)
            solution = algorithm1(sample, network, balance, bounded, run.start)
        else:
            drawn = draw_compared(sample, run.seed)
            few = sample if sample.shards.smallest(drawn.min()) else sample.take(drawn)
            solution = start_solution(sample)
            learned = []
            for k in range(ENCODERS if frozen is None else 1):
                network = self._start(run, k)
                train_encoder(few, network, settings, solution, recorded=balance)
                learn_weights(few, balance, network, bounded, solution)
                if few is not sample:
                    extend_weights(sample, drawn > 0, balance, settings, solution)
                learned.append(replace(solution))
            solution.network, solution.head = learned[0].network, learned[0].head
            solution.w = geometric_mean(sample, [one.w for one in learned])
        if frozen is None:
            return solution
        return fit_under_fixed_weights(sample, solution, settings, frozen, balance)

    def _start(self, run: Run, label: object) -> Any:
        return start_network(self.hidden, run.sample, run.seed, label)

    def _recipes(self, run: Run, solution: Solution, some: bool) -> list[Recipe]:
        """The path of lambda 5 on the embedding, then networks trained under the weights."""
        assert solution.network is not None
        strengths = [0.0 if self.l1 == "auto" else float(self.l1)]
        refits = [Recipe(strengths[0], "weighted", only_stable=False)]
        for factor in (REFIT_PENALTIES if self.l1 == "auto" else REFIT_PENALTIES[:1]) * some:
            refits.append(Recipe(strengths[0], "weighted", True, REFIT_POWER, factor))
        if self.refit == "weighted":
            return refits
        if self.l1 == "auto":
            phi = solution.network.encode(run.sample.x)
            strengths = l1_path(run.sample, solution.w, phi, run.settings)
        path = [Recipe(strength, refit=False, only_stable=False) for strength in strengths]
        return path if self.refit is False else [*path, *refits]


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class DLRClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PaperClassifier):
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
        Widths of the encoder's layers; None: two, each half as wide as the number of features.
    fit_intercept, random_state, max_iter, tol, device, verbose, dichotomize, checkpoint
        As in :class:`GBRClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, hidden[-1])
        Coefficients of the embedding.
    encoders_ : list of one list of (matrix, bias) pairs
    others : as in :class:`GBRClassifier`; ``sample_weight_`` is one for every row.
    """

    transform = transform_rows
    rules: ClassVar[dict[str, Rule]] = {"l1": at_least(0)}

    reconstruction: float = 0.01
    l1: float = 0.0
    network_l2: float = 3e-4
    hidden: Sequence[int] | None = None

    def _fit_stages(self, run: Run) -> None:
        sample = run.sample
        network = start_network(self.hidden, sample, run.seed, 0)
        solution = start_solution(sample)
        train_encoder(sample, network, run.settings, solution, recorded=EmbeddedBalance())
        self._judge(run, solution)
        every = sample.every_feature
        heads = NetworkHeads(run.settings, every, network, network.copy)
        families = {"embedding": (heads, [Recipe(float(self.l1), False, only_stable=False)])}
        predictor = self._choose_head(run, solution, families, ~every)
        self._finish(sample, solution, predictor)


def geometric_mean(sample: Sample, weights: Sequence[torch.Tensor]) -> torch.Tensor:
    """The geometric mean of several weights of each row, with mean one."""
    if len(weights) == 1:
        return weights[0]
    logs = torch.stack([w.clamp_min(LEAST_WEIGHT).log() for w in weights])
    return scale_to_mean_one(sample, logs.mean(0).exp())
