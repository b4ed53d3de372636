"""Sequences as bytes that a browser shows, plays or saves."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from unbraid.records import Spec
from unbraid.studio.media import audio, series, video

Writer = Callable[[Spec, NDArray[np.float32]], bytes]
TYPES = {
    "png": "image/png",
    "webp": "image/webp",
    "gif": "image/gif",
    "mp4": "video/mp4",
    "wav": "audio/wav",
    "flac": "audio/flac",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
}
WRITERS: dict[str, Mapping[str, Writer]] = {
    "video": {"png": video.png, "webp": video.webp, "gif": video.gif, "mp4": video.mp4},
    "audio": {"png": audio.png, "webp": audio.webp, "wav": audio.wav, "flac": audio.flac},
    "series": {"json": series.json, "csv": series.csv},
}


def as_file(spec: Spec, x: NDArray[np.float32], form: str) -> tuple[bytes, str]:
    """Return a sequence as a file of a form, and its media type.

    Args:
        spec: what the sequence is.
        x: (T, *F) as a model sees it; NaN where an element is not observed.
        form: what the file's name ends with.
    """
    writers = WRITERS[spec.kind]
    if form not in writers:
        raise KeyError(f"{spec.kind} can be had as {', '.join(writers)}, not as {form[:20]!r}.")
    return writers[form](spec, x), TYPES[form]
