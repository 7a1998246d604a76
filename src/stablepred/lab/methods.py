"""The methods of the paper's comparisons by name, each with its defaults."""

from collections.abc import Callable
from typing import Any

from sklearn.linear_model import LogisticRegression

from stablepred.estimators.deep import DGBRClassifier, DLRClassifier
from stablepred.estimators.gbr import GBRClassifier

METHODS: dict[str, Callable[[int], Any]] = {
    "LR": lambda seed: LogisticRegression(),
    "DLR": lambda seed: DLRClassifier(random_state=seed),
    "GBR": lambda seed: GBRClassifier(random_state=seed),
    "DGBR": lambda seed: DGBRClassifier(random_state=seed),
    "DGBR (paper)": lambda seed: DGBRClassifier.from_paper(random_state=seed),
}
