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

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unbraid.data.corpus import Corpus, Split
from unbraid.data.generated.bounce import (
    BRIGHTNESS,
    DIGIT_FACTORS,
    LENGTH,
    PAIRS,
    QUADRANT_FACTORS,
    SIZE,
    Ints,
    Pixels,
    Stage,
    deal_images,
    draw_pairs,
    draw_scenes,
    paint,
)
from unbraid.records import Factor, Spec
from unbraid.safety.limits import check_generated
from unbraid.settings import at_least

DIGIT = 22
STAGE = Stage(digit=DIGIT, room=SIZE - DIGIT)
SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}  # of the images of every digit


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
        check_generated(self.train + self.validation + self.test, LENGTH * SIZE * SIZE)


def load(config: Config) -> Corpus:
    """Return the data set; a split does not change with the sizes of the others."""
    spec = Spec(
        name="toy-digits",
        kind="video",
        frame=(1, SIZE, SIZE),
        length=LENGTH,
        static=(Factor(name="pair", classes=100, values=PAIRS), *DIGIT_FACTORS),
        dynamic=QUADRANT_FACTORS,
        scale=(255.0,),
        size=config.train,
        rate=8.0,
    )
    images, digits = _images()
    splits = {}
    for name, pool in deal_images(digits, SHARES, config.seed).items():
        rng = np.random.default_rng([config.seed, list(SHARES).index(name)])
        x, labels = _sequences(images, pool, getattr(config, name), rng)
        splits[name] = Split(spec=spec, x=x, rows=np.arange(len(x)), labels=labels)
    return Corpus(
        spec=spec, train=splits["train"], validation=splits["validation"], test=splits["test"]
    )


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


def _sequences(
    images: NDArray[np.float32], pool: list[Ints], count: int, rng: np.random.Generator
) -> tuple[Pixels, Mapping[str, Ints]]:
    """Return `count` sequences, (N, 15, 1, 64, 64), and their labels."""
    scenes = draw_scenes(draw_pairs(count, rng), pool, STAGE, rng)
    x = np.zeros((count, LENGTH, SIZE, SIZE), dtype=np.uint8)
    for which, light in enumerate(BRIGHTNESS):
        digits = np.round(255 * light * images[scenes.images[:, which]]).astype(np.uint8)
        paint(x, digits, scenes.paths[:, which])
    return x[:, :, None], scenes.labels
