"""Gathered rows become padded arrays of windows."""

from typing import Any

import numpy as np

from unbraid.data.cache import NewArray
from unbraid.data.corpus import Array
from unbraid.data.readers.paths import SPLIT_WORDS
from unbraid.data.readers.tables.columns import Config
from unbraid.data.readers.tables.layout import Layout, arrange
from unbraid.data.readers.tables.rows import Gathered, Ints, read_times
from unbraid.data.windows import window_labels

CELLS = 2_000_000_000  # padded values, 10 GB with the mask


def fill(rows: Gathered, config: Config, new: NewArray) -> dict[str, Any]:
    """Make x, observed, lengths, name and the labels from gathered rows.

    Returns:
        What the arrays do not tell: names of channels and labels, the window, what was skipped.
    """
    values = np.concatenate(rows.values)
    rows.values = []
    owners, times = np.concatenate(rows.owners), read_times(rows.times)
    layout = arrange(owners, times, rows.columns, config)
    names = _names(layout, list(rows.ids.places))
    known = np.logical_or.reduce(np.isfinite(values), axis=1)[layout.order]
    empty = ~np.logical_or.reduceat(known, layout.starts)
    notes = {f"sequence {name}": "no value is known" for name in names[empty].tolist()}
    if empty.all():
        raise ValueError(f"no value is known in any of {len(names)} sequences.")
    layout, names = layout.without(empty), names[~empty]
    window = config.window or max(1, round(int(layout.lengths.max()) / 20))
    _fill_values(values, layout, window, new)
    _keep(new, "lengths", -(-layout.lengths // window))
    _keep(new, "name", names)
    for place, (name, codes) in enumerate(rows.labels.items()):
        words = label_values(name, list(rows.words[name].places))
        _keep(new, f"label{place}", _spread(name, np.concatenate(codes), words, layout, window))
    return {
        "channels": list(rows.columns.values),
        "labels": list(rows.labels),
        "window": window,
        "pieces": bool(layout.number.any()),
        "skipped": layout.notes | notes,
    }


def _fill_values(values: Array, layout: Layout, window: int, new: NewArray) -> None:
    """Make x and, if anything in it is unknown, observed; channel by channel."""
    steps = -(-int(layout.lengths.max()) // window)
    shape = (len(layout.lengths), steps, window, values.shape[1])
    if np.prod(shape, dtype=np.float64) > CELLS:
        raise ValueError(
            f"{shape[0]} sequences of up to {steps * window} rows and {shape[3]} values are too "
            "many when all are made as long as the longest. Cut long ones into pieces "
            "(data.piece), keep less of them (data.length), or take a coarser grid (data.every)."
        )
    x = new("x", shape, np.float32).reshape(-1, shape[3])  # (N · rows, channels)
    cells = layout.cells
    at = layout.owner[cells] * steps * window + layout.place[cells]
    rows = layout.lengths.sum()
    is_full = len(cells) == rows and not (layout.lengths % window).any()
    observed = None
    if not is_full or not np.isfinite(values).all():
        observed = new("observed", shape, np.bool_).reshape(-1, shape[3])
    for channel in range(shape[3]):
        mean = _cell_means(values[:, channel][layout.order], cells)
        known = np.isfinite(mean)
        x[at, channel] = np.where(known, mean, 0)
        if observed is not None:
            observed[at, channel] = known


def _cell_means(column: Array, cells: Ints) -> Array:
    """Return the mean of the known values of rows that share a place; NaN if there are none."""
    if len(cells) == len(column):
        return column
    known = np.isfinite(column)
    count = np.add.reduceat(known, cells, dtype=np.int64)
    total = np.add.reduceat(np.where(known, column, 0), cells, dtype=np.float64)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _spread(name: str, codes: Ints, words: Array, layout: Layout, window: int) -> Array:
    """Return a label per sequence if it never changes within one, else per window."""
    codes = codes[layout.order]
    starts = layout.starts
    high = np.maximum.reduceat(codes, starts)
    low = np.minimum.reduceat(np.where(codes < 0, high[layout.owner], codes), starts)
    if (low == high).all():
        return words[high]
    if name == "split":
        raise ValueError(
            "column 'split' must say one thing for a sequence, not so in "
            f"{int((low != high).sum())} of {len(low)} sequences."
        )
    steps = -(-int(layout.lengths.max()) // window)
    cells = layout.cells
    column = _cell_means(words[codes], cells) if words.dtype.kind == "f" else codes[cells]
    empty = np.nan if words.dtype.kind == "f" else -1
    grid = np.full((len(starts), steps * window), empty, dtype=column.dtype)
    grid[layout.owner[cells], layout.place[cells]] = column
    grid = window_labels(grid, window, steps * window, lengths=layout.lengths)
    return grid if words.dtype.kind == "f" else words[grid]


def label_values(name: str, words: list[Any]) -> Array:
    """Return the values that the numbers of a label stand for; the last one stands for unknown.

    Whole numbers stay numbers, unless one is negative, which would mean unknown: then they are
    words. Other numbers stay numbers.

    >>> label_values("load", ["2", "10"]).tolist(), label_values("side", [-1, 1]).tolist()
    ([2, 10, -1], ['-1', '1', ''])
    """
    if name == "split":
        return np.array([*(SPLIT_WORDS.get(str(w).lower(), str(w)) for w in words), ""], dtype=str)
    try:
        figures = [float(word) for word in words]
    except (TypeError, ValueError):
        figures = []
    if not figures or not np.isfinite(figures).all():
        return np.array([*map(str, words), ""], dtype=str)
    written = any(
        isinstance(word, str) and not word.strip().lstrip("+-").isdigit() for word in words
    )
    if written or any(figure % 1 for figure in figures):
        return np.array([*figures, np.nan])
    if min(figures) < 0:
        return np.array([*(str(int(figure)) for figure in figures), ""], dtype=str)
    return np.array([*map(int, figures), -1], dtype=np.int64)


def _names(layout: Layout, ids: list[Any]) -> Array:
    """Return the name of every sequence: its id. Pieces of one id share it and so stay together.

    With fewer than three ids nothing could be dealt so: then pieces have names of their own.
    """
    plain = [str(int(i) if isinstance(i, float) and i.is_integer() else i) for i in ids]
    if len(np.unique(layout.source)) >= 3 or not layout.number.any():
        return np.array(plain, dtype=str)[layout.source]
    pairs = zip(layout.source.tolist(), layout.number.tolist(), strict=True)
    return np.array([f"{plain[source]}, piece {number}" for source, number in pairs])


def _keep(new: NewArray, name: str, array: Array) -> None:
    new(name, array.shape, array.dtype)[...] = array
