"""SM-MNIST: two MNIST digits that move and bounce, 15 x 64 x 64 grey.

The motion is that of Stochastic Moving MNIST (Denton and Fergus, ICML 2018): digits are enlarged
from 28 to 32 pixels; a digit keeps its velocity of at most 4 pixels per step until it hits a wall,
where direction and speed are drawn anew; where digits overlap their values add up. Which images,
where and how fast is drawn once, from the seed; the frames themselves are painted whenever they
are asked for, so that more sequences hardly cost memory.

Static factors: `pair`, `first` and `second` digit. Dynamic factors: the quadrant of the middle of
either digit, one label per step. Training digits are of MNIST's training images, a tenth of which
is kept for validation, test digits of its test images.

Departures: The papers print neither how many sequences they use nor how their judge tells the 100
"digit combinations" apart, although two digits alike in all but their place make 55. Here the
second digit has 60 % of the brightness of the first, so that all 100 can be told apart;
`order="none"` has both alike, as published, and 55 pairs in which `first` is the smaller digit (of
two equal ones nobody can tell which is `first`). The published H(y), 2.18 nats, is that of about
nine classes, not of 100. In a corner both new velocities lead away from the walls; in the original
one may lead into its wall again.
"""

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from unbraid.data.cache import NewArray, Prepared
from unbraid.data.collection import PARTS, Collection
from unbraid.data.corpus import Corpus
from unbraid.data.download import Publisher
from unbraid.data.generated.bounce import (
    BRIGHTNESS,
    DIGIT_FACTORS,
    PAIRS,
    QUADRANT_FACTORS,
    BouncingScenes,
    Painted,
    Pixels,
    Stage,
    deal_images,
    draw_pairs,
    draw_scenes,
)
from unbraid.data.published import Progress, Published
from unbraid.records import Factor
from unbraid.settings import at_least

SIDE, DIGIT = 28, 32  # of MNIST's images, and as they are painted
STAGE = Stage(digit=DIGIT, room=31, rest=True)  # the original stops one pixel before the wall
CHUNK = 10_000  # images enlarged together
VALIDATION = 0.1  # share of the training images
UNORDERED = np.array([pair for pair in range(100) if pair // 10 <= pair % 10])
# SHA-256 of the pixels and labels of training and test, headers left out.
CONTENT = "06b0d1f124c4e5fa796686ade41a9b778edacc8622f2195a352ef479ad44fc16"

SOURCE = Publisher(
    name="MNIST",
    base="https://ossci-datasets.s3.amazonaws.com/mnist",
    files={
        f"{name}-ubyte.gz": sha256
        for name, sha256 in {
            "train-images-idx3": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "train-labels-idx1": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "t10k-images-idx3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "t10k-labels-idx1": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        }.items()
    },
    licence="CC BY-SA 3.0, as commonly listed; the files bring no licence text with them.",
    citation="Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Gradient-based learning applied to "
    "document recognition, Proceedings of the IEEE 86, 1998; for the moving digits E. Denton and "
    "R. Fergus, Stochastic Video Generation with a Learned Prior, ICML 2018.",
)

SET = Published(name="sm-mnist", folder="mnist", source=SOURCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where MNIST is, how many sequences, and which."""

    root: str = ""  # folder of MNIST's four files; empty: UNBRAID_DATA/mnist. Unused once prepared
    train: int = 10_000
    validation: int = 1_000
    test: int = 2_000
    order: Literal["brightness", "none"] = (
        "brightness"  # how the first digit is told from the other
    )
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, *PARTS)
        at_least(self, 0, "seed")


def load(config: Config, *, progress: Progress | None = None) -> Corpus:
    """Return the data set; a split does not change with the sizes of the others.

    Raises:
        ValueError: a file is missing or damaged, or the digits are not MNIST's. No cache is left
            behind.
    """
    prepared = SET.open(config.root, {}, lambda root, new: _build(root, new, progress))
    scenes = _draw(prepared, config)
    x = Painted(
        pictures=prepared.arrays["pictures"],
        images=np.concatenate([part.images for part in scenes]),
        paths=np.concatenate([part.paths for part in scenes]),
        brightness=BRIGHTNESS if config.order == "brightness" else (1.0, 1.0),
    )
    names = PAIRS if config.order == "brightness" else tuple(PAIRS[pair] for pair in UNORDERED)
    collection = Collection(
        name="sm-mnist",
        kind="video",
        x=x,
        rate=8.0,
        labels={
            label: np.concatenate([part.labels[label] for part in scenes])
            for label in scenes[0].labels
        },
        static=(Factor(name="pair", classes=len(names), values=names), *DIGIT_FACTORS),
        dynamic=QUADRANT_FACTORS,
    )
    sizes = [len(part.images) for part in scenes]
    train, validation, test = np.split(np.arange(len(x)), np.cumsum(sizes)[:-1])
    return collection.cut(train=train, validation=validation, test=test)


def _draw(prepared: Prepared, config: Config) -> list[BouncingScenes]:
    """Draw the sequences of training, validation and test, each from images of its own."""
    digit, count = np.asarray(prepared.arrays["digit"]), prepared.facts["training_images"]
    shares = {"train": 1 - VALIDATION, "validation": VALIDATION}
    pools = deal_images(digit[:count], shares, config.seed)
    pools["test"] = [count + np.flatnonzero(digit[count:] == number) for number in range(10)]
    drawn = []
    for place, name in enumerate(PARTS):
        rng = np.random.default_rng([config.seed, place])
        pair = draw_pairs(getattr(config, name), rng)
        if config.order == "none":
            pair = np.minimum(pair, pair % 10 * 10 + pair // 10)  # the smaller digit first
        scenes = draw_scenes(pair, pools[name], STAGE, rng)
        if config.order == "none":
            classes = np.searchsorted(UNORDERED, pair)
            scenes = BouncingScenes(
                images=scenes.images, paths=scenes.paths, labels={**scenes.labels, "pair": classes}
            )
        drawn.append(scenes)
    return drawn


def _build(root: Path, new: NewArray, progress: Progress | None) -> dict[str, int]:
    """Store all digits, enlarged, and which digit each is; training comes first."""
    parts = [(_images(root, part), _labels(root, part)) for part in ("train", "t10k")]
    digest = hashlib.sha256()
    for images, labels in parts:
        digest.update(images.tobytes())
        digest.update(labels.tobytes())
    if digest.hexdigest() != CONTENT:
        raise ValueError(
            f"{root} holds files in MNIST's format which are not MNIST (SHA-256 of the contents "
            f"{digest.hexdigest()}, wanted {CONTENT}). Get it with `unbraid data prepare sm-mnist "
            "--root DIR --download`."
        )
    images = np.concatenate([part[0] for part in parts])
    new("digit", (len(images),), np.int64)[:] = np.concatenate([part[1] for part in parts])
    pictures = new("pictures", (len(images), DIGIT, DIGIT), np.uint8)
    for start in range(0, len(images), CHUNK):
        pictures[start : start + CHUNK] = enlarge(images[start : start + CHUNK])
        if progress is not None:
            progress(min(1.0, (start + CHUNK) / len(images)))
    return {"training_images": len(parts[0][0])}


def enlarge(images: Pixels) -> Pixels:
    """Return (N, 28, 28) as (N, 32, 32), interpolated linearly: one axis of all, then the other."""
    for _ in range(2):
        count, rows, columns = images.shape
        strip = Image.fromarray(images.reshape(count * rows, columns))
        wide = strip.resize((DIGIT, count * rows), Image.Resampling.BILINEAR)
        images = np.asarray(wide).reshape(count, rows, DIGIT).transpose(0, 2, 1)
    return images


def _images(root: Path, part: str) -> Pixels:
    images = read_idx(_find(root, f"{part}-images-idx3-ubyte"), axes=3)
    if images.shape[1:] != (SIDE, SIDE):
        raise ValueError(
            f"{part}-images-idx3-ubyte of {root} must hold images of {SIDE} x {SIDE} pixels, got "
            f"shape {images.shape}."
        )
    return images


def _labels(root: Path, part: str) -> Pixels:
    return read_idx(_find(root, f"{part}-labels-idx1-ubyte"), axes=1)


def _find(root: Path, name: str) -> Path:
    """Return a file, packed or not."""
    for path in (root / name, root / f"{name}.gz"):
        if path.is_file():
            return path
    raise ValueError(
        f"{root} should hold {name}.gz or {name}, and there is neither. Get MNIST with "
        f"`unbraid data prepare sm-mnist --root {root} --download`."
    )


def read_idx(path: Path, *, axes: int) -> Pixels:
    """Return the bytes of an IDX file as an array, packed with gzip or not.

    Four bytes (0, 0, 8 for bytes, number of axes) and a big-endian 32-bit length per axis come
    first.

    Raises:
        ValueError: the file cannot be read, or its header or size is not that.
    """
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read: {error}. Get it anew.") from None
    head = 4 + 4 * axes
    if len(raw) < head or raw[:4] != bytes((0, 0, 8, axes)):
        raise ValueError(
            f"{path} must be an IDX file of bytes with {axes} axes, which begins with the bytes "
            f"0 0 8 {axes}, got {' '.join(map(str, raw[:4])) or 'nothing'}."
        )
    shape = tuple(np.frombuffer(raw, ">u4", count=axes, offset=4).tolist())
    wanted = int(np.prod(shape, dtype=object))
    if len(raw) - head != wanted:
        raise ValueError(
            f"{path} says that it holds {' x '.join(map(str, shape))} values and has "
            f"{len(raw) - head} of {wanted} bytes. Get it anew."
        )
    return np.frombuffer(raw, np.uint8, offset=head).reshape(shape)
