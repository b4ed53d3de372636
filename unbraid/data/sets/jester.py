"""Jester: hand gestures before a camera (Materzynska et al., 2019), five of them as in SPYL.

The publisher's folder `20bn-jester-v1/<video>/` holds the frames `00001.jpg` and so on of a video
at 12 frames a second, and `jester-v1-train.csv` and `jester-v1-validation.csv` say `video;gesture`
in every line. Of each video of the five gestures, 10 frames are taken, a tenth of the video apart,
and scaled to 64 x 64 RGB. The gesture is the dynamic factor; who makes it is not told, so there is
no static one.

The published training videos are training, and validation is cut from them; the published
validation videos are test, as the labels of the published test videos are secret.

Departures: SPYL prints neither its split nor what becomes of the shape of the frames, which are
100 pixels high and of any width: they are stretched, so that no hand is cut off; `fit = "crop"`
takes their middle.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unbraid.data.cache import NewArray
from unbraid.data.collection import Collection
from unbraid.data.corpus import Corpus, cut_validation
from unbraid.data.download import Publisher
from unbraid.data.published import Progress, Published
from unbraid.data.readers.pictures import Look, Pixels, even_steps, find_pictures
from unbraid.data.readers.stacks import check_skipped, new_stack, read_all
from unbraid.records import Factor
from unbraid.settings import proper_share, share_below_one

GESTURES = (
    "Pushing Hand Away",
    "Rolling Hand Forward",
    "Shaking Hand",
    "Sliding Two Fingers Left",
    "Sliding Two Fingers Right",
)
FRAMES = 10
RATE = 3.2  # steps per second, about: 10 frames of 37 at 12 a second
VIDEOS = "20bn-jester-v1"
LISTS = ("jester-v1-train.csv", "jester-v1-validation.csv")

SOURCE = Publisher(
    name="Jester",
    base="https://developer.qualcomm.com/software/ai-datasets/jester",
    files={},
    licence="the publisher's own terms, shown where it is fetched; nobody else may pass it on.",
    citation="J. Materzynska, G. Berger, I. Bax, R. Memisevic, The Jester Dataset: A Large-Scale "
    "Video Dataset of Human Gestures, ICCV Workshops 2019.",
    apply="Sign in at https://developer.qualcomm.com/software/ai-datasets/jester, fetch all parts "
    "of the archive and the lists (jester-v1-*.csv), and unpack them into one folder.",
)

SET = Published(name="jester", folder="jester", source=SOURCE, depth=1)  # down to the videos


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where the frames are and how the training videos are cut."""

    root: str = ""  # folder of the lists and of 20bn-jester-v1; empty: UNBRAID_DATA/jester
    fit: Literal["stretch", "crop"] = "stretch"  # of frames that are not square
    validation: float = 0.1  # share of the published training videos
    broken: float = 0.1  # share of videos that may be missing or unreadable
    seed: int = 0  # of that cut

    def __post_init__(self) -> None:
        proper_share(self, "validation")
        share_below_one(self, "broken")


@dataclass(frozen=True, slots=True)
class _Clip:
    """A line of a list: the folder of the video, its gesture, and which list it is in."""

    name: str
    gesture: int
    part: int


def load(config: Config, *, progress: Progress | None = None) -> Corpus:
    """Return the benchmark, from the cache or, the first time, from the frames.

    Raises:
        ValueError: a list is missing or unreadable, or too many videos are.
    """
    root = SET.root(config.root)
    home = None if root is None else _home(root)
    # Videos beside the lists: one level less, or every frame of every video would be listed.
    flat = home is not None and not (home / VIDEOS).is_dir()
    prepared = (replace(SET, depth=0) if flat else SET).open(
        "" if home is None else str(home),
        {"fit": config.fit},
        lambda folder, new: _build(folder, new, config, progress),
    )
    facts, arrays = prepared.facts, prepared.arrays
    check_skipped(facts["skipped"], len(arrays["x"]) + len(facts["skipped"]), config.broken)
    collection = Collection(
        name="jester",
        kind="video",
        x=arrays["x"],
        labels={"gesture": arrays["gesture"], "name": arrays["name"]},
        dynamic=(Factor(name="gesture", classes=len(GESTURES), values=GESTURES),),
        rate=RATE,
        skipped=facts["skipped"],
    )
    rows, test = (np.flatnonzero(arrays["part"] == part) for part in (0, 1))
    train, validation = cut_validation(
        rows, np.arange(len(collection)), share=config.validation, seed=config.seed
    )
    return collection.cut(train=train, validation=validation, test=test)


def _home(root: Path) -> Path:
    """Return the folder of the lists, if what was given is the folder of the videos below it."""
    beside = root.name == VIDEOS and not (root / LISTS[0]).is_file()
    return root.parent if beside else root


def _build(root: Path, new: NewArray, config: Config, progress: Progress | None) -> dict[str, Any]:
    """Fill the arrays; return what was skipped."""
    videos = [video for part, name in enumerate(LISTS) for video in _read_list(root / name, part)]
    folder = root / VIDEOS if (root / VIDEOS).is_dir() else root
    look = Look(size=64, fit=config.fit)
    names = [video.name for video in videos]
    with new_stack(FRAMES, look.shape) as stack:
        skipped = read_all(lambda name: _read(folder / name, look), names, stack, progress)
        check_skipped(skipped, len(videos), config.broken)
        stack.store(new)
    usable = [video for video in videos if video.name not in skipped]
    words = np.array([video.name for video in usable])
    new("name", words.shape, words.dtype)[:] = words
    for label in ("gesture", "part"):
        new(label, (len(usable),), np.int64)[:] = [getattr(video, label) for video in usable]
    return {"skipped": skipped}


def _read_list(path: Path, part: int) -> list[_Clip]:
    """Return the videos of a list that show one of the five gestures."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise ValueError(
            f"{path.parent} must hold {LISTS[0]}, {LISTS[1]} and the folder {VIDEOS}, and "
            f"{path.name} is not there. {SOURCE.apply}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the list {path} cannot be read: {error}.") from None
    videos = []
    for number, line in enumerate(lines, start=1):
        name, separator, gesture = line.strip().partition(";")
        if line.strip() and not separator:
            raise ValueError(f"{path}, line {number}: 'video;gesture' is wanted, got {line!r}.")
        if gesture in GESTURES:
            videos.append(_Clip(name, GESTURES.index(gesture), part))
    if not videos:
        raise ValueError(f"the list {path} names no video of {', '.join(GESTURES)}.")
    return videos


def _read(folder: Path, look: Look) -> Pixels:
    """Return the frames (T, C, H, W) of a video."""
    files = find_pictures(folder)
    if len(files) < FRAMES:
        raise ValueError(f"it has {len(files)} frames, {FRAMES} are wanted")
    return np.stack([look.read(files[step]) for step in even_steps(len(files), FRAMES)])
