"""The default estimator: linear, mixed with products and boosting as held-out rows say.

The path of penalties ends where the held-out loss has stopped falling, so that noise-free rows get
a vanishing penalty for the price of the steps before it. A linear model keeps the usual penalty
unless another one is clearly better: in other environments it is the safer choice.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor

from stablepred.core.ridge import Linear, Pairwise, Threeway, has_triples
from stablepred.heads.boosting import Boosting
from stablepred.heads.folds import DECISIVE, Folds, Model
from stablepred.io.save import storable
from stablepred.sample import Sample

PATIENCE = 3  # steps of the path without a lower held-out loss before it ends
SHARES = torch.linspace(0, 1, 21).double()  # of the richer model in a mixture
PRIOR = 6.0  # of boosting, whose share is an eighth where held-out rows say nothing
LEAST_SHARE = 0.1  # a smaller one is not worth a second model
LEAST_GAIN = 3.0  # in log-likelihood; products that gain less are not worth their risk
CLEARLY = 2.0  # standard errors by which one held-out loss must differ from another


class Form(Protocol):
    """What is fitted over a path."""

    def path(self, sample: Sample) -> Iterator[Any]:
        """Models from the simplest on."""
        ...

    def take_step(self, sample: Sample, step: int) -> Any:
        """The model at one step of the path."""
        ...


class Family(Protocol):
    """A kind of model; ``usual`` is a step of its path that is kept unless clearly worse."""

    usual: ClassVar[int]

    def prepare(self, sample: Sample) -> Form:
        """The form for these rows."""
        ...


@storable
@dataclass(frozen=True, eq=False)
class Mixture:
    """A weighted mean of predictions."""

    parts: tuple[Any, ...]
    shares: tuple[float, ...]

    def predict(self, x: Tensor) -> Tensor:
        """The mean of the outcome."""
        parts = zip(self.shares, self.parts, strict=True)
        return torch.stack([share * part.predict(x) for share, part in parts]).sum(0)

    def check_columns(self, width: int) -> None:
        """Raise ValueError unless it can predict from so many columns."""
        for part in self.parts:
            part.check_columns(width)


@storable
@dataclass(frozen=True)
class Constant:
    """The mean of the training rows."""

    mean: float

    @classmethod
    def of(cls, sample: Sample) -> "Constant":
        """That of some rows."""
        return cls(float(sample.mass @ sample.y))

    def predict(self, x: Tensor) -> Tensor:
        """The mean of the outcome."""
        return x.new_full((len(x),), self.mean)

    def check_columns(self, width: int) -> None:
        """Raise ValueError unless it can predict."""
        if not np.isfinite(self.mean):
            raise ValueError("the constant is not a number")


@storable
@dataclass(frozen=True, eq=False)
class Classes:
    """A model of each class against the rest; the probabilities sum to one."""

    parts: tuple[Any, ...]

    def predict(self, x: Tensor) -> Tensor:
        """Probability of each class: (n, k)."""
        return _normalize([part.predict(x) for part in self.parts])

    def check_columns(self, width: int) -> None:
        """Raise ValueError unless it can predict from so many columns."""
        for part in self.parts:
            part.check_columns(width)


def _normalize(parts: Sequence[Tensor]) -> Tensor:
    raw = torch.stack(list(parts), dim=1).clamp_min(1e-12)
    return raw / raw.sum(1, keepdim=True)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A way of fitting that was chosen, and what models that did not see a row predict for it."""

    fit: Callable[[Sample], Any]
    held_out: Tensor
    on_folds: tuple[Model, ...] = ()  # empty where no row can be held out


def add_boosting(sample: Sample, folds: Folds, base: Fitted) -> Fitted:
    """The base model, mixed with a small boosting."""
    if folds.is_empty or sample.n_features == 0:
        return base
    if folds.outcome.name == "multinomial":
        return _mix(base, _fit_classes(sample, folds, _fit_boosting), folds, PRIOR)
    return _mix(base, _fit_boosting(sample, folds), folds, PRIOR)


def _fit_boosting(sample: Sample, folds: Folds) -> Fitted:
    return fit_path(Boosting(folds.outcome), sample, folds)


def _mix(simple: Fitted, rich: Fitted, folds: Folds, prior: float = 1.0) -> Fitted:
    """The mixture with the posterior mean share of the richer model. Its prior is (1-share)^prior.

    The prior decides where held-out rows say nothing: a mean of two models is seldom worse than the
    better of them, and in other environments the simpler one is the safer. Next to 0 or 1 the share
    is rounded.
    """
    if torch.allclose(simple.held_out, rich.held_out):  # no product stood out
        return simple
    mixed = [torch.lerp(simple.held_out, rich.held_out, share) for share in SHARES.tolist()]
    losses = torch.tensor([folds.mean(folds.losses(means)) for means in mixed]).double()
    unit = folds.outcome.dispersion(mixed[int(losses.argmin())], folds.y, folds.copies)
    likelihood = -folds.copies.sum().cpu() * losses / max(unit, 1e-12)
    share = float(torch.softmax(likelihood + prior * (1 - SHARES).log(), 0) @ SHARES)
    if min(share, 1 - share) < LEAST_SHARE:
        return simple if share < 0.5 else rich
    shares = (1 - share, share)
    pairs = zip(simple.on_folds, rich.on_folds, strict=True)
    on_folds = tuple(Mixture(pair, shares) for pair in pairs)

    def fit(sample: Sample) -> Mixture:
        return Mixture((simple.fit(sample), rich.fit(sample)), shares)

    return Fitted(fit, torch.lerp(simple.held_out, rich.held_out, share), on_folds)


def fit_base(sample: Sample, folds: Folds) -> Fitted:
    """The linear model, mixed with one with products of two, then of three."""
    if sample.n_features == 0:
        return _fit_constant(sample, folds)
    if folds.outcome.name == "multinomial":
        return _fit_classes(sample, folds, fit_base)
    linear = fit_linear(sample, folds)
    if folds.is_empty:
        return linear
    best, binary = linear, bool(((sample.x == 0) | (sample.x == 1)).all())
    for kind in (Pairwise, Threeway):
        if kind is Threeway and not has_triples(sample, folds.outcome):
            break
        rich = fit_path(kind(folds.outcome, everywhere=True), sample, folds)
        if not binary:
            fading = fit_path(kind(folds.outcome), sample, folds)
            gain = folds.losses(fading.held_out) - folds.losses(rich.held_out)
            if kind is Threeway and folds.gain(best.held_out, rich.held_out) > DECISIVE:
                faded = folds.exceeds(-gain, CLEARLY)  # they act beyond doubt
            else:
                faded = not folds.exceeds(gain, CLEARLY)
            rich = fading if faded else rich
        if folds.gain(best.held_out, rich.held_out) > LEAST_GAIN:
            best = _mix(best, rich, folds)
    return best


def fit_linear(sample: Sample, folds: Folds) -> Fitted:
    """The linear model alone."""
    if folds.outcome.name == "multinomial":
        return _fit_classes(sample, folds, fit_linear)
    return fit_path(Linear(folds.outcome), sample, folds, weaker=DECISIVE)


def _fit_constant(sample: Sample, folds: Folds) -> Fitted:
    on_folds: tuple[Model, ...] = tuple(Constant.of(part) for part in folds.train)
    held_out = (
        folds.predict(on_folds, sample.x) if on_folds else Constant.of(sample).predict(sample.y)
    )
    return Fitted(Constant.of, held_out, on_folds)


def _fit_classes(sample: Sample, folds: Folds, fit: Callable[[Sample, Folds], Fitted]) -> Fitted:
    """Each class against the rest."""
    fits = [
        fit(sample.against_rest(k), folds.against_rest(k)) for k in range(int(sample.y.max()) + 1)
    ]
    on_folds = tuple(Classes(parts) for parts in zip(*(one.on_folds for one in fits), strict=True))
    held_out = _normalize([one.held_out for one in fits])

    def fit_each(sample: Sample) -> Classes:
        return Classes(tuple(one.fit(sample.against_rest(k)) for k, one in enumerate(fits)))

    return Fitted(fit_each, held_out, on_folds)


def fit_path(family: Family, sample: Sample, folds: Folds, weaker: float = 0.0) -> Fitted:
    """The step of the path with the lowest held-out loss, or one nearer to the usual penalty."""
    if folds.is_empty:
        usual = partial(_take_step, family, family.usual)
        return Fitted(usual, usual(sample).predict(sample.x))
    models, predicted, means = list[tuple[Model, ...]](), [], []
    best = 0
    for step in zip(*(family.prepare(part).path(part) for part in folds.train), strict=True):
        models.append(step)
        predicted.append(folds.predict(step, sample.x))
        means.append(folds.mean(folds.losses(predicted[-1])))
        best = int(np.argmin(means))
        if len(means) > max(best + PATIENCE, family.usual + 1):
            break
    chosen = _move_to_usual(folds, predicted, best, family.usual, weaker)
    return Fitted(partial(_take_step, family, chosen), predicted[chosen], models[chosen])


def _take_step(family: Family, step: int, sample: Sample) -> Any:
    """The model at one step of the path."""
    return family.prepare(sample).take_step(sample, step)


def _move_to_usual(
    folds: Folds, predicted: Sequence[Tensor], best: int, usual: int, weaker: float
) -> int:
    """The best step, or the one nearest to the usual penalty that is nearly as good.

    A penalty stronger than the usual one must be better by two standard errors; a weaker one by so
    many units of log-likelihood.
    """
    losses = [folds.losses(means) for means in predicted]
    for step in range(usual, best):
        if folds.gain(predicted[step], predicted[best]) < weaker:
            return step
    for step in range(min(usual, len(losses) - 1), best, -1):
        if not folds.exceeds(losses[step] - losses[best], CLEARLY):
            return step
    return best
