"""Two digits that move and bounce: what toy digits and SM-MNIST have in common.

A digit keeps its velocity until it hits a wall, where direction and speed are drawn anew, as in
Stochastic Moving MNIST (Denton and Fergus, ICML 2018).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import Array
from unbraid.records import Factor

LENGTH, SIZE = 15, 64
FASTEST = 4  # pixels per step along an axis
WHICH = ("first", "second")
BRIGHTNESS = (1.0, 0.6)  # of the first and the second digit, so that their order can be seen
DIGITS = tuple(str(digit) for digit in range(10))
PAIRS = tuple(f"{first} {second}" for first in DIGITS for second in DIGITS)
QUADRANTS = ("upper left", "upper right", "lower left", "lower right")
QUADRANT_FACTORS = tuple(
    Factor(name=f"{which}_quadrant", classes=4, values=QUADRANTS, per_step=True) for which in WHICH
)
DIGIT_FACTORS = tuple(Factor(name=which, classes=10, values=DIGITS) for which in WHICH)

Ints = NDArray[np.int64]
Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where digits move."""

    digit: int  # pixels of the side of a digit
    room: int  # largest coordinate of the upper left corner of a digit
    rest: bool = False  # whether a digit may start without moving along an axis


@dataclass(frozen=True, slots=True, kw_only=True)
class BouncingScenes:
    """All that is random of some sequences; to paint them draws nothing.

    Attributes:
        images: (N, 2) number of the image of the first and of the second digit.
        paths: (N, 2, 15, 2) x and y of the upper left corner of either digit.
        labels: pair, digits, images, and quadrants per step.
    """

    images: Ints
    paths: Pixels
    labels: Mapping[str, Ints]


def deal_images(digits: Ints, shares: Mapping[str, float], seed: int) -> dict[str, list[Ints]]:
    """Deal the images to the splits: for every split, the images of every digit."""
    rng = np.random.default_rng(seed)
    pools: dict[str, list[Ints]] = {name: [] for name in shares}
    for digit in range(10):
        images = rng.permutation(np.flatnonzero(digits == digit))
        cuts = np.cumsum([round(share * len(images)) for share in shares.values()])[:-1]
        for pool, part in zip(pools.values(), np.split(images, cuts), strict=True):
            pool.append(part)
    return pools


def draw_pairs(count: int, rng: np.random.Generator) -> Ints:
    """Return `count` pairs, first digit times ten plus second, as often one as the other."""
    rounds = -(-count // 100)
    return rng.permuted(np.tile(np.arange(100), (rounds, 1)), axis=1).ravel()[:count]


def draw_scenes(
    pair: Ints, pool: Sequence[Ints], stage: Stage, rng: np.random.Generator
) -> BouncingScenes:
    """Draw an image and a path for both digits of every pair.

    Args:
        pair: (N,) first digit times ten plus second.
        pool: for every digit, the images to draw from.
        stage: where they move.
        rng: where all chance comes from.
    """
    labels, images, paths = {"pair": pair}, [], []
    sizes = np.array([len(images_of_digit) for images_of_digit in pool])
    for which, digit in zip(WHICH, divmod(pair, 10), strict=True):
        pick = rng.integers(sizes[digit])
        image = np.array([pool[d][i] for d, i in zip(digit, pick, strict=True)])
        path = draw_paths(len(pair), stage, rng)
        right, low = (path + stage.digit // 2 >= SIZE // 2).astype(np.int64).transpose(2, 0, 1)
        labels |= {which: digit, f"{which}_image": image, f"{which}_quadrant": 2 * low + right}
        images.append(image)
        paths.append(path.astype(np.uint8))
    return BouncingScenes(images=np.stack(images, 1), paths=np.stack(paths, 1), labels=labels)


def draw_paths(count: int, stage: Stage, rng: np.random.Generator) -> Ints:
    """Return where the upper left corner of a digit is, (N, 15, 2), as x and y.

    A coordinate that would leave [0, room] stops at the wall; then it goes back at a new speed of
    1 to FASTEST, and the other coordinate gets a new velocity of -FASTEST to FASTEST.
    """
    size = (count, 2)
    place = rng.integers(stage.room + 1, size=size)
    if stage.rest:
        velocity = rng.integers(-FASTEST, FASTEST + 1, size=size)
    else:
        velocity = rng.choice((-1, 1), size=size) * rng.integers(1, FASTEST + 1, size=size)
    path = [place]
    for _ in range(1, LENGTH):
        aim = place + velocity
        place = np.clip(aim, 0, stage.room)
        hit = np.sign(place - aim)  # 1 at the left or upper wall, -1 at the others
        fresh = rng.integers(-FASTEST, FASTEST + 1, size=size)
        away = hit * rng.integers(1, FASTEST + 1, size=size)
        redrawn = np.where(hit != 0, away, fresh)
        velocity = np.where(hit.any(1, keepdims=True), redrawn, velocity)
        path.append(place)
    return np.stack(path, axis=1)


def paint(x: Pixels, digits: Pixels, path: Array, *, add: bool = False) -> None:
    """Paint a digit per sequence along its path into `x`, in place.

    Args:
        x: (N, T, H, W) what is there already.
        digits: (N, h, w) one picture per sequence.
        path: (N, T, 2) x and y of its upper left corner.
        add: where something is painted already, add up to 255; else the brighter one shows.
    """
    shape = digits.shape[1:]
    windows = np.lib.stride_tricks.sliding_window_view(x, shape, axis=(2, 3), writeable=True)
    sequence, step = np.ogrid[: len(x), : x.shape[1]]
    place = (sequence, step, path[..., 1], path[..., 0])
    under, over = windows[place], digits[:, None]  # (N, T, h, w)
    windows[place] = under + np.minimum(over, 255 - under) if add else np.maximum(under, over)


@dataclass(frozen=True, slots=True, kw_only=True)
class Painted:
    """Sequences (N, 15, 1, 64, 64) like an array, painted when their rows are asked for.

    Nothing is kept, so memory does not grow with frames, and nothing is drawn: a row is always the
    same sequence.

    Attributes:
        pictures: (M, h, w) the images of digits; may be memory-mapped.
        images: (N, 2) which of them either digit of a sequence is.
        paths: (N, 2, 15, 2) x and y of the upper left corner of either digit.
        brightness: of either digit, at most 1.
    """

    pictures: Pixels
    images: Ints
    paths: Pixels
    brightness: tuple[float, float] = (1.0, 1.0)
    ndim: int = field(default=5, init=False)
    dtype: np.dtype[Any] = field(default=np.dtype(np.uint8), init=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sequences, steps, channels, height, width."""
        return len(self.images), LENGTH, 1, SIZE, SIZE

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, rows: Any) -> Pixels:
        if isinstance(rows, tuple):
            raise IndexError("painted sequences are indexed by rows alone: x[rows][:, steps].")
        images, paths = self.images[rows], self.paths[rows]
        if images.ndim == 1:  # a single row
            return self[np.array([rows])][0]
        x = np.zeros((len(images), *self.shape[1:]), dtype=np.uint8)
        for which, light in enumerate(self.brightness):
            tone = np.round(light * np.arange(256)).astype(np.uint8)
            digits = tone[self.pictures[images[:, which]]]
            paint(x[:, :, 0], digits, paths[:, which], add=True)
        return x

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self[:].astype(dtype or self.dtype, copy=False)
