"""Row weights: the paper's W = omega * omega, in this library's scale.

``mass`` is the user's sample weight of each row, normalised to sum one; ``w`` are the balancing
weights, with ``mass @ w`` near one; the paper's W_i is ``mass_i * w_i``.
"""

import torch
from torch import Tensor

from stablepred.core.sharding import total, totals


def omega_from_weights(w: Tensor, mass: Tensor) -> Tensor:
    """The paper's omega for given balancing weights: omega^2 = mass * w."""
    return torch.sqrt(mass * w)


def weights_from_omega(omega: Tensor, mass: Tensor) -> Tensor:
    """Balancing weights w = omega^2 / mass, never negative."""
    return omega.square() / mass


def with_mean_one(w: Tensor, mass: Tensor) -> Tensor:
    """The same weights, scaled so that their mean under ``mass`` is one."""
    return w / total(mass @ w)


def effective_share(w: Tensor, mass: Tensor) -> Tensor:
    """Effective sample size over sample size: (sum c w)^2 / sum c w^2, in (0, 1]."""
    first, second = totals(mass @ w, mass @ w.square())
    return first.square() / second
