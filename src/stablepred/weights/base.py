"""The protocol of a balancing loss. To add one, write a class with ``prepare``."""

from typing import Protocol

from torch import Tensor

from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import ValueAndGradient
from stablepred.sample import Sample


class Balance(Protocol):
    def prepare(self, sample: Sample, network: AutoEncoder | None) -> ValueAndGradient:
        """Return the loss as a function of the total row weights v, with its gradient in v.

        ``network`` holds the encoder whose embedding is balanced, if there is one; it stays fixed.
        """


class DeepBalance(Balance, Protocol):
    def of_network(self, sample: Sample, w: Tensor, network: AutoEncoder) -> Tensor:
        """The loss at fixed weights, differentiable in the network's parameters."""
