"""How much better each code tells its own factors than the other code does."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def above_chance(accuracy: float, chance: float) -> float:
    """Accuracy above chance as a share of what is possible, 0 to 1; below chance it is 0.

    >>> above_chance(0.625, 0.25), above_chance(0.2, 0.25)
    (0.5, 0.0)
    """
    return max(0.0, accuracy - chance) / (1 - chance) if chance < 1 else 0.0


def separation(own: NDArray[Any], other: NDArray[Any]) -> float:
    """Mean over factors of (own code above chance) − (other code above chance), −1 to 1.

    1: every factor is told by its own code and not at all by the other one. 0: by both alike, or
    by neither. −1: the codes are exchanged.

    Args:
        own: (factor,) from `above_chance`; of s for a static factor, of d for a dynamic one.
        other: (factor,) the same of the other code.

    >>> separation(np.array([1.0, 0.5]), np.array([0.0, 0.5]))
    0.5
    """
    return float(np.mean(own - other))
