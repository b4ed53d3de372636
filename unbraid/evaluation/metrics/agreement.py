"""Do two numbers order things alike, and what does it cost to choose by the wrong one?"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def spearman(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Spearman's rank correlation, −1 to 1; ties share their mean rank, NaN if one is constant.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 25.0]))
    1.0
    """
    x, y = (ranks(values) - (len(values) + 1) / 2 for values in (a, b))
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale > 0 else float("nan")


def ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return ranks 1, 2, ..., the smallest first; equal values share the mean of their ranks.

    >>> ranks(np.array([5.0, 1.0, 5.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = counts.cumsum()
    return (last - (counts - 1) / 2)[place]


def regret(cost: NDArray[Any], score: NDArray[Any]) -> float:
    """How much score is lost by taking the smallest cost instead of the largest score; 0 is best.

    >>> regret(np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.75, 0.25]))
    0.25
    """
    return float(score.max() - score[cost.argmin()])
