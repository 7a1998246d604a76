"""A scikit-learn estimator on the columns in use: on folds, for the guard, and on all rows."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter
from torch import Tensor

from stablepred._random import clone_seeded
from stablepred.exceptions import InputError
from stablepred.heads.boosting import repeat_rows
from stablepred.heads.default import Fitted
from stablepred.heads.folds import Folds
from stablepred.sample import FloatArray, Sample


@dataclass(frozen=True, eq=False)
class Wrapped:
    """A fitted estimator that predicts the mean of the outcome from rows of a sample.

    ``known`` are the numbers of the classes that it was fitted on, of ``n_classes``; others have
    probability 0. Of a single class ``estimator`` is None. A regressor has no classes.
    """

    estimator: Any
    known: np.ndarray
    n_classes: int

    def predict(self, x: Tensor) -> Tensor:
        rows = x.cpu().numpy()
        if not self.n_classes:
            return torch.as_tensor(np.asarray(self.estimator.predict(rows), dtype=np.float64))
        found = np.zeros((len(rows), self.n_classes))
        found[:, self.known] = 1.0 if self.estimator is None else self.estimator.predict_proba(rows)
        means = torch.as_tensor(found)
        return means[:, 1] if self.n_classes == 2 else means


def fit_wrapped(
    estimator: Any,
    sample: Sample,
    folds: Folds,
    *,
    classes: np.ndarray | None,
    n_jobs: int | None,
    seed: int,
) -> Fitted:
    """The estimator on every fold; on all rows it is fitted once the variables are chosen.

    ``classes`` are the user's labels of the outcome's classes 0, 1, ..., None of a number.
    """
    fit = partial(_fit, estimator, classes, seed)
    models = tuple(Parallel(n_jobs=n_jobs)(delayed(fit)(part) for part in folds.train))
    held_out = folds.predict(models, sample.x) if models else fit(sample).predict(sample.x)
    return Fitted(fit, held_out, models)


def _fit(estimator: Any, classes: np.ndarray | None, seed: int, sample: Sample) -> Wrapped:
    x, y, weight = repeat_rows(sample)
    if classes is None:
        return Wrapped(fit_weighted(clone_seeded(estimator, seed), x, y, weight), np.arange(0), 0)
    codes = y.astype(int)
    known = np.unique(codes)
    if len(known) == 1:  # which many estimators refuse, and of which all say the same
        return Wrapped(None, known, len(classes))
    fitted = fit_weighted(clone_seeded(estimator, seed), x, classes[codes], weight)
    own = getattr(fitted, "classes_", classes[known])
    return Wrapped(fitted, np.searchsorted(classes, own), len(classes))


def fit_on_rows(model: Any, rows: Any, columns: np.ndarray) -> Any:
    x, present = rows.x[:, columns], rows.weight > 0  # rows of weight zero are absent
    if hasattr(model, "feature_names_in_"):
        x = pd.DataFrame(x, columns=model.encoder_.get_feature_names_out()[columns])
    estimator = clone_seeded(model.estimator, model.random_state_)
    return fit_weighted(estimator, x[present], rows.y[present], rows.weight[present])


# --- sample weights ---


def find_weight_name(estimator: Any) -> str | None:
    """What ``fit`` calls the sample weight: of a pipeline, that of its last step; None: nothing."""
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        name = find_weight_name(last)
        return name and f"{step}__{name}"
    takes = hasattr(estimator, "fit") and has_fit_parameter(estimator, "sample_weight")
    return "sample_weight" if takes else None


def fit_weighted(estimator: Any, x: Any, y: Any, weight: FloatArray, **params: Any) -> Any:
    """Fit under sample weights, by their name unless a step of a pipeline requests them."""
    name = find_weight_name(estimator)
    if name is None or (weight == 1).all():  # some take weights, but not every step of theirs does
        return estimator.fit(x, y, **params)
    if name == "sample_weight" or get_routing_for_object(estimator).consumes(
        "fit", ["sample_weight"]
    ):
        return estimator.fit(x, y, sample_weight=weight, **params)
    with config_context(enable_metadata_routing=False):  # a step is named, not asked
        return estimator.fit(x, y, **{name: weight}, **params)


# --- checks ---


def check_estimator(model: Any, weighted: bool) -> None:
    if model.estimator is None:
        return
    name = type(model.estimator).__name__
    if not hasattr(model.estimator, "fit"):
        raise InputError(
            f"estimator must be an estimator or None, but is {model.estimator!r}; pass an object "
            "such as LogisticRegression()."
        )
    check_kind(model, "Stable")
    method = "predict_proba" if get_tags(model).estimator_type == "classifier" else "predict"
    if not hasattr(model.estimator, method):
        raise InputError(
            f"{name} has no {method}, so its predictions cannot be compared on held-out rows. "
            "Wrap a classifier without probabilities in scikit-learn's CalibratedClassifierCV."
        )
    if weighted and find_weight_name(model.estimator) is None:
        raise InputError(
            f"{name} does not take sample_weight in fit. Leave sample_weight out, or choose "
            "an estimator that does."
        )


def check_kind(model: Any, family: str) -> None:
    own, other = (get_tags(one).estimator_type for one in (model, model.estimator))
    if {own, other} == {"classifier", "regressor"}:
        raise InputError(
            f"{type(model.estimator).__name__} is a {other}; use {family}{str(other).title()}, or "
            f"pass a {own}."
        )
