"""The synthetic worlds of the paper (section 6.2), with exact sampling under biased selection.

Y = 1 where sigmoid(z) + N(0, .2) >= .5,    z = sum_i alpha_i X_i + sum_j beta_j X_j X_{j+1}
P(row is selected) ~ prod over the biased j of (r where V_j equals its target, else 1 - r)
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, ndtr

from stablepred._parameters import Rule, between, check_parameters, one_of
from stablepred.exceptions import InputError
from stablepred.worlds.environment import FloatArray, IntArray, World, take_columns
from stablepred.worlds.factors import TARGET, Values, selected_law

Rows = npt.NDArray[np.int8]

BATCH = 65_536  # most proposals drawn at once, to bound the memory


def check_rate(rate: float) -> float:
    if not isinstance(rate, Real) or not 0.0 < rate < 1.0:
        raise InputError(
            f"bias_rate must lie strictly between 0 and 1, but is {rate!r}; "
            "0.5 means no selection, more a positive and less a negative association."
        )
    return float(rate)


@dataclass(frozen=True)
class SyntheticWorld(World):
    """A data-generating process of section 6.2 from which environments are drawn.

    Parameters
    ----------
    setting : {"s_indep_v", "s_to_v", "v_to_s"}
        Noisy features independent of the stable ones, caused by them, or causing them.
    n_features : int
        p. The columns are S1 ... S_ps, V1 ... V_pv.
    shift : {"y_given_v", "v_given_s"}
        Which distribution differs between environments, P(Y|V) or P(V|S).
    stable : float
        Share of stable features, p_s = stable * p.
    biased : float
        Share of features that selection acts on: the last ``biased * p`` columns.
    bias_on : {"outcome", "signal"}, optional
        What the biased features are selected to agree with when P(Y|V) shifts: the outcome (the
        default and the paper's text; Assumption 1 then fails after selection) or the outcome
        before noise (Assumption 1 holds). Must be left out with ``shift="v_given_s"``.
    noise_scale : {"sd", "variance"}
        How to read the second number of N(0, .2) and N(0, 2) in the paper.
    mediator : {"binary", "integer"}
        What the biased features are selected to agree with when P(V|S) shifts, a window sum Z_i of
        the stable features: 1[Z_i >= 0] (the default, as all latent variables of that section are
        cut at zero), or the integer Z_i itself (the paper's formula read literally; selection then
        acts on S more than on V). Only with ``shift="v_given_s"``.

    Notes
    -----
    Indices count from 0. The first three quarters of the stable features are linear in z, the
    others enter by X_j X_{j+1}; the last product runs into V1, which therefore counts as stable.
    The biased features' target is Y, or the signal 1[z >= 0], or, with ``shift="v_given_s"``,
    1[Z_i >= 0] with Z_i = sum_{j=i}^{i+5} (-1)^j S_j, S_j taken around the ring. With
    ``mediator="integer"`` it is Z_i; where that is neither 0 nor 1, V_i cannot equal it. Effects of
    Gaussian causes are 1[cause~_j + cause~_{j+1} + N(0, 2) > 1], around the ring of causes.

    *Why selection is exact.* With ``shift="y_given_v"``, propose (x, t) from
    P(x) prod_j (r if v_j = t else 1 - r), with t a free 0/1 variable; draw Y given x; keep the row
    if its target came out as t. What is kept, a fifth of the proposals or more, follows
    P(x) P(y|x) prod_j (r if v_j = target else 1 - r). For ``"s_indep_v"`` and ``"v_to_s"`` a
    proposal is: t a fair coin, each biased V_j equal to t with probability r, everything else as in
    the world without selection. For ``"s_to_v"``, and for everything with ``shift="v_given_s"``
    (where nothing is rejected), it is a product of local factors, drawn exactly but for a
    quadrature (`stablepred.worlds.factors`).
    """

    rules: ClassVar[dict[str, Rule]] = {
        "setting": one_of("s_indep_v", "s_to_v", "v_to_s"),
        "shift": one_of("y_given_v", "v_given_s"),
        **dict.fromkeys(("stable", "biased"), between(0, 1)),
        "bias_on": one_of("outcome", "signal", None),
        "noise_scale": one_of("sd", "variance"),
        "mediator": one_of("binary", "integer"),
    }
    _check_rate = staticmethod(check_rate)

    setting: Literal["s_indep_v", "s_to_v", "v_to_s"]
    n_features: int = 20
    _: KW_ONLY
    shift: Literal["y_given_v", "v_given_s"] = "y_given_v"
    stable: float = 0.4
    biased: float = 0.4
    bias_on: Literal["outcome", "signal"] | None = None
    noise_scale: Literal["sd", "variance"] = "sd"
    mediator: Literal["binary", "integer"] = "binary"

    def __post_init__(self) -> None:
        shares = self.shift == "v_given_s"
        if self.bias_on is None and not shares:
            object.__setattr__(self, "bias_on", "outcome")
        check_parameters(self)
        idle, default = ("bias_on", None) if shares else ("mediator", "binary")
        if (value := getattr(self, idle)) != default:
            raise InputError(
                f"{idle}={value!r} has no meaning with shift={self.shift!r}, where the noisy "
                f"features are selected to agree with {'Z(S)' if shares else 'the outcome'}. "
                f"Leave {idle} out."
            )
        if self.n_features != int(self.n_features):
            raise InputError(f"n_features must be an integer, but is {self.n_features!r}.")
        object.__setattr__(self, "n_features", int(self.n_features))
        if min(self.n_stable, self.n_noisy) < 2 or not 1 <= self.n_biased <= self.n_noisy:
            raise InputError(
                f"n_features={self.n_features} with stable={self.stable} and biased={self.biased} "
                f"gives {self.n_stable} stable and {self.n_noisy} noisy features, {self.n_biased} "
                "of them biased; the formulas need two of each, and at least one that is biased."
            )

    @property
    def n_stable(self) -> int:
        """p_s, the number of columns named S; V1, which also enters Y, is not counted."""
        return round(self.stable * self.n_features)

    @property
    def n_biased(self) -> int:
        """The number of columns, counted from the last, that selection acts on."""
        return round(self.biased * self.n_features)

    @property
    def n_linear(self) -> int:
        """How many of the stable features are linear in z: three quarters, rounded down."""
        return 3 * self.n_stable // 4

    @property
    def stable_features(self) -> list[str]:
        """Names of the features that Y depends on: all S, and V1 through the last product."""
        return self.feature_names[: self.n_stable + 1]

    @property
    def biased_features(self) -> list[str]:
        """Names of the features that selection acts on."""
        return self.feature_names[self.n_features - self.n_biased :]

    def probability(self, X: pd.DataFrame | npt.ArrayLike) -> FloatArray:
        """P(y = 1 | x) in the world before selection.

        P = Phi((sigmoid(z) - .5) / sd) with sd the scale of the outcome's noise; without noise
        (``shift="v_given_s"``) it is 1 for z >= 0 and 0 below. Selection on the signal or on Z(S)
        leaves it as it is; selection on the outcome does not.
        """
        return self._probability(self._check_columns(X))

    def signal(self, X: pd.DataFrame | npt.ArrayLike) -> IntArray:
        """The outcome before noise, 1 where z >= 0: a tie gives 1."""
        return (self._score(self._check_columns(X)) >= 0).astype(np.int64)

    @property
    def _label(self) -> str:
        idle = self.shift == "y_given_v" or self.mediator == "integer"
        return repr(self).replace(f", mediator={self.mediator!r}", "") if idle else repr(self)

    def _check_columns(self, X: Any) -> npt.NDArray[Any]:
        names = self.feature_names
        x = take_columns(X, names).to_numpy() if isinstance(X, pd.DataFrame) else np.asarray(X)
        if x.ndim != 2 or x.shape[1] != len(names):
            raise InputError(f"X must have {len(names)} columns, but has shape {x.shape}.")
        if not np.isin(x, (0, 1)).all():
            raise InputError("X must be 0/1 in every column.")
        return x

    def _score(self, x: npt.NDArray[Any]) -> IntArray:
        """Return z times a positive number that makes all coefficients integers: ties are exact.

        P(Y|V): alpha_i = (-1)^i (i % 3 + 1) p/3 and beta = p/2, times 6/p.
        P(V|S): alpha_i = (-1)^i and beta = p/2, times 2.
        """
        i = np.arange(self.n_linear)
        alpha, beta = 2 * (-1) ** i, self.n_features
        if self.shift == "y_given_v":
            alpha, beta = alpha * (i % 3 + 1), 3
        x = x[:, : self.n_stable + 1].astype(np.int64)
        products = x[:, self.n_linear : -1] * x[:, self.n_linear + 1 :]  # X_j X_{j+1}
        return np.asarray(x[:, : self.n_linear] @ alpha + beta * products.sum(axis=1))

    def _probability(self, x: npt.NDArray[Any]) -> FloatArray:
        score = self._score(x)
        if self.shift == "v_given_s":
            return (score >= 0).astype(np.float64)
        mean = expit(score * self.n_features / 6)
        return np.asarray(ndtr((mean - 0.5) / self.noise_sd(0.2)))

    def noise_sd(self, number: float) -> float:
        """Standard deviation of what the paper writes as N(0, number)."""
        return number if self.noise_scale == "sd" else float(np.sqrt(number))

    def _select(self, n: int, rate: float, rng: np.random.Generator) -> tuple[Any, ...]:
        """``n`` rows of the selected population (see the notes above for why it is exact)."""
        names = self.feature_names
        if self.shift == "v_given_s":
            law = selected_law(self, rate)
            x = _stack(law.extend({}, n, rng, law.names), names)
            return x, self._draw_outcomes(x, rng)
        if self.setting != "s_to_v":
            return draw_until(n, lambda size: self._hit(size, rate, rng))
        law = selected_law(self, rate)

        def hit(size: int) -> tuple[Rows, IntArray]:
            """The same, but S and V1 are drawn first, given the target; then V for the hits."""
            drawn = law.extend({}, size, rng, [*self.stable_features, TARGET])
            x = _stack(drawn, self.stable_features)
            y = self._draw_outcomes(x, rng)
            hit = self._targets(x, y) == drawn[TARGET]
            drawn = {name: column[hit] for name, column in drawn.items()}
            drawn = law.extend(drawn, int(hit.sum()), rng, names)
            return _stack(drawn, names), y[hit]

        return draw_until(n, hit)

    def _hit(self, size: int, rate: float, rng: np.random.Generator) -> tuple[Rows, IntArray]:
        """Those of ``size`` proposals whose target comes out as proposed; V is drawn first."""
        target = rng.integers(0, 2, size, dtype=np.int8)
        v = rng.integers(0, 2, (size, self.n_noisy), dtype=np.int8)
        agrees = rng.random((size, self.n_biased)) < rate
        v[:, self.n_noisy - self.n_biased :] = target[:, None] ^ ~agrees
        if self.setting == "s_indep_v":
            s = rng.integers(0, 2, (size, self.n_stable), dtype=np.int8)
        else:  # S_j = 1 where V~_j + V~_{j+1} + N(0, 2) > 1, with V~ Gaussian with the signs of V
            latent, j = np.abs(rng.standard_normal(v.shape)) * (2 * v - 1), np.arange(self.n_stable)
            sums = latent[:, j % self.n_noisy] + latent[:, (j + 1) % self.n_noisy]
            noise = self.noise_sd(2.0) * rng.standard_normal(sums.shape)
            s = (sums + noise > 1).astype(np.int8)
        x = np.hstack([s, v])
        y = self._draw_outcomes(x, rng)
        hit = self._targets(x, y) == target
        return x[hit], y[hit]

    def _draw_outcomes(self, x: Rows, rng: np.random.Generator) -> IntArray:
        """Y given the features (the columns after V1 play no part)."""
        return (rng.random(len(x)) < self._probability(x)).astype(np.int64)

    def _targets(self, x: Rows, y: IntArray) -> npt.NDArray[Any]:
        return y if self.bias_on == "outcome" else self._score(x) >= 0


def _stack(drawn: Values, names: list[str]) -> Rows:
    return np.column_stack([drawn[name] for name in names])


def draw_until(n: int, draw: Callable[[int], tuple[Any, ...]], tried: int = 2) -> tuple[Any, ...]:
    """``n`` rows of the arrays that ``draw(size)`` keeps of ``size`` proposals."""
    parts, kept, shown = [], 0, tried
    while kept < n:
        size = min(BATCH, int((n - kept) / ((kept + 1) / shown)) + 100)
        parts.append(draw(size))
        kept, shown = kept + len(parts[-1][0]), shown + size
    return tuple(np.concatenate(arrays)[:n] for arrays in zip(*parts, strict=True))
