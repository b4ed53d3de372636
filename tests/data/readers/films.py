"""Small videos for tests, whose frames tell their number."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np


def write_video(
    path: Path,
    frames: np.ndarray,
    *,
    rate: int = 25,
    codec: str = "ffv1",
    pixels: str = "bgr0",
    times: Sequence[int] | None = None,
) -> Path:
    """Write frames (T, H, W, 3); without loss by default. `times` in milliseconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = pixels
        if times is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        for number, frame in enumerate(frames):
            picture = av.VideoFrame.from_ndarray(frame, format="rgb24")
            if times is not None:
                picture.pts, picture.time_base = times[number], Fraction(1, 1000)
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
    return path


def numbered(count: int, height: int = 32, width: int = 32, *, factor: int = 4) -> np.ndarray:
    """Frames of one grey each: frame t is `factor` t."""
    values = np.arange(count, dtype=np.uint8) * factor
    return np.broadcast_to(values[:, None, None, None], (count, height, width, 3)).copy()


def shown(x: np.ndarray, *, factor: int = 4) -> list[int]:
    """Return which frames of `numbered` a sequence shows."""
    assert (x == x[:, :1, :1, :1]).all()
    return (x[:, 0, 0, 0] / factor).round().astype(int).tolist()
