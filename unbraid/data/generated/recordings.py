"""Long recordings of a sensor at the wrist, cut into pieces: six channels, 20 rows a second.

Static is the person: one of 8, with a pace, a vigour, a gait (how far the second harmonic goes) and
the angle at which the sensor is worn. Dynamic is the activity in each window of half a second: lie,
sit, walk, run, wave, wash. It lasts some seconds, so most pieces show one or two.

    x_row = gravity(activity, angle) + vigour · rate(activity) · (sin φ + gait · sin 2φ) + noise
    φ moves on by pace · frequency(activity); the other three channels are its change

Random, all from `seed`: who, the activities (a Markov chain), phases, noise, a slow drift of every
recording. The persons are the same for every seed. A recording is in one split only, and every
person is in all of them; pieces of a recording share its drift (the label `recording` is the group
that probes keep together).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import Corpus
from unbraid.data.generated.corpora import series_corpus, sticky_states
from unbraid.records import Factor
from unbraid.settings import at_least

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHANNELS = ("x", "y", "z", "turn_x", "turn_y", "turn_z")
ACTIVITIES = ("lie", "sit", "walk", "run", "wave", "wash")
PEOPLE, PIECES, WINDOWS, WINDOW = 8, 12, 16, 10  # pieces of a recording; a window is half a second
_HERTZ = np.array([0.25, 0.25, 1.8, 2.8, 1.2, 2.2])  # of each activity
_SWING = np.array([0.02, 0.05, 0.5, 1.2, 0.9, 0.6])
_STAY = 0.93  # probability that the next window has the same activity
_NOISE, _DRIFT = 0.08, 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How many recordings; each is cut into 12 pieces of 8 seconds."""

    train: int = 96
    validation: int = 16
    test: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, "train", "validation", "test")


def load(config: Config) -> Corpus:
    """Return the data set; it is generated on the spot."""
    rng = np.random.default_rng(config.seed)
    count = config.train + config.validation + config.test
    person = np.concatenate(
        [rng.permutation(n) % PEOPLE for n in (config.train, config.validation, config.test)]
    )
    activity = _activities(count, rng)
    x = _recordings(person, activity, rng).reshape(-1, WINDOWS, WINDOW, len(CHANNELS))
    labels = {
        "person": person.repeat(PIECES),
        "recording": np.arange(count).repeat(PIECES),
        "activity": activity.reshape(-1, WINDOWS),
    }
    people = tuple(f"p{n}" for n in range(PEOPLE))
    facts = {
        "static": (Factor(name="person", classes=PEOPLE, values=people),),
        "dynamic": (
            Factor(name="activity", classes=len(ACTIVITIES), values=ACTIVITIES, per_step=True),
        ),
        "channels": CHANNELS,
        "group": "recording",
        "pieces": True,
    }
    counts = (PIECES * config.train, PIECES * config.validation, PIECES * config.test)
    return series_corpus("toy-recordings", x, None, labels, counts=counts, facts=facts)


def _activities(count: int, rng: np.random.Generator) -> Ints:
    """Draw (recordings, windows) activities."""
    return sticky_states((count, PIECES * WINDOWS), len(ACTIVITIES), _STAY, rng)


def _recordings(person: Ints, activity: Ints, rng: np.random.Generator) -> Floats:
    """Return (recordings, rows, channels)."""
    world = np.random.default_rng(21)  # the persons: not part of what `seed` changes
    pace, vigour = world.uniform(0.75, 1.3, PEOPLE), world.uniform(0.6, 1.5, PEOPLE)
    gait, angle = world.uniform(0.0, 0.8, PEOPLE), world.uniform(-0.6, 0.6, (PEOPLE, 3))
    pose, axes = (world.normal(0.0, size, (len(ACTIVITIES), 3)) for size in (0.7, 0.6))
    rows = activity.repeat(WINDOW, axis=1)
    turn = 2 * np.pi * _HERTZ[rows] * pace[person][:, None] / 20.0
    phase = rng.uniform(0.0, 2 * np.pi, (len(person), 1)) + turn.cumsum(1)
    swing = (_SWING[rows] * vigour[person][:, None])[..., None] * axes[rows]
    second = gait[person][:, None, None]
    place = np.sin(phase)[..., None] + second * np.sin(2 * phase)[..., None]
    change = np.cos(phase)[..., None] + 2 * second * np.cos(2 * phase)[..., None]
    drift = _DRIFT * rng.standard_normal((len(person), 1, 3))
    values = np.concatenate(
        [pose[rows] + angle[person][:, None] + drift + swing * place, swing * change], axis=-1
    )
    return values + _NOISE * rng.standard_normal(values.shape)
