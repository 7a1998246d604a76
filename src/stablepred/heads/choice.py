"""The last stage: which head, chosen on held-out rows of several environments.

The weights depend neither on lambda_5 nor on the refit, so trying many recipes is cheap: each is
fitted on the training folds and judged on the held-out rows with the noisy features redrawn, as
they might look in other environments (``stablepred.validation.environments``).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from sklearn.model_selection import KFold, StratifiedKFold
from torch import Tensor

from stablepred._random import child_seed, numpy_generator
from stablepred.core.head import Head
from stablepred.core.networks import AutoEncoder
from stablepred.core.row_weights import scale_to_mean_one
from stablepred.io.save import storable
from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY
from stablepred.sample import Sample, add_products
from stablepred.validation.environments import CONSTANT_SPREAD, RATES, draw_values, score

Fold = tuple[Tensor, Tensor]  # the shares of each distinct row for training and testing
Folds = Callable[[], Iterator[Fold]]

STABILITY_WEIGHT = 5.0


@storable
@dataclass(frozen=True)
class Recipe:
    """One way to fit the head."""

    l1: float  # the lasso penalty, lambda 5
    refit: bool | str  # whether the model is fitted again under the weights: "weighted" or False
    only_stable: bool  # whether it is fitted without the features that are called noisy
    temper: float = 1.0  # the power of the balancing weights, in (0, 1]
    network_l2: float = 1.0  # the factor of a refitted network's lambda 7

    def check_stored(self) -> None:
        if not np.isfinite(self.l1) or self.l1 < 0:
            raise ValueError(f"l1 of the recipe must be a number of at least 0, not {self.l1!r}")
        for name in ("temper", "network_l2"):
            if not 0 < (value := getattr(self, name)) <= 1:
                raise ValueError(f"{name} of the recipe must be in (0, 1], not {value!r}")


@dataclass(frozen=True)
class Predictor:
    """A fitted head, and the network whose embedding it uses; None for the features themselves."""

    head: Head
    network: AutoEncoder | None = None
    converged: bool = True  # the network's own training, where it was trained for this head
    outcome: Outcome = BINARY

    def probability(self, sample: Sample, features: Tensor) -> Tensor:
        """P(y = 1) for rows of 0/1 features; for other outcomes, their mean."""
        x = add_products(features, sample.pairs) if self.network is not None else features
        phi = x if self.network is None else self.network.encode(x)
        return self.outcome.inverse_link(self.head.scores(phi))

    def is_constant(self, sample: Sample) -> bool:
        """Whether the same probability, or nearly so, is predicted for every row of a sample."""
        values = torch.stack([self.probability(sample, sample.features), sample.y], dim=1)
        rows, first = sample.totals(values.new_tensor(float(len(values))), values.sum(0))
        deviation = (sample.total((values - first / rows).square().sum(0)) / rows).sqrt()
        return bool(deviation[0] <= CONSTANT_SPREAD * deviation[1])


class Heads(Protocol):
    """A family of heads."""

    def fit(self, sample: Sample, w: Tensor, recipes: list[Recipe]) -> list[Predictor]:
        """Fit the recipes; what several have in common is fitted once."""


def temper_weights(sample: Sample, w: Tensor, power: float) -> Tensor:
    """The weights to a power, with mean one."""
    return w if power == 1 else scale_to_mean_one(sample, w**power)


@dataclass(frozen=True)
class Judged:
    """The best of some recipes, and its errors in the validation environments; NaN if not judged.

    A recipe that predicts a constant has an infinite score.
    """

    best: int
    average: float = float("nan")
    stability: float = float("nan")
    score: float = float("nan")


def judge_recipes(
    heads: Heads,
    recipes: list[Recipe],
    sample: Sample,
    w: Tensor,
    noisy: Tensor,
    folds: Folds,
    seed: int,
    *,
    alone: bool = True,
) -> Judged:
    """The recipe with the smallest Average_Error + 5 Stability_Error where noisy features move.

    The errors are RMSE on held-out rows. A recipe that predicts a constant is chosen only if all
    do. A single recipe is judged only if others are compared with it, if it is not ``alone``.
    """
    if len(recipes) == 1 and alone:
        return Judged(0)
    squares, rows = np.zeros(()), np.zeros(())  # (recipes, environments), and of all of them
    predictors: list[Predictor] = []
    for number, (train, test) in enumerate(folds()):
        predictors = heads.fit(sample.take(train), w[train > 0], recipes)
        held, mass = sample.take(test), (sample.mass * test)[test > 0]
        sums = []
        for x in redraw(held, noisy, numpy_generator(seed, "redraw", number)):
            gaps = [held.y - predictor.probability(held, x) for predictor in predictors]
            sums.append([float(mass @ gap**2) for gap in gaps])
        squares, rows = squares + np.array(sums).T, rows + float(mass.sum())
    squares, rows = sample.totals(squares, rows)
    if not rows:  # too few rows of one class to hold any out: take the least shrinkage
        return Judged(len(recipes) - 1)
    errors, constant = np.sqrt(squares / rows), [one.is_constant(sample) for one in predictors]
    every = score(errors, STABILITY_WEIGHT)
    scores = np.where(constant, np.inf, every)
    best = int(np.argmin(every if all(constant) else scores))
    own = errors[best]
    return Judged(best, float(own.mean()), float(own.std(ddof=1)), float(scores[best]))


def find_weakest(sample: Sample, w: Tensor, predictor: Predictor) -> Tensor:
    """The half of the variables with the smallest effects in a weighted head: a mask of columns.

        effect_j^2 = sum_i v_i (P(y = 1 | x_i) - P(y = 1 | x_i with x_j at its mean))^2,   v = c w

    That is the weighted effect of the paper given all other features, where interactions count as
    well. It says which variables may move in the validation environments: where Assumption 1 fails,
    noisy variables have effects too, but mostly smaller ones.
    """
    x, v, groups = sample.features, sample.mass * w, sample.groups
    mean, weight = sample.totals(v @ x, v.sum())
    before = predictor.probability(sample, x)
    variables = list(dict.fromkeys(groups.tolist()))
    effects = []
    for variable in variables:
        changed, own = x.clone(), torch.as_tensor(groups == variable, device=x.device)
        changed[:, own] = (mean / weight)[own]
        effects.append(v @ (before - predictor.probability(sample, changed)).square())
    order = torch.argsort(sample.total(torch.stack(effects)), stable=True).tolist()
    weakest = [variables[k] for k in order[: len(variables) // 2]]
    return torch.as_tensor(np.isin(groups, weakest), device=x.device)


def redraw(sample: Sample, noisy: Tensor, rng: np.random.Generator) -> Iterator[Tensor]:
    """The features in environments where the noisy ones agree with the outcome at other rates."""
    draws = draw_values(sample.features[:, noisy].cpu().numpy(), rng)
    uniforms, above, below = (torch.as_tensor(one, device=sample.device) for one in draws)
    for rate in RATES:
        x = sample.features.clone()
        x[:, noisy] = torch.where((uniforms < rate) == (sample.y[:, None] == 1), above, below)
        yield x


def shuffled_folds(sample: Sample, n_folds: int, seed: int) -> Iterator[Fold]:
    """Stratified folds over rows, where each distinct row stands for its copies.

    The copies of a row (up to a hundred) are assigned to the folds one by one, and its mass goes
    with them. Where several processes hold the rows, each assigns its own.
    """
    copies, y = sample.copies.cpu().numpy(), sample.y.cpu().numpy()
    units = np.clip(np.round(copies), 1, 100).astype(np.intp)
    rows = np.repeat(np.arange(len(units)), units)
    outcome = y[rows]
    positive, negative = sample.totals(outcome.sum(), (1 - outcome).sum())
    n_folds = min(n_folds, int(min(positive, negative)))
    if n_folds < 2:
        return
    enough = min(outcome.sum(), (1 - outcome).sum()) >= n_folds
    splitter: Any = StratifiedKFold if enough else KFold
    split = splitter(n_folds, shuffle=True, random_state=child_seed(seed, "folds"))
    for _, test in split.split(rows, outcome):
        held = torch.as_tensor(np.bincount(rows[test], minlength=len(units)) / units)
        yield 1 - held.to(sample.device), held.to(sample.device)
