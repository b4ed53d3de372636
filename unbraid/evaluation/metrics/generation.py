"""How sure, how varied: what a judge's class probabilities say of generated sequences.

All in nats. A generator that keeps a factor makes sequences the judge is sure of (low H(y|x)), of
every class alike (high H(y)); the inception score joins both: log IS = H(y) − H(y|x).
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int, Num
from scipy.special import entr

Probabilities = Float[np.ndarray, "N K"]
Means = Float[np.ndarray, "R *K"]


def entropy(p: Float[np.ndarray, "*N K"]) -> Float[np.ndarray, "*N"]:
    """−Σ_k p_k log p_k over the last axis, with 0 log 0 = 0.

    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).round(3).tolist()
    [0.0, 0.693]
    """
    return entr(p.astype(np.float64)).sum(-1)


def intra_entropy(p: Probabilities) -> float:
    """H(y|x), the mean entropy of a sequence's probabilities; less is better, 0 at best.

    >>> intra_entropy(np.eye(9))
    0.0
    """
    return float(entropy(p).mean())


def inter_entropy(p: Probabilities) -> float:
    """H(y), the entropy of the mean probabilities; more is better, log K at best.

    >>> round(inter_entropy(np.eye(9)), 3)
    2.197
    """
    return float(entropy(p.mean(0, dtype=np.float64, keepdims=True))[0])


def inception_score(p: Probabilities) -> float:
    """exp(E_x KL[p(y|x) || p(y)]); more is better, K at best and 1 at worst.

    >>> round(inception_score(np.eye(9)), 6)
    9.0
    """
    return float(np.exp(inter_entropy(p) - intra_entropy(p)))


def balanced(labels: Int[np.ndarray, " N"], seed: int) -> Int[np.ndarray, " M"]:
    """Return positions, ascending, that cut every class to the size of the smallest.

    The authors do so before they compute the scores above: classes of unequal size cap H(y).

    >>> np.array([0, 0, 0, 1])[balanced(np.array([0, 0, 0, 1]), seed=0)].tolist()
    [0, 1]
    """
    _, which, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(np.flatnonzero(which == k))[: counts.min()] for k in range(len(counts))]
    return np.sort(np.concatenate(rows))


def bootstrap_interval(
    values: Num[np.ndarray, " N *K"],
    *,
    seed: int,
    level: float = 0.95,
    draws: int = 1000,
    of: Callable[[Means], Means] | None = None,
    groups: Num[np.ndarray, " N"] | None = None,
) -> tuple[float, float]:
    """Return the interval in which the mean over sequences lies when they are drawn anew.

    Narrower is better; the ends are percentiles of `draws` resampled means.

    Args:
        values: a number per sequence, or a row of numbers with `of`.
        seed: decides the draws.
        level: share of the resampled values inside the interval.
        draws: how often to draw N sequences with replacement.
        of: turns (draws, K) resampled mean rows into (draws,) values, for what is not a mean.
        groups: draw inside every group on its own, which keeps balanced classes balanced.

    >>> bootstrap_interval(np.ones(20), seed=0)
    (1.0, 1.0)
    """
    rng = np.random.default_rng(seed)
    groups = np.zeros(len(values)) if groups is None else groups
    times = np.empty((draws, len(values)))  # how often every sequence was drawn
    for group in np.unique(groups):
        members = groups == group
        size = int(members.sum())
        times[:, members] = rng.multinomial(size, np.full(size, 1 / size), size=draws)
    means = times @ values.astype(np.float64) / len(values)
    statistics = means if of is None else of(means)
    low, high = np.quantile(statistics, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
