"""What a corpus holds, measured as it streams by. Nothing is judged here.

Values are measured on sequences spread over every split, within a budget; all else on all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.checks.balance import Label, weigh_labels
from unbraid.data.checks.overlaps import Group, Twins, find_groups, find_twins, pieces
from unbraid.data.checks.tally import Tally
from unbraid.data.collection import PARTS
from unbraid.data.corpus import Corpus, Rows, RowSource, Split
from unbraid.records import Spec

SEQUENCES = 2000  # of a split whose values are measured
VALUES = 50_000_000  # of a split that are measured: long videos are fewer sequences
COMPARED_BYTES = 2 << 30  # of all splits that are compared with each other
PAINTED_BYTES = 1 << 28  # the same, of sequences that are made when asked for
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSummary:
    """A split. From `examined` on, the numbers are of the sequences that were examined.

    Attributes:
        sequences: how many.
        shortest: steps of the shortest sequence.
        median: steps.
        longest: steps of the longest sequence.
        lengths: how many different lengths there are.
        examined: how many sequences had their values measured.
        low: least known value, as stored; None if none is known.
        high: greatest known value.
        low_seen: least value as a model sees it.
        high_seen: greatest value as a model sees it.
        missing: share of the elements of existing steps that are unknown.
        not_finite: elements that are called known but are NaN or infinite.
        far: elements more than 20 standard deviations from the mean of training.
        empty: sequences without any known value.
        still: sequences in which no known element ever changes.
    """

    sequences: int
    shortest: int
    median: float
    longest: int
    lengths: int
    examined: int
    low: float | None
    high: float | None
    low_seen: float | None
    high_seen: float | None
    missing: float
    not_finite: int
    far: int
    empty: int
    still: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A colour, a band or a column in the examined training sequences."""

    name: str
    missing: float
    low: float | None
    high: float | None
    mean: float | None
    std: float | None
    far: int
    constant: bool
    """All its known values are one."""
    per_sequence: bool
    """It differs between sequences and never within one (series)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a corpus holds.

    Attributes:
        kind: video, audio or series.
        frame: axes of an element.
        length: steps of the longest sequence there may be.
        dtype: of the stored values.
        bytes: that the stored values of all splits take.
        kept: where they are: "on disk", "in memory" or "made when asked for".
        stand_in: the benchmark it stands in for.
        alternatives: other identities prepared for every sequence.
        parts: the splits.
        channels: of training.
        labels: how often values occur.
        groups: labels that may name persons or recordings.
        twins: which sequences are the same.
        skipped: what could not be used, by name, and why.
        columns: of a table: "sequence" and "time" -> column that tells it, empty if none does.
    """

    kind: str
    frame: tuple[int, ...]
    length: int
    dtype: str
    bytes: int
    kept: str
    stand_in: str
    alternatives: int
    parts: Mapping[str, SplitSummary]
    channels: tuple[Channel, ...]
    labels: tuple[Label, ...]
    groups: tuple[Group, ...]
    twins: Twins
    skipped: Mapping[str, str]
    columns: Mapping[str, str]


def examine(corpus: Corpus, *, deep: bool = False) -> Contents:
    """Return what a corpus holds.

    Args:
        corpus: the data; never read at once.
        deep: measure and compare every sequence, however many there are.
    """
    spec, x = corpus.spec, corpus.train.x
    measured = {part: _measure(corpus.split(part), deep) for part in PARTS}
    arrays = {id(corpus.split(part).x): corpus.split(part).x for part in PARTS}
    size = sum(_bytes(array) for array in arrays.values())
    budget = COMPARED_BYTES if isinstance(x, np.ndarray) else PAINTED_BYTES
    share = 1.0 if deep else budget / max(1, size)
    picked = {part: _spread(len(corpus.split(part)), share) for part in PARTS}
    others = corpus.train.alternatives
    return Contents(
        kind=spec.kind,
        frame=spec.frame,
        length=spec.length,
        dtype=str(x.dtype),
        bytes=size,
        kept=_whereabouts(x),
        stand_in=spec.stand_in,
        alternatives=0 if others is None else others.shape[1],
        parts={part: _part(corpus.split(part), measured[part]) for part in PARTS},
        channels=_channels(spec, measured["train"]),
        labels=weigh_labels(corpus),
        groups=find_groups(corpus),
        twins=find_twins(corpus, picked),
        skipped=dict(corpus.skipped),
        columns=dict(corpus.columns),
    )


def examine_values(corpus: Corpus) -> tuple[dict[str, SplitSummary], tuple[Channel, ...]]:
    """Return the splits and the channels of training, quickly; test values are not read."""
    measured = {part: _measure(corpus.split(part), deep=False) for part in PARTS[:2]}
    measured["test"] = Tally(corpus.spec)
    parts = {part: _part(corpus.split(part), measured[part]) for part in PARTS}
    return parts, _channels(corpus.spec, measured["train"])


def _measure(split: Split, deep: bool) -> Tally:
    tally = Tally(split.spec)
    most = min(SEQUENCES, VALUES // max(1, int(np.prod(split.x.shape[1:]))))
    share = 1.0 if deep else max(1, most) / max(1, len(split))
    steps = split.existing
    for some, x in pieces(split, _spread(len(split), share)):
        frame = (1,) * (x.ndim - 2)
        places = np.broadcast_to(steps[some].reshape(*x.shape[:2], *frame), x.shape)
        known = places
        if split.observed is not None:
            known = places & np.asarray(split.observed[split.rows[some]]).astype(bool)
        with np.errstate(over="ignore"):  # absurd values are counted, not warned of
            tally.add(x, places, known)
    return tally


def _spread(count: int, share: float) -> Rows:
    """Return that share of positions 0 to count - 1, evenly spread.

    >>> _spread(5, 1.0).tolist(), _spread(9, 1 / 3).tolist()
    ([0, 1, 2, 3, 4], [0, 4, 8])
    """
    chosen = min(count, max(1, round(count * min(1.0, share))))
    return np.linspace(0, count - 1, chosen).round().astype(np.int64) if count else np.arange(0)


def _part(split: Split, tally: Tally) -> SplitSummary:
    lengths = split.existing.sum(1) if len(split) else np.zeros(1, int)
    known, places = tally.count.sum(), tally.places.sum()
    there = tally.count > 0
    offset, scale = np.array(split.spec.offset), np.array(split.spec.scale)
    ends = np.stack([(tally.low - offset) / scale, (tally.high - offset) / scale])[:, there]
    return SplitSummary(
        sequences=len(split),
        shortest=int(lengths.min()),
        median=float(np.median(lengths)),
        longest=int(lengths.max()),
        lengths=len(np.unique(lengths)),
        examined=tally.sequences,
        low=_number(tally.low[there], np.min),
        high=_number(tally.high[there], np.max),
        low_seen=_number(ends[0], np.min),
        high_seen=_number(ends[1], np.max),
        missing=1.0 - float((known + tally.not_finite) / places) if places else 0.0,
        not_finite=tally.not_finite,
        far=int(tally.far.sum()),
        empty=tally.empty,
        still=tally.still,
    )


def _channels(spec: Spec, tally: Tally) -> tuple[Channel, ...]:
    width = len(tally.count)
    offset, scale = (np.broadcast_to(v, (width,)) for v in (spec.offset, spec.scale))
    count = np.maximum(tally.count, 1)
    mean = tally.total / count
    std = np.sqrt(np.maximum(tally.squares / count - mean**2, 0))
    word = {"video": "colour", "audio": "band", "series": "channel"}[spec.kind]
    names = spec.channels or tuple(f"{word} {i}" for i in range(width))
    return tuple(
        Channel(
            name=names[i],
            missing=1.0 - float(tally.count[i] / max(1.0, tally.places[i])),
            low=float(tally.low[i]) if tally.count[i] else None,
            high=float(tally.high[i]) if tally.count[i] else None,
            mean=float(offset[i] + scale[i] * mean[i]) if tally.count[i] else None,
            std=float(scale[i] * std[i]) if tally.count[i] else None,
            far=int(tally.far[i]),
            constant=bool(tally.low[i] == tally.high[i]),
            per_sequence=bool(
                tally.low[i] < tally.high[i] and tally.fixed[i] > tally.varied[i] == 0
            ),
        )
        for i in range(width)
    )


def _number(values: Floats, pick: Any) -> float | None:
    return float(pick(values)) if len(values) else None


def _bytes(array: RowSource) -> int:
    return int(np.prod(array.shape)) * np.dtype(array.dtype).itemsize


def _whereabouts(array: RowSource) -> str:
    if isinstance(array, np.memmap):
        return "on disk"
    return "in memory" if isinstance(array, np.ndarray) else "made when asked for"
