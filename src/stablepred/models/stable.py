"""Screen the variables by evidence, then fit an estimator on those that can be relied on."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stablepred._random import RandomState, child_seed
from stablepred.evidence.stable_features import CAUSE_Z
from stablepred.exceptions import InputError
from stablepred.fitting import take_over_when_done
from stablepred.io.save import Storable, storable
from stablepred.models.base import BoolArray, FloatArray, one_of
from stablepred.models.dgbr import DGBRClassifier
from stablepred.models.stored import check_stable
from stablepred.preprocessing import checked_sample_weight, column_names, validated

# A verdict that gives up more than this part of what all variables say is not followed.
LEAST_KEPT = 0.5


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
class StableClassifier(MetaEstimatorMixin, ClassifierMixin, Storable, BaseEstimator):
    """Any classifier, fitted on the variables whose tie to the outcome can be relied on.

    Variables are judged by two kinds of evidence: the weighted effect of the paper and explaining
    away (docs/method.md). Where the variables depend on each other through the outcome, as
    selection makes them, those without evidence of being a cause are called noisy and left out.
    Where they do not, nothing is left out.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Fitted on the variables in use. None takes the small network of
        :class:`DGBRClassifier`'s default, which is trained on the stable variables without
        weights, or, where nothing is left out, on all variables under balancing weights.
    evidence : "auto", default="auto"
        The kinds of evidence; ``"auto"`` uses all that apply.
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
        variable, effect, low, high, explaining_away, probability_noisy, verdict, used.
        ``probability_noisy`` is the normal tail of the explaining-away score beyond its threshold;
        it has not been calibrated.
    decision_ : Decision
        The candidates, the one chosen, and why; prints as a table.
    stable_features_, used_features_ : ndarray of bool
    screen_ : DGBRClassifier
        The fit that gave the evidence.
    estimator_ : the fitted estimator (``screen_`` if ``estimator=None``).
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.

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

    def __init__(
        self,
        estimator: Any = None,
        *,
        evidence: str = "auto",
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
        return take_over_when_done(self, lambda attempt: attempt._fit(X, y, sample_weight))

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        x, labels = validated(self, X, y, ensure_min_samples=3)
        one_of(self, "evidence", ("auto",))
        one_of(self, "guard", (True, False))
        mass = checked_sample_weight(sample_weight, x)
        self._check_estimator(sample_weight)
        self.screen_ = DGBRClassifier(
            cv=self.cv, random_state=self.random_state, device=self.device, verbose=self.verbose
        ).fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.screen_.classes_
        self.stable_features_ = self.screen_.stable_features_
        if self.estimator is None:
            self.estimator_ = self.screen_
            self.used_features_ = self.screen_.used_features_
            self.decision_ = self._describe_screen()
        else:
            self.decision_, self.used_features_ = self._decide(x, labels, mass)
            self.estimator_ = self._fit_estimator(_select(X, x, self.used_features_), labels, mass)
        self.variables_ = self._describe_variables()

    def check_stored(self) -> None:
        """Raise ValueError unless the model is sound."""
        check_stable(self)

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

    def _fit_estimator(self, columns: Any, y: Any, mass: FloatArray) -> Any:
        """A clone of the estimator, fitted under the sample weights if it takes them."""
        weighted = has_fit_parameter(self.estimator, "sample_weight")
        return clone(self.estimator).fit(
            columns, y, **({"sample_weight": mass} if weighted else {})
        )

    # --- the decision ---

    def _drops_by_verdict(self) -> bool:
        """Whether there is a verdict to act on: features tied through the outcome, some stable."""
        return self.screen_._through_outcome() and bool(self.stable_features_.any())

    def _describe_screen(self) -> Decision:
        everything = int(self.screen_.used_features_.sum())
        if self._drops_by_verdict() and self.screen_.recipe_.only_stable:
            chosen, reason = "stable variables", "They predicted best on redrawn held-out rows."
        elif self._drops_by_verdict():
            chosen, reason = "all variables", "They predicted best on redrawn held-out rows."
        else:
            chosen, reason = "all variables", _no_verdict(self.screen_.share_through_outcome_)
        table = pd.DataFrame(
            {"candidate": [chosen], "n_variables": [everything], "error": [np.nan]}
        )
        return Decision(table, chosen, reason)

    def _decide(self, x: FloatArray, y: Any, mass: FloatArray) -> tuple[Decision, BoolArray]:
        """All variables, or the stable ones where the verdict can be followed."""
        everything = np.ones(x.shape[1], dtype=bool)
        stable = self.stable_features_
        masks = {"all variables": everything}
        if self._drops_by_verdict():
            masks["stable variables"] = stable
        errors = [np.nan] * len(masks)
        if len(masks) == 1:
            chosen, reason = "all variables", _no_verdict(self.screen_.share_through_outcome_)
        elif not self.guard:
            chosen, reason = "stable variables", "The verdict was followed without a guard."
        else:
            target = (y == self.classes_[1]).astype(np.float64)
            errors = [self._held_out_error(x[:, mask], target, mass) for mask in masks.values()]
            mean = float(np.average(target, weights=mass))
            kept = _share_kept(mean * (1 - mean), *errors)
            follow = kept >= LEAST_KEPT
            chosen = "stable variables" if follow else "all variables"
            reason = (
                f"The stable variables keep {kept:.0%} of what all variables say about the outcome "
                f"on held-out rows; at least {LEAST_KEPT:.0%} is needed to leave the others out."
            )
        sizes = [int(mask.sum()) for mask in masks.values()]
        table = pd.DataFrame({"candidate": list(masks), "n_variables": sizes, "error": errors})
        return Decision(table, chosen, reason), masks[chosen]

    def _held_out_error(self, x: FloatArray, target: FloatArray, mass: FloatArray) -> float:
        """Root-mean-square error of the estimator's probabilities on held-out rows."""
        seed = child_seed(self.screen_.random_state_, "guard")
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
            params={"sample_weight": mass} if weighted else None,
        )[:, 1]
        return float(np.sqrt(np.average((target - found) ** 2, weights=mass)))

    def _describe_variables(self) -> pd.DataFrame:
        effects = self.screen_.feature_effects_
        unsure = not self._drops_by_verdict()
        verdict = np.where(effects["stable"], "stable", "undecided" if unsure else "noisy")
        return pd.DataFrame(
            {
                "variable": column_names(self, self.n_features_in_),
                **{name: effects[name] for name in ("effect", "low", "high", "explaining_away")},
                "probability_noisy": norm.sf(effects["explaining_away"] - CAUSE_Z),
                "verdict": verdict,
                "used": self.used_features_,
            }
        )

    # --- prediction ---

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class, in the order of ``classes_``: (n_samples, 2)."""
        check_is_fitted(self)
        if self.estimator is not None:
            X = _select(X, validated(self, X, reset=False), self.used_features_)
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


def _select(X: Any, x: FloatArray, used: BoolArray) -> Any:
    """The columns in use: of a frame with their names, of anything else as an array."""
    return _safe_indexing(X, np.flatnonzero(used), axis=1) if hasattr(X, "columns") else x[:, used]


def _no_verdict(share: float) -> str:
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
