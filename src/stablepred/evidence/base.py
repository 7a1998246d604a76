"""The protocol of a kind of evidence. To add one, write a class that follows it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from stablepred.sample import Sample

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """What one kind of evidence says about the features: arrays of shape (p,).

    Attributes
    ----------
    score, error : arrays
        The score of each feature, and its standard error.
    low, high : arrays
        Bounds of its 95 % interval.
    stable : array of bool
        Whether this kind of evidence, taken alone, calls the feature stable.
    leaning : array or None
        Probability that the feature is noisy, supposing that noisy features exist; None leaves
        it to the score and its error.
    trust : float
        Probability that what is supposed for ``leaning`` holds in this sample.
    """

    score: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    stable: NDArray[np.bool_]
    leaning: FloatArray | None = None
    trust: float = 1.0


class Evidence(Protocol):
    """A kind of evidence on which features are stably tied to the outcome."""

    @property
    def name(self) -> str:
        """The name of its column in ``variables_``."""
        ...

    def __call__(self, sample: Sample, w: Tensor) -> Scores | None:
        """Judge every feature under the balancing weights ``w``; None if it does not apply.

        Each variable is one column of the sample.
        """
        ...
