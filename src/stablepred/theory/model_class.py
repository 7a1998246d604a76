"""Classes of models that bounds on norms define (FWDGBR's constraints, section 4.2.3)."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stablepred.exceptions import InputError
from stablepred.theory.checks import check_bound, check_integer


class ModelClass(NamedTuple):
    """All models whose norms are within these bounds."""

    p: int
    hidden: tuple[int, ...]  # d_1 ... d_K; empty for a model linear in the features
    beta_l2: float  # on ||beta||_2^2: lambda_4
    beta_l1: float  # on ||beta||_1: lambda_5
    network: float  # on sum_k ||A_k||_F^2: lambda_7
    biases: tuple[float, ...]  # on ||b_k||_2: M_k, one for each layer

    @property
    def widths(self) -> tuple[int, ...]:
        """l_0 ... l_K: each layer's neurons and the constant one."""
        return tuple(width + 1 for width in (self.p, *self.hidden))

    @property
    def beta_reach(self) -> float:
        """min(sqrt(lambda_4 l_K), lambda_5); no |beta'[phi; 1]| is larger, as 0 <= phi <= 1."""
        return min(math.sqrt(self.beta_l2 * self.widths[-1]), self.beta_l1)

    def complexity(self, n: int) -> float:
        """The Rademacher term for n rows."""
        layers = (
            math.sqrt((self.network + bias**2) * width)  # B_k sqrt(l_{k-1})
            for bias, width in zip(self.biases, self.widths, strict=False)
        )
        scale = 2.0 ** (len(self.hidden) + 3) * math.sqrt(2 * math.log(2 * self.p) / n)
        return scale * self.beta_reach * math.prod(layers)


def make_class(
    p: int, hidden: Sequence[int], beta_l2: float, beta_l1: float, network: float, biases: Any
) -> ModelClass:
    """The class that bounds define, once checked; ``biases`` is one number or one per layer."""
    several = [biases] * len(hidden) if np.ndim(biases) == 0 else list(np.ravel(biases))
    if len(several) != len(hidden):
        raise InputError(
            f"bias_bounds has {len(several)} entries, but the encoder has {len(hidden)} layers; "
            "give one bound for each layer, or one number for all."
        )
    found = ModelClass(
        p=check_integer(p, "p", 1),
        hidden=tuple(check_integer(width, "every entry of hidden", 1) for width in hidden),
        beta_l2=check_bound(beta_l2, "beta_l2_bound", finite=False),
        beta_l1=check_bound(beta_l1, "beta_l1_bound", finite=False),
        network=check_bound(network, "network_bound"),
        biases=tuple(check_bound(bias, "every entry of bias_bounds") for bias in several),
    )
    if math.isinf(found.beta_reach):
        raise InputError("give a finite beta_l2_bound, a finite beta_l1_bound, or both.")
    return found


def smallest_class(model: Any) -> ModelClass:
    """The smallest class that holds a fitted model: its own norms as the bounds."""
    coefficients = np.atleast_2d(np.asarray(getattr(model, "coef_", np.nan), dtype=np.float64))
    if not np.isfinite(coefficients).all():
        raise InputError(
            f"{type(model).__name__} has no finite coef_; give a fitted linear or deep classifier."
        )
    if len(coefficients) != 1:
        raise InputError(
            f"the bound is for two classes, but coef_ has {len(coefficients)} rows, one per class."
        )
    encoders = getattr(model, "encoders_", [])  # none, or a single one
    on_features = not encoders or model.head_ == "features"
    layers = [] if on_features else encoders[0]  # of A (d_out, d_in) and b (d_out,)
    inputs = len(layers[-1][1]) if layers else coefficients.shape[1]
    if inputs != coefficients.shape[1]:
        raise InputError(
            f"coef_ has {coefficients.shape[1]} entries, but the encoder has {inputs} outputs."
        )
    # The paper's models have no intercept; here it is the weight of the constant neuron.
    beta = np.append(coefficients, np.ravel(getattr(model, "intercept_", 0.0)))
    return ModelClass(
        p=layers[0][0].shape[1] if layers else inputs,
        hidden=tuple(len(b) for _, b in layers),
        beta_l2=float(beta @ beta),
        beta_l1=float(np.abs(beta).sum()),
        network=float(sum((a**2).sum() for a, _ in layers)),
        biases=tuple(float(np.linalg.norm(b)) for _, b in layers),
    )
