"""Sound files are read piece by piece, as one channel of one rate."""

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Wave = NDArray[np.float32]
PIECE = 60.0  # seconds of a recording that are looked at together
MARGIN = 0.2  # seconds on either side of a piece, for its windows and the resampler
LONGEST = 2**40  # samples; a header that says more does not know
ZEROS, CUTOFF, BETA = 32, 0.94, 9.0  # resampler: zero crossings, pass band, Kaiser window (-90 dB)


@dataclass(frozen=True, slots=True)
class Recording:
    """A sound file: its name, and where it is or, out of an archive, its bytes."""

    name: str
    sound: Path | bytes

    def length(self) -> tuple[int, int]:
        """Return the number of samples and their rate, as the header has them.

        Raises:
            ValueError: it is no sound, or of unknown length.
        """
        try:
            with self._open() as file:
                frames, rate = file.frames, file.samplerate
        except (RuntimeError, OSError) as error:
            raise ValueError(_reason(error)) from None
        if not 0 <= frames < LONGEST:
            raise ValueError("its header does not say how long it is")
        return frames, rate

    def pieces(self, rate: int, unit: int) -> Iterator["AudioPiece"]:
        """Yield the recording in overlapping pieces.

        A piece begins and ends with a margin that its neighbours have too, so that features are the
        same as if all had been read at once. The mean of a piece is taken off.

        Args:
            rate: samples per second that are wanted.
            unit: pieces begin at multiples of as many samples (of that rate).

        Raises:
            ValueError: it cannot be read to its end.
        """
        try:
            with self._open() as file:
                yield from _read(file, rate, unit)
        except (RuntimeError, OSError) as error:
            raise ValueError(_reason(error)) from None

    def _open(self) -> Any:
        source = io.BytesIO(self.sound) if isinstance(self.sound, bytes) else self.sound
        return import_module("soundfile").SoundFile(source)


@dataclass(frozen=True, slots=True)
class AudioPiece:
    """A stretch of a recording.

    Attributes:
        wave: (samples,) with margins.
        first: number of units, from the start of `wave`, that the piece before has had.
        last: number of units, from the start of `wave`, up to which this piece counts; None: all.
    """

    wave: Wave
    first: int
    last: int | None


def _read(file: Any, rate: int, unit: int) -> Iterator[AudioPiece]:
    up, down = ratio(file.samplerate, rate)
    common = up // math.gcd(up, unit)  # as many units begin at a sample of the file
    seconds = common * unit / rate
    margin, piece = (common * math.ceil(wanted / seconds) for wanted in (MARGIN, PIECE))
    size, overlap = (n * unit // up * down for n in (piece + 2 * margin, 2 * margin))
    wave = np.zeros(0, np.float32)
    first, left = 0, file.frames
    while left > 0:
        wave = wave[-overlap:]
        fresh = file.read(size - len(wave), dtype="float32", always_2d=True).mean(1)
        left -= len(fresh)
        wave = np.concatenate([wave, fresh])
        if left > 0 and len(wave) < size:
            raise ValueError("it breaks off before the length that its header says")
        if not np.isfinite(wave).all():
            raise ValueError("it holds values that are no numbers")
        last = piece + margin if left > 0 else None
        yield AudioPiece(resample(wave - wave.mean(), file.samplerate, rate), first, last)
        first = margin


def _reason(error: Exception) -> str:
    """Return what the library says, without its words on where."""
    message = str(getattr(error, "error_string", "") or error)
    return f"it cannot be read as sound: {message.removeprefix('Error : ').rstrip('.')}"


def resample(wave: Wave, source: int, target: int) -> Wave:
    """Return ceil(samples · target / source) samples: a windowed sinc, in polyphase form."""
    up, down = ratio(source, target)
    if up == down:
        return wave
    from scipy.signal import resample_poly

    return resample_poly(wave, up, down, window=_lowpass(max(up, down))).astype(np.float32)


@lru_cache(maxsize=8)
def _lowpass(factor: int) -> NDArray[np.float32]:
    from scipy.signal import firwin

    taps = firwin(2 * ZEROS * factor + 1, CUTOFF / factor, window=("kaiser", BETA))
    return taps.astype(np.float32)


def ratio(source: int, target: int) -> tuple[int, int]:
    """Return the two rates as the smallest whole numbers: (up, down).

    >>> ratio(44100, 16000)
    (160, 441)
    """
    common = math.gcd(source, target)
    return target // common, source // common
