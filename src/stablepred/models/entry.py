"""The start of a fit: parameters, device, outcome, sample, settings, folds, starting values."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

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
from stablepred.core.loop import Settings
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import Strengths
from stablepred.core.resources import LARGE, threads_for
from stablepred.core.sharding import LOCAL, current_shards
from stablepred.evaluation.diagnostics import BalanceReport, balance_report
from stablepred.exceptions import ConstantFeatureWarning, InputError
from stablepred.heads.choice import Fold, shuffled_folds
from stablepred.heads.folds import MOST_COMPARED, draw_rows
from stablepred.io import values
from stablepred.models.standardizer import Standardizer
from stablepred.outcomes.binary import BINARY
from stablepred.preprocessing import Dichotomizer
from stablepred.sample import Sample, make_sample
from stablepred.tables.counting import PatternCounts
from stablepred.tables.messages import listed


def choose_device(device: str, size: int) -> torch.device:
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError(
            "device='cuda' was requested, but torch finds no CUDA GPU. "
            "Set device='cpu' or device='auto'."
        )
    if device == "auto":
        device = "cuda" if size >= LARGE and torch.cuda.is_available() else "cpu"
    return torch.device(device)


@contextmanager
def limit_resources(size: int) -> Iterator[None]:
    """Set the threads for a data matrix of ``size`` entries; explain when memory runs out."""
    try:
        with threads_for(size):
            yield
    except torch.cuda.OutOfMemoryError as error:
        free, whole = (amount / 2**30 for amount in torch.cuda.mem_get_info())
        raise InputError(
            f"the fit needs more memory than the GPU has ({free:.1f} of {whole:.1f} GiB free), "
            "even in small pieces. Set device='cpu', or fit on fewer rows or with narrower layers."
        ) from error


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
        raise InputError(
            f"all {len(names)} features are constant in the training rows, so there is nothing to "
            "learn from. Check the columns and the sample_weight."
        )
    if constant:
        warn_user(
            "features that are constant in the training rows; effect and coefficient are set to 0: "
            + ", ".join(constant),
            ConstantFeatureWarning,
        )
    if getattr(estimator, "order", 1) == 1:
        return sample
    sample, names = sample.with_products(), sample.names
    every = combinations(range(len(names)), 2)
    if constant := [f"{names[a]}*{names[b]}" for a, b in every if (a, b) not in set(sample.pairs)]:
        warn_user(
            f"pairs that are constant in the data are not balanced: {listed(constant, 10)}",
            ConstantFeatureWarning,
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


def report_balance(sample: Sample, w: torch.Tensor) -> BalanceReport:
    """Balance of the features, in the user's order."""
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
        raise InputError(
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
            drawn = draw_rows(sample, BINARY, MOST_COMPARED, seed)
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


def start_at(estimator: Any, seed: int) -> torch.Generator | None:
    """What the starting values of Algorithm 1 are drawn from; None for those that are fixed."""
    return torch_generator(seed, "start") if estimator.solver == "alternating-random" else None


def start_network(
    hidden: Sequence[int] | None, sample: Sample, generator: torch.Generator
) -> AutoEncoder:
    width = max(2, sample.n_features // 2)
    widths = (width, width) if hidden is None else tuple(map(int, hidden))
    return AutoEncoder.random(sample.x.shape[1], widths, generator, sample.device)
