"""Invariance: does a variable act alike in every training environment?

    Q_j = sum_e (b_ej - b_j)^2 / s_ej^2,   b_j the precision-weighted mean of the slopes b_ej

is chi-square with E - 1 degrees of freedom if it does. In large tables small differences are
significant, so the variance between environments is estimated, too (DerSimonian and Laird 1986),

    tau_j^2 = max(0, Q_j - (E - 1)) / (sum_e s_ej^-2 - sum_e s_ej^-4 / sum_e s_ej^-2),

and what counts is its size against the slope itself: a variable leans towards noisy as far as the
slopes are more likely to spread by half of their mean than by a tenth of it.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from scipy.special import expit
from scipy.stats import chi2, norm
from torch import Tensor

from stablepred.core.ridge import fit_ridge
from stablepred.evidence.base import Scores
from stablepred.outcomes.base import Outcome
from stablepred.outcomes.binary import BINARY
from stablepred.sample import FloatArray, Sample

RIDGE = 1.0
SPREAD_STABLE, SPREAD_NOISY = 0.1, 0.5  # of the slopes, as shares of their mean
STABLE = 0.1  # most that a stable variable may lean towards noisy


@dataclass(frozen=True)
class Invariance:
    """The heterogeneity of every variable's slope; its score is -sign(Q's excess) z(Q)."""

    outcome: Outcome = BINARY
    name: ClassVar[str] = "invariance"

    def __call__(self, sample: Sample, w: Tensor) -> Scores | None:
        if sample.n_environments < 2:
            return None
        slopes, errors = slopes_by_environment(sample, self.outcome)
        precision = errors**-2
        mean = (precision * slopes).sum(0) / precision.sum(0)
        q = (precision * (slopes - mean) ** 2).sum(0)
        z = norm.isf(np.clip(chi2.sf(q, len(slopes) - 1), 1e-300, 1 - 1e-16))
        leaning = _lean(slopes, errors, mean)
        tau = np.sqrt(between_variance(q, precision))
        stable = (leaning < STABLE) & (np.abs(mean) > 1.96 * precision.sum(0) ** -0.5)
        return Scores(-z, np.ones_like(z), mean - 1.96 * tau, mean + 1.96 * tau, stable, leaning)


def slopes_by_environment(sample: Sample, outcome: Outcome) -> tuple[FloatArray, FloatArray]:
    """Slopes of a regression on all variables in each environment, and their errors: (E, p)."""
    assert sample.environment is not None
    slopes, errors = [], []
    for one in torch.unique(sample.environment):
        part = sample.take((sample.environment == one).double())
        x = part.features
        beta = fit_ridge(x, part, outcome, RIDGE)
        scores = x @ beta[:-1] + beta[-1]
        wide = torch.cat([x, torch.ones_like(x[:, :1])], dim=1)
        hessian = (wide * (part.copies * outcome.curvature(scores, part.y))[:, None]).T @ wide
        hessian.diagonal().add_(RIDGE)
        variance = torch.linalg.inv(hessian).diagonal()[:-1]
        variance = variance * outcome.dispersion(scores, part.y, part.mass)
        slopes.append(beta[:-1].cpu().numpy())
        errors.append(variance.sqrt().cpu().numpy())
    return np.array(slopes), np.array(errors)


def between_variance(q: FloatArray, precision: FloatArray) -> FloatArray:
    """The tau^2 above."""
    scale = precision.sum(0) - (precision**2).sum(0) / precision.sum(0)
    return np.asarray(np.maximum(q - (len(precision) - 1), 0.0) / scale)


def _lean(slopes: FloatArray, errors: FloatArray, mean: FloatArray) -> FloatArray:
    """Probability of the larger spread, both being as likely beforehand."""
    stable, noisy = (
        np.sum(norm.logpdf(slopes, mean, np.sqrt(errors**2 + (share * mean) ** 2)), axis=0)
        for share in (SPREAD_STABLE, SPREAD_NOISY)
    )
    return np.asarray(expit(noisy - stable))
