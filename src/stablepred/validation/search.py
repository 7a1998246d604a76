"""The search object."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.progress import track
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from stablepred._random import RandomState, child_seed, numpy_generator, root_seed
from stablepred._validation import (
    check_at_least,
    check_one_of,
    check_sample_weight,
    column_names,
    fit_atomically,
    warn_user,
)
from stablepred.evaluation.metrics import listed_environments
from stablepred.exceptions import (
    ConstantPredictionWarning,
    DegenerateWeightsWarning,
    InputError,
    StablepredWarning,
)
from stablepred.validation.adaptive import adaptive_search
from stablepred.validation.candidates import (
    Outcome,
    Params,
    candidate_model,
    fit_arguments,
    listed_candidates,
    outcome_of,
    positive_probability,
    repeat_warnings,
    results_table,
    warn_about_failures,
)
from stablepred.validation.environments import CRITERIA, KINDS, RATES, NoisyColumns, is_constant
from stablepred.validation.made import (
    BoolArray,
    FloatArray,
    Given,
    HeldOut,
    Rows,
    Split,
    constant_error,
    folds,
    found_noisy,
    named_noisy,
    zero_one,
)


class StableSearchCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Grid or random search for the candidate with the smallest error across environments.

    Every candidate is fitted on training folds. On the held-out rows the features found noisy are
    made to follow the outcome at rates .1 ... .9, which gives one validation environment per
    rate, and the candidate with the smallest

        Average_Error + stability_weight * Stability_Error        (RMSE; paper, eqs. 1-2)

    over those is chosen. Test environments are never needed. A constant predictor is perfectly
    stable and useless, and shrinking towards one buys stability; so candidates that predict a
    constant, that are no better on average than a constant, or whose balancing weights collapsed,
    are marked and chosen only if nothing else is left, with a warning.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Of this library, of scikit-learn, or a pipeline that ends in one. A ``random_state`` of
        None in it is replaced by a seed derived from the search's own, the same for every fit. A
        ``checkpoint`` in it is not used.
    param_grid : dict or list of dicts
        Values to try by parameter, as in ``GridSearchCV``; with ``n_iter`` also distributions
        (objects with ``rvs``), as in ``RandomizedSearchCV``.
    n_iter : int or None, default=None
        Number of candidates to draw at random; None tries the whole grid.
    sampler : {None, "optuna"}, default=None
        ``"optuna"`` lets Optuna propose the ``n_iter`` candidates, each in view of those before
        (the extra ``stablepred[optuna]``); ``param_grid`` is then one dict whose values are lists
        or ``optuna.distributions``.
    criterion : {"score", "worst"}, default="score"
        The sum above, or the largest error over the environments.
    stability_weight : float, default=5.0
        Lambda in the sum above.
    validation : {"redraw", "resample"}, default="redraw"
        How the noisy features come to follow the outcome: their columns are redrawn together, or
        the rows are reweighted (the paper's non-random resampling). The tuning study, ``stablepred
        reproduce tuning-study``, compares them; redrawing has less regret.
    rates : sequence of float, default=.1, .2 ... .9
        The environments: shares of the rows in which a noisy feature agrees with the outcome.
    environments : sequence of Environment or None, default=None
        Validation environments of your own, with the columns of X, in place of made ones. Every
        candidate is then fitted once, on all of X. They must not be the environments that the
        result is tested in.
    noisy_features : sequence of names, indices or booleans, or None, default=None
        The features to change; None takes those that a `GBRClassifier` does not find stable
        (complement of its ``stable_features_``).
    cv : int or splitter, default=5
        Folds; a number means stratified and shuffled ones, at most as many as the smaller class
        has rows.
    refit : bool, default=True
        Fit the best candidate on all rows, for ``best_estimator_`` and prediction.
    n_jobs : int or None, default=None
        Processes, as in scikit-learn, with one thread each. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the folds, the redrawing, the random search and the estimators.
    verbose : int, default=0
        Show a progress bar on a terminal.

    Attributes
    ----------
    best_estimator_ : the best candidate, fitted on all rows (with ``refit=True``).
    best_params_ : dict
    best_index_ : int
    best_score_ : float
        ``cv_results_["mean_test_score"][best_index_]``: minus the criterion, so that greater is
        better as everywhere in scikit-learn.
    cv_results_ : dict of arrays, one entry per candidate
        ``params``, ``param_*``, ``criterion`` (smaller is better), ``average_error``,
        ``stability_error``, ``worst_error``, ``error_<environment>``; the marks ``uninformative``
        (average error no better than a constant's), ``collapsed`` (balancing weights),
        ``constant`` and ``failed``; ``effective_share`` (smallest over the folds, NaN for models
        without balancing weights), ``mean_fit_time``, ``mean_test_score``, ``rank_test_score``
        (marked candidates come last, in this order of the marks). Ready for ``pandas.DataFrame``.
    noisy_features_ : ndarray of bool, or None with own environments
    constant_error_ : float
        Average_Error of predicting the base rate in the same environments.
    interrupted_ : bool
    random_state_ : int
        The seed in use. As ``random_state`` it gives the same search again.
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    *Interruption.* Ctrl-C ends the search, not the program: the candidates evaluated on all folds
    so far make up ``cv_results_``, the best of them is refitted, and a warning says so
    (``interrupted_`` is True). A second Ctrl-C during the refit is passed on; ``cv_results_`` and
    ``best_params_`` are there by then. Before the first candidate is complete the interrupt is
    passed on and the object stays as it was.

    *Which features vary.* Columns that are not 0/1 are cut at their mean to tell agreement with
    the outcome; where a value has to change side, one is drawn from those on the other side.

    *Failed fits.* A candidate whose fit raises an error is marked ``failed`` with a warning; if
    all fail, the first error is raised.

    Examples
    --------
    >>> from stablepred import GBRClassifier
    >>> from stablepred.data import SyntheticWorld
    >>> from stablepred.search import StableSearchCV
    >>> train = SyntheticWorld("s_indep_v").sample(1000, bias_rate=0.75, random_state=0)
    >>> model = GBRClassifier(refit=False)
    >>> search = StableSearchCV(model, {"l1": [0.001, 0.03]}, cv=2, random_state=0)
    >>> search.fit(train.X, train.y).best_params_
    {'l1': 0.03}
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        n_iter: int | None = None,
        sampler: str | None = None,
        criterion: str = "score",
        stability_weight: float = 5.0,
        validation: str = "redraw",
        rates: Sequence[float] = RATES,
        environments: Any = None,
        noisy_features: Any = None,
        cv: Any = 5,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.sampler = sampler
        self.criterion = criterion
        self.stability_weight = stability_weight
        self.validation = validation
        self.rates = rates
        self.environments = environments
        self.noisy_features = noisy_features
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # --- fit ---

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Evaluate the candidates and fit the best one on all rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Features, handed to the estimator as they are.
        y : array-like of shape (n_samples,)
            Outcome with two values; the one last in sorted order is the positive class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the fits and in the errors. Rows of weight zero are as if
            absent.

        Returns
        -------
        self
        """
        kept: list[tuple[Rows, int, list[list[Outcome]]]] = []
        fit_atomically(self, lambda attempt: kept.append(attempt._search(X, y, sample_weight)))
        rows, seed, outcomes = kept[0]
        if self.refit:
            best = candidate_model(self.estimator, self.best_params_, seed)
            self.best_estimator_ = best.fit(rows.X, rows.y, **fit_arguments(best, rows.weight))
        self._warn(rows, outcomes)
        return self

    def _search(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Rows, int, list[list[Outcome]]]:
        """Everything but the refit; also gives the rows, seed and outcomes for what follows."""
        self._check_parameters()
        self.random_state_ = seed = root_seed(self.random_state)
        rows = self._training_rows(X, y, sample_weight)
        if self.sampler is None:
            candidates = listed_candidates(self.param_grid, self.n_iter, seed)
            for params in candidates:
                fit_arguments(candidate_model(self.estimator, params, seed), rows.weight)
            splits = list(self._splits(rows, seed))
            outcomes = self._evaluate(candidates, splits, seed)
            self.interrupted_ = len(outcomes) < len(candidates)
        else:
            splits = list(self._splits(rows, seed))
            candidates, outcomes = self._evaluate_adaptively(splits, seed)
        raised = [next((o.error for o in per_fold if o.error), None) for per_fold in outcomes]
        if raised[0] is not None and all(raised):
            raise raised[0]
        self.constant_error_ = constant_error(splits)
        self.cv_results_ = self._results(
            candidates[: len(outcomes)],
            splits[0].environments.names,
            outcomes,
            self.constant_error_,
        )
        self.best_index_ = int(np.argmin(self.cv_results_["rank_test_score"]))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        return rows.take(rows.present), seed, outcomes

    def _results(
        self,
        candidates: list[Params],
        environments: list[str],
        outcomes: list[list[Outcome]],
        constant: float,
    ) -> dict[str, Any]:
        return results_table(
            candidates, environments, outcomes, constant, self.criterion, self.stability_weight
        )

    def _check_parameters(self) -> None:
        check_one_of(self, "criterion", CRITERIA)
        check_one_of(self, "sampler", (None, "optuna"))
        if self.sampler is not None and (
            self.n_iter is None or not isinstance(self.param_grid, dict) or not self.param_grid
        ):
            raise InputError(
                "sampler='optuna' needs n_iter= and a param_grid that is one non-empty dict, but "
                f"n_iter={self.n_iter!r} and param_grid={self.param_grid!r}."
            )
        check_one_of(self, "validation", KINDS)
        check_one_of(self, "refit", (True, False))
        check_at_least(self, "stability_weight", 0)
        if self.n_iter is not None:
            check_at_least(self, "n_iter", 1, integer=True)
        rates = np.asarray(self.rates, dtype=np.float64)
        if rates.ndim != 1 or len(rates) < 2 or not ((rates > 0) & (rates < 1)).all():
            raise InputError(
                "rates must be two or more numbers strictly between 0 and 1, one per validation "
                f"environment, but are {self.rates!r}."
            )

    def _training_rows(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
        array, labels = validate_data(self, X, y, dtype=None, ensure_all_finite=False)
        check_classification_targets(labels)
        count = check_sample_weight(sample_weight, array)
        self.classes_ = np.unique(labels)
        if len(self.classes_) > 2:
            raise InputError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(labels)}."
            )
        found = np.unique(labels[count > 0])
        if len(found) < 2:
            raise InputError(
                f"y must have two classes, but only one class is left: {found.tolist()}. "
                "Check the outcome column and the sample_weight."
            )
        return Rows(
            X if hasattr(X, "columns") else array,
            labels,
            (labels == self.classes_[1]).astype(np.float64),
            None if sample_weight is None else count,
        )

    # --- validation environments ---

    def _splits(self, rows: Rows, seed: int) -> Iterator[Split]:
        """Training rows with the environments to judge them in."""
        self.noisy_features_ = None
        present = rows.take(rows.present)
        if self.environments is not None:
            yield Split(present, self._given_environments())
            return
        names = column_names(self, self.n_features_in_)
        self.noisy_features_ = mask = self._noisy(present, names, seed)
        rng = numpy_generator(seed, "values")
        columns = NoisyColumns.of(present.X, np.flatnonzero(mask), names, present.weight, rng)
        for number, (train, test) in enumerate(folds(rows, self.cv, seed)):
            held_out = HeldOut(
                present.take(test),
                columns.take(test),
                self.validation,
                tuple(self.rates),
                child_seed(seed, "redraw", number),
            )
            yield Split(present.take(train), held_out)

    def _noisy(self, rows: Rows, names: list[str], seed: int) -> BoolArray:
        if self.noisy_features is not None:
            return named_noisy(self.noisy_features, names)
        mask = found_noisy(rows, names, seed)
        if mask.all() or not mask.any():
            warn_user(
                f"{'every' if mask.all() else 'no'} feature was found noisy, so that the "
                "validation environments say little about stability. Name the features that may "
                "change in noisy_features=, or pass environments=.",
                StablepredWarning,
            )
        return mask

    def _given_environments(self) -> Given:
        tables = listed_environments(self.environments)
        names = getattr(self, "feature_names_in_", None)
        expected = column_names(self, self.n_features_in_)
        for table in tables:
            found = list(table.X.columns)
            if len(found) != len(expected) or (names is not None and found != expected):
                raise InputError(
                    f"environment {table.name!r} must have the columns of X in the same order, "
                    f"{expected}, but has {found}."
                )
        if self.criterion == "score" and len(tables) < 2:
            raise InputError(
                "criterion='score' compares environments, but environments= has a single one. "
                "Pass two or more, or set criterion='worst'."
            )
        return Given(
            [str(table.name) for table in tables],
            [table.X.to_numpy() if names is None else table.X for table in tables],
            [zero_one(table.y, self.classes_, table.name) for table in tables],
        )

    # --- evaluation ---

    def _evaluate(
        self, candidates: list[Params], splits: list[Split], seed: int
    ) -> list[list[Outcome]]:
        """Outcomes per candidate and split; when interrupted, of the candidates done by then."""
        tasks = (
            delayed(outcome_of)(self.estimator, params, seed, split)
            for params in candidates
            for split in splits
        )
        console = Console(stderr=True)
        running = Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks)
        outcomes: list[Outcome] = []
        try:
            for outcome in track(
                running,
                "StableSearchCV",
                total=len(candidates) * len(splits),
                console=console,
                transient=True,
                disable=not (self.verbose and console.is_terminal),
            ):
                outcomes.append(outcome)
        except KeyboardInterrupt:
            if len(outcomes) < len(splits):
                raise
        finally:
            running.close()
        size = len(splits)
        return [outcomes[k : k + size] for k in range(0, len(outcomes) - size + 1, size)]

    def _evaluate_adaptively(
        self, splits: list[Split], seed: int
    ) -> tuple[list[Params], list[list[Outcome]]]:
        """Candidates as Optuna proposes them, with their outcomes."""
        candidates: list[Params] = []
        outcomes: list[list[Outcome]] = []
        names = splits[0].environments.names

        def criterion(params: Params) -> float:
            (per_fold,) = self._evaluate([params], splits, seed)
            candidates.append(params)
            outcomes.append(per_fold)
            return float(self._results([params], names, [per_fold], np.inf)["criterion"][0])

        self.interrupted_ = False
        try:
            adaptive_search(
                self.param_grid, int(self.n_iter or 0), child_seed(seed, "candidates"), criterion
            )
        except KeyboardInterrupt:
            if not outcomes:
                raise
            self.interrupted_ = True
        return candidates, outcomes

    def _warn(self, rows: Rows, outcomes: list[list[Outcome]]) -> None:
        """Say what was wrong on the way, once the result is in place."""
        results, best = self.cv_results_, self.best_index_
        if self.interrupted_:
            warn_user(
                f"the search was interrupted after {len(outcomes)} candidates; the best of those "
                "was chosen.",
                StablepredWarning,
            )
        constant = bool(results["constant"][best])
        if self.refit and not constant:
            fitted = positive_probability(self.best_estimator_, rows.X)
            constant = is_constant(fitted, rows.target)
        if constant:
            warn_user(
                f"the chosen candidate {self.best_params_} predicts (nearly) the same probability "
                "for every row: no better one was left. Widen the grid, towards less penalty.",
                ConstantPredictionWarning,
            )
        elif results["collapsed"][best]:
            warn_user(
                f"the balancing weights of the chosen candidate {self.best_params_} collapsed onto "
                "few rows: no better one was left. Widen the grid, towards larger weight_l2.",
                DegenerateWeightsWarning,
            )
        elif results["uninformative"][best]:
            warn_user(
                f"the chosen candidate {self.best_params_} has an average error of "
                f"{results['average_error'][best]:.3g} in the validation environments, no better "
                f"than a constant predictor ({self.constant_error_:.3g}): no better one was left. "
                "Widen the grid, or try a balanced estimator.",
                StablepredWarning,
            )
        warn_about_failures(results, outcomes)
        repeat_warnings(outcomes)

    # --- prediction ---

    @available_if(lambda self: _best_has(self, "predict"))
    def predict(self, X: Any) -> NDArray[Any]:
        """Predictions of the best estimator."""
        check_is_fitted(self, "best_estimator_")
        prediction: NDArray[Any] = self.best_estimator_.predict(X)
        return prediction

    @available_if(lambda self: _best_has(self, "predict_proba"))
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the best estimator, in the order of ``classes_``."""
        check_is_fitted(self, "best_estimator_")
        probability: FloatArray = self.best_estimator_.predict_proba(X)
        return probability

    @available_if(lambda self: _best_has(self, "decision_function"))
    def decision_function(self, X: Any) -> FloatArray:
        """Decision function of the best estimator."""
        check_is_fitted(self, "best_estimator_")
        decision: FloatArray = self.best_estimator_.decision_function(X)
        return decision

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _best_has(search: StableSearchCV, method: str) -> bool:
    return hasattr(getattr(search, "best_estimator_", search.estimator), method)
