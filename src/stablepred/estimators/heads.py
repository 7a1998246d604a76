"""The last stage: the head under the weights, with its sparsity and refit chosen by itself.

The weights do not depend on lambda_5 or on the refit, so that a whole path of them costs little:
every candidate is fitted on the training folds and judged on held-out rows whose noisy features
are redrawn (``stablepred.evaluation.validation``).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from torch import Tensor

from stablepred.core.head import Head, fit_head, zero_head
from stablepred.core.patterns import Patterns
from stablepred.evaluation.validation import RATES, redrawn_environments, score
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
    """One way to fit the head: which columns, which lambda_5, which refit."""

    l1: float
    refit: bool | str
    only_stable: bool


@dataclass
class HeadProblem:
    """Everything the last stage needs, over distinct rows."""

    patterns: Patterns
    w: FloatArray
    design: Design
    stable: BoolArray  # over the raw features
    on_features: bool  # whether the design's columns are the raw features
    l2: float
    fit_intercept: bool

    def fit(self, count: FloatArray, recipes: list["Recipe"]) -> list[Head]:
        """Fit recipes on ``count`` of each distinct row.

        Recipes that differ by their refit alone share the first fit.
        """
        rows = count > 0
        z = self.design(self.patterns.x[rows])
        y = torch.as_tensor(self.patterns.y[rows])
        plain = torch.as_tensor(count[rows] / count[rows].sum())
        weighted = plain * torch.as_tensor(self.w[rows])
        weighted = weighted / weighted.sum()
        sparse: dict[tuple[float, bool], Head] = {}
        last = zero_head(z)
        heads = []
        for recipe in recipes:
            key = (recipe.l1, recipe.only_stable)
            if key not in sparse:
                last = self._on(z, y, weighted, self._allowed(z, recipe), recipe.l1, last)
                sparse[key] = last
            head = sparse[key]
            survivors = head.beta != 0
            if recipe.refit is not False and survivors.any():
                v = weighted if recipe.refit == "weighted" else plain
                head = self._on(z, y, v, survivors, 0.0, head)
            heads.append(head)
        return heads

    def _allowed(self, z: Tensor, recipe: "Recipe") -> Tensor:
        if recipe.only_stable:
            return torch.as_tensor(self.stable)
        return torch.ones(z.shape[1], dtype=torch.bool)

    def _on(self, z: Tensor, y: Tensor, v: Tensor, columns: Tensor, l1: float, start: Head) -> Head:
        small = Head(start.beta[columns], start.intercept)
        fitted = fit_head(
            z[:, columns],
            y,
            v,
            l2=self.l2,
            l1=l1,
            fit_intercept=self.fit_intercept,
            start=small,
            tol=1e-10,
        )
        beta = torch.zeros_like(start.beta)
        beta[columns] = fitted.beta
        return Head(beta, fitted.intercept, fitted.converged)


def choose_recipe(
    problem: HeadProblem, l1: float | str, refit: bool | str, folds: Folds, seed: int
) -> Recipe:
    """The recipe as given, or the best one on redrawn held-out rows where "auto" is asked for."""
    recipes = list(_candidates(problem, l1, refit))
    if len(recipes) == 1:
        return recipes[0]
    squares = np.zeros((len(recipes), len(RATES)))
    rows = 0.0
    for number, (train, test) in enumerate(folds()):
        rng = numpy_generator(seed, "redraw", number)
        squares += _squared_errors(problem, recipes, train, test, rng)
        rows += test.sum()
    if rows == 0:  # too few rows of one class to hold any out: the least shrinkage
        return recipes[-1]
    scores = score(np.sqrt(squares / rows), STABILITY_WEIGHT)
    heads = problem.fit(problem.patterns.count, recipes)
    constant = np.array([not bool((head.beta != 0).any()) for head in heads])
    return recipes[int(np.argmin(np.where(constant & ~constant.all(), np.inf, scores)))]


def _candidates(problem: HeadProblem, l1: float | str, refit: bool | str) -> Iterator[Recipe]:
    strengths = _path(problem) if l1 == "auto" else [float(l1)]
    refits = REFITS if refit == "auto" else (refit,)
    subsets = [False]
    if l1 == "auto" and problem.on_features and problem.stable.any():
        subsets = [False, True]
    for only_stable in subsets:
        for strength in strengths:
            for kind in refits:
                yield Recipe(strength, kind, only_stable)


def _path(problem: HeadProblem) -> list[float]:
    """From the smallest lambda_5 that empties the model (left out) down to a thousandth of it."""
    z = problem.design(problem.patterns.x)
    y, v = problem.patterns.y, problem.patterns.mass * problem.w
    base = np.average(y, weights=v) if problem.fit_intercept else 0.5
    largest = float((z.T @ torch.as_tensor(v * (y - base))).abs().max())
    return [float(s) for s in largest * np.geomspace(0.7, 1e-3, PATH_LENGTH)]


def shuffled_folds(patterns: Patterns, n_folds: int, seed: int) -> Iterator[Fold]:
    """Stratified folds over distinct rows, so that equal rows never stand on both sides."""
    if n_folds < 2:
        raise InputError(f"cv must be at least 2 folds (or a splitter), not {n_folds}.")
    n_folds = min(n_folds, int(min(patterns.y.sum(), (1 - patterns.y).sum())))
    if n_folds < 2:
        return
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=child_seed(seed, "folds"))
    for train, test in splitter.split(patterns.x, patterns.y):
        yield patterns.count * _marks(patterns, train), patterns.count * _marks(patterns, test)


def _marks(patterns: Patterns, chosen: NDArray[Any]) -> FloatArray:
    marks = np.zeros(len(patterns.y))
    marks[chosen] = 1.0
    return marks


def _squared_errors(
    problem: HeadProblem,
    recipes: list[Recipe],
    train: FloatArray,
    test: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Sum of squared errors on one fold's held-out rows: (recipes, environments)."""
    heads = problem.fit(train, recipes)
    beta = torch.stack([head.beta for head in heads], dim=1)  # (d, recipes)
    intercept = torch.stack([head.intercept for head in heads])
    held = test > 0
    x, y, count = problem.patterns.x[held], problem.patterns.y[held], test[held]
    sums = []
    noisy = ~problem.stable
    for changed in redrawn_environments(x, y, noisy, rng):
        probability = torch.sigmoid(problem.design(changed) @ beta + intercept).numpy()
        sums.append(count @ (y[:, None] - probability) ** 2)
    return np.stack(sums, axis=1)
