"""Explaining away: the evidence of the draft that a variable is a cause.

Causes of a common effect compete to explain it: given y, a cause goes against what the other
causes say. z is minus the covariance, within the strata of y, of a variable's part of the logit
and the logit of a regression on the other witnesses, over its standard error. ``expected`` is the
z of a cause of this strength that is by nature independent of the others: evidence can only be
missing where it was to be expected.

Every variable is one number per row: its column, or, for several columns (levels of a category, a
number and its indicator), what a regression of y on all columns makes of them.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from studies.natural.draft.data import FloatArray, IntArray, TrainingData
from studies.natural.draft.linear import Linear, Logistic, Pairwise, newton

CAUSE_Z = 2.58
DISMISSED_AT_ONCE = 5  # a fifth of the witnesses at a time
RIDGE = 1.0
TOL = 1e-4
MOST_PARTNERS = 3
DRAWS = 5


@dataclass(frozen=True, eq=False)
class Competition:
    """The z of every variable, and what a cause of its strength would have."""

    z: FloatArray
    expected: FloatArray

    @property
    def causes(self) -> np.ndarray:
        """Variables with clear evidence of being a cause."""
        return self.z > CAUSE_Z


def one_column_each(data: TrainingData) -> TrainingData:
    """The same rows with one standardised column per variable."""
    beta = newton(data.x, data, 1.0, tol=TOL)
    s = np.empty((len(data), data.n_variables))
    for j in range(data.n_variables):
        own = data.groups == j
        s[:, j] = data.x[:, own][:, 0] if own.sum() == 1 else data.x[:, own] @ beta[:-1][own]
    s -= np.average(s, axis=0, weights=data.w)
    sd = np.sqrt(np.average(s**2, axis=0, weights=data.w))
    return replace(data, x=s / np.where(sd > 0, sd, 1.0), groups=np.arange(data.n_variables))


def explain_away(data: TrainingData) -> Competition:
    """Judge all variables by the witnesses that stay when the unconvincing are dismissed."""
    p = data.n_variables
    witnesses: IntArray = np.arange(p)
    while True:
        model = regress(data, witnesses)
        z = _score_witnesses(data, witnesses, model)
        doubtful = np.flatnonzero(z < CAUSE_Z)
        if len(doubtful) == 0 or len(witnesses) - len(doubtful) < 2:
            break
        count = max(1, len(witnesses) // DISMISSED_AT_ONCE)
        witnesses = np.delete(witnesses, doubtful[np.argsort(z[doubtful])][:count])
    judged = [_judge(data, witnesses, model.form, j) for j in range(p)]
    return Competition(np.array([z for z, _ in judged]), np.array([e for _, e in judged]))


def regress(data: TrainingData, variables: IntArray) -> Logistic:
    """Regression of y on some variables, with the products that stand out."""
    part = data.select(np.isin(np.arange(data.n_variables), variables))
    form = Pairwise().prepare(part)
    return Logistic(form, newton(form.design(part.x), part, RIDGE, tol=TOL))


def _score_witnesses(data: TrainingData, witnesses: IntArray, model: Logistic) -> FloatArray:
    """Each witness against the others, which are one Newton step away from the joint fit."""
    beta, w = model.beta, data.w
    design = np.column_stack([model.form.design(data.x[:, witnesses]), np.ones(len(data))])
    mu = expit(design @ beta)
    curvature = (design * (w * mu * (1 - mu))[:, None]).T @ design
    curvature[np.diag_indices_from(curvature)] += np.r_[np.full(len(beta) - 1, RIDGE), 1e-8]
    inverse = np.linalg.inv(curvature)
    z = np.empty(len(witnesses))
    for j, own in enumerate(_columns_of_each(model.form, len(witnesses))):
        others = beta - inverse[:, own] @ np.linalg.solve(inverse[np.ix_(own, own)], beta[own])
        others[own] = 0
        z[j] = _opposition(data, design[:, own] @ beta[own], design @ others)
    return z


def _columns_of_each(form: Linear, count: int) -> list[list[int]]:
    """For each of so many variables the columns of the design that it is part of."""
    own = [[j] for j in range(count)]
    for c, (a, b) in enumerate(form.pairs):
        own[a].append(count + c)
        own[b].append(count + c)
    return own


def _opposition(data: TrainingData, own: FloatArray, others: FloatArray) -> float:
    """Minus the covariance within the strata of y, over its standard error."""
    product = -_centre(data, own) * _centre(data, others)
    spread = np.sqrt(np.sum(data.w * product**2))
    return float(data.w @ product / spread) if spread > 0 else 0.0


def _centre(data: TrainingData, values: FloatArray) -> FloatArray:
    """Around the mean of each stratum of y."""
    centred = np.empty_like(values)
    for rows in (data.y == 0, data.y == 1):
        centred[rows] = values[rows] - np.average(values[rows], weights=data.w[rows])
    return centred


def _judge(data: TrainingData, witnesses: IntArray, form: Linear, j: int) -> tuple[float, float]:
    """The z of one variable against the other witnesses, and what a cause would have."""
    others = witnesses[witnesses != j]
    if len(others) == 0:
        return 0.0, 0.0
    own = data.x[:, j]
    base = _without(form, witnesses, j).design(data.x[:, others])
    alone = newton(base, data, RIDGE, tol=TOL)
    evidence = base @ alone[:-1] + alone[-1]
    partners = _find_partners(data, j, others, evidence)
    columns = np.column_stack([own, *[own * data.x[:, k] for k in partners]])
    k = columns.shape[1]
    beta = newton(np.hstack([columns, base]), data, RIDGE, np.r_[np.zeros(k), alone], tol=TOL)
    parts = zip(beta[1:k], partners, strict=True)
    effect = beta[0] + sum((b * data.x[:, i] for b, i in parts), np.zeros(len(data)))
    rest = base @ beta[k:-1] + beta[-1]
    z = _opposition(data, effect * own, evidence)
    return z, _expect(own, effect, rest, evidence, data.w)


def _without(form: Linear, witnesses: IntArray, j: int) -> Linear:
    """The form on the witnesses but ``j``."""
    position = {int(v): k for k, v in enumerate(witnesses[witnesses != j])}
    pairs = [(int(witnesses[a]), int(witnesses[b])) for a, b in form.pairs]
    return Linear(tuple((position[a], position[b]) for a, b in pairs if j not in (a, b)))


def _find_partners(data: TrainingData, j: int, others: IntArray, evidence: FloatArray) -> list[int]:
    """Witnesses with which a variable acts together, by score statistics."""
    own = data.x[:, [j]]
    wide = np.column_stack([evidence, own])
    mu = Logistic(Linear(), newton(wide, data, RIDGE, tol=TOL)).predict(wide)
    product = own * data.x[:, others]
    score = (data.w * (data.y - mu)) @ product
    spread = np.sqrt((data.w * mu * (1 - mu)) @ product**2 + 1e-12)
    t = np.abs(score) / spread
    return [int(others[k]) for k in np.argsort(-t)[:MOST_PARTNERS] if t[k] > CAUSE_Z]


def _expect(
    own: FloatArray, effect: FloatArray, rest: FloatArray, evidence: FloatArray, w: FloatArray
) -> float:
    """The z of a variable of this strength that is independent of the others.

    Its values are dealt over the rows at random and y follows the fitted model. No y is drawn:
    both outcomes of each row count by their probability.
    """
    rng = np.random.default_rng(0)
    products, squares = [], []
    for _ in range(DRAWS):
        x = own[rng.permutation(len(own))]
        mu = expit(rest + effect * x)
        for weight in (w * mu, w * (1 - mu)):
            a = effect * x
            a = a - np.average(a, weights=weight + 1e-12)
            b = evidence - np.average(evidence, weights=weight + 1e-12)
            products.append(-(weight @ (a * b)))
            squares.append(weight @ (a * b) ** 2)
    return float(np.sum(products) / DRAWS / np.sqrt(np.sum(squares) / DRAWS + 1e-300))
