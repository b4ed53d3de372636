"""Draws a small character in a pose: a skeleton in space, seen from any side.

Nothing here has a colour. A drawing says what share of each pixel every `Part` covers, so that one
drawing serves all characters of a hairstyle: colours times coverage is a picture.
"""

from enum import IntEnum
from math import cos, radians, sin

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from unbraid.data.generated.poses import Point, Pose

SIZE = 64
STYLES = ("short", "long", "spiky", "buns")
_FINE = 4  # every pixel is drawn as 4 x 4
_UNIT = 1.14  # pixels; all lengths below are in this unit
_GROUND, _MIDDLE, _INK = 59.2 / _UNIT, SIZE / 2 / _UNIT, 0.8
_HEAD, _TORSO, _LEG, _ARM = 10.2, 10.5, 6.0, 6.1


class Part(IntEnum):
    """What a pixel can show; the shades colour what is turned away."""

    BACKGROUND = 0
    INK = 1
    WHITE = 2
    SHOES = 3
    SKIN = 4
    SKIN_SHADE = 5
    HAIR = 6
    HAIR_SHADE = 7
    TOP = 8
    TOP_SHADE = 9
    TROUSERS = 10
    TROUSERS_SHADE = 11


def coverage(pose: Pose, style: str, scale: float = 1.0) -> NDArray[np.float32]:
    """Return the share of every pixel that each part covers, (part, pixel).

    Args:
        pose: of the character.
        style: of its hair, one of `STYLES`.
        scale: below 1 the character is smaller and stands in the middle of the picture.
    """
    legs = {
        side: limb.points((side * 3.3, 0.0, 0.0), side, _LEG)
        for side, limb in ((-1, pose.left_leg), (1, pose.right_leg))
    }
    hip = pose.lift - min(points[-1][1] for points in legs.values())  # a foot is on the ground
    pen = _Pen(pose.turn, hip)
    near = 1 if sin(radians(pose.turn)) < 0 else -1
    arms = {
        side: limb.points((side * 6.0, _TORSO - 2.0, 0.0), side, _ARM)
        for side, limb in ((-1, pose.left_arm), (1, pose.right_arm))
    }
    profile = abs(pen.sin) > 0.3
    _long_hair(pen, style, behind=True)
    if profile:
        _arm(pen, arms[-near])
    _leg(pen, legs[-near])
    _leg(pen, legs[near])
    _torso(pen)
    _head(pen, style)
    for side in (near,) if profile else (-1, 1):
        _arm(pen, arms[side])
    return pen.coverage(scale)


class _Pen:
    """Draws shapes, each with an outline in ink, on a fine grid of part numbers."""

    def __init__(self, turn: float, hip: float) -> None:
        self.turn, self.hip = (turn + 180.0) % 360.0 - 180.0, hip
        self.cos, self.sin = cos(radians(turn)), sin(radians(turn))
        self._image = Image.new("L", (SIZE * _FINE, SIZE * _FINE), int(Part.BACKGROUND))
        self._draw = ImageDraw.Draw(self._image)

    def depth(self, point: Point) -> float:
        """Return how much nearer than the middle of the body a point is to the viewer."""
        return point[2] * self.cos - point[0] * self.sin

    def at(self, point: Point) -> tuple[float, float]:
        """Return the place of a point in the picture."""
        x, y, z = point
        return _MIDDLE + x * self.cos + z * self.sin, _GROUND - self.hip - y

    def oval(self, x: float, y: float, a: float, b: float, part: Part, *, ink: bool = True) -> None:
        """Draw an ellipse with half axes a and b around a place in the picture."""
        for grow, label in ((_INK, Part.INK), (0.0, part)):
            if ink or label is part:
                box = (x - a - grow, y - b - grow, x + a + grow, y + b + grow)
                self._draw.ellipse([_FINE * _UNIT * v for v in box], fill=int(label))

    def ball(self, point: Point, radius: float, part: Part, *, ink: bool = True) -> None:
        """Draw a ball around a point of the body."""
        self.oval(*self.at(point), radius, radius, part, ink=ink)

    def limb(self, points: list[Point], radius: float, parts: tuple[Part, Part]) -> None:
        """Draw two halves of a limb; the outline goes round both."""
        places = [self.at(point) for point in points]
        for i in (0, 1):
            self._stroke(places[i], places[i + 1], radius + _INK, Part.INK)
        for i in (1, 0):
            self._stroke(places[i], places[i + 1], radius, parts[i])

    def _stroke(
        self, a: tuple[float, float], b: tuple[float, float], radius: float, part: Part
    ) -> None:
        for x, y in (a, b):
            self.oval(x, y, radius, radius, part, ink=False)
        fine = [_FINE * _UNIT * v for v in (*a, *b)]
        self._draw.line(fine, fill=int(part), width=round(2 * _FINE * _UNIT * radius))

    def polygon(self, places: list[tuple[float, float]], part: Part, ink: float = 0.0) -> None:
        """Draw a filled polygon, with an outline of width `ink`."""
        fine = [(_FINE * _UNIT * x, _FINE * _UNIT * y) for x, y in places]
        if ink:
            width = round(2 * _FINE * _UNIT * ink)
            self._draw.line([*fine, *fine[:2]], int(Part.INK), width, "curve")
        self._draw.polygon(fine, fill=int(part))

    def coverage(self, scale: float) -> NDArray[np.float32]:
        """Return the share of each part in each pixel."""
        image = self._image
        if scale != 1.0:
            corner = SIZE * _FINE / 2 * (1 - 1 / scale)
            affine = (1 / scale, 0.0, corner, 0.0, 1 / scale, corner)
            image = image.transform(image.size, Image.Transform.AFFINE, affine)
        labels = np.asarray(image, dtype=np.int64)
        cells = labels * SIZE**2 + _PIXELS
        counts = np.bincount(cells.ravel(), minlength=len(Part) * SIZE**2)
        return (counts.reshape(len(Part), SIZE**2) / _FINE**2).astype(np.float32)


_PIXELS = np.arange(SIZE**2).reshape(SIZE, SIZE).repeat(_FINE, axis=0).repeat(_FINE, axis=1)


def _arm(pen: _Pen, points: list[Point]) -> None:
    far = pen.depth(points[0]) < -2.0
    sleeve, skin = (Part.TOP_SHADE, Part.SKIN_SHADE) if far else (Part.TOP, Part.SKIN)
    pen.limb(points, 2.1, (sleeve, skin))
    pen.ball(points[-1], 2.4, skin, ink=False)


def _leg(pen: _Pen, points: list[Point]) -> None:
    part = Part.TROUSERS_SHADE if pen.depth(points[0]) < -1.0 else Part.TROUSERS
    x, y, z = points[-1]
    toe = pen.at((x, y, z + 1.4))
    pen.limb([points[0], points[1], (x, y + 1.8, z)], 2.9, (part, part))
    pen.oval(toe[0], toe[1] - 0.4, 2.9 + 0.7 * abs(pen.sin), 1.9, Part.SHOES)


def _torso(pen: _Pen) -> None:
    half = 5.6 * abs(pen.cos) + 4.8 * abs(pen.sin)
    x, shoulder = pen.at((0.0, _TORSO, 0.0))
    hem = shoulder + _TORSO + 0.5
    body = [(x - half + 1, shoulder), (x + half - 1, shoulder), (x + half, hem), (x - half, hem)]
    pen.polygon(body, Part.TOP, ink=_INK)
    belt = [
        (x - half, hem - 0.6),
        (x + half, hem - 0.6),
        (x + half, hem + 1.8),
        (x - half, hem + 1.8),
    ]
    pen.polygon(belt, Part.TROUSERS)


def _head(pen: _Pen, style: str) -> None:
    x, y = pen.at((0.0, _TORSO + 8.0, 0.0))
    _hair_on_top(pen, style, x, y, ink=_INK)
    pen.oval(x, y, _HEAD, _HEAD * 0.95, Part.HAIR)
    _hair_on_top(pen, style, x, y, ink=0.0)
    left, right = (_HEAD * sin(radians(np.clip(pen.turn + a, -90, 90))) for a in (-72, 72))
    if right - left > 1.0:
        middle, half = x + (left + right) / 2, (right - left) / 2
        pen.oval(middle, y + 3.2, half, _HEAD * 0.6, Part.SKIN, ink=False)
    for side in (-1, 1):
        if pen.depth((side * 1.0, 0.0, 0.0)) > -0.2:  # ears
            part = Part.SKIN if abs(pen.cos) > 0.7 else Part.SKIN_SHADE
            pen.oval(x + side * pen.cos * _HEAD, y + 2.6, 1.7, 2.2, part, ink=False)
        eye = radians(pen.turn + side * 25.0)
        if cos(eye) > 0.1:
            pen.oval(x + 0.88 * _HEAD * sin(eye), y + 2.8, 1.2, 2.0, Part.INK, ink=False)
            pen.oval(x + 0.88 * _HEAD * sin(eye) + 0.4, y + 2.0, 0.5, 0.6, Part.WHITE, ink=False)
    _long_hair(pen, style, behind=False)


def _hair_on_top(pen: _Pen, style: str, x: float, y: float, ink: float) -> None:
    if style == "spiky":
        for middle in (-76, -38, 0, 38, 76):
            rays = ((middle - 19, 0.85), (middle, 1.42), (middle + 19, 0.85))
            spike = [
                (x + _HEAD * r * sin(radians(t)), y - _HEAD * r * cos(radians(t))) for t, r in rays
            ]
            pen.polygon(spike, Part.HAIR, ink)
    if style == "buns":
        for side in (-1, 1):
            pen.ball((side * 8.6, _TORSO + 15.6, 0.0), 4.2, Part.HAIR, ink=ink > 0)


def _long_hair(pen: _Pen, style: str, *, behind: bool) -> None:
    """Draw hair down the back: behind the body seen from the front, over it seen from the back."""
    if style != "long" or behind != (pen.cos > -0.1):
        return
    x, y = pen.at((0.0, _TORSO + 8.0, -4.0))
    half = _HEAD * (1.24 * abs(pen.cos) + 0.7 * abs(pen.sin))
    part = Part.HAIR_SHADE if behind else Part.HAIR
    pen.oval(x, y + 6.5, half, 10.5 if behind else 9.0, part)
    if not behind:
        pen.oval(x, y, _HEAD * 0.95, _HEAD * 0.9, part, ink=False)
