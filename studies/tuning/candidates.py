"""The candidates of the tuning study: weighted logistic regressions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from stablepred.core.head import fit_head, zero_head
from stablepred.sample import Origin, Sample

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

REFITS = (False, "weighted", "plain")


class Candidate(NamedTuple):
    """One way to fit the head."""

    weighting: str
    l1: float
    refit: bool | str


@dataclass(frozen=True)
class Heads:
    """Fitted candidates: logits are ``x @ beta + intercept``."""

    beta: FloatArray  # (p, candidates)
    intercept: FloatArray  # (candidates,)

    def probability(self, x: FloatArray) -> FloatArray:
        """P(y = 1) of rows for every candidate: (n, candidates)."""
        return np.asarray(expit(x @ self.beta + self.intercept))

    @property
    def constant(self) -> BoolArray:
        """Which candidates have no feature left."""
        return ~(self.beta != 0).any(axis=0)


def candidate_list(
    x: FloatArray, y: FloatArray, weights: dict[str, FloatArray], length: int
) -> list[Candidate]:
    """Plain LR, then a path of lambda_5 and every refit for each kind of weights."""
    found = [Candidate("none", 0.0, False)]
    for name, w in weights.items():
        base = np.average(y, weights=w)
        largest = float(np.abs(x.T @ (w * (y - base))).max() / w.sum())
        for l1 in largest * np.geomspace(0.7, 1e-3, length):
            # Without weights a weighted refit is the plain one.
            refits = REFITS[:2] if name == "none" else REFITS
            found += [Candidate(name, float(l1), refit) for refit in refits]
    return found


def sample_of_rows(x: FloatArray, y: FloatArray) -> Sample:
    """A sample with exactly these rows and columns, in this order, none of them grouped."""
    n, p = x.shape
    names = [f"x{j}" for j in range(p)]
    origin = Origin(names, np.arange(p), np.arange(n), np.ones(n, dtype=bool), n)
    rows, outcome = (torch.as_tensor(a, dtype=torch.float64) for a in (x, y))
    ones = torch.ones_like(outcome)
    return Sample(rows, outcome, ones / n, ones, origin, [])


def fit_heads(
    x: FloatArray, y: FloatArray, weights: dict[str, FloatArray], candidates: Sequence[Candidate]
) -> Heads:
    """Fit all candidates; those that differ by their refit alone share the first fit."""
    sample = sample_of_rows(x, y)
    z, even = sample.x, sample.mass
    l2 = 0.5 / len(y)  # scikit-learn's C = 1
    masses = {name: torch.as_tensor(w / w.sum()) for name, w in weights.items()}
    last, fitted = zero_head(z), None
    beta = np.zeros((x.shape[1], len(candidates)))
    intercept = np.zeros(len(candidates))
    for k, c in enumerate(candidates):
        if fitted != (c.weighting, c.l1):
            mass = masses[c.weighting]
            last = fit_head(sample, z, mass, l2=l2, l1=c.l1, start=last, tol=1e-9)
            fitted = (c.weighting, c.l1)
        head, kept = last, last.beta != 0
        if c.refit is not False and bool(kept.any()):
            mass = even if c.refit == "plain" else masses[c.weighting]
            head = fit_head(sample, z[:, kept], mass, l2=l2, l1=0.0, tol=1e-9)
            beta[kept.numpy(), k] = head.beta.numpy()
        else:
            beta[:, k] = head.beta.numpy()
        intercept[k] = float(head.intercept)
    return Heads(beta, intercept)


class WeightedHead(ClassifierMixin, BaseEstimator):
    """One candidate as an estimator, for the search itself.

    ``tables`` holds the weights of all training rows by kind; the rows of X are found in them by
    their labels.
    """

    def __init__(
        self,
        tables: dict[str, pd.Series] | None = None,
        weighting: str = "none",
        l1: float = 0.0,
        refit: bool | str = False,
    ) -> None:
        self.tables = tables
        self.weighting = weighting
        self.l1 = l1
        self.refit = refit

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        """Fit the head under the weights of these rows."""
        assert self.tables is not None
        self.classes_ = np.unique(y)
        w = {self.weighting: self.tables[self.weighting].loc[X.index].to_numpy()}
        candidate = Candidate(self.weighting, self.l1, self.refit)
        x, target = np.array(X, dtype=np.float64), np.array(y, dtype=np.float64)
        self.heads_ = fit_heads(x, target, w, [candidate])
        return self

    def predict_proba(self, X: pd.DataFrame) -> FloatArray:
        """Probabilities of both classes."""
        positive = self.heads_.probability(X.to_numpy(np.float64))
        return np.hstack([1 - positive, positive])
