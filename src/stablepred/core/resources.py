"""Threads and memory: how much of the machine a fit uses."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

# Entries of the data matrix from which several threads pay: a fit is thousands of small operations,
# and a barrier of threads after each costs more than the work.
LARGE = 1 << 22
# Numbers that may be kept however little is free: a gigabyte.
ALWAYS_KEPT = 1 << 27
CONTAINER = Path("/sys/fs/cgroup")

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


def room_to_keep(device: torch.device) -> int:
    """How many numbers may be kept: half of a GPU's free memory, a quarter of the processor's."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free // 16
    return max(ALWAYS_KEPT, _free_memory() // 32)


def _free_memory() -> int:
    """Free bytes of this machine, or of its container where that has less; 0 if nobody knows."""
    free = 0
    with suppress(AttributeError, OSError, ValueError):  # no container, or one without a limit
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        most = int((CONTAINER / "memory.max").read_text())
        free = min(free, most - int((CONTAINER / "memory.current").read_text()))
    return free
