"""The fit that LR's three relatives share: solve, report, choose the head."""

import os
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from stablepred._random import RandomState, numpy_generator, root_seed
from stablepred.core.checkpoint import Checkpoint
from stablepred.core.networks import Layer, apply_layers
from stablepred.core.objective import Rows, Strengths
from stablepred.core.sharding import current_shards, total
from stablepred.core.solvers import Settings, Solution
from stablepred.core.threads import threads_for
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.evidence.stable_features import feature_effects, share_through_outcome
from stablepred.exceptions import ConstantPredictionWarning, InputError
from stablepred.fitting import take_over_when_done
from stablepred.heads.choice import (
    FeatureHead,
    Fold,
    Folds,
    HeadProblem,
    Recipe,
    choose_recipe,
    shuffled_folds,
)
from stablepred.io.onnx import write_onnx
from stablepred.models.base import (
    BoolArray,
    FloatArray,
    StableEstimator,
    Table,
    check_binary,
    warn_user,
)
from stablepred.preprocessing import (
    checked_sample_weight,
    column_names,
    expand_pairs,
    validated,
)
from stablepred.tables.counting import count_patterns
from stablepred.validation.environments import is_constant

# Below this share of the features' dependence the outcome has no part in it.
LEAST_SHARE_THROUGH_OUTCOME = 0.1


class BalancingClassifier(ClassifierMixin, StableEstimator):
    """A binary classifier fitted under balancing weights.

    Subclasses say how the problem is solved (:meth:`_solve`) and what the head sees
    (``_head_on_features``); everything else is the same for all.
    """

    classes_: np.ndarray
    coef_: FloatArray
    intercept_: FloatArray
    n_iter_: int
    converged_: bool
    sample_weight_: FloatArray
    history_: dict[str, FloatArray]
    balance_report_: BalanceReport
    feature_effects_: pd.DataFrame
    stable_features_: BoolArray
    share_through_outcome_: float
    random_state_: int
    encoders_: list[list[tuple[FloatArray, FloatArray]]]

    # What a subclass without the parameter uses.
    l2: float
    l1: float | str
    order: int = 1
    refit: bool | str = False
    cv: Any = 3
    fit_intercept: bool = True

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; cut into 0/1 according to ``dichotomize``.
        y : array-like of shape (n_samples,)
            Outcome with two values; the one last in sorted order is the positive class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. A row of weight 2 counts as two equal rows, one of weight 0 as
            absent; the scale does not matter.

        Returns
        -------
        self
        """
        return take_over_when_done(self, lambda attempt: attempt._fit(X, y, sample_weight))

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        x, labels = validated(self, X, y, ensure_min_samples=3)
        self._check_parameters()
        device = self._torch_device(x.size)
        count = checked_sample_weight(sample_weight, x)
        with self._resources(x.size):
            self._fit_validated(x, labels, count, device)

    def fit_table(self, table: Any, target: str, *, features: Sequence[str] | None = None) -> Self:
        """Fit the model on a table that need not fit in memory (needs the extra ``tables``).

        The distinct rows are counted where the table lives, and the model is fitted on them and
        their counts, with the result of ``fit`` on all rows. Only ``sample_weight_`` has then a
        value for each distinct row, in the order of
        ``stablepred.data.count_patterns(table, target, features=features)``, and ``row_count_``
        says how many rows of the table each stands for.

        Parameters
        ----------
        table : path or frame
            A Parquet or CSV file, or a glob of several, read by DuckDB; or a DuckDB relation, a
            frame of Dask or PySpark, of pandas, polars or pyarrow.
        target : str
            The outcome column, with two values; the one last in sorted order is the positive class.
        features : sequence of str, optional
            The columns to use: numbers, or true and false, none missing; cut into 0/1 according to
            ``dichotomize``. All but the target if not given.

        Returns
        -------
        self
        """
        return take_over_when_done(
            self, lambda attempt: attempt._fit_table(table, target, features)
        )

    def _fit_table(self, table: Any, target: str, features: Sequence[str] | None) -> None:
        self._check_parameters()
        if not isinstance(self.cv, Integral):
            raise InputError(
                f"cv must be a number of folds for fit_table, not {self.cv!r}: a splitter needs "
                "the rows, and these are only counted."
            )
        patterns = count_patterns(table, target, features=features, dichotomize=self.dichotomize)
        x, labels = validated(self, patterns.X, patterns.y)
        with self._resources(x.size):
            device = self._torch_device(x.size)
            self._fit_validated(x, labels, patterns.count, device, counted=True)
        self._take_over_table(patterns)

    def _fit_validated(
        self,
        x: FloatArray,
        labels: Any,
        count: FloatArray,
        device: torch.device,
        *,
        counted: bool = False,
    ) -> None:
        table = self._table(x, self._encode_outcome(labels, count), count, counted=counted)
        with self._checkpoint(table, _common_seed(self.random_state)) as (checkpoint, seed):
            self.random_state_ = seed
            self._fit_rows(
                table,
                lambda: self._folds(table, x, labels, count, seed),
                device,
                checkpoint,
            )

    def _fit_rows(
        self, table: Table, folds: Folds, device: torch.device, checkpoint: Checkpoint
    ) -> None:
        seed = self.random_state_
        expansion = self._expansion(table, self.order)
        self.pairs_ = [] if expansion is None else expansion.pairs
        rows = self._rows(table, expansion, device)
        self.share_through_outcome_ = share_through_outcome(
            table.patterns.x, table.patterns.y, table.copies
        )
        with self._progress() as on_iteration:
            solution = self._solve(rows, self._settings(on_iteration, checkpoint), seed)
        w = (solution.w / total(rows.mass @ solution.w)).cpu().numpy()
        self._take_over(table, solution, w, seed)
        problem = self._head_problem(table, w, seed, checkpoint)
        self._fit_head(table, solution, problem, folds, seed)
        self._warn_about(solution, rows, self.balance_report_, table)
        self._put_in_user_order(table)
        self._warn_if_constant(table)

    # --- what subclasses say ---

    def _solve(self, rows: Rows, settings: Settings, seed: int) -> Solution:
        raise NotImplementedError

    def _head_on_features(self) -> bool:
        """Whether beta multiplies the features themselves (else the embedding)."""
        return True

    def _head_problem(
        self,
        table: Table,
        w: FloatArray,
        seed: int,
        checkpoint: Checkpoint,
    ) -> HeadProblem:
        """The last stage."""
        stable = self.stable_features_[table.columns]
        return FeatureHead(
            table.patterns,
            w,
            stable,
            self._through_outcome(),
            float(self.l2),
            self.fit_intercept,
        )

    def _through_outcome(self) -> bool:
        """Whether features depend on each other through the outcome, to a noticeable share."""
        return self.share_through_outcome_ > LEAST_SHARE_THROUGH_OUTCOME

    def _keeps_solver_head(self) -> bool:
        """Whether the solver's own beta is the result, rather than a head fitted after it."""
        return False

    def _fixes_recipe(self) -> bool:
        """Whether neither lambda 5 nor the refit is left to choose, and there is no refit."""
        return self.l1 != "auto" and self.refit is False

    # --- the shared steps ---

    def _encode_outcome(self, labels: Any, count: FloatArray) -> FloatArray:
        check_classification_targets(labels)
        present = column_or_1d(labels)[count > 0]
        self.classes_ = np.unique(_labels_everywhere(present))
        if len(self.classes_) > 2:
            kind = type_of_target(present, input_name="y")
            if current_shards() is not None:
                kind = f"multiclass, with {self.classes_.tolist()[:5]} over all shards"
            raise InputError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        if len(self.classes_) < 2:
            raise InputError(
                f"y must have two classes, but only one class is left: {self.classes_.tolist()}. "
                "Check the outcome column and the sample_weight."
            )
        return (labels == self.classes_[1]).astype(np.float64)

    def _settings(self, on_iteration: Any, checkpoint: Checkpoint) -> Settings:
        names = Strengths.__dataclass_fields__.keys() & vars(self).keys()
        strengths = {name: getattr(self, name) for name in names}
        if strengths.get("l1") == "auto":
            strengths["l1"] = 0.0
        return Settings(
            Strengths(**{name: float(value) for name, value in strengths.items()}),
            fit_intercept=self.fit_intercept,
            standardize=getattr(self, "standardize", True),
            least_share=getattr(self, "min_effective_share", 0.0),
            max_iter=self.max_iter,
            tol=self.tol,
            on_iteration=on_iteration,
            checkpoint=checkpoint,
        )

    def _take_over(self, table: Table, solution: Solution, w: FloatArray, seed: int) -> None:
        """Weights, history, balance and effects as fitted attributes."""
        patterns = table.patterns
        self.sample_weight_ = table.spread(w)
        self.history_ = {name: np.array(values) for name, values in solution.history.items()}
        self.n_iter_ = len(self.history_["total"])
        self.encoders_ = [_to_numpy(network.encoder) for network in solution.networks]
        self.balance_report_ = table.balance_report(w)
        shards = current_shards()
        rng = numpy_generator(seed, "bootstrap", *([] if shards is None else [shards.rank]))
        effects = feature_effects(
            patterns.x, patterns.y, table.copies, w, rng, through_outcome=self._through_outcome()
        )
        whole = {name: table.whole(values) for name, values in effects.items()}
        self.feature_effects_ = pd.DataFrame({"feature": table.names} | whole)
        self.stable_features_ = whole["stable"]

    def _folds(
        self, table: Table, x: FloatArray, labels: Any, count: FloatArray, seed: int
    ) -> Iterator[Fold]:
        """Inner folds: shuffled ones for a number, the splitter's own rows otherwise."""
        if isinstance(self.cv, Integral):
            yield from shuffled_folds(table.patterns, table.copies, int(self.cv), seed)
            return
        share = table.patterns.count / table.counted(np.arange(len(x)), count)
        for train, test in check_cv(self.cv, labels, classifier=True).split(x, labels):
            yield share * table.counted(train, count), share * table.counted(test, count)

    def _fit_head(
        self, table: Table, solution: Solution, problem: HeadProblem, folds: Folds, seed: int
    ) -> None:
        """The solver's own head, or the one that the recipe asks for."""
        if self._keeps_solver_head():
            self.recipe_ = Recipe(0.0 if self.l1 == "auto" else float(self.l1), False, False)
            head = solution.head
        else:
            self.recipe_ = choose_recipe(problem, self.l1, self.refit, folds, seed)
            (predictor,) = problem.fit(table.patterns.count, [self.recipe_])
            head = predictor.head
            if predictor.own is not None:
                self.encoders_ = [_to_numpy(predictor.own.network.encoder)]
                solution.unfinished.extend([] if predictor.own.settled else ["refit"])
        values = head.beta.cpu().numpy()
        self.coef_ = (table.whole(values) if self._head_on_features() else values)[None, :]
        self.intercept_ = np.array([float(head.intercept)])
        if not head.converged:
            solution.unfinished.append("head")

    def _put_in_user_order(self, table: Table) -> None:
        """Let the encoders take all features as the user orders them; constant ones count zero."""
        for layers in self.encoders_:
            weight, bias = layers[0]
            varying = len(table.columns)
            features = np.zeros((len(weight), len(table.names)))
            features[:, table.columns] = weight[:, :varying]
            layers[0] = (np.hstack([features, weight[:, varying:]]), bias)
        self.pairs_ = [(int(table.columns[a]), int(table.columns[b])) for a, b in self.pairs_]

    def _warn_if_constant(self, table: Table) -> None:
        x = np.zeros((len(table.patterns.y), len(table.names)))
        x[:, table.columns] = table.patterns.x
        scores = self._scores(x)
        if is_constant(expit(scores), table.patterns.y):
            network = "" if self._head_on_features() else " or network_l2"
            warn_user(
                f"{type(self).__name__} predicts the same probability for every row, or nearly so. "
                f"Lower l1 (now {self.recipe_.l1:g}){network}; under solver='alternating' raise "
                "weight_l2 or lower balance, too: the weights may have left the rows of one class.",
                ConstantPredictionWarning,
            )

    def _widen(self, x: FloatArray) -> FloatArray:
        """Features as the encoder takes them: with the products of order 2."""
        return expand_pairs(x, self.pairs_)

    def _embed(self, x: FloatArray) -> torch.Tensor:
        """phi(x) of all encoders side by side."""
        wide = torch.tensor(self._widen(x))
        embedded = [apply_layers(wide, _to_tensors(layers)) for layers in self.encoders_]
        return torch.cat(embedded, dim=1)

    # --- prediction ---

    @property
    def used_features_(self) -> BoolArray:
        """Which features the prediction depends on: (n_features_in_,)."""
        check_is_fitted(self)
        if self._head_on_features():
            return np.asarray(self.coef_[0] != 0)
        used = np.zeros(self.n_features_in_, dtype=bool)
        for (first, _), *_ in self.encoders_:
            seen = (first != 0).any(axis=0)
            used |= seen[: self.n_features_in_]
            for (a, b), both in zip(self.pairs_, seen[self.n_features_in_ :], strict=True):
                used[[a, b]] |= both
        return used

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log-odds of the positive class: (n_samples,)."""
        check_is_fitted(self)
        x = validated(self, X, reset=False)
        if self.dichotomize is None:
            check_binary(x, column_names(self, x.shape[1]))
        else:
            x = self.dichotomizer_.transform(x)
        with threads_for(x.size):
            return self._scores(x)

    def _scores(self, x: FloatArray) -> FloatArray:
        """Log-odds from 0/1 features."""
        z = x if self._head_on_features() else self._embed(x).numpy()
        scores = z @ self.coef_[0]
        return np.asarray(scores + self.intercept_[0])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class, in the order of ``classes_``: (n_samples, 2)."""
        positive = expit(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The more probable class of each row."""
        positive = self.decision_function(X) > 0
        labels: np.ndarray = self.classes_[positive.astype(int)]
        return labels

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as an ONNX file (needs the extra ``onnx``).

        Its input ``X`` are the features in double precision, in the order of the training table;
        its outputs are ``label`` and ``probabilities``, as of ``predict`` and ``predict_proba``.
        Rows that ``predict_proba`` refuses, with a missing value say, get NaN.
        """
        check_is_fitted(self)
        write_onnx(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _common_seed(random_state: RandomState) -> int:
    """The seed of this fit; that of the first shard where there are several."""
    shards, seed = current_shards(), root_seed(random_state)
    return seed if shards is None else int(shards.exchanged(seed)[0])


def _labels_everywhere(labels: NDArray[Any]) -> NDArray[Any]:
    """The distinct labels, of all shards where there are several."""
    shards = current_shards()
    distinct = np.unique(labels)
    if shards is None:
        return distinct
    everywhere = [np.array(labels) for labels in shards.exchanged(distinct.tolist())]
    return np.concatenate(everywhere).astype(distinct.dtype)


def _to_numpy(layers: list[Layer]) -> list[tuple[FloatArray, FloatArray]]:
    return [(weight.cpu().numpy(), bias.cpu().numpy()) for weight, bias in layers]


def _to_tensors(layers: list[tuple[FloatArray, FloatArray]]) -> list[Layer]:
    """Copies: bits of a product depend on how arrays lie in memory, and some are read-only."""
    return [(torch.tensor(weight), torch.tensor(bias)) for weight, bias in layers]
