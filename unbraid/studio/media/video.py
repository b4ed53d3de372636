"""Video: film strips for the page, GIF and MP4 to keep."""

import io
from fractions import Fraction
from importlib import import_module

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unbraid.figures.sequences.frames import gif_bytes, to_pixels
from unbraid.records import Spec

COLUMNS = 16  # frames in a row of a strip; the page knows this number, too
SMALLEST = 256  # pixels of a side of an MP4, at least: players blur small ones

Values = NDArray[np.float32]


def strip(x: Values) -> Image.Image:
    """Return the frames in reading order, at most `COLUMNS` in a row."""
    frames = to_pixels(x)  # (T, H, W, 3)
    T, H, W, _ = frames.shape
    columns = min(T, COLUMNS)
    lines = -(-T // columns)
    padded = np.zeros((lines * columns, H, W, 3), np.uint8)
    padded[:T] = frames
    rows = padded.reshape(lines, columns, H, W, 3).transpose(0, 2, 1, 3, 4)
    return Image.fromarray(rows.reshape(lines * H, columns * W, 3))


def png(spec: Spec, x: Values) -> bytes:
    """Return a film strip, quickly."""
    return _saved(strip(x), format="PNG", compress_level=1)


def webp(spec: Spec, x: Values) -> bytes:
    """Return a film strip, small."""
    return _saved(strip(x), format="WEBP", quality=82, method=4)


def _saved(image: Image.Image, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, **options)  # type: ignore[arg-type]
    return buffer.getvalue()


def gif(spec: Spec, x: Values) -> bytes:
    """Return an animation that plays for ever."""
    return gif_bytes(x[None].clip(0, 1), rate=spec.rate)


def mp4(spec: Spec, x: Values) -> bytes:
    """Return an H.264 film that plays three times: a single turn is over before it is seen."""
    try:
        av = import_module("av")
    except ImportError:
        raise ValueError(
            'MP4 files need PyAV: pip install "unbraid[video]". Take the GIF.'
        ) from None
    frames = to_pixels(x)
    zoom = max(1, -(-SMALLEST // min(frames.shape[1:3])))
    zoom += zoom % 2  # H.264 wants even sides
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as file:
        rate = Fraction(spec.rate).limit_denominator(1000)
        stream = file.add_stream("libx264", rate=rate)
        stream.height, stream.width = frames.shape[1] * zoom, frames.shape[2] * zoom
        stream.pix_fmt, stream.options = "yuv420p", {"crf": "18"}
        for frame in [*frames] * 3:
            large = np.ascontiguousarray(frame.repeat(zoom, 0).repeat(zoom, 1))
            file.mux(stream.encode(av.VideoFrame.from_ndarray(large, format="rgb24")))
        file.mux(stream.encode())
    return buffer.getvalue()
