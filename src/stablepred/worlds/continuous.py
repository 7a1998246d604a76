"""Worlds of numbers with a numeric outcome, as the field after the paper uses them."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd

from stablepred._parameters import one_of
from stablepred.exceptions import InputError
from stablepred.worlds.environment import FloatArray, World, take_columns
from stablepred.worlds.synthetic import draw_until

SETTINGS = ("s_indep_v", "s_to_v", "v_to_s", "collinear")
BETA = np.array([1, -2, 3, -1, 2]) / 3
NOISE_VARIANCE = 0.3


@dataclass(frozen=True)
class ContinuousWorld(World):
    """A linear world with one interaction and one noisy feature tied to the outcome by selection.

    Parameters
    ----------
    setting : {"s_indep_v", "s_to_v", "v_to_s", "collinear"}
        Noisy features independent of the stable ones, caused by them, or causing them; or both
        kinds independent of each other, but correlated among themselves.
    n_features : int
        p, an even number of at least 6: S1 ... S_{p/2}, then V1 ... V_{p/2}.

    Notes
    -----
    Y = f(S) + N(0, .3) with f(S) = S beta + S1 S2 S3, and a row is selected with probability
    |r|^(-5 |f(S) - sign(r) V_last|). With Z standard normal and all indices of S and V taken
    around the ring:

    =========  =======================================  ==========================================
    setting    S                                        V
    =========  =======================================  ==========================================
    s_indep_v  S_j = .8 Z_j + .2 Z_{j+1} (not a ring)   standard normal
    s_to_v     the same                                 V_j = .8 S_j + .2 S_{j+1} + N(0, 1)
    v_to_s     S_j = .2 V_j + .8 V_{j+1} + N(0, 1)      standard normal
    collinear  variance 1, correlation .9               variance 1, correlation .1
    =========  =======================================  ==========================================

    beta repeats (1/3, -2/3, 1, -1/3, 2/3). Selection does not look at the noise of Y, so that
    E[Y | X] = f(S) in every environment (Assumption 1 holds). Rows are proposed and kept with the
    probability above, which is exact.
    """

    setting: Literal["s_indep_v", "s_to_v", "v_to_s", "collinear"]
    n_features: int = 10

    def __post_init__(self) -> None:
        one_of(*SETTINGS)("setting", self.setting)
        p = self.n_features
        if not isinstance(p, Real) or not p >= 6 or p % 2 != 0:
            raise InputError(f"n_features must be an even integer of at least 6, but is {p!r}.")
        object.__setattr__(self, "n_features", int(p))

    @property
    def stable_features(self) -> list[str]:
        """Names of the features that Y depends on: all S."""
        return self.feature_names[: self.n_stable]

    @property
    def biased_features(self) -> list[str]:
        """Names of the features that selection acts on: the last V."""
        return self.feature_names[-1:]

    def signal(self, X: pd.DataFrame) -> FloatArray:
        """f(S), the outcome before noise and its mean given X in every environment."""
        return _signal(take_columns(X, self.stable_features).to_numpy(dtype=np.float64))

    def _check_rate(self, rate: float) -> float:
        if not isinstance(rate, Real) or not 1.0 < abs(rate) < np.inf:
            raise InputError(f"bias_rate must be a number above 1 or below -1, but is {rate!r}.")
        return float(rate)

    def _select(self, n: int, rate: float, rng: np.random.Generator) -> tuple[Any, ...]:
        def select(size: int) -> tuple[FloatArray]:
            x = self._draw(size, rng)
            gap = np.abs(_signal(x[:, : self.n_stable]) - np.sign(rate) * x[:, -1])
            return (x[rng.random(size) < abs(rate) ** (-5 * gap)],)

        (x,) = draw_until(n, select, tried=10)
        y = _signal(x[:, : self.n_stable]) + np.sqrt(NOISE_VARIANCE) * rng.standard_normal(n)
        return x, y

    def _draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        half = self.n_stable
        z, v = rng.standard_normal((n, half + 1)), rng.standard_normal((n, half))
        s = 0.8 * z[:, :-1] + 0.2 * z[:, 1:]
        if self.setting == "s_to_v":
            v += 0.8 * s + 0.2 * np.roll(s, -1, axis=1)
        elif self.setting == "v_to_s":
            s = 0.2 * v + 0.8 * np.roll(v, -1, axis=1) + z[:, :-1]
        elif self.setting == "collinear":
            # One shared part gives every pair the same correlation.
            s = np.sqrt(0.9) * z[:, -1:] + np.sqrt(0.1) * z[:, :-1]
            v = np.sqrt(0.1) * rng.standard_normal((n, 1)) + np.sqrt(0.9) * v
        return np.hstack([s, v])


def _signal(s: FloatArray) -> FloatArray:
    return np.asarray(s @ np.resize(BETA, s.shape[1]) + s[:, :3].prod(axis=1))
