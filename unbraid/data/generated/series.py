"""Sensors of machines at work: six channels, unequal lengths, missing values.

Static is the regime: one of 4 machines (which levels the sensors rest at and how they are coupled
to what happens inside) under one of 3 loads (how far the levels and the swings go). Dynamic is the
state in each window: rest, rise (a ramp), slow or fast oscillation, burst (one sharp peak).

    x_row = offset(machine, load) + amplitude(load) · coupling(machine) u_row + noise
    u = (ramp, sine, cosine, peak), of which the state switches some on

Random, all from `seed`: regime, states (a Markov chain), phases, lengths, noise, what is missing.
The machines themselves are the same for every seed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unbraid.data.corpus import Corpus
from unbraid.data.generated.corpora import series_corpus, sticky_states
from unbraid.records import Factor
from unbraid.safety.limits import check_generated
from unbraid.settings import at_least, share_below_one

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CHANNELS = ("temperature", "pressure", "flow", "vibration", "current", "speed")
MACHINES = ("pump", "fan", "press", "mill")
LOADS = ("light", "medium", "heavy")
STATES = ("rest", "rise", "slow", "fast", "burst")
PADDED = -1  # the state label of steps beyond a sequence's end

_STAY = 0.6  # probability that the next window has the same state
_PERIODS = np.array([np.inf, np.inf, 10.0, 3.0, np.inf])  # rows of one oscillation, by state
_NOISE = 0.1
_LOAD_LEVEL = np.array([0.6, 1.0, 1.5])
_LOAD_SWING = np.array([0.7, 1.0, 1.4])


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How many sequences, how long, and how much of them is missing."""

    train: int = 1500
    validation: int = 150
    test: int = 300
    windows: int = 20  # of the longest sequence; the shortest has half as many
    window: int = 4  # rows
    missing: float = 0.1  # share missing at random; 0 turns channel outages off as well
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, "train", "validation", "test")
        at_least(self, 2, "windows", "window")
        check_generated(
            self.train + self.validation + self.test,
            16 * self.windows * self.window * len(CHANNELS),
        )
        share_below_one(self, "missing")


def load(config: Config) -> Corpus:
    """Return the data set; it is generated on the spot."""
    rng = np.random.default_rng(config.seed)
    count = config.train + config.validation + config.test
    machine, level = rng.integers(0, 4, count), rng.integers(0, 3, count)
    state = sticky_states((count, config.windows), len(STATES), _STAY, rng)
    lengths = rng.integers(config.windows // 2, config.windows + 1, count)
    x = _readings(machine, level, _inner(state, config.window, rng), rng)
    x = x.reshape(count, config.windows, config.window, len(CHANNELS))
    steps = np.arange(config.windows) < lengths[:, None]
    known = np.broadcast_to(steps[:, :, None, None], x.shape)
    if config.missing > 0:
        known = known & ~_holes(x.shape, config.missing, rng)
    labels = {
        "machine": machine,
        "load": level,
        "regime": machine * len(LOADS) + level,
        "state": np.where(steps, state, PADDED),
    }
    facts = {
        "static": (
            Factor(name="machine", classes=len(MACHINES), values=MACHINES),
            Factor(name="load", classes=len(LOADS), values=LOADS),
            Factor(name="regime", classes=len(MACHINES) * len(LOADS)),
        ),
        "dynamic": (Factor(name="state", classes=len(STATES), values=STATES, per_step=True),),
        "channels": CHANNELS,
        "lengths": lengths,
        "missing": config.missing > 0,
    }
    counts = (config.train, config.validation, config.test)
    return series_corpus("toy-series", x, known, labels, counts=counts, facts=facts)


def _inner(state: Ints, window: int, rng: np.random.Generator) -> Floats:
    """Return (N, rows, 4): ramp, sine, cosine and peak inside a machine, row by row."""
    rows = state.repeat(window, axis=1)
    place = np.tile(np.arange(window), state.shape[1])  # within a window
    phase = rng.uniform(0.0, 2 * np.pi, (len(state), 1)) + (2 * np.pi / _PERIODS[rows]).cumsum(1)
    swings = (rows == STATES.index("slow")) | (rows == STATES.index("fast"))
    peak = rng.integers(0, window, state.shape).repeat(window, axis=1) == place
    parts = (
        (rows == STATES.index("rise")) * (place + 1.0) / window * 2.0,
        swings * np.sin(phase),
        swings * np.cos(phase),
        ((rows == STATES.index("burst")) & peak) * 3.0,
    )
    return np.stack(parts, axis=-1)


def _readings(machine: Ints, level: Ints, inner: Floats, rng: np.random.Generator) -> Floats:
    """Return (N, rows, channels) sensor values."""
    world = np.random.default_rng(20)  # the machines: not part of what `seed` changes
    offsets = world.normal(0.0, 1.5, (len(MACHINES), len(CHANNELS)))
    coupling = world.normal(0.0, 0.6, (len(MACHINES), len(CHANNELS), inner.shape[-1]))
    offset = offsets[machine] * _LOAD_LEVEL[level][:, None]  # (N, channels)
    swing = coupling[machine] * _LOAD_SWING[level][:, None, None]  # (N, channels, 4)
    values = offset[:, None] + inner @ swing.swapaxes(1, 2)
    return values + _NOISE * rng.standard_normal(values.shape)


def _holes(shape: tuple[int, ...], share: float, rng: np.random.Generator) -> Bools:
    """Return where values are missing: single ones, and in every other sequence an outage.

    An outage takes one channel for an eighth to a quarter of the longest sequence.
    """
    count, windows, _, channels = shape
    step = np.arange(windows)
    begin = rng.integers(0, windows, (count, 1))
    end = begin + rng.integers(max(1, windows // 8), windows // 4 + 2, (count, 1))
    out = (step >= begin) & (step < end) & (rng.random((count, 1)) < 0.5)  # (N, T)
    off = np.arange(channels) == rng.integers(0, channels, (count, 1))  # (N, channels)
    return (rng.random(shape) < share) | (out[:, :, None, None] & off[:, None, None, :])
