"""Explaining away: do causes of the outcome compete to explain it?

Given y, a cause of y goes *against* the evidence that the other causes give for y. A variable that
is tied to y by selection on the outcome is independent of that evidence given y; one that is tied
to y by selection on its causes goes *with* it. So the sign tells the three apart, even when
selection depends on the outcome itself and the weighted effect alone cannot.

    z_j = - Cov(x_j's part of the score, score of the other witnesses | y) / its standard error

Two things keep the verdict honest. ``expected`` is the z that a cause of x_j's strength would
have if it were independent of the others: evidence can be missing only where it was to be expected.
And the pattern must be that of selection: the z of the causes as expected, and the other variables
independent of each other given y and the causes. Natural dependence looks different, and
``trust``, the probability that the pattern is one of selection, says how much.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm
from torch import Tensor

from stablepred.core.ridge import Regression, choose_pairs, expand, fit_ridge, weighted_gram
from stablepred.evidence.base import Scores
from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY
from stablepred.sample import BoolArray, FloatArray, Sample

IndexArray = NDArray[np.intp]

CAUSE_Z = 2.58  # one-sided level of about 0.005
# At most one in this many witnesses (but at least one) is dismissed before the rest are judged
# again.
DISMISSED_AT_ONCE = 5
# Rows x columns^2 that hear every witness, and rows that do in any case.
MOST_WORK, LEAST_HEARD = 5e8, 20_000
RIDGE = 1.0
TOL = 1e-4
MOST_PARTNERS = 3
MOST_PRODUCTS = 100  # of all witnesses
BLOCK = 8192  # rows whose products with matrices stay in the cache
DRAWS = 5
ENOUGH_ROWS = 100_000  # in all draws
# Log-odds that the pattern is one of selection, from the misfit and the dependence of the others.
# Fitted on synthetic worlds and on tables with natural environments (docs/method.md).
INTERCEPT, PER_MISFIT, PER_DEPENDENCE = 3.9, -1.9, -4.2
STRAY = (0.1, 0.6)  # least and most that a cause's z strays, as a share of its expectation
STABLE = 0.1  # most that a stable variable may lean towards noisy
LARGEST_SCORE = 8.0


@dataclass(frozen=True)
class ExplainingAway:
    """The z of every variable, how much it leans towards noisy, and how far that can be trusted."""

    outcome: Outcome = BINARY
    name: ClassVar[str] = "explaining_away"

    def __call__(self, sample: Sample, w: Tensor) -> Scores | None:
        if sample.n_features < 2:
            return None
        x = sample.features - sample.mass @ sample.features
        sample = replace(sample, x=x / (sample.mass @ x**2).sqrt())
        z, expected = compete(sample, self.outcome)
        causes = z > CAUSE_Z
        trust = judge_pattern(sample, self.outcome, z, expected)
        misfit = _misfit(z[causes], expected[causes], expected[causes])
        stray = np.clip(np.sqrt(misfit), *STRAY)
        as_cause = norm.logpdf(z, expected, np.sqrt(1 + (stray * expected) ** 2))
        as_noisy = norm.logpdf(z, np.minimum(z, 0.0), 1.0)
        leaning = np.asarray(expit(as_noisy - as_cause))
        stable = causes & (leaning < STABLE) & (trust > 0.5)
        return Scores(z, np.ones_like(z), z - 1.96, z + 1.96, stable, leaning, trust)


def compete(sample: Sample, outcome: Outcome) -> tuple[FloatArray, FloatArray]:
    """The z of every variable and that of a cause of its strength.

    All are judged by the witnesses that stay when the unconvincing are dismissed, a few at a time;
    of a large table, first on part of the rows.
    """
    witnesses: IndexArray = np.arange(sample.n_features)
    step = -(-len(sample.y) // max(LEAST_HEARD, int(MOST_WORK / sample.n_features**2)))
    part = sample
    if step > 1:
        order, share = sample.y.argsort(stable=True), torch.zeros_like(sample.mass)
        share[order[::step]] = share[order[-1]] = 1.0
        part = sample.take(share)
    while True:
        court = _Court(part, outcome, witnesses)
        z = court.oppose()
        doubtful = np.flatnonzero(z < CAUSE_Z)
        if len(doubtful) == 0 or len(witnesses) - len(doubtful) < 2:
            if part is sample:
                break
            part = sample  # those that stay are judged on all rows
            continue
        count = max(1, len(witnesses) // DISMISSED_AT_ONCE)
        dismissed = doubtful[np.argsort(z[doubtful], kind="stable")][:count]
        witnesses = np.delete(witnesses, dismissed)
    judged = {int(j): (z[k], court.expect_of_witness(k)) for k, j in enumerate(witnesses)}
    every = [judged.get(j) or court.judge_other(j) for j in range(sample.n_features)]
    return np.array([z for z, _ in every]), np.array([expected for _, expected in every])


class _Court:
    """A regression of y on the witnesses, with the products that stand out.

    What it would be without a witness, or with one more variable, follows by one Newton step from
    the Hessian: no variable needs a regression of its own on all others.
    """

    def __init__(self, sample: Sample, outcome: Outcome, witnesses: IndexArray) -> None:
        self.sample, self.outcome, self.witnesses = sample, outcome, witnesses
        self.model = regress(sample, outcome, witnesses)
        x = expand(sample.x[:, witnesses], self.model.products)
        self.design = torch.cat([x, torch.ones_like(x[:, :1])], dim=1)
        self.beta = torch.as_tensor(self.model.beta, device=sample.device)
        self.weight = sample.copies * outcome.curvature(self.design @ self.beta, sample.y)
        hessian = weighted_gram(self.design, self.weight)
        hessian.diagonal()[:-1] += RIDGE
        hessian.diagonal()[-1] += 1e-8
        self.inverse = torch.linalg.inv(hessian)
        strata = torch.stack(outcome.strata(sample.y))
        self.stratum = strata.byte().argmax(0)  # number of every row's stratum of y
        shares = strata * sample.mass
        self.shares = shares / shares.sum(1, keepdim=True)  # (strata, n) of rows in their stratum

    def oppose(self) -> FloatArray:
        """The z of every witness against the others, from two products of matrices."""
        split = [self._split(k) for k in range(len(self.witnesses))]
        own, others = (torch.stack(part, dim=1) for part in zip(*split, strict=True))
        means, copies = self.shares @ self.design, self.sample.copies
        total, squares = own.new_zeros(2, len(split))
        size = len(copies) if own.is_cuda else BLOCK
        parts = (a.split(size) for a in (self.design, self.stratum, copies))
        for rows, stratum, number in zip(*parts, strict=True):
            centred = rows - means[stratum]
            product = (centred @ own) * (centred @ others)
            total -= number @ product
            squares += number @ product.square()
        return np.asarray((total / squares.sqrt().clamp_min(1e-300)).cpu().numpy())

    def expect_of_witness(self, k: int) -> float:
        """The z that a cause of a witness's strength would have."""
        if len(self.witnesses) < 2:
            return 0.0
        own, others = (self.design @ part for part in self._split(k))
        effect = self.beta[k].expand(len(self.design)).clone()
        for column, partners in self._products_with(k):
            effect += self.beta[column] * self.design[:, partners].prod(dim=1)
        x = self.sample.x[:, int(self.witnesses[k])]
        return self._expect(x, effect, self.design @ self.beta - own, others)

    def _split(self, k: int) -> tuple[Tensor, Tensor]:
        """The coefficients of a witness, and those that the others have without it."""
        columns = [k, *(c for c, _ in self._products_with(k))]
        step = torch.linalg.solve(self.inverse[columns][:, columns], self.beta[columns])
        own, others = torch.zeros_like(self.beta), self.beta - self.inverse[:, columns] @ step
        own[columns], others[columns] = self.beta[columns], 0.0
        return own, others

    def _products_with(self, k: int) -> list[tuple[int, list[int]]]:
        """The columns of the products with a witness, and what it is multiplied by there."""
        first, products = len(self.witnesses), self.model.products
        return [
            (first + c, [i for i in product if i != k])
            for c, product in enumerate(products)
            if k in product
        ]

    def judge_other(self, j: int) -> tuple[float, float]:
        """The z of a variable that is no witness, and what a cause of its strength would have."""
        scores, x = self.design @ self.beta, self.sample.x
        partners = self._find_partners(j, scores)
        factors = torch.cat([torch.ones_like(scores)[:, None], x[:, partners]], dim=1)
        own = x[:, [j]] * factors
        # What the witnesses' coefficients change by when this variable joins them.
        shift = self.design @ (self.inverse @ (self.design.T @ (self.weight[:, None] * own)))
        small = torch.cat([own - shift, scores[:, None]], dim=1)
        beta = fit_ridge(small, self.sample, self.outcome, RIDGE, tol=TOL)
        effect = factors @ beta[: own.shape[1]]
        rest = small @ beta[:-1] + beta[-1] - effect * x[:, j]
        return self._z(effect * x[:, j], scores), self._expect(x[:, j], effect, rest, scores)

    def _find_partners(self, j: int, scores: Tensor) -> list[int]:
        """Witnesses with which a variable acts together, by score statistics."""
        sample, outcome = self.sample, self.outcome
        wide = torch.stack([scores, sample.x[:, j]], dim=1)
        beta = fit_ridge(wide, sample, outcome, RIDGE, tol=TOL)
        fitted = wide @ beta[:-1] + beta[-1]
        product = sample.x[:, [j]] * sample.x[:, self.witnesses]
        slope = (sample.copies * outcome.slopes(fitted, sample.y)) @ product
        variance = (sample.copies * outcome.curvature(fitted, sample.y)) @ product**2
        variance = variance * outcome.dispersion(fitted, sample.y, sample.mass)
        t = (slope.abs() / (variance + 1e-12).sqrt()).cpu().numpy()
        best = np.argsort(-t, kind="stable")[:MOST_PARTNERS]
        return [int(self.witnesses[k]) for k in best if t[k] > CAUSE_Z]

    def _z(self, own: Tensor, others: Tensor) -> float:
        """Minus the covariance within the strata of y, over its standard error."""
        own, others = (part - (self.shares @ part)[self.stratum] for part in (own, others))
        product = -own * others
        spread = float((self.sample.copies @ product**2).sqrt())
        return float(self.sample.copies @ product) / spread if spread > 0 else 0.0

    def _expect(self, own: Tensor, effect: Tensor, rest: Tensor, evidence: Tensor) -> float:
        """The z of a variable of this strength that is independent of the others.

        Its values are dealt over the rows at random and y follows the fitted model. No y is drawn:
        every stratum counts each row by its probability.
        """
        total, squares, draws = 0.0, 0.0, max(1, min(DRAWS, ENOUGH_ROWS // len(own)))
        y, copies, rng = self.sample.y, self.sample.copies, np.random.default_rng(0)
        dispersion = self.outcome.dispersion(rest + effect * own, y, self.sample.mass)
        for _ in range(draws):
            part = effect * own[torch.as_tensor(rng.permutation(len(own)), device=own.device)]
            for share in self.outcome.strata_probabilities(rest + part, y, dispersion):
                weight = copies * share
                scale = weight.sum() + 1e-12
                product = (part - weight @ part / scale) * (evidence - weight @ evidence / scale)
                total -= float(weight @ product)
                squares += float(weight @ product**2)
        return total / draws / np.sqrt(squares / draws + 1e-300)


def regress(sample: Sample, outcome: Outcome, variables: IndexArray) -> Regression:
    """Regression of y on some variables, with the products that stand out."""
    part = sample.restrict(np.isin(np.arange(sample.n_features), variables))
    form = choose_pairs(outcome, part, everywhere=True, most=MOST_PRODUCTS)
    return form.fit(part, RIDGE, TOL)


# --- is the pattern one of selection? ---


def judge_pattern(sample: Sample, outcome: Outcome, z: FloatArray, expected: FloatArray) -> float:
    """The probability that causes compete, and the others are tied to y by selection alone."""
    if not (z > CAUSE_Z).any():
        return 0.0
    misfit, dependence = describe_pattern(sample, outcome, z, expected)
    return float(expit(INTERCEPT + PER_MISFIT * misfit + PER_DEPENDENCE * dependence))


def describe_pattern(
    sample: Sample, outcome: Outcome, z: FloatArray, expected: FloatArray
) -> tuple[float, float]:
    """Logarithm of the misfit, and the dependence of the others beyond chance."""
    causes = z > CAUSE_Z
    misfit = np.log(np.clip(_misfit(z, expected * causes, expected[causes]), 0.01, 100))
    others = int((~causes).sum())
    if others < 2:
        return float(misfit), 0.0
    chance = np.sqrt(2 * np.log(10 * others * (others - 1)) / float(sample.copies.sum()))
    return float(misfit), float(max(largest_dependence(sample, outcome, causes) - chance, 0.0))


def _misfit(z: FloatArray, expected: FloatArray, of_causes: FloatArray) -> float:
    """How far the evidence is from what competing causes would show: 0 exact, 1 as if none."""
    power = np.sum(np.maximum(of_causes, 0) ** 2)
    return float(np.sum((z - expected) ** 2) / power) if power > 0 else np.inf


def largest_dependence(sample: Sample, outcome: Outcome, causes: BoolArray) -> float:
    """Largest partial correlation of the others given y, the causes and their fitted signal."""
    model = regress(sample, outcome, np.flatnonzero(causes))
    inside = sample.x[:, np.flatnonzero(causes)]
    scores = model.scores(inside)
    bounded = scores.clamp(-LARGEST_SCORE, LARGEST_SCORE)
    mean = outcome.inverse_link(scores)
    shapes = torch.stack([bounded, mean, scores.sign(), bounded.abs()], dim=1)
    signal = torch.cat([expand(inside, model.products), shapes], dim=1)
    ones, y = torch.ones_like(signal[:, :1]), sample.y[:, None]
    root = sample.copies.sqrt()[:, None]
    given = torch.cat([ones, y, signal, signal * y], dim=1) * root
    x = sample.x[:, np.flatnonzero(~causes)] * root
    gram = given.T @ given
    gram.diagonal().add_(1e-6 * gram.trace() / len(gram))
    cross = given.T @ x
    covariance = x.T @ x - cross.T @ torch.linalg.solve(gram, cross)
    sd = covariance.diagonal().clamp_min(1e-12).sqrt()
    correlations = covariance / sd[:, None] / sd
    return float(correlations.fill_diagonal_(0).abs().max())
