"""The protocol of a kind of evidence. To add one, write a class that follows it."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from stablepred.sample import BoolArray, FloatArray, Sample


@dataclass(frozen=True)
class Scores:
    """What one kind of evidence says about the features: arrays of shape (p,)."""

    score: FloatArray
    error: FloatArray  # standard error of the score
    low: FloatArray  # bounds of its 95 % interval
    high: FloatArray
    stable: BoolArray  # whether this kind of evidence, taken alone, calls it stable
    # Probability that the feature is noisy, supposing that noisy features exist; None leaves it to
    # the score and its error. ``trust`` is the probability that what is supposed holds here.
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
