"""Toy digits: two handwritten digits that move and bounce, 15 x 64 x 64 grey.

The digits are those that come with scikit-learn (8 x 8), enlarged to 22 x 22; the motion is that of
Stochastic Moving MNIST: a digit keeps its velocity until it hits a wall, where direction and speed
are drawn anew; where digits overlap the brighter one shows.

Static factors: `first` and `second` digit (10 each) and `pair` (100, first times ten plus second).
The order of a pair can be seen: the first digit is drawn at full brightness, the second at 60 %.
Dynamic factors: the quadrant (4) of the middle of either digit, one label per step.

Random: images, places, velocities, new velocities at walls. Pairs are balanced. The images (labels
`first_image`, `second_image`) of training, validation and test are different ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unbraid.data.corpus import Corpus, Split
from unbraid.records import Factor, Spec
from unbraid.settings import at_least

LENGTH, SIZE, DIGIT = 15, 64, 22
ROOM = SIZE - DIGIT  # largest coordinate of the upper left corner of a digit
FASTEST = 4  # pixels per step along an axis
BRIGHTNESS = (1.0, 0.6)
SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}  # of the images of every digit
QUADRANTS = ("upper left", "upper right", "lower left", "lower right")
DIGITS = tuple(str(digit) for digit in range(10))
_CHUNK = 128  # sequences painted at a time

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How many sequences, and which."""

    train: int = 4000
    validation: int = 400
    test: int = 800
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, *SHARES)
        at_least(self, 0, "seed")


def load(config: Config) -> Corpus:
    """Return the data set; a split does not change with the sizes of the others."""
    pairs = tuple(f"{first} {second}" for first in DIGITS for second in DIGITS)
    spec = Spec(
        name="toy-digits",
        kind="video",
        frame=(1, SIZE, SIZE),
        length=LENGTH,
        static=(
            Factor(name="pair", classes=100, values=pairs),
            Factor(name="first", classes=10, values=DIGITS),
            Factor(name="second", classes=10, values=DIGITS),
        ),
        dynamic=tuple(
            Factor(name=f"{which}_quadrant", classes=4, values=QUADRANTS, per_step=True)
            for which in ("first", "second")
        ),
        scale=(255.0,),
        size=config.train,
        rate=8.0,
    )
    images, digits = _images()
    splits = {}
    for name, pool in _deal(digits, config.seed).items():
        rng = np.random.default_rng([config.seed, list(SHARES).index(name)])
        x, labels = _sequences(images, pool, getattr(config, name), rng)
        splits[name] = Split(spec=spec, x=x, rows=np.arange(len(x)), labels=labels)
    return Corpus(spec=spec, **splits)


def _images() -> tuple[NDArray[np.float32], Ints]:
    """Return scikit-learn's digits, enlarged, with values in [0, 1], and which digit each is."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    size = (DIGIT, DIGIT)
    large = [
        np.asarray(Image.fromarray(small.astype(np.float32)).resize(size, Image.Resampling.BICUBIC))
        for small in bunch.images
    ]
    ink = np.clip((np.stack(large) / 16 - 0.25) / 0.5, 0, 1)  # crisper strokes
    return ink.astype(np.float32), bunch.target.astype(np.int64)


def _deal(digits: Ints, seed: int) -> dict[str, list[Ints]]:
    """Deal the images to the splits: for every split, the images of every digit."""
    rng = np.random.default_rng(seed)
    pools: dict[str, list[Ints]] = {name: [] for name in SHARES}
    for digit in range(10):
        images = rng.permutation(np.flatnonzero(digits == digit))
        cuts = np.cumsum([round(share * len(images)) for share in SHARES.values()])[:-1]
        for pool, part in zip(pools.values(), np.split(images, cuts), strict=True):
            pool.append(part)
    return pools


def _sequences(
    images: NDArray[np.float32], pool: list[Ints], count: int, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], dict[str, Ints]]:
    """Return `count` sequences, (N, 15, 1, 64, 64), and their labels."""
    rounds = -(-count // 100)
    pair = rng.permuted(np.tile(np.arange(100), (rounds, 1)), axis=1).ravel()[:count]
    labels = {"pair": pair}
    x = np.zeros((count, LENGTH, SIZE, SIZE), dtype=np.uint8)
    for which, digit, light in zip(("first", "second"), divmod(pair, 10), BRIGHTNESS, strict=True):
        sizes = np.array([len(images_of_digit) for images_of_digit in pool])
        pick = rng.integers(sizes[digit])
        image = np.array([pool[d][i] for d, i in zip(digit, pick, strict=True)])
        path = _paths(count, rng)
        _paint(x, np.round(255 * light * images[image]).astype(np.uint8), path)
        right, low = (path + DIGIT // 2 >= SIZE // 2).astype(np.int64).transpose(2, 0, 1)
        labels |= {which: digit, f"{which}_image": image, f"{which}_quadrant": 2 * low + right}
    return x[:, :, None], labels


def _paths(count: int, rng: np.random.Generator) -> Ints:
    """Return where the upper left corner of a digit is, (N, 15, 2), as x and y.

    A coordinate that would leave [0, ROOM] stops at the wall; then it goes back at a new speed of
    1 to FASTEST, and the other coordinate gets a new velocity of -FASTEST to FASTEST.
    """
    place = rng.integers(ROOM + 1, size=(count, 2))
    velocity = rng.choice((-1, 1), size=(count, 2)) * rng.integers(1, FASTEST + 1, size=(count, 2))
    path = [place]
    for _ in range(1, LENGTH):
        aim = place + velocity
        place = np.clip(aim, 0, ROOM)
        hit = np.sign(place - aim)  # 1 at the left or upper wall, -1 at the others
        fresh = rng.integers(-FASTEST, FASTEST + 1, size=(count, 2))
        away = hit * rng.integers(1, FASTEST + 1, size=(count, 2))
        redrawn = np.where(hit != 0, away, fresh)
        velocity = np.where(hit.any(1, keepdims=True), redrawn, velocity)
        path.append(place)
    return np.stack(path, axis=1)


def _paint(x: NDArray[np.uint8], digits: NDArray[np.uint8], path: Ints) -> None:
    """Paint a digit per sequence along its path into `x`, (N, 15, 64, 64), by maximum."""
    span = np.arange(DIGIT)
    square = span[:, None] * SIZE + span  # (DIGIT, DIGIT)
    step = np.arange(LENGTH) * SIZE**2
    for start in range(0, len(x), _CHUNK):
        some = slice(start, start + _CHUNK)
        corner = step + path[some, :, 1] * SIZE + path[some, :, 0]  # (n, T)
        corner += np.arange(len(corner))[:, None] * LENGTH * SIZE**2
        cells = corner[:, :, None, None] + square
        flat = x[some].reshape(-1)
        flat[cells] = np.maximum(flat[cells], digits[some, None])
