"""MUG: facial expressions of 52 people (Aifanti et al., 2010), as in C-DSVAE, SPYL and DBSE.

The publisher's folders are `subjects3/<subject>/<expression>/take<number>/img_<number>.jpg`; some
people have folders `session<number>` in between. Of each video of one of six expressions, 15 frames
are drawn at random, by seed, and kept in order. A face is looked for with OpenCV's frontal Haar
cascade, and all frames are cut to the one box, with a margin, so that the head does not jump; they
become 64 x 64 RGB. Videos without a face are skipped. The static factor is the subject, the dynamic
one the expression. The papers count 3,528 (C-DSVAE), 3,429 (SPYL) or about 3,500 (DBSE) videos.

Departures: The papers' split is not printed. They classify the person on the test split, so the
same people have to be in all of them, and videos are dealt within each person: 20 % test, and of
the rest 10 % validation. Test videos then are other takes of people and expressions that were
trained on; `cut = "subject"` keeps whole people apart. C-DSVAE resizes whole frames: `crop =
"none"`. Whether the papers look for the face in every frame is not printed.
"""

import threading
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image

from unbraid.data.cache import NewArray
from unbraid.data.collection import Collection
from unbraid.data.corpus import Array, Corpus, Rows, cut_validation
from unbraid.data.download import Publisher
from unbraid.data.labels import encode_label
from unbraid.data.published import Progress, Published
from unbraid.data.readers.pictures import (
    Look,
    Pixels,
    Steps,
    even_steps,
    find_pictures,
    open_picture,
    random_steps,
)
from unbraid.data.readers.stacks import check_skipped, new_stack, read_all
from unbraid.records import Factor
from unbraid.settings import proper_share, share_below_one

EXPRESSIONS = ("anger", "fear", "disgust", "happiness", "sadness", "surprise")
FRAMES = 15
LOOK = Look(size=64)
DETECTION = 320  # pixels of a side that are enough to find a face in
MARGIN = 0.1  # of the face, on every side
RATE = 3.0  # steps per second, about: 15 frames of 50 to 160 at 19 a second
_OF_THREAD = threading.local()

SOURCE = Publisher(
    name="MUG Facial Expression Database",
    base="https://mug.ee.auth.gr/fed/",
    files={},
    licence="the makers' own terms, agreed to in the application; nobody else may pass it on.",
    citation="N. Aifanti, C. Papachristou, A. Delopoulos, The MUG Facial Expression Database, "
    "WIAMIS 2010.",
    apply="Apply for it at https://mug.ee.auth.gr/fed/ with the form there, and unpack the part "
    "with the image sequences, which gives the folder subjects3.",
)

SET = Published(name="mug", folder="mug", source=SOURCE)  # depth: down to the takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where the pictures are, which frames are taken, and how videos are dealt."""

    root: str = ""  # subjects3 or the folder it lies in; empty: UNBRAID_DATA/mug
    choose: Literal["random", "even"] = "random"  # 15 frames of a video
    crop: Literal["face", "none"] = "face"  # none: the middle of the picture, without OpenCV
    cut: Literal["video", "subject"] = "video"  # what is dealt to training, validation and test
    test: float = 0.2  # share of the videos of each person, or of the people
    validation: float = 0.1  # share of the rest
    broken: float = 0.1  # share of videos that may have no face or be unreadable
    seed: int = 0  # of the frames and of the cut

    def __post_init__(self) -> None:
        proper_share(self, "test", "validation")
        share_below_one(self, "broken")


@dataclass(frozen=True, slots=True)
class _Video:
    """A take: its path below subjects3 and what its folders say."""

    name: str
    subject: str
    expression: str


def load(config: Config, *, progress: Progress | None = None) -> Corpus:
    """Return the benchmark, from the cache or, the first time, from the pictures.

    Raises:
        ValueError: the folder has another layout, OpenCV is missing, or too many videos have no
            face or cannot be read.
    """
    root = SET.root(config.root)
    seed = config.seed if config.choose == "random" else 0
    options = {"choose": config.choose, "crop": config.crop, "seed": seed}
    prepared = SET.open(
        "" if root is None else str(_home(root)),
        options,
        lambda home, new: _build(home, new, config, progress),
    )
    facts, arrays = prepared.facts, prepared.arrays
    check_skipped(facts["skipped"], len(arrays["x"]) + len(facts["skipped"]), config.broken)
    subject, person = encode_label("subject", arrays["subject"])
    labels = {"subject": subject, "expression": arrays["expression"], "name": arrays["name"]}
    collection = Collection(
        name="mug",
        kind="video",
        x=arrays["x"],
        labels=labels,
        static=(person,),
        dynamic=(Factor(name="expression", classes=len(EXPRESSIONS), values=EXPRESSIONS),),
        rate=RATE,
        skipped=facts["skipped"],
    )
    deal = _cut_within if config.cut == "video" else cut_validation
    rest, test = deal(np.arange(len(subject)), subject, share=config.test, seed=config.seed)
    train, validation = deal(rest, subject, share=config.validation, seed=config.seed + 1)
    return collection.cut(train=train, validation=validation, test=test)


def _cut_within(rows: Rows, groups: Array, *, share: float, seed: int) -> tuple[Rows, Rows]:
    """Cut a share of every group off, at least one row but never all; as `cut_validation`."""
    rng = np.random.default_rng(seed)
    off: list[int] = []
    for group in np.unique(groups[rows]):
        members = rng.permutation(rows[groups[rows] == group])
        count = max(1, round(share * len(members)))
        off += members[: min(count, len(members) - 1)].tolist()
    held_out = np.array(sorted(off), dtype=np.int64)
    return np.setdiff1d(rows, held_out), held_out


def _home(root: Path) -> Path:
    return root / "subjects3" if (root / "subjects3").is_dir() else root


def _build(root: Path, new: NewArray, config: Config, progress: Progress | None) -> dict[str, Any]:
    """Fill the arrays; return what was skipped and how many videos were left out, by folder."""
    videos, left_out = _find(root)
    if not videos:
        raise ValueError(
            f"{root} must hold the people's folders of MUG, as in 001/anger/take000/img_0000.jpg, "
            "and holds no such videos. Give the folder subjects3 or the one it lies in."
        )
    if config.crop == "face":
        _detector()  # before any work is done
    names = [video.name for video in videos]
    with new_stack(FRAMES, LOOK.shape) as stack:
        skipped = read_all(lambda name: _read(root / name, name, config), names, stack, progress)
        check_skipped(skipped, len(videos), config.broken)
        stack.store(new)
    usable = [video for video in videos if video.name not in skipped]
    for label in ("name", "subject"):
        words = np.array([getattr(video, label) for video in usable])
        new(label, words.shape, words.dtype)[:] = words
    numbers = [EXPRESSIONS.index(video.expression) for video in usable]
    new("expression", (len(usable),), np.int64)[:] = numbers
    return {"skipped": skipped, "left_out": left_out}


def _find(root: Path) -> tuple[list[_Video], dict[str, int]]:
    """Return the videos of the six expressions, and how many others there are by folder name."""
    videos: list[_Video] = []
    others: Counter[str] = Counter()
    for person in _folders(root):
        inner = [
            part
            for folder in _folders(person)
            for part in (_folders(folder) if folder.name.startswith("session") else [folder])
        ]
        for part in inner:
            for take in _folders(part):
                if part.name in EXPRESSIONS and take.name.startswith("take"):
                    name = take.relative_to(root).as_posix()
                    videos.append(_Video(name, person.name, part.name))
                else:
                    others[part.name] += 1
    return videos, dict(sorted(others.items()))


def _folders(folder: Path) -> Iterator[Path]:
    """Yield the folders in a folder, sorted, hidden ones left out."""
    yield from sorted(p for p in folder.iterdir() if p.is_dir() and p.name[0] != ".")


def _read(folder: Path, name: str, config: Config) -> Pixels:
    """Return the frames (T, C, H, W) of a video."""
    files = find_pictures(folder)
    if len(files) < FRAMES:
        raise ValueError(f"it has {len(files)} frames, {FRAMES} are wanted")
    chosen = _choose(name, len(files), config)
    pictures = [open_picture(files[step], least=DETECTION) for step in chosen]
    if config.crop == "face":
        box = _find_face(pictures)
        pictures = [picture.crop(box) for picture in pictures]
    return np.stack([LOOK.frame(picture) for picture in pictures])


def _choose(name: str, total: int, config: Config) -> Steps:
    """Return the frames of a video; those of one do not depend on what other videos there are."""
    if config.choose == "even":
        return even_steps(total, FRAMES)
    rng = np.random.default_rng([config.seed, zlib.crc32(name.encode())])
    return random_steps(total, FRAMES, rng)


def _find_face(pictures: list[Image.Image]) -> tuple[int, int, int, int]:
    """Return the box (left, top, right, bottom) of the face in the first picture that shows one."""
    detector = _detector()
    for picture in pictures:
        grey = np.asarray(picture.convert("L"))
        least = min(grey.shape) // 8
        faces = detector.detectMultiScale(
            grey, scaleFactor=1.1, minNeighbors=5, minSize=(least, least)
        )
        if len(faces):
            largest = max(faces, key=lambda face: int(face[2]))
            return _widen([int(value) for value in largest], picture.size)
    raise ValueError("no face was found in it")


def _widen(face: list[int], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the square box of a face (left, top, width, height) with a margin, in the picture.

    >>> _widen([100, 50, 100, 100], (320, 320))
    (90, 40, 210, 160)
    >>> _widen([0, 0, 100, 100], (320, 320))
    (0, 0, 120, 120)
    """
    left, top, width, height = face
    side = min(round(max(width, height) * (1 + 2 * MARGIN)), *size)
    x, y = (
        min(max(0, round(start + length / 2 - side / 2)), most - side)
        for start, length, most in zip((left, top), (width, height), size, strict=True)
    )
    return x, y, x + side, y + side


def _detector() -> Any:
    """Return OpenCV's cascade for frontal faces; every thread has one, as they have a state."""
    if not hasattr(_OF_THREAD, "detector"):
        try:
            cv2 = import_module("cv2")
        except ImportError:
            raise ValueError(
                'mug: faces are found with OpenCV: pip install "unbraid[faces]", or take the '
                'middle of the pictures with the setting crop = "none".'
            ) from None
        cascade = f"{cv2.data.haarcascades}haarcascade_frontalface_default.xml"
        _OF_THREAD.detector = cv2.CascadeClassifier(cascade)
    return _OF_THREAD.detector
