"""The last stage: the head under the weights, with its sparsity and refit chosen by itself.

The weights depend neither on lambda_5 nor on the refit, so that many candidates cost little: each
is fitted on the training folds and judged on held-out rows of several environments. Where features
depend on each other through the outcome, the noisy ones are redrawn
(``stablepred.validation.environments``). Where they do not, nothing says that a tie to the outcome
will break; what may change is how the features go together, so the held-out rows are balanced.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from torch import Tensor

from stablepred._random import child_seed, numpy_generator
from stablepred.core.head import Head, fit_head, zero_head
from stablepred.core.networks import AutoEncoder
from stablepred.core.patterns import Patterns, distinct_patterns
from stablepred.core.sharding import array_total, total, totals
from stablepred.exceptions import InputError
from stablepred.io.save import storable
from stablepred.validation.environments import is_constant, redrawn_environments, score

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Design = Callable[[FloatArray], Tensor]
Fold = tuple[FloatArray, FloatArray]  # how many of each distinct row train, and test
Folds = Callable[[], Iterator[Fold]]

REFITS = (False, "weighted", "plain")
STABILITY_WEIGHT = 5.0
PATH_LENGTH = 10
# With so many effective rows for each feature a refit on stable features has the usual penalty.
ROWS_PER_FEATURE = 100


@storable
@dataclass(frozen=True)
class Recipe:
    """One way to fit the head: which lambda_5, which refit, on which features."""

    l1: float
    refit: bool | str
    only_stable: bool


@dataclass(frozen=True)
class Trained:
    """A network trained together with a head."""

    network: AutoEncoder
    head: Head
    settled: bool  # before the iterations were used up


@dataclass(frozen=True)
class Predictor:
    """A fitted head with what it stands on."""

    design: Design
    head: Head
    own: Trained | None = None  # the network, where it was trained for this head alone


def probabilities(predictors: list[Predictor], x: FloatArray) -> list[FloatArray]:
    """P(y = 1 | x) of rows of 0/1 features; what several heads stand on is made once."""
    made = {design: design(x) for design in {predictor.design for predictor in predictors}}
    return [torch.sigmoid(p.head.logits(made[p.design])).numpy() for p in predictors]


@dataclass(frozen=True)
class HeadProblem:
    """Everything the last stage needs, over distinct rows."""

    patterns: Patterns
    w: FloatArray
    stable: BoolArray  # over the features
    through_outcome: bool  # whether features depend on each other through the outcome
    l2: float
    fit_intercept: bool

    def fit(self, count: FloatArray, recipes: list[Recipe]) -> list[Predictor]:
        """Fit recipes on ``count`` of each distinct row; those that share a fit share it."""
        raise NotImplementedError

    def candidates(self, l1: float | str, refit: bool | str) -> Iterator[Recipe]:
        """The recipes to choose from."""
        raise NotImplementedError

    def first_of_use(self, refit: bool | str) -> bool:
        """Whether the first candidate is taken if it is of any use, and the second one if not."""
        return False

    def _masses(self, count: FloatArray) -> tuple[BoolArray, Tensor, Tensor]:
        """The rows that are there, their shares, and their shares under the weights."""
        rows = count > 0
        plain = torch.as_tensor(count[rows] / array_total(count[rows].sum()))
        weighted = plain * torch.as_tensor(self.w[rows])
        return rows, plain, weighted / total(weighted.sum())

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
        some = l1 == "auto" and self.through_outcome and self.stable.any()
        subsets = (False, True) if some else (False,)
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
    """Beta on the embedding; a refit trains encoder and head anew, mostly on the stable features.

    ``embed`` is the fitted encoder. ``train(rows, inputs, penalty, start)`` trains a network on
    some of its inputs, with its head and so many times the usual penalty. Where features depend on
    each other but not through the outcome, all of them are used.
    """

    copies: FloatArray  # how many rows each distinct row stands for

    embed: Design
    train: Callable[[Patterns, BoolArray, float, Trained | None], Trained]
    widen: Callable[[FloatArray], FloatArray]  # features -> the encoder's inputs
    whole: dict[Recipe, Predictor] = field(default_factory=dict)  # refits on all rows

    def candidates(self, l1: float | str, refit: bool | str) -> Iterator[Recipe]:
        """The path of lambda_5 on the embedding as it is, then the refits."""
        fixed = 0.0 if l1 == "auto" else float(l1)
        if self.first_of_use(refit):
            yield from (Recipe(fixed, kind, False) for kind in ("weighted", "plain"))
            return
        if refit in (False, "auto") or not self.stable.any():
            searched = l1 == "auto" and refit in (False, "auto")
            path = self._path(self.embed) if searched else [fixed]
            yield from (Recipe(strength, False, False) for strength in path)
        if refit is not False and self.stable.any():
            yield Recipe(fixed, "plain" if refit == "auto" else refit, True)

    def first_of_use(self, refit: bool | str) -> bool:
        """All features under the weights, where no tie to the outcome is about to break.

        A network trained on few effective rows is less sure of itself than a plain one; on rows
        like those it was trained on that is a loss, elsewhere it is what keeps it stable.
        """
        return refit == "auto" and not self.through_outcome

    def fit(self, count: FloatArray, recipes: list[Recipe]) -> list[Predictor]:
        """Heads on the fitted embedding, or networks of their own."""
        present, _, weighted = self._masses(count)
        x, y = self.patterns.x[present], torch.as_tensor(self.patterns.y[present])
        z = self.embed(x)
        head = zero_head(z)
        predictors = []
        for recipe in recipes:
            if recipe.refit is False:
                head = self._head(z, y, weighted, recipe.l1, head)
                predictors.append(Predictor(self.embed, head))
            else:
                predictors.append(self._refitted(count, recipe))
        return predictors

    def _refitted(self, count: FloatArray, recipe: Recipe) -> Predictor:
        """A network of its own; on some of the rows it starts where the one on all rows ended."""
        if recipe not in self.whole:
            self.whole[recipe] = self._retrained(self.patterns.count, recipe, None)
        whole = self.whole[recipe]
        if np.array_equal(count, self.patterns.count):
            return whole
        return self._retrained(count, recipe, whole.own)

    def _retrained(self, count: FloatArray, recipe: Recipe, start: Trained | None) -> Predictor:
        present, plain, weighted = self._masses(count)
        v = weighted if recipe.refit == "weighted" else plain
        used = self.stable if recipe.only_stable else np.ones_like(self.stable)
        # Without the other features fewer rows are distinct.
        rows = distinct_patterns(
            self.patterns.x[present] * used, self.patterns.y[present], v.numpy()
        )
        inputs = self.widen(used[None, :].astype(np.float64))[0] > 0
        penalty = self._penalty(count, v, plain, recipe.only_stable)
        trained = self.train(rows, inputs, penalty, start)

        def design(x: FloatArray) -> Tensor:
            return trained.network.encode(torch.as_tensor(self.widen(x)))

        y, mass = torch.as_tensor(rows.y), torch.as_tensor(rows.mass)
        head = self._head(design(rows.x), y, mass, recipe.l1, trained.head)
        return Predictor(design, head, trained)

    def _penalty(self, count: FloatArray, v: Tensor, plain: Tensor, only_stable: bool) -> float:
        """How many times the usual penalty a refit needs: the more, the fewer rows are effective.

        On stable features it guards against chance alone, and goes by features per row. On all
        features it is also what keeps the network from leaning on one that will change: more rows
        are no reason to lower it.
        """
        first, second = totals(v.sum(), (v**2 / plain).sum())
        share = float(first**2 / second)
        if not only_stable:
            return 1 / share
        present = count > 0
        copies = self.copies[present] * count[present] / self.patterns.count[present]
        return ROWS_PER_FEATURE * len(self.stable) / float(array_total(copies.sum()) * share)


def choose_recipe(
    problem: HeadProblem, l1: float | str, refit: bool | str, folds: Folds, seed: int
) -> Recipe:
    """The recipe as given, or the best one on held-out rows where "auto" is asked for.

    On redrawn rows by Average_Error + 5 Stability_Error, on balanced rows by their error. A recipe
    that predicts a constant, or no better than one on the rows as observed, is not chosen while
    another is left.
    """
    recipes = list(problem.candidates(l1, refit))
    if len(recipes) == 1:
        return recipes[0]
    if problem.first_of_use(refit):
        _, useless = _held_out(problem, recipes[:1], folds, seed)
        return recipes[int(useless[0])]
    errors, useless = _held_out(problem, recipes, folds, seed)
    if errors is None:  # too few rows of one class to hold any out: the least shrinkage
        return recipes[-1]
    scores = score(errors, STABILITY_WEIGHT) if problem.through_outcome else errors[:, 1]
    return recipes[int(np.argmin(np.where(useless & ~useless.all(), np.inf, scores)))]


def _held_out(
    problem: HeadProblem, recipes: list[Recipe], folds: Folds, seed: int
) -> tuple[FloatArray | None, BoolArray]:
    """Errors on held-out rows, (recipes, environments), and which recipes are of no use.

    There are no errors where no row of one class can be held out.
    """
    squares, rows = np.zeros(()), np.zeros(())
    for number, (train, test) in enumerate(folds()):
        predictors = problem.fit(train, recipes)
        rng = numpy_generator(seed, "redraw", number)
        fold_squares, fold_rows = _squared_errors(problem, predictors, test, rng)
        squares, rows = squares + fold_squares, rows + fold_rows
    if not rows.any():
        return None, np.zeros(len(recipes), dtype=bool)
    x, y = problem.patterns.x, problem.patterns.y
    errors = np.sqrt(squares / rows)
    useless = np.array([is_constant(found, y) for found in probabilities(predictors, x)])
    if not problem.through_outcome:
        useless |= errors[:, 0] >= _constant_error(y, problem.patterns.count)
    return errors, useless


def _constant_error(y: FloatArray, count: FloatArray) -> float:
    """Error of the outcome's own mean."""
    mean = float(np.average(y, weights=count))
    return (mean * (1 - mean)) ** 0.5


def _squared_errors(
    problem: HeadProblem, predictors: list[Predictor], test: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Sums of squared errors on one fold's held-out rows, (recipes, environments), and of rows."""
    held = test > 0
    y = problem.patterns.y[held]
    sums, rows = [], []
    for x, count in _environments(problem, held, test[held], rng):
        sums.append([count @ (y - found) ** 2 for found in probabilities(predictors, x)])
        rows.append(count.sum())
    return np.array(sums).T, np.array(rows)


def _environments(
    problem: HeadProblem, held: BoolArray, count: FloatArray, rng: np.random.Generator
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Held-out rows of each validation environment: features, and how often each row counts.

    The noisy features redrawn at each rate; or else the rows as observed, and balanced.
    """
    x, y = problem.patterns.x[held], problem.patterns.y[held]
    if problem.through_outcome:
        for changed in redrawn_environments(x, y, ~problem.stable, rng):
            yield changed, count
    else:
        yield x, count
        yield x, count * problem.w[held]


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
