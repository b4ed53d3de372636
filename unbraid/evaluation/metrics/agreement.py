"""Do two numbers order things alike, and what does it cost to choose by the wrong one?"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr


def spearman(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Spearman's rank correlation, −1 to 1; ties share their mean rank, NaN if one is constant.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 25.0]))
    1.0
    """
    if np.ptp(a) == 0 or np.ptp(b) == 0:  # SciPy would warn
        return float("nan")
    return float(spearmanr(a, b).statistic)


def regret(cost: NDArray[Any], score: NDArray[Any]) -> float:
    """How much score is lost by taking the smallest cost instead of the largest score; 0 is best.

    >>> regret(np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.75, 0.25]))
    0.25
    """
    return float(score.max() - score[cost.argmin()])
