"""The methods of the paper's comparisons by name, each with its defaults."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.linear_model import LogisticRegression

from stablepred.models.dgbr import DGBRClassifier, DLRClassifier
from stablepred.models.gbr import GBRClassifier

Settings = dict[str, Any]


@dataclass(frozen=True)
class Method:
    """How a method is made, and the revision of its records.

    Attributes
    ----------
    make : callable
        Parameters -> unfitted estimator.
    revision : int
        Raised when a change of the code changes what the method gives, so that its old records
        are not mixed in. A changed default needs no new revision: settings are part of a record.
    """

    make: Callable[..., Any]
    revision: int = 1

    def __call__(self, seed: int, **changes: Any) -> Any:
        """The unfitted estimator."""
        return self.make(random_state=seed, **changes)

    def settings(self, **changes: Any) -> Settings:
        """All parameters that decide the result, but the seed, as plain values."""
        params = self.make(**changes).get_params()
        del params["random_state"]
        params.pop("checkpoint", None)
        plain: Settings = json.loads(json.dumps(params))
        return plain


METHODS: dict[str, Method] = {
    "LR": Method(LogisticRegression),
    "DLR": Method(DLRClassifier, revision=2),
    "GBR": Method(GBRClassifier, revision=2),
    "DGBR": Method(DGBRClassifier, revision=3),
    "DGBR (paper)": Method(DGBRClassifier.from_paper, revision=2),
}
