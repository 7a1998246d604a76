"""A head on an embedding: the fitted encoder's, or that of a network trained again."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from stablepred.core.head import Head, zero_head
from stablepred.core.loop import Settings
from stablepred.core.networks import AutoEncoder
from stablepred.core.sequential import start_solution, train_encoder
from stablepred.heads.choice import Predictor, Recipe, temper_weights
from stablepred.heads.linear import fit_last_head
from stablepred.sample import Sample

# With this many effective rows per feature, a refit on stable features has the usual penalty.
ROWS_PER_FEATURE = 100


@dataclass(frozen=True)
class NetworkHeads:
    """Weighted regressions on the embedding of ``network``, and refits of encoder and head.

    ``start`` gives the starting values of a refit, over all inputs. On a fold a refit starts there,
    too, or, if ``warm``, where the one on all rows ended, which is fast, but has seen all rows.
    """

    settings: Settings
    stable: Tensor  # (p,) mask
    sample: Sample  # all rows
    w: Tensor
    network: AutoEncoder
    start: Callable[[], AutoEncoder]
    warm: bool = True
    # Refits on all rows, each with the head that it was trained with.
    whole: dict[Recipe, tuple[Predictor, Head]] = field(default_factory=dict)

    def fit(self, sample: Sample, w: Tensor, recipes: list[Recipe]) -> list[Predictor]:
        """Fit heads on the fitted embedding, each warm-started from the one before, or refits."""
        z = self.network.encode(sample.x)
        head = zero_head(z)
        predictors = []
        for recipe in recipes:
            if recipe.refit is False:
                v = sample.mass * temper_weights(sample, w, recipe.temper)
                head = fit_last_head(sample, z, v, self.settings, recipe.l1, head)
                predictors.append(Predictor(head, self.network, outcome=self.settings.outcome))
            else:
                predictors.append(self._refit(sample, w, recipe))
        return predictors

    def _refit(self, sample: Sample, w: Tensor, recipe: Recipe) -> Predictor:
        """Train a separate network, once on all rows."""
        if sample is not self.sample and not self.warm:
            return self._train(sample, w, recipe, self.start(), None)[0]
        if recipe not in self.whole:
            self.whole[recipe] = self._train(self.sample, self.w, recipe, self.start(), None)
        predictor, head = self.whole[recipe]
        if sample is self.sample or predictor.network is None:
            return predictor
        return self._train(sample, w, recipe, predictor.network.copy(), head)[0]

    def _train(
        self, sample: Sample, w: Tensor, recipe: Recipe, network: AutoEncoder, start: Head | None
    ) -> tuple[Predictor, Head]:
        """Train a network under the balancing weights or (``"plain"``) without them."""
        v = sample.mass
        if recipe.refit == "weighted":
            v = v * temper_weights(sample, w, recipe.temper)
            v = v / sample.total(v.sum())
        used = self.stable | (not recipe.only_stable)
        part = sample.select(used, v)
        both = [bool(used[a] and used[b]) for a, b in sample.pairs]
        inputs = torch.cat([used, torch.tensor(both, dtype=torch.bool, device=used.device)])
        network_l2 = self._penalty(sample, v, recipe) * self.settings.strengths.network_l2
        settings = replace(
            self.settings,
            strengths=replace(self.settings.strengths, network_l2=network_l2),
            on_iteration=lambda stage, iteration, value: None,
        )
        solution = start_solution(part)
        train_encoder(part, network.narrow(inputs), settings, solution, start=start)
        assert solution.network is not None
        phi = solution.network.encode(part.x)
        last = fit_last_head(part, phi, part.mass, settings, recipe.l1, solution.head)
        wide, converged = solution.network.widen(inputs), not solution.unfinished
        return Predictor(last, wide, converged, settings.outcome), solution.head

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
