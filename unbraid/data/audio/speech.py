"""Recordings become segments of log-mel features, in a cache that may be larger than memory.

Shared by TIMIT, LibriSpeech and people's own sounds. Recordings pass by twice: first their lengths
are noted, so that the arrays can be made; then each is read, mixed to one channel, resampled to one
rate and cut into segments, which are written in place. Long ones pass by in pieces: memory is that
of one piece, whatever there is.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid.data.audio.mel import MelConfig, log_mel
from unbraid.data.audio.waves import Recording, Wave, ratio
from unbraid.data.cache import NewArray, Prepared
from unbraid.data.corpus import Array, Rows, release
from unbraid.data.published import Progress
from unbraid.settings import at_least
from unbraid.views.audio import shift_voice

SHORTEST = 2048  # samples that a voice can be converted from; less is padded with silence
CHUNK = 1024  # segments moved together

Recordings = Callable[[], Iterator[Recording]]
"""Goes through all recordings; called twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What becomes of a recording."""

    mel: MelConfig = field(default_factory=MelConfig)
    steps: int = 20  # frames of a segment
    conversions: int = 0  # converted voices of each recording
    trim: float = 0.0  # dB below the loudest segment at which ends are cut off; 0: nothing is
    broken: float = 0.1  # share of recordings that may be unreadable

    def __post_init__(self) -> None:
        at_least(self, 0, "conversions", "trim", "broken")

    @property
    def samples(self) -> int:
        """Number of samples from one segment to the next."""
        return self.steps * self.mel.hop

    def segments(self, frames: int, rate: int) -> int:
        """Return the number of segments of a recording of `frames` samples at `rate`."""
        up, down = ratio(rate, self.mel.sample_rate)
        return self.mel.frames(-(-frames * up // down)) // self.steps


@dataclass(frozen=True, slots=True)
class Segments:
    """What a cache of segments holds.

    Attributes:
        x: (N, T, bands).
        alternatives: (N, K, T, bands) in converted voices, or None.
        names: of the recordings.
        owner: (N,) which recording a segment is of.
        skipped: name -> why.
    """

    x: Array
    alternatives: Array | None
    names: tuple[str, ...]
    owner: Rows
    skipped: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _SegmentCounts:
    """How many segments each recording has, and which recordings have none, and why."""

    total: int
    counts: dict[str, int]
    useless: dict[str, str]
    broken: dict[str, str]

    def check(self, share: float) -> None:
        """Stop if too many recordings are broken, or none is of use."""
        if not self.total:
            raise ValueError("there are no recordings.")
        if len(self.broken) > share * self.total:
            raise ValueError(
                f"{len(self.broken)} of {self.total} recordings cannot be read: "
                f"{_some(self.broken)} Repair or remove them, or allow a greater share with the "
                "setting `broken`."
            )
        if not self.counts:
            skipped = self.broken | self.useless
            raise ValueError(f"none of {self.total} recordings can be used: {_some(skipped)}")


def _some(reasons: Mapping[str, str]) -> str:
    examples = " ".join(f"{name}: {why}." for name, why in list(reasons.items())[:3])
    return examples + (" ..." if len(reasons) > 3 else "")


def write_segments(
    recordings: Recordings, new: NewArray, cut: Cut, *, progress: Progress | None = None
) -> dict[str, Any]:
    """Fill the arrays `x` (N, T, bands) and, with conversions, `alternatives` (N, K, T, bands).

    Recordings are sorted by name, wherever they come from, and the segments of one follow each
    other. Those that are too short, silent or broken are left out, which may leave unused rows at
    the end: `open_segments` knows.

    Returns:
        `files`: name -> number of segments; `useless` and `broken`: name -> why. To be kept in the
        cache.

    Raises:
        ValueError: too many recordings cannot be read, or none can be used.
    """
    _need(cut)
    tally = _count(recordings(), cut)
    tally.check(cut.broken)
    ends = np.cumsum(list(tally.counts.values())).tolist()
    rows = {n: slice(e - tally.counts[n], e) for n, e in zip(tally.counts, ends, strict=True)}
    arrays = _new_arrays(new, ends[-1], cut)
    valid = np.zeros(ends[-1], dtype=bool)
    for done, recording in enumerate(recordings(), start=1):
        if recording.name in rows:
            place = rows[recording.name]
            valid[place] = _write(recording, [array[place] for array in arrays], cut, tally)
        if progress is not None:
            progress(min(1.0, done / tally.total))
    counts = {name: int(valid[place].sum()) for name, place in rows.items()}
    files = {name: count for name, count in counts.items() if count}
    _SegmentCounts(tally.total, files, tally.useless, tally.broken).check(cut.broken)
    _close_gaps(arrays, np.flatnonzero(valid))
    return {"files": files, "useless": tally.useless, "broken": tally.broken}


def _new_arrays(new: NewArray, count: int, cut: Cut) -> list[Array]:
    arrays = [new("x", (count, cut.steps, cut.mel.bands), np.float32)]
    if cut.conversions:
        shape = (count, cut.conversions, cut.steps, cut.mel.bands)
        arrays.append(new("alternatives", shape, np.float32))
    return arrays


def open_segments(prepared: Prepared, cut: Cut) -> Segments:
    """Return the segments of a cache.

    Raises:
        ValueError: more recordings were broken than `cut` allows; the cache was made with another.
    """
    files, useless, broken = (prepared.facts[key] for key in ("files", "useless", "broken"))
    _SegmentCounts(len(files) + len(useless) + len(broken), files, useless, broken).check(
        cut.broken
    )
    owner = np.arange(len(files)).repeat(list(files.values()))
    others = prepared.arrays.get("alternatives")
    return Segments(
        prepared.arrays["x"][: len(owner)],
        None if others is None else others[: len(owner)],
        tuple(files),
        owner,
        broken | useless,
    )


def _need(cut: Cut) -> None:
    """Say what is missing before any work is done."""
    for name in ("soundfile", *(["python_stretch"] if cut.conversions else [])):
        try:
            import_module(name)
        except (ImportError, OSError):
            raise ValueError(
                f"reading sounds needs the package {name}: install `unbraid[audio]`"
                f"{'' if name == 'soundfile' else ', or set conversions to 0'}."
            ) from None


def _count(recordings: Iterator[Recording], cut: Cut) -> _SegmentCounts:
    """Return the number of segments of every recording as its header has it, sorted by name."""
    counts: dict[str, int] = {}
    useless: dict[str, str] = {}
    broken: dict[str, str] = {}
    for recording in recordings:
        try:
            frames, rate = recording.length()
        except ValueError as error:
            broken[recording.name] = str(error)
            continue
        count = cut.segments(frames, rate)
        if count:
            counts[recording.name] = count
        else:
            wanted = (cut.steps - 1) * cut.mel.hop / cut.mel.sample_rate
            useless[recording.name] = f"it lasts {frames / rate:.3f} s, a segment {wanted:.3f} s"
    total = len(counts) + len(useless) + len(broken)
    return _SegmentCounts(total, dict(sorted(counts.items())), useless, broken)


def _write(
    recording: Recording, arrays: list[Array], cut: Cut, tally: _SegmentCounts
) -> NDArray[np.bool_]:
    """Fill the rows of a recording and return which of them are to be kept."""
    try:
        levels = _fill(recording, arrays, cut)
    except ValueError as error:
        tally.broken[recording.name] = str(error)
        return np.zeros(len(arrays[0]), dtype=bool)
    if levels.max() <= cut.mel.bands * cut.mel.floor * 1.001:
        tally.useless[recording.name] = "it is silent"
        return np.zeros(len(levels), dtype=bool)
    if not cut.trim:
        return np.ones(len(levels), dtype=bool)
    loud = levels > levels.max() * 10 ** (-cut.trim / 10)
    return np.logical_or.accumulate(loud) & np.logical_or.accumulate(loud[::-1])[::-1]


def _fill(recording: Recording, arrays: list[Array], cut: Cut) -> NDArray[np.float64]:
    """Write the features of a recording and return the power of every segment."""
    shifts = draw_shifts(recording.name, cut.conversions)
    levels = np.zeros(len(arrays[0]))
    done = 0
    for piece in recording.pieces(cut.mel.sample_rate, cut.samples):
        wave = np.pad(piece.wave, (0, max(0, SHORTEST - len(piece.wave))))
        waves = [wave, *(_convert(wave, cut, shift) for shift in shifts)]
        mel = log_mel(torch.from_numpy(np.stack(waves)), cut.mel).numpy()  # (1 + K, T, bands)
        last = cut.mel.frames(len(piece.wave)) // cut.steps if piece.last is None else piece.last
        features = mel[:, piece.first * cut.steps : last * cut.steps]
        features = features.reshape(len(waves), -1, cut.steps, cut.mel.bands)
        rows = slice(done, done + features.shape[1])
        levels[rows] = np.exp(features[0], dtype=np.float64).sum(2).mean(1)
        arrays[0][rows] = features[0]
        for array in arrays[1:]:
            array[rows] = features[1:].swapaxes(0, 1)
        for array in arrays:
            release(array)
        done = rows.stop
    return levels


def draw_shifts(name: str, count: int) -> list[tuple[float, float]]:
    """Return (semitones, factor on the formants) of the converted voices of a recording.

    The pitch moves by 3 to 7 semitones, the formants by 10 to 22 %, up or down; the recording's
    name decides.
    """
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    semitones = rng.choice([-1.0, 1.0], count) * rng.uniform(3.0, 7.0, count)
    formants = np.exp(rng.choice([-1.0, 1.0], count) * rng.uniform(0.1, 0.2, count))
    return list(zip(semitones.tolist(), formants.tolist(), strict=True))


def _convert(wave: Wave, cut: Cut, shift: tuple[float, float]) -> Wave:
    return shift_voice(wave, cut.mel.sample_rate, semitones=shift[0], formant=shift[1])


def _close_gaps(arrays: list[Array], rows: Rows) -> None:
    """Move the rows that are kept to the front, in pieces; row i never comes from before i."""
    if rows[-1] + 1 == len(rows):
        return
    for array in arrays:
        for start in range(0, len(rows), CHUNK):
            some = rows[start : start + CHUNK]
            array[start : start + len(some)] = array[some]
            release(array)
