"""Screen the variables by evidence, then fit an estimator on those that can be relied on."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import StratifiedKFold, check_cv, cross_val_predict
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stablepred._random import RandomState, child_seed
from stablepred._validation import (
    BoolArray,
    FloatArray,
    check_at_least,
    check_one_of,
    fit_atomically,
    validate,
    warn_user,
)
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.evidence.base import Evidence
from stablepred.evidence.verdict import make_evidence
from stablepred.exceptions import ConstantPredictionWarning, InputError
from stablepred.io.save import save_method, storable
from stablepred.models.entry import limit_resources, report_balance
from stablepred.models.screening import (
    SETTINGS,
    Screening,
    describe_variables,
    report_fit,
    screen,
)
from stablepred.models.small_network import fit_network, store_network
from stablepred.models.stored import check_stable

# A verdict is followed only if the stable variables keep at least this share of what all explain.
LEAST_KEPT = 0.5


@storable
@dataclass(frozen=True)
class Decision:
    """Which variables the prediction uses, and why.

    Attributes
    ----------
    candidates : DataFrame
        Columns ``candidate``, ``n_variables`` and ``error``, the root-mean-square error on held-out
        rows of the training environment (missing where it was not needed).
    chosen : str
        The chosen candidate.
    reason : str
        The reason, in one sentence.
    """

    candidates: pd.DataFrame
    chosen: str
    reason: str

    def __str__(self) -> str:
        return f"{self.candidates.to_string(index=False)}\nchosen: {self.chosen}. {self.reason}"

    def _repr_html_(self) -> str:
        from stablepred.html.fragments import table

        return table(self.candidates, f"{self.chosen}: {self.reason}", index=False)


@storable
class StableClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Any classifier, fitted on the variables whose tie to the outcome can be relied on.

    Variables are judged by two kinds of evidence: the weighted effect of the paper and explaining
    away (docs/method.md). Where the variables depend on each other through the outcome, as
    selection makes them, those without evidence of being a cause are called noisy, and they are
    left out if the prediction on held-out rows allows it: ``decision_`` says what was decided and
    why. Where the variables do not depend on each other in this way, all of them are used.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Fitted on the variables in use. None means a small network, trained on the stable variables
        without weights or, if nothing is left out, on all variables under balancing weights.
    evidence : "auto", or a list of names and objects, default="auto"
        The kinds of evidence, in order of priority: the first one that finds a stable variable
        decides. ``"auto"`` is ``["explaining_away", "effect"]``. An object is called with
        the sample and the balancing weights (``stablepred.evidence.base``).
    guard : bool, default=True
        With an ``estimator``: leave variables out only if the others keep at least half of what
        all variables explain of the outcome on held-out rows.
    cv : int or splitter, default=3
        Folds for the comparisons on held-out rows.
    random_state : int, RandomState or None, default=None
        Seed of folds, networks and the bootstrap.
    n_jobs : int or None, default=None
        Number of processes for fitting ``estimator`` on the guard's folds.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Device on which the weights and the network are fitted.
    verbose : int, default=0
        Show progress on a terminal.

    Attributes
    ----------
    variables_ : DataFrame
        variable, effect, low, high, one column per further kind of evidence, probability_noisy,
        verdict, used. ``probability_noisy`` is the normal tail of the deciding score beyond its
        threshold; it is not calibrated.
    decision_ : Decision
        The candidates, the one chosen, and why; prints as a table.
    stable_features_, used_features_ : ndarray of bool
        Which variables are stable, and which the prediction uses.
    share_through_outcome_ : float
        Share of the variables' dependence on each other that goes through the outcome.
    sample_weight_ : ndarray of shape (n_samples,)
        Balancing weights, under which the effects are measured.
    balance_report_ : BalanceReport
    history_, n_iter_ : as in :class:`GBRClassifier`, of the balancing weights.
    estimator_ : the fitted estimator
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    random_state_ : int
        The seed in use. Passed as ``random_state``, it gives the same fit again.

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
    estimator_: Any
    n_features_in_: int

    # What the balancing needs; the command line and the reports read these, too.
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
        cv: Any = 3,
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
            Numeric features. For the evidence, those that are not 0/1 are cut at their mean;
            ``estimator`` receives them as they are.
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
        """Screen the variables, decide which to use, fit the estimator on them."""
        self._check_parameters()
        self._check_estimator(sample_weight)
        screening = screen(self, X, y, sample_weight)
        sample, verdict, solution = screening.sample, screening.verdict, screening.solution
        self.history_ = {name: np.array(values) for name, values in solution.history.items()}
        self.n_iter_ = len(self.history_["total"])
        self.sample_weight_ = sample.to_user_rows(solution.w)
        self.balance_report_ = report_balance(sample, solution.w)
        if self.estimator is None:
            self._fit_network(screening)
        else:
            self._fit_estimator(X, screening)
        report_fit(self, screening)
        self.variables_ = describe_variables(
            sample, verdict, self.stable_features_, self.used_features_
        )

    def check_stored(self) -> None:
        """Raise ValueError unless the model is sound."""
        check_stable(self)

    def _check_parameters(self) -> None:
        check_one_of(self, "guard", (True, False))
        if isinstance(self.cv, Real):
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
        if sample_weight is not None and not self._takes_weights():
            raise InputError(
                f"{name} does not take sample_weight in fit. Leave sample_weight out, or choose "
                "an estimator that does."
            )

    def _fit_network(self, screening: Screening) -> None:
        """Without an estimator: a small network."""
        with limit_resources(screening.x.size):
            recipe, predictor = fit_network(self, screening)
        if predictor.is_constant(screening.sample):
            warn_user(
                "StableClassifier predicts the same probability for every row, or nearly so: there "
                "are too few rows, or the variables in use carry no information on the outcome.",
                ConstantPredictionWarning,
            )
        self.estimator_ = store_network(screening.sample, predictor)
        self.used_features_ = np.asarray((self.estimator_.encoder[0][0] != 0).any(axis=0))
        reason = "It predicted best on redrawn held-out rows."
        if not screening.verdict.is_conclusive:
            reason = _explain_no_verdict(screening.verdict.share)
        chosen = "stable variables" if recipe.only_stable else "all variables"
        sizes = [int(self.used_features_.sum())]
        table = pd.DataFrame({"candidate": [chosen], "n_variables": sizes, "error": [np.nan]})
        self.decision_ = Decision(table, chosen, reason)

    def _fit_estimator(self, X: ArrayLike, screening: Screening) -> None:
        """The estimator on the variables in use, under the sample weights if it takes them."""
        rows = np.flatnonzero(screening.weight)  # rows of weight zero do not count
        X = _safe_indexing(X, rows) if hasattr(X, "columns") else X
        x, labels, weight = (a[rows] for a in (screening.x, screening.labels, screening.weight))
        conclusive = screening.verdict.is_conclusive
        folds = self._split(screening)
        decided = self._decide(x, labels, weight, conclusive, folds)
        self.decision_, self.used_features_ = decided
        columns = _select(X, x, self.used_features_)
        options = {"sample_weight": weight} if self._takes_weights() else {}
        self.estimator_ = clone(self.estimator).fit(columns, labels, **options)

    def _takes_weights(self) -> bool:
        return bool(has_fit_parameter(self.estimator, "sample_weight"))

    def _decide(
        self, x: FloatArray, y: Any, weight: FloatArray, conclusive: bool, folds: Any
    ) -> tuple[Decision, BoolArray]:
        """Choose all variables, or the stable ones if the verdict can be followed."""
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
            parts = [x[:, mask] for mask in masks.values()]
            errors = [self._held_out_error(part, target, weight, folds) for part in parts]
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

    def _split(self, screening: Screening) -> Any:
        """Folds of the rows that are present, for the guard; None where there are too few."""
        labels, present = screening.labels, np.flatnonzero(screening.weight)
        if not isinstance(self.cv, Integral):
            index = np.full(len(labels), -1)
            index[present] = np.arange(len(present))
            splits = check_cv(self.cv, labels, classifier=True).split(screening.x, labels)
            return [tuple(index[rows][index[rows] >= 0] for rows in split) for split in splits]
        n_folds = min(int(self.cv), int(np.unique(labels[present], return_counts=True)[1].min()))
        seed = child_seed(self.random_state_, "guard")
        return StratifiedKFold(n_folds, shuffle=True, random_state=seed) if n_folds > 1 else None

    def _held_out_error(
        self, x: FloatArray, target: FloatArray, weight: FloatArray, folds: Any
    ) -> float:
        """Root-mean-square error of the estimator's probabilities on held-out rows."""
        if folds is None:
            return float("nan")
        found = cross_val_predict(
            clone(self.estimator),
            x,
            target,
            cv=folds,
            n_jobs=self.n_jobs,
            method="predict_proba",
            params={"sample_weight": weight} if self._takes_weights() else None,
        )[:, 1]
        return float(np.sqrt(np.average((target - found) ** 2, weights=weight)))

    # --- prediction ---

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class, in the order of ``classes_``: (n_samples, 2)."""
        check_is_fitted(self)
        x = validate(self, X, reset=False)
        cut = self.estimator is None
        columns = self.dichotomizer_.transform(x) if cut else _select(X, x, self.used_features_)
        probability: FloatArray = self.estimator_.predict_proba(columns)
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


def _explain_no_verdict(share: float) -> str:
    return (
        f"The variables do not depend on each other through the outcome (share {share:.2f}) or "
        "none is stable, so there is no reason to leave any out."
    )


def _share_kept(variance: float, error_all: float, error_stable: float) -> float:
    """The share of what all variables explain that the stable ones explain, too.

    (variance - e_s^2) / (variance - e_a^2); zero if all variables together explain nothing,
    so that nothing is left out.
    """
    explained = variance - error_all**2
    return (variance - error_stable**2) / explained if explained > 0 else 0.0


def _select(X: Any, x: FloatArray, used: BoolArray) -> Any:
    """The columns in use: a frame keeps their names, anything else becomes an array."""
    return _safe_indexing(X, np.flatnonzero(used), axis=1) if hasattr(X, "columns") else x[:, used]
