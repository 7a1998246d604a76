"""One thread for small problems.

A fit is thousands of small operations; a barrier of threads after each costs more than the work.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# Entries of the data matrix from which several threads pay.
LARGE = 1 << 22

_lock = threading.Lock()
_inside = 0  # threads of Python that are in here
_before = 1
_own = threading.local()


@contextmanager
def threads_for(size: int) -> Iterator[None]:
    """Let torch use one thread while a problem of ``size`` entries is small; then as before."""
    global _inside, _before
    if size >= LARGE or getattr(_own, "inside", False):
        yield
        return
    with _lock:  # torch counts for each thread of Python, and for those to come
        if _inside == 0:
            _before = torch.get_num_threads()
        _inside += 1
        torch.set_num_threads(1)
    _own.inside = True
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            torch.set_num_threads(_before)
        _own.inside = False
