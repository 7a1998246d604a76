"""A linear head on the features, under the balancing weights.

lambda_5 drops features; a refit fits the surviving features again, without lambda_5.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from torch import Tensor

from stablepred.core.head import Head, fit_head, zero_head
from stablepred.core.loop import Settings
from stablepred.core.row_weights import effective_share
from stablepred.heads.choice import Predictor, Recipe, temper_weights
from stablepred.sample import Sample

PATH_LENGTH = 10
# Where the weights leave a smaller share of the rows, their square roots may be used instead.
SMALL_SHARE, HALF = 0.3, 0.5


@dataclass(frozen=True)
class LinearHeads:
    """Weighted elastic-net regressions on all features or on the stable ones."""

    settings: Settings
    stable: Tensor  # (p,) mask

    def recipes(
        self, sample: Sample, w: Tensor, l1: float | str, refit: bool | str
    ) -> list[Recipe]:
        """The path of lambda_5, on all features and on the stable ones, with each refit.

        Where lambda_5 is chosen and few effective rows are left, so is a power of the weights.
        """
        powers, columns = [1.0], [False]
        if l1 != "auto":
            strengths = [float(l1)]
        else:
            strengths = l1_path(sample, w, sample.features, self.settings)
            if float(effective_share(sample, w)) < SMALL_SHARE:
                powers.append(HALF)
            if self.stable.any() and not self.stable.all():
                columns.append(True)
        refits = (False, "weighted") if refit == "auto" else (refit,)
        every = product(powers, columns, strengths, refits)
        return [Recipe(l1, kind, only_stable, power) for power, only_stable, l1, kind in every]

    def fit(self, sample: Sample, w: Tensor, recipes: list[Recipe]) -> list[Predictor]:
        """Fit sparse heads along the path, each warm-started from the last, then the refits."""
        sparse: dict[tuple[float, bool, float], Head] = {}
        last = zero_head(sample.features)
        predictors = []
        for recipe in recipes:
            key = (recipe.l1, recipe.only_stable, recipe.temper)
            v = temper_weights(sample, w, recipe.temper)
            if key not in sparse:
                allowed = self.stable | (not recipe.only_stable)
                sparse[key] = last = self._fit_columns(sample, v, allowed, recipe.l1, last)
            head = sparse[key]
            survivors = head.beta != 0
            if recipe.refit is not False and survivors.any():
                head = self._fit_columns(sample, v, survivors, 0.0, head)
            predictors.append(Predictor(head, outcome=self.settings.outcome))
        return predictors

    def _fit_columns(
        self, sample: Sample, w: Tensor, columns: Tensor, l1: float, start: Head
    ) -> Head:
        """Fit some columns; the others keep a coefficient of zero."""
        z, inner = sample.features[:, columns], Head(start.beta[columns], start.intercept)
        small = fit_last_head(sample, z, sample.mass * w, self.settings, l1, inner)
        beta = torch.zeros_like(start.beta)
        beta[columns] = small.beta
        return Head(beta, small.intercept, small.converged)


def fit_last_head(
    sample: Sample, z: Tensor, v: Tensor, settings: Settings, l1: float, start: Head
) -> Head:
    """The head used for prediction, fitted to a tolerance of its own."""
    return fit_head(
        sample,
        z,
        v / sample.total(v.sum()),
        l2=settings.strengths.l2,
        l1=l1,
        fit_intercept=settings.fit_intercept,
        outcome=settings.outcome,
        start=start,
        tol=1e-10,
    )


def l1_path(sample: Sample, w: Tensor, z: Tensor, settings: Settings) -> list[float]:
    """Values from below the smallest lambda_5 that drops every feature, to a thousandth of it."""
    v = sample.mass * w
    base = settings.outcome.inverse_link(z.new_zeros(()))
    if settings.fit_intercept:
        weight, first = sample.totals(v.sum(), v @ sample.y)
        base = first / weight
    slopes = sample.total(z.T @ (v * (sample.y - base)))
    return [float(s) for s in float(slopes.abs().max()) * np.geomspace(0.7, 1e-3, PATH_LENGTH)]
