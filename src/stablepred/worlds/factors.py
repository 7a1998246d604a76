"""Exact draws from a law that is a product of small tables (variable elimination).

    P(x) = 1/total prod_f table_f(x restricted to the scope of f)

Variables are summed out one after the other, which leaves one table on the neighbours of each.
Backwards, each is drawn given those neighbours, by the product of the same tables. Both are exact;
the price is the largest table on the way, which is small for chains and rings of local factors.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from stablepred.worlds.environment import FloatArray

if TYPE_CHECKING:
    from stablepred.worlds.synthetic import SyntheticWorld

Values = dict[str, npt.NDArray[np.int8]]

CHUNK = 16_384  # rows drawn at a time, so that the gathered tables stay in the cache
MERGED = 131_072  # largest product of tables that is kept instead of the tables
NODES = 10
WINDOW = 6  # Z_i is a sum over S_i ... S_{i+5}
TARGET = "target"


class Factor(NamedTuple):
    """A table of non-negative numbers with one axis per variable of its scope."""

    scope: tuple[str, ...]
    table: FloatArray


class FactorGraph:
    """Discrete variables whose joint law is proportional to a product of factors.

    ``sizes`` has the number of values of each variable, at most 127; each must be in a scope.
    ``log_total`` is the logarithm of the sum of the product over all values of all variables.
    """

    def __init__(
        self, sizes: Mapping[str, int], factors: Sequence[Factor], start: str | None = None
    ) -> None:
        self.log_total, self.names = 0.0, list(sizes)
        # Each variable with the factors, it being last in their scopes, whose product is its law.
        self._steps: list[tuple[str, list[Factor]]] = []
        scopes, remaining = tuple(factor.scope for factor in factors), list(factors)
        for name in elimination_order(tuple(sizes.items()), scopes, start):
            bucket = [factor for factor in remaining if name in factor.scope]
            bucket.sort(key=lambda factor: factor.table.size)
            if prod(sizes[v] for v in {v for f in bucket for v in f.scope}) <= MERGED:
                bucket = [_product(bucket, name)]
            for k, factor in enumerate(bucket):  # with the variable last in their scopes
                scope = (*(v for v in factor.scope if v != name), name)
                bucket[k] = Factor(scope, np.ascontiguousarray(_aligned(factor, scope)))
            self._steps.append((name, bucket))
            message = _contract(_product(bucket[:-1], name), bucket[-1], name)
            scale = float(message.table.max())
            self.log_total += float(np.log(scale))
            remaining = [factor for factor in remaining if name not in factor.scope]
            remaining.append(Factor(message.scope, message.table / scale))

    def extend(
        self, drawn: Values, n: int, rng: np.random.Generator, names: Collection[str]
    ) -> Values:
        """Draw ``names``, and what they depend on, given some rows of an earlier call."""
        needed = set(names)
        for name, factors in self._steps:
            if name in needed and name not in drawn:
                needed.update(*(factor.scope for factor in factors))
        todo = [step for step in reversed(self._steps) if step[0] in needed - set(drawn)]
        values = dict(drawn) | {name: np.empty(n, dtype=np.int8) for name, _ in todo}
        for start in range(0, n, CHUNK):
            rows = {v: column[start : start + CHUNK] for v, column in values.items()}
            for name, factors in todo:
                _draw(name, factors, rows, rng)
        return values


def _draw(name: str, factors: list[Factor], values: Values, rng: np.random.Generator) -> None:
    """Draw one variable in place, given its neighbours, by inverting its distribution."""
    out = values[name]
    weight: FloatArray = np.ones((len(out), 1))
    for factor in factors:
        weight = weight * factor.table[tuple(values[v] for v in factor.scope[:-1])]
    cumulative = np.cumsum(weight.T, axis=0)
    threshold = rng.random(len(out)) * cumulative[-1]
    out[:] = 0
    for reached in cumulative[:-1]:
        out += reached <= threshold


def _product(factors: Sequence[Factor], name: str) -> Factor:
    """The product of factors as one factor, with ``name`` as its last variable."""
    scope = (*dict.fromkeys(v for f in factors for v in f.scope if v != name), name)
    table: FloatArray = np.ones(1)
    for factor in factors:
        table = table * _aligned(factor, scope)
    return Factor(scope, table) if factors else Factor((), np.ones(()))


def _contract(left: Factor, right: Factor, name: str) -> Factor:
    """Sum of left * right over ``name``, as a batch of matrix products."""
    if not left.scope:
        return Factor(right.scope[:-1], right.table.sum(axis=-1))
    common = tuple(v for v in left.scope if v in right.scope and v != name)
    rows = tuple(v for v in left.scope if v not in right.scope)
    columns = tuple(v for v in right.scope if v not in left.scope)
    a = _aligned(left, (*common, *rows, name))
    b = _aligned(right, (*common, *columns, name))
    k, size = len(common), a.shape[-1]
    stack = prod(a.shape[:k])
    product = a.reshape(stack, -1, size) @ b.reshape(stack, -1, size).transpose(0, 2, 1)
    product = product.reshape((*a.shape[:-1], *b.shape[k:-1]))
    return Factor((*common, *rows, *columns), product)


def _aligned(factor: Factor, scope: tuple[str, ...]) -> FloatArray:
    """The table with its axes in the order of ``scope``, of length one where it does not depend."""
    order = [factor.scope.index(v) for v in scope if v in factor.scope]
    lengths = dict(zip(factor.scope, factor.table.shape, strict=True))
    return factor.table.transpose(order).reshape([lengths.get(v, 1) for v in scope])


@lru_cache(maxsize=64)
def elimination_order(
    sizes: tuple[tuple[str, int], ...],
    scopes: tuple[tuple[str, ...], ...],
    start: str | None = None,
) -> tuple[str, ...]:
    """Order in which to sum out variables so that the tables on the way stay small.

    First and at any time those whose neighbours are all joined already; then ``start``; then, among
    the neighbours of what has been summed out, the one that joins the fewest new pairs.
    """
    lengths = dict(sizes)
    neighbours = {v: {o for s in scopes if v in s for o in s} - {v} for v in lengths}

    def price(name: str) -> tuple[int, int]:
        """Pairs of neighbours not joined yet, and the size of the table they would share."""
        around = neighbours[name]
        joined = sum(len(around & neighbours[other]) for other in around)
        missing = len(around) * (len(around) - 1) - joined
        return missing, prod(lengths[v] for v in around) * lengths[name]

    front: set[str] = {start} & set(lengths) if start is not None else set()
    order: list[str] = []
    while neighbours:
        cost = {name: price(name) for name in neighbours}
        name = min(cost, key=cost.__getitem__)
        simple = cost[name][0] == 0
        if not simple and front:
            name = min(sorted(front), key=cost.__getitem__)
        around = neighbours.pop(name)
        order.append(name)
        for other in around:
            neighbours[other] |= around
            neighbours[other] -= {name, other}
        front = (front if simple else front | around) - {name}
    return tuple(order)


# --- the selected worlds of section 6.2 as products of small tables ---
#
# Features are signs of Gaussian variables, or thresholds of sums of two of them. A Gaussian is
# written as sign and magnitude; magnitudes are only integrated over, and every integrand is smooth
# in them: they take the values of a Gauss quadrature for the half-normal law. With 10 nodes the law
# of all features at p = 10 is within 1e-9 (total variation) of the one with 26, or 1e-7 where the
# noise is read as a variance.


def selected_law(world: "SyntheticWorld", rate: float, nodes: int = NODES) -> FactorGraph:
    """The law of all features after selection at a rate, up to the outcome.

    With ``shift="y_given_v"`` there is one more variable, the target t, that selection works
    against: P(x, t) ~ P(x) prod_j (r if v_j = t else 1 - r), whatever Y or the signal would be.
    """
    names = world.feature_names
    stable, noisy = names[: world.n_stable], names[world.n_stable :]
    sizes, start = dict.fromkeys(names, 2), stable[-1]
    if world.setting == "s_indep_v":
        factors = [Factor((name,), np.full(2, 0.5)) for name in names]
    else:
        causes, effects = (stable, noisy) if world.setting == "s_to_v" else (noisy, stable)
        sizes |= {_magnitude(name): nodes for name in causes}
        factors = causal_factors(causes, effects, world.noise_sd(2.0), nodes)
        start = _magnitude(causes[min(world.n_stable, world.n_noisy) - 1])
    if world.shift == "v_given_s":
        factors += _agreement_with_z(world, stable, noisy, rate)
    else:
        sizes[TARGET] = 2
        # For each biased V_j, r where it equals the target and 1 - r elsewhere.
        table = np.array([[rate, 1 - rate], [1 - rate, rate]])
        factors += [Factor((name, TARGET), table) for name in world.biased_features]
        if world.bias_on == "signal" and world.n_linear < 2:  # z is then never negative
            factors.append(Factor((TARGET,), np.array([0.0, 1.0])))
    return FactorGraph(sizes, factors, start)


def causal_factors(
    causes: Sequence[str], effects: Sequence[str], noise: float, nodes: int
) -> list[Factor]:
    """Signs and magnitudes of the causes, and P(effect_j | causes j and j + 1, around the ring).

    effect_j = 1 where cause~_j + cause~_{j+1} + N(0, noise^2) > 1.
    """
    magnitude, weight = half_normal_nodes(nodes)
    factors = [Factor((c, _magnitude(c)), np.tile(weight / 2, (2, 1))) for c in causes]
    latent = np.stack([-magnitude, magnitude])  # (sign, node)
    sums = latent[:, :, None, None] + latent
    one = ndtr((sums - 1) / noise)
    table = np.stack([1 - one, one], axis=-1)  # (sign, node, sign, node, effect)
    for j, effect in enumerate(effects):
        left, right = causes[j % len(causes)], causes[(j + 1) % len(causes)]
        factors.append(Factor((left, _magnitude(left), right, _magnitude(right), effect), table))
    return factors


def half_normal_nodes(count: int) -> tuple[FloatArray, FloatArray]:
    """Gauss quadrature for |N(0, 1)|: Lanczos' method on a fine rule, then Golub and Welsch."""
    x, w = np.polynomial.legendre.leggauss(400)
    x = 6.5 * (x + 1)  # the mass beyond 13 is below 1e-37
    w = w * np.exp(-(x**2) / 2)
    basis = [np.sqrt(w / w.sum())]
    jacobi = np.zeros((count, count))
    for i in range(count):
        v = x * basis[-1]
        jacobi[i, i] = v @ basis[-1]
        for b in basis + basis:  # twice, to keep the basis orthogonal in floating point
            v = v - (v @ b) * b
        if i + 1 < count:
            jacobi[i, i + 1] = jacobi[i + 1, i] = np.linalg.norm(v)
        basis.append(v / np.linalg.norm(v))
    nodes, vectors = np.linalg.eigh(jacobi)
    return nodes, vectors[0] ** 2


def _agreement_with_z(
    world: "SyntheticWorld", stable: Sequence[str], noisy: Sequence[str], rate: float
) -> list[Factor]:
    """For each biased V_i, r where it equals its target, else 1 - r.

    The target is Z_i = sum_{j=i}^{i+5} (-1)^j S_j, or 1[Z_i >= 0].
    """
    factors = []
    for i in range(world.n_noisy - world.n_biased, world.n_noisy):
        window = [j % world.n_stable for j in range(i, i + WINDOW)]
        scope = list(dict.fromkeys(window))
        values = np.indices((2,) * len(scope))
        z = sum((-1) ** j * values[scope.index(k)] for j, k in enumerate(window, start=i))
        target = z if world.mediator == "integer" else z >= 0
        table = np.stack([np.where(target == v, rate, 1 - rate) for v in (0, 1)], axis=-1)
        factors.append(Factor((*(stable[k] for k in scope), noisy[i]), table))
    return factors


def _magnitude(name: str) -> str:
    return f"|{name}|"
