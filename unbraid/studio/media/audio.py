"""Audio: spectrograms for the page, waveforms to hear and to keep."""

import io

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from unbraid.data.audio.mel import MelConfig, wave_from_mel
from unbraid.figures.sequences.render import raw_values, wave_file
from unbraid.records import Spec

Values = NDArray[np.float32]
SHADES = (
    "#000004",
    "#1b1044",
    "#4f127b",
    "#812581",
    "#b5367a",
    "#e55064",
    "#fb8761",
    "#fec287",
    "#fcfdbf",
)
"""Of matplotlib's magma, evenly spaced."""


def spectrogram(spec: Spec, x: Values) -> Image.Image:
    """Return features over time as a picture, a pixel each, low bands below.

    The scale of colours is that of the data set, so that pictures can be compared.
    """
    raw = np.nan_to_num(raw_values(spec, x))
    offset, scale = np.array(spec.offset), np.array(spec.scale)
    low, high = offset.min() - 1.5 * scale.mean(), offset.max() + 2.0 * scale.mean()
    levels = np.rint(255 * ((raw - low) / max(high - low, 1e-9)).clip(0, 1)).astype(np.uint8)
    image = Image.fromarray(np.ascontiguousarray(levels.T[::-1]))
    image = Image.frombytes("P", image.size, image.tobytes())
    image.putpalette(_palette())
    return image


def _palette() -> bytes:
    anchors = np.array([[int(shade[i : i + 2], 16) for i in (1, 3, 5)] for shade in SHADES])
    places = np.linspace(0, len(SHADES) - 1, 256)
    channels = [np.interp(places, range(len(SHADES)), anchors[:, c]) for c in range(3)]
    return np.rint(np.stack(channels, axis=1)).astype(np.uint8).tobytes()


def png(spec: Spec, x: Values) -> bytes:
    """Return a spectrogram, quickly."""
    return _saved(spectrogram(spec, x), "PNG")


def webp(spec: Spec, x: Values) -> bytes:
    """Return a spectrogram, small."""
    return _saved(spectrogram(spec, x).convert("RGB"), "WEBP")


def _saved(image: Image.Image, form: str) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format=form)
    return buffer.getvalue()


def wav(spec: Spec, x: Values) -> bytes:
    """Return what the features sound like."""
    return _sound(spec, x, "WAV")


def flac(spec: Spec, x: Values) -> bytes:
    """Return what the features sound like, in half the size."""
    return _sound(spec, x, "FLAC")


def _sound(spec: Spec, x: Values, form: str) -> bytes:
    mel = MelConfig()
    if spec.features != "log-mel" or spec.frame != (mel.bands,):
        raise ValueError("only log-mel features can be turned back into sound, these are others.")
    wave = wave_from_mel(torch.from_numpy(np.nan_to_num(raw_values(spec, x))), mel).numpy()
    buffer = io.BytesIO()
    wave_file(buffer, wave, mel.sample_rate, form)
    return buffer.getvalue()
