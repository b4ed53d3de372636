"""A small skeleton in space and its motions, each a cycle over a phase in [0, 1)."""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi, radians, sin

Point = tuple[float, float, float]
"""Right of the viewer when the character faces him, up, forward."""


@dataclass(frozen=True, slots=True)
class Limb:
    """Angles in degrees of the upper and the lower half: out to the side, and forward."""

    out: tuple[float, float] = (0.0, 0.0)
    forward: tuple[float, float] = (0.0, 0.0)

    def points(self, root: Point, side: int, length: float) -> list[Point]:
        """Return root, joint and end; both halves have one length."""
        points = [root]
        for out, forward in zip(self.out, self.forward, strict=True):
            x, y, z = points[-1]
            a, f = radians(out), radians(forward)
            down = length * cos(a)
            points.append((x + side * length * sin(a), y - down * cos(f), z + down * sin(f)))
        return points


_REST_ARM, _REST_LEG = Limb((18.0, 8.0)), Limb((5.0, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pose:
    """Where the character looks (degrees; 0 the viewer, 90 to his right), and its limbs."""

    turn: float = 0.0
    lift: float = 0.0
    left_arm: Limb = _REST_ARM
    right_arm: Limb = _REST_ARM
    left_leg: Limb = _REST_LEG
    right_leg: Limb = _REST_LEG


def _walk(phase: float, turn: float) -> Pose:
    swing, lag = 34 * sin(2 * pi * phase), cos(2 * pi * phase)
    return Pose(
        turn=turn,
        left_arm=Limb((6.0, 6.0), (-1.2 * swing, -1.2 * swing + 25)),
        right_arm=Limb((6.0, 6.0), (1.2 * swing, 1.2 * swing + 25)),
        left_leg=Limb((0.0, 0.0), (swing, swing - 50 * max(0.0, lag))),
        right_leg=Limb((0.0, 0.0), (-swing, -swing - 50 * max(0.0, -lag))),
    )


def _wave(phase: float) -> Pose:
    up = min(1.0, 0.85 * (1 - cos(2 * pi * phase)))
    return Pose(right_arm=Limb((18 + 90 * up, 8 + up * (142 + 38 * sin(6 * pi * phase)))))


def _jump(phase: float) -> Pose:
    up = max(0.0, sin(2 * pi * phase))
    down = max(0.0, -sin(2 * pi * phase))
    arm = Limb((18 + 107 * up, 8 + 132 * up))
    leg = Limb((5 + 22 * up + 25 * down, 10 * up), (30 * down, -30 * down))
    return Pose(lift=6.2 * up, left_arm=arm, right_arm=arm, left_leg=leg, right_leg=leg)


def _crouch(phase: float) -> Pose:
    down = (1 - cos(2 * pi * phase)) / 2
    arm = Limb((18 + 40 * down, 8 - 75 * down))
    leg = Limb((5 + 60 * down, -8 * down), (35 * down, -45 * down))
    return Pose(left_arm=arm, right_arm=arm, left_leg=leg, right_leg=leg)


def _kick(phase: float) -> Pose:
    up = ((1 - cos(2 * pi * phase)) / 2) ** 1.3
    arms = Limb((18 + 62 * up, 8 + 65 * up)), Limb((18 + 20 * up, 8 + 10 * up))
    return Pose(left_arm=arms[0], right_arm=arms[1], left_leg=Limb((5 + 85 * up, 85 * up)))


MOTIONS: dict[str, Callable[[float], Pose]] = {
    "walk left": lambda phase: _walk(phase, -75.0),
    "walk right": lambda phase: _walk(phase, 75.0),
    "turn left": lambda phase: Pose(turn=-360 * phase),
    "turn right": lambda phase: Pose(turn=360 * phase),
    "wave": _wave,
    "jump": _jump,
    "crouch": _crouch,
    "kick": _kick,
}
