"""Hard sprites: the characters of `toy-sprites` in scenes that make them hard to separate.

Static factors: skin (4), hair style (4) and colour (5), top (5), trousers (5), body size (3) and
background pattern (5). Dynamic factors: motion (8), its speed (3: a cycle takes 16, 8 or 5.3
frames), the camera, which the background follows (5: still or four directions), and per step the
stage of the motion (2). Nuisances, each a label too, but of no factor: `light` (4 colours) and
`gain`, `tint` of the background, `place` of the character, `phase` it begins in, `bar` passing by.

Training is biased: with the probability `correlation` a character does one of the two motions that
go with its skin, and the camera moves as goes with the background. Every motion, skin, camera and
background is as frequent as without. Validation and test are unbiased, so that a model
that takes one for the other is found out. Characters are dealt as in `toy-sprites`: one that is
in test is not in training.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.data.cache import NewArray, content_key, open_or_build
from unbraid.data.collection import PARTS, Collection
from unbraid.data.corpus import Corpus
from unbraid.data.generated.drawing import SIZE
from unbraid.data.generated.poses import MOTIONS
from unbraid.data.generated.scenes import (
    PATTERNS,
    PHASES,
    SCALES,
    Ints,
    Scenes,
    drawing_number,
    paint,
)
from unbraid.data.generated.sprites import VALUES, deal_characters, palettes_of, values_of
from unbraid.records import Factor
from unbraid.settings import at_least

VERSION = 1  # of what is painted; another one makes the caches anew
CHUNK = 2048  # frames painted together
SPEEDS = {"slow": 1, "normal": 2, "fast": 3}  # sixteenths of a cycle per frame
CAMERAS = {"still": (0, 0), "left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
LIGHTS = {
    "white": (1.0, 1.0, 1.0),
    "warm": (1.1, 0.85, 0.6),
    "cold": (0.7, 0.85, 1.15),
    "dim": (0.6, 0.6, 0.65),
}
PEAKS = {"jump": 0}  # phase at which a motion's second stage begins, if not a quarter
Nuisance = Literal["shift", "light", "tint", "bar", "noise", "correlation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """How strong everything is."""

    correlation: float  # probability that motion and camera follow skin and background
    place: int  # pixels the character may be off the middle, constant in a sequence
    jitter: int  # pixels the camera shakes from frame to frame
    scroll: int  # pixels per frame of a camera that moves
    anywhere: bool  # whether the background begins anywhere in its pattern
    contrast: float  # between the two colours of the background, of 255
    light: float  # 0 none, 1 the full colour of the light
    flicker: float  # standard deviation of the light's gain from frame to frame
    bar: int  # width in pixels
    noise: float  # standard deviation, of 255


LEVELS = {
    "medium": Level(
        correlation=0.5,
        place=3,
        jitter=0,
        scroll=2,
        anywhere=False,
        contrast=60.0,
        light=0.4,
        flicker=0.0,
        bar=4,
        noise=3.0,
    ),
    "hard": Level(
        correlation=0.8,
        place=6,
        jitter=1,
        scroll=3,
        anywhere=True,
        contrast=80.0,
        light=0.8,
        flicker=0.03,
        bar=8,
        noise=6.0,
    ),
}
OFF: dict[str, dict[str, Any]] = {
    "shift": {"place": 0, "jitter": 0},
    "light": {"light": 0.0, "flicker": 0.0},
    "tint": {},
    "bar": {"bar": 0},
    "noise": {"noise": 0.0},
    "correlation": {"correlation": 0.0},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How many sequences, how long and how hard."""

    difficulty: Literal["medium", "hard"] = "medium"
    length: int = 8  # frames, 128 at most
    train: int = 4000
    validation: int = 400
    test: int = 1000
    without: tuple[Nuisance, ...] = ()  # nuisances that are left out, for ablations
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, *PARTS)
        at_least(self, 0, "seed")
        if not 2 <= self.length <= 128:
            raise ValueError(f"length must be 2 to 128 frames, got {self.length}.")

    @property
    def level(self) -> Level:
        """How strong everything is, less what is left out."""
        off = {k: v for name in self.without for k, v in OFF[name].items()}
        return dataclasses.replace(LEVELS[self.difficulty], **off)


def load(config: Config) -> Corpus:
    """Return the data set, painted once and then kept; a split does not depend on the others."""
    key = content_key(version=VERSION, **dataclasses.asdict(config))
    prepared = open_or_build("hard-sprites", key, lambda new: _build(new, config))
    labels = {name: array for name, array in prepared.arrays.items() if name != "x"}
    collection = Collection(
        name="hard-sprites",
        kind="video",
        x=prepared.arrays["x"],
        rate=8.0,
        labels={name: np.asarray(array) for name, array in labels.items()},
        static=tuple(_factor(k, v) for k, v in STATIC.items()),
        dynamic=(
            *(_factor(k, v) for k, v in DYNAMIC.items()),
            Factor(name="stage", classes=2, values=("rest", "peak"), per_step=True),
        ),
    )
    ends = np.cumsum([getattr(config, part) for part in PARTS])
    train, validation, test = np.split(np.arange(ends[-1]), ends[:-1])
    return collection.cut(train=train, validation=validation, test=test)


STATIC = {**VALUES, "size": tuple(SCALES), "background": PATTERNS}
DYNAMIC = {"motion": tuple(MOTIONS), "speed": tuple(SPEEDS), "camera": tuple(CAMERAS)}


def _factor(name: str, values: tuple[str, ...]) -> Factor:
    return Factor(name=name, classes=len(values), values=values)


def _build(new: NewArray, config: Config) -> None:
    """Draw the labels of every split, then paint it in pieces."""
    sizes = {part: getattr(config, part) for part in PARTS}
    x = new("x", (sum(sizes.values()), config.length, 3, SIZE, SIZE), np.uint8)
    parts, start = [], 0
    for place, (part, characters) in enumerate(deal_characters(config.seed).items()):
        rng = np.random.default_rng([config.seed, place])
        labels = draw_labels(characters, sizes[part], config, biased=part == "train", rng=rng)
        scenes = draw_scenes(labels, config, rng)
        step = max(1, CHUNK // config.length)
        for row in range(0, sizes[part], step):
            some = scenes.rows(slice(row, row + step))
            x[start + row : start + row + len(some.pattern)] = paint(some, rng)
        parts.append(labels)
        start += sizes[part]
    for name in parts[0]:
        joined = np.concatenate([labels[name] for labels in parts])
        new(name, joined.shape, joined.dtype)[:] = joined


def draw_labels(
    characters: Ints, count: int, config: Config, *, biased: bool, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Draw who does what, how and where; `biased` as in training."""
    level = config.level
    character = rng.permutation(np.resize(characters, count))
    rho = level.correlation if biased else 0.0
    labels: dict[str, NDArray[Any]] = {**values_of(character), "character": character}
    labels["size"] = rng.integers(len(SCALES), size=count)
    labels["background"] = rng.integers(len(PATTERNS), size=count)
    labels["motion"] = _follow(
        2 * labels["skin"] + rng.integers(2, size=count), len(MOTIONS), rho, rng
    )
    labels["speed"] = rng.integers(len(SPEEDS), size=count)
    labels["camera"] = _follow(labels["background"], len(CAMERAS), rho, rng)
    labels["phase"] = rng.integers(PHASES, size=count)
    first = np.array([PEAKS.get(name, PHASES // 4) for name in MOTIONS])
    phases = phases_of(labels, config.length) - first[labels["motion"], None]
    labels["stage"] = (phases % PHASES < PHASES // 2).astype(np.int64)
    labels["light"] = rng.integers(len(LIGHTS), size=count)
    labels["gain"] = 1 + level.light * rng.uniform(-0.15, 0.15, count)
    labels["tint"] = rng.uniform(0.0, 1.0, count) * ("tint" not in config.without)
    labels["place"] = rng.integers(2 * level.place + 1, size=count)  # from the left
    labels["bar"] = rng.integers(3, size=count) if level.bar else np.zeros(count, dtype=np.int64)
    return labels


def phases_of(labels: dict[str, NDArray[Any]], length: int) -> Ints:
    """Return the phase at every step, (N, T), in sixteenths of a cycle."""
    steps = np.array(list(SPEEDS.values()))[labels["speed"]]
    return (labels["phase"][:, None] + steps[:, None] * np.arange(length)) % PHASES


def _follow(preferred: Ints, classes: int, rho: float, rng: np.random.Generator) -> Ints:
    """Return the preferred class with the probability rho, else any."""
    anything = rng.integers(classes, size=len(preferred))
    return np.where(rng.random(len(preferred)) < rho, preferred, anything)


def draw_scenes(
    labels: dict[str, NDArray[Any]], config: Config, rng: np.random.Generator
) -> Scenes:
    """Return everything that is painted; what labels do not say is drawn here."""
    level, (count, length) = config.level, labels["stage"].shape
    shake = rng.integers(-level.jitter, level.jitter + 1, (count, length, 2))
    along = np.array(list(CAMERAS.values()))[labels["camera"]]  # (N, 2)
    origin = rng.integers(SIZE, size=(count, 1, 2)) * level.anywhere - shake
    origin = origin + level.scroll * along[:, None] * np.arange(length)[:, None]
    place = shake.copy()
    place[..., 0] += labels["place"][:, None] - level.place
    colour = 1 + level.light * (np.array(list(LIGHTS.values()))[labels["light"]] - 1)
    gain = labels["gain"][:, None] + level.flicker * rng.standard_normal((count, length))
    phases = phases_of(labels, length)
    style, motion, size = (labels[name][:, None] for name in ("style", "motion", "size"))
    return Scenes(
        palettes=palettes_of(labels),
        drawing=drawing_number(style, motion, size, phases),
        place=place,
        pattern=labels["background"],
        colours=_colours(labels["tint"], level.contrast),
        origin=origin,
        light=(colour[:, None] * gain[..., None]).astype(np.float32),
        bar=_bars(labels["bar"], length, rng),
        bar_width=np.where(labels["bar"] > 0, level.bar, 0),
        bar_colour=np.repeat(rng.uniform(20, 200, (count, 1)), 3, axis=1).astype(np.float32),
        noise=level.noise,
    )


def _colours(hue: NDArray[np.float64], contrast: float) -> NDArray[np.float32]:
    """Return the darker and the brighter colour of a background, (N, 2, channel)."""
    wheel = np.cos(2 * np.pi * (hue[:, None] - np.array([0.0, 1 / 3, 2 / 3])))  # (N, channel)
    dark = 50 + 25 * wheel
    bright = dark + contrast * (0.75 + 0.25 * np.roll(wheel, 1, axis=1))
    return np.stack([dark, bright], axis=1).astype(np.float32)


def _bars(bar: Ints, length: int, rng: np.random.Generator) -> Ints:
    """Return the left edge of every bar: it crosses the picture within 16 frames, then again."""
    speed = rng.uniform(4.0, 7.0, len(bar)) * np.where(bar == 1, 1, -1)  # pixels per frame
    start = rng.uniform(0, 2 * SIZE, len(bar))
    road = start[:, None] + speed[:, None] * np.arange(length)
    return (road % (1.5 * SIZE) - SIZE / 4).astype(np.int64)
