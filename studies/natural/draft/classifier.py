"""The draft as a classifier: encode, judge the variables, decide which to use, fit."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from stablepred._random import RandomState, root_seed
from stablepred._validation import check_at_least, check_sample_weight
from stablepred.exceptions import InputError
from studies.natural.draft.choice import make_folds
from studies.natural.draft.data import FloatArray, TrainingData
from studies.natural.draft.encode import Encoder
from studies.natural.draft.evidence import explain_away, one_column_each
from studies.natural.draft.guard import Decision, decide, keep_all
from studies.natural.draft.verdict import judge_variables


class DraftClassifier(ClassifierMixin, BaseEstimator):
    """A draft of a default that does no harm; it is studied here and not part of the library.

    Takes a table as it comes, with numbers, categories and missing values, and two classes.

    Parameters
    ----------
    verdict : bool, default=True
        Judge the variables, and leave some out where that pays; else fit on all of them.
    cv : int, default=3
        Folds for all that is compared on held-out rows.
    random_state : int, RandomState or None, default=0
        Seed of the folds and of the made environments.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    variables_ : DataFrame
        variable, explaining_away, expected, probability_noisy, verdict, used; the middle four are
        missing where nothing was judged.
    decision_ : Decision
        The candidates, the one in use, and why.

    Notes
    -----
    A row of weight 2 counts as two copies of it in every loss, sum and standard error, but only
    nearly so in the fit: two copies may be in different folds, which lets them choose a richer
    model, and boosting's leaves and the encoding count rows. Rows of weight 0 are left out.
    """

    classes_: np.ndarray
    variables_: pd.DataFrame
    decision_: Decision

    def __init__(self, *, verdict: bool = True, cv: int = 3, random_state: RandomState = 0) -> None:
        self.verdict = verdict
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Encode the table, judge its variables, and fit on those that are kept."""
        check_at_least(self, "cv", 2, integer=True)
        frame, outcome = _as_frame(X), np.asarray(y)
        if len(outcome) != len(frame):
            raise InputError(f"X has {len(frame)} rows, but y has {len(outcome)}.")
        weight = check_sample_weight(sample_weight, np.empty((len(frame), 1)))
        frame, outcome, weight = frame[weight > 0], outcome[weight > 0], weight[weight > 0]
        self.classes_, target = np.unique(outcome, return_inverse=True)
        if len(self.classes_) != 2:
            raise InputError(f"y has {len(self.classes_)} classes; the draft takes two.")
        seed = root_seed(self.random_state)
        folds = make_folds(target.astype(float), self.cv, seed)
        self._encoder = Encoder().fit(frame)
        data = TrainingData(
            self._encoder.transform(frame), target.astype(float), weight, self._encoder.groups_
        )
        table: dict[str, Any] = {"variable": self._encoder.names_}
        if not self.verdict or data.n_variables < 2:
            choice = keep_all(data, folds, "The variables were not judged.")
        else:
            variables = one_column_each(data)
            judged = judge_variables(variables, explain_away(variables))
            choice = decide(data, folds, judged, seed)
            table["explaining_away"] = judged.competition.z
            table["expected"] = judged.competition.expected
            table["probability_noisy"] = judged.probability_noisy
            table["verdict"] = judged.labels
        self.variables_ = pd.DataFrame(table | {"used": choice.used})
        self.decision_ = choice.decision
        self._model = choice.fitted.model
        self._columns = choice.used[data.groups]
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class: (n_samples, 2)."""
        check_is_fitted(self, "decision_")
        x = self._encoder.transform(_as_frame(X))[:, self._columns]
        positive = self._model.predict(x)
        return np.column_stack([1 - positive, positive])

    def predict(self, X: Any) -> np.ndarray:
        """The more probable class of each row."""
        return self.classes_[(self.predict_proba(X)[:, 1] >= 0.5).astype(int)]


def _as_frame(X: Any) -> pd.DataFrame:
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    if not frame.columns.is_unique:
        raise InputError("two columns have the same name; rename one of them.")
    return frame
