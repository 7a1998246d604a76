"""Folds: every choice between models is made on rows that they have not seen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from torch import Tensor

from stablepred._random import child_seed, numpy_generator
from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY
from stablepred.sample import BoolArray, Sample, group_rows

# Rows with the same features stay in one fold, unless there are more of them than this: what is
# that common is known in every fold, and holding all of it out would ask for something new.
MOST_TOGETHER = 10
MOST_PIECES = 100  # into which a row that stands for many is cut
# Models are compared on at most so many different rows; of each class and environment there are at
# least the second number.
MOST_COMPARED = 20_000
LEAST_DRAWN = 1000
DECISIVE = 10.0  # a gain in log-likelihood that leaves no doubt


def draw_rows(sample: Sample, outcome: Outcome, most: int, seed: int) -> torch.Tensor:
    """At most so many rows, or more where a class is rare: 1 for those drawn, 0 for others."""
    n = len(sample.y)
    rarest = min(int(rows.sum()) for rows in outcome.strata(sample.y))
    most = max(most, LEAST_DRAWN * n // max(1, rarest))
    drawn = np.ones(n)
    if n > most:
        rng = numpy_generator(seed, "rows")
        places = np.zeros(n) if sample.environment is None else sample.environment.cpu().numpy()
        for place in np.unique(places):
            rows = np.flatnonzero(places == place)
            count = max(most * len(rows) // n, min(len(rows), LEAST_DRAWN))
            drawn[rng.permutation(rows)[count:]] = 0
    return torch.as_tensor(drawn, device=sample.device)


def draw_compared(sample: Sample, seed: int) -> Tensor:
    """Of a large table, the rows on which heads are compared, as ``draw_rows``; else all."""
    return draw_rows(sample, BINARY, MOST_COMPARED, seed)


@dataclass(frozen=True)
class Folds:
    """The training rows of each fold, and the rows of the sample that it holds out.

    ``y`` and ``copies`` are those of all held-out rows, one fold after the other. Where one class
    has too few rows to hold any out (``is_empty``), they are those of the sample itself.
    """

    train: tuple[Sample, ...]
    rows: tuple[Tensor, ...]
    y: Tensor
    copies: Tensor
    outcome: Outcome

    @property
    def is_empty(self) -> bool:
        return not self.train

    def restrict(self, features: BoolArray) -> Self:
        return replace(self, train=tuple(part.restrict(features) for part in self.train))

    def against_rest(self, k: int) -> Self:
        train = tuple(part.against_rest(k) for part in self.train)
        return replace(self, train=train, y=(self.y == k).double(), outcome=BINARY)

    def predict(self, models: Sequence[Any], x: Tensor) -> Tensor:
        """Predictions for rows ``x`` of the sample, each by the model that did not see it."""
        parts = [model.predict(x[rows]) for model, rows in zip(models, self.rows, strict=True)]
        return torch.cat(parts)

    def shares(self, sample: Sample) -> list[Tensor]:
        """The share of each row of the sample that each fold holds out."""
        held, none = self.copies.split([len(r) for r in self.rows]), torch.zeros_like(sample.copies)
        return [
            none.index_copy(0, rows, copies / sample.copies[rows])
            for rows, copies in zip(self.rows, held, strict=True)
        ]

    # --- comparisons on the held-out rows ---

    def losses(self, means: Tensor) -> Tensor:
        return self.outcome.losses_of_means(means, self.y)

    def mean(self, values: Tensor) -> float:
        return float(self.copies @ values / self.copies.sum())

    def rmse(self, means: Tensor) -> float:
        """Root-mean-square error of predicted means."""
        return self.mean(self.outcome.squared_errors(means, self.y)) ** 0.5

    def gain(self, simple: Tensor, rich: Tensor) -> float:
        """Log-likelihood of the held-out rows that one prediction of means gains over another.

        Where few rows decide, as those in the tails of a number, it is surer than a mean and its
        standard error.
        """
        unit = max(self.outcome.dispersion(rich, self.y, self.copies), 1e-12)
        return float(self.copies @ (self.losses(simple) - self.losses(rich))) / unit

    def exceeds(self, values: Tensor, errors: float) -> bool:
        """Whether the mean is above so many of its standard errors."""
        mean = self.mean(values)
        spread = float((self.copies @ (values - mean) ** 2).sqrt() / self.copies.sum())
        return mean > errors * spread


def make_folds(sample: Sample, outcome: Outcome, n_folds: int, seed: int) -> Folds:
    """One fold per environment or, of one environment, folds with all strata of the outcome.

    Of the latter there are at most as many as the rarest stratum has units of rows.
    """
    if sample.environment is not None and sample.n_environments > 1:
        held = [sample.environment == one for one in torch.unique(sample.environment)]
        return folds_of_shares(sample, outcome, [mask.double() for mask in held])
    owner, unit = _make_units(sample)
    first = owner[np.unique(unit, return_index=True)[1]]
    stratum = np.argmax([rows.cpu().numpy() for rows in outcome.strata(sample.y)], axis=0)[first]
    n_folds = min(n_folds, int(np.bincount(stratum).min()))
    if n_folds < 2:
        return Folds((), (), sample.y, sample.copies, outcome)
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=child_seed(seed, "folds"))
    tests = [test for _, test in splitter.split(stratum, stratum)]
    shares = [np.bincount(owner, np.isin(unit, test)) / np.bincount(owner) for test in tests]
    return folds_of_shares(sample, outcome, shares)


def _make_units(sample: Sample) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """What is dealt to the folds as one: for each piece, its row and the unit it moves with."""
    n, copies = len(sample.y), sample.copies.cpu().numpy()
    if sample.cluster is not None:
        return np.arange(n), np.unique(sample.cluster.cpu().numpy(), return_inverse=True)[1]
    pattern = group_rows(sample.features.cpu().numpy(), np.zeros(n), copies)[2]
    together = np.bincount(pattern, copies)[pattern] <= MOST_TOGETHER
    pieces = np.where(together, 1, np.clip(np.round(copies), 1, MOST_PIECES)).astype(np.intp)
    owner = np.repeat(np.arange(n), pieces)
    moves_with = np.where(together[owner], pattern[owner], n + np.arange(len(owner)))
    return owner, np.unique(moves_with, return_inverse=True)[1].reshape(-1)


def folds_of_shares(
    sample: Sample, outcome: Outcome, shares: Iterable[Tensor | NDArray[np.float64]]
) -> Folds:
    """Folds from the share of each row that each of them holds out."""
    train, rows, held = list[Sample](), list[Tensor](), list[Tensor]()
    for one in shares:
        share = torch.as_tensor(one, device=sample.device)
        train.append(sample.take(1 - share))
        rows.append(torch.nonzero(share).squeeze(1))
        held.append((sample.copies * share)[rows[-1]])
    index = torch.cat(rows)
    return Folds(tuple(train), tuple(rows), sample.y[index], torch.cat(held), outcome)
