"""How many threads to compute with, decided by measuring.

Threads of one operation wait for each other. Where other programs keep the cores busy, every wait
lasts until the scheduler gives a core back: training toy-sprites with two threads beside two busy
processes made 48 steps in a time in which one thread made 267.
"""

import os
import statistics
import time
from collections.abc import Callable

import torch
from torch.nn import functional

BLOCKS, OPERATIONS = 5, 15
SLOWER = 1.2  # several threads that take so much longer than one are not worth it


def fewer_threads(measure: Callable[[int], float] | None = None) -> bool:
    """Compute with one thread if several are slower here and now; return whether it was done.

    Nothing happens where `OMP_NUM_THREADS` says how many.

    Args:
        measure: returns the seconds of some work with so many threads.
    """
    threads = torch.get_num_threads()
    if threads == 1 or "OMP_NUM_THREADS" in os.environ:
        return False
    seconds = measure or _seconds
    pairs = [(seconds(1), seconds(threads)) for _ in range(BLOCKS)]
    one, several = (statistics.median(times) for times in zip(*pairs, strict=True))
    torch.set_num_threads(1 if several > SLOWER * one else threads)
    return torch.get_num_threads() == 1


def _seconds(threads: int) -> float:
    """Time a small convolution."""
    torch.set_num_threads(threads)
    frames, weights = torch.ones(48, 16, 32, 32), torch.ones(32, 16, 4, 4)
    functional.conv2d(frames, weights, stride=2)  # threads are started before the clock
    start = time.perf_counter()
    for _ in range(OPERATIONS):
        functional.conv2d(frames, weights, stride=2)
    return time.perf_counter() - start
