"""The draft's estimator: linear, with products or mixed with boosting, chosen on held-out rows.

The path of penalties ends where the held-out log-loss has stopped falling, so that noise-free rows
get a vanishing penalty and few rows a strong one, for the price of the steps in between.

Draft: folds are dealt over rows. Two copies of a row may be in different folds, so that weight 2
means two copies only nearly; the same holds for boosting, which counts rows where it asks for a
least number of them in a leaf.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

from stablepred.exceptions import InputError
from studies.natural.draft.data import FloatArray, IntArray, TrainingData
from studies.natural.draft.linear import Linear, Pairwise

PATIENCE = 3  # steps of the path without a lower held-out loss before it ends
SHARES = (0.0, 0.3, 0.5, 0.7)  # of boosting in the mixture
CLEARLY = 2.0  # standard errors by which products must lower the held-out loss
Folds = Sequence[tuple[IntArray, IntArray]]


class Model(Protocol):
    """A fitted model."""

    def predict(self, x: FloatArray) -> FloatArray:
        """Probability of a one."""


class Form(Protocol):
    """What is fitted over a path."""

    def path(self, data: TrainingData) -> Iterator[Model]:
        """Models from the simplest on."""


class Family(Protocol):
    """A kind of model; ``usual`` is a step of its path that is kept unless clearly worse."""

    usual: ClassVar[int]

    def prepare(self, data: TrainingData) -> Form:
        """The form for these rows."""


# --- models ---


@dataclass(frozen=True)
class Boosting:
    """A small boosting; its path has one step."""

    trees: int = 60
    leaves: int = 6
    usual: ClassVar[int] = 0

    def prepare(self, data: TrainingData) -> "Boosting":
        """The form itself."""
        return self

    def path(self, data: TrainingData) -> Iterator[Model]:
        """One model."""
        model = HistGradientBoostingClassifier(
            max_iter=self.trees,
            max_leaf_nodes=self.leaves,
            learning_rate=0.05,
            l2_regularization=5.0,
            early_stopping=False,
            random_state=0,
        )
        yield Trees(model.fit(data.x, data.y, sample_weight=data.w))


@dataclass(frozen=True, eq=False)
class Trees:
    """A fitted boosting."""

    model: HistGradientBoostingClassifier

    def predict(self, x: FloatArray) -> FloatArray:
        """Probability of a one."""
        probability: FloatArray = self.model.predict_proba(x)[:, 1]
        return probability


@dataclass(frozen=True, eq=False)
class Mixture:
    """A weighted mean of probabilities."""

    parts: tuple[Model, ...]
    shares: tuple[float, ...]

    def predict(self, x: FloatArray) -> FloatArray:
        """Probability of a one."""
        parts = zip(self.shares, self.parts, strict=True)
        return np.sum([share * part.predict(x) for share, part in parts], axis=0)


@dataclass(frozen=True)
class Constant:
    """The rate of the training rows."""

    rate: float

    def predict(self, x: FloatArray) -> FloatArray:
        """Probability of a one."""
        return np.full(len(x), self.rate)


# --- choice ---


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model of all rows, and what models that did not see a row predict for it."""

    model: Model
    held_out: FloatArray
    on_folds: tuple[Model, ...] = ()

    def predict_held_out(self, x: FloatArray, folds: Folds) -> FloatArray:
        """Predictions for changed rows by the models that did not see them."""
        if not self.on_folds:
            return self.model.predict(x)
        return _predict_folds(self.on_folds, x, folds)


def make_folds(y: FloatArray, k: int, seed: int) -> Folds:
    """Stratified folds, at most as many as the smaller class has rows; at least two."""
    smaller = int(min(y.sum(), len(y) - y.sum()))
    if smaller < 2:
        raise InputError(
            f"one class has {smaller} of the {len(y)} rows, so that a fold would have one class "
            "only; at least two rows of each class are needed."
        )
    folds = StratifiedKFold(min(k, smaller), shuffle=True, random_state=seed)
    return list(folds.split(y, y))


def fit_path(family: Family, data: TrainingData, folds: Folds) -> Fitted:
    """The step of the path with the lowest held-out log-loss, fitted on all rows."""
    parts = [data.take(rows) for rows, _ in folds]
    paths = [family.prepare(part).path(part) for part in parts]
    models: list[tuple[Model, ...]] = []
    predicted: list[FloatArray] = []
    losses: list[FloatArray] = []
    best = 0
    for step in zip(*paths, strict=True):
        models.append(step)
        predicted.append(_predict_folds(step, data.x, folds))
        losses.append(data.row_losses(predicted[-1]))
        best = int(np.argmin([data.mean(loss) for loss in losses]))
        if len(losses) > max(best + PATIENCE, family.usual + 1):
            break
    chosen = _move_to_usual(data, losses, best, family.usual)
    path = family.prepare(data).path(data)
    model = next(model for step, model in enumerate(path) if step == chosen)
    return Fitted(model, predicted[chosen], models[chosen])


def _predict_folds(models: Sequence[Model], x: FloatArray, folds: Folds) -> FloatArray:
    """Each row by the model of the fold that held it out."""
    p = np.empty(len(x))
    for model, (_, rows) in zip(models, folds, strict=True):
        p[rows] = model.predict(x[rows])
    return p


def _move_to_usual(data: TrainingData, losses: Sequence[FloatArray], best: int, usual: int) -> int:
    """The best step, or a weaker penalty up to the usual one if that is not clearly worse."""
    for step in range(min(usual, len(losses) - 1), best, -1):
        if not data.exceeds(losses[step] - losses[best], 1.0):
            return step
    return best


def fit_base(data: TrainingData, folds: Folds) -> Fitted:
    """The linear model, or the one with products where that is clearly better."""
    linear = fit_path(Linear(), data, folds)
    pairs = fit_path(Pairwise(), data, folds)
    gain = data.row_losses(linear.held_out) - data.row_losses(pairs.held_out)
    return pairs if data.exceeds(gain, CLEARLY) else linear


def fit_default(data: TrainingData, folds: Folds) -> Fitted:
    """The estimator: linear or with products, mixed with a small boosting where that helps."""
    if data.x.shape[1] == 0:
        return Fitted(Constant(data.rate), np.full(len(data), data.rate))
    base = fit_base(data, folds)
    trees = fit_path(Boosting(), data, folds)
    mixed = [(1 - a) * base.held_out + a * trees.held_out for a in SHARES]
    k = int(np.argmin([data.log_loss(p) for p in mixed]))
    if SHARES[k] == 0:
        return base
    shares = (1 - SHARES[k], SHARES[k])
    on_folds = tuple(
        Mixture(parts, shares) for parts in zip(base.on_folds, trees.on_folds, strict=True)
    )
    return Fitted(Mixture((base.model, trees.model), shares), mixed[k], on_folds)
