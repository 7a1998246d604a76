"""The small network that ``StableClassifier`` uses when it is given no estimator."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import expit

from stablepred._random import torch_generator
from stablepred._validation import FloatArray
from stablepred.core.loop import Settings
from stablepred.core.networks import AutoEncoder, Layer, apply_layers
from stablepred.evidence.explaining_away import depend_through_outcome
from stablepred.heads.choice import (
    Folds,
    Predictor,
    Recipe,
    choose_recipe,
    held_out_errors,
)
from stablepred.heads.linear import l1_path
from stablepred.heads.network import NetworkHeads
from stablepred.io.save import storable
from stablepred.models.entry import make_folds, start_network
from stablepred.models.paper import encoder_in_user_order
from stablepred.models.screening import Screening
from stablepred.models.stored import check_network
from stablepred.sample import Sample


@storable
@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """The network of ``StableClassifier(estimator=None)``: log-odds from 0/1 features."""

    encoder: list[tuple[FloatArray, FloatArray]]
    coef: FloatArray
    intercept: float

    def predict_proba(self, x: FloatArray) -> FloatArray:
        """Probability of each class: (n_samples, 2)."""
        layers: list[Layer] = [(torch.tensor(a), torch.tensor(b)) for a, b in self.encoder]
        phi = apply_layers(torch.tensor(x), layers).numpy()
        positive = expit(phi @ self.coef + self.intercept)
        return np.column_stack([1 - positive, positive])

    def check_stored(self) -> None:
        """Raise ValueError unless encoder and coefficients fit each other."""
        check_network(self)


def fit_network(estimator: Any, screening: Screening) -> tuple[Recipe, Predictor]:
    """Choose the recipe that predicts best on held-out rows as they may look elsewhere; fit it."""
    sample, w, settings = screening.sample, screening.solution.w, screening.settings
    seed = estimator.random_state_
    rows = (screening.x, screening.labels, screening.weight)
    folds = make_folds(estimator, sample, *rows, seed)
    stable = torch.as_tensor(screening.verdict.stable, device=sample.device)

    def start() -> AutoEncoder:
        return start_network(None, sample, torch_generator(seed, "encoder", "refit"))

    heads = NetworkHeads(settings, stable, sample, w, screening.network, start)
    through = depend_through_outcome(sample)
    choose = _choose_on_redrawn_rows if through else _choose_among_all
    recipe = choose(heads, sample, w, settings, folds, seed)
    (predictor,) = heads.fit(sample, w, [recipe])
    screening.solution.unfinished.extend([] if predictor.converged else ["refit"])
    return recipe, predictor


def store_network(sample: Sample, predictor: Predictor) -> FittedNetwork:
    """The fitted network over the user's columns."""
    assert predictor.network is not None
    layers = encoder_in_user_order(sample, predictor.network)
    return FittedNetwork(layers, predictor.head.beta.cpu().numpy(), float(predictor.head.intercept))


def _choose_on_redrawn_rows(
    heads: NetworkHeads,
    sample: Sample,
    w: torch.Tensor,
    settings: Settings,
    folds: Folds,
    seed: int,
) -> Recipe:
    """A head on the embedding under the weights, or a plain network on the stable variables."""
    phi = heads.network.encode(sample.x)
    path = [Recipe(strength, False, False) for strength in l1_path(sample, w, phi, settings)]
    refits = [Recipe(0.0, "plain", True)] if heads.stable.any() else []
    return choose_recipe(heads, [*path, *refits], sample, w, ~heads.stable, folds, seed)


def _choose_among_all(
    heads: NetworkHeads,
    sample: Sample,
    w: torch.Tensor,
    settings: Settings,
    folds: Folds,
    seed: int,
) -> Recipe:
    """A network on all variables under the weights, or without them if the former is no use.

    A network trained on few effective rows is less confident than a plain one. On rows like those
    it was trained on that is a disadvantage; in other environments it is what keeps it stable.
    """
    weighted, plain = (Recipe(0.0, kind, only_stable=False) for kind in ("weighted", "plain"))
    errors, constant = held_out_errors(
        heads,
        [weighted],
        sample,
        w,
        folds,
        lambda held, w, rng: iter([(held.features, torch.ones_like(w))]),
        seed,
    )
    mean = float(sample.total(sample.mass @ sample.y))
    useless = errors is not None and errors[0, 0] >= (mean * (1 - mean)) ** 0.5
    return plain if useless or constant[0] else weighted
