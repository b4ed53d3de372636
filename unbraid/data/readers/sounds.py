"""People's own sounds: a WAV, FLAC, MP3 or OGG file, or a folder of them at any depth.

Every file is mixed to one channel, resampled to one rate and cut into segments of log-mel features.
Files of a lower rate than the one chosen have nothing in the upper bands: prefer one rate.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.audio.mel import MelConfig
from unbraid.data.audio.speech import Cut, Segments, open_segments, write_segments
from unbraid.data.audio.waves import Recording
from unbraid.data.cache import content_key, listing_key, open_or_build
from unbraid.data.collection import PARTS, Collection, SplitConfig, deal_rows
from unbraid.data.corpus import Array
from unbraid.data.labels import encode_labels
from unbraid.data.readers.own import READERS
from unbraid.data.readers.paths import file_labels
from unbraid.settings import at_least

VERSION = 1  # goes up when the same files and options are prepared in another way
SUFFIXES = tuple(suffix for suffix, reader in READERS.items() if reader == "sounds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How sounds are cut, and what their paths tell."""

    seconds: float = 0.2  # length of a segment
    hop: float = 0.01  # seconds from one frame to the next; windows are 2.5 times as long
    rate: int = 16000  # samples per second; other files are resampled
    bands: int = 80
    conversions: int = 1  # converted voices of each file, as views for contrastive methods
    trim: float = 0.0  # dB below the loudest segment at which ends are cut off; 0: nothing is
    pattern: str = ""  # labels in paths: {speaker}/{chapter}/*. Empty: the folder is the label
    dynamic: tuple[str, ...] = ()  # labels that are dynamic factors
    broken: float = 0.1  # share of files that may be unreadable
    split: SplitConfig = field(default_factory=SplitConfig)

    def __post_init__(self) -> None:
        at_least(self, 1, "bands")
        at_least(self, 4000, "rate")
        at_least(self, 0, "conversions", "trim")
        if not 0.001 <= self.hop <= 0.1:
            raise ValueError(f"hop must be 0.001 to 0.1 s, got {self.hop}.")
        if self.seconds < 2 * self.hop:
            raise ValueError(
                f"seconds must be two frames at least, {2 * self.hop} s, got {self.seconds}."
            )

    @property
    def mel(self) -> MelConfig:
        """The features; those of the papers unless told otherwise."""
        hop = round(self.hop * self.rate)
        window = round(2.5 * hop)
        n_fft = 2 ** int(np.ceil(np.log2(window)))
        return MelConfig(
            sample_rate=self.rate, n_fft=n_fft, window=window, hop=hop, bands=self.bands
        )

    @property
    def cut(self) -> Cut:
        """What becomes of a file."""
        return Cut(
            mel=self.mel,
            steps=round(self.seconds / self.hop),
            conversions=self.conversions,
            trim=self.trim,
            broken=self.broken,
        )


def read(path: Path, config: Config) -> Collection:
    """Return the segments of a file or of all files of a folder, prepared in a cache.

    Labels come from the paths and from a table `labels.csv`, see `paths.path_labels`; `name` is the
    file and `utterance` its number. Unless `split.by` names another group, whole files are dealt
    to training, validation and test, so that two segments of one recording never sit in different
    splits; fewer than three files are dealt by segment.

    Raises:
        ValueError: there are no files, too many cannot be read, or none can be used.
    """
    root, files = (path, _sounds(path)) if path.is_dir() else (path.parent, [path])
    words = file_labels(files, root, config.pattern)
    segments = _prepare(root, dict(zip(words["name"], files, strict=True)), config.cut)
    return collect_segments(path.stem, segments, words, config)


def collect_segments(
    title: str, segments: Segments, words: Mapping[str, Sequence[Any]], config: Config
) -> Collection:
    """Return segments with the labels of their recordings; `words["name"]` names the recordings."""
    place = {name: number for number, name in enumerate(words["name"])}
    rows = [place[name] for name in segments.names]
    known = [label for label in config.dynamic if label in words or len(place) > 1]
    words = {label: [column[i] for i in rows] for label, column in words.items()}
    labels, static, dynamic = encode_labels(words, dynamic=known)
    labels = {label: column[segments.owner] for label, column in labels.items()}
    labels = {"utterance": segments.owner} | labels
    return Collection(
        name=title,
        kind="audio",
        x=segments.x,
        alternatives=segments.alternatives,
        labels=_dealt(labels, config.split),
        static=static,
        dynamic=dynamic,
        rate=config.mel.sample_rate / config.mel.hop,
        features="log-mel" if config.mel == MelConfig() else f"log-mel at {config.rate} Hz",
        skipped=segments.skipped,
    )


def _prepare(root: Path, files: dict[str, Path], cut: Cut) -> Segments:
    """Return the segments of all files, from the cache if they are the same as before."""

    def recordings() -> Iterator[Recording]:
        yield from (Recording(name, path) for name, path in files.items())

    key = content_key(
        listing=listing_key(root, files.values(), times=True),
        version=VERSION,
        mel=repr(cut.mel),
        steps=cut.steps,
        conversions=cut.conversions,
        trim=cut.trim,
    )
    prepared = open_or_build("sounds", key, lambda new: write_segments(recordings, new, cut))
    return open_segments(prepared, cut)


def _sounds(folder: Path) -> list[Path]:
    """Return the sound files of a folder, hidden ones left out."""
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in SUFFIXES
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    if not files:
        raise ValueError(f"the folder {folder} holds no sounds ({', '.join(SUFFIXES)}).")
    return files


def _dealt(labels: dict[str, Array], config: SplitConfig) -> dict[str, Array]:
    """Add the label `split` that keeps the segments of a file together, if it can be had."""
    if config.by:
        return labels
    try:
        rows = deal_rows(len(labels["name"]), labels, replace(config, by="name"))
    except ValueError:  # too few files, or words that are no splits: whoever deals will say so
        return labels
    words = np.empty(len(labels["name"]), dtype="<U10")
    for part in PARTS:
        words[rows[part]] = part
    return labels | {"split": words}
