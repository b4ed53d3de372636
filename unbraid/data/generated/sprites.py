"""Toy sprites: drawn characters doing drawn motions, 8 x 64 x 64 RGB, on a plain dark background.

Static factors: skin (4), style (4) and hair colour (5), top (5), trousers (5), 2000 characters in
all; every one of them shows in every frame. Dynamic factor: motion (8). Turning left and turning
right have the same frames in opposite order.

Random: who does what, and the phase (one of 16) in which a motion starts; a motion is a cycle of
eight frames, so that one frame does not tell the motion and the first is like any other. Motions
are balanced and independent of the characters. Characters are dealt to training, validation and
test in rounds of 20 in which every value occurs, so that a character (the label `character`) is in
one split only and any split of five sequences shows every value.
"""

from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import Corpus, Split
from unbraid.data.generated.drawing import SIZE, STYLES, Part, coverage
from unbraid.data.generated.poses import MOTIONS
from unbraid.records import Factor, Spec
from unbraid.safety.limits import check_generated
from unbraid.settings import at_least

LENGTH, PHASES = 8, 16
ROUND = 20  # least common multiple of the numbers of values
SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}  # of the characters

COLOURS: dict[str, dict[str, str]] = {
    "skin": {"pale": "f9dcc4", "tan": "d99a5b", "brown": "8d5230", "green": "8cc767"},
    "hair": {
        "gold": "f5c242",
        "red": "d6404a",
        "silver": "dfe5ec",
        "blue": "4a86f0",
        "pink": "f07bc0",
    },
    "top": {
        "red": "e2483d",
        "blue": "3878dc",
        "green": "38a860",
        "yellow": "f4cd3c",
        "white": "f0f0ec",
    },
    "trousers": {
        "indigo": "5a5fc8",
        "brown": "a4683a",
        "grey": "9ca3ad",
        "plum": "b84fa8",
        "teal": "2aa8a4",
    },
}
FIXED = {Part.BACKGROUND: "1b1d2a", Part.INK: "0f1018", Part.WHITE: "ffffff", Part.SHOES: "c9b8a0"}
VALUES = {
    "skin": tuple(COLOURS["skin"]),
    "style": STYLES,
    "hair": tuple(COLOURS["hair"]),
    "top": tuple(COLOURS["top"]),
    "trousers": tuple(COLOURS["trousers"]),
}
SHADE = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How many sequences, and which."""

    train: int = 2000
    validation: int = 200
    test: int = 400
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, *SHARES)
        at_least(self, 0, "seed")
        check_generated(self.train + self.validation + self.test, 3 * LENGTH * SIZE * SIZE)


def load(config: Config) -> Corpus:
    """Return the data set; a split does not change with the sizes of the others."""
    spec = Spec(
        name="toy-sprites",
        kind="video",
        frame=(3, SIZE, SIZE),
        length=LENGTH,
        static=tuple(Factor(name=k, classes=len(v), values=v) for k, v in VALUES.items()),
        dynamic=(Factor(name="motion", classes=len(MOTIONS), values=tuple(MOTIONS)),),
        scale=(255.0,),
        size=config.train,
        rate=8.0,
    )
    splits = {}
    for name, characters in deal_characters(config.seed).items():
        rng = np.random.default_rng([config.seed, list(SHARES).index(name)])
        labels, phase = _draw_labels(characters, getattr(config, name), rng)
        rows = np.arange(getattr(config, name))
        splits[name] = Split(spec=spec, x=render(labels, phase), rows=rows, labels=labels)
    return Corpus(
        spec=spec, train=splits["train"], validation=splits["validation"], test=splits["test"]
    )


def values_of(character: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return the values of the static factors of characters, (N,) each."""
    sizes = tuple(len(values) for values in VALUES.values())
    return dict(zip(VALUES, np.unravel_index(character, sizes), strict=True))


def deal_characters(seed: int) -> dict[str, NDArray[np.int64]]:
    """Deal the characters to the splits in rounds; a round steps all factors at once."""
    sizes = tuple(len(values) for values in VALUES.values())
    step = np.arange(ROUND)
    starts = np.stack(
        np.unravel_index(np.arange(prod(sizes)), sizes), axis=-1
    )  # (character, factor)
    rounds = (starts[:, None] + step[:, None]) % sizes
    numbers = np.ravel_multi_index(tuple(np.moveaxis(rounds, -1, 0)), sizes)
    distinct = numbers[numbers.argmin(1) == 0]  # every round once
    shuffled = np.random.default_rng(seed).permutation(distinct)
    cuts = np.cumsum([round(share * len(shuffled)) for share in SHARES.values()])[:-1]
    return {k: part.ravel() for k, part in zip(SHARES, np.split(shuffled, cuts), strict=True)}


def _draw_labels(
    characters: NDArray[np.int64], count: int, rng: np.random.Generator
) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.int64]]:
    """Return labels of `count` sequences and the phase in which each starts."""
    character = np.resize(characters, count)
    rounds = -(-count // len(MOTIONS))
    motion = rng.permuted(np.tile(np.arange(len(MOTIONS)), (rounds, 1)), axis=1).ravel()[:count]
    labels = values_of(character) | {"motion": motion, "character": character}
    order = rng.permutation(count)
    return {k: v[order] for k, v in labels.items()}, rng.integers(PHASES, size=count)


def render(labels: dict[str, NDArray[np.int64]], phase: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the pictures, (N, 8, 3, 64, 64), of labelled sequences that start in a phase."""
    steps = phase[:, None] + np.arange(LENGTH) * PHASES // LENGTH
    drawing = (labels["style"] * len(MOTIONS) + labels["motion"])[:, None] * PHASES + steps % PHASES
    palettes = np.repeat(palettes_of(labels), LENGTH, axis=0)  # (frame, channel, part)
    frames = np.empty((len(palettes), 3, SIZE, SIZE), dtype=np.uint8)
    order = np.argsort(drawing, axis=None, kind="stable")
    kinds, starts = np.unique(drawing.ravel()[order], return_index=True)
    for kind, rows in zip(kinds, np.split(order, starts[1:]), strict=True):
        mixed = palettes[rows].reshape(-1, len(Part)) @ _drawing(int(kind))
        frames[rows] = (mixed + 0.5).astype(np.uint8).reshape(-1, 3, SIZE, SIZE)
    return frames.reshape(-1, LENGTH, 3, SIZE, SIZE)


@cache
def _drawing(kind: int) -> NDArray[np.float32]:
    """Return one drawing of the atlas style x motion x phase."""
    style, motion, phase = np.unravel_index(kind, (len(STYLES), len(MOTIONS), PHASES))
    return coverage(list(MOTIONS.values())[motion](phase / PHASES), STYLES[style])


def palettes_of(labels: dict[str, NDArray[np.int64]]) -> NDArray[np.float32]:
    """Return the colour of every part, (N, channel, part)."""
    palettes = np.zeros((len(labels["skin"]), 3, len(Part)), dtype=np.float32)
    for part, colour in FIXED.items():
        palettes[:, :, part] = list(bytes.fromhex(colour))
    for name, colours in COLOURS.items():
        table = np.array([list(bytes.fromhex(c)) for c in colours.values()], dtype=np.float32)
        palettes[:, :, Part[name.upper()]] = table[labels[name]]
        palettes[:, :, Part[f"{name.upper()}_SHADE"]] = SHADE * table[labels[name]]
    return palettes
