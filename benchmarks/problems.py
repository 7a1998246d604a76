"""The data and encoders that are measured on."""

import numpy as np
import torch
from torch import Tensor

from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import Strengths
from stablepred.data import SyntheticWorld
from stablepred.sample import Origin, Sample

SEED = 0
# The defaults of the estimators.
BALANCING = Strengths(
    balance=1.0, reconstruction=0.01, weight_l2=0.01, l2=1e-4, weight_sum=1.0, network_l2=3e-4
)


def world_rows(n: int, p: int) -> Sample:
    """Training data of the paper's first world (section 6.2), selected at r = .75."""
    train = SyntheticWorld("s_indep_v", p).sample(n, bias_rate=0.75, random_state=SEED)
    x, y = (torch.tensor(np.asarray(part, dtype=np.float64)) for part in (train.X, train.y))
    return every_row(x, y)


def coin_rows(n: int, p: int) -> Sample:
    """Fair coins as features and an outcome of two of them: any size, at once.

    What one evaluation costs depends on the number of ones alone.
    """
    generator = torch.Generator().manual_seed(SEED)
    x = torch.empty(n, p, dtype=torch.float64).bernoulli_(0.5, generator=generator)
    chance = 0.2 + 0.3 * x[:, 0] + 0.3 * x[:, 1]
    y = torch.bernoulli(chance, generator=generator)
    return every_row(x, y)


def every_row(x: Tensor, y: Tensor) -> Sample:
    """A sample of all rows, equal ones too: what is measured is n rows, not the distinct ones."""
    n, p = x.shape
    mass, copies = torch.full_like(y, 1 / n), torch.ones_like(y)
    names = [f"x{j}" for j in range(p)]
    origin = Origin(names, np.arange(p), np.arange(n), np.ones(n, dtype=np.bool_), n)
    return Sample(x, y, mass, copies, origin, [])


def start_network(p: int) -> AutoEncoder:
    """An auto-encoder as the estimators start from: two layers of half the features."""
    generator = torch.Generator().manual_seed(SEED)
    width = max(2, p // 2)
    return AutoEncoder.random(p, (width, width), generator)
