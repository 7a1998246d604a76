"""Ridge regression over a path of penalties, on the columns alone or with products of some.

    min over beta:  sum_i c_i loss(y_i, beta'z_i + b) + penalty / 2 ||beta||^2

with c_i the number of rows that row i stands for. A path starts at a strong penalty and is
warm-started, so that one more step costs little.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.stats import norm
from torch import Tensor

from stablepred.core.resources import LARGE
from stablepred.io.save import storable
from stablepred.outcomes.base import Outcome
from stablepred.sample import FloatArray, Sample

PENALTIES = [10.0**power for power in np.arange(3, -6.01, -0.5)]
USUAL = 6  # the step of the path at which the penalty is 1
INTERCEPT_PENALTY = 1e-8
CURVATURE = 1e-10  # added to the Hessian, so that it can be solved
SCREEN_Z = 2.5  # products are considered where their score statistic exceeds this
ROUNDS = 3
MOST_STEPS = 50
MOST_FOR_TRIPLES = 40  # columns
ROWS_FOR_TRIPLES = 20_000
BULK = 0.95  # of the training rows, by mass
BLOCK = 8192  # rows whose weighted copy stays in the cache
CHANCE = 0.01  # that a triple stands out though none matters
Products = tuple[tuple[int, ...], ...]


def fit_ridge(
    z: Tensor,
    sample: Sample,
    outcome: Outcome,
    penalty: float,
    start: Tensor | None = None,
    tol: float = 1e-6,
) -> Tensor:
    """Coefficients of the columns of ``z``, the intercept last, by damped Newton steps."""
    y, copies = sample.y, sample.copies
    wide = torch.cat([z, torch.ones_like(z[:, :1])], dim=1)
    beta = wide.new_zeros(wide.shape[1]) if start is None else start
    ridge = torch.full_like(beta, penalty)
    ridge[-1] = INTERCEPT_PENALTY

    def objective(b: Tensor, scores: Tensor) -> float:
        return float(copies @ outcome.losses(scores, y) + 0.5 * ridge @ b**2)

    scores = wide @ beta
    value = objective(beta, scores)
    for _ in range(MOST_STEPS):
        gradient = wide.T @ (copies * outcome.slopes(scores, y)) + ridge * beta
        hessian = weighted_gram(wide, copies * outcome.curvature(scores, y))
        hessian.diagonal().add_(ridge + CURVATURE)
        step = torch.linalg.solve(hessian, gradient)
        decrement = float(gradient @ step)
        if decrement < tol * max(value, 1e-3):
            break
        change = wide @ step  # of the scores: the line search needs no product of its own
        size, lower = 1.0, objective(beta - step, scores - change)
        while lower > value - 1e-4 * size * decrement and size > 1e-4:
            size /= 2
            lower = objective(beta - size * step, scores - size * change)
        if not lower < value:
            break
        beta, scores, value = beta - size * step, scores - size * change, lower
    return beta


def weighted_gram(x: Tensor, weight: Tensor) -> Tensor:
    """The matrix x' diag(weight) x, block by block; on a GPU all at once.

    Of a large matrix as R'R - S'S, with R and S the rows of positive and of negative weight times
    the roots of their sizes: NumPy computes half of a product with its own transpose.
    """
    if x.is_cuda:
        return (x * weight[:, None]).T @ x
    gram = x.new_zeros(x.shape[1], x.shape[1])
    for rows, by in zip(x.split(BLOCK), weight.split(BLOCK), strict=True):
        if x.numel() < LARGE:
            gram.addmm_((rows * by[:, None]).T, rows)
            continue
        for sign in (1, -1):
            own = sign * by > 0
            root = (rows[own] * by[own].abs().sqrt()[:, None]).numpy()
            gram.add_(torch.from_numpy(np.dot(root.T, root)), alpha=sign)
    return gram


@storable
@dataclass(frozen=True, eq=False)
class Support:
    """Where the training rows are; beyond, products of columns fade out.

        d(x) = (x - center)' precision (x - center),   share = min(1, limit / d(x))^2

    with ``limit`` the 95 % quantile of d in training. A product is the part of a model that goes
    astray first where rows are unlike those of training.
    """

    center: FloatArray
    precision: FloatArray
    limit: float

    @classmethod
    def of(cls, sample: Sample) -> "Support":
        x, mass = sample.x, sample.mass
        center = mass @ x
        covariance = (x - center).T @ (mass[:, None] * (x - center))
        covariance.diagonal().add_(1e-3 * covariance.diagonal().mean() + 1e-12)
        precision = torch.linalg.inv(covariance)
        distance, order = (((x - center) @ precision) * (x - center)).sum(1).sort()
        inside = (mass[order].cumsum(0) < BULK).sum()
        limit = float(distance[min(int(inside), len(distance) - 1)])
        return cls(center.cpu().numpy(), precision.cpu().numpy(), max(limit, 1e-12))

    def share(self, x: Tensor) -> Tensor:
        """The share of the products that is left, row by row."""
        away = x - torch.as_tensor(self.center, device=x.device)
        distance = ((away @ torch.as_tensor(self.precision, device=x.device)) * away).sum(1)
        return (self.limit / distance.clamp_min(self.limit)).square()

    def check_columns(self, width: int) -> None:
        finite = np.isfinite(self.precision).all() and np.isfinite(self.center).all()
        shapes = (self.center.shape, self.precision.shape) == ((width,), (width, width))
        if not shapes or not finite or not 0 < self.limit < np.inf:
            raise ValueError("the support does not fit the columns")


@dataclass(frozen=True)
class Linear:
    """Ridge regression on the columns and the ``products`` of some of them."""

    outcome: Outcome
    products: Products = ()
    support: Support | None = None

    def fit(self, sample: Sample, penalty: float = 1.0, tol: float = 1e-6) -> "Regression":
        z = expand(sample.x, self.products, self.support)
        beta = fit_ridge(z, sample, self.outcome, penalty, tol=tol)
        return Regression(self.outcome, self.products, beta.cpu().numpy(), self.support)

    def path(self, sample: Sample) -> Iterator["Regression"]:
        """A regression per penalty, from the strongest on."""
        z, beta = expand(sample.x, self.products, self.support), None
        for penalty in PENALTIES:
            beta = fit_ridge(z, sample, self.outcome, penalty, beta)
            yield Regression(self.outcome, self.products, beta.cpu().numpy(), self.support)

    def take_step(self, sample: Sample, step: int) -> "Regression":
        return self.fit(sample, PENALTIES[step])


@storable
@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted ridge regression; the intercept is the last coefficient."""

    outcome: Any
    products: tuple[tuple[int, ...], ...]
    beta: FloatArray
    support: Support | None = None

    def scores(self, x: Tensor) -> Tensor:
        """What the inverse link is applied to: log-odds for a 0/1 outcome."""
        beta = torch.as_tensor(self.beta, device=x.device)
        return expand(x, self.products, self.support) @ beta[:-1] + beta[-1]

    def predict(self, x: Tensor) -> Tensor:
        return self.outcome.inverse_link(self.scores(x))

    def check_columns(self, width: int) -> None:
        if not hasattr(self.outcome, "inverse_link"):
            raise ValueError("the outcome of a regression is none")
        small = (np.abs(self.beta) < 1e100).all()  # sums and squares of larger ones may overflow
        if self.beta.shape != (width + len(self.products) + 1,) or not small:
            raise ValueError("the coefficients do not fit the columns")
        if any(not 0 <= k < width for product in self.products for k in product):
            raise ValueError("a product names a column that is not there")
        if self.support is not None:
            self.support.check_columns(width)


def choose_pairs(
    outcome: Outcome, sample: Sample, everywhere: bool = False, most: int | None = None
) -> Linear:
    """The form with the products of two columns that stand out on the training rows.

    The score statistics of all products cost one Gram matrix; the strongest are added, in a few
    rounds, ``most`` of them at most. Unless ``everywhere``, they fade out beyond the support of
    the rows.
    """
    rows, widest = int(sample.copies.sum()), 2 * sample.n_features
    limit = max(4, min(most or widest, widest, rows // 20))
    form = Linear(outcome)
    for _ in range(ROUNDS):
        new = [pair for pair in screen_pairs(form, sample) if pair not in set(form.products)]
        if not new:
            break
        form = Linear(outcome, (*form.products, *new[: max(2, limit // ROUNDS)]))
    return form if everywhere or not form.products else replace(form, support=Support.of(sample))


def choose_triples(outcome: Outcome, sample: Sample, everywhere: bool = False) -> Linear:
    """The form with pairs, and with the triples that stand out once those are in."""
    form = choose_pairs(outcome, sample, everywhere=True)
    limit = max(2, min(sample.n_features, int(sample.copies.sum()) // 50))
    products = form.products + tuple(screen_triples(form, sample)[:limit])
    return Linear(outcome, products, None if everywhere else Support.of(sample))


def has_triples(outcome: Outcome, sample: Sample) -> bool:
    return bool(screen_triples(choose_pairs(outcome, sample, everywhere=True), sample))


def screen_pairs(form: Linear, sample: Sample) -> list[tuple[int, int]]:
    """Pairs of columns of different variables by falling score statistic, above SCREEN_Z."""
    x, y, copies, outcome = sample.x, sample.y, sample.copies, form.outcome
    scores = form.fit(sample, tol=1e-4).scores(x)
    variance = outcome.dispersion(scores, y, sample.mass) * outcome.curvature(scores, y) + 1e-6
    centred = x - sample.mass @ x
    score = weighted_gram(centred, copies * outcome.slopes(scores, y))
    t = _studentize(score, weighted_gram(centred**2, copies * variance))
    t[sample.groups[:, None] == sample.groups] = 0
    a, b = np.triu_indices(len(t), 1)
    order = np.argsort(-t[a, b], kind="stable")
    return [(int(a[k]), int(b[k])) for k in order if t[a[k], b[k]] > SCREEN_Z]


def screen_triples(form: Linear, sample: Sample) -> list[tuple[int, int, int]]:
    """Triples of columns of different variables whose score statistic is beyond chance."""
    q, outcome = sample.n_features, form.outcome
    if not 3 <= q <= MOST_FOR_TRIPLES:
        return []
    every = -(-len(sample.y) // ROWS_FOR_TRIPLES)
    x, y, copies = sample.x[::every], sample.y[::every], sample.copies[::every]
    scores = form.fit(sample, tol=1e-4).scores(x)
    dispersion = outcome.dispersion(scores, y, copies / copies.sum())
    variance = dispersion * outcome.curvature(scores, y) + 1e-6
    centred = x - sample.mass @ sample.x
    a, b = np.triu_indices(q, 1)
    pairs = centred[:, a] * centred[:, b]
    score = pairs.T @ (centred * (copies * outcome.slopes(scores, y))[:, None])
    t = _studentize(score, (pairs**2).T @ (centred**2 * (copies * variance)[:, None]))
    first, second, third = sample.groups[a, None], sample.groups[b, None], sample.groups
    distinct = (first != second) & (second != third) & (first != third)
    t[~(distinct & (np.arange(q) > b[:, None]))] = 0
    found = np.argwhere(t > norm.isf(CHANCE / (q * (q - 1) * (q - 2) / 3)))
    order = np.argsort(-t[found[:, 0], found[:, 1]], kind="stable")
    return [(int(a[k]), int(b[k]), int(c)) for k, c in found[order]]


def _studentize(score: Tensor, spread: Tensor) -> FloatArray:
    return np.asarray((score.abs() / (spread + 1e-12).sqrt()).cpu().numpy())


def expand(x: Tensor, products: Products, support: Support | None = None) -> Tensor:
    """The columns of ``x``, then the products of some of them, as far as they can be relied on."""
    if not products:
        return x
    first, second = (torch.tensor([one[k] for one in products]) for k in (0, 1))
    wide = x[:, first] * x[:, second]
    triples = [k for k, one in enumerate(products) if len(one) > 2]
    wide[:, triples] *= x[:, [products[k][2] for k in triples]]
    return torch.cat([x, wide if support is None else wide * support.share(x)[:, None]], dim=1)
