"""Paints a drawn character into a scene: scrolling background, light, passing bar, frame noise.

Everything is known before anything is painted: `Scenes` holds the numbers of every sequence, and
`paint` turns some of its rows into pictures.
"""

from dataclasses import dataclass, fields
from functools import cache

import numpy as np
from numpy.typing import NDArray

from unbraid.data.generated.drawing import SIZE, STYLES, Part, coverage
from unbraid.data.generated.poses import MOTIONS

PHASES = 16  # poses of a cycle
SCALES = {"small": 0.64, "medium": 0.8, "large": 0.96}
PATTERNS = ("checks", "diamonds", "dots", "bricks", "clouds")
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenes:
    """What N sequences of T frames show.

    Attributes:
        palettes: (N, channel, part) colours of the character, 0 to 255.
        drawing: (N, T) number of the drawing, from `drawing_number`.
        place: (N, T, 2) how far right of and below the middle the character is, in pixels.
        pattern: (N,) of `PATTERNS`.
        colours: (N, 2, channel) of the background, 0 to 255.
        origin: (N, T, 2) where in the pattern a frame begins, in pixels; patterns repeat.
        light: (N, T, channel) what colours are multiplied by.
        bar: (N, T) left edge of the bar, in pixels; it may be outside the picture.
        bar_width: (N,) in pixels, 0 for none.
        bar_colour: (N, channel), 0 to 255.
        noise: standard deviation of pixel noise, of 255.
    """

    palettes: Floats
    drawing: Ints
    place: Ints
    pattern: Ints
    colours: Floats
    origin: Ints
    light: Floats
    bar: Ints
    bar_width: Ints
    bar_colour: Floats
    noise: float

    def rows(self, some: slice) -> "Scenes":
        """Return some of the sequences."""
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        return Scenes(**{k: v if k == "noise" else v[some] for k, v in parts.items()})


def drawing_number(style: Ints, motion: Ints, size: Ints, phase: Ints) -> Ints:
    """Return which drawing of the atlas shows this."""
    shape = (len(STYLES), len(MOTIONS), len(SCALES), PHASES)
    return np.ravel_multi_index((style, motion, size, phase % PHASES), shape)


def paint(scenes: Scenes, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return the pictures, (N, T, 3, 64, 64), before noise the same whatever the generator."""
    count, length = scenes.drawing.shape
    frames = np.arange(count * length) // length  # the sequence of every frame
    ground = _background(scenes, frames)
    figure = _characters(scenes, frames)
    picture = figure[:, :3] + (1 - figure[:, 3:]) * ground
    if scenes.bar_width.any():
        _cover(picture, scenes, frames)
    picture *= scenes.light.reshape(-1, 3, 1, 1)
    if scenes.noise:
        picture += scenes.noise * rng.standard_normal(picture.shape, dtype=np.float32)
    pixels = np.clip(picture + 0.5, 0, 255).astype(np.uint8)
    return pixels.reshape(count, length, 3, SIZE, SIZE)


def _characters(scenes: Scenes, frames: Ints) -> Floats:
    """Return the characters at their places, (frame, red green blue opacity, 64, 64)."""
    drawing = scenes.drawing.ravel()
    layers = np.empty((len(drawing), 4, SIZE * SIZE), dtype=np.float32)
    weights = np.zeros((len(drawing), 4, len(Part)), dtype=np.float32)
    weights[:, :3] = scenes.palettes[frames]
    weights[:, 3] = 1.0
    weights[:, :, Part.BACKGROUND] = 0.0
    order = np.argsort(drawing, kind="stable")
    kinds, starts = np.unique(drawing[order], return_index=True)
    for kind, rows in zip(kinds, np.split(order, starts[1:]), strict=True):
        shares = _atlas(int(kind)).astype(np.float32) / 255
        layers[rows] = (weights[rows].reshape(-1, len(Part)) @ shares).reshape(-1, 4, SIZE * SIZE)
    return _shift(layers.reshape(-1, 4, SIZE, SIZE), scenes.place.reshape(-1, 2))


def _shift(pictures: Floats, by: Ints) -> Floats:
    """Move every picture right and down; what comes in from outside is empty."""
    moved = np.zeros_like(pictures)
    for row, (x, y) in enumerate(np.clip(by, -SIZE, SIZE).tolist()):
        to, of = (
            (slice(max(0, y), SIZE + min(0, y)), slice(max(0, x), SIZE + min(0, x))),
            (slice(max(0, -y), SIZE - max(0, y)), slice(max(0, -x), SIZE - max(0, x))),
        )
        moved[row, :, to[0], to[1]] = pictures[row, :, of[0], of[1]]
    return moved


def _background(scenes: Scenes, frames: Ints) -> Floats:
    """Return the scrolled patterns in their two colours, (frame, 3, 64, 64)."""
    patterns = np.tile(_patterns(), (1, 2, 2))  # a crop needs no wrapping
    origin = scenes.origin.reshape(-1, 2) % SIZE
    share = np.empty((len(frames), 1, SIZE, SIZE), dtype=np.float32)
    for row, (x, y) in enumerate(origin.tolist()):
        share[row, 0] = patterns[scenes.pattern[frames[row]], y : y + SIZE, x : x + SIZE]
    first, second = (scenes.colours[frames, k, :, None, None] for k in (0, 1))
    return first + share * (second - first)


def _cover(picture: Floats, scenes: Scenes, frames: Ints) -> None:
    """Draw the bar over everything, from top to bottom."""
    column = np.arange(SIZE)
    left, width = scenes.bar.reshape(-1, 1), scenes.bar_width[frames, None]
    behind = (column >= left) & (column < left + width)  # (frame, column)
    bar = scenes.bar_colour[frames, :, None, None]
    np.copyto(picture, bar, where=behind[:, None, None, :])


@cache
def _atlas(kind: int) -> NDArray[np.uint8]:
    """Return the coverage of one drawing, (part, pixel), in 255ths."""
    shape = (len(STYLES), len(MOTIONS), len(SCALES), PHASES)
    style, motion, size, phase = (int(index) for index in np.unravel_index(kind, shape))
    pose = list(MOTIONS.values())[motion]((phase + 0.5) / PHASES)
    shares = coverage(pose, STYLES[style], list(SCALES.values())[size])
    return (255 * shares + 0.5).astype(np.uint8)


@cache
def _patterns() -> Floats:
    """Return the patterns, (pattern, 64, 64), 0 to 1; each repeats every 64 pixels both ways."""
    y, x = 2 * np.pi * np.mgrid[:SIZE, :SIZE] / SIZE
    bricks = np.where(np.sin(4 * y) > 0, np.sin(2 * x), np.sin(2 * x + np.pi / 2))
    rng = np.random.default_rng(64)
    clouds = sum(
        np.cos(i * x + j * y + rng.uniform(0, 2 * np.pi))
        for i in range(4)
        for j in range(-3, 4)
        if 2 <= i * i + j * j <= 10
    )
    waves = {
        "checks": np.sin(2 * x) * np.sin(2 * y),
        "diamonds": np.sin(2 * (x + y)) * np.sin(2 * (x - y)),
        "dots": np.cos(4 * x) + np.cos(4 * y) - 0.5,
        "bricks": bricks * np.minimum(1.0, 2 * np.abs(np.sin(4 * y))) + 0.3,
        "clouds": clouds / 3,
    }
    return np.stack([(1 + np.tanh(4 * waves[name])) / 2 for name in PATTERNS]).astype(np.float32)
