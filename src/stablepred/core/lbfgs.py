"""The memory of L-BFGS, and the direction that it gives.

The two loops of L-BFGS (Nocedal and Wright, algorithm 7.4) run over the coefficients of the
direction in the basis of all remembered vectors; all they need is the basis' inner products (Chen,
Wang and Zhou 2014, "Large-scale L-BFGS using MapReduce"). A step costs two passes over the memory,
and where rows are spread over processes one message.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stablepred.core.loop import State

Products = NDArray[np.float64]  # of all pairs of vectors in the basis
Summed = Callable[[Tensor], Tensor]  # products over the entries at hand -> over all entries


class Memory:
    """The last steps and the changes of the gradient along them."""

    def __init__(self, like: Tensor, summed: Summed, size: int = 20) -> None:
        # The gradient, then every step followed by its change: (1 + 2 size, N).
        self._basis = like.new_zeros(1 + 2 * size, len(like))
        self._products = np.zeros((1 + 2 * size, 1 + 2 * size))
        self._size, self._summed = size, summed
        self._slots: list[int] = []  # rows of the steps, the oldest first

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, step: Tensor, change: Tensor) -> None:
        """Remember a pair, in the place of the oldest one if there is no room."""
        full = len(self._slots) == self._size
        slot = self._slots.pop(0) if full else 1 + 2 * len(self._slots)
        self._basis[slot], self._basis[slot + 1] = step, change
        self._slots.append(slot)

    def direction(self, gradient: Tensor) -> tuple[Tensor, float]:
        """Where to go from a point with this gradient, and the slope there."""
        self._basis[0] = gradient
        used = 1 + 2 * len(self._slots)
        basis, products = self._basis[:used], self._products[:used, :used]
        # The gradient and the newest pair have changed.
        changed = [0, *(slot + shift for slot in self._slots[-1:] for shift in (0, 1))]
        columns = self._summed(basis @ basis[changed].T).cpu().numpy()  # (used, 1 or 3)
        products[:, changed], products[changed] = columns, columns.T
        coefficients = _two_loops(products, self._slots)
        direction = torch.from_numpy(coefficients).to(gradient.device) @ basis
        return direction, float(products[0] @ coefficients)

    def state(self) -> State:
        """The pairs and their inner products."""
        used = 1 + 2 * len(self._slots)
        return {
            "basis": self._basis[:used],
            "products": torch.from_numpy(self._products[:used, :used].copy()),
            "slots": self._slots,
        }

    def restore(self, state: State) -> None:
        """Remember what was remembered when ``state`` was taken."""
        used = len(state["basis"])
        self._basis[:used] = state["basis"]
        self._products[:used, :used] = state["products"].numpy()
        self._slots = list(state["slots"])


def _two_loops(products: Products, slots: list[int]) -> NDArray[np.float64]:
    """The coefficients of minus the inverse Hessian times the gradient."""
    coefficients = np.zeros(len(products))
    coefficients[0] = -1.0
    along = {}
    for slot in reversed(slots):
        along[slot] = products[slot] @ coefficients / products[slot, slot + 1]
        coefficients[slot + 1] -= along[slot]
    if slots:
        newest = slots[-1]
        coefficients *= products[newest, newest + 1] / products[newest + 1, newest + 1]
    for slot in slots:
        back = products[slot + 1] @ coefficients / products[slot, slot + 1]
        coefficients[slot] += along[slot] - back
    return coefficients
