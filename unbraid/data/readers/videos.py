"""People's own videos: a file, or a folder of video files or of folders of numbered pictures.

A folder that holds pictures and no video is one sequence; its pictures go by the numbers in their
names. Pictures beside videos, or at the top beside other sequences, are taken for covers and not
read. Pictures have no time: with a `rate` they count as taken at that rate.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeGuard

import numpy as np

from unbraid.data.cache import NewArray, Prepared, content_key, listing_key, open_or_build
from unbraid.data.collection import Collection, SplitConfig
from unbraid.data.corpus import Array
from unbraid.data.labels import encode_labels
from unbraid.data.readers.decoding import (
    Source,
    frame_rate,
    need_decoder,
    spread_frames,
    timed_frames,
)
from unbraid.data.readers.own import READERS
from unbraid.data.readers.paths import file_labels
from unbraid.data.readers.pictures import PICTURES, Fit, Look, Pixels, even_steps, find_pictures
from unbraid.data.readers.stacks import Stack, check_skipped, new_stack, open_lengths
from unbraid.settings import at_least

VERSION = 1  # goes up when the same files and options are prepared in another way
MULTIPLE = 16  # default networks halve a frame four times
USUAL_RATE = 10.0  # steps per second of pictures, for players
VIDEOS = tuple(
    suffix for suffix, reader in READERS.items() if reader == "videos" and suffix not in PICTURES
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How videos are cut and scaled, and what their paths tell."""

    frames: int = 16  # steps of a sequence; a shorter video is a shorter sequence
    clip: Literal["whole", "pieces"] = "whole"  # one sequence per video, or one after the other
    rate: float = 0.0  # steps per second, a whole video from its start; 0: see `read`
    size: int = 64  # pixels of a side, a multiple of 16
    color: bool = True  # RGB, else grey
    fit: Fit = "crop"  # of pictures that are not square: their middle, distorted, black borders
    pattern: str = ""  # labels in paths: {person}_{action}_*. Empty: the folder is the label
    dynamic: tuple[str, ...] = ()  # labels that are dynamic factors
    broken: float = 0.1  # share of videos that may be unreadable
    split: SplitConfig = field(default_factory=SplitConfig)

    def __post_init__(self) -> None:
        at_least(self, 2, "frames")
        at_least(self, 0, "rate", "broken")
        if self.size < MULTIPLE or self.size % MULTIPLE:
            raise ValueError(
                f"size must be a multiple of {MULTIPLE}, as the default networks halve frames "
                f"four times, got {self.size}."
            )

    @property
    def look(self) -> Look:
        """What frames are made to look like."""
        return Look(size=self.size, color=self.color, fit=self.fit)


def read(path: Path, config: Config) -> Collection:
    """Return the sequences of a video, of a folder of pictures, or of all that a folder holds.

    With `rate = 0`, a whole video is spread evenly over the steps, and pieces have every frame. A
    last piece of less than half the steps is left out. All is prepared in a cache.

    Labels come from the paths and from a table `labels.csv`, see `paths.path_labels`; `name` is the
    file or the folder of pictures. Unless `split.by` names another group, pieces of one video stay
    together in one split; of one or two videos the last pieces are test, those before them
    validation.

    Raises:
        ValueError: there is nothing to read, too much cannot be read, or a setting is wrong.
    """
    root, sources = _find(path.absolute())
    words = file_labels(sources, root, config.pattern)
    prepared = open_or_build(
        "videos",
        _key(root, sources, config),
        lambda new: write_clips(zip(words["name"], sources, strict=True), new, config),
    )
    check_skipped(prepared.facts["skipped"], len(sources), config.broken)
    return collect_clips(path.absolute().stem, prepared, words, config)


def collect_clips(
    title: str, prepared: Prepared, words: Mapping[str, Sequence[Any]], config: Config
) -> Collection:
    """Return clips with the labels of their videos; `words["name"]` names the videos."""
    count = len(words["name"])
    files, owner = np.unique(prepared.arrays["owner"], return_inverse=True)
    # Labels of videos that were skipped are no classes.
    words = {label: [column[i] for i in files] for label, column in words.items()}
    known = [label for label in config.dynamic if label in words or count > 1]
    labels, static, dynamic = encode_labels(words, dynamic=known)
    labels = {label: column[owner] for label, column in labels.items()}
    return Collection(
        name=title,
        kind="video",
        x=prepared.arrays["x"],
        lengths=open_lengths(prepared.arrays["lengths"], config.frames),
        labels=_dealt(labels, config),
        static=static,
        dynamic=dynamic,
        rate=prepared.facts["rate"],
        skipped=prepared.facts["skipped"],
    )


def _find(path: Path) -> tuple[Path, list[Path]]:
    """Return the folder that names are relative to, and the video files and folders of pictures."""
    if path.is_file():
        return path.parent, [path]
    videos, folders = [], []
    for folder, below, names in os.walk(path):
        below[:] = [name for name in below if name[0] != "."]
        ends = {name: Path(name).suffix.lower() for name in names if name[0] != "."}
        films = [Path(folder, name) for name in names if ends.get(name) in VIDEOS]
        videos += films
        if not films and not PICTURES.isdisjoint(ends.values()):
            folders.append(Path(folder))
    sources = sorted(videos + [folder for folder in folders if folder != path])
    if folders == [path] and not sources:
        return path.parent, [path]
    if not sources:
        raise ValueError(
            f"the folder {path} holds neither videos ({', '.join(VIDEOS)}) nor folders of pictures "
            f"({', '.join(sorted(PICTURES))})."
        )
    return path, sources


def _key(root: Path, sources: list[Path], config: Config) -> str:
    cut = {name: getattr(config, name) for name in ("frames", "clip", "rate")}
    listings = [
        listing_key(root, find_pictures(source) if source.is_dir() else [source], times=True)
        for source in sources
    ]
    return content_key(listings=listings, version=VERSION, look=repr(config.look), **cut)


def write_clips(
    sources: Iterable[tuple[str, Source]], new: NewArray, config: Config
) -> dict[str, Any]:
    """Fill the arrays `x`, `lengths` and `owner`, the number of the video that a sequence is of.

    Args:
        sources: name and file, folder of pictures, or bytes of a file; gone through once.
        new: makes an array.
        config: how videos are cut and scaled.
    """
    owner: list[int] = []
    rates: list[float] = []
    skipped: dict[str, str] = {}
    number = -1
    with new_stack(config.frames, config.look.shape) as stack:
        for number, (name, source) in enumerate(sources):
            before = len(stack)
            if not _is_folder(source):
                need_decoder()
            try:
                rates.append(_append(stack, source, config))
            except ValueError as error:
                stack.shrink(before)
                skipped[name] = str(error)
            owner += [number] * (len(stack) - before)
        check_skipped(skipped, number + 1, config.broken)
        stack.store(new)
    new("owner", (len(owner),), np.int64)[:] = owner
    return {"skipped": skipped, "rate": float(np.median(rates))}


def _append(stack: Stack, source: Source, config: Config) -> float:
    """Pile up the sequences of one video and return their steps per second."""
    if config.clip == "whole" and not config.rate:
        frames, rate = _spread(source, config)
        steps = iter(frames)
    else:
        steps, rate = _consecutive(source, config), config.rate or _own_rate(source)
    count = 0
    for frames in _pieces(steps, config):
        stack.append(np.stack(frames))
        count += 1
    if not count:
        raise ValueError("it has fewer than two frames")
    return rate


def _pieces(steps: Iterator[Pixels], config: Config) -> Iterator[list[Pixels]]:
    """Yield the frames of a video's sequences; a short rest is left out unless it is all there is.

    A rest is short if it is less than half a sequence.
    """
    least = 2
    while len(frames := list(islice(steps, config.frames))) >= least:
        yield frames
        if config.clip == "whole":
            return
        least = max(2, -(-config.frames // 2))


def _spread(source: Source, config: Config) -> tuple[list[Pixels], float]:
    """Return frames spread over a whole video and their rate."""
    if not _is_folder(source):
        _refuse_picture(source)
        return spread_frames(source, config.frames, config.look)
    files = find_pictures(source)
    chosen = even_steps(len(files), config.frames)
    return [config.look.read(files[i]) for i in chosen], USUAL_RATE


def _consecutive(source: Source, config: Config) -> Iterator[Pixels]:
    """Yield the frames of a video one after the other, at the rate that is asked for."""
    if _is_folder(source):
        return map(config.look.read, find_pictures(source))
    _refuse_picture(source)
    return timed_frames(source, config.rate, config.look)


def _is_folder(source: Source) -> TypeGuard[Path]:
    return not isinstance(source, bytes) and source.is_dir()


def _refuse_picture(source: Source) -> None:
    if not isinstance(source, bytes) and source.suffix.lower() in PICTURES:
        raise ValueError("one picture is no sequence: give the folder that holds the frames")


def _own_rate(source: Source) -> float:
    return USUAL_RATE if _is_folder(source) else frame_rate(source)


def _dealt(labels: dict[str, Array], config: Config) -> dict[str, Array]:
    """Add the label `split` for the pieces of one or two videos: their ends are held out."""
    videos, owner, counts = np.unique(labels["name"], return_inverse=True, return_counts=True)
    if config.clip == "whole" or config.split.by or "split" in labels or len(videos) > 2:
        return labels
    test, validation = (
        np.maximum(1, np.round(share * counts))
        for share in (config.split.test, config.split.validation)
    )
    left = np.empty(len(owner), dtype=np.int64)  # 1: the last piece of a video
    for number, count in enumerate(counts):
        left[owner == number] = np.arange(count, 0, -1)
    words = np.where(left <= (test + validation)[owner], "validation", "train")
    words[left <= test[owner]] = "test"
    words[(counts < 3)[owner]] = "train"
    return labels | {"split": words} if "test" in words else labels
