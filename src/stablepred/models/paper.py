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
from torch import Tensor

from stablepred._parameters import check_parameters
from stablepred._random import RandomState, torch_generator
from stablepred._validation import (
    BoolArray,
    FloatArray,
    atomic,
    check_sample_weight,
    validate,
    warn_user,
)
from stablepred.core.loop import Settings, Solution
from stablepred.core.networks import Layer, apply_layers
from stablepred.core.resources import threads_for
from stablepred.core.row_weights import scale_to_mean_one
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
from stablepred.heads.folds import draw_compared
from stablepred.io import values
from stablepred.io.onnx import write_onnx
from stablepred.io.save import save_method
from stablepred.models import entry
from stablepred.models.checkpoints import follow_fit
from stablepred.models.standardizer import Standardizer
from stablepred.preprocessing import Dichotomizer
from stablepred.sample import Pairs, Sample, add_products
from stablepred.tables.engines import count_patterns

Families = Mapping[str, tuple[Heads, list[Recipe]]]


@dataclass(frozen=True)
class Run:
    """What the stages of one fit need."""

    sample: Sample
    settings: Settings
    seed: int
    folds: Folds
    start: torch.Generator | None  # of Algorithm 1's starting values; None: they are fixed


@dataclass(eq=False, repr=False, kw_only=True)
class PaperClassifier(ClassifierMixin, BaseEstimator):
    """Weights, the paper's evidence, and a head under the weights: see each ``_fit_stages``."""

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
            A row of weight 2 counts as two equal rows, one of weight 0 as absent; the scale does
            not matter.
        """
        x, labels = validate(self, X, y, ensure_min_samples=3)
        check_parameters(self)
        self._fit_rows(x, labels, check_sample_weight(sample_weight, x), counted=False)
        return self

    @atomic
    def fit_table(self, table: Any, target: str, *, features: Sequence[str] | None = None) -> Self:
        """Fit the model on a table that need not fit in memory (needs the extra ``tables``).

        The distinct rows are counted where the table is stored, and the model is fitted on them and
        their counts, with the same result as ``fit`` on all rows. Only ``sample_weight_`` has one
        value per distinct row, in the order of
        ``stablepred.data.count_patterns(table, target, features=features)``. Numbers that hardly
        repeat leave as many distinct rows as there are rows; where these do not fit in memory, set
        ``dichotomize="mean"``.

        Parameters
        ----------
        table : path or frame
            A Parquet or CSV file, the former read by DuckDB; or a DuckDB relation, or a
            frame of Dask, PySpark, pandas, polars or pyarrow.
        target : str
            The outcome column, with two values; the one last in sorted order is the positive class.
        features : sequence of str, optional
            Numbers or booleans without missing values. By default all columns but the target.
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
        with threads_for(x.size):
            y = entry.encode_outcome(self, labels, weight)
            sample = entry.prepare_sample(self, x, y, weight, counted=counted)
            seed = entry.draw_seed(self.random_state)
            with follow_fit(self, sample, entry.make_settings(self), seed) as (settings, seed):
                self.random_state_ = seed
                folds = entry.make_folds(self, sample, x, labels, weight, seed)
                drawn = getattr(self, "solver", "") == "alternating-random"
                start = torch_generator(seed, "start") if drawn else None
                self._fit_stages(Run(sample, settings, seed, folds, start))

    def _fit_stages(self, run: Run) -> None:
        raise NotImplementedError

    # --- stages that all share ---

    def _judge(self, run: Run, solution: Solution) -> None:
        """The paper's evidence: a feature is stable if its weighted effect differs from zero.

        The interval comes from the bootstrap. Sets the attributes about weights and features.
        """
        sample, w = run.sample, scale_to_mean_one(run.sample, solution.w)
        self._report_weights(sample, w)
        self.history_ = {name: np.array(values) for name, values in solution.history.items()}
        self.n_iter_ = len(self.history_["total"])
        scores = WeightedEffect(run.seed)(sample, w)
        stable = (scores.low > 0) | (scores.high < 0)
        columns = {"effect": scores.score, "low": scores.low, "high": scores.high, "stable": stable}
        whole = {name: sample.to_user_columns(values) for name, values in columns.items()}
        self.feature_effects_ = pd.DataFrame({"feature": sample.origin.names} | whole)
        self.stable_features_ = whole["stable"]

    def _report_weights(self, sample: Sample, w: Tensor) -> None:
        self.sample_weight_ = sample.to_user_rows(w)
        self.balance_report_ = entry.report_balance(sample, w)

    def _find_weakest(self, run: Run, w: Tensor, heads: Heads, recipe: Recipe) -> Tensor:
        """The features that may move, judged by a head on all features under the weights."""
        drawn = draw_compared(run.sample, run.seed)
        few, w = run.sample.take(drawn), w[drawn > 0]
        (whole,) = heads.fit(few, w, [recipe])
        return find_weakest(few, w, whole)

    def _choose_head(
        self, run: Run, solution: Solution, families: Families, noisy: Tensor
    ) -> Predictor:
        sample, w, rows, alone = run.sample, solution.w, [], len(families) == 1
        for name, (heads, recipes) in families.items():
            given = (heads, recipes, sample, w, noisy, run.folds, run.seed)
            judged = judge_recipes(*given, alone=alone)
            rows.append({"head": name, "recipe": recipes[judged.best], **asdict(judged)})
        self._report_heads(rows)
        if self.recipe_.temper != 1:
            solution.w = temper_weights(sample, w, self.recipe_.temper)
            self._report_weights(sample, solution.w)
        (predictor,) = families[self.head_][0].fit(sample, w, [self.recipe_])
        return predictor

    def _report_heads(self, rows: list[dict[str, Any]]) -> None:
        """Set ``heads_``, and ``head_`` and ``recipe_`` to those with the best score."""
        table = pd.DataFrame([{"head": row["head"]} | asdict(row["recipe"]) for row in rows])
        table["refit"] = table["refit"].map(lambda kind: kind or "none")  # strings only: stored
        for name in ("average", "stability"):
            table[name] = [row.get(name, np.nan) for row in rows]
        scores = pd.Series([row.get("score", np.nan) for row in rows]).fillna(np.inf)
        best = int(np.argmin(scores))
        self.heads_ = table.assign(chosen=np.arange(len(rows)) == best)
        self.head_, self.recipe_ = rows[best]["head"], rows[best]["recipe"]

    def _keep_head(self, solution: Solution) -> Predictor:
        l1 = 0.0 if self.l1 == "auto" else float(self.l1)
        name = "features" if solution.network is None else "embedding"
        self._report_heads([{"head": name, "recipe": Recipe(l1, False, False)}])
        return Predictor(solution.head, solution.network)

    def _finish(self, sample: Sample, solution: Solution, predictor: Predictor) -> None:
        """Coefficients, encoder and products as fitted attributes, in the user's order; warnings.

        The encoder is the one the head uses, or else the one whose embedding was balanced.
        """
        head, columns = predictor.head, sample.origin.columns
        beta = head.beta.cpu().numpy()
        self.coef_ = (sample.to_user_columns(beta) if predictor.network is None else beta)[None, :]
        self.intercept_ = np.array([float(head.intercept)])
        self.pairs_ = [(int(columns[a]), int(columns[b])) for a, b in sample.pairs]
        self.encoders_ = []
        if network := predictor.network or solution.network:
            layers = [(a.cpu().numpy(), b.cpu().numpy()) for a, b in network.encoder]
            weight, bias = layers[0]
            features = np.zeros((len(weight), len(sample.origin.names)))
            features[:, columns] = weight[:, : sample.n_features]
            layers[0] = np.hstack([features, weight[:, sample.n_features :]]), bias
            self.encoders_ = [layers]
        solution.unfinished += ["refit"] * (not predictor.converged)
        solution.unfinished += ["head"] * (not head.converged)
        entry.warn_about_fit(self, sample, solution)
        if predictor.is_constant(sample):
            more = "" if predictor.network is None else " or network_l2"
            warn_user(
                f"{type(self).__name__} predicts the same probability for every row, or nearly so. "
                f"Lower l1 (now {self.recipe_.l1:g}){more}; with solver='alternating' also "
                "raise weight_l2 or lower balance: the weights may have left a class.",
                ConstantPredictionWarning,
            )

    # --- prediction ---

    @property
    def used_features_(self) -> BoolArray:
        """Which features the prediction depends on: (n_features_in_,)."""
        check_is_fitted(self)
        if self.head_ == "features":
            return np.asarray(self.coef_[0] != 0)
        seen = (self.encoders_[0][0][0] != 0).any(axis=0)
        used, products = np.split(seen, [self.n_features_in_])
        pairs = [pair for pair, both in zip(self.pairs_, products, strict=True) if both]
        used[np.array(pairs, dtype=int).ravel()] = True
        return used

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log-odds of the positive class: (n_samples,)."""
        x = self._features(X)
        with threads_for(x.size):
            z = x if self.head_ == "features" else self._embed(x)
            return np.asarray(z @ self.coef_[0] + self.intercept_[0])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class, in the order of ``classes_``: (n_samples, 2)."""
        positive = expit(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The more probable class of each row."""
        positive = self.decision_function(X) > 0  # refuses a model that is not fitted
        return self.classes_[positive.astype(int)]

    def _features(self, X: ArrayLike) -> FloatArray:
        """The features as the fit used them: standardised, or cut into 0/1."""
        check_is_fitted(self)
        return entry.transform_features(self, validate(self, X, reset=False))

    def _embed(self, x: FloatArray) -> FloatArray:
        wide = torch.tensor(add_products(x, self.pairs_))
        # Copies: the last bits of a product depend on the memory layout, and some are read-only.
        layers: list[Layer] = [(torch.tensor(a), torch.tensor(b)) for a, b in self.encoders_[0]]
        return apply_layers(wide, layers).numpy()

    @property
    def _n_features_out(self) -> int:
        return len(self.encoders_[0][-1][1]) if self.encoders_ else self.n_features_in_

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as an ONNX file (needs the extra ``onnx``).

        Its input ``X`` holds the features in double precision, in the order of the training table;
        its outputs ``label`` and ``probabilities`` are those of ``predict`` and ``predict_proba``.
        Rows that these refuse, such as those with a missing value, get NaN.
        """
        check_is_fitted(self)
        write_onnx(self, path, on_embedding=self.head_ != "features")

    def check_stored(self) -> None:
        entry.check_parts(self, "sample_weight_")
        if not values.is_fitted(self):
            return
        p, pairs, encoders = self.n_features_in_, self.pairs_, self.encoders_
        # Files of before the head was chosen in the fit name it by the parameter.
        given = getattr(self, "head", "embedding") if encoders else "features"
        own = ["features", *["embedding"] * hasattr(self, "hidden")]
        sound = {
            "classes_": len(values.labels(self)) == 2,
            "feature_effects_": len(self.feature_effects_) == p,
            "stable_features_": self.stable_features_.shape == (p,),
            "pairs_": all(0 <= min(pair) < max(pair) < p for pair in pairs),
            "encoders_": len(encoders) == len(own) - 1,
            "head_": self.__dict__.setdefault("head_", given) in own,
        }
        if wrong := [name for name, is_so in sound.items() if not is_so]:
            raise ValueError(f"{wrong[0]} does not fit a model of two classes and {p} features")
        width = p + len(pairs)
        for k, (matrix, bias) in enumerate(encoders[0] if encoders else []):
            values.check_numbers(matrix, f"the matrix of layer {k}", (None, width))
            values.check_numbers(bias, f"the bias of layer {k}", (len(matrix),))
            values.check_finite_sums(f"layer {k}", matrix, bias)
            width = len(matrix)
        # With a head on the features the encoders only made the weights.
        coef = values.numbers(self, "coef_", (1, p if self.head_ == "features" else width))
        values.check_finite_sums("coef_", coef, values.numbers(self, "intercept_", (1,)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def transform_rows(self: PaperClassifier, X: ArrayLike) -> FloatArray:
    """phi(X), the embedding: (n_samples, hidden[-1])."""
    return self._embed(self._features(X))
