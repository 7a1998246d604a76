"""The selected worlds of section 6.2 as products of small tables, to be drawn from exactly.

Features are signs of Gaussian variables, or thresholds of sums of two of them. A Gaussian is
written as sign and magnitude; given all of them the rest is independent. Magnitudes are only
integrated over, and every integrand is smooth in them: they take the values of a Gauss quadrature
for the half-normal law. With 10 nodes the law of all features at p = 10 is within 1e-9 (total
variation) of the one with 26, or 1e-7 where the noise is read as a variance.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from stablepred.worlds.factors import Factor, FactorGraph, FloatArray

if TYPE_CHECKING:
    from stablepred.worlds.synthetic import SyntheticWorld


NODES = 10
WINDOW = 6  # Z_i is a sum over S_i ... S_{i+5}
TARGET = "target"


def selected_law(world: "SyntheticWorld", rate: float, nodes: int = NODES) -> FactorGraph:
    """The law of all features after selection at a rate, up to the outcome.

    With ``shift="y_given_v"`` there is one more variable, the target t, that selection works
    against: P(x, t) ~ P(x) prod_j (r if v_j = t else 1 - r), whatever Y or the signal would be.
    """
    names = world.feature_names
    stable, noisy = names[: world.n_stable], names[world.n_stable :]
    sizes = dict.fromkeys(names, 2)
    if world.setting == "s_indep_v":
        factors = [Factor((name,), np.full(2, 0.5)) for name in names]
        start = stable[-1]
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
