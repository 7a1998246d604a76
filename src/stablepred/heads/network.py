"""A head on an embedding: the fitted encoder's, or that of a network trained again."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from stablepred.core.head import zero_head
from stablepred.core.loop import Settings
from stablepred.core.networks import AutoEncoder
from stablepred.core.sequential import start_solution, train_encoder
from stablepred.heads.choice import Predictor, Recipe, temper_weights
from stablepred.heads.folds import draw_compared
from stablepred.heads.linear import fit_last_head
from stablepred.sample import Sample

# With this many effective rows per feature, a refit on stable features has the usual penalty.
ROWS_PER_FEATURE = 100


@dataclass(frozen=True)
class NetworkHeads:
    """Weighted regressions on the embedding of ``network``, and refits of encoder and head.

    ``start`` gives the starting values of a refit, over all inputs, and ``seed`` the rows of a
    large table on which it begins.
    """

    settings: Settings
    stable: Tensor  # (p,) mask
    network: AutoEncoder
    start: Callable[[], AutoEncoder]
    seed: int = 0

    def fit(self, sample: Sample, w: Tensor, recipes: list[Recipe]) -> list[Predictor]:
        """Fit heads on the fitted embedding, each warm-started from the one before, or refits."""
        z = self.network.encode(sample.x)
        head = zero_head(z)
        predictors = []
        for recipe in recipes:
            v = sample.mass * temper_weights(sample, w, recipe.temper)
            if recipe.refit is False:
                head = fit_last_head(sample, z, v, self.settings, recipe.l1, head)
                predictors.append(Predictor(head, self.network, outcome=self.settings.outcome))
            else:
                predictors.append(self._refit(sample, v / sample.total(v.sum()), recipe))
        return predictors

    def _refit(self, sample: Sample, v: Tensor, recipe: Recipe) -> Predictor:
        """Train a separate network under the balancing weights."""
        used = self.stable | (not recipe.only_stable)
        part = sample.select(used, v)
        both = [bool(used[a] and used[b]) for a, b in sample.pairs]
        inputs = torch.cat([used, torch.tensor(both, dtype=torch.bool, device=used.device)])
        given = self.settings.strengths
        network_l2 = self._penalty(sample, v, recipe) * recipe.network_l2 * given.network_l2
        settings = replace(
            self.settings,
            strengths=replace(given, network_l2=network_l2),
            on_iteration=lambda stage, iteration, value: None,
        )
        drawn, solution = draw_compared(part, self.seed), start_solution(part)
        few = None if part.shards.smallest(drawn.min()) else part.take(drawn)
        train_encoder(part, self.start().narrow(inputs), settings, solution, begin_on=few)
        assert solution.network is not None
        phi = solution.network.encode(part.x)
        last = fit_last_head(part, phi, part.mass, settings, recipe.l1, solution.head)
        wide, converged = solution.network.widen(inputs), not solution.unfinished
        return Predictor(last, wide, converged, settings.outcome)

    def _penalty(self, sample: Sample, v: Tensor, recipe: Recipe) -> float:
        """The factor by which a refit raises the usual penalty: larger for fewer effective rows.

        On stable features it guards only against overfitting and is proportional to the features
        per row. On all features it also keeps the network from leaning on one whose tie will
        change, and more rows are no reason to lower it.
        """
        first, second = sample.totals(v.sum(), (v**2 / sample.mass).sum())
        share = float(first**2 / second)
        if not recipe.only_stable:
            return 1 / share
        rows = float(sample.total(sample.copies.sum()))
        return ROWS_PER_FEATURE * len(self.stable) / (rows * share)
