"""Synthetic speakers saying syllables: 200 ms segments of log-mel spectrograms.

A source (a pitch pulse train plus noise) goes through a filter (formants), frame by frame. Static
is who speaks: pitch and how far it moves, length of the vocal tract, ring of the upper formants,
tilt and breathiness. Dynamic is what is said: vowels a e i o u, the nasal m, the noises s sh f and
the burst t, each 60 to 160 ms long, with transitions between them.

Random, all from `seed`: the speakers (drawn once, disjoint between the splits), the phones of each
utterance and their lengths, the pitch movement, the noise, and the shifts of converted voices.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unbraid.data.audio.mel import MelConfig, log_mel
from unbraid.data.corpus import Corpus, Split
from unbraid.records import Factor, Spec
from unbraid.safety.limits import check_generated
from unbraid.settings import at_least
from unbraid.views.audio import shift_voice

Floats = NDArray[np.float32]
Voice = dict[str, float]

MEL = MelConfig()
STEPS = 20  # frames of a segment
REGISTERS = ("low", "high")
PHONES = ("a", "e", "i", "o", "u", "m", "s", "sh", "f", "t")
_KNOT = 80  # samples between two settings of the filter: 5 ms
_WINDOW = 4 * _KNOT
_BINS = 257  # frequencies of the filter

# Formants in Hz (Peterson and Barney 1952, men; F4 and F5 of a uniform tube), loudness of the
# voiced and of the noise source, centre and width in Hz of the noise.
_PHONES = np.array(
    [
        [730, 1090, 2440, 3400, 4500, 1.0, 0.0, 3000, 3000],
        [530, 1840, 2480, 3500, 4500, 1.0, 0.0, 3000, 3000],
        [270, 2290, 3010, 3600, 4500, 0.9, 0.0, 3000, 3000],
        [570, 840, 2410, 3300, 4500, 1.0, 0.0, 3000, 3000],
        [300, 870, 2240, 3300, 4500, 0.9, 0.0, 3000, 3000],
        [250, 1100, 2100, 3200, 4500, 0.25, 0.0, 3000, 3000],
        [320, 1600, 2600, 3600, 4500, 0.0, 0.9, 6200, 1100],
        [320, 1800, 2500, 3400, 4500, 0.0, 0.9, 3200, 900],
        [300, 1200, 2400, 3400, 4500, 0.0, 0.2, 5000, 4000],
        [350, 1700, 2600, 3500, 4500, 0.0, 1.2, 4400, 1800],
    ]
)
_BANDWIDTHS = np.array([70.0, 90.0, 130.0, 200.0, 280.0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How many speakers say how much."""

    speakers: int = 40  # in training
    validation_speakers: int = 6
    test_speakers: int = 12
    utterances: int = 8  # of each speaker
    seconds: float = 1.6  # of an utterance; segments are 0.2 s
    conversions: int = 1  # converted voices of each utterance
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, "speakers", "validation_speakers", "test_speakers", "utterances")
        if self.seconds < 0.2:
            raise ValueError(f"seconds must be 0.2 at least (one segment), got {self.seconds}.")
        at_least(self, 0, "conversions")
        check_generated(self.voices * self.utterances, 16 * self.samples * (1 + self.conversions))

    @property
    def voices(self) -> int:
        """Number of speakers of all splits."""
        return self.speakers + self.validation_speakers + self.test_speakers

    @property
    def segments(self) -> int:
        """Number of segments of an utterance."""
        return MEL.frames(self.samples) // STEPS

    @property
    def samples(self) -> int:
        """Number of samples of an utterance."""
        return round(self.seconds * MEL.sample_rate)


def load(config: Config) -> Corpus:
    """Return the data set; it is synthesised on the spot."""
    rng = np.random.default_rng(config.seed)
    voices = draw_voices(config.voices, rng)
    x, others, phones = [], [], []
    for speaker in range(config.voices):
        plan = _draw_phones(config, rng)  # (utterances, knots)
        voice = {name: float(values[speaker]) for name, values in voices.items()}
        wave = _synthesise(voice, plan, config, rng)
        phones.append(plan[:, :: MEL.hop // _KNOT])
        x.append(_segments(wave, config.segments))
        if config.conversions:
            others.append(_segments(_convert(wave, config.conversions, rng), config.segments))
    labels = _labels(config, voices["register"], np.concatenate(phones))
    converted = None
    if others:
        joined = np.concatenate(others, axis=1)  # (K, utterances, segments, steps, bands)
        converted = joined.reshape(config.conversions, -1, STEPS, MEL.bands).swapaxes(0, 1)
    sequences = np.concatenate(x).reshape(-1, STEPS, MEL.bands)
    return _corpus(config, sequences, converted, labels)


def draw_voices(count: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Draw speakers, every other one with a high register; each entry has shape (count,)."""
    high = np.arange(count) % 2
    return {
        "register": high,
        "pitch": np.where(high, 175.0, 90.0) * 2.0 ** rng.uniform(0.0, 0.65, count),  # Hz
        "range": rng.uniform(0.08, 0.2, count),  # share of the pitch it moves by
        "tract": np.where(high, 1.12, 0.98) * np.exp(rng.uniform(-0.1, 0.1, count)),
        "ring": np.exp(rng.uniform(-0.06, 0.06, count)),  # factor on F3 to F5
        "tilt": rng.uniform(-10.0, -2.0, count),  # dB per octave above 500 Hz
        "breath": 10.0 ** rng.uniform(-1.6, -0.6, count),  # noise to voice
    }


def _draw_phones(config: Config, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw (utterances, knots) phones: mostly consonant, vowel, consonant, vowel."""
    knots = config.samples // _KNOT + 1
    count = int(config.seconds / 0.06) + 2
    shape = (config.utterances, count)
    vowel = (np.arange(count) + rng.integers(0, 2, (config.utterances, 1))) % 2 == 0
    vowel |= rng.random(shape) < 0.15
    kinds = np.where(vowel, rng.integers(0, 5, shape), rng.integers(5, len(PHONES), shape))
    ends = rng.uniform(0.06, 0.16, shape).cumsum(1) * MEL.sample_rate / _KNOT
    place = (np.arange(knots)[None, :, None] >= ends[:, None, :]).sum(-1)  # (utterances, knots)
    return np.take_along_axis(kinds, place, 1)


def _synthesise(
    voice: Voice, phones: NDArray[np.int64], config: Config, rng: np.random.Generator
) -> Floats:
    """Return (utterances, samples) of one speaker within ±1: sources times filters, in frames."""
    pulses = torch.from_numpy(_pulses(voice, config, rng))
    noise = torch.from_numpy(rng.standard_normal(pulses.shape, dtype=np.float32))
    voiced, hiss = _filters(voice, torch.from_numpy(_settings(phones)))
    window = torch.hann_window(_WINDOW)
    pulses, noise = (
        torch.stft(source, _BINS * 2 - 2, _KNOT, _WINDOW, window, return_complex=True)
        for source in (pulses, noise)
    )
    spectra = pulses * voiced + noise * (voice["breath"] * voiced + hiss)
    wave = torch.istft(spectra, _BINS * 2 - 2, _KNOT, _WINDOW, window, length=config.samples)
    wave = 0.5 * wave / wave.abs().amax(1, keepdim=True)
    return wave.numpy() + 2e-4 * rng.standard_normal(wave.shape, dtype=np.float32)


def _pulses(voice: Voice, config: Config, rng: np.random.Generator) -> Floats:
    """Return pulse trains with a slowly moving pitch, all harmonics of unit power together.

    Σ_k cos kφ, k = 1..K, in closed form: (sin (K + ½)φ / sin ½φ − 1) / 2.
    """
    time = np.arange(config.samples) / MEL.sample_rate
    speed = rng.uniform(0.8, 2.5, (config.utterances, 2, 1))  # Hz
    phase = rng.uniform(0.0, 2 * np.pi, (config.utterances, 2, 1))
    sway = np.sin(2 * np.pi * speed * time + phase).mean(1) - 0.3 * time
    pitch = voice["pitch"] * (1.0 + voice["range"] * sway)
    angle = 2 * np.pi * pitch.cumsum(1) / MEL.sample_rate + 1e-6
    count = np.floor(7800.0 / pitch.max(1, keepdims=True))
    half = np.sin(angle / 2)
    half = np.where(np.abs(half) < 1e-9, 1e-9, half)
    train = (np.sin((count + 0.5) * angle) / half - 1.0) / np.sqrt(2.0 * count)
    return train.astype(np.float32)


def _settings(phones: NDArray[np.int64]) -> Floats:
    """Return (utterances, knots, 9) filter settings, gliding over 50 ms from phone to phone."""
    rows = _PHONES[phones]
    burst = phones == PHONES.index("t")
    start = np.diff(phones, axis=1, prepend=-1) != 0
    knot = np.arange(phones.shape[1])
    age = knot - np.maximum.accumulate(np.where(start, knot, 0), axis=1)
    decay = np.where(age < 7, 0.0, 0.85 ** (age - 7.0))  # 35 ms of closure, then the burst
    rows[..., 6] *= np.where(burst, decay, 1.0)
    smooth = _glide(rows, 11)
    smooth[..., 5:7] = _glide(rows[..., 5:7], 3)  # sources switch faster than the mouth moves
    return smooth.astype(np.float32)


def _glide(rows: NDArray[np.float64], knots: int) -> NDArray[np.float64]:
    """Average over a bell of `knots` (odd) neighbours along the second axis."""
    bell = np.hanning(knots + 2)[1:-1]
    padded = np.pad(rows, ((0, 0), (knots // 2, knots // 2), (0, 0)), mode="edge")
    views = np.lib.stride_tricks.sliding_window_view(padded, knots, axis=1)
    return views @ (bell / bell.sum())


def _filters(voice: Voice, settings: Tensor) -> tuple[Tensor, Tensor]:
    """Return the magnitudes (utterances, bins, knots) for the voiced and for the noise source."""
    hz = torch.linspace(0.0, MEL.sample_rate / 2, _BINS)[:, None]
    upper = np.array([1.0, 1.0, voice["ring"], voice["ring"], voice["ring"]])
    voiced = 10.0 ** (voice["tilt"] / 20.0 * torch.log2(hz.clamp(min=500.0) / 500.0))
    for k, width in enumerate(_BANDWIDTHS):
        centre = settings[..., None, :, k] * voice["tract"] * upper[k]
        gap = centre**2 - hz**2
        voiced = voiced * centre**2 / (gap**2 + (width * voice["tract"] * hz) ** 2).sqrt()
    centre, width = (settings[..., None, :, k] * voice["tract"] ** 0.5 for k in (7, 8))
    hiss = torch.exp(-0.5 * ((hz - centre) / width) ** 2)
    return voiced * settings[..., None, :, 5], hiss * settings[..., None, :, 6]


def _convert(wave: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Return (count, utterances, samples) in other voices, each shifted as a whole.

    The pitch moves by 3 to 7 semitones, the formants by 10 to 22 %, up or down.
    """
    shape = (count, len(wave))
    semitones = rng.choice([-1.0, 1.0], shape) * rng.uniform(3.0, 7.0, shape)
    formant = np.exp(rng.choice([-1.0, 1.0], shape) * rng.uniform(0.1, 0.2, shape))
    waves = np.empty((*shape, wave.shape[1]), np.float32)
    for k, i in np.ndindex(shape):
        waves[k, i] = shift_voice(
            wave[i],
            MEL.sample_rate,
            semitones=float(semitones[k, i]),
            formant=float(formant[k, i]),
        )
    return waves


def _segments(wave: Floats, count: int) -> Floats:
    """Return log-mel features (..., count, STEPS, bands) of waveforms (..., samples)."""
    mel = log_mel(torch.from_numpy(wave), MEL).numpy()
    return mel[..., : count * STEPS, :].reshape(*wave.shape[:-1], count, STEPS, MEL.bands)


def _labels(config: Config, register: Any, phones: NDArray[np.int64]) -> dict[str, Any]:
    """Return the labels of every segment, in the order of the utterances."""
    utterance = np.arange(len(phones)).repeat(config.segments)
    speaker = utterance // config.utterances
    steps = phones[:, : config.segments * STEPS].reshape(-1, STEPS)
    return {
        "speaker": speaker,
        "register": register[speaker].astype(np.int64),
        "utterance": utterance,
        "phone": steps.astype(np.int64),
    }


def _corpus(config: Config, x: Floats, others: Floats | None, labels: dict[str, Any]) -> Corpus:
    """Cut by speaker; offset and scale of each band come from the training rows alone."""
    ends = np.cumsum([config.speakers, config.validation_speakers])
    part = np.searchsorted(ends, labels["speaker"], side="right")  # 0, 1, 2
    train = x[part == 0].astype(np.float64)
    spec = Spec(
        name="toy-voices",
        kind="audio",
        features="log-mel",
        frame=(MEL.bands,),
        length=STEPS,
        static=(
            Factor(name="speaker", classes=config.voices),
            Factor(name="register", classes=2, values=REGISTERS),
        ),
        dynamic=(Factor(name="phone", classes=len(PHONES), values=PHONES, per_step=True),),
        offset=tuple(train.mean((0, 1)).tolist()),
        scale=tuple(train.std((0, 1)).tolist()),
        size=len(train),
        rate=MEL.sample_rate / MEL.hop,
    )
    splits = [
        Split(
            spec=spec,
            x=x,
            rows=np.flatnonzero(part == k),
            alternatives=others,
            labels=labels,
            group="utterance",
        )
        for k in range(3)
    ]
    return Corpus(spec=spec, train=splits[0], validation=splits[1], test=splits[2])
