"""Screen the variables by evidence, then fit an estimator on those that can be relied on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stablepred._random import RandomState, child_seed, torch_generator
from stablepred._validation import (
    BoolArray,
    FloatArray,
    check_at_least,
    check_one_of,
    check_sample_weight,
    fit_atomically,
    validate,
    warn_user,
)
from stablepred.core.loop import Settings, Solution
from stablepred.core.networks import AutoEncoder, Layer, apply_layers
from stablepred.core.objective import Strengths
from stablepred.core.sequential import learn_weights, start_solution, train_encoder
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.evidence.base import Evidence
from stablepred.evidence.explaining_away import depend_through_outcome
from stablepred.evidence.verdict import Verdict, judge, make_evidence
from stablepred.exceptions import ConstantPredictionWarning, ConvergenceWarning, InputError
from stablepred.heads.choice import (
    Predictor,
    Recipe,
    choose_recipe,
    held_out_errors,
    shuffled_folds,
)
from stablepred.heads.linear import l1_path
from stablepred.heads.network import NetworkHeads
from stablepred.io.save import save_method, storable
from stablepred.models.paper import encode_outcome, encoder_in_user_order, start_network
from stablepred.models.progress import fit_progress
from stablepred.models.stages import (
    draw_seed,
    limit_resources,
    prepare_sample,
    report_balance,
    warn_about_redundant_features,
)
from stablepred.models.stored import check_network, check_stable
from stablepred.sample import Sample
from stablepred.weights.embedded import EmbeddedBalance
from stablepred.weights.raw import RawBalance

# A verdict that gives up more than this part of what all variables say is not followed.
LEAST_KEPT = 0.5
SETTINGS = Settings(
    Strengths(
        balance=1.0,
        reconstruction=0.01,
        weight_l2=0.01,
        l2=1e-4,
        weight_sum=1.0,
        network_l2=3e-4,
    ),
    least_share=0.1,
    max_iter=100,
    tol=1e-3,
)


@storable
@dataclass(frozen=True)
class Decision:
    """Which variables the prediction uses, and why.

    Attributes
    ----------
    candidates : DataFrame
        candidate, n_variables, and error: the root-mean-square error on held-out rows of the
        training environment (missing where it was not needed).
    chosen : str
        The candidate in use.
    reason : str
        Why, in one sentence.
    """

    candidates: pd.DataFrame
    chosen: str
    reason: str

    def __str__(self) -> str:
        return f"{self.candidates.to_string(index=False)}\nchosen: {self.chosen}. {self.reason}"


@storable
@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """The network of ``StableClassifier(estimator=None)``: log-odds from 0/1 features."""

    encoder: list[tuple[FloatArray, FloatArray]]
    coef: FloatArray
    intercept: float

    def predict_proba(self, x: FloatArray) -> FloatArray:
        """Probability of each class: (n_samples, 2)."""
        layers: list[Layer] = [(torch.tensor(a), torch.tensor(b)) for a, b in self.encoder]
        phi = apply_layers(torch.tensor(x), layers).numpy()
        positive = expit(phi @ self.coef + self.intercept)
        return np.column_stack([1 - positive, positive])

    def check_stored(self) -> None:
        """Raise ValueError unless encoder and coefficients fit each other."""
        check_network(self)


@storable
class StableClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Any classifier, fitted on the variables whose tie to the outcome can be relied on.

    Variables are judged by two kinds of evidence: the weighted effect of the paper and explaining
    away (docs/method.md). Where the variables depend on each other through the outcome, as
    selection makes them, those without evidence of being a cause are called noisy and left out.
    Where they do not, nothing is left out.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Fitted on the variables in use. None takes a small network, trained on the stable variables
        without weights, or, where nothing is left out, on all variables under balancing weights.
    evidence : "auto", or a list of names and objects, default="auto"
        The kinds of evidence, in the order of their authority: the first one that finds a stable
        variable decides. ``"auto"`` is ``["explaining_away", "effect"]``. An object is called with
        the sample and the balancing weights (``stablepred.evidence.base``).
    guard : bool, default=True
        With an ``estimator``: leave variables out only if those that stay keep at least half of
        what all variables say about the outcome on held-out rows.
    cv : int, default=3
        Folds for what is compared on held-out rows.
    random_state : int, RandomState or None, default=None
        Seed of folds, networks and the bootstrap.
    n_jobs : int or None, default=None
        Processes for the fits of ``estimator`` on the guard's folds.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where the weights and the network are fitted.
    verbose : int, default=0
        Show progress on a terminal.

    Attributes
    ----------
    variables_ : DataFrame
        variable, effect, low, high, one column per further kind of evidence, probability_noisy,
        verdict, used. ``probability_noisy`` is the normal tail of the deciding score beyond its
        threshold; it has not been calibrated.
    decision_ : Decision
        The candidates, the one chosen, and why; prints as a table.
    stable_features_, used_features_ : ndarray of bool
    share_through_outcome_ : float
        How much of the variables' dependence on each other goes through the outcome.
    sample_weight_ : ndarray of shape (n_samples,)
        Balancing weights, under which the effects are measured.
    balance_report_ : BalanceReport
    history_, n_iter_ : as in :class:`GBRClassifier`, of the balancing weights.
    estimator_ : the fitted estimator
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    random_state_ : int
        The seed in use. As ``random_state`` it gives the same fit again.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from stablepred import StableClassifier
    >>> from stablepred.data import SyntheticWorld
    >>> world = SyntheticWorld("s_indep_v")
    >>> train = world.sample(2000, bias_rate=0.75, random_state=0)
    >>> model = StableClassifier(LogisticRegression(), random_state=0).fit(train.X, train.y)
    >>> sorted(model.feature_names_in_[model.used_features_]) == sorted(world.stable_features)
    True
    """

    classes_: np.ndarray
    variables_: pd.DataFrame
    decision_: Decision
    stable_features_: BoolArray
    used_features_: BoolArray
    share_through_outcome_: float
    sample_weight_: FloatArray
    balance_report_: BalanceReport
    converged_: bool
    random_state_: int
    n_features_in_: int

    # What the balancing needs; the command line and reports read them, too.
    dichotomize = "mean"
    max_iter = SETTINGS.max_iter
    tol = SETTINGS.tol
    checkpoint = None

    save = save_method

    def __init__(
        self,
        estimator: Any = None,
        *,
        evidence: str | Sequence[str | Evidence] = "auto",
        guard: bool = True,
        cv: int = 3,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        device: str = "auto",
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.evidence = evidence
        self.guard = guard
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Judge the variables, decide which to use, and fit the estimator on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers. For the evidence, those that are not 0/1 are cut at their mean;
            ``estimator`` sees them as they are.
        y : array-like of shape (n_samples,)
            Outcome with two values; the one last in sorted order is the positive class.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two equal rows, one of weight 0 as absent.

        Returns
        -------
        self
        """
        return fit_atomically(self, lambda model: model._fit(X, y, sample_weight))

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        """Sample, weights, evidence, decision, estimator."""
        x, labels = validate(self, X, y, ensure_min_samples=3)
        self._check_parameters()
        self._check_estimator(sample_weight)
        weight = check_sample_weight(sample_weight, x)
        with (
            limit_resources(x.size),
            fit_progress(type(self).__name__, self.verbose > 0) as on_iteration,
        ):
            outcome = encode_outcome(self, labels, weight)
            sample = prepare_sample(self, x, outcome, weight, counted=False, order=1)
            self.random_state_ = seed = draw_seed(self.random_state)
            settings = replace(SETTINGS, on_iteration=on_iteration)
            screening = screen(sample, self.evidence, settings, seed)
            self._describe_screening(sample, screening)
            if self.estimator is None:
                self._fit_network(sample, screening, settings)
        report_fit(self, sample, screening.solution)
        if self.estimator is not None:
            rows = np.flatnonzero(weight)  # a row of weight zero is absent
            X = _safe_indexing(X, rows) if hasattr(X, "columns") else X
            x, labels, weight = x[rows], labels[rows], weight[rows]
            conclusive = screening.verdict.is_conclusive
            self.decision_, self.used_features_ = self._decide(x, labels, weight, conclusive)
            columns = _select(X, x, self.used_features_)
            self.estimator_ = self._fit_estimator(columns, labels, weight)
        self.variables_ = describe_variables(
            sample, screening.verdict, self.stable_features_, self.used_features_
        )

    def check_stored(self) -> None:
        """Raise ValueError unless the model is sound."""
        check_stable(self)

    def _check_parameters(self) -> None:
        check_one_of(self, "guard", (True, False))
        check_one_of(self, "device", ("auto", "cpu", "cuda"))
        check_at_least(self, "cv", 2, integer=True)
        make_evidence(self.evidence, seed=0)

    def _check_estimator(self, sample_weight: ArrayLike | None) -> None:
        if self.estimator is None:
            return
        name = type(self.estimator).__name__
        if not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                f"{name} has no predict_proba, so its probabilities cannot be compared on "
                "held-out rows. Wrap it in scikit-learn's CalibratedClassifierCV."
            )
        if sample_weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise InputError(
                f"{name} does not take sample_weight in fit. Leave sample_weight out, or choose "
                "an estimator that does."
            )

    def _describe_screening(self, sample: Sample, screening: "Screening") -> None:
        verdict, solution = screening.verdict, screening.solution
        w = solution.w
        self.history_ = {name: np.array(values) for name, values in solution.history.items()}
        self.n_iter_ = len(self.history_["total"])
        self.stable_features_ = sample.to_user_columns(verdict.stable)
        self.share_through_outcome_ = verdict.share
        self.sample_weight_ = sample.to_user_rows(w)
        self.balance_report_ = report_balance(sample, w)

    # --- without an estimator: a small network ---

    def _fit_network(self, sample: Sample, screening: "Screening", settings: Settings) -> None:
        verdict, w, seed = screening.verdict, screening.solution.w, self.random_state_
        heads = NetworkHeads(
            settings,
            torch.as_tensor(verdict.stable, device=sample.device),
            sample,
            w,
            screening.network,
            lambda: start_network(None, sample, torch_generator(seed, "encoder", "refit")),
        )
        through = depend_through_outcome(sample)
        choose = _choose_on_redrawn_rows if through else _choose_among_all
        recipe = choose(heads, sample, w, settings, self.cv, seed)
        (predictor,) = heads.fit(sample, w, [recipe])
        assert predictor.network is not None
        screening.solution.unfinished.extend([] if predictor.converged else ["refit"])
        if predictor.is_constant(sample):
            warn_user(
                "StableClassifier predicts the same probability for every row, or nearly so: the "
                "rows are too few, or the variables in use say nothing about the outcome.",
                ConstantPredictionWarning,
            )
        self.estimator_ = _store_network(sample, predictor)
        used = (self.estimator_.encoder[0][0] != 0).any(axis=0)
        self.used_features_ = np.asarray(used)
        reason = "It predicted best on redrawn held-out rows."
        if not verdict.is_conclusive:
            reason = _explain_no_verdict(verdict.share)
        chosen = "stable variables" if recipe.only_stable else "all variables"
        table = pd.DataFrame(
            {"candidate": [chosen], "n_variables": [int(used.sum())], "error": [np.nan]}
        )
        self.decision_ = Decision(table, chosen, reason)

    # --- with an estimator ---

    def _fit_estimator(self, columns: Any, y: Any, weight: FloatArray) -> Any:
        """A clone of the estimator, fitted under the sample weights if it takes them."""
        weighted = has_fit_parameter(self.estimator, "sample_weight")
        return clone(self.estimator).fit(
            columns, y, **({"sample_weight": weight} if weighted else {})
        )

    def _decide(
        self, x: FloatArray, y: Any, weight: FloatArray, conclusive: bool
    ) -> tuple[Decision, BoolArray]:
        """All variables, or the stable ones where the verdict can be followed."""
        masks = {"all variables": np.ones(x.shape[1], dtype=bool)}
        if conclusive:
            masks["stable variables"] = self.stable_features_
        errors = [np.nan] * len(masks)
        if not conclusive:
            chosen, reason = "all variables", _explain_no_verdict(self.share_through_outcome_)
        elif not self.guard:
            chosen, reason = "stable variables", "The verdict was followed without a guard."
        else:
            target = (y == self.classes_[1]).astype(np.float64)
            errors = [self._held_out_error(x[:, mask], target, weight) for mask in masks.values()]
            mean = float(np.average(target, weights=weight))
            kept = _share_kept(mean * (1 - mean), *errors)
            follow = kept >= LEAST_KEPT
            chosen = "stable variables" if follow else "all variables"
            reason = (
                f"The stable variables keep {kept:.0%} of what all variables say about the outcome "
                f"on held-out rows; at least {LEAST_KEPT:.0%} is needed to leave the others out."
            )
            if np.isnan(errors).any():
                reason = "There are too few rows of one class to hold any out."
        sizes = [int(mask.sum()) for mask in masks.values()]
        table = pd.DataFrame({"candidate": list(masks), "n_variables": sizes, "error": errors})
        return Decision(table, chosen, reason), masks[chosen]

    def _held_out_error(self, x: FloatArray, target: FloatArray, weight: FloatArray) -> float:
        """Root-mean-square error of the estimator's probabilities on held-out rows."""
        seed = child_seed(self.random_state_, "guard")
        n_folds = min(int(self.cv), int(min(target.sum(), (1 - target).sum())))
        if n_folds < 2:
            return float("nan")
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        weighted = has_fit_parameter(self.estimator, "sample_weight")
        found = cross_val_predict(
            clone(self.estimator),
            x,
            target,
            cv=folds,
            n_jobs=self.n_jobs,
            method="predict_proba",
            params={"sample_weight": weight} if weighted else None,
        )[:, 1]
        return float(np.sqrt(np.average((target - found) ** 2, weights=weight)))

    # --- prediction ---

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class, in the order of ``classes_``: (n_samples, 2)."""
        check_is_fitted(self)
        x = validate(self, X, reset=False)
        if self.estimator is None:
            X = self.dichotomizer_.transform(x)
        else:
            X = _select(X, x, self.used_features_)
        probability: FloatArray = self.estimator_.predict_proba(X)
        return probability

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The more probable class of each row."""
        positive = self.predict_proba(X)[:, 1] > 0.5
        labels: np.ndarray = self.classes_[positive.astype(int)]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@storable
class StableFeatureSelector(SelectorMixin, BaseEstimator):
    """Keep the variables whose tie to the outcome can be relied on: the screen as a transformer.

    The first half of :class:`StableClassifier`. Where the verdict is not conclusive, all variables
    are kept.

    Parameters
    ----------
    evidence, random_state, device, verbose
        As in :class:`StableClassifier`.

    Attributes
    ----------
    variables_ : DataFrame
        As in :class:`StableClassifier`.
    stable_features_ : ndarray of bool
    share_through_outcome_ : float
    converged_ : bool

    Examples
    --------
    >>> from stablepred import StableFeatureSelector
    >>> from stablepred.data import SyntheticWorld
    >>> world = SyntheticWorld("s_indep_v")
    >>> train = world.sample(2000, bias_rate=0.75, random_state=0)
    >>> selector = StableFeatureSelector(random_state=0).fit(train.X, train.y)
    >>> sorted(selector.get_feature_names_out()) == sorted(world.stable_features)
    True
    """

    stable_features_: BoolArray
    used_features_: BoolArray
    share_through_outcome_: float
    variables_: pd.DataFrame
    converged_: bool
    random_state_: int
    n_features_in_: int

    dichotomize = "mean"

    save = save_method

    def __init__(
        self,
        *,
        evidence: str | Sequence[str | Evidence] = "auto",
        random_state: RandomState = None,
        device: str = "auto",
        verbose: int = 0,
    ) -> None:
        self.evidence = evidence
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Judge the variables; parameters as of :meth:`StableClassifier.fit`."""

        def fit(selector: Self) -> None:
            x, labels = validate(selector, X, y, ensure_min_samples=3)
            check_one_of(selector, "device", ("auto", "cpu", "cuda"))
            weight = check_sample_weight(sample_weight, x)
            with (
                limit_resources(x.size),
                fit_progress(type(selector).__name__, selector.verbose > 0) as on_iteration,
            ):
                outcome = encode_outcome(selector, labels, weight)
                sample = prepare_sample(selector, x, outcome, weight, counted=False, order=1)
                selector.random_state_ = draw_seed(selector.random_state)
                settings = replace(SETTINGS, on_iteration=on_iteration)
                screening = screen(sample, selector.evidence, settings, selector.random_state_)
            report_fit(selector, sample, screening.solution)
            verdict = screening.verdict
            stable = sample.to_user_columns(verdict.stable)
            selector.stable_features_ = stable
            selector.share_through_outcome_ = verdict.share
            selector.used_features_ = stable if verdict.is_conclusive else np.ones_like(stable)
            selector.variables_ = describe_variables(
                sample, verdict, stable, selector.used_features_
            )

        return fit_atomically(self, fit)

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.used_features_

    def check_stored(self) -> None:
        """Refuse a stored selector whose parts do not belong together."""
        make_evidence(self.evidence, seed=0)
        if hasattr(self, "variables_"):
            for mask in (self.stable_features_, self.used_features_):
                if mask.dtype != bool or mask.shape != (self.n_features_in_,):
                    raise ValueError("the verdicts do not fit the features")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = None
        return tags


# --- the screen ---


@dataclass(frozen=True)
class Screening:
    """Weights and verdict, with the network whose embedding may have been balanced."""

    solution: Solution
    network: AutoEncoder
    verdict: Verdict


def screen(sample: Sample, evidence: Any, settings: Settings, seed: int) -> Screening:
    """Encoder, weights, evidence: weights balance the embedding.

    Where features do not depend on each other through the outcome, they balance the features.
    """
    kinds = make_evidence(evidence, seed)
    network = start_network(None, sample, torch_generator(seed, "encoder", 0))
    solution = start_solution(sample)
    train_encoder(sample, network, settings, solution)
    if depend_through_outcome(sample):
        learn_weights(sample, EmbeddedBalance(), network, settings, solution)
    else:
        learn_weights(sample, RawBalance(), None, settings, solution)
    return Screening(solution, network, judge(sample, solution.w, kinds))


def report_fit(estimator: Any, sample: Sample, solution: Solution) -> None:
    """Set ``converged_``; warn of iterations that were not enough, and of redundant features."""
    warn_about_redundant_features(sample)
    estimator.converged_ = not solution.unfinished
    if solution.unfinished:
        stages = ", ".join(dict.fromkeys(solution.unfinished))
        warn_user(
            f"{type(estimator).__name__} stopped after {SETTINGS.max_iter} iterations before it "
            f"converged (stage: {stages}), so that weights and verdicts are approximate.",
            ConvergenceWarning,
        )


def describe_variables(
    sample: Sample, verdict: Verdict, stable: BoolArray, used: BoolArray
) -> pd.DataFrame:
    """One line per variable of the user's table."""
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


def _explain_no_verdict(share: float) -> str:
    return (
        f"The variables do not depend on each other through the outcome (share {share:.2f}) or "
        "none is stable, so there is no reason to leave any out."
    )


def _share_kept(variance: float, error_all: float, error_stable: float) -> float:
    """How much of what all variables explain the stable ones explain, too.

    (variance - e_s^2) / (variance - e_a^2); zero where all variables together explain nothing,
    so that nothing is left out then.
    """
    explained = variance - error_all**2
    return (variance - error_stable**2) / explained if explained > 0 else 0.0


def _select(X: Any, x: FloatArray, used: BoolArray) -> Any:
    """The columns in use: of a frame with their names, of anything else as an array."""
    return _safe_indexing(X, np.flatnonzero(used), axis=1) if hasattr(X, "columns") else x[:, used]


# --- the recipe of the small network ---


def _choose_on_redrawn_rows(
    heads: NetworkHeads, sample: Sample, w: torch.Tensor, settings: Settings, cv: int, seed: int
) -> Recipe:
    """A head on the embedding under the weights, or a plain network on the stable variables."""
    phi = heads.network.encode(sample.x)
    path = [Recipe(strength, False, False) for strength in l1_path(sample, w, phi, settings)]
    refits = [Recipe(0.0, "plain", True)] if heads.stable.any() else []
    folds = lambda: shuffled_folds(sample, cv, seed)  # noqa: E731
    return choose_recipe(heads, [*path, *refits], sample, w, ~heads.stable, folds, seed)


def _choose_among_all(
    heads: NetworkHeads, sample: Sample, w: torch.Tensor, settings: Settings, cv: int, seed: int
) -> Recipe:
    """A network on all variables under the weights, or without them if that is of no use.

    A network trained on few effective rows is less sure of itself than a plain one; on rows like
    those it was trained on that is a loss, elsewhere it is what keeps it stable.
    """
    weighted, plain = (Recipe(0.0, kind, only_stable=False) for kind in ("weighted", "plain"))
    errors, constant = held_out_errors(
        heads,
        [weighted],
        sample,
        w,
        lambda: shuffled_folds(sample, cv, seed),
        lambda held, w, rng: iter([(held.features, torch.ones_like(w))]),
        seed,
    )
    mean = float(sample.total(sample.mass @ sample.y))
    useless = errors is not None and errors[0, 0] >= (mean * (1 - mean)) ** 0.5
    return plain if useless or constant[0] else weighted


def _store_network(sample: Sample, predictor: Predictor) -> FittedNetwork:
    assert predictor.network is not None
    layers = encoder_in_user_order(sample, predictor.network)
    return FittedNetwork(layers, predictor.head.beta.cpu().numpy(), float(predictor.head.intercept))
