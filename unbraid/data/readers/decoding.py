"""Video files are decoded from their beginning to their end; few of their frames are in memory.

Containers may be wrong about the number of their frames and have frames of unequal duration, so
what counts is what the decoder returns, and when it says that a frame is shown.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from PIL import Image

from unbraid.data.readers.pictures import Look, Pixels, Steps, even_steps

USUAL_RATE = 25.0  # frames per second of a file that does not tell
_EPSILON = 1e-6  # seconds; times are rounded to the ticks of the container

Source = Path | bytes
"""A video file, or its contents."""
Shown = tuple[Any, float, float]  # a decoded frame, from when, until when, in seconds


def need_decoder() -> ModuleType:
    """Return PyAV, or say how to install it."""
    try:
        return import_module("av")
    except ImportError:
        raise ValueError(
            'reading video files needs PyAV: pip install "unbraid[video]". Folders of numbered '
            "pictures can be read without."
        ) from None


def spread_frames(source: Source, count: int, look: Look) -> tuple[list[Pixels], float]:
    """Return `count` frames spread evenly over a video, or all if it has fewer, and their rate.

    Raises:
        ValueError: it cannot be decoded.
    """
    total = count_packets(source)
    frames, count_decoded, seconds = _pick(source, even_steps(total, count), look)
    if count_decoded != total:  # now it has been counted
        frames, count_decoded, seconds = _pick(source, even_steps(count_decoded, count), look)
    return frames, len(frames) / seconds if seconds > 0 else USUAL_RATE


def _pick(source: Source, steps: Steps, look: Look) -> tuple[list[Pixels], int, float]:
    """Return the frames of these numbers, how many there are altogether, and for how long."""
    wanted, frames, index, seconds = set(steps.tolist()), [], 0, 0.0
    draw = _Painter(look)
    for frame, since, until in _decode(source):
        if index in wanted:
            frames.append(draw(frame))
        index += 1
        seconds += until - since
    return frames, index, seconds


def timed_frames(source: Source, rate: float, look: Look) -> Iterator[Pixels]:
    """Yield the frame that is shown every 1 / `rate` seconds, or with rate 0 every frame.

    Raises:
        ValueError: it cannot be decoded to its end.
    """
    draw = _Painter(look)
    start, step = None, 0
    for frame, since, until in _decode(source):
        if not rate:
            yield draw(frame)
            continue
        start = since if start is None else start
        while start + step / rate < until - _EPSILON:
            yield draw(frame)
            step += 1


def count_packets(source: Source) -> int:
    """Return how many frames there seem to be, without decoding them."""
    with _opened(source) as (container, stream):
        return sum(packet.size > 0 for packet in container.demux(stream))


def frame_rate(source: Source) -> float:
    """Return the frames per second that the container tells."""
    with _opened(source) as (_, stream):
        return float(stream.average_rate or USUAL_RATE)


@contextmanager
def _opened(source: Source) -> Iterator[tuple[Any, Any]]:
    """Open a video; whatever fails inside is said in one sentence."""
    av = need_decoder()
    try:
        with av.open(io.BytesIO(source) if isinstance(source, bytes) else str(source)) as container:
            if not container.streams.video:
                raise ValueError("it has no pictures")
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            yield container, stream
    except (av.error.FFmpegError, OSError) as error:
        message = getattr(error, "strerror", "") or str(error)
        raise ValueError(f"it cannot be decoded as video: {message}") from None


def _decode(source: Source) -> Iterator[Shown]:
    """Yield every frame and the time for which it is shown."""
    with _opened(source) as (container, stream):
        length = 1 / float(stream.average_rate or USUAL_RATE)
        last, since = None, 0.0
        for frame in container.decode(stream):
            now = since + length if last is not None else 0.0
            now = now if frame.time is None else frame.time
            if last is not None:
                now = max(now, since)  # clocks that run backwards stand still
                yield last, since, now
                length = now - since or length
            last, since = frame, now
        if last is not None:
            yield last, since, since + length


class _Painter:
    """Scales decoded frames, keeping the tables for that from one to the next."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.scale = import_module("av.video.reformatter").VideoReformatter().reformat

    def __call__(self, frame: Any) -> Pixels:
        """Return a decoded frame, upright, as (C, size, size)."""
        turns = round(frame.rotation / 90)
        if any(part.is_alpha for part in frame.format.components) or frame.format.has_palette:
            image = Image.fromarray(frame.to_ndarray(format="rgba"))
            return _turn(self.look.frame(image), turns)
        width, height = self.look.scaled(frame.width, frame.height)
        small = self.scale(
            frame, width=width, height=height, format="rgb24", interpolation="BILINEAR", threads=1
        )
        return _turn(self.look.finish(Image.fromarray(small.to_ndarray())), turns)


def _turn(pixels: Pixels, turns: int) -> Pixels:
    """Return a frame (C, H, W) turned counterclockwise by a quarter, some times."""
    return np.ascontiguousarray(np.rot90(pixels, turns, axes=(1, 2))) if turns % 4 else pixels
