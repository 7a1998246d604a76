"""Validation environments made from training data alone (paper, section 5.3).

The features found noisy are redrawn together: in the environment of rate r each of them equals
the outcome with probability r, whatever it was before. Everything else stays as observed.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

RATES = tuple(round(0.1 * k, 1) for k in range(1, 10))


def redrawn_environments(
    x: FloatArray,
    y: FloatArray,
    noisy: BoolArray,
    rng: np.random.Generator,
    rates: tuple[float, ...] = RATES,
) -> Iterator[FloatArray]:
    """Yield, for each rate, ``x`` with its noisy columns tied to ``y`` at that rate."""
    # One set of uniforms for all rates: the environments differ by their rate, not by luck.
    uniforms = rng.random((len(y), int(noisy.sum())))
    for rate in rates:
        changed = x.copy()
        changed[:, noisy] = np.where(uniforms < rate, y[:, None], 1 - y[:, None])
        yield changed


def score(errors: FloatArray, stability_weight: float) -> FloatArray:
    """Average_Error + lambda * Stability_Error over the last axis (environments)."""
    spread: FloatArray = errors.std(axis=-1, ddof=1)
    return np.asarray(errors.mean(axis=-1) + stability_weight * spread)
