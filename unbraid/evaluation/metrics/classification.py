"""Accuracy and what guessing would give."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def accuracy(predicted: NDArray[Any], true: NDArray[Any]) -> float:
    """Share of right predictions, 0 to 1; more is better.

    >>> accuracy(np.array([1, 2, 3, 3]), np.array([1, 2, 3, 0]))
    0.75
    """
    return float(np.mean(predicted == true))


def chance(labels: NDArray[Any]) -> float:
    """Accuracy of always naming the most frequent class, 0 to 1.

    >>> chance(np.array([0, 0, 1, 2]))
    0.5
    """
    _, counts = np.unique(labels, return_counts=True)
    return float(counts.max() / counts.sum())
