"""A multivariate series and what a model makes of it, channel by channel."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.figures.style import DATA, LINE, MODEL, panels, style_axes
from unbraid.shapes import ShapeError, check_axes

if TYPE_CHECKING:
    import matplotlib.figure

MOST_WINDOWS = 40  # more boundaries than this would hide the curves


def series_plot(
    x: NDArray[Any],
    x_hat: NDArray[Any] | None = None,
    *,
    observed: NDArray[np.bool_] | None = None,
    channels: Sequence[str] = (),
    shown: Sequence[int] | None = None,
) -> "matplotlib.figure.Figure":
    """Draw the observed values as dots and the reconstruction as a line, one panel per channel.

    Windows are joined along time; light lines show where one ends. What is not observed is left
    out of the data, not of the reconstruction.

    Args:
        x: (T, W, F) raw values, cut to the length of the sequence.
        x_hat: the same, as decoded.
        observed: (T, W, F) True where `x` is known; None if it is everywhere.
        channels: F names; numbers if there are none.
        shown: which channels to draw, the first 8 if None.
    """
    check_axes("x", x.shape, "T W F")
    for name, other in (("x_hat", x_hat), ("observed", observed)):
        if other is not None and other.shape != x.shape:
            raise ShapeError(f"{name} must have the shape of x, {x.shape}, got {other.shape}.")
    T, W, F = x.shape
    known = np.where(True if observed is None else observed, x, np.nan).reshape(-1, F)
    chosen = list(range(min(F, 8)) if shown is None else shown)
    columns = 1 if len(chosen) <= 3 else 2
    figure, axes = panels(len(chosen), columns, width=9.2 / columns, height=1.5)
    for axis, channel in zip(axes, chosen, strict=True):
        if 1 < T <= MOST_WINDOWS and W > 1:
            for edge in range(W, T * W, W):
                axis.axvline(edge - 0.5, color=LINE, linewidth=0.6, zorder=0)
        _draw(axis, known[:, channel], None if x_hat is None else x_hat[..., channel].ravel())
        axis.set_xlim(-0.5, T * W - 0.5)
        style_axes(axis, channels[channel] if channels else f"channel {channel}")
    for axis in axes[-columns:]:
        axis.set_xlabel("row")
    if x_hat is not None:
        figure.legend(
            *axes[0].get_legend_handles_labels(),
            loc="outside upper right",
            ncols=2,
            frameon=False,
            fontsize=8,
        )
    return figure


def _draw(axis: Any, known: NDArray[Any], decoded: NDArray[Any] | None) -> None:
    """Draw one channel: data first, the model over it."""
    rows = np.arange(len(known))
    axis.plot(
        rows, known, color=DATA, marker="o", markersize=2.2, linewidth=0.5, alpha=0.85, label="data"
    )
    if decoded is not None:
        axis.plot(rows, decoded, color=MODEL, linewidth=1.3, label="reconstruction")
