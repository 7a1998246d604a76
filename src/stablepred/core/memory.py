"""How much may be kept in memory."""

import os
from pathlib import Path

import torch

# Numbers that may be kept however little is free: a gigabyte.
ALWAYS_KEPT = 1 << 27
CONTAINER = Path("/sys/fs/cgroup")


def room_to_keep(device: torch.device) -> int:
    """How many numbers may be kept: half of a GPU's free memory, a quarter of the processor's."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free // 16
    return max(ALWAYS_KEPT, _free_memory() // 32)


def _free_memory() -> int:
    """Free bytes of this machine, or of its container where that has less; 0 if nobody knows."""
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError):
        return 0
    try:
        most = int((CONTAINER / "memory.max").read_text())
        return min(free, most - int((CONTAINER / "memory.current").read_text()))
    except (OSError, ValueError):  # no container, or one without a limit
        return free
