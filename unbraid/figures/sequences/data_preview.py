"""Sequences as they enter: frames, spectrograms or channels beside their labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from unbraid.figures.sequences.frames import GAP, PAPER, Pixels, frame_grid
from unbraid.figures.sequences.spectrograms import spectrogram_grid
from unbraid.figures.style import DATA, FAINT, INK, LINE, MUTED, panels, style_axes
from unbraid.shapes import check_axes

if TYPE_CHECKING:
    import matplotlib.figure

MOST_FRAMES, MOST_LANES, MOST_LETTERS = 16, 10, 64
SPREAD = 2.5  # standard deviations to either side that a lane shows
FONT = 13
LETTER = 0.013  # of the width of a panel


@dataclass(frozen=True, slots=True)
class Shown:
    """A sequence to be drawn.

    Attributes:
        lines: what is known of it, e.g. "speaker: 12".
        x: (T, *F) values, NaN where an element is not observed.
        spans: (first step, name) wherever a label per step changes.
    """

    lines: tuple[str, ...]
    x: NDArray[Any]
    spans: tuple[tuple[int, str], ...] = ()

    @property
    def title(self) -> str:
        """What is known, in one line, as far as there is room."""
        text = " · ".join(self.lines)
        return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 3]}..."


def frame_sheet(rows: Sequence[Shown], *, zoom: int = 2) -> Pixels:
    """Return one picture (H, W, 3): a row of frames per sequence, what is known of it at the left.

    Of long sequences 16 frames are shown, evenly spread.

    Args:
        rows: sequences (T, C, H, W) in [0, 1]; other than 1 or 3 channels are averaged.
        zoom: every pixel of a frame becomes a square of this side.
    """
    strips = [("", _drawable(row.x)) for row in rows]
    grid = frame_grid(strips, zoom=zoom)
    return np.hstack([_notes([row.lines for row in rows], grid.shape[0]), grid])


def _drawable(x: NDArray[Any]) -> NDArray[Any]:
    check_axes("x", x.shape, "T C H W")
    if len(x) > MOST_FRAMES:
        x = x[np.linspace(0, len(x) - 1, MOST_FRAMES).round().astype(int)]
    return x if x.shape[1] in (1, 3) else x.mean(1, keepdims=True)


def _notes(notes: Sequence[Sequence[str]], height: int) -> Pixels:
    """Draw the lines of every row at its upper left; those that do not fit are left out."""
    font = ImageFont.load_default(size=FONT)
    cell, line = (height + GAP) // len(notes), FONT + 4
    width = int(max((font.getlength(text) for lines in notes for text in lines), default=0))
    column = Image.new("RGB", (width + 14 if width else 0, height), (PAPER,) * 3)
    pen = ImageDraw.Draw(column)
    for i, lines in enumerate(notes):
        for k, text in enumerate(lines[: max(1, cell // line)]):
            pen.text((2, i * cell + k * line), text, fill=(34, 38, 43), font=font)
    return np.array(column).reshape(height, -1, 3)


def spectrogram_sheet(rows: Sequence[Shown], *, step: float) -> "matplotlib.figure.Figure":
    """Draw features over time, two panels in a row, with the labels of steps over them.

    Args:
        rows: sequences (T, F).
        step: seconds from one step to the next.
    """
    columns = min(2, len(rows))
    figure = spectrogram_grid([(row.title, row.x) for row in rows], step=step, columns=columns)
    for axis, row in zip(figure.axes, rows, strict=False):
        _mark(axis, row, step, colour="white")
    return figure


def lane_sheet(
    rows: Sequence[Shown], *, channels: Sequence[str] = ()
) -> "matplotlib.figure.Figure":
    """Draw series as a model sees them: a panel each, a lane per channel, grey where unobserved.

    Args:
        rows: sequences (T, W, F), standardised; windows are joined along time.
        channels: F names; numbers if there are none.
    """
    for row in rows:
        check_axes("x", row.x.shape, "T W F")
    width = rows[0].x.shape[2]
    lanes = min(width, MOST_LANES)
    names = [channels[k] if channels else f"channel {k}" for k in range(lanes)]
    columns = min(2, len(rows))
    figure, axes = panels(len(rows), columns, width=10 / columns, height=0.7 + 0.34 * lanes)
    for i, (axis, row) in enumerate(zip(axes, rows, strict=True)):
        style_axes(axis, row.title)
        _lanes(axis, row.x.reshape(-1, width)[:, :lanes].T)
        _mark(axis, row, float(row.x.shape[1]), colour=LINE, shift=-0.5)
        axis.set_yticks(range(lanes), names if i % columns == 0 else [""] * lanes)
    more = f" The first {lanes} of {width} channels." if lanes < width else ""
    figure.supxlabel(
        f"row; a lane is ±{SPREAD:g} standard deviations of training; grey: not observed.{more}",
        fontsize=8,
        color=MUTED,
    )
    return figure


def _lanes(axis: Any, lanes: NDArray[Any]) -> None:
    """Draw values (F, rows) above each other, the first channel at the top."""
    rows = np.arange(lanes.shape[1])
    dot = 2.0 if len(rows) < 150 else 0.8  # a single value between gaps must show
    edges = np.repeat(np.arange(len(rows) + 1) - 0.5, 2)[1:-1]
    for k, values in enumerate(lanes):
        axis.axhline(k, color=LINE, linewidth=0.5, zorder=0)
        gaps = np.repeat(np.isnan(values), 2)
        axis.fill_between(
            edges, k - 0.42, k + 0.42, where=gaps, color=FAINT, alpha=0.6, linewidth=0, zorder=0
        )
        height = k - 0.42 * values.clip(-SPREAD, SPREAD) / SPREAD
        axis.plot(rows, height, color=DATA, linewidth=0.9, marker=".", markersize=dot)
    axis.set_ylim(len(lanes) - 0.5, -0.9)
    axis.set_xlim(-0.5, len(rows) - 0.5)
    axis.tick_params(axis="y", length=0)


def _mark(axis: Any, row: Shown, step: float, *, colour: str, shift: float = 0.0) -> None:
    """Name the label of every stretch of steps at its start, as far as the name has room."""
    ink = colour if colour == "white" else INK
    ends = [first for first, _ in row.spans[1:]] + [len(row.x)]
    for (first, name), end in zip(row.spans, ends, strict=False):
        place = first * step + shift
        if first:
            axis.axvline(place, color=colour, linewidth=0.7)
        if LETTER * len(name) <= (end - first) / len(row.x):
            axis.text(
                place,
                1.0,
                f" {name}",
                transform=axis.get_xaxis_transform(),
                fontsize=7,
                color=ink,
                va="top",
            )
