"""Panels: collections of sequences as other libraries hold them, told apart without importing them.

NumPy arrays (N, T, F), lists of (T_i, F) arrays or frames, frames with one row per sequence and a
series in every cell, frames with an index of (sequence, time), and long frames. aeon and sktime put
channels before time; `channels_first` says so.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid.data.corpus import Array
from unbraid.shapes import ShapeError


@dataclass(frozen=True, slots=True)
class Panel:
    """Sequences, and what to call them.

    Attributes:
        x: (N, T, *F), or a list of (T_i, *F).
        ids: what the frame called the sequences; None if they have no names.
        flat: whether they came as a table with one row per sequence and one column per step.
    """

    x: Array | list[Array]
    ids: list[Any] | None = None
    flat: bool = False


def is_table(x: Any, sequence: str | None = None) -> bool:
    """Say whether x is a plain table of numbers: a row per sequence, a column per step."""
    if is_frame(x):
        return not (sequence or _has_levels(x) or _is_nested(x))
    if isinstance(x, list | tuple):
        return not _is_list_of_sequences(x)
    return not _is_list_of_sequences(x) if _is_row_of_objects(x) else len(_shape(x)) < 3


def as_panel(
    x: Any, *, channels_first: bool = False, sequence: str | None = None, time: str | None = None
) -> Panel:
    """Return sequences that are no plain table.

    Args:
        x: see the module.
        channels_first: arrays are (N, F, T) and lists hold (F, T_i).
        sequence: column of a long frame that tells sequences apart.
        time: column of a long frame to order rows by; without one they are in order.
    """
    if is_frame(x):
        return _from_frame(x, sequence, time)
    if isinstance(x, list | tuple) or _is_row_of_objects(x):
        parts = [_part(one, channels_first) for one in x]
        return Panel(_stacked(parts))
    values = np.asarray(x)
    return Panel(np.moveaxis(values, 1, -1) if channels_first else values)


def _shape(x: Any) -> tuple[int, ...]:
    return x.shape if hasattr(x, "shape") else np.asarray(x).shape


def _is_row_of_objects(x: Any) -> bool:
    """Say whether x is an array of N objects, each a sequence."""
    return str(getattr(x, "dtype", "")) == "object" and len(_shape(x)) == 1


def is_frame(x: Any) -> bool:
    """Say whether x is a data frame of pandas or polars."""
    return hasattr(x, "columns") and hasattr(x, "dtypes")


def frame_index(x: Any) -> list[Any] | None:
    """Return what a frame of pandas calls its rows."""
    return list(x.index) if is_frame(x) and hasattr(x, "index") else None


def _has_levels(frame: Any) -> bool:
    return getattr(getattr(frame, "index", None), "nlevels", 1) == 2


def _is_nested(frame: Any) -> bool:
    """Say whether the cells of a frame hold sequences; the first row tells."""
    if not len(frame):
        return False
    first = frame.iloc[0] if hasattr(frame, "iloc") else frame.row(0)
    return any(hasattr(cell, "__len__") and not isinstance(cell, str | bytes) for cell in first)


def _is_list_of_sequences(x: Any) -> bool:
    """Say whether a list holds arrays of two axes and more, or rows of unequal length."""
    if not len(x) or not all(hasattr(one, "__len__") and not isinstance(one, str) for one in x):
        return False
    deep = any(is_frame(one) or np.ndim(one[:1]) > 1 for one in x)
    return deep or len({len(one) for one in x}) > 1


def _part(one: Any, channels_first: bool) -> Array:
    """Return one sequence of a list as (T, *F)."""
    if is_frame(one):
        return one.to_numpy()
    values = np.asarray(one)
    if values.ndim == 1:
        return values[:, None]
    return values.T if channels_first and values.ndim == 2 else values


def _stacked(parts: list[Array]) -> Array | list[Array]:
    """Return sequences of one shape as one array."""
    return np.stack(parts) if len({part.shape for part in parts}) == 1 else parts


def _from_frame(frame: Any, sequence: str | None, time: str | None) -> Panel:
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    if sequence is None and _is_nested(frame):
        rows = [_row(list(cells)) for cells in frame.itertuples(index=False)]
        return Panel(_stacked(rows), list(frame.index))
    if sequence is None:
        grouped = frame.groupby(level=0, sort=False)
        return _grouped(grouped, [])
    missing = [name for name in (sequence, time) if name and name not in frame.columns]
    if missing:
        known = ", ".join(map(str, frame.columns))
        raise ValueError(f"there is no column '{missing[0]}'. Columns: {known}.")
    frame = frame.sort_values(time, kind="stable") if time else frame
    return _grouped(frame.groupby(sequence, sort=False), [sequence, *([time] if time else [])])


def _row(cells: list[Any]) -> Array:
    """Return a row of series, one per channel, as (T, F)."""
    parts = [np.asarray(cell) for cell in cells]
    if len({part.shape for part in parts}) > 1:
        lengths = ", ".join(str(len(part)) for part in parts[:6])
        raise ShapeError(f"the channels of a sequence must be equally long, got {lengths}.")
    return np.stack(parts, -1)


def _grouped(groups: Any, dropped: list[str]) -> Panel:
    """Return the groups of a frame as sequences; every other column is a channel."""
    names, parts = [], []
    for name, rows in groups:
        names.append(name)
        parts.append(rows.drop(columns=dropped).to_numpy())
    return Panel(_stacked(parts), names)
