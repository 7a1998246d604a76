"""The screen: encoder, weights, evidence, verdict. The first half of ``StableClassifier``."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from stablepred._random import torch_generator
from stablepred._validation import (
    BoolArray,
    FloatArray,
    check_one_of,
    check_sample_weight,
    validate,
    warn_user,
)
from stablepred.core.loop import Settings, Solution
from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import Strengths
from stablepred.core.sequential import learn_weights, start_solution, train_encoder
from stablepred.evidence.explaining_away import depend_through_outcome
from stablepred.evidence.verdict import Verdict, judge, make_evidence
from stablepred.exceptions import ConvergenceWarning
from stablepred.models.entry import (
    draw_seed,
    encode_outcome,
    limit_resources,
    prepare_sample,
    start_network,
)
from stablepred.models.progress import fit_progress
from stablepred.models.warnings import warn_about_redundant_features
from stablepred.sample import Sample
from stablepred.weights.embedded import EmbeddedBalance
from stablepred.weights.raw import RawBalance

SETTINGS = Settings(
    Strengths(1.0, 0.01, weight_l2=0.01, l2=1e-4, weight_sum=1.0, network_l2=3e-4),
    least_share=0.1,
    max_iter=100,
    tol=1e-3,
)


@dataclass(frozen=True)
class Screening:
    """Weights and verdict, with the network whose embedding may have been balanced.

    ``x``, ``labels`` and ``weight`` are the user's rows, validated.
    """

    x: FloatArray
    labels: Any
    weight: FloatArray
    sample: Sample
    settings: Settings
    solution: Solution
    network: AutoEncoder
    verdict: Verdict


def screen(
    estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> Screening:
    """Rows -> sample -> encoder -> weights -> evidence -> verdict.

    The weights balance the embedding or, if features do not depend on each other through the
    outcome, the features. Sets the fitted attributes about the variables on ``estimator``.
    """
    x, labels = validate(estimator, X, y, ensure_min_samples=3)
    check_one_of(estimator, "device", ("auto", "cpu", "cuda"))
    weight = check_sample_weight(sample_weight, x)
    with (
        limit_resources(x.size),
        fit_progress(type(estimator).__name__, estimator.verbose > 0) as on_iteration,
    ):
        outcome = encode_outcome(estimator, labels, weight)
        sample = prepare_sample(estimator, x, outcome, weight, counted=False, order=1)
        estimator.random_state_ = seed = draw_seed(estimator.random_state)
        kinds = make_evidence(estimator.evidence, seed)
        settings = replace(SETTINGS, on_iteration=on_iteration)
        network = start_network(None, sample, torch_generator(seed, "encoder", 0))
        solution = start_solution(sample)
        train_encoder(sample, network, settings, solution)
        if depend_through_outcome(sample):
            learn_weights(sample, EmbeddedBalance(), network, settings, solution)
        else:
            learn_weights(sample, RawBalance(), None, settings, solution)
        verdict = judge(sample, solution.w, kinds)
    estimator.stable_features_ = sample.to_user_columns(verdict.stable)
    estimator.share_through_outcome_ = verdict.share
    return Screening(x, labels, weight, sample, settings, solution, network, verdict)


def report_fit(estimator: Any, screening: Screening) -> None:
    """Set ``converged_``; warn if a stage did not converge, and about redundant features."""
    warn_about_redundant_features(screening.sample)
    unfinished = screening.solution.unfinished
    estimator.converged_ = not unfinished
    if unfinished:
        warn_user(
            f"{type(estimator).__name__} stopped after {SETTINGS.max_iter} iterations before "
            f"converging (stage: {', '.join(dict.fromkeys(unfinished))}), so the weights and "
            "verdicts are approximate.",
            ConvergenceWarning,
        )


def describe_variables(
    sample: Sample, verdict: Verdict, stable: BoolArray, used: BoolArray
) -> pd.DataFrame:
    """One row per variable of the user's table."""
    columns: dict[str, Any] = {"variable": sample.origin.names}
    for name, scores in verdict.scores.items():
        if name == "effect":
            parts = {"effect": scores.score, "low": scores.low, "high": scores.high}
            columns |= {key: sample.to_user_columns(values) for key, values in parts.items()}
        else:
            columns[name] = sample.to_user_columns(scores.score)
    noisy = "noisy" if verdict.is_conclusive else "undecided"
    probability = np.full(len(stable), 0.5)
    probability[sample.origin.columns] = verdict.probability_noisy
    columns |= {
        "probability_noisy": probability,
        "verdict": np.where(stable, "stable", noisy),
        "used": used,
    }
    first = [name for name in ("variable", "effect", "low", "high") if name in columns]
    return pd.DataFrame(columns)[[*first, *(name for name in columns if name not in first)]]
