"""Video sequences as pictures: a grid of frames, or an animation of several sequences."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from unbraid.figures.save import save_numbers
from unbraid.files import write_whole
from unbraid.shapes import ShapeError, check_axes

Pixels = NDArray[np.uint8]
GAP = 2
PAPER = 255


def frame_grid(rows: Sequence[tuple[str, NDArray[Any]]], *, zoom: int = 2) -> Pixels:
    """Return one picture (H, W, 3) with a row of frames per sequence and its label at the left.

    Args:
        rows: (label, sequence) with sequences (T, C, H, W) in [0, 1], C = 1 or 3. Lengths may
            differ, frame sizes may not. Without any label there is no label column.
        zoom: every pixel of a frame becomes a square of this side.
    """
    if not rows:
        raise ValueError("there is nothing to draw: give one row at least.")
    strips = [_zoomed(to_pixels(x), zoom) for _, x in rows]
    sizes = {strip.shape[1:3] for strip in strips}
    if len(sizes) > 1:
        raise ShapeError(f"all frames must have one size, got {sorted(sizes)} (zoomed).")
    longest = max(len(strip) for strip in strips)
    cells = [frame for strip in strips for frame in _padded(strip, longest)]
    grid = _tiled(np.stack(cells), longest)
    labels = [label for label, _ in rows]
    return np.hstack([_label_column(labels, grid.shape[0], strips[0].shape[1]), grid])


def save_picture(path: Path, picture: Pixels, numbers: Mapping[str, Any] | None = None) -> None:
    """Write a picture (H, W, 3) as PNG, and what it shows beside it if `numbers` are given."""
    data = picture_bytes(picture)
    write_whole(path, lambda aside: aside.write_bytes(data))
    if numbers is not None:
        save_numbers(path, numbers)


def picture_bytes(picture: Pixels) -> bytes:
    """Return a picture (H, W, 3) as a PNG file, for embedding."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def save_gif(
    path: Path,
    x: NDArray[Any],
    *,
    rate: float,
    columns: int = 0,
    numbers: Mapping[str, Any] | None = None,
) -> None:
    """Write sequences as an animated GIF, see `gif_bytes`, and `numbers` beside it if given."""
    data = gif_bytes(x, rate=rate, columns=columns)
    write_whole(path, lambda aside: aside.write_bytes(data))
    if numbers is not None:
        save_numbers(path, numbers)


def gif_bytes(x: NDArray[Any], *, rate: float, columns: int = 0) -> bytes:
    """Return a GIF file that plays sequences side by side for ever.

    All frames share one palette of 256 colours, so that nothing flickers. Time is kept in
    hundredths of a second, 2 at least: browsers slow down anything faster. A frame equal to the
    one before is stored as a longer show of that one.

    Args:
        x: (N, T, C, H, W) in [0, 1]; frames of 64 pixels or less are shown twice as large.
        rate: frames per second.
        columns: sequences in a row; 0 puts all in one.
    """
    frames = _sheets(x, columns)
    palette = Image.fromarray(np.vstack(list(frames))).quantize(256)
    pictures = [
        Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE)
        for frame in frames
    ]
    buffer = io.BytesIO()
    pictures[0].save(
        buffer,
        format="GIF",
        save_all=True,
        append_images=pictures[1:],
        duration=max(20, 10 * round(100 / _positive(rate))),
        loop=0,
        disposal=1,
    )
    return buffer.getvalue()


def to_pixels(x: NDArray[Any]) -> Pixels:
    """Return frames (T, C, H, W) in [0, 1] as (T, H, W, 3) bytes; values outside are clipped."""
    check_axes("x", x.shape, "T C H W")
    if x.shape[1] not in (1, 3):
        raise ShapeError(f"frames must have 1 or 3 channels, got shape {x.shape}.")
    if np.issubdtype(x.dtype, np.integer):
        raise ValueError(f"frames must be floats in [0, 1], got {x.dtype}. Divide by 255.")
    bright = np.nan_to_num(x, nan=0.0).clip(0.0, 1.0)
    pixels = np.rint(255.0 * bright).astype(np.uint8).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:3], 3)))


def _sheets(x: NDArray[Any], columns: int) -> Pixels:
    """Return (T, height, width, 3): the frames of all sequences at each step."""
    check_axes("x", x.shape, "N T C H W")
    zoom = 2 if x.shape[3] <= 64 else 1
    strips = np.stack([_zoomed(to_pixels(one), zoom) for one in x], axis=1)  # (T, N, H, W, 3)
    return np.stack([_tiled(frames, columns or len(x)) for frames in strips])


def _tiled(frames: Pixels, columns: int) -> Pixels:
    """Put frames (N, H, W, 3) row by row on paper, with gaps between them."""
    N, H, W, _ = frames.shape
    lines = -(-N // columns)
    shape = (lines * (H + GAP) - GAP, columns * (W + GAP) - GAP, 3)
    sheet = np.full(shape, PAPER, dtype=np.uint8)
    for i, frame in enumerate(frames):
        top, left = (i // columns) * (H + GAP), (i % columns) * (W + GAP)
        sheet[top : top + H, left : left + W] = frame
    return sheet


def _padded(strip: Pixels, length: int) -> Pixels:
    blank = np.full((length - len(strip), *strip.shape[1:]), PAPER, dtype=np.uint8)
    return np.concatenate([strip, blank])


def _zoomed(frames: Pixels, zoom: int) -> Pixels:
    return frames.repeat(zoom, axis=1).repeat(zoom, axis=2)


def _label_column(labels: Sequence[str], height: int, cell: int) -> Pixels:
    """Draw each label at the middle of its row; the column is as wide as the longest asks."""
    if not any(labels):
        return np.zeros((height, 0, 3), dtype=np.uint8)
    font = ImageFont.load_default(size=max(10, min(18, cell // 6)))
    width = int(max(font.getlength(label) for label in labels)) + 14
    column = Image.new("RGB", (width, height), (PAPER,) * 3)
    pen = ImageDraw.Draw(column)
    for i, label in enumerate(labels):
        middle = i * (cell + GAP) + cell / 2
        pen.text((width - 10, middle), label, fill=(34, 38, 43), font=font, anchor="rm")
    return np.array(column)


def _positive(rate: float) -> float:
    if not rate > 0:
        raise ValueError(f"rate must be positive, got {rate}.")
    return rate
