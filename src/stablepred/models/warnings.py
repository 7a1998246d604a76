"""Warnings about a fit: what went wrong, and what to change."""

from typing import Any

import numpy as np
import torch

from stablepred import exceptions
from stablepred._validation import warn_user
from stablepred.core.loop import Solution
from stablepred.core.sharding import LOCAL
from stablepred.sample import Sample
from stablepred.weights.embedded import embedding_scale

# Effective shares below this are reported even if no floor is set.
SMALL_SHARE = 0.05
# A mean weight below this, before the weights are scaled to mean one, evades their penalty.
LEAST_MEAN = 0.1
# A value of a feature is reported as erased if its weight falls below this part of what it was.
ERASED = 0.01


def warn_about_fit(estimator: Any, sample: Sample, solution: Solution) -> None:
    """Warn about the weights and the embedding; sets ``converged_``."""
    estimator.converged_ = not solution.unfinished
    if solution.unfinished:
        stages = ", ".join(dict.fromkeys(solution.unfinished))
        warn_user(
            f"{type(estimator).__name__} stopped after max_iter={estimator.max_iter} iterations "
            f"before converging (stage: {stages}). Raise max_iter, or raise tol "
            f"(now {estimator.tol:g}) if the result is good enough.",
            exceptions.ConvergenceWarning,
        )
    if hasattr(estimator, "weight_l2"):
        _warn_about_redundant_features(sample)
        _warn_about_weights(estimator, sample, solution)
    if solution.network is not None:
        spread = float(embedding_scale(sample, solution.network.encode(sample.x)).max())
        if spread < 1e-3:
            warn_user(
                "the embedding is nearly constant (largest standard deviation "
                f"{spread:.1e}), so balancing it is meaningless. Lower balance, raise "
                "reconstruction, or use solver='sequential'.",
                exceptions.CollapsedEmbeddingWarning,
            )


def _warn_about_redundant_features(sample: Sample) -> None:
    if sample.shards is not LOCAL:
        return
    order = np.argsort(sample.origin.columns)
    names = np.array(sample.names)[order]
    alike = np.abs(np.corrcoef(sample.features[:, order].cpu().numpy(), rowvar=False)) > 1 - 1e-9
    first = np.atleast_2d(alike).argmax(axis=1)
    copies = np.flatnonzero(first < np.arange(len(first)))
    if repeated := [f"{names[j]} (as {names[first[j]]})" for j in copies]:
        warn_user(
            f"features equal to another in every row, or opposite: {', '.join(repeated)}. No "
            "weights can balance such features against each other. Leave out one of each pair.",
            exceptions.RedundantFeatureWarning,
        )


def _warn_about_weights(estimator: Any, sample: Sample, solution: Solution) -> None:
    """Warn if the weights collapsed, met their floor, did not move, or erased a value."""
    report, found = estimator.balance_report_, []
    share, mean = report.effective_share, 1 - solution.history["weight_sum"][-1] ** 0.5
    if mean < LEAST_MEAN:
        found.append(
            f"the mean of the weights fell to {mean:.2g} before they were scaled to one, so that "
            "weight_l2 (lambda 3) hardly limits their variance. Raise weight_sum (lambda "
            "6) well above weight_l2, or lower weight_l2."
        )
    if solution.floored:
        found.append(
            "the weights reached the floor on the effective sample size "
            f"({estimator.min_effective_share:.0%} of the rows) and were stopped there (share now "
            f"{share:.1%}). Raise weight_l2 or lower balance, or lower min_effective_share to "
            "allow a smaller one."
        )
    elif share < SMALL_SHARE:
        found.append(
            f"the weights collapsed onto few rows: effective sample size {share:.1%} of the rows. "
            "Raise weight_l2 (lambda 3) or lower balance (lambda 1)."
        )
    elif share > 1 - 1e-8 and np.abs(report.before.to_numpy()).max() > 1e-6:
        found.append(
            "all weights are equal, although the features are not balanced. Raise balance "
            "(lambda 1) or lower weight_l2 (lambda 3)."
        )
    if erased := _find_erased_values(sample, solution.w):
        found.append(
            f"the weights leave the rows with {erased} less than {ERASED:.0%} of their original "
            "share: overlap is violated there, and nothing can be compared. Raise weight_l2 "
            "(lambda 3), or leave out such features (OverlapFilter)."
        )
    for message in found:
        warn_user(message, exceptions.DegenerateWeightsWarning)


def _find_erased_values(sample: Sample, w: torch.Tensor) -> str:
    """The values of 0/1 features on which hardly any weight is left: that is not balance."""
    is_bit = (sample.features.square() == sample.features).all(0)
    columns = sample.shards.smallest(is_bit.double()).bool()
    names = np.array(sample.names)[columns.cpu().numpy()]
    x, mass = sample.features[:, columns], sample.mass
    sides = torch.stack([1 - x, x])  # the rows where a feature is 0, and where it is 1
    left, before = sample.totals((mass * w) @ sides, mass @ sides)
    erased = np.argwhere((left < ERASED * before).T.cpu().numpy()).tolist()
    return ", ".join(
        f"{name} = {value}" for name, value in sorted((names[j], v) for j, v in erased)
    )
