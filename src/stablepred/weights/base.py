"""What a kind of balancing must offer. A new one is one class with ``prepare``."""

from typing import Protocol

from torch import Tensor

from stablepred.core.networks import AutoEncoder
from stablepred.core.objective import ValueAndGradient
from stablepred.sample import Sample


class Balance(Protocol):
    """A kind of balancing loss."""

    def prepare(self, sample: Sample, network: AutoEncoder | None) -> ValueAndGradient:
        """The loss as a function of the total row weights v, with its gradient in them.

        ``network`` has the encoder whose embedding is balanced, if there is one; it stays fixed.
        """
        ...


class DeepBalance(Balance, Protocol):
    """A kind of balancing loss that an encoder can be trained on, too."""

    def of_network(self, sample: Sample, w: Tensor, network: AutoEncoder) -> Tensor:
        """The loss at fixed weights, differentiable in the network's parameters."""
        ...
