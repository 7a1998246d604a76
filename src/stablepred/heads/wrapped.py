"""A scikit-learn estimator on the columns in use: on folds, for the guard, and on all rows."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter
from torch import Tensor

from stablepred.exceptions import InputError
from stablepred.heads.boosting import repeat_rows
from stablepred.heads.default import Fitted
from stablepred.heads.folds import Folds
from stablepred.sample import Sample


@dataclass(frozen=True, eq=False)
class Wrapped:
    """A fitted estimator that predicts the mean of the outcome from rows of a sample."""

    estimator: Any

    def predict(self, x: Tensor) -> Tensor:
        """P(y = 1), the probabilities of several classes, or a number."""
        rows = x.cpu().numpy()
        if not is_classifier(self.estimator):
            return torch.as_tensor(np.asarray(self.estimator.predict(rows), dtype=np.float64))
        found = torch.as_tensor(self.estimator.predict_proba(rows), dtype=torch.float64)
        return found[:, 1] if found.shape[1] == 2 else found


def fit_wrapped(estimator: Any, sample: Sample, folds: Folds, n_jobs: int | None) -> Fitted:
    """The estimator on every fold; on all rows it is fitted once the variables are chosen."""
    fit = partial(_fit, estimator)
    models = tuple(Parallel(n_jobs=n_jobs)(delayed(fit)(part) for part in folds.train))
    held_out = folds.predict(models, sample.x) if models else fit(sample).predict(sample.x)
    return Fitted(fit, held_out, models)


def _fit(estimator: Any, sample: Sample) -> Wrapped:
    x, y, weight = repeat_rows(sample)
    y = y.astype(int) if is_classifier(estimator) else y
    options = {"sample_weight": weight} if takes_weights(estimator) else {}
    return Wrapped(clone(estimator).fit(x, y, **options))


def fit_on_rows(model: Any, rows: Any, columns: np.ndarray) -> Any:
    """The estimator on the user's rows, under the sample weights if it takes them."""
    x, present = rows.x[:, columns], rows.weight > 0  # rows of weight zero are absent
    if hasattr(model, "feature_names_in_"):
        x = pd.DataFrame(x, columns=model.encoder_.get_feature_names_out()[columns])
    options = {"sample_weight": rows.weight[present]} if takes_weights(model.estimator) else {}
    return clone(model.estimator).fit(x[present], rows.y[present], **options)


def takes_weights(estimator: Any) -> bool:
    """Whether ``fit`` has a parameter ``sample_weight``."""
    return bool(has_fit_parameter(estimator, "sample_weight"))


def check_estimator(model: Any, weighted: bool) -> None:
    """Refuse an estimator that cannot be compared on held-out rows."""
    if model.estimator is None:
        return
    name = type(model.estimator).__name__
    if not hasattr(model.estimator, "fit"):
        raise InputError(
            f"estimator must be an estimator or None, but is {model.estimator!r}; pass an object "
            "such as LogisticRegression()."
        )
    if is_classifier(model):
        if is_regressor(model.estimator):
            raise InputError(f"{name} is a regressor; use StableRegressor, or pass a classifier.")
        if not hasattr(model.estimator, "predict_proba"):
            raise InputError(
                f"{name} has no predict_proba, so its probabilities cannot be compared on "
                "held-out rows. Wrap it in scikit-learn's CalibratedClassifierCV."
            )
    elif not hasattr(model.estimator, "predict") or is_classifier(model.estimator):
        raise InputError(f"{name} is not a regressor; use StableClassifier, or pass a regressor.")
    if weighted and not takes_weights(model.estimator):
        raise InputError(
            f"{name} does not take sample_weight in fit. Leave sample_weight out, or choose "
            "an estimator that does."
        )
