"""One thread for small problems.

A fit is thousands of small tensor operations. Shared out over threads each of them ends with a
barrier, which costs more than the work itself, and ruinously more on a busy machine.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# Entries of the data matrix from which several threads pay.
LARGE = 1 << 22

_lock = threading.Lock()
_inside = 0
_before = 1


@contextmanager
def threads_for(size: int) -> Iterator[None]:
    """Let torch use one thread while a problem of ``size`` entries is small; then as before."""
    global _inside, _before
    if size >= LARGE:
        yield
        return
    with _lock:
        if _inside == 0:
            _before = torch.get_num_threads()
            torch.set_num_threads(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                torch.set_num_threads(_before)
