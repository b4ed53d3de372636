"""Meters with strong trends and long gaps: four channels, 24 days of 8 readings.

Static is the site: one of 6, with its own profile of the day in every channel. Dynamic is the
state of each day: normal, busy (the profile is larger) or off (there is none). Everything rides on
a level that rises or falls steadily over the sequence: its spread is four times that of the
profile, and it tells neither site nor state.

    x_row = level + slope · row + scale(state) · profile(site, hour) + noise

Random, all from `seed`: site, states (a Markov chain), level and slope of every channel, noise,
what is missing. One reading in five is missing, and in every sequence two channels are out for a
quarter to half of the time. The sites are the same for every seed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import Corpus
from unbraid.data.generated.corpora import Bools, series_corpus, sticky_states
from unbraid.records import Factor
from unbraid.settings import at_least

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHANNELS = ("power", "water", "heat", "gas")
STATES = ("normal", "busy", "off")
SITES, DAYS, HOURS = 6, 24, 8
_SCALE = np.array([1.0, 2.0, 0.0])  # of the profile, by state
_LEVEL = _SLOPE = 4.0  # spread of the level at the start, and of its change over the sequence
_STAY, _NOISE, _MISSING = 0.7, 0.2, 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How many sequences."""

    train: int = 1200
    validation: int = 200
    test: int = 300
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, "train", "validation", "test")


def load(config: Config) -> Corpus:
    """Return the data set; it is generated on the spot."""
    rng = np.random.default_rng(config.seed)
    counts = (config.train, config.validation, config.test)
    site = rng.integers(0, SITES, sum(counts))
    state = sticky_states((len(site), DAYS), len(STATES), _STAY, rng)
    x, known = _readings(site, state, rng), _observed(len(site), rng)
    facts = {
        "static": (Factor(name="site", classes=SITES),),
        "dynamic": (Factor(name="state", classes=len(STATES), values=STATES, per_step=True),),
        "channels": CHANNELS,
    }
    labels = {"site": site, "state": state}
    return series_corpus("toy-trends", x, known, labels, counts=counts, facts=facts)


def _readings(site: Ints, state: Ints, rng: np.random.Generator) -> Floats:
    """Return (N, days, hours, channels)."""
    world = np.random.default_rng(22)  # the sites: not part of what `seed` changes
    profile = world.normal(0.0, 1.0, (SITES, HOURS, len(CHANNELS)))
    level, slope = (
        spread * rng.standard_normal((len(site), 1, 1, len(CHANNELS)))
        for spread in (_LEVEL, _SLOPE)
    )
    time = (np.arange(DAYS * HOURS) / (DAYS * HOURS)).reshape(1, DAYS, HOURS, 1)
    days = _SCALE[state][..., None, None] * profile[site][:, None]
    return level + slope * time + days + _NOISE * rng.standard_normal(days.shape)


def _observed(count: int, rng: np.random.Generator) -> Bools:
    """Return where readings are there: (N, days, hours, channels)."""
    shape = (count, DAYS, HOURS, len(CHANNELS))
    day = np.arange(DAYS)[None, :, None]
    begin = rng.integers(0, DAYS, (count, 1, len(CHANNELS)))
    length = rng.integers(DAYS // 4, DAYS // 2 + 1, (count, 1, len(CHANNELS)))
    order = rng.random((count, 1, len(CHANNELS))).argsort(-1)
    out = ((day - begin) % DAYS < length) & (order < 2)  # two of the channels
    return (rng.random(shape) >= _MISSING) & ~out[:, :, None, :]
