"""Deep Logistic Regression: the encoder without balancing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from stablepred._parameters import Rule, at_least
from stablepred._random import torch_generator
from stablepred.core.sequential import start_solution, train_encoder
from stablepred.heads.choice import Recipe
from stablepred.heads.network import NetworkHeads
from stablepred.io.save import storable
from stablepred.models.entry import start_network
from stablepred.models.paper import PaperClassifier, Run, transform_rows
from stablepred.sample import Sample
from stablepred.weights.embedded import EmbeddedBalance


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

    def _fit_stages(self, sample: Sample, run: Run) -> None:
        network = start_network(self.hidden, sample, torch_generator(run.seed, "encoder", 0))
        solution = start_solution(sample)
        train_encoder(sample, network, run.settings, solution, recorded=EmbeddedBalance())
        self._judge(sample, solution, run.seed)
        every = torch.ones(sample.n_features, dtype=torch.bool, device=sample.device)
        heads = NetworkHeads(run.settings, every, network, network.copy)
        recipes = [Recipe(float(self.l1), refit=False, only_stable=False)]
        families = {"embedding": (heads, recipes)}
        predictor = self._choose_head(sample, solution, run, families, ~every)
        self._finish(sample, solution, predictor)
