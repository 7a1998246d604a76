"""Where the loops of a fit leave their state, so that an interrupted fit can be resumed."""

from collections.abc import Callable
from typing import Any

# Lists and dicts of tensors, numbers, booleans and None.
State = dict[str, Any]


class Checkpoint:
    """Keeps nothing: the checkpoint of a fit that is not to be resumed.

    The loops of a fit come in the same order every time, one after the other. Each calls ``begin``
    once, ``keep`` after every iteration and ``end`` once.
    """

    def begin(self, stage: str, restore: Callable[[State], None]) -> None:
        """Hand the state that an earlier run left of this loop, if it did, to ``restore``."""

    def keep(self, state: Callable[[], State]) -> None:
        """An iteration is done."""

    def end(self, state: Callable[[], State]) -> None:
        """The loop is done; its state is its result."""
