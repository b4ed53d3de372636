"""Are two vectors from the same source? Error rates over all thresholds of a similarity."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def det_curve(scores: NDArray[Any], same: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    """Return both error rates at every threshold: the detection error trade-off.

    A pair is accepted if its score is at or above the threshold. Pairs of equal score are
    accepted or rejected together.

    Args:
        scores: (N,) similarity of each pair, more = more alike.
        same: (N,) True where the pair has one source.

    Returns:
        (thresholds, false_accept, false_reject), each (K + 1,) for K different scores: ascending
        thresholds, the last infinite; share of different pairs accepted, falling from 1 to 0;
        share of same pairs rejected, rising from 0 to 1.

    >>> det_curve(np.array([0.2, 0.9, 0.4]), np.array([False, True, False]))[1].tolist()
    [1.0, 0.5, 0.0, 0.0]
    """
    from sklearn.metrics import roc_curve

    scores, same = np.ravel(scores).astype(np.float64), np.ravel(same).astype(bool)
    _check(scores, same)
    accept, accept_same, thresholds = roc_curve(same, scores, drop_intermediate=False)
    return thresholds[::-1], accept[::-1], 1 - accept_same[::-1]


def equal_error_rate(scores: NDArray[Any], same: NDArray[Any]) -> float:
    """Error rate at the threshold where false accepts equal false rejects, 0 to 1; less is better.

    Between two neighbouring thresholds both rates are taken as straight lines. 0 is perfect
    separation, 0.5 a useless score, 1 an inverted one.

    >>> equal_error_rate(np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, False, True, False]))
    0.5
    """
    _, accept, reject = det_curve(scores, same)
    return equal_rate(accept, reject)


def equal_rate(accept: NDArray[Any], reject: NDArray[Any]) -> float:
    """Return the rate at which both are equal, on straight lines between thresholds.

    >>> equal_rate(np.array([1.0, 0.5, 0.0]), np.array([0.0, 0.0, 0.5]))
    0.25
    """
    difference = accept - reject  # falls strictly from 1 to -1
    before = int(np.flatnonzero(difference >= 0)[-1])
    share = difference[before] / (difference[before] - difference[before + 1])
    return float(accept[before] + share * (accept[before + 1] - accept[before]))


def _check(scores: NDArray[Any], same: NDArray[Any]) -> None:
    if len(scores) != len(same):
        raise ValueError(
            f"scores and same must be of one length, got {len(scores)} and {len(same)}."
        )
    if same.all() or not same.any():
        content = "none" if not len(same) else "only " + ("same" if same.all() else "different")
        raise ValueError(
            f"error rates need pairs of the same and of different sources, got {content}. "
            "Take two sources at least, and two items of one of them."
        )
    if np.isnan(scores).any():
        raise ValueError(f"{int(np.isnan(scores).sum())} of {len(scores)} scores are NaN.")
