"""Sums over the values of a split as it streams by, a piece at a time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import Array
from unbraid.records import Spec

FAR = 20.0  # standard deviations from the mean of training


class Tally:
    """Sums over pieces of a split; arrays have an entry per channel."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.axis = 2 if spec.kind == "video" else 1 + len(spec.frame)  # of the channels
        width = spec.frame[0] if spec.kind == "video" else spec.frame[-1]
        self.low, self.high = np.full(width, np.inf), np.full(width, -np.inf)
        self.count, self.places, self.far = (np.zeros(width) for _ in range(3))
        self.total, self.squares = np.zeros(width), np.zeros(width)
        self.fixed, self.varied = np.zeros(width, int), np.zeros(width, int)  # sequences, series
        self.sequences = self.not_finite = self.empty = self.still = 0

    def add(self, x: Array, places: Array, known: Array) -> None:
        """Count sequences (n, T, *F); `places` exist, `known` of them are known."""
        finite = known
        if x.dtype.kind == "f":
            finite = known & np.isfinite(x)
            self.not_finite += int((known ^ finite).sum())
        axes = tuple(axis for axis in range(x.ndim) if axis != self.axis)
        where: Any = True if finite.all() else finite  # masks are slow
        self.low = np.minimum(self.low, x.min(axes, where=where, initial=_edge(x, 1)))
        self.high = np.maximum(self.high, x.max(axes, where=where, initial=_edge(x, -1)))
        self.places += places.sum(axes)
        self.count += finite.sum(axes)
        z = self.standardised(x if where is True else np.where(finite, x, 0))
        self.total += z.sum(axes, where=where, dtype=np.float64)
        self.squares += np.square(z).sum(axes, where=where, dtype=np.float64)
        if self.spec.kind == "series":
            self._compare_within(x, finite)
        if self.spec.kind != "video":
            self.far += (finite & (np.abs(z) > FAR)).sum(axes)
        inner = tuple(range(1, x.ndim))
        self.sequences += len(x)
        self.empty += int((~finite.any(inner)).sum())
        both = finite[:, 1:] & finite[:, :1]
        changes = both & (x[:, 1:] != x[:, :1])
        self.still += int((both.any(inner) & ~changes.any(inner)).sum())

    def _compare_within(self, x: Array, finite: Array) -> None:
        """Count, per channel, sequences with several known values: all the same, or not."""
        inner = tuple(range(1, x.ndim - 1))
        low = x.min(inner, where=finite, initial=_edge(x, 1))  # (n, channels)
        high = x.max(inner, where=finite, initial=_edge(x, -1))
        several = finite.sum(inner) > 1
        self.fixed += (several & (low == high)).sum(0)
        self.varied += (several & (low < high)).sum(0)

    def standardised(self, x: Array) -> NDArray[np.float32]:
        """Return values as a model sees them."""
        offset, scale = (np.array(v, np.float32) for v in (self.spec.offset, self.spec.scale))
        return (x.astype(np.float32) - offset) / scale


def _edge(x: Array, sign: int) -> Any:
    """Return what no value goes beyond: the start of a least (1) or greatest (-1) value."""
    if x.dtype.kind == "f":
        return x.dtype.type(sign * np.inf)
    ends = np.iinfo(x.dtype)
    return ends.max if sign > 0 else ends.min
