"""Every s with every d: sources at the upper and left edge, what they give together inside."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.figures.sequences.frames import GAP, PAPER, Pixels, frame_grid, gif_bytes
from unbraid.figures.style import (
    DATA,
    INK,
    LINE,
    MODEL,
    MUTED,
    add_colour_bar,
    draw_spectrogram,
    panels,
)
from unbraid.shapes import ShapeError, check_axes

if TYPE_CHECKING:
    import matplotlib.figure

Array = NDArray[Any]
APART = 5 * GAP  # white between the sources and what was decoded


def cross_grid(
    decoded: Array, statics: Array, dynamics: Array, *, frame: int | None = None, zoom: int = 2
) -> Pixels:
    """Return a picture (H, W, 3): first row who gives d, first column who gives s.

    Args:
        decoded: (N, M, T, C, H, W) in [0, 1], from `cross`.
        statics: (N, T, C, H, W) sources of the rows.
        dynamics: (M, T, C, H, W) sources of the columns.
        frame: which step is shown; the middle one if None.
        zoom: every pixel of a frame becomes a square of this side.
    """
    sheet = _video_sheet(decoded, statics, dynamics)
    T = sheet.shape[2]
    frames = sheet[:, :, T // 2 if frame is None else frame]  # (N + 1, M + 1, C, H, W)
    names = ["d from", *(f"s from {i + 1}" for i in range(len(statics)))]
    picture = frame_grid(list(zip(names, frames, strict=True)), zoom=zoom)
    top = zoom * frames.shape[3] + GAP
    left = picture.shape[1] - len(dynamics) * (zoom * frames.shape[4] + GAP) + GAP
    picture = np.insert(picture, [top] * APART, PAPER, axis=0)
    return np.insert(picture, [left] * APART, PAPER, axis=1)


def cross_gif(decoded: Array, statics: Array, dynamics: Array, *, rate: float) -> bytes:
    """Return the grid as a GIF file in which all sequences play, `rate` frames per second."""
    sheet = _video_sheet(decoded, statics, dynamics)
    return gif_bytes(sheet.reshape(-1, *sheet.shape[2:]), rate=rate, columns=sheet.shape[1])


def cross_spectrograms(
    decoded: Array, statics: Array, dynamics: Array, *, step: float = 0.01
) -> "matplotlib.figure.Figure":
    """Draw the grid of audio features, as Fig. 13 of C-DSVAE, low bands below, on one scale.

    Args:
        decoded: (N, M, T, F), from `cross`.
        statics: (N, T, F) sources of the rows.
        dynamics: (M, T, F) sources of the columns.
        step: seconds from one step to the next.
    """
    check_axes("decoded", decoded.shape, "N M T F")
    sheet = _sheet(decoded, statics, dynamics, np.nan)
    lines, columns, T, F = sheet.shape
    figure, axes = panels(lines * columns, columns, width=max(1.3, 9 / columns), height=1.25)
    limits = float(np.nanmin(sheet)), float(np.nanmax(sheet))
    for i, (axis, x) in enumerate(zip(axes, sheet.reshape(-1, T, F), strict=True)):
        line, column = divmod(i, columns)
        if not i:
            axis.set_axis_off()
            continue
        image = draw_spectrogram(axis, x, step=step, limits=limits)
        _edge(axis, (line, column), last=lines - 1)
    add_colour_bar(figure, image, axes)
    return figure


def _edge(axis: Any, place: tuple[int, int], *, last: int) -> None:
    """Name a source, frame it in its colour, and write seconds at the lower left corner only."""
    line, column = place
    colour = MODEL if not line else DATA if not column else LINE
    for spine in axis.spines.values():
        spine.set(color=colour, linewidth=0.6 if line and column else 2.0)
    if not line:
        axis.set_title(f"d from {column}", fontsize=9, color=INK)
    if not column:
        axis.set_ylabel(f"s from {line}", fontsize=9, color=INK)
    axis.set_yticks([])
    below = line == last and not column
    axis.tick_params(
        colors=MUTED, labelsize=8, length=3 if below else 0, width=0.6, labelbottom=below
    )
    axis.locator_params(axis="x", nbins=3)
    if below:
        axis.set_xlabel("seconds", fontsize=8, color=MUTED)


def _video_sheet(decoded: Array, statics: Array, dynamics: Array) -> Array:
    check_axes("decoded", decoded.shape, "N M T C H W")
    return _sheet(decoded, statics, dynamics, 1.0)


def _sheet(decoded: Array, statics: Array, dynamics: Array, blank: float) -> Array:
    """Return (N + 1, M + 1, T, *F) with the sources in the first row and column."""
    N, M = decoded.shape[:2]
    for name, x, count in (("statics", statics, N), ("dynamics", dynamics, M)):
        if x.shape != (count, *decoded.shape[2:]):
            wanted = (count, *decoded.shape[2:])
            raise ShapeError(f"{name} must have shape {wanted} to fit decoded, got {x.shape}.")
    sheet = np.full((N + 1, M + 1, *decoded.shape[2:]), blank, dtype=np.float32)
    sheet[1:, 1:], sheet[1:, 0], sheet[0, 1:] = decoded, statics, dynamics
    return sheet
