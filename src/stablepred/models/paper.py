"""What the paper's three classifiers share: the start and end of a fit, and prediction."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from numbers import Integral
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from stablepred._parameters import check_parameters
from stablepred._random import RandomState
from stablepred._validation import (
    BoolArray,
    FloatArray,
    atomic,
    check_sample_weight,
    validate,
    warn_user,
)
from stablepred.core.loop import Settings, Solution
from stablepred.core.networks import AutoEncoder, Layer, apply_layers
from stablepred.core.resources import threads_for
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.evidence.effect import WeightedEffect
from stablepred.exceptions import ConstantPredictionWarning, InputError
from stablepred.heads.choice import (
    Folds,
    Heads,
    Predictor,
    Recipe,
    find_weakest,
    judge_recipes,
    temper_weights,
)
from stablepred.heads.folds import MOST_COMPARED, draw_rows
from stablepred.io import values
from stablepred.io.onnx import write_onnx
from stablepred.io.save import save_method
from stablepred.models import entry
from stablepred.models.checkpoints import follow_fit
from stablepred.models.standardizer import Standardizer
from stablepred.models.warnings import warn_about_fit
from stablepred.outcomes.binary import BINARY
from stablepred.preprocessing import Dichotomizer
from stablepred.sample import Pairs, Sample, add_products
from stablepred.tables.engines import count_patterns


@dataclass(frozen=True)
class Run:
    """What the stages of one fit need besides the sample."""

    settings: Settings
    seed: int
    folds: Folds


@dataclass(eq=False, repr=False, kw_only=True)
class PaperClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of the paper: weights, the paper's evidence, and a head under the weights.

    Each of the three defines its stages in ``_fit_stages``.
    """

    l2: float = 1e-4
    l1: float | str = "auto"
    fit_intercept: bool = True
    random_state: RandomState = None
    max_iter: int = 100
    tol: float = 1e-3
    device: str = "auto"
    verbose: int = 0
    dichotomize: str | None = None
    checkpoint: str | os.PathLike[str] | None = None

    classes_: np.ndarray = field(init=False)
    coef_: FloatArray = field(init=False)
    intercept_: FloatArray = field(init=False)
    n_iter_: int = field(init=False)
    n_features_in_: int = field(init=False)
    converged_: bool = field(init=False)
    sample_weight_: FloatArray = field(init=False)
    row_count_: FloatArray = field(init=False)
    history_: dict[str, FloatArray] = field(init=False)
    balance_report_: BalanceReport = field(init=False)
    feature_effects_: pd.DataFrame = field(init=False)
    stable_features_: BoolArray = field(init=False)
    random_state_: int = field(init=False)
    head_: str = field(init=False)
    heads_: pd.DataFrame = field(init=False)
    recipe_: Recipe = field(init=False)
    pairs_: Pairs = field(init=False)
    encoders_: list[list[tuple[FloatArray, FloatArray]]] = field(init=False)
    standardizer_: Standardizer = field(init=False)
    dichotomizer_: Dichotomizer = field(init=False)

    not_stored = ("checkpoint",)
    save = save_method

    @atomic
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features: 0/1 or numbers, which are standardised, or cut according to ``dichotomize``.
        y : array-like of shape (n_samples,)
            Outcome with two values; the one last in sorted order is the positive class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. A row of weight 2 counts as two equal rows, one of weight 0 as
            absent; the scale does not matter.

        Returns
        -------
        self
        """
        x, labels = validate(self, X, y, ensure_min_samples=3)
        check_parameters(self)
        self._fit_rows(x, labels, check_sample_weight(sample_weight, x), counted=False)
        return self

    @atomic
    def fit_table(self, table: Any, target: str, *, features: Sequence[str] | None = None) -> Self:
        """Fit the model on a table that need not fit in memory (needs the extra ``tables``).

        The distinct rows are counted where the table is stored, and the model is fitted on them and
        their counts, with the same result as ``fit`` on all rows. Only ``sample_weight_`` differs:
        it has one value per distinct row, in the order of
        ``stablepred.data.count_patterns(table, target, features=features)``, and ``row_count_``
        gives the number of rows of the table that each stands for. Numbers that hardly repeat leave
        as many distinct rows as there are rows; where these do not fit in memory, set
        ``dichotomize="mean"``.

        Parameters
        ----------
        table : path or frame
            A Parquet or CSV file, the former read by DuckDB; or a DuckDB relation, or a
            frame of Dask, PySpark, pandas, polars or pyarrow.
        target : str
            The outcome column, with two values; the one last in sorted order is the positive class.
        features : sequence of str, optional
            The columns to use: numbers or booleans without missing values. By default all but the
            target.

        Returns
        -------
        self
        """
        check_parameters(self)
        if not isinstance(cv := getattr(self, "cv", 3), Integral):
            raise InputError(
                f"cv must be a number of folds for fit_table, not {cv!r}: a splitter needs "
                "the rows, but these are only counted."
            )
        patterns = count_patterns(table, target, features=features, dichotomize=self.dichotomize)
        x, labels = validate(self, patterns.X, patterns.y)
        self._fit_rows(x, labels, patterns.count, counted=True)
        entry.take_patterns(self, patterns)
        return self

    def _fit_rows(self, x: FloatArray, labels: Any, weight: FloatArray, *, counted: bool) -> None:
        """Rows -> sample -> stages -> fitted attributes."""
        with entry.limit_resources(x.size):
            y = entry.encode_outcome(self, labels, weight)
            sample = entry.prepare_sample(self, x, y, weight, counted=counted)
            seed = entry.draw_seed(self.random_state)
            with follow_fit(self, sample, entry.make_settings(self), seed) as (settings, seed):
                self.random_state_ = seed
                folds = entry.make_folds(self, sample, x, labels, weight, seed)
                self._fit_stages(sample, Run(settings, seed, folds))

    def _fit_stages(self, sample: Sample, run: Run) -> None:
        raise NotImplementedError

    # --- stages that all share ---

    def _judge(self, sample: Sample, solution: Solution, seed: int) -> None:
        """The paper's evidence: a feature is stable if its weighted effect differs from zero.

        The interval comes from the bootstrap. Sets the attributes about weights and features.
        """
        w = solution.w / sample.total(sample.mass @ solution.w)
        self._report_weights(sample, w)
        self.history_ = {name: np.array(values) for name, values in solution.history.items()}
        self.n_iter_ = len(self.history_["total"])
        scores = WeightedEffect(seed)(sample, w)
        stable = (scores.low > 0) | (scores.high < 0)
        columns = {"effect": scores.score, "low": scores.low, "high": scores.high, "stable": stable}
        whole = {name: sample.to_user_columns(values) for name, values in columns.items()}
        self.feature_effects_ = pd.DataFrame({"feature": sample.origin.names} | whole)
        self.stable_features_ = whole["stable"]

    def _report_weights(self, sample: Sample, w: torch.Tensor) -> None:
        self.sample_weight_ = sample.to_user_rows(w)
        self.balance_report_ = entry.report_balance(sample, w)

    def _draw_rows(self, sample: Sample, seed: int) -> torch.Tensor:
        """The rows that heads are compared on."""
        return draw_rows(sample, BINARY, MOST_COMPARED, seed)

    def _find_weakest(
        self, sample: Sample, w: torch.Tensor, seed: int, heads: Heads, recipe: Recipe
    ) -> torch.Tensor:
        """The features that may move, judged by a head on all features under the weights."""
        drawn = self._draw_rows(sample, seed)
        few, w = sample.take(drawn), w[drawn > 0]
        (whole,) = heads.fit(few, w, [recipe])
        return find_weakest(few, w, whole)

    def _choose_head(
        self,
        sample: Sample,
        solution: Solution,
        run: Run,
        families: Mapping[str, tuple[Heads, list[Recipe]]],
        noisy: torch.Tensor,
    ) -> Predictor:
        """The best head of the best family, fitted under the weights on all rows."""
        w, rows = solution.w, []
        for name, (heads, recipes) in families.items():
            judged = judge_recipes(
                *(heads, recipes, sample, w, noisy, run.folds, run.seed), alone=len(families) == 1
            )
            rows.append({"head": name, "recipe": recipes[judged.best], **asdict(judged)})
        scores = [np.nan_to_num(row["score"], nan=np.inf, posinf=np.inf) for row in rows]
        best = int(np.argmin(scores))
        self._report_heads(rows, best)
        if self.recipe_.temper != 1:
            solution.w = temper_weights(sample, w, self.recipe_.temper)
            self._report_weights(sample, solution.w)
        (predictor,) = families[self.head_][0].fit(sample, w, [self.recipe_])
        return predictor

    def _report_heads(self, rows: list[dict[str, Any]], best: int) -> None:
        """Set ``heads_``, ``head_`` and ``recipe_``."""
        table = pd.DataFrame(
            [
                {"head": row["head"], **asdict(row["recipe"])}
                | {name: row.get(name, np.nan) for name in ("average", "stability")}
                for row in rows
            ]
        )
        table["refit"] = table["refit"].map(lambda kind: kind or "none")  # strings only: stored
        self.heads_ = table.assign(chosen=np.arange(len(rows)) == best)
        self.head_, self.recipe_ = rows[best]["head"], rows[best]["recipe"]

    def _keep_head(self, solution: Solution) -> Predictor:
        """The solver's own head."""
        l1 = 0.0 if self.l1 == "auto" else float(self.l1)
        name = "features" if solution.network is None else "embedding"
        self._report_heads([{"head": name, "recipe": Recipe(l1, False, False)}], 0)
        return Predictor(solution.head, solution.network)

    def _finish(self, sample: Sample, solution: Solution, predictor: Predictor) -> None:
        """Coefficients, encoder and products as fitted attributes, in the user's order; warnings.

        The encoder is the one the head uses, or else the one whose embedding was balanced.
        """
        head = predictor.head
        beta = head.beta.cpu().numpy()
        self.coef_ = (sample.to_user_columns(beta) if predictor.network is None else beta)[None, :]
        self.intercept_ = np.array([float(head.intercept)])
        network = predictor.network or solution.network
        self.encoders_ = [] if network is None else [encoder_in_user_order(sample, network)]
        columns = sample.origin.columns
        self.pairs_ = [(int(columns[a]), int(columns[b])) for a, b in sample.pairs]
        if not predictor.converged:
            solution.unfinished.append("refit")
        if not head.converged:
            solution.unfinished.append("head")
        warn_about_fit(self, sample, solution)
        if predictor.is_constant(sample):
            more = "" if predictor.network is None else " or network_l2"
            warn_user(
                f"{type(self).__name__} predicts the same probability for every row, or nearly so. "
                f"Lower l1 (now {self.recipe_.l1:g}){more}; with solver='alternating' also "
                "raise weight_l2 or lower balance: the weights may have left a class.",
                ConstantPredictionWarning,
            )

    # --- prediction ---

    def _head_on_features(self) -> bool:
        """Whether beta multiplies the features themselves rather than the embedding."""
        return self.head_ == "features"

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
        x = self._features(X)
        with threads_for(x.size):
            z = x if self._head_on_features() else self._embed(x)
            return np.asarray(z @ self.coef_[0] + self.intercept_[0])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class, in the order of ``classes_``: (n_samples, 2)."""
        positive = expit(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The more probable class of each row."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def _features(self, X: ArrayLike) -> FloatArray:
        """The features as the fit used them: standardised, or cut into 0/1."""
        check_is_fitted(self)
        return entry.transform_features(self, validate(self, X, reset=False))

    def _embed(self, x: FloatArray) -> FloatArray:
        """phi(x) of features as the fit used them."""
        wide = torch.tensor(add_products(x, self.pairs_))
        # Copies: the last bits of a product depend on the memory layout, and some are read-only.
        layers: list[Layer] = [(torch.tensor(a), torch.tensor(b)) for a, b in self.encoders_[0]]
        return apply_layers(wide, layers).numpy()

    @property
    def _n_features_out(self) -> int:
        """Width of the embedding, for the names of ``transform``'s columns."""
        return len(self.encoders_[0][-1][1]) if self.encoders_ else self.n_features_in_

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as an ONNX file (needs the extra ``onnx``).

        Its input ``X`` holds the features in double precision, in the order of the training table;
        its outputs ``label`` and ``probabilities`` are those of ``predict`` and
        ``predict_proba``. Rows that ``predict_proba`` refuses, such as those with a missing value,
        get NaN.
        """
        check_is_fitted(self)
        write_onnx(self, path, on_embedding=not self._head_on_features())

    def check_stored(self) -> None:
        """Raise ValueError unless the model could have been fitted and can predict."""
        entry.check_parts(self, "sample_weight_")
        if not values.is_fitted(self):
            return
        p, pairs, encoders = self.n_features_in_, self.pairs_, self.encoders_
        if len(values.labels(self)) != 2:
            raise ValueError("classes_ must be two labels")
        effects = self.feature_effects_
        if not {"feature", "effect", "stable"} <= set(effects) or len(effects) != p:
            raise ValueError(f"feature_effects_ must be a table of {p} features")
        if self.stable_features_.shape != (p,):
            raise ValueError(f"stable_features_ must be {p} booleans")
        if not all(0 <= min(pair) < max(pair) < p for pair in pairs):
            raise ValueError(f"pairs_ must be a list of pairs of {p} columns")
        if bool(encoders) != hasattr(self, "hidden"):
            raise ValueError("encoders_ must be present for a network, and only then")
        width = p
        for layers in encoders:
            width = p + len(pairs)
            for k, (matrix, bias) in enumerate(layers):
                values.check_numbers(matrix, f"the matrix of layer {k}", (None, width))
                values.check_numbers(bias, f"the bias of layer {k}", (len(matrix),))
                values.check_finite_sums(f"layer {k}", matrix, bias)
                width = len(matrix)
        # Files of before the head was chosen in the fit name it by the parameter.
        given = getattr(self, "head", "embedding") if encoders else "features"
        self.__dict__.setdefault("head_", given)
        if self.head_ not in ("features", "embedding") or (self.head_ == "embedding") > bool(
            encoders
        ):
            raise ValueError(f"head_ must be a head that the model has, not {self.head_!r}")
        # With a head on the features the encoders only made the weights.
        coef = values.numbers(self, "coef_", (1, p if self._head_on_features() else width))
        values.check_finite_sums("coef_", coef, values.numbers(self, "intercept_", (1,)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def encoder_in_user_order(
    sample: Sample, network: AutoEncoder
) -> list[tuple[FloatArray, FloatArray]]:
    """The encoder over all features in the user's order, with zeros for constant ones."""
    layers = [(weight.cpu().numpy(), bias.cpu().numpy()) for weight, bias in network.encoder]
    weight, bias = layers[0]
    p = sample.n_features
    features = np.zeros((len(weight), len(sample.origin.names)))
    features[:, sample.origin.columns] = weight[:, :p]
    return [(np.hstack([features, weight[:, p:]]), bias), *layers[1:]]


def transform_rows(self: PaperClassifier, X: ArrayLike) -> FloatArray:
    """phi(X), the embedding: (n_samples, hidden[-1])."""
    return self._embed(self._features(X))
