"""scikit-learn's search, with candidates scored in validation environments."""

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from joblib import parallel_config
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from stablepred._random import RandomState, root_seed
from stablepred._validation import atomic
from stablepred.exceptions import InputError
from stablepred.io.save import save
from stablepred.validation import candidates, folds
from stablepred.validation.environments import CRITERIA, KINDS, RATES, check_rates, is_constant


@dataclass(eq=False, repr=False)
class StableSearchCV(GridSearchCV):
    """Grid or random search for the candidate with the smallest error across environments.

    Every candidate is fitted on training folds. In the held-out rows the noisy features are made
    to agree with the outcome at rates .1 ... .9, one validation environment each, and the candidate
    with the smallest

        Average_Error + stability_weight * Stability_Error        (RMSE; paper, eqs. 1-2)

    over them is chosen. Candidates that predict a constant, that are no better than a constant on
    average, or whose balancing weights collapsed are marked, and chosen only if nothing else is
    left, with a warning. Columns that are not 0/1 are cut at their mean to decide whether they
    agree; a value that has to change sides is drawn from the other side. Columns of text or with
    missing values stay as they are, with a warning. Of a regressor's outcome it counts whether it
    is above the median.

    Parameters
    ----------
    estimator : classifier of two classes with ``predict_proba``, or regressor
        If its ``random_state`` is None, a seed derived from that of the search is used, the same
        for every fit. Its ``checkpoint`` is ignored.
    param_grid : dict or list of dicts
        Values to try by parameter, as in ``GridSearchCV``; with ``n_iter`` also distributions
        (objects with ``rvs``), as in ``RandomizedSearchCV``.
    n_iter : int or None, default=None
        Number of candidates to draw at random; None tries the whole grid.
    sampler : {None, "optuna"}, default=None
        ``"optuna"`` lets Optuna propose the ``n_iter`` candidates, each based on those before
        (needs the extra ``stablepred[optuna]``); ``param_grid`` is then one dict of lists and
        ``optuna.distributions``. Candidates that fail in every fold are left out of the results.
    criterion : {"score", "worst"}, default="score"
        The sum above, or the largest error over the environments.
    stability_weight : float, default=5.0
        Lambda in the sum above.
    validation : {"redraw", "resample"}, default="redraw"
        Whether the noisy columns are redrawn together, or the rows are reweighted (the paper's
        non-random resampling).
    rates : sequence of float, default=.1, .2 ... .9
        One environment each: the share of rows in which a noisy feature agrees with the outcome.
    environments : sequence of Environment or None, default=None
        Validation environments of your own, with the columns of X, instead of generated ones;
        never those in which the result is tested. Every candidate is then fitted once, on all of X.
    noisy_features : sequence of names, indices or booleans, or None, default=None
        The features to change; None means those that `StableFeatureSelector` does not find stable.
    cv : int or splitter, default=5
        Folds; an integer means that many stratified and shuffled folds, at most one per row of the
        smaller class.
    refit : bool, default=True
        Fit the best candidate on all rows, for ``best_estimator_`` and prediction.
    n_jobs : int or None, default=None
        Number of processes, with one thread each.
    random_state : int, RandomState or None, default=None
        Seed of the folds, the redrawing, the random search and the estimators.
    verbose : int, default=0
        As in ``GridSearchCV``.

    Attributes
    ----------
    best_estimator_, best_params_, best_index_, best_score_, classes_, n_features_in_ :
        As in ``GridSearchCV``.
    cv_results_ : dict of arrays, one entry per candidate
        As in ``GridSearchCV``, and ``criterion`` (minus the score), ``average_error``,
        ``stability_error``, ``worst_error``, ``error_<environment>``, ``effective_share`` of the
        balancing weights (smallest over the folds), and the marks ``uninformative``, ``collapsed``,
        ``constant`` and ``failed``. Marked candidates rank last, in this order of the marks.
    noisy_features_ : ndarray of bool
        None if there are environments, given or left out.
    constant_error_ : float
        Average_Error of predicting the base rate in the same environments.
    random_state_ : int
        The seed in use. Passed as ``random_state``, it gives the same search again.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = GridSearchCV._parameter_constraints | {
        "n_iter": [Interval(Integral, 1, None, closed="left"), None],
        "sampler": [StrOptions({"optuna"}), None],
        "criterion": [StrOptions(set(CRITERIA))],
        "stability_weight": [Interval(Real, 0, None, closed="left")],
        "validation": [StrOptions(set(KINDS))],
        "rates": ["array-like"],
        "refit": ["boolean"],
        "random_state": ["random_state"],
    }
    scoring: ClassVar[Any] = None  # as GridSearchCV knows it; here it is the criterion

    estimator: Any
    param_grid: Any
    _: KW_ONLY
    n_iter: int | None = None
    sampler: str | None = None
    criterion: str = "score"
    stability_weight: float = 5.0
    validation: str = "redraw"
    rates: Sequence[float] = RATES
    environments: Any = None
    noisy_features: Any = None
    cv: Any = 5
    refit: bool = True
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0

    @atomic
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        environment: ArrayLike | None = None,
    ) -> Self:
        """Evaluate the candidates and fit the best one on all rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Features, handed to the estimator as they are.
        y : array-like of shape (n_samples,)
            Outcome with two values, of which the one last in sorted order is the positive class;
            or a number, for a regressor.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in fits and errors. Rows of weight zero are treated as absent.
        environment : array-like of shape (n_samples,), optional
            Labels of two or more training environments. Each is left out in turn, and the errors
            are those in the environment left out; ``cv``, ``rates``, ``validation`` and
            ``noisy_features`` are not used then.
        """
        self._validate_params()
        number = is_regressor(self.estimator)
        if not number and not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                f"{type(self.estimator).__name__} has no predict_proba, which the errors need. "
                "Choose a classifier that predicts probabilities."
            )
        if self.sampler and (self.n_iter is None or not isinstance(self.param_grid, dict)):
            raise InputError("sampler='optuna' needs n_iter= and a param_grid that is one dict.")
        check_rates(self.rates)
        seed = root_seed(self.random_state)
        whole = folds.read_rows(X, y, sample_weight, environment, number=number)
        rows = whole.take(whole.present)
        noisy, names, parts = self._make_folds(whole, rows, seed)
        constant = folds.constant_error(parts, rows)
        scorer = candidates.EnvironmentScorer(
            names, parts, rows.target, constant, self.criterion, self.stability_weight
        )
        search = candidates.CandidateSearch(
            candidates.prepare(self.estimator, seed),
            self.param_grid,
            scoring=scorer,
            refit=self.refit and (lambda all_: scorer.summarize(all_)["rank_test_score"].argmin()),
            cv=[(fold.train, fold.test) for fold in parts],
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        search.n_iter, search.sampler, search.seed = self.n_iter, self.sampler, seed
        # Without metadata routing, weights are for the last step of a pipeline.
        named = isinstance(self.estimator, Pipeline) and not get_config()["enable_metadata_routing"]
        name = f"{self.estimator.steps[-1][0]}__sample_weight" if named else "sample_weight"
        weights = {} if rows.weight is None else {name: rows.weight}
        several = self.n_jobs not in (None, 1)  # with one thread each, whatever the number
        with parallel_config("loky", inner_max_num_threads=1) if several else nullcontext():
            search.fit(rows.X, rows.y, **weights)
        del search.scorer_, search.multimetric_  # the scorer holds training rows
        search.cv_results_ = results = scorer.summarize(search.cv_results_)
        search.best_index_ = best = int(results["rank_test_score"].argmin())
        search.best_params_ = results["params"][best]
        search.best_score_ = float(results["mean_test_score"][best])
        search.noisy_features_, search.constant_error_, search.random_state_ = noisy, constant, seed
        chosen = {name: column[best] for name, column in results.items()}
        if self.refit and not chosen["constant"]:
            fitted = candidates.predict_mean(search.best_estimator_, rows.X)
            chosen["constant"] = is_constant(fitted, rows.target)
        self.__dict__ |= {name: v for name, v in vars(search).items() if name.endswith("_")}
        candidates.warn_of_doubt(chosen, constant)
        return self

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy or R^2 of the best estimator, as its own ``score`` gives it."""
        check_is_fitted(self)
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.best_estimator_.score(X, y, **options))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the best estimator to a file, for `stablepred.load` to read."""
        check_is_fitted(self)
        save(self.best_estimator_, path)

    def _make_folds(
        self, whole: folds.Rows, rows: folds.Rows, seed: int
    ) -> tuple[Any, list[str], list[folds.Fold]]:
        """Which features are noisy, the environments' names, and the folds."""
        if rows.environment is not None:
            if self.environments is not None:
                raise InputError(
                    "environment= leaves training environments out, and environments= brings "
                    "others to validate in. Pass one of them."
                )
            return None, *folds.leave_environments_out(rows)
        if self.environments is not None:
            number = is_regressor(self.estimator)
            names, fold = folds.use_environments(self.environments, rows, number)
            if self.criterion == "score" and len(names) < 2:
                raise InputError(
                    "criterion='score' compares environments, but environments= has a single one. "
                    "Pass two or more, or set criterion='worst'."
                )
            return None, names, [fold]
        named = self.noisy_features
        noisy = folds.find_noisy(rows, seed) if named is None else folds.select_noisy(named, rows.X)
        parts = folds.make_folds(whole, self.cv, noisy, self.validation, self.rates, seed)
        return noisy, [f"r={rate:g}" for rate in self.rates], parts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = tags.array_api_support = False
        return tags
