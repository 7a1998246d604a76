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

from stablepred.evidence.base import FloatArray, Scores
from stablepred.heads.ridge import Linear, Pairwise, Regression, fit_ridge
from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY
from stablepred.sample import Sample

IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

CAUSE_Z = 2.58  # one-sided level of about 0.005
# At most one in this many witnesses (but at least one) is dismissed before the rest are judged
# again.
DISMISSED_AT_ONCE = 5
RIDGE = 1.0
TOL = 1e-4
MOST_PARTNERS = 3
DRAWS = 5
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
        """Judge every variable; the balancing weights are not used."""
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

    All are judged by the witnesses that stay when the unconvincing are dismissed, a few at a time.
    """
    witnesses: IndexArray = np.arange(sample.n_features)
    while True:
        model = _regress(sample, outcome, witnesses)
        z = _score_witnesses(sample, witnesses, model)
        doubtful = np.flatnonzero(z < CAUSE_Z)
        if len(doubtful) == 0 or len(witnesses) - len(doubtful) < 2:
            break
        count = max(1, len(witnesses) // DISMISSED_AT_ONCE)
        dismissed = doubtful[np.argsort(z[doubtful], kind="stable")][:count]
        witnesses = np.delete(witnesses, dismissed)
    judged = [_judge(sample, outcome, witnesses, model.pairs, j) for j in range(sample.n_features)]
    return np.array([z for z, _ in judged]), np.array([expected for _, expected in judged])


def _regress(sample: Sample, outcome: Outcome, variables: IndexArray) -> Regression:
    """Regression of y on some variables, with the products that stand out."""
    part = sample.restrict(np.isin(np.arange(sample.n_features), variables))
    return Pairwise(outcome).prepare(part).fit(part, RIDGE, TOL)


def _score_witnesses(sample: Sample, witnesses: IndexArray, model: Regression) -> FloatArray:
    """Each witness against the others, which are one Newton step away from the joint fit."""
    x, outcome = sample.x[:, witnesses], model.outcome
    beta = torch.as_tensor(model.beta, device=sample.device)
    design = Linear(outcome, model.pairs).expand(x)
    design = torch.cat([design, torch.ones_like(design[:, :1])], dim=1)
    weight = sample.copies * outcome.curvature(design @ beta, sample.y)
    curvature = design.T @ (weight[:, None] * design)
    curvature.diagonal()[:-1] += RIDGE
    curvature.diagonal()[-1] += 1e-8
    inverse = torch.linalg.inv(curvature)
    z = np.empty(len(witnesses))
    for j, own in enumerate(_columns_of_each(model.pairs, len(witnesses))):
        others = beta - inverse[:, own] @ torch.linalg.solve(inverse[own][:, own], beta[own])
        others[own] = 0
        z[j] = _opposition(sample, outcome, design[:, own] @ beta[own], design @ others)
    return z


def _columns_of_each(pairs: tuple[tuple[int, int], ...], count: int) -> list[list[int]]:
    """For each of so many variables the columns of the design that it is part of."""
    own = [[j] for j in range(count)]
    for c, (a, b) in enumerate(pairs):
        own[a].append(count + c)
        own[b].append(count + c)
    return own


def _opposition(sample: Sample, outcome: Outcome, own: Tensor, others: Tensor) -> float:
    """Minus the covariance within the strata of y, over its standard error."""
    product = -_centre(sample, outcome, own) * _centre(sample, outcome, others)
    spread = float((sample.copies @ product**2).sqrt())
    return float(sample.copies @ product) / spread if spread > 0 else 0.0


def _centre(sample: Sample, outcome: Outcome, values: Tensor) -> Tensor:
    """Around the mean of each stratum of y."""
    centred = values.clone()
    for rows in outcome.strata(sample.y):
        mass = sample.mass[rows]
        centred[rows] -= (mass @ values[rows]) / mass.sum()
    return centred


def _judge(
    sample: Sample,
    outcome: Outcome,
    witnesses: IndexArray,
    pairs: tuple[tuple[int, int], ...],
    j: int,
) -> tuple[float, float]:
    """The z of one variable against the other witnesses, and what a cause would have."""
    others = witnesses[witnesses != j]
    if len(others) == 0:
        return 0.0, 0.0
    own = sample.x[:, j]
    base = _without(outcome, pairs, witnesses, j).expand(sample.x[:, others])
    alone = fit_ridge(base, sample, outcome, RIDGE, tol=TOL)
    evidence = base @ alone[:-1] + alone[-1]
    partners = _find_partners(sample, outcome, j, others, evidence)
    own_columns = own[:, None] * torch.cat(
        [torch.ones_like(own)[:, None], sample.x[:, partners]], dim=1
    )
    k = own_columns.shape[1]
    start = torch.cat([alone.new_zeros(k), alone])
    beta = fit_ridge(torch.cat([own_columns, base], dim=1), sample, outcome, RIDGE, start, TOL)
    effect = beta[0] + sample.x[:, partners] @ beta[1:k]
    rest = base @ beta[k:-1] + beta[-1]
    z = _opposition(sample, outcome, effect * own, evidence)
    return z, _expect(sample, outcome, own, effect, rest, evidence)


def _without(
    outcome: Outcome, pairs: tuple[tuple[int, int], ...], witnesses: IndexArray, j: int
) -> Linear:
    """The form on the witnesses but ``j``."""
    position = {int(v): k for k, v in enumerate(witnesses[witnesses != j])}
    named = [(int(witnesses[a]), int(witnesses[b])) for a, b in pairs]
    return Linear(outcome, tuple((position[a], position[b]) for a, b in named if j not in (a, b)))


def _find_partners(
    sample: Sample, outcome: Outcome, j: int, others: IndexArray, evidence: Tensor
) -> list[int]:
    """Witnesses with which a variable acts together, by score statistics."""
    own = sample.x[:, [j]]
    wide = torch.cat([evidence[:, None], own], dim=1)
    beta = fit_ridge(wide, sample, outcome, RIDGE, tol=TOL)
    scores = wide @ beta[:-1] + beta[-1]
    product = own * sample.x[:, others]
    score = (sample.copies * outcome.slopes(scores, sample.y)) @ product
    variance = (sample.copies * outcome.curvature(scores, sample.y)) @ product**2
    variance = variance * outcome.dispersion(scores, sample.y, sample.mass)
    t = (score.abs() / (variance + 1e-12).sqrt()).cpu().numpy()
    best = np.argsort(-t, kind="stable")[:MOST_PARTNERS]
    return [int(others[k]) for k in best if t[k] > CAUSE_Z]


def _expect(
    sample: Sample,
    outcome: Outcome,
    own: Tensor,
    effect: Tensor,
    rest: Tensor,
    evidence: Tensor,
) -> float:
    """The z of a variable of this strength that is independent of the others.

    Its values are dealt over the rows at random and y follows the fitted model. No y is drawn:
    every stratum counts each row by its probability.
    """
    rng = np.random.default_rng(0)
    total, squares = 0.0, 0.0
    dispersion = outcome.dispersion(rest + effect * own, sample.y, sample.mass)
    for _ in range(DRAWS):
        part = effect * own[rng.permutation(len(own))]
        for share in outcome.strata_probabilities(rest + part, sample.y, dispersion):
            weight = sample.copies * share
            scale = weight.sum() + 1e-12
            product = (part - weight @ part / scale) * (evidence - weight @ evidence / scale)
            total -= float(weight @ product)
            squares += float(weight @ product**2)
    return total / DRAWS / np.sqrt(squares / DRAWS + 1e-300)


# --- is the pattern one of selection? ---


def judge_pattern(sample: Sample, outcome: Outcome, z: FloatArray, expected: FloatArray) -> float:
    """The probability that causes compete, and the others are tied to y by selection alone."""
    causes = z > CAUSE_Z
    if not causes.any():
        return 0.0
    misfit = _misfit(z, expected * causes, expected[causes])
    others = int((~causes).sum())
    largest = largest_dependence(sample, outcome, causes) if others > 1 else 0.0
    pairs = max(others * (others - 1) / 2, 1)
    chance = np.sqrt(2 * np.log(20 * pairs) / float(sample.copies.sum()))
    log_odds = (
        INTERCEPT
        + PER_MISFIT * np.log(np.clip(misfit, 0.01, 100))
        + PER_DEPENDENCE * max(largest - chance, 0.0)
    )
    return float(expit(log_odds))


def _misfit(z: FloatArray, expected: FloatArray, of_causes: FloatArray) -> float:
    """How far the evidence is from what competing causes would show: 0 exact, 1 as if none."""
    power = np.sum(np.maximum(of_causes, 0) ** 2)
    return float(np.sum((z - expected) ** 2) / power) if power > 0 else np.inf


def largest_dependence(sample: Sample, outcome: Outcome, causes: BoolArray) -> float:
    """Largest partial correlation of the others given y, the causes and their fitted signal."""
    model = _regress(sample, outcome, np.flatnonzero(causes))
    inside = sample.x[:, np.flatnonzero(causes)]
    scores = model.scores(inside)
    bounded = scores.clamp(-LARGEST_SCORE, LARGEST_SCORE)
    mean = outcome.inverse_link(scores)
    shapes = torch.stack([bounded, mean, scores.sign(), bounded.abs()], dim=1)
    signal = torch.cat([Linear(outcome, model.pairs).expand(inside), shapes], dim=1)
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
