"""What every fit needs around its stages: a device, the sample, checkpoints, and plain warnings."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from stablepred._random import RandomState, root_seed
from stablepred._validation import (
    FloatArray,
    check_at_least,
    check_binary,
    check_checkpoint,
    check_one_of,
    column_names,
    warn_user,
)
from stablepred.core.loop import Solution
from stablepred.core.sharding import LOCAL, current_shards
from stablepred.core.threads import LARGE, threads_for
from stablepred.evaluation.diagnostics import BalanceReport, balance_report
from stablepred.exceptions import (
    CollapsedEmbeddingWarning,
    ConstantFeatureWarning,
    ConvergenceWarning,
    DegenerateWeightsWarning,
    InputError,
    RedundantFeatureWarning,
)
from stablepred.preprocessing import Dichotomizer, sums_within
from stablepred.sample import Sample, make_sample
from stablepred.weights.embedded import embedding_scale

# Effective shares under this are reported even where no floor is set.
SMALL_SHARE = 0.05
# Where the mean of the weights, before it is set to one, is under this, their penalty is evaded.
LEAST_MEAN = 0.1
# A value of a feature whose weight falls to this part of what it was is reported as erased.
ERASED = 0.01
# Parameters that are strengths: finite and not negative.
STRENGTHS = (
    *("balance", "reconstruction", "weight_l2", "l2", "weight_sum", "network_l2"),
    "min_effective_share",
)


def check_common_parameters(estimator: Any) -> None:
    """The rules for the parameters that all estimators of the paper share."""
    check_at_least(estimator, "max_iter", 1, integer=True)
    check_at_least(estimator, "tol", 0)
    check_one_of(estimator, "device", ("auto", "cpu", "cuda"))
    check_one_of(estimator, "dichotomize", ("mean", "median", None))
    check_checkpoint(estimator.checkpoint)
    for name in STRENGTHS:
        if hasattr(estimator, name):
            check_at_least(estimator, name, 0)
    if getattr(estimator, "min_effective_share", 0.0) >= 1:
        raise InputError(
            "min_effective_share must be under 1 (1 would hold all weights equal), but is "
            f"{estimator.min_effective_share!r}."
        )


def choose_device(device: str, size: int) -> torch.device:
    """Where to fit a data matrix of ``size`` entries."""
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError(
            "device='cuda' was asked for, but torch finds no CUDA GPU. "
            "Set device='cpu' or device='auto'."
        )
    if device == "auto":
        return torch.device("cuda" if size >= LARGE and torch.cuda.is_available() else "cpu")
    return torch.device(device)


@contextmanager
def limit_resources(size: int) -> Iterator[None]:
    """Threads for a data matrix of ``size`` entries, and a plain word where memory ends."""
    try:
        with threads_for(size):
            yield
    except torch.cuda.OutOfMemoryError as error:
        free, whole = (amount / 2**30 for amount in torch.cuda.mem_get_info())
        raise InputError(
            f"the fit needs more memory than the GPU has ({free:.1f} of {whole:.1f} GiB free), "
            "even in small pieces. Set device='cpu', or fit on fewer rows or narrower layers."
        ) from error


def draw_seed(random_state: RandomState) -> int:
    """The seed of a fit; that of the first process where several hold the rows."""
    return int(current_shards().exchange(root_seed(random_state))[0])


# --- the sample ---


def prepare_sample(
    estimator: Any, x: FloatArray, y: FloatArray, weight: FloatArray, *, counted: bool, order: int
) -> Sample:
    """Cut the features into 0/1, group the rows, and name what takes no part in the fit."""
    names = column_names(estimator, x.shape[1])
    n_rows = int(current_shards().total(weight.sum() if counted else (weight > 0).sum()))
    if n_rows < 3:
        raise InputError(
            f"only n_samples = {n_rows} rows have a positive sample_weight, but at least 3 are "
            "needed."
        )
    if estimator.dichotomize is None:
        check_binary(x[weight > 0], names)
    else:
        estimator.dichotomizer_ = _fit_dichotomizer(estimator.dichotomize, x, weight)
        x = estimator.dichotomizer_.transform(x)
    device = choose_device(estimator.device, x.size)
    sample = make_sample(x, y, weight, names, counted=counted, device=device)
    _report_constant_columns(sample)
    if order == 2:
        sample = sample.with_products()
        _report_constant_pairs(sample)
    return sample


def _fit_dichotomizer(strategy: str, x: FloatArray, weight: FloatArray) -> Dichotomizer:
    """Cuts from the rows with a positive weight, of all processes that hold rows."""
    shards = current_shards()
    if shards is LOCAL:
        return Dichotomizer(strategy=strategy).fit(x, sample_weight=weight)
    x, weight = x[weight > 0], weight[weight > 0]
    low, high = shards.smallest(x.min(axis=0)), shards.largest(x.max(axis=0))
    return Dichotomizer.from_sums(low, high, shards.totals(*sums_within(x, weight, low, high)))


def _report_constant_columns(sample: Sample) -> None:
    """Name the columns that have one value only; refuse a table that has no others."""
    names, active = sample.origin.names, set(sample.origin.columns)
    constant = [name for j, name in enumerate(names) if j not in active]
    if not active:
        raise InputError(
            f"all {len(names)} features are constant in the training rows, so there is nothing to "
            "learn from. Check the columns and the sample_weight."
        )
    if constant:
        warn_user(
            "constant in the training rows, effect and coefficient set to 0: "
            + ", ".join(constant),
            ConstantFeatureWarning,
        )


def _report_constant_pairs(sample: Sample) -> None:
    names, kept = sample.names, set(sample.pairs)
    p = len(names)
    constant = [(a, b) for a in range(p) for b in range(a + 1, p) if (a, b) not in kept]
    if constant:
        listed = ", ".join(f"{names[a]}*{names[b]}" for a, b in constant[:10])
        more = f" and {len(constant) - 10} more" if len(constant) > 10 else ""
        warn_user(
            f"pairs that are constant in the data are not balanced: {listed}{more}",
            ConstantFeatureWarning,
        )


def report_balance(sample: Sample, w: torch.Tensor) -> BalanceReport:
    """Balance of the features, in the user's order."""
    order = np.argsort(sample.origin.columns)
    names = [sample.names[j] for j in order]
    x, mass = sample.features[:, order].cpu().numpy(), sample.mass.cpu().numpy()
    return balance_report(x, mass, w.cpu().numpy(), names, sample.origin.n_rows, sample.shards)


# --- what went wrong on the way, and what to change ---


def warn_about_fit(estimator: Any, sample: Sample, solution: Solution, w: torch.Tensor) -> None:
    """All warnings about weights and embedding; sets ``converged_``."""
    warn_about_convergence(estimator, solution.unfinished)
    if hasattr(estimator, "weight_l2"):
        warn_about_redundant_features(sample)
        _warn_about_weights(estimator, solution)
        _warn_about_erased_values(sample, w)
    if solution.network is not None:
        spread = float(embedding_scale(sample, solution.network.encode(sample.x)).max())
        if spread < 1e-3:
            warn_user(
                "the embedding is nearly constant (largest standard deviation "
                f"{spread:.1e}): balancing it says nothing. Lower balance, raise reconstruction, "
                "or use solver='sequential'.",
                CollapsedEmbeddingWarning,
            )


def warn_about_convergence(estimator: Any, unfinished: list[str]) -> None:
    """Name the stages that ``max_iter`` stopped."""
    estimator.converged_ = not unfinished
    if unfinished:
        stages = ", ".join(dict.fromkeys(unfinished))
        warn_user(
            f"{type(estimator).__name__} stopped after max_iter={estimator.max_iter} iterations "
            f"before it converged (stage: {stages}). Raise max_iter, or raise tol "
            f"(now {estimator.tol:g}) if the result is good enough.",
            ConvergenceWarning,
        )


def warn_about_redundant_features(sample: Sample) -> None:
    """Name the features that repeat another one, or say its opposite, in every row."""
    if sample.shards is not LOCAL:
        return
    x = sample.features.cpu().numpy()
    bits = np.packbits(x != x[0], axis=0).T  # alike for a feature and its opposite
    first: dict[bytes, int] = {}
    repeated = []
    for j in np.argsort(sample.origin.columns).tolist():
        original = first.setdefault(bits[j].tobytes(), j)
        if original != j:
            repeated.append(f"{sample.names[j]} (as {sample.names[original]})")
    if repeated:
        warn_user(
            f"equal in every row, or opposite: {', '.join(repeated)}. No weights can balance such "
            "features against each other. Leave one of each out.",
            RedundantFeatureWarning,
        )


def _warn_about_weights(estimator: Any, solution: Solution) -> None:
    """Say where the weights have collapsed, met their floor, or not moved at all."""
    report, floor = estimator.balance_report_, estimator.min_effective_share
    share = report.effective_share
    mean = 1 - solution.history.get("weight_sum", [0.0])[-1] ** 0.5
    message = ""
    if solution.floored:
        message = (
            f"the weights met the floor on the effective sample size ({floor:.0%} of the rows) and "
            f"were stopped there (share now {share:.1%}). Raise weight_l2 or lower balance, or "
            "lower min_effective_share to allow it."
        )
    elif share < SMALL_SHARE:
        message = (
            f"the weights collapsed onto few rows: effective sample size {share:.1%} of the rows. "
            "Raise weight_l2 (lambda 3) or lower balance (lambda 1)."
        )
    elif share > 1 - 1e-8 and np.abs(report.before.to_numpy()).max() > 1e-6:
        message = (
            "all weights are equal although the features are not balanced. Raise balance "
            "(lambda 1) or lower weight_l2 (lambda 3)."
        )
    if mean < LEAST_MEAN:
        warn_user(
            f"the mean of the weights fell to {mean:.2g} before they were scaled to one, so that "
            "weight_l2 (lambda 3) hardly limits their variance any more. Raise weight_sum (lambda "
            "6) well above weight_l2, or lower weight_l2.",
            DegenerateWeightsWarning,
        )
    if message:
        warn_user(message, DegenerateWeightsWarning)


def _warn_about_erased_values(sample: Sample, w: torch.Tensor) -> None:
    """A feature of which one value has hardly any weight left is not balanced but gone."""
    x, mass = sample.features, sample.mass
    v = mass * w
    on, on_before, off, off_before = sample.totals(v @ x, mass @ x, v @ (1 - x), mass @ (1 - x))
    erased = []
    for value, left, before in ((1, on, on_before), (0, off, off_before)):
        gone = (left < ERASED * before).tolist()
        erased += [
            (name, value) for name, is_gone in zip(sample.names, gone, strict=True) if is_gone
        ]
    if erased:
        listed = ", ".join(f"{name} = {value}" for name, value in sorted(erased))
        warn_user(
            f"the weights leave less than {ERASED:.0%} of their share to the rows with "
            f"{listed}: overlap is violated there, and nothing can be compared. Raise "
            "weight_l2 (lambda 3), or leave such features out (OverlapFilter).",
            DegenerateWeightsWarning,
        )
