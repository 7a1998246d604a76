"""The last stage: the head under the weights, with its sparsity and refit chosen by itself.

The weights depend neither on lambda_5 nor on the refit, so that many candidates cost little: each
is fitted on the training folds and judged on held-out rows whose noisy features are redrawn
(``stablepred.evaluation.validation``).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from torch import Tensor

from stablepred.core.head import Head, fit_head, zero_head
from stablepred.core.networks import AutoEncoder
from stablepred.core.patterns import Patterns
from stablepred.evaluation.validation import RATES, is_constant, redrawn_environments, score
from stablepred.exceptions import InputError
from stablepred.persistence import storable
from stablepred.randomness import child_seed, numpy_generator

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Design = Callable[[FloatArray], Tensor]
Fold = tuple[FloatArray, FloatArray]  # how many of each distinct row train, and test
Folds = Callable[[], Iterator[Fold]]

REFITS = (False, "weighted", "plain")
STABILITY_WEIGHT = 5.0
PATH_LENGTH = 10


@storable
@dataclass(frozen=True)
class Recipe:
    """One way to fit the head: which lambda_5, which refit, on which features."""

    l1: float
    refit: bool | str
    only_stable: bool


@dataclass(frozen=True)
class Predictor:
    """A fitted head with what it stands on."""

    design: Design
    head: Head
    network: AutoEncoder | None = None  # trained for this head alone

    def probability(self, x: FloatArray) -> FloatArray:
        """P(y = 1 | x) of rows of 0/1 features."""
        return torch.sigmoid(self.head.logits(self.design(x))).numpy()


@dataclass(frozen=True)
class HeadProblem:
    """Everything the last stage needs, over distinct rows."""

    patterns: Patterns
    w: FloatArray
    stable: BoolArray  # over the features
    l2: float
    fit_intercept: bool

    def fit(self, count: FloatArray, recipes: list[Recipe]) -> list[Predictor]:
        """Fit recipes on ``count`` of each distinct row; those that share a fit share it."""
        raise NotImplementedError

    def candidates(self, l1: float | str, refit: bool | str) -> Iterator[Recipe]:
        """The recipes to choose from."""
        raise NotImplementedError

    def _masses(self, count: FloatArray) -> tuple[BoolArray, Tensor, Tensor]:
        """The rows that are there, their shares, and their shares under the weights."""
        rows = count > 0
        plain = torch.as_tensor(count[rows] / count[rows].sum())
        weighted = plain * torch.as_tensor(self.w[rows])
        return rows, plain, weighted / weighted.sum()

    def _head(self, z: Tensor, y: Tensor, v: Tensor, l1: float, start: Head) -> Head:
        return fit_head(
            z, y, v, l2=self.l2, l1=l1, fit_intercept=self.fit_intercept, start=start, tol=1e-10
        )

    def _path(self, design: Design) -> list[float]:
        """Below the smallest lambda_5 that empties the model, down to a thousandth of it."""
        y, v = self.patterns.y, self.patterns.mass * self.w
        base = np.average(y, weights=v) if self.fit_intercept else 0.5
        slopes = design(self.patterns.x).T @ torch.as_tensor(v * (y - base))
        return [float(s) for s in float(slopes.abs().max()) * np.geomspace(0.7, 1e-3, PATH_LENGTH)]


class FeatureHead(HeadProblem):
    """Beta on the features themselves: lambda_5 drops features, a refit keeps the survivors."""

    def candidates(self, l1: float | str, refit: bool | str) -> Iterator[Recipe]:
        """The path of lambda_5, on all features and on the stable ones, with each refit."""
        strengths = self._path(torch.as_tensor) if l1 == "auto" else [float(l1)]
        subsets = (False, True) if l1 == "auto" and self.stable.any() else (False,)
        for only_stable in subsets:
            for strength in strengths:
                for kind in REFITS if refit == "auto" else (refit,):
                    yield Recipe(strength, kind, only_stable)

    def fit(self, count: FloatArray, recipes: list[Recipe]) -> list[Predictor]:
        """Sparse heads along the path, each started at the one before; then the refits."""
        rows, plain, weighted = self._masses(count)
        z, y = torch.as_tensor(self.patterns.x[rows]), torch.as_tensor(self.patterns.y[rows])
        sparse: dict[tuple[float, bool], Head] = {}
        last = zero_head(z)
        predictors = []
        for recipe in recipes:
            key = (recipe.l1, recipe.only_stable)
            if key not in sparse:
                allowed = torch.as_tensor(self.stable | (not recipe.only_stable))
                last = self._on(z, y, weighted, allowed, recipe.l1, last)
                sparse[key] = last
            head = sparse[key]
            survivors = head.beta != 0
            if recipe.refit is not False and survivors.any():
                v = weighted if recipe.refit == "weighted" else plain
                head = self._on(z, y, v, survivors, 0.0, head)
            predictors.append(Predictor(torch.as_tensor, head))
        return predictors

    def _on(self, z: Tensor, y: Tensor, v: Tensor, columns: Tensor, l1: float, start: Head) -> Head:
        """Fit some columns; the others keep their place with a zero."""
        small = self._head(z[:, columns], y, v, l1, Head(start.beta[columns], start.intercept))
        beta = torch.zeros_like(start.beta)
        beta[columns] = small.beta
        return Head(beta, small.intercept, small.converged)


@dataclass(frozen=True)
class EmbeddingHead(HeadProblem):
    """Beta on the embedding; a refit trains encoder and head anew on the stable features.

    ``embed`` is the fitted encoder. ``train(x, y, mass)`` trains a fresh one with its head; it is
    given x with the noisy features set to zero, so that it cannot use them.
    """

    embed: Design
    train: Callable[[FloatArray, FloatArray, FloatArray], tuple[AutoEncoder, Head]]
    widen: Callable[[FloatArray], FloatArray]  # features -> the encoder's inputs

    def candidates(self, l1: float | str, refit: bool | str) -> Iterator[Recipe]:
        """The path of lambda_5 on the embedding as it is, then the refits."""
        if refit in (False, "auto"):
            for strength in self._path(self.embed) if l1 == "auto" else [float(l1)]:
                yield Recipe(strength, False, False)
        if not self.stable.any():
            if refit not in (False, "auto"):
                yield Recipe(0.0 if l1 == "auto" else float(l1), False, False)
            return
        for kind in REFITS[1:] if refit == "auto" else (refit,):
            if kind is not False:
                yield Recipe(0.0 if l1 == "auto" else float(l1), kind, True)

    def fit(self, count: FloatArray, recipes: list[Recipe]) -> list[Predictor]:
        """Heads on the fitted embedding, or networks of their own."""
        rows, plain, weighted = self._masses(count)
        x, y = self.patterns.x[rows], torch.as_tensor(self.patterns.y[rows])
        z = self.embed(x)
        head = zero_head(z)
        predictors = []
        for recipe in recipes:
            if recipe.refit is False:
                head = self._head(z, y, weighted, recipe.l1, head)
                predictors.append(Predictor(self.embed, head))
            else:
                v = weighted if recipe.refit == "weighted" else plain
                predictors.append(self._refitted(x, y, v, recipe.l1))
        return predictors

    def _refitted(self, x: FloatArray, y: Tensor, v: Tensor, l1: float) -> Predictor:
        network, start = self.train(x * self.stable, y.numpy(), v.numpy())
        # What was zero in training has no say in prediction either.
        weight, bias = network.encoder[0]
        used = torch.as_tensor(self.widen(self.stable[None, :].astype(np.float64))[0])
        network.encoder[0] = (weight * used, bias)

        def design(x: FloatArray) -> Tensor:
            return network.encode(torch.as_tensor(self.widen(x)))

        return Predictor(design, self._head(design(x), y, v, l1, start), network)


def choose_recipe(
    problem: HeadProblem, l1: float | str, refit: bool | str, folds: Folds, seed: int
) -> Recipe:
    """The recipe as given, or the best one on redrawn held-out rows where "auto" is asked for."""
    recipes = list(problem.candidates(l1, refit))
    if len(recipes) == 1:
        return recipes[0]
    squares = np.zeros((len(recipes), len(RATES)))
    rows = 0.0
    for number, (train, test) in enumerate(folds()):
        predictors = problem.fit(train, recipes)
        rng = numpy_generator(seed, "redraw", number)
        squares += _squared_errors(problem, predictors, test, rng)
        rows += test.sum()
    if rows == 0:  # too few rows of one class to hold any out: the least shrinkage
        return recipes[-1]
    x, y = problem.patterns.x, problem.patterns.y
    constant = np.array([is_constant(p.probability(x), y) for p in predictors])
    scores = score(np.sqrt(squares / rows), STABILITY_WEIGHT)
    return recipes[int(np.argmin(np.where(constant & ~constant.all(), np.inf, scores)))]


def _squared_errors(
    problem: HeadProblem, predictors: list[Predictor], test: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Sum of squared errors on one fold's held-out rows: (recipes, environments)."""
    held = test > 0
    x, y, count = problem.patterns.x[held], problem.patterns.y[held], test[held]
    sums = [
        [count @ (y - predictor.probability(changed)) ** 2 for predictor in predictors]
        for changed in redrawn_environments(x, y, ~problem.stable, rng)
    ]
    return np.array(sums).T


def shuffled_folds(
    patterns: Patterns, copies: FloatArray, n_folds: int, seed: int
) -> Iterator[Fold]:
    """Stratified folds over rows, where each distinct row stands for so many ``copies``.

    The copies of a row (up to a hundred) are dealt out to the folds one by one, and its sample
    weight goes with them.
    """
    if n_folds < 2:
        raise InputError(f"cv must be at least 2 folds (or a splitter), not {n_folds}.")
    units = np.clip(np.round(copies), 1, 100).astype(np.intp)
    rows = np.repeat(np.arange(len(units)), units)
    outcome = patterns.y[rows]
    n_folds = min(n_folds, int(min(outcome.sum(), (1 - outcome).sum())))
    if n_folds < 2:
        return
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=child_seed(seed, "folds"))
    for _, test in splitter.split(rows, outcome):
        held = np.bincount(rows[test], minlength=len(units)) / units
        yield patterns.count * (1 - held), patterns.count * held
