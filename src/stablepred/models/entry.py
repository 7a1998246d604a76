"""The start of a fit, from the parameters to starting values; and its end: what to warn about."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from stablepred import exceptions
from stablepred._parameters import check_parameters
from stablepred._random import RandomState, root_seed, torch_generator
from stablepred._validation import (
    FloatArray,
    check_row_count,
    check_size,
    check_two_classes,
    column_names,
    warn_user,
)
from stablepred.core.loop import Settings, Solution
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import Strengths
from stablepred.core.resources import LARGE
from stablepred.core.sharding import LOCAL, current_shards
from stablepred.evaluation.diagnostics import BalanceReport, balance_report
from stablepred.heads.choice import Fold, shuffled_folds
from stablepred.heads.folds import draw_compared
from stablepred.io import values
from stablepred.models.standardizer import Standardizer
from stablepred.preprocessing import Dichotomizer
from stablepred.sample import Sample, make_sample
from stablepred.tables.engines import PatternCounts
from stablepred.tables.messages import listed
from stablepred.weights.embedded import embedding_scale

# Effective shares below this are reported even if no floor is set.
SMALL_SHARE = 0.05
# A mean weight below this, before the weights are scaled to mean one, evades their penalty.
LEAST_MEAN = 0.1
# A value of a feature is reported as erased if its weight falls below this part of what it was.
ERASED = 0.01


def choose_device(device: str, size: int) -> torch.device:
    if device == "cuda" and not torch.cuda.is_available():
        raise exceptions.InputError(
            "device='cuda' was requested, but torch finds no CUDA GPU. "
            "Set device='cpu' or device='auto'."
        )
    if device == "auto":
        device = "cuda" if size >= LARGE and torch.cuda.is_available() else "cpu"
    return torch.device(device)


def draw_seed(random_state: RandomState) -> int:
    """The seed of a fit; where several processes hold the rows, that of the first."""
    return int(current_shards().exchange(root_seed(random_state))[0])


# --- the sample ---


def prepare_sample(
    estimator: Any, x: FloatArray, y: FloatArray, weight: FloatArray, *, counted: bool
) -> Sample:
    """Standardise the features or cut them, group the rows, and warn about what is left out.

    The transformation becomes a fitted attribute of the estimator.
    """
    names = column_names(estimator, x.shape[1])
    check_row_count(int(current_shards().total(weight.sum() if counted else (weight > 0).sum())))
    if estimator.dichotomize is None:
        check_size(x[weight > 0], names)
        estimator.standardizer_ = Standardizer().fit(x, sample_weight=weight)
    else:
        cut = Dichotomizer(strategy=estimator.dichotomize)
        estimator.dichotomizer_ = cut.fit(x, sample_weight=weight)
    x = transform_features(estimator, x)
    device = choose_device(estimator.device, x.size)
    sample = make_sample(x, y, weight, names, counted=counted, device=device)
    active = set(sample.origin.columns)
    constant = [name for j, name in enumerate(names) if j not in active]
    if len(constant) == len(names):
        raise exceptions.InputError(
            f"all {len(names)} features are constant in the training rows, so there is nothing to "
            "learn from. Check the columns and the sample_weight."
        )
    if constant:
        warn_user(
            "features that are constant in the training rows; effect and coefficient are set to 0: "
            + ", ".join(constant),
            exceptions.ConstantFeatureWarning,
        )
    if getattr(estimator, "order", 1) == 1:
        return sample
    sample, names = sample.with_products(), sample.names
    every = combinations(range(len(names)), 2)
    if constant := [f"{names[a]}*{names[b]}" for a, b in every if (a, b) not in set(sample.pairs)]:
        warn_user(
            f"pairs that are constant in the data are not balanced: {listed(constant, 10)}",
            exceptions.ConstantFeatureWarning,
        )
    return sample


def transform_features(estimator: Any, x: FloatArray) -> FloatArray:
    name = "standardizer_" if estimator.dichotomize is None else "dichotomizer_"
    return vars(estimator)[name].transform(x)


def take_patterns(estimator: Any, patterns: PatternCounts) -> None:
    estimator.row_count_ = patterns.count
    if patterns.dichotomizer is not None:
        estimator.dichotomizer_ = patterns.dichotomizer


def check_parts(estimator: Any, weights: str = "weights_") -> None:
    """Raise ValueError unless the parameters, the weights and what cuts or scales are sound."""
    check_parameters(estimator)
    if not values.is_fitted(estimator):
        return
    p, given = values.n_features(estimator), estimator.dichotomize
    name, other = ["standardizer_", "dichotomizer_"][:: 1 if given is None else -1]
    if name not in vars(estimator) or other in vars(estimator):
        raise ValueError(f"{name}, and not {other}, must be present where dichotomize is {given!r}")
    if values.n_features(vars(estimator)[name]) != p:
        raise ValueError(f"{name} must have {p} features")
    found = values.numbers(estimator, weights, (None,), low=0.0)
    if "row_count_" in vars(estimator):
        values.numbers(estimator, "row_count_", found.shape, low=1.0)


def report_balance(sample: Sample, w: Tensor) -> BalanceReport:
    order, n_rows = np.argsort(sample.origin.columns), sample.origin.n_rows
    names = [sample.names[j] for j in order]
    return balance_report(sample.features[:, order], sample.mass, w, names, n_rows, sample.shards)


def encode_outcome(estimator: Any, labels: Any, weight: FloatArray) -> FloatArray:
    """The outcome as 0/1; sets ``classes_``, over all processes that hold rows."""
    check_classification_targets(labels)
    present, shards = column_or_1d(labels)[weight > 0], current_shards()
    distinct, kind = np.unique(present), ""
    if shards is not LOCAL:
        everywhere = [np.array(other) for other in shards.exchange(distinct.tolist())]
        distinct = np.unique(np.concatenate(everywhere).astype(distinct.dtype))
        kind = f"multiclass, with {distinct.tolist()[:5]} over all shards"
    estimator.classes_ = distinct
    if len(distinct) > 2:
        kind = kind or type_of_target(present, input_name="y")
        raise exceptions.InputError(
            f"Only binary classification is supported. The type of the target is {kind}. "
            "StableClassifier takes several classes."
        )
    check_two_classes(distinct)
    return (labels == distinct[1]).astype(np.float64)


def make_settings(estimator: Any, **more: float) -> Settings:
    """The solver's settings from the parameters; lambda 5 is zero until it is chosen."""
    given = {k: v for k, v in vars(estimator).items() if k in Strengths.__dataclass_fields__} | more
    return Settings(
        Strengths(**{name: 0.0 if v == "auto" else float(v) for name, v in given.items()}),
        fit_intercept=getattr(estimator, "fit_intercept", True),
        least_share=getattr(estimator, "min_effective_share", 0.0),
        max_iter=estimator.max_iter,
        tol=estimator.tol,
    )


def make_folds(
    estimator: Any, sample: Sample, x: FloatArray, labels: Any, weight: FloatArray, seed: int
) -> Callable[[], Iterator[Fold]]:
    """Inner folds: shuffled ones for an integer ``cv``, otherwise those of the splitter.

    Of a large table the shuffled folds hold a draw of the rows.
    """

    def folds() -> Iterator[Fold]:
        if isinstance(estimator.cv, Integral):
            drawn = draw_compared(sample, seed)
            for train, test in shuffled_folds(sample, int(estimator.cv), seed):
                yield train * drawn, test * drawn
            return
        for train, test in check_cv(estimator.cv, labels, classifier=True).split(x, labels):
            yield sample.share_of_rows(train, weight), sample.share_of_rows(test, weight)

    return folds


def keeps_solver_head(estimator: Any) -> bool:
    """Whether Algorithm 1's own beta is kept, because neither lambda 5 nor the refit is chosen."""
    fixed = estimator.l1 != "auto" and estimator.refit is False
    return bool(estimator.solver != "sequential" and fixed)


def start_network(
    hidden: Sequence[int] | None, sample: Sample, seed: int, label: object
) -> AutoEncoder:
    widths = [max(2, sample.n_features // 2)] * 2 if hidden is None else list(map(int, hidden))
    generator = torch_generator(seed, "encoder", label)
    return AutoEncoder.random(sample.x.shape[1], widths, generator, sample.device)


# --- the end ---


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
    correlation = torch.corrcoef(sample.features[:, order].T).cpu().numpy()
    first = (np.abs(np.atleast_2d(correlation)) > 1 - 1e-9).argmax(axis=1)
    copies = np.flatnonzero(first < np.arange(len(first)))
    if repeated := [f"{names[j]} (as {names[first[j]]})" for j in copies]:
        warn_user(
            f"features equal to another in every row, or opposite: {', '.join(repeated)}. No "
            "weights can balance such features against each other. Leave out one of each pair.",
            exceptions.RedundantFeatureWarning,
        )


def _warn_about_weights(estimator: Any, sample: Sample, solution: Solution) -> None:
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


def _find_erased_values(sample: Sample, w: Tensor) -> str:
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
