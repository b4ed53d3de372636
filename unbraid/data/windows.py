"""Rows of a series become windows, the steps that models see."""

import numpy as np

from unbraid.data.corpus import Array
from unbraid.safety.limits import check_memory


def cut_windows(
    x: Array, window: int, *, observed: Array | None = None, lengths: Array | None = None
) -> tuple[Array, Array | None, Array | None]:
    """Return (N, T, F) rows as (N, ceil(T / window), window, F) windows.

    Where the last window of a sequence is not full, the rows that are not there are unobserved.

    Args:
        x: rows, padded at the end.
        window: rows of a window.
        observed: (N, T, F) True where a value is known.
        lengths: (N,) rows of each sequence.

    Returns:
        Windows, which values of them are known (None if all), and windows of each sequence (None
        if all have as many).
    """
    count, rows = x.shape[:2]
    lengths = None if lengths is None else np.asarray(lengths, dtype=np.int64)
    steps = -(-rows // window)
    check_memory(
        count * steps * window * x.shape[2] * x.itemsize,
        f"a window of {window:,} rows of sequences of {rows:,} rows",
        "Choose a smaller data.window.",
    )
    ragged = rows % window > 0 or (lengths is not None and bool((lengths % window).any()))
    if observed is not None or ragged:
        known = np.ones(x.shape, dtype=bool) if observed is None else observed
        ends = np.full(count, rows) if lengths is None else lengths
        known = known & (np.arange(rows) < ends[:, None])[..., None]
        observed = _fold(known, steps, window)
    windows = None if lengths is None else -(-lengths // window)
    return _fold(x, steps, window), observed, windows


def _fold(x: Array, steps: int, window: int) -> Array:
    count, rows, width = x.shape
    if rows < steps * window:
        filled = np.zeros((count, steps * window, width), x.dtype)
        filled[:, :rows] = x
        x = filled
    return x.reshape(count, steps, window, width)


def window_labels(label: Array, window: int, rows: int, *, lengths: Array | None = None) -> Array:
    """Return the label of every window: of its middle row, or the mean of numbers; (N,) stays.

    Only rows that a sequence has count; the mean is over known ones (not NaN) and NaN without any.

    >>> window_labels(np.array([[0, 0, 1, 1, 1]]), 2, 5).tolist()
    [[0, 1, 1]]
    >>> window_labels(np.array([[0, 0, 0, 7, -1, -1]]), 3, 6, lengths=np.array([4])).tolist()
    [[0, 7]]
    """
    if label.ndim == 1 or window == 1:
        return label
    starts = np.arange(-(-rows // window)) * window
    last = np.full(len(label), rows) if lengths is None else np.asarray(lengths)
    ends = np.clip(starts + window, None, np.maximum(last[:, None], starts + 1))  # (N, steps)
    if label.dtype.kind != "f":
        return np.take_along_axis(label, (starts + ends) // 2, axis=1)
    exists = np.arange(rows) < last[:, None]
    known = exists & ~np.isnan(label)
    total = np.add.reduceat(np.where(known, label, 0), starts, axis=1)
    count = np.add.reduceat(known, starts, axis=1, dtype=np.int64)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
