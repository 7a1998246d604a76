"""The deep auto-encoder (paper, section 3.2.3).

    phi(x)^(1) = sigmoid(A^(1) x + b^(1))
    phi(x)^(k) = sigmoid(A^(k) phi(x)^(k-1) + b^(k)),  k = 2 ... K

and a decoder with the same layers in reverse.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

Layer = tuple[Tensor, Tensor]  # A (d_out, d_in), b (d_out,)


@dataclass(eq=False)
class AutoEncoder:
    encoder: list[Layer]
    decoder: list[Layer]

    @classmethod
    def random(
        cls,
        n_features: int,
        hidden: Sequence[int],
        generator: torch.Generator,
        device: torch.device | str = "cpu",
    ) -> "AutoEncoder":
        def start(width_in: int, width_out: int) -> Layer:
            weight = torch.randn(width_out, width_in, generator=generator, dtype=torch.float64)
            return weight.to(device), torch.zeros(width_out, dtype=torch.float64, device=device)

        widths = [n_features, *hidden]
        encoder = [start(*ends) for ends in pairwise(widths)]
        return cls(encoder, [start(*ends) for ends in pairwise(widths[::-1])])

    def encode(self, x: Tensor) -> Tensor:
        return apply_layers(x, self.encoder)

    def decode(self, phi: Tensor) -> Tensor:
        return apply_layers(phi, self.decoder)

    def parameters(self) -> list[Tensor]:
        return [tensor for layer in [*self.encoder, *self.decoder] for tensor in layer]

    def rebuild(self, parameters: Sequence[Tensor]) -> "AutoEncoder":
        """A network of the same shape from the tensors that ``parameters`` lists."""
        layers = list(zip(parameters[::2], parameters[1::2], strict=True))
        depth = len(self.encoder)
        return AutoEncoder(layers[:depth], layers[depth:])

    def copy(self) -> "AutoEncoder":
        return self.rebuild([tensor.clone() for tensor in self.parameters()])

    def widen(self, inputs: Tensor) -> "AutoEncoder":
        """The same network with more inputs, of which only those of the mask have any effect."""
        (first, bias), *encoder = self.encoder
        *decoder, (last, offset) = self.decoder
        wide = first.new_zeros(len(first), len(inputs))
        wide[:, inputs] = first
        rows, offsets = last.new_zeros(len(inputs), last.shape[1]), last.new_zeros(len(inputs))
        rows[inputs], offsets[inputs] = last, offset
        return AutoEncoder([(wide, bias), *encoder], [*decoder, (rows, offsets)])

    def narrow(self, inputs: Tensor) -> "AutoEncoder":
        (first, bias), *encoder = self.encoder
        *decoder, (last, offset) = self.decoder
        narrow, last_layer = (first[:, inputs], bias), (last[inputs], offset[inputs])
        return AutoEncoder([narrow, *encoder], [*decoder, last_layer])

    def bound(
        self, matrix_bounds: Sequence[float] | None, bias_bound: float | None
    ) -> "AutoEncoder":
        """The encoder pulled radially into ||A^(k)||_F^2 <= bound and ||b^(k)||_2 <= bound."""
        weights, biases = zip(*self.encoder, strict=True)
        if matrix_bounds is not None:
            pairs = zip(weights, matrix_bounds, strict=True)
            weights = tuple(_pull_into(weight, bound**0.5) for weight, bound in pairs)
        if bias_bound is not None:
            biases = tuple(_pull_into(bias, bias_bound) for bias in biases)
        return AutoEncoder(list(zip(weights, biases, strict=True)), self.decoder)


def apply_layers(x: Tensor, layers: list[Layer]) -> Tensor:
    weight, bias = layers[0]
    return encode_from(x @ weight.T + bias, layers[1:])


def encode_from(before: Tensor, layers: list[Layer]) -> Tensor:
    """The rest of an encoder after the first layer's linear part: (m, d1) -> (m, d)."""
    hidden = torch.sigmoid(before)
    for weight, bias in layers:
        hidden = torch.sigmoid(hidden @ weight.T + bias)
    return hidden


def _pull_into(tensor: Tensor, radius: float) -> Tensor:
    """The nearest point of the ball of that radius; differentiable, so that it can be trained."""
    norm = tensor.norm()
    return tensor if norm <= radius else tensor * (radius / norm)


def value_and_gradients(
    function: Callable[[Sequence[Tensor]], Tensor], variables: Sequence[Tensor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A function's value, and its gradient in each variable where there is no closed form."""
    with torch.enable_grad():
        leaves = [variable.detach().requires_grad_() for variable in variables]
        value = function(leaves)
    return value.detach(), torch.autograd.grad(value, leaves)
