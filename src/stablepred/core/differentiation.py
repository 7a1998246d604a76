"""Gradients by automatic differentiation, where they have no closed form here."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def value_and_gradients(
    function: Callable[[Sequence[Tensor]], Tensor], variables: Sequence[Tensor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A function's value, and its gradient in each variable."""
    with torch.enable_grad():
        leaves = _leaves(variables)
        value = function(leaves)
    return value.detach(), torch.autograd.grad(value, leaves)


def pull_back(
    function: Callable[[Sequence[Tensor]], Sequence[Tensor]],
    variables: Sequence[Tensor],
    slopes: Sequence[Tensor],
) -> tuple[Tensor, ...]:
    """Slopes in what a function makes of the variables -> slopes in the variables."""
    with torch.enable_grad():
        leaves = _leaves(variables)
        made = function(leaves)
    return torch.autograd.grad(made, leaves, slopes)


def _leaves(variables: Sequence[Tensor]) -> list[Tensor]:
    return [variable.detach().requires_grad_() for variable in variables]
