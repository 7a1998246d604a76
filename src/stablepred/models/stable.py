"""Screen the variables by evidence, then fit an estimator on those that can be relied on."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self, cast

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    is_classifier,
    is_regressor,
)
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from stablepred._parameters import Rule, check_parameters
from stablepred._random import RandomState
from stablepred._validation import BoolArray, FloatArray, atomic, warn_user
from stablepred.evaluation.references import References, fit_references
from stablepred.evidence.base import Evidence
from stablepred.evidence.verdict import make_evidence
from stablepred.exceptions import ConstantPredictionWarning
from stablepred.heads.guard import Choice, Decision
from stablepred.heads.wrapped import check_estimator, fit_on_rows
from stablepred.io import values
from stablepred.io.save import save_method, storable
from stablepred.models.screening import (
    Rows,
    Target,
    read_classes,
    read_features,
    read_number,
    read_rows,
    reword_advice,
    screen,
)
from stablepred.sample import Sample
from stablepred.tables.encoder import TableEncoder
from stablepred.tables.messages import warn_of

MOST_CODES = 20  # integers with more different values than this are a number


@dataclass(eq=False, repr=False, kw_only=True)
class Screener(BaseEstimator):
    """What the selector, the classifier and the regressor share: everything but the outcome."""

    takes_tables = True
    estimator = cast(Any, None)  # which the selector does without
    save = save_method
    rules: ClassVar[dict[str, Rule]] = {"evidence": lambda _, value: make_evidence(value, seed=0)}

    evidence: str | Sequence[str | Evidence] = "auto"
    guard: bool = True
    cv: Any = 3
    random_state: RandomState = None
    device: str = "auto"
    verbose: int = 0
    variables_: pd.DataFrame = field(init=False)
    decision_: Decision = field(init=False)
    stable_features_: BoolArray = field(init=False)
    used_features_: BoolArray = field(init=False)
    encoder_: TableEncoder = field(init=False)
    random_state_: int = field(init=False)
    n_features_in_: int = field(init=False)
    columns_: np.ndarray = field(init=False)
    estimator_: Any = field(init=False)
    references_: References = field(init=False)

    @atomic
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        environment: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Judge the variables, decide which to use, and fit the estimator (if any) on them.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
            Numbers or, in a DataFrame, numbers, booleans, strings and categories, with missing
            values.
        y : array-like of shape (n_samples,)
            The outcome. For the selector, strings, booleans and integers with few distinct values
            are classes, and all else is a number.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two equal rows, one of weight 0 as absent.
        environment : array-like of shape (n_samples,), optional
            Labels of the training environments, if there are several. They are held out in turn,
            and variables that act differently in them lean towards noisy.
        groups : array-like of shape (n_samples,), optional
            Labels of rows that belong together, such as those of one patient; they are never held
            out apart.

        Returns
        -------
        self
        """
        check_parameters(self)
        if predicts := is_classifier(self) or is_regressor(self):
            check_estimator(self, sample_weight is not None)
        rows = read_rows(self, X, y, sample_weight, environment, groups)
        rows, sample, choice = screen(self, rows, self._read_target(rows))
        if not predicts:
            return self
        self._fit_chosen(choice, rows, sample)
        kind, seed = is_classifier(self), self.random_state_
        self.references_ = fit_references(
            X, rows.y, rows.weight, classifier=kind, random_state=seed
        )
        predicted = choice.fitted.held_out
        if float((predicted - predicted[:1]).abs().max()) < 1e-9:
            warn_user(
                f"{type(self).__name__} predicts the same for every row, or nearly so: there are "
                "too few rows, or the variables in use carry no information on the outcome.",
                ConstantPredictionWarning,
            )
        return self

    def _read_target(self, rows: Rows) -> Target:
        """The outcome as numbers; sets what is needed for the way back."""
        raise NotImplementedError

    def _fit_chosen(self, choice: Choice, rows: Rows, sample: Sample) -> None:
        self.columns_ = sample.origin.columns
        if self.estimator is None:
            self.estimator_ = choice.fitted.fit(sample)
        else:
            self.columns_ = np.sort(self.columns_)
            self.estimator_ = fit_on_rows(self, rows, self.columns_)

    def _encode(self, X: Any) -> Any:
        """The columns that the estimator uses: an array, or a frame where ``fit`` saw names."""
        check_is_fitted(self)
        with reword_advice():
            encoded, notes = self.encoder_.encode_array(read_features(self, X, reset=False))
        warn_of(notes)
        x = np.asarray(encoded)[:, self.columns_]
        if self.estimator is None:
            return torch.as_tensor(x)
        if not hasattr(self, "feature_names_in_"):
            return x
        return pd.DataFrame(x, columns=self.encoder_.get_feature_names_out()[self.columns_])

    def check_stored(self) -> None:
        check_parameters(self)
        if not values.is_fitted(self):
            return
        p = values.n_features(self)
        shapes = {self.stable_features_.shape, self.used_features_.shape, (len(self.variables_),)}
        if shapes != {(p,)}:
            raise ValueError(f"the masks and variables_ must be about {p} columns")
        if not (is_classifier(self) or is_regressor(self)):
            return
        columns, width = self.columns_, len(self.encoder_.get_feature_names_out())
        distinct = set(columns.tolist()) & set(range(width))
        if columns.dtype.kind != "i" or len(distinct) < len(columns):
            raise ValueError(f"columns_ must be different columns of the encoder's {width}")
        if is_classifier(self) and len(values.labels(self)) < 2:
            raise ValueError("classes_ must be two labels or more")
        if not np.isfinite(getattr(self, "target_mean_", 0) + getattr(self, "target_scale_", 0)):
            raise ValueError("target_mean_ and target_scale_ must be finite")
        if self.estimator is None:
            self.estimator_.check_columns(len(columns))
        elif getattr(self.estimator_, "n_features_in_", None) != len(columns):
            raise ValueError("estimator_ must be fitted on the columns in use")
        elif is_classifier(self) and not np.array_equal(self.estimator_.classes_, self.classes_):
            raise ValueError("the classes of estimator_ differ from those of the model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


@storable
@dataclass(eq=False, repr=False)
class StableClassifier(ClassifierMixin, MetaEstimatorMixin, Screener):
    """Any classifier, fitted on the variables whose tie to the outcome can be relied on.

    Every variable is judged stable, noisy or undecided, from explaining away and, with several
    training environments, from the invariance of its effect (docs/method.md). Noisy variables are
    left out if the error expected elsewhere is smaller without them. Undecided ones stay, unless
    the stable variables alone have the lowest expected error. Where rows do not look selected, or
    no variable is clearly stable, nothing is left out. ``decision_`` says what was decided and why.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Fitted on the variables in use, which it receives as the encoded columns of
        :class:`TableEncoder`; in a pipeline the sample weights go to the last step. None means a
        linear model with a penalty chosen on held-out rows, mixed with products of columns and a
        small boosting as far as held-out rows say.
    evidence : "auto", or a list of names and objects, default="auto"
        ``"auto"`` means all kinds that apply: ``"explaining_away"``, ``"invariance"`` (several
        environments) and ``"effect"``, the paper's weighted effect, which decides only where no
        other kind does. An object is called with the sample and the balancing weights
        (``stablepred.evidence.base``).
    guard : bool, default=True
        Leave variables out only if that lowers the expected error. Without the guard, all
        variables that are called noisy are left out, provided that any is stable.
    cv : int or splitter, default=3
        Folds for all that is compared on held-out rows.
    random_state : int, RandomState or None, default=None
        Seed of the folds, of the redrawn rows, and of every ``random_state`` of ``estimator`` that
        is None.
    n_jobs : int or None, default=None
        Number of processes for fitting ``estimator`` on the folds.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where the rows are kept for the evidence and the linear models.
    verbose : int, default=0
        Show progress on a terminal.

    Attributes
    ----------
    variables_ : DataFrame
        variable, effect, low, high, one column per further kind of evidence, probability_noisy,
        verdict (stable, noisy, undecided, constant, left out), used. "left out" are ids, free text
        and values in few rows each, which the encoder cannot use; like constants they have no
        probability_noisy, and no variable has one where no evidence applies. The effect of a
        number is that of one standard deviation, the effect of a category that of its clearest
        level against the rest. Explaining away and invariance judge a category by its part of the
        log-odds (or number) that a regression on all columns predicts.
    decision_ : Decision
        The candidates with their errors, the one chosen, and why, and the variables left out and
        used by name; prints as a table.
    stable_features_, used_features_ : ndarray of bool
        Which variables are stable, and which the prediction uses.
    estimator_ : the fitted estimator
    references_ : References
        A constant and logistic regression (ridge regression of a number) on the same rows, with
        which reports compare the model.
    encoder_ : TableEncoder
        Encodes the columns of ``X`` as numbers.
    columns_ : ndarray of int
        Which of the encoder's columns ``estimator_`` uses, in its order.
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    random_state_ : int
        The seed in use. Passed as ``random_state``, it gives the same fit again.

    Examples
    --------
    >>> from stablepred import StableClassifier
    >>> from stablepred.data import SyntheticWorld
    >>> world = SyntheticWorld("s_indep_v")
    >>> train = world.sample(2000, bias_rate=0.75, random_state=0)
    >>> model = StableClassifier(random_state=0).fit(train.X, train.y)
    >>> sorted(model.feature_names_in_[model.used_features_]) == sorted(world.stable_features)
    True
    """

    estimator: Any = None
    _: KW_ONLY
    n_jobs: int | None = None
    classes_: np.ndarray = field(init=False)

    def _read_target(self, rows: Rows) -> Target:
        self.classes_, target = read_classes(rows)
        return target

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class, in the order of ``classes_``: (n_samples, n_classes)."""
        x = self._encode(X)
        if self.estimator is not None:
            return np.asarray(self.estimator_.predict_proba(x))
        found: FloatArray = self.estimator_.predict(x).numpy()
        return found if found.ndim == 2 else np.column_stack([1 - found, found])

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


@storable
@dataclass(eq=False, repr=False)
class StableRegressor(RegressorMixin, MetaEstimatorMixin, Screener):
    """Any regressor, fitted on the variables whose tie to the outcome can be relied on.

    Works like :class:`StableClassifier`, with a numeric outcome: explaining away is judged within
    twenty strata of the outcome, and held-out rows are compared by squared error.

    Parameters
    ----------
    estimator : regressor or None, default=None
        As in :class:`StableClassifier`.
    evidence, guard, cv, random_state, n_jobs, device, verbose
        As in :class:`StableClassifier`.

    Attributes
    ----------
    variables_, decision_, stable_features_, used_features_, references_, estimator_
        As in :class:`StableClassifier`.
    encoder_, columns_, random_state_
        As in :class:`StableClassifier`.
    target_mean_, target_scale_ : float
        Of the outcome in training; without an ``estimator`` the model works in these units.

    Examples
    --------
    >>> import numpy as np
    >>> from stablepred import StableRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = X[:, 0] - X[:, 1] + rng.normal(size=300)
    >>> StableRegressor(random_state=0).fit(X, y).score(X, y) > 0.5
    True
    """

    estimator: Any = None
    _: KW_ONLY
    n_jobs: int | None = None
    target_mean_: float = field(init=False)
    target_scale_: float = field(init=False)

    def _read_target(self, rows: Rows) -> Target:
        target = read_number(rows)
        self.target_mean_, self.target_scale_ = target.mean, target.scale
        return target

    def predict(self, X: Any) -> FloatArray:
        """The outcome expected for each row."""
        x = self._encode(X)
        if self.estimator is not None:
            return np.asarray(self.estimator_.predict(x))
        found = self.estimator_.predict(x).numpy()
        return np.asarray(self.target_mean_ + self.target_scale_ * found)


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class StableFeatureSelector(SelectorMixin, Screener):
    """Leave out the variables whose tie to the outcome cannot be relied on.

    This is the first half of :class:`StableClassifier` and :class:`StableRegressor` as a
    transformer: it keeps the columns that they would use without an ``estimator``, unchanged.

    Parameters
    ----------
    evidence, guard, cv, random_state, device, verbose
        As in :class:`StableClassifier`.

    Attributes
    ----------
    variables_, decision_, stable_features_, used_features_, encoder_
        As in :class:`StableClassifier`.

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

    def _read_target(self, rows: Rows) -> Target:
        labels = rows.y[rows.present]
        is_number = labels.dtype.kind in "iuf" and (
            type_of_target(labels).startswith("continuous") or len(np.unique(labels)) > MOST_CODES
        )
        return read_number(rows) if is_number else read_classes(rows)[1]

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.used_features_
