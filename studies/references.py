"""References that the studies show beside the methods, and the shrinkage line of a fitted model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegression

from stablepred.evaluation import verdict
from stablepred.evaluation.metrics import Errors, Metric
from stablepred.evaluation.predictions import FloatArray, Table, predict_outcomes


class ConstantPredictor:
    """Predicts the base rate P(y = 1) of the training environment for every row."""

    def __init__(self, train: Any) -> None:
        self.base_rate = float(np.mean(train.y))

    def predict_proba(self, X: Any) -> FloatArray:
        """The same two probabilities in every row."""
        return np.tile([1 - self.base_rate, self.base_rate], (len(X), 1))


class Oracle:
    """Logistic regression, fitted on the columns of ``train`` that are known to be stable."""

    def __init__(self, train: Table, stable_features: Sequence[str]) -> None:
        self.stable_features = list(stable_features)
        X = train.X[self.stable_features]
        self.estimator = LogisticRegression().fit(X, train.y)

    def predict_proba(self, X: pd.DataFrame) -> FloatArray:
        """Probabilities of both classes, from the stable columns of X."""
        return np.asarray(self.estimator.predict_proba(X[self.stable_features]))


def shrinkage_line(
    model: Any,
    train: Table,
    tables: Sequence[Table],
    error: str = "rmse",
    shares: npt.ArrayLike | None = None,
) -> pd.DataFrame:
    """Errors of a * model + (1 - a) * base rate of ``train``, indexed by a in [0, 1]."""
    base, predicted = float(np.mean(train.y)), predict_outcomes(model, tables)
    return verdict.shrinkage_line(predicted, base, tables, Metric.of(error), shares)


def beaten_by_shrinkage(method_errors: Errors, line: pd.DataFrame) -> bool:
    """Whether some point of a shrinkage line is smaller in both errors than the method."""
    return verdict.is_beaten(pd.Series(method_errors).to_numpy(), line)
