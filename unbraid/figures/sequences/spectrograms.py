"""Spectrograms under each other, on one scale of colours."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.figures.style import MUTED, add_colour_bar, draw_spectrogram, panels, style_axes
from unbraid.shapes import check_axes

if TYPE_CHECKING:
    import matplotlib.figure


def spectrogram_grid(
    rows: Sequence[tuple[str, NDArray[Any]]], *, step: float = 0.01, columns: int = 1
) -> "matplotlib.figure.Figure":
    """Draw features over time, one panel per row, low bands below.

    All panels share the colours (from the least to the greatest value of all) and the length of
    the time axis, so that they can be compared by eye.

    Args:
        rows: (label, features) with features (T, F).
        step: seconds from one step to the next.
        columns: panels in a row.
    """
    for _, x in rows:
        check_axes("x", x.shape, "T F")
    width = 7.5 if columns == 1 else 8.5 / columns
    figure, axes = panels(len(rows), columns, width=width, height=1.5)
    low = min(float(np.nanmin(x)) for _, x in rows)
    high = max(float(np.nanmax(x)) for _, x in rows)
    longest = max(len(x) for _, x in rows)
    for axis, (label, x) in zip(axes, rows, strict=True):
        image = draw_spectrogram(axis, x, step=step, limits=(low, high))
        axis.set_xlim(0.0, longest * step)
        style_axes(axis, label)
    for i, axis in enumerate(axes):
        below = i + columns >= len(axes)  # no panel under this one
        axis.tick_params(labelbottom=below)
        axis.set_xlabel("seconds" if below else "")
    figure.supylabel("band", fontsize=8, color=MUTED)
    add_colour_bar(figure, image, axes)
    return figure
